"""What a page on a model holds: the numbers of the tables, queries that fit, nothing that depends on the row order."""

import base64
import html
import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import podium
from model_samples import make_table
from podium import (
    AdaBoostOR,
    LambdaMART,
    NoPairsError,
    PodiumError,
    PreferenceRegression,
    RankBoost,
    describe,
    evaluate,
    make_search,
)
from podium.model_file import PROTOCOL
from podium.report import model_facts, query_details, query_sample, shipped_model
from podium.report.model_facts import MAX_ROUNDS, parameters
from podium.report.quality_facts import extremes, histogram
from podium.report.query_sample import LOWER_DOCUMENTS, MAX_DOCUMENTS, choose_documents, choose_queries
from podium.report.rendering import as_json
from tables import graded_table, small_table


@pytest.fixture(scope="module")
def tables():
    return [make_search(n_queries=12, docs_per_query=8, n_features=5, random_state=seed) for seed in (0, 1)]


@pytest.fixture(scope="module")
def model(tables):
    train, test = tables
    sets = {"eval_set": [(test.X, test.y)], "eval_qid": [test.qid]}
    return RankBoost(n_estimators=15, eval_metric="map").fit(train.X, train.y, qid=train.qid, **sets)


@pytest.fixture(scope="module")
def content(tables, model):
    test = tables[1]
    return podium.report(model, test.X, test.y, qid=test.qid, measures=["ndcg@5", "pair_loss"]).content


def numbers(text, kind="<f8"):
    """The numbers of a block of base64."""
    return np.frombuffer(base64.b64decode(text), kind)


def test_measures_are_those_of_evaluate(content, model, tables):
    test = tables[1]
    result = evaluate(test.y, model.predict(test.X), qid=test.qid, measures=["ndcg@5", "pair_loss"])
    for row, name in zip(content["quality"]["rows"], result, strict=True):
        assert (row["name"], row["mean"], row["empty"]) == (name, result[name], result.n_empty(name))
        assert (row["low"], row["high"]) == result.interval(name)
        assert row["higher_is_better"] == (name != "pair_loss")
    for row in content["quality"]["at_k"]:
        one = evaluate(test.y, model.predict(test.X), qid=test.qid, measures=[f"ndcg@{row['k']}"])
        assert row["mean"] == one[f"ndcg@{row['k']}"]
    values = result.per_query("ndcg@5")
    assert {one["id"]: one["values"][0] for one in content["queries"]["queries"]} == {
        str(query): value for query, value in values.items()
    }
    assert sum(count for _, _, count in content["quality"]["histogram"]) == len(values)
    listed = content["queries"]["queries"]
    assert [listed[i]["values"][0] for i in content["queries"]["worst"]] == sorted(values.values())[:6]
    assert [listed[i]["values"][0] for i in content["queries"]["best"]] == sorted(values.values())[:-7:-1]


def test_rankings_hold_places_labels_scores_and_values(content, model, tables):
    test = tables[1]
    places, scores = model.rank(test.X, qid=test.qid), model.predict(test.X)
    used = [int(name[1:]) for name in content["queries"]["features"]]
    shown = numbers(content["queries"]["feature_values"], content["queries"]["value_kind"]).reshape(-1, len(used))
    at = 0
    for one in content["queries"]["queries"]:
        rows = np.flatnonzero(test.qid == int(one["id"]))[[int(name.split()[1]) - 1 for name in one["names"]]]
        assert one["places"] == places[rows].tolist()
        assert one["labels"] == test.y[rows].tolist()
        assert one["scores"] == scores[rows].tolist() == sorted(scores[rows], reverse=True)
        assert np.array_equal(shown[at : at + len(rows)], test.X[np.ix_(rows, used)])
        at += len(rows)
    assert at == len(test.y)


def test_curves_are_those_of_the_fit_and_of_the_rows(content, model, tables):
    test = tables[1]
    panels = {panel["measure"]: panel["series"] for panel in content["curves"]}
    assert list(panels) == ["map", "training ranking loss", "ndcg@5"]
    assert panels["map"][0]["values"] == model.evals_result_["validation_0"]["map"]
    assert panels["training ranking loss"][0]["values"] == model.certificate()["bound"].tolist()
    staged = [
        evaluate(test.y, scores, qid=test.qid, measures=["ndcg@5"])["ndcg@5"] for scores in model.staged_predict(test.X)
    ]
    assert panels["ndcg@5"][0] == {"name": "rows of this page", "rounds": list(range(1, 16)), "values": staged}
    assert {panel["used"] for panel in content["curves"]} == {15}


def test_of_many_rows_curves_are_of_some_queries(monkeypatch, model, tables):
    monkeypatch.setattr(model_facts, "MAX_STAGED_ROWS", 40)
    test = tables[1]
    series = podium.report(model, test.X, test.y, qid=test.qid, measures=["map"]).content["curves"][0]["series"]
    assert [one["name"] for one in series] == ["validation_0", "some rows of this page"]
    order = np.random.default_rng(0).permutation(12)
    drawn = order[np.cumsum(np.bincount(test.qid)[order]) <= 40]
    rows = np.isin(test.qid, drawn)
    result = evaluate(test.y[rows], model.predict(test.X[rows]), qid=test.qid[rows], measures=["map"])
    assert 2 <= len(drawn) < 12
    assert series[1]["values"][-1] == pytest.approx(result["map"])


def test_curves_of_categories_are_those_of_the_rows(tables):
    train, test = tables
    X, T = (np.c_[np.arange(len(table.y)) % 5, table.X] for table in tables)
    model = LambdaMART(n_estimators=3, min_child_samples=2, categorical_features=[0]).fit(X, train.y, qid=train.qid)
    curve = podium.report(model, T, test.y, qid=test.qid, measures=["map"]).content["curves"][0]["series"][0]
    staged = [evaluate(test.y, scores, qid=test.qid, measures=["map"])["map"] for scores in model.staged_predict(T)]
    assert curve["values"] == pytest.approx(staged)


def test_data_model_and_reproduction_are_told(content, model, tables):
    test = tables[1]
    assert content["data"]["lines"] == describe(test.X, test.y, qid=test.qid).lines()
    assert content["data"]["grades"] == [[label, int((test.y == label).sum())] for label in np.unique(test.y)]
    assert sum(count for *_, count in content["data"]["sizes"]) == 12
    assert ("eval_metric", "'map'", True) in parameters(model)
    assert ("learning_rate", "1.0", False) in parameters(model)
    shares = dict(content["model"]["importance"])
    assert shares == {f"f{j}": share for j, share in enumerate(model.feature_importances_) if share > 0}
    assert list(shares.values()) == sorted(shares.values(), reverse=True)
    assert ["rounds", "15, used 15"] in content["model"]["training"]
    assert "podium.RankBoost(eval_metric='map', n_estimators=15).fit(" in content["reproduction"]["code"]
    assert content["summary"] == {"model": "RankBoost", "rows": len(test.y), "queries": 12, "features": 5}
    steps = {f"f{step.feature}": step for step in model.model_.steps}
    assert {one["name"] for one in content["functions"]} == {
        name for name, step in steps.items() if np.ptp(step.values)
    }
    for one in content["functions"]:
        assert one["y"] == np.repeat(steps[one["name"]].values, 2).tolist()
        assert one["x"][1:-1:2] == steps[one["name"]].thresholds.tolist()
        assert one["x"] == sorted(one["x"])


def test_long_curves_keep_their_first_and_last_round(tables):
    train = tables[0]
    long = RankBoost(n_estimators=MAX_ROUNDS + 50).fit(train.X, train.y, qid=train.qid)
    bound = podium.report(long, train.X, train.y, qid=train.qid).content["curves"][0]["series"][0]
    assert len(bound["rounds"]) == MAX_ROUNDS
    assert (bound["rounds"][0], bound["rounds"][-1]) == (1, len(long.rounds_))
    product = long.certificate()["bound"]
    assert bound["values"] == product[np.array(bound["rounds"]) - 1].tolist()


def test_row_order_does_not_change_the_page(tables):
    train, test = tables
    model = LambdaMART(n_estimators=4, min_child_samples=3).fit(train.X, train.y, qid=train.qid)
    names = np.array([f"d{i}" for i in range(len(test.y))])
    order = np.random.default_rng(0).permutation(len(test.y))
    one = podium.report(model, test.X, test.y, qid=test.qid, docid=names)
    two = podium.report(model, test.X[order], test.y[order], qid=test.qid[order], docid=names[order])
    assert one.html() == two.html()


def test_of_many_queries_the_worst_the_best_and_some_at_random_are_shown(monkeypatch, tables, model):
    monkeypatch.setattr(query_sample, "MAX_CELLS", 150)
    test = tables[1]
    page = podium.report(model, test.X, test.y, qid=test.qid)
    found = page.content["queries"]
    values = evaluate(test.y, model.predict(test.X), qid=test.qid, measures=["ndcg@10"]).per_query("ndcg@10")
    shown = [one["values"][0] for one in found["queries"]]
    assert page.n_shown == len(shown) < found["total"] == 12
    assert {min(values.values()), max(values.values())} <= set(shown)
    assert sum(len(one["names"]) for one in found["queries"]) * len(found["features"]) <= 150
    assert page.content["quality"]["rows"][0]["mean"] == pytest.approx(np.mean(list(values.values())))


def test_queries_are_chosen_by_turns_from_both_ends_then_at_random(monkeypatch):
    values, sizes = np.linspace(0, 1, 1000), np.full(1000, 10)
    assert choose_queries(values, sizes, 5, 0).tolist() == list(range(1000))
    monkeypatch.setattr(query_sample, "MAX_CELLS", 2000)
    chosen = choose_queries(values, sizes, 5, 0)
    assert len(chosen) == 40
    assert np.array_equal(chosen[:10], np.arange(10))
    assert np.array_equal(chosen[-10:], np.arange(990, 1000))
    assert np.array_equal(chosen, np.sort(chosen))
    assert not np.array_equal(chosen, choose_queries(values, sizes, 5, 1))
    values[:500] = np.nan
    assert {500, 501, 999, 998} <= set(choose_queries(values, sizes, 5, 0).tolist())
    assert len(choose_queries(values, np.full(1000, 10**6), 1000, 0)) == 2


def test_long_queries_show_the_top_and_the_best_below_it():
    labels = np.zeros(3 * MAX_DOCUMENTS)
    labels[[250, 270]] = 1.0
    top = MAX_DOCUMENTS - LOWER_DOCUMENTS
    chosen = choose_documents(labels)
    assert len(chosen) == MAX_DOCUMENTS
    assert chosen[:top].tolist() == list(range(top))
    assert {250, 270} <= set(chosen.tolist())
    assert np.array_equal(chosen, np.sort(chosen))
    assert choose_documents(labels[:MAX_DOCUMENTS]).tolist() == list(range(MAX_DOCUMENTS))


def test_extremes_never_share_a_query():
    good = np.array([0.5, np.nan, 0.1, 0.9])
    assert extremes(good, np.arange(4)) == ([2], [3])
    assert extremes(good, np.array([0])) == ([0], [])
    assert extremes(np.arange(30.0), np.arange(30)) == (list(range(10)), list(range(29, 19, -1)))


def test_by_a_loss_the_worst_queries_are_those_of_the_highest(model, tables):
    test = tables[1]
    found = podium.report(model, test.X, test.y, qid=test.qid, measures=["pair_loss"]).content["queries"]
    losses = [one["values"][0] for one in found["queries"]]
    assert [losses[i] for i in found["worst"]] == sorted(losses, reverse=True)[:6]
    assert [losses[i] for i in found["best"]] == sorted(losses)[:6]


def test_constant_features_are_named(model, tables):
    test, names = tables[1], ["a", "b", "c", "d", "e"]
    X = np.c_[test.X[:, :2], np.ones(len(test.y)), test.X[:, 3:]]
    page = podium.report(model, X, test.y, qid=test.qid, feature_names=names).content
    assert ["constant features", "1 (c)"] in page["data"]["lines"]
    assert {one["name"] for one in page["functions"]} <= set(names)


def test_histograms_count_every_value():
    assert histogram(np.array([2.0, 2.0, 4.0])) == [[1.5, 2.5, 2], [2.5, 3.5, 0], [3.5, 4.5, 1]]
    bars = histogram(np.linspace(0, 1, 101))
    assert (len(bars), sum(count for *_, count in bars), bars[0][0], bars[-1][1]) == (20, 101, 0.0, 1.0)
    assert histogram(np.array([0.3])) == [[pytest.approx(-0.2), pytest.approx(0.8), 1]]
    assert histogram(np.array([])) == []


def test_ordinal_rankers_have_their_grades_and_costs():
    X, y = graded_table()
    names = np.array(["bad", "fair", "good", "great"])[y]
    model = AdaBoostOR(n_estimators=4).fit(X, y)
    page = podium.report(model, X, y, qid=np.arange(150) // 10).content
    assert page["grades"]["mean_cost"] == pytest.approx(-model.score(X, y))
    assert np.sum(page["grades"]["counts"]) == 150
    worded = AdaBoostOR(n_estimators=4).fit(X, names)
    told = podium.report(worded, X, names, qid=np.arange(150) // 10).content
    assert told["grades"]["labels"] == ["bad", "fair", "good", "great"]
    assert told["quality"]["rows"][0]["mean"] == page["quality"]["rows"][0]["mean"]
    assert "model.predict_rank(X)" in told["reproduction"]["code"]


def test_sparse_rows_linear_models_and_missing_values():
    X, y, qid = small_table()
    model = PreferenceRegression().fit(X, y, qid=qid)
    page = podium.report(model, X, y, qid=qid)
    found = page.content["queries"]
    assert found["model"]["kind"] == "linear"
    assert np.isnan(numbers(found["feature_values"], found["value_kind"])).any()
    json.loads(as_json(page.content))
    sparse = sp.csr_array(np.nan_to_num(X))
    model = RankBoost(n_estimators=5).fit(sparse, y, qid=qid)
    assert podium.report(model, sparse, y, qid=qid).n_shown == 5


def test_the_block_of_json_cannot_be_ended_and_has_no_number_that_is_none():
    text = as_json({"a": "</script>&\u2028", "b": [float("nan"), float("inf"), 1.5], "c": {"d": (float("-inf"),)}})
    assert not re.search("[<>&]|[^\\x00-\\x7f]", text)
    assert json.loads(text) == {"a": "</script>&\u2028", "b": [None, None, 1.5], "c": {"d": [None]}}


def test_a_page_is_one_file_that_names_no_other(content, model, tables):
    test = tables[1]
    text = podium.report(model, test.X, test.y, qid=test.qid).html()
    assert not re.search(r'(src|href)="(?!#)', text)
    assert "default-src 'none'" in text
    without_names = re.sub(r"http://www\.w3\.org/2000/svg", "", text)
    assert "http" not in without_names.replace("http-equiv", "")


def test_markup_in_a_title_is_text(model, tables):
    test = tables[1]
    title = '</title><img src="x"> & é'
    text = podium.report(model, test.X, test.y, qid=test.qid, title=title).html()
    (found,) = re.findall("<title>(.*?)</title>", text)
    assert not re.search("[<>]|[^\\x00-\\x7f]", found)
    assert html.unescape(found) == title


def test_features_that_the_page_does_not_hold_add_what_is_left(monkeypatch, model, tables):
    monkeypatch.setattr(query_details, "MAX_FEATURES", 2)
    test = tables[1]
    found = podium.report(model, test.X, test.y, qid=test.qid).content["queries"]
    assert len(found["features"]) == 2
    parts = numbers(found["contributions"], "<f4").reshape(-1, 3)
    assert np.any(parts[:, 2] != 0)
    first = 0
    for query in found["queries"]:
        own = parts[first : first + len(query["scores"])].sum(axis=1)
        np.testing.assert_allclose(own - own[0], np.subtract(query["scores"], query["scores"][0]), atol=1e-5)
        first += len(own)


def test_the_room_can_be_called_by_its_name():
    room = sys.modules["podium.report"]
    assert callable(podium.report)
    assert callable(room)
    with pytest.raises(PodiumError, match="model must be a fitted ranker of rows; got int"):
        room(3, [[1.0]], [1.0])


BAD = {
    "columns": ({"X": np.ones((4, 3))}, PodiumError, "X has 3 features, but RankBoost is expecting 5"),
    "labels": ({"y": [1.0, 0.0]}, PodiumError, "y must have"),
    "one document a query": ({"qid": [0, 1, 2, 3]}, NoPairsError, "each of the 4 queries has one row"),
    "empty queries": ({"y": np.zeros(4)}, NoPairsError, "There is nothing to report: ndcg@10 is undefined, because no"),
    "documents": ({"docid": ["a"]}, PodiumError, "docid must name a document for each of the 4 rows; got 1"),
    "names": ({"feature_names": ["a"]}, PodiumError, "feature_names must name each of the 5 features; got 1 names"),
    "measure": ({"measures": ["nothing"]}, PodiumError, "measure 'nothing' is unknown"),
    "seed": ({"random_state": -1}, PodiumError, "random_state must be"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_a_sentence(name, model):
    given = {"X": np.arange(20.0).reshape(4, 5), "y": [1.0, 0.0, 2.0, 0.0], "qid": [0, 0, 1, 1]}
    changed, kind, sentence = BAD[name]
    with pytest.raises(kind, match=sentence):
        podium.report(model, **{**given, **changed})


def test_an_unfitted_ranker_is_refused(tables):
    with pytest.raises(ValueError, match="is not fitted yet"):
        podium.report(RankBoost(), tables[0].X, tables[0].y, qid=tables[0].qid)


SAMPLES = sorted((Path(__file__).parent / "data" / "models" / f"protocol-{PROTOCOL}").glob("*.podium"))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("file", SAMPLES, ids=lambda path: path.stem)
def test_every_ranker_has_a_page_with_contributions_or_the_reason_why_not(file):
    model = podium.load(file)
    X, y, qid = make_table()
    labels = np.resize(model.classes_, len(y)) if hasattr(model, "classes_") else y
    page = podium.report(model, X, labels, qid=qid)
    found = page.content["queries"]
    refused = "cannot be explained feature by feature" in found["refusal"]
    assert (found["model"] is None) == (refused or isinstance(model, podium.RankNet | podium.LambdaRank))
    assert refused == (found["contributions"] is None and found["model"] is None)
    assert (page.content["grades"] is None) != hasattr(model, "cost")
    assert json.loads(as_json(page.content))["summary"]["model"] == type(model).__name__


def test_trees_name_the_features_of_the_page_and_fit_up_to_a_number_of_splits(monkeypatch, tables):
    train = tables[0]
    X = np.c_[np.ones(len(train.y)), train.X[:, 0], np.ones(len(train.y)), train.X[:, 2:4]]
    model = LambdaMART(n_estimators=4, min_child_samples=2).fit(X, train.y, qid=train.qid)
    trees = model._exported().trees
    found = podium.report(model, X, train.y, qid=train.qid).content["queries"]
    splits = np.concatenate([tree.feature for tree in trees])
    assert found["features"] == [f"f{j}" for j in np.unique(splits)] != [f"f{j}" for j in range(len(np.unique(splits)))]
    assert [found["features"][j] for j in numbers(found["model"]["feature"], "<i4")] == [f"f{j}" for j in splits]
    assert np.array_equal(
        numbers(found["model"]["threshold"]), np.concatenate([tree.threshold for tree in trees]), equal_nan=True
    )
    used = np.unique(splits).astype(int)
    for limit, fits in ((len(splits), True), (len(splits) - 1, False)):
        monkeypatch.setattr(shipped_model, "MAX_SPLITS", limit)
        assert (shipped_model.shipped_model(model._exported(), used) is not None) == fits


def test_the_python_of_the_page_runs_for_a_model_that_stopped_early():
    train, valid = (make_search(n_queries=12, random_state=seed) for seed in (0, 1))
    model = LambdaMART(5, early_stopping_rounds=2, min_child_samples=5, verbose=0)
    model.fit(train.X, train.y, qid=train.qid, eval_set=[(valid.X, valid.y)], eval_qid=[valid.qid]).set_params(
        verbose=1
    )
    code = podium.report(model, valid.X, valid.y, qid=valid.qid).content["reproduction"]["code"]
    names = {
        f"{part}_{name}": getattr(one, name)
        for part, one in (("train", train), ("valid", valid))
        for name in train._fields
    }
    exec("\n".join(code.splitlines()[:3]), names)
    np.testing.assert_array_equal(names["model"].predict(valid.X), model.predict(valid.X))
