"""Charts hold the numbers of the tables, and are saved as files that need no network."""

import json
import re

import numpy as np
import pandas as pd
import pytest

from peers import peer
from podium import (
    AdaBoostOR,
    LambdaMART,
    PodiumError,
    PreferenceRegression,
    RankBoost,
    RankSVM,
    compare,
    evaluate,
    make_search,
    roc_curve,
)
from podium.plots import (
    learning_curves,
    plot_confusion,
    plot_contributions,
    plot_importance,
    plot_learning_curves,
    plot_measure_at_k,
    plot_pair_margins,
    plot_query_differences,
    plot_roc,
    plot_scores_by_grade,
    plot_steps,
    quality_charts,
    save_chart,
)
from podium.plots.feature_charts import waterfall
from podium.plots.quality_charts import pair_margins, scores_by_grade
from tables import graded_table, small_table

peer("altair")


@pytest.fixture(scope="module")
def table():
    return make_search(n_queries=15, docs_per_query=10, n_features=6, random_state=3)


@pytest.fixture(scope="module")
def model(table):
    sets = {"eval_set": [(table.X, table.y)] * 2, "eval_qid": [table.qid] * 2}
    return RankBoost(n_estimators=12, eval_metric=["ndcg@5", "pair_loss"]).fit(table.X, table.y, qid=table.qid, **sets)


@pytest.fixture(scope="module")
def scores(model, table):
    return model.predict(table.X)


def values_of(content):
    """The rows of a chart or of a layer of one."""
    return content["data"]["values"]


def test_learning_curves_hold_the_history_and_the_certificate(model, table):
    certificate = model.certificate(table.X, table.y, qid=table.qid)
    charts = plot_learning_curves(model, certificate).to_dict()["vconcat"]
    assert [chart["layer"][0]["title"] for chart in charts] == ["ndcg@5", "pair_loss", "training ranking loss"]
    rows = values_of(charts[0]["layer"][0])
    for place in ("validation_0", "validation_1"):
        assert [row["value"] for row in rows if row["set"] == place] == model.evals_result_[place]["ndcg@5"]
    assert [row["round"] for row in rows][:12] == list(range(1, 13))
    vouched = values_of(charts[2]["layer"][0])
    for name, key in (("bound ∏Z", "bound"), ("loss", "loss")):
        assert [row["value"] for row in vouched if row["set"] == name] == certificate[key].tolist()
    assert np.all(certificate["loss"] <= certificate["bound"] + 1e-12)
    assert values_of(charts[0]["layer"][1]) == [{"round": 12}]
    assert list(learning_curves(model)["training ranking loss"]) == ["bound ∏Z"]


def test_a_logarithmic_scale_leaves_out_what_it_cannot_show(model):
    charts = plot_learning_curves(model, {"bound": [0.5, 0.0]}, scale="log").to_dict()["vconcat"]
    assert values_of(charts[2]["layer"][0]) == [{"set": "bound ∏Z", "round": 1, "value": 0.5}]
    assert charts[0]["layer"][0]["encoding"]["y"]["scale"]["type"] == "log"


def test_measures_at_k_are_those_of_evaluate(table, scores):
    content = plot_measure_at_k(table.y, {"one": scores, "two": -scores}, ks=(1, 3, 20), measure="err", qid=table.qid)
    rows = values_of(content.to_dict())
    for name, given in (("one", scores), ("two", -scores)):
        result = evaluate(table.y, given, qid=table.qid, measures=["err@1", "err@3", "err@20"])
        own = [row for row in rows if row["ranking"] == name]
        assert [row["mean"] for row in own] == [result[one] for one in result]
        assert [(row["low"], row["high"]) for row in own] == [result.interval(one) for one in result]
        assert [row["k"] for row in own] == [1, 3, 20]


def test_differences_are_those_of_the_queries_and_of_compare(table, scores):
    other = table.X[:, 0]
    chart = plot_query_differences(table.y, scores, other, qid=table.qid, measure="map").to_dict()
    one, two = (evaluate(table.y, given, qid=table.qid, measures=["map"]).per_query("map") for given in (scores, other))
    rows = values_of(chart)
    assert {row["query"]: row["difference"] for row in rows} == {str(q): one[q] - two[q] for q in one}
    assert [row["difference"] for row in rows] == sorted((row["difference"] for row in rows), reverse=True)
    found = compare(table.y, scores, other, qid=table.qid, measures=["map"])["map"]
    assert chart["title"]["text"].startswith(f"map, first less second: {found.difference:+.4f} ({found.low:+.4f}")
    assert chart["title"]["subtitle"] == f"won {found.wins}, lost {found.losses}, same {found.draws}"
    assert sum(row["better"] == "first" for row in rows) == found.wins
    assert np.mean([row["difference"] for row in rows]) == pytest.approx(found.difference)


def test_roc_curves_hold_their_corners(table, scores):
    curve = roc_curve(table.y, scores, above=1)
    rows = values_of(plot_roc({"one": curve}).to_dict())
    assert [(row["x"], row["y"]) for row in rows] == list(zip(curve.false_positive, curve.true_positive, strict=True))


def test_importance_is_that_of_the_ranker(model, table):
    rows = values_of(plot_importance(model, max_features=3).to_dict())
    order = np.argsort(-model.feature_importances_, kind="stable")[:3]
    assert [row["feature"] for row in rows] == [f"f{j}" for j in order]
    assert [row["importance"] for row in rows] == model.feature_importances_[order].tolist()
    linear = RankSVM().fit(table.X, table.y, qid=table.qid)
    with pytest.raises(PodiumError, match="RankSVM has no feature_importances_; give names with numbers"):
        plot_importance(linear)
    with pytest.raises(PodiumError, match="nothing to draw: no feature has any importance"):
        plot_importance({"a": 0.0})


def test_steps_are_the_sum_of_the_stumps():
    X, y, qid = small_table()
    model = RankBoost(n_estimators=20).fit(X, y, qid=qid)
    steps = {step.feature: step for step in model.model_.steps}
    found = model.feature_functions(X)
    assert {one.feature for one in found} == set(steps)
    assert [one.spread for one in found] == sorted((one.spread for one in found), reverse=True)
    for one in found:
        step = steps[one.feature]
        assert np.array_equal(one.x[1:-1], np.repeat(step.thresholds, 2))
        assert np.array_equal(one.y, np.repeat(step.values, 2))
        assert (one.kind, one.missing) == ("steps", step.missing)
        known = X[~np.isnan(X[:, one.feature]), one.feature]
        assert one.x[0] < min(known.min(), step.thresholds[0])
        assert one.x[-1] > max(known.max(), step.thresholds[-1])
    charts = plot_steps(model, X, max_features=2, columns=2).to_dict()
    assert [chart["layer"][0]["title"] for chart in charts["concat"]] == [one.name for one in found[:2]]
    first = charts["concat"][0]["layer"]
    assert [(row["x"], row["points"]) for row in values_of(first[0])] == list(zip(found[0].x, found[0].y, strict=True))
    assert values_of(first[1]) == [{"points": found[0].missing, "what": "missing"}]


def test_features_of_a_weighted_sum_are_lines(table):
    model = PreferenceRegression().fit(table.X, table.y, qid=table.qid)
    weights = model._exported().weights
    for one in model.feature_functions(table.X):
        assert one.kind == "line"
        assert one.y == pytest.approx(weights[one.feature] * one.x)
        assert one.missing is None
    assert [one.feature for one in model.feature_functions(table.X, [3])] == [3]


def test_features_of_trees_are_mean_changes():
    X, y, qid = small_table()
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame["a"] = pd.Categorical(frame["a"].map({value: f"v{value:g}" for value in range(6)}))
    model = LambdaMART(n_estimators=10, min_child_samples=2).fit(frame, y, qid=qid)
    found = {one.name: one for one in model.feature_functions(frame)}
    numbers, categories = found["b"], found["a"]
    now = model.predict(frame).mean()
    changes = [model.predict(frame.assign(b=value)).mean() - now for value in numbers.x]
    assert numbers.y == pytest.approx(changes)
    assert numbers.missing == pytest.approx(model.predict(frame.assign(b=np.nan)).mean() - now)
    assert np.array_equal(numbers.x, np.unique(X[~np.isnan(X[:, 1]), 1]))
    assert categories.categories == tuple(frame["a"].cat.categories)
    one = frame.assign(a=pd.Categorical(["v3"] * 60, categories=frame["a"].cat.categories))
    assert categories.y[3] == pytest.approx(model.predict(one).mean() - now)
    shuffled = np.random.default_rng(0).permutation(60)
    for one in model.feature_functions(frame.iloc[shuffled]):
        assert np.array_equal(one.y, found[one.name].y)
    bars = plot_steps(model, frame, [0]).to_dict()["concat"][0]["layer"][0]
    assert [row["x"] for row in values_of(bars)] == list(frame["a"].cat.categories)


def test_features_that_are_none_are_refused(model, table):
    with pytest.raises(PodiumError, match="features must be columns of X, from 0 to 5; got 6"):
        model.feature_functions(table.X, [6])
    with pytest.raises(PodiumError, match="nothing to draw: no feature moves a score"):
        plot_steps(model, table.X, [])
    with pytest.raises(PodiumError, match="cannot be explained feature by feature"):
        plot_steps(RankSVM(kernel="rbf").fit(table.X, table.y, qid=table.qid), table.X)


def test_many_values_of_a_feature_are_thinned_to_quantiles(table):
    model = LambdaMART(n_estimators=3, min_child_samples=2).fit(table.X, table.y, qid=table.qid)
    one = next(one for one in model.feature_functions(table.X) if len(np.unique(table.X[:, one.feature])) > 40)
    assert len(one.x) <= 40
    assert set(one.x) <= set(table.X[:, one.feature])
    assert (one.x[0], one.x[-1]) == (table.X[:, one.feature].min(), table.X[:, one.feature].max())


def test_a_waterfall_adds_up_to_the_difference(model, table):
    ends = int(model.predict(table.X[:8]).argmax()), int(model.predict(table.X[:8]).argmin())
    why = model.explain(table.X, *ends)
    moved = [j for j in why.order.tolist() if why.contributions[j] != 0]
    rows = waterfall(why, 2)
    assert [row["feature"] for row in rows[:2]] == [f"f{j}" for j in moved[:2]]
    assert rows[2]["feature"] == f"{len(moved) - 2} other features"
    assert [row["end"] for row in rows[:-2]] == [row["start"] for row in rows[1:-1]]
    assert rows[-2]["end"] == pytest.approx(why.difference)
    assert (rows[-1]["start"], rows[-1]["end"]) == (0.0, why.difference)
    assert [row["contribution"] for row in rows[:2]] == why.contributions[moved[:2]].tolist()
    assert {row["kind"] for row in rows} <= {"raises", "lowers", "difference"}
    assert all((row["kind"] == "raises") == (row["contribution"] > 0) for row in rows[:-1])
    chart = plot_contributions(why, max_features=2).to_dict()
    assert values_of(chart) == rows
    assert chart["layer"][0]["title"] == f"row {ends[0]} against row {ends[1]}"


def brute_margins(y, scores, qid):
    return sorted(
        scores[i] - scores[j] for i in range(len(y)) for j in range(len(y)) if qid[i] == qid[j] and y[i] > y[j]
    )


def test_margins_are_those_of_all_pairs(table, scores):
    margins = pair_margins(table.y, scores, table.qid)
    assert margins == pytest.approx(brute_margins(table.y, scores, table.qid))
    rows = values_of(plot_pair_margins(table.y, {"one": scores}, qid=table.qid, n_points=21).to_dict()["layer"][0])
    top = np.abs(margins).max()
    for row in rows:
        assert row["share"] == np.mean(margins / top <= row["margin"])
    wrong = next(row["share"] for row in rows if row["margin"] == 0)
    loss = evaluate(table.y, scores, qid=table.qid, measures=["pair_loss"], ties="pessimistic")["pair_loss"]
    assert wrong >= loss - 1e-12


def test_margins_of_many_pairs_are_those_of_some_queries(table, scores):
    few = pair_margins(table.y, scores, table.qid, max_pairs=30)
    everything = pair_margins(table.y, scores, table.qid)
    assert 30 <= len(few) < len(everything)
    assert set(few) <= set(everything)
    with pytest.raises(PodiumError, match="nothing to draw: no query has two labels"):
        plot_pair_margins([1, 1], {"one": [1.0, 2.0]})


def test_scores_by_grade_are_quantiles_within_queries(table, scores):
    rows = scores_by_grade(table.y, scores)
    for row in rows:
        own = scores[table.y == row["grade"]]
        assert row["rows"] == len(own)
        assert [row["low"], row["quarter"], row["middle"], row["three_quarters"], row["high"]] == pytest.approx(
            np.quantile(own, [0.05, 0.25, 0.5, 0.75, 0.95])
        )
    centred = scores - pd.Series(scores).groupby(table.qid).transform("mean")
    for row in scores_by_grade(table.y, scores, table.qid):
        assert row["middle"] == pytest.approx(np.median(centred[table.y == row["grade"]]))
    drawn = values_of(plot_scores_by_grade(table.y, scores, qid=table.qid).to_dict())
    assert [row["grade"] for row in drawn] == [f"{grade:g}" for grade in np.unique(table.y)]
    with pytest.raises(PodiumError, match=f"at most {quality_charts.MAX_GRADES} grades; y has 60"):
        plot_scores_by_grade(np.arange(60), np.arange(60))


def test_confusion_adds_up_to_the_score():
    X, y = graded_table()
    model = AdaBoostOR(n_estimators=5, cost="squared").fit(X, y)
    left, right = plot_confusion(model, X, y).to_dict()["hconcat"]
    counts, costs = (pd.DataFrame(values_of(chart)) for chart in (left, right))
    expected = pd.crosstab(y, model.predict(X)).reindex(index=range(4), columns=range(4), fill_value=0)
    assert counts["number"].to_numpy().reshape(4, 4).tolist() == expected.to_numpy().tolist()
    assert costs["number"].sum() / len(y) == pytest.approx(-model.score(X, y))
    assert right["layer"][0]["title"] == f"Cost, {-model.score(X, y):.4f} a row"
    assert counts.groupby("true")["share"].sum().to_numpy() == pytest.approx(np.ones(4))
    assert costs["share"].to_numpy() == pytest.approx(costs["number"].to_numpy() / costs["number"].sum())


@pytest.mark.parametrize("ending", ["png", "svg", "html", "json"])
def test_charts_are_saved_without_a_network(ending, tmp_path):
    file = tmp_path / f"chart.{ending}"
    save_chart(plot_importance({"a": 0.75, "b": 0.25}), file)
    data = file.read_bytes()
    if ending == "png":
        assert data.startswith(b"\x89PNG")
    elif ending == "svg":
        assert data.startswith(b"<svg")
    elif ending == "json":
        assert values_of(json.loads(data))[0] == {"feature": "a", "importance": 0.75}
    else:
        assert not re.search(r"<script[^>]* src=|<link", data.decode())
        assert len(data) > 300_000


def test_a_chart_that_cannot_be_saved_leaves_the_old_file(tmp_path):
    chart = plot_importance({"a": 1.0})
    with pytest.raises(PodiumError, match="The ending of a chart's file must be one of"):
        save_chart(chart, tmp_path / "chart.bmp")
    with pytest.raises(PodiumError, match="does not exist"):
        save_chart(chart, tmp_path / "no" / "chart.png")
    assert list(tmp_path.iterdir()) == []


def test_rankers_without_rounds_have_no_curves(table):
    model = PreferenceRegression().fit(table.X, table.y, qid=table.qid)
    with pytest.raises(PodiumError, match="PreferenceRegression has no measures by round; fit it with an eval_set"):
        plot_learning_curves(model)
