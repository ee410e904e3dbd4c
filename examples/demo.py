"""The main job on built-in data: look at it, learn to rank, measure on new queries, see what the ranker learned."""

from rich.console import Console

from podium import NearestNeighbor, RankBoost, compare, describe, evaluate, make_search

MEASURES = ["ndcg@10", "map", "mrr", "err@10", "p@5", "pair_loss"]


def main() -> None:
    """Train RankBoost on 300 queries and compare it with the best single feature on 300 new ones."""
    console = Console()
    train = make_search(n_queries=300, random_state=0)
    valid = make_search(n_queries=100, random_state=1)
    test = make_search(n_queries=300, random_state=2)
    console.print(describe(train.X, train.y, qid=train.qid).table())

    console.print("\nRankBoost, stopping where NDCG@10 of 100 other queries is best (kernels compile on first use):")
    model = RankBoost(n_estimators=400, early_stopping_rounds=40, eval_metric="ndcg@10", verbose=1)
    model.fit(train.X, train.y, qid=train.qid, eval_set=[(valid.X, valid.y)], eval_qid=[valid.qid])
    console.print(f"{len(model.rounds_)} rounds, {model.best_iteration_} of them used: {model.stop_reason_}.\n")

    scores = model.predict(test.X)
    console.print(evaluate(test.y, scores, qid=test.qid, measures=MEASURES).table())
    single = NearestNeighbor().fit(train.X, train.y, qid=train.qid)
    names = train.feature_names or []
    console.print(f"RankBoost (first) against the best single feature, {names[single.feature_]} (second):\n")
    console.print(compare(test.y, scores, single.predict(test.X), qid=test.qid, measures=MEASURES).table())

    certificate = model.certificate()
    console.print(f"Certificate: the training ranking loss is at most ∏Z = {certificate['bound'][-1]:.4f}.")
    console.print("The first rounds:")
    for number, done in enumerate(model.rounds_[:5], 1):
        console.print(f"  {number}. {done.alpha:+.3f} where {names[done.feature]} > {done.threshold:.4g}", style="none")


if __name__ == "__main__":
    main()
