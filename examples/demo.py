"""The main job on built-in data: look at it, learn to rank, measure on new queries, see what was learned on a page."""

from pathlib import Path

from rich.console import Console
from rich.table import Table

import podium
from podium import NearestNeighbor, PreferenceRegression, RankBoost, compare, describe, evaluate, make_search
from podium.evaluation.results import table_of

MEASURES = ["ndcg@10", "map", "mrr", "err@10", "p@5", "pair_loss"]
REPORT = Path(__file__).resolve().parents[1] / "build" / "report.html"


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

    weights = PreferenceRegression().fit(train.X, train.y, qid=train.qid)
    rankers = {"RankBoost": model, "weights of features": weights, "best single feature": single}
    console.print(leaderboard({name: ranker.predict(test.X) for name, ranker in rankers.items()}, test))
    REPORT.parent.mkdir(exist_ok=True)
    podium.report(model, test.X, test.y, qid=test.qid, feature_names=names, measures=MEASURES).save(REPORT)
    console.print("The page on the ranker, to open in a browser:")
    console.print(str(REPORT), style="none", soft_wrap=True)


def leaderboard(scores, test) -> Table:
    """Return a table of rankers on new queries, the best by NDCG@10 first."""
    results = {name: evaluate(test.y, given, qid=test.qid, measures=MEASURES) for name, given in scores.items()}
    rows = []
    for name, result in sorted(results.items(), key=lambda item: -item[1]["ndcg@10"]):
        low, high = result.interval("ndcg@10")
        numbers = [f"{result[measure]:.4f}" for measure in ("ndcg@10", "map", "pair_loss")]
        rows.append([name, numbers[0], f"{low:.4f} … {high:.4f}", *numbers[1:]])
    return table_of("Leaderboard", ["ranker", "ndcg@10", "95% interval", "map", "pair_loss"], rows)


if __name__ == "__main__":
    main()
