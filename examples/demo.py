"""The main job on built-in data: look at it, find the best single feature, measure it on new queries."""

from rich.console import Console
from rich.progress import track

from podium import compare, describe, evaluate, make_search

MEASURES = ["ndcg@10", "map", "mrr", "err@10", "p@5", "pair_loss"]


def main() -> None:
    """Rank by each single feature on training queries, keep the best, and measure it on test queries."""
    console = Console()
    train = make_search(n_queries=300, random_state=0)
    test = make_search(n_queries=300, random_state=1)
    console.print(describe(train.X, train.y, qid=train.qid).table())

    quality = {}
    for feature in track(range(train.X.shape[1]), "Each feature alone", console=console):
        for sign in (1, -1):
            scores = sign * train.X[:, feature]
            quality[sign, feature] = evaluate(
                train.y, scores, qid=train.qid, measures="ndcg@10", n_resamples=0
            )["ndcg@10"]
    (sign, feature), (other_sign, other) = sorted(quality, key=quality.__getitem__, reverse=True)[:2]

    console.print(f"\nBest single feature on the training queries: {feature + 1}. On 300 new queries:\n")
    scores = sign * test.X[:, feature]
    console.print(evaluate(test.y, scores, qid=test.qid, measures=MEASURES).table())
    console.print(f"Against the second best, feature {other + 1}:\n")
    second = other_sign * test.X[:, other]
    console.print(compare(test.y, scores, second, qid=test.qid, measures=MEASURES).table())


if __name__ == "__main__":
    main()
