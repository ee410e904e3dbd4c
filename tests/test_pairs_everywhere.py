"""Pairs beside labels: held-out pairs for early stopping, evaluation, description and the command line."""

import json
import math

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import podium
from podium import (
    MART,
    AdaBoostOR,
    LambdaMART,
    NoPairsError,
    PNormPush,
    PodiumError,
    PreferenceRegression,
    RankBoost,
    RankBoostPlus,
    RankRLS,
    TreeRank,
    describe,
    evaluate,
    make_preferences,
)
from podium._errors import FormatError
from podium.cli import app
from podium.readers import read_item_pairs

LOSSES = {"pair_loss": 0.5, "pair_loss_1": 1.0, "pair_loss_2": 0.5}


def drawn(seed=0, n_items=60, n_pairs=400):
    """Items with features, pairs of them by a noisy sum, and their names."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_items, 4))
    one, other = rng.integers(0, n_items, (2, n_pairs))
    one, other = one[one != other], other[one != other]
    first = X[one, 0] + X[one, 1] + rng.normal(size=len(one)) > X[other, 0] + X[other, 1]
    pairs = np.where(first, one, other), np.where(first, other, one), rng.integers(1, 4, len(one)).astype(float)
    return X, pairs, np.array([f"item-{n}" for n in rng.permutation(n_items)])


def part(pairs, rows):
    return tuple(column[rows] for column in pairs)


def loss(pairs, scores, tie):
    """By the definition, pair by pair."""
    total = sum(
        weight * (1.0 if scores[b] < scores[w] else tie if scores[b] == scores[w] else 0.0)
        for b, w, weight in zip(*pairs, strict=True)
    )
    return total / pairs[2].sum()


@pytest.mark.parametrize("ranker", [RankBoost, RankBoostPlus, LambdaMART])
def test_rounds_are_measured_on_held_out_pairs(ranker):
    X, pairs, items = drawn()
    train, valid = part(pairs, slice(100, None)), part(pairs, slice(100))
    given = {"eval_metric": ["pair_loss", "pair_loss_1"], "early_stopping_rounds": 3}
    model = ranker(30, **given)
    model.fit(X, pairs=train, eval_pairs=[valid])
    history = model.evals_result_["validation_0"]
    staged = list(model.staged_predict(X))
    for name in ("pair_loss", "pair_loss_1"):
        expected = [loss(valid, scores, LOSSES[name]) for scores in staged]
        np.testing.assert_allclose(history[name], expected, rtol=1e-12)
    assert model.best_iteration_ == 1 + int(np.argmin(history["pair_loss"]))
    named = [(items[b], items[w], weight) for b, w, weight in zip(*valid, strict=True)]
    again = ranker(30, **given).fit(
        X, pairs=(items[train[0]], items[train[1]], train[2]), items=items, eval_pairs=[named]
    )
    assert again.evals_result_ == model.evals_result_


def test_held_out_pairs_of_labelled_training_rows_are_all_that_is_measured():
    X, pairs, items = drawn()
    y, valid = np.arange(len(X)) % 3, part(pairs, slice(100))
    with pytest.raises(PodiumError, match="set eval_metric to one of them"):
        RankBoost(3, eval_metric="ndcg@5").fit(X, y, group=[len(X)], eval_pairs=[valid])
    expected = RankBoost(3).fit(X, y, group=[len(X)], eval_pairs=[valid]).evals_result_
    named = [(items[b], items[w], weight) for b, w, weight in zip(*valid, strict=True)]
    model = RankBoost(3).fit(X, y, group=[len(X)], items=items, eval_pairs=[named])
    assert model.evals_result_ == expected, "ids serve held-out pairs alone"


def test_evaluation_sets_may_have_pairs_of_their_own_rows():
    X, pairs, _ = drawn()
    other, own, items = drawn(1, n_items=30, n_pairs=80)
    named = pd.DataFrame({"better": items[own[0]], "worse": items[own[1]], "weight": own[2]})
    model = RankBoost(8).fit(X, pairs=pairs, eval_set=[(other, None)], eval_pairs=[named], eval_items=[items])
    expected = [loss(own, scores, 0.5) for scores in model.staged_predict(other)]
    np.testing.assert_allclose(model.evals_result_["validation_0"]["pair_loss"], expected, rtol=1e-12)


def test_labels_and_pairs_of_an_evaluation_set_serve_their_own_measures():
    data = podium.make_search(20, docs_per_query=8, random_state=0)
    valid = podium.make_search(10, docs_per_query=8, random_state=1)
    pairs = np.array([0, 5, 9]), np.array([4, 7, 2]), np.array([1.0, 1.0, 2.0])
    sets = {"eval_set": [(valid.X, valid.y)], "eval_qid": [valid.qid], "eval_pairs": [pairs]}
    model = LambdaMART(4, min_child_samples=2, eval_metric=["ndcg@5", "pair_loss", "map"])
    model.fit(data.X, data.y, qid=data.qid, **sets)
    history = model.evals_result_["validation_0"]
    assert list(history) == ["ndcg@5", "pair_loss", "map"]
    for number, scores in enumerate(model.staged_predict(valid.X)):
        labelled = evaluate(valid.y, scores, qid=valid.qid, measures=["ndcg@5", "map"])
        assert history["ndcg@5"][number] == labelled["ndcg@5"]
        assert history["map"][number] == labelled["map"]
        assert history["pair_loss"][number] == pytest.approx(loss(pairs, scores, 0.5))


def test_pairs_of_an_evaluation_set_need_no_queries_beside_labels_with_some():
    data = podium.make_search(8, docs_per_query=6, random_state=0)
    sets = {"eval_set": [(data.X[:5], None)], "eval_pairs": [([0, 1], [2, 3])]}
    model = RankBoost(2).fit(data.X, data.y, qid=data.qid, **sets)
    assert len(model.evals_result_["validation_0"]["pair_loss"]) == 2


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"eval_pairs": ([0], [1])}, "eval_pairs must be a list with the pairs of each evaluation set"),
        ({"eval_pairs": pd.DataFrame({"a": [0], "b": [1]})}, "eval_pairs must be a list with the pairs"),
        ({"eval_pairs": [([0], [99])]}, r"eval_pairs\[0\]: pairs must name rows 0 to 59 of X"),
        ({"eval_pairs": [([0], [1])], "eval_qid": [[1]]}, "eval_qid must have one entry per eval_set: 0 expected"),
        ({"eval_set": [(np.zeros((2, 4)), None)]}, "An evaluation set must have labels or pairs"),
        (
            {"eval_set": [(np.zeros((2, 4)), None)], "eval_pairs": []},
            "eval_pairs must have one entry per eval_set: 1 exp",
        ),
        (
            {"eval_set": [(np.zeros((2, 4)), None)], "eval_pairs": [([0], [2])]},
            r"eval_set\[0\]: pairs must name rows 0 to 1",
        ),
    ],
)
def test_evaluation_pairs_that_cannot_be_used(given, message):
    X, pairs, _ = drawn()
    with pytest.raises(PodiumError, match=message):
        RankBoost(2).fit(X, pairs=pairs, **given)


def test_measures_of_labels_are_refused_for_pairs_alone():
    X, pairs, _ = drawn()
    with pytest.raises(
        PodiumError, match="ndcg@10 needs labels, and there are pairs alone: measures of pairs are pair_loss"
    ):
        LambdaMART(2, min_child_samples=1).fit(X, pairs=pairs, eval_pairs=[pairs])


@pytest.mark.parametrize("ranker", [MART(2), PNormPush(2), PreferenceRegression(), RankRLS(), TreeRank()])
def test_rankers_of_labels_refuse_pairs_in_a_sentence(ranker):
    X, pairs, items = drawn()
    with pytest.raises(PodiumError, match=r"pairs"):
        ranker.fit(X, np.arange(60) % 3, group=[60], pairs=(items[pairs[0]], items[pairs[1]]), items=items)


@pytest.mark.parametrize("seed", range(5))
def test_losses_of_pairs_are_means_by_their_definition(seed):
    X, pairs, items = drawn(seed)
    scores = np.round(X[:, 0], 1)
    named = pd.DataFrame({"better": items[pairs[0]], "worse": items[pairs[1]], "weight": pairs[2]})
    found = evaluate(scores=scores, pairs=named, items=items)
    assert list(found) == list(LOSSES)
    for name, tie in LOSSES.items():
        assert found[name] == pytest.approx(loss(pairs, scores, tie), rel=1e-12)
        low, high = found.interval(name)
        assert low <= found[name] <= high
    assert found["pair_loss_1"] > found["pair_loss_2"]
    assert (found.unit, len(found.queries)) == ("pairs", len(pairs[0]))
    assert f"{len(pairs[0])} pairs" in str(found)
    assert found.to_dict()["pairs"] == len(pairs[0])
    for ties, tie in (("optimistic", 0.0), ("pessimistic", 1.0), ("expected", 0.5)):
        assert evaluate(scores=scores, pairs=pairs, measures="pair_loss", ties=ties)["pair_loss"] == pytest.approx(
            loss(pairs, scores, tie)
        )


def test_pairs_within_queries_are_averaged_over_queries():
    qid = np.array(["a"] * 3 + ["b"] * 3 + ["c"] * 2)
    scores = np.array([3.0, 2.0, 1.0, 1.0, 2.0, 2.0, 0.0, 0.0])
    pairs = ([0, 1, 3, 4, 5], [1, 2, 4, 5, 3], [1.0, 1.0, 4.0, 2.0, 2.0])
    found = evaluate(scores=scores, pairs=pairs, qid=qid, measures=["pair_loss", "disagreement"])
    assert found.per_query("pair_loss")["a"] == 0.0
    assert found.per_query("pair_loss")["b"] == (4 + 1) / 8
    assert math.isnan(found.per_query("pair_loss")["c"])
    assert found["pair_loss"] == 5 / 10
    assert found["disagreement"] == (0 + 5 / 8) / 2
    assert found.unit == "queries"
    assert found.n_empty("pair_loss") == 1
    with pytest.raises(PodiumError, match="pair 0 joins 'a' and 'b'; leave qid out to average over pairs"):
        evaluate(scores=scores, pairs=([0], [3]), qid=qid)


def test_infinite_scores_tie_with_each_other_alone():
    scores = np.array([np.inf, np.inf, 0.0, -np.inf])
    found = evaluate(scores=scores, pairs=([0, 0, 3], [1, 2, 2]), measures="pair_loss")
    assert found["pair_loss"] == (0.5 + 0 + 1) / 3


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"y": [1, 0], "scores": [1, 0]}, "y belongs to labels; leave it out where pairs are evaluated"),
        ({"scores": [1, 0], "measures": ["pair_loss", "ndcg@10", "map"]}, "ndcg@10 needs labels"),
        ({"scores": [1, 0], "relevant": 1}, "relevant belongs to labels"),
        ({"scores": [1, 0], "convention": "trec"}, "convention belongs to labels"),
        ({"scores": [1, 0], "ties": "stable"}, "ties, for pairs, must be one of expected, optimistic, pessimistic"),
        ({}, "scores must be given beside pairs"),
    ],
)
def test_evaluations_of_pairs_that_make_no_sense(given, message):
    with pytest.raises(PodiumError, match=message):
        evaluate(**given, pairs=([0], [1]))


def test_nothing_to_evaluate_is_said():
    for given, message in (
        ({}, "y must be given"),
        ({"y": [1]}, "scores must be given"),
        ({"items": [1]}, "items are"),
    ):
        with pytest.raises(PodiumError, match=message):
            evaluate(**given)


def test_a_description_counts_pairs():
    X = np.arange(12.0).reshape(6, 2)
    pairs = ([0, 0, 1, 3, 0], [1, 1, 0, 4, 3])
    found = describe(X, pairs=pairs, qid=[0, 0, 0, 1, 1, 1])
    facts = found.pairs
    assert (facts.n_pairs, facts.different_pairs, facts.contradicted_pairs) == (5, 4, 2)
    assert (facts.named_rows, facts.components, facts.across_queries) == (4, 1, 1)
    assert describe(X, pairs=([0, 3], [1, 4])).pairs.components == 2
    text = str(found)
    assert "5, of them 1 repeats" in text
    assert "labels" not in text
    assert found.to_dict()["pairs"]["n_pairs"] == 5
    both = describe(X, [0, 1, 0, 1, 0, 1], pairs=pairs)
    assert both.feedback.label_pairs == 9
    assert "pairs with different labels" in str(both)
    with pytest.raises(PodiumError, match="give labels y, pairs, or both"):
        describe(X)


@pytest.fixture
def files(tmp_path, monkeypatch):
    """items.csv with ids that look like numbers, prefs.csv, and the arrays of both."""
    monkeypatch.chdir(tmp_path)
    X, pairs, _ = drawn(3, n_items=40)
    ids = np.array([f"{n:03d}" for n in range(40)])
    frame = pd.DataFrame(X, columns=list("wxyz"))
    frame.insert(1, "id", ids)
    frame.to_csv("items.csv", index=False)
    prefs = pd.DataFrame({"better": ids[pairs[0]], "worse": ids[pairs[1]], "weight": pairs[2]})
    prefs[:300].to_csv("prefs.csv", index=False)
    prefs[300:].to_parquet("held-out.parquet")
    return X, pairs, ids


def run(*arguments):
    return CliRunner().invoke(app, list(arguments))


def test_the_command_line_learns_from_pairs_of_ids(files):
    X, pairs, _ = files
    settings = ["--set", "n_estimators=5", "--set", 'eval_metric="pair_loss"', "--quiet"]
    done = run(
        "train",
        "items.csv",
        "-o",
        "m",
        "--pairs",
        "prefs.csv",
        "--item",
        "id",
        *settings,
        "--eval-pairs",
        "held-out.parquet",
    )
    assert done.exit_code == 0, done.output
    expected = RankBoost(5).fit(X, pairs=part(pairs, slice(300)), eval_pairs=[part(pairs, slice(300, None))])
    model = podium.load("m")
    np.testing.assert_array_equal(model.predict(X), expected.predict(X))
    assert run("score", "m", "items.csv", "-o", "s", "--item", "id").exit_code == 0
    np.testing.assert_array_equal(np.loadtxt("s"), expected.predict(X))
    told = run("evaluate", "items.csv", "s", "--pairs", "held-out.parquet", "--item", "id", "--json")
    assert told.exit_code == 0, told.output
    means = json.loads(told.stdout)["measures"]
    for name, tie in LOSSES.items():
        assert means[name]["mean"] == pytest.approx(loss(part(pairs, slice(300, None)), expected.predict(X), tie))
    shown = run("data", "items.csv", "--pairs", "prefs.csv", "--item", "id", "--json")
    assert json.loads(shown.stdout)["pairs"]["n_pairs"] == 300


def test_unknown_ids_and_other_mistakes_on_the_command_line(files, tmp_path):
    (tmp_path / "bad.csv").write_text("better,worse\n001,01\n")
    named = (tmp_path / "items.csv").read_text().replace("001", "one")
    (tmp_path / "named.csv").write_text(named)
    for arguments, message in (
        (["items.csv", "--pairs", "bad.csv", "--item", "id"], "is '01', which is none of the 40 in items"),
        (["items.csv", "--pairs", "prefs.csv", "--item", "ids"], "there is no column 'ids' (did you mean id?)"),
        (["named.csv", "--pairs", "prefs.csv"], "column 'id' must hold numbers"),
        (["items.csv", "--pairs", "prefs.csv", "--item", "id", "--ranker", "AdaBoostOR"], "it learns grades"),
    ):
        done = run("train", *arguments, "-o", "m", "--quiet")
        assert isinstance(done.exception, PodiumError)
        assert message in str(done.exception)
    (tmp_path / "s").write_text("1\n2\n")
    done = run("evaluate", "items.csv", "s", "--pairs", "prefs.csv", "--item", "id")
    assert "s must have a score a row of items.csv: 40 expected, 2 given." in str(done.exception)
    assert "Give a model or a file of scores" in str(run("evaluate", "items.csv", "--pairs", "prefs.csv").exception)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("p.csv", "better,looser\na,b\n", "there is no column 'worse'"),
        ("p.csv", "a,b,c,d\n1,2,3,4\n", "there is no column 'better' among a, b, c, d"),
        ("p.csv", "better,worse\na,\n", "must name an item in every row, but row 1 has none"),
        ("p.csv", "better,worse,weight\na,b,0\n", "the weight in row 1 must be positive and finite; got 0.0"),
        ("p.txt", "a b 1\nc d\n", "the line has no weight; give every line one, or no line"),
        ("p.txt", "a b x\n", "the weight must be a number"),
    ],
)
def test_files_of_pairs_are_read_whole_or_refused(tmp_path, name, text, message):
    (tmp_path / name).write_text(text)
    with pytest.raises(FormatError, match=message):
        read_item_pairs(tmp_path / name)


def test_files_of_pairs_by_lines_and_by_row_numbers(tmp_path):
    (tmp_path / "ids.txt").write_text("a b\nc a\n")
    found = read_item_pairs(tmp_path / "ids.txt")
    assert [column.tolist() for column in found] == [["a", "c"], ["b", "a"], [1.0, 1.0]]
    (tmp_path / "w.txt").write_text("a b 2\nc a 0.5\n")
    assert read_item_pairs(tmp_path / "w.txt").weight.tolist() == [2.0, 0.5]
    (tmp_path / "rows.csv").write_text("one,two\n3,0\n1,2\n")
    rows = read_item_pairs(tmp_path / "rows.csv", ids=False)
    assert [column.tolist() for column in rows] == [[3, 1], [0, 2], [1.0, 1.0]]
    (tmp_path / "bad.csv").write_text("one,two\nx,0\n")
    with pytest.raises(FormatError, match="column 'one' must hold row numbers from 0, but row 1 has 'x'"):
        read_item_pairs(tmp_path / "bad.csv", ids=False)


def test_made_preferences_go_through_all_of_it():
    data = make_preferences(40, 5, random_state=0)
    model = RankBoost(10).fit(data.X, pairs=data.pairs)
    assert evaluate(scores=model.predict(data.X), pairs=data.pairs)["pair_loss"] < 0.5
    assert describe(data.X, pairs=data.pairs).pairs.n_pairs == len(data.pairs.better)


def test_grades_are_not_learned_from_pairs():
    with pytest.raises((PodiumError, TypeError), match="pairs"):
        AdaBoostOR(2).fit(np.zeros((3, 1)), [0, 1, 2], pairs=([0], [1]))
    with pytest.raises(NoPairsError):
        RankBoost(2).fit(np.zeros((3, 1)), pairs=[])
