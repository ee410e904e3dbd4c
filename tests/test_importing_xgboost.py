"""Rules of XGBoost's model files and dumps, at their edges."""

import copy
import math

import numpy as np
import pytest

from podium import FormatError, PodiumError, import_model, load
from reference.foreign_files import DUMP, XGBOOST

pytestmark = [
    pytest.mark.plain,
    pytest.mark.filterwarnings("ignore:overflow encountered in scalar"),  # scoring by masks wraps around on purpose
]


def xgboost(place="", **changes):
    """Return the small model with other entries in a table of it, such as "learner.objective"; None leaves one out."""
    document = copy.deepcopy(XGBOOST)
    table = document
    for name in place.split(".") if place else ():
        table = table[int(name)] if name.isdecimal() else table[name]
    for name, value in changes.items():
        if value is None:
            del table[name]
        else:
            table[name] = value
    return document


TREE = "learner.gradient_booster.model.trees.0"
MODEL = "learner.gradient_booster.model"
PARAMETERS = "learner.learner_model_param"
LINKS = {
    "rank:ndcg": lambda mean: mean, "rank:pairwise": lambda mean: mean, "reg:squarederror": lambda mean: mean,
    "binary:logitraw": lambda mean: mean,
    "binary:logistic": lambda mean: math.log(mean / (1 - mean)),
    "reg:logistic": lambda mean: math.log(mean / (1 - mean)),
    "count:poisson": math.log, "reg:gamma": math.log, "reg:tweedie": math.log, "survival:aft": math.log,
    "survival:cox": math.log,
}  # fmt: skip


@pytest.mark.parametrize("text", ["[3E-1]", "3E-1", "0.3"])
@pytest.mark.parametrize("objective", LINKS)
def test_the_base_score_of_every_objective(objective, text, read):
    document = xgboost(PARAMETERS, base_score=text)
    document["learner"]["objective"]["name"] = objective
    model = read(document)
    assert model.base_score_ == float(np.float32(LINKS[objective](0.3)))
    assert model.predict([[0, 0.4, 0]]).tolist() == [float(np.float32(model.base_score_) + np.float32(0.25))]
    assert model.source_ == {"format": "xgboost", "version": "3.2.0", "objective": objective}


@pytest.mark.parametrize(
    ("place", "changes"),
    [
        (PARAMETERS, {"num_class": None}),
        (PARAMETERS, {"num_class": "1"}),
        (PARAMETERS, {"num_class": 0, "num_target": 1}),
        (PARAMETERS, {"num_target": None}),
        (TREE, {"tree_param": {"num_nodes": 3}}),
        (TREE, {"tree_param": {"num_nodes": "3", "size_leaf_vector": "0"}}),
        (TREE, {"split_type": None, "loss_changes": None}),
        (MODEL, {"gbtree_model_param": {}}),
        ("learner", {"attributes": None, "feature_names": None}),
    ],
)
def test_entries_that_xgboost_may_leave_out_or_write_otherwise(place, changes, read):
    assert read(xgboost(place, **changes)).predict([[0, 0.4, 0], [0, 0.5, 0]]).tolist() == [1.25, 0.5]


@pytest.mark.parametrize(
    ("place", "changes", "reason"),
    [
        ("learner", {"objective": None}, "there is no learner.objective"),
        (PARAMETERS, {"num_class": "2"}, "several classes or targets"),
        (PARAMETERS, {"num_target": "2"}, "several classes or targets"),
        (MODEL, {"tree_info": [1]}, "several classes"),
        (MODEL, {"tree_info": "0"}, "tree_info must be a list"),
        (TREE, {"tree_param": {"num_nodes": "3", "size_leaf_vector": "2"}}, "leaves of several values"),
        (TREE, {"split_indices": [3, 0, 0]}, "outside 0 to 2"),
        (TREE, {"default_left": [2, 0, 0]}, "default_left must be integers from 0 to 1"),
        (TREE, {"default_left": [0.5, 0, 0]}, "default_left must be integers from 0 to 1"),
    ],
)
def test_numbers_past_the_bounds_of_xgboosts_files(place, changes, reason, read):
    with pytest.raises(FormatError, match=reason):
        read(xgboost(place, **changes))


@pytest.mark.parametrize("default_left", [0, 1])
def test_the_default_way_of_xgboost(default_left, read):
    found = read(xgboost(TREE, default_left=[default_left, 0, 0])).predict([[0, np.nan, 0]])
    assert found.tolist() == [1.25 if default_left else 0.5]


def many_trees(n_trees, parallel, best=None):
    """Return a model of XGBoost whose trees add 1, 2, 4 and so on."""
    document = xgboost()
    model = document["learner"]["gradient_booster"]["model"]
    one = model["trees"][0]
    model["trees"] = [{**one, "split_conditions": [0.5, 2.0**i, -(2.0**i)]} for i in range(n_trees)]
    model["tree_info"], model["gbtree_model_param"]["num_parallel_tree"] = [0] * n_trees, str(parallel)
    document["learner"]["attributes"] = {} if best is None else {"best_iteration": str(best)}
    return document


@pytest.mark.parametrize(
    ("parallel", "best", "n_used"), [(1, None, 6), (1, 0, 1), (1, 3, 4), (2, 0, 2), (3, 1, 6), (2, 9, 6), (0, 2, 3)]
)
def test_trees_up_to_the_best_round_score(parallel, best, n_used, read, tmp_path):
    model = read(many_trees(6, parallel, best))
    model.save(tmp_path / "ours")
    for one in (model, load(tmp_path / "ours")):
        assert (one.best_iteration_, len(one.trees_)) == (n_used, 6)
        assert one.predict([[0, 0.4, 0], [0, 0.6, 0]]).tolist() == [1.0 + 2**n_used - 1, 1.0 - 2**n_used + 1]
        staged = [scores.tolist() for scores in one.staged_predict([[0, 0.4, 0]])]
        assert staged == [[1.0 + 2**k - 1] for k in range(1, 7)]
        one.export(tmp_path / "again", "lightgbm")
        assert import_model(tmp_path / "again").predict([[0, 0.4, 0]]).tolist() == [1.0 + 2**n_used - 1]


def test_importances_count_the_trees_that_score(read):
    document = many_trees(2, 1, best=0)
    document["learner"]["gradient_booster"]["model"]["trees"][1]["split_indices"] = [2, 0, 0]
    assert read(document).feature_importances_.tolist() == [0.0, 1.0, 0.0]


def test_gains_of_xgboost_are_those_of_the_splits(read):
    assert read(xgboost(TREE, loss_changes=[1.5, 7.0, 8.0])).trees_[0].gain.tolist() == [1.5]


def test_sums_of_curvatures_are_those_of_the_leaves(read):
    assert read(xgboost(TREE, sum_hessian=[5.0, 1.5, 3.5])).trees_[0].cover.tolist() == [1.5, 3.5]
    swapped = xgboost(TREE, sum_hessian=[5.0, 1.5, 3.5], left_children=[2, -1, -1], right_children=[1, -1, -1])
    assert read(swapped).trees_[0].cover.tolist() == [3.5, 1.5]
    assert read(xgboost()).trees_[0].cover.tolist() == [0.0, 0.0]
    with pytest.raises(FormatError, match="the sums of curvatures of leaves must be finite and not negative"):
        read(xgboost(TREE, sum_hessian=[5.0, -1.0, 3.5]))


def test_sums_of_xgboost_are_rounded_after_each_tree(read, tmp_path):
    document = many_trees(40, 1)
    values = np.random.default_rng(0).normal(size=40).astype(np.float32)
    for tree, value in zip(document["learner"]["gradient_booster"]["model"]["trees"], values, strict=True):
        tree["split_conditions"] = [0.5, float(value), 0.0]
    total = np.float32(1.0)
    for value in values:
        total = np.float32(total + value)
    model = read(document)
    model.save(tmp_path / "ours")
    *_, last = model.staged_predict([[0, 0.4, 0]])
    for found in (model.predict([[0, 0.4, 0]]), load(tmp_path / "ours").predict([[0, 0.4, 0]]), last):
        assert found.tolist() == [float(total)]
    assert float(total) != 1.0 + math.fsum(values.tolist())


def two_sets(nodes, starts, sizes, codes):
    """Return a model of XGBoost of two splits by sets, the second on the right of the first."""
    tree = {
        "split_type": [1, 0, 1, 0, 0], "categories_nodes": nodes, "categories_segments": starts,
        "categories_sizes": sizes, "categories": codes, "left_children": [1, -1, 3, -1, -1],
        "right_children": [2, -1, 4, -1, -1], "default_left": [0] * 5, "split_indices": [0, 0, 1, 0, 0],
        "split_conditions": [0.0, 1.0, 0.0, 2.0, 4.0], "loss_changes": [0.0] * 5, "tree_param": {"num_nodes": "5"},
    }  # fmt: skip
    return xgboost(TREE, **tree)


@pytest.mark.parametrize(
    ("nodes", "starts", "sizes", "codes"),
    [([0, 2], [0, 1], [1, 2], [3, 5, 6]), ([2, 0], [0, 2], [2, 1], [5, 6, 3]), ([2, 0], [1, 0], [2, 1], [3, 5, 6])],
)
def test_codes_in_the_runs_of_xgboost_go_right(nodes, starts, sizes, codes, read):
    model = read(two_sets(nodes, starts, sizes, codes))
    rows = [[0, 0, 0], [3, 0, 0], [3, 5, 0], [3, 6, 0], [3, 3, 0], [np.nan, 0, 0], [4, 5, 0]]
    assert model.predict(rows).tolist() == [2, 3, 5, 5, 3, 3, 2]


@pytest.mark.parametrize(("starts", "sizes"), [([0, 1], [1, 3]), ([0, 3], [1, 1]), ([0, 4], [1, 0])])
def test_runs_of_xgboost_past_the_last_code_are_refused(starts, sizes, read):
    with pytest.raises(FormatError, match=r"every split on categories needs a list|categories_segments must be"):
        read(two_sets([0, 2], starts, sizes, [3, 5, 6]))


def test_weights_of_dropped_trees(read):
    document = many_trees(3, 1)
    booster = document["learner"]["gradient_booster"]
    document["learner"]["gradient_booster"] = {"name": "dart", "gbtree": booster, "weight_drop": [0.5, 1.0, 0.1]}
    expected = np.float32(1.0) + np.float32(0.5) + np.float32(2.0) + np.float32(4.0) * np.float32(0.1)
    assert read(document).predict([[0, 0.4, 0]]).tolist() == [float(expected)]


# Dumps of XGBoost


def dump(**changes):
    return [{**DUMP[0], **changes}]


@pytest.mark.parametrize("missing", [1, 2])
@pytest.mark.parametrize("turned", [False, True])
def test_children_of_a_dump_in_any_order(turned, missing, read):
    children = DUMP[0]["children"]
    model = read(dump(children=children[::-1] if turned else children, missing=missing))
    rows = [[0, 0.4], [0, 0.5], [0, np.nextafter(0.5, 0)], [0, np.nan]]
    assert model.predict(rows).tolist() == [0.25, -0.5, -0.5, 0.25 if missing == 1 else -0.5]


@pytest.mark.parametrize(
    "children",
    [
        [{"nodeid": 1, "leaf": 0.25}, {"nodeid": 2, "leaf": -0.5}, {"nodeid": 3, "leaf": 1.0}],
        [{"nodeid": 1, "leaf": 0.25}],
        [{"nodeid": 1, "leaf": 0.25}, {"nodeid": 1, "leaf": -0.5}],
    ],
)
def test_a_split_of_a_dump_has_two_children_of_different_numbers(children, read):
    for ways in ({}, {"yes": 1, "no": 1, "missing": 1}):
        with pytest.raises(FormatError, match="two children"):
            read(dump(children=children, **ways))


def test_features_and_gains_of_a_dump(read):
    model = read(dump(split="f12", gain=2.5))
    assert (model.n_features_in_, model.trees_[0].feature.tolist(), model.trees_[0].gain.tolist()) == (13, [12], [2.5])
    assert read(dump(split="f0"), feature_names=["a", "f0"]).trees_[0].feature.tolist() == [1]


def test_sums_of_a_dump_are_rounded_after_each_tree(read):
    values = np.random.default_rng(1).normal(size=40).astype(np.float32)
    total = np.float32(0)
    for value in values:
        total = np.float32(total + value)
    assert read([{"nodeid": 0, "leaf": float(value)} for value in values]).predict([[0.0]]).tolist() == [float(total)]


def test_names_and_base_of_an_imported_model_are_in_its_exports(read, tmp_path):
    model = read(xgboost("learner", feature_names=["a", "b", "c"]))
    model.save(tmp_path / "ours")
    linear = read("## Linear Regression\n0:2 1:0.5", feature_names=["x"])
    linear.save(tmp_path / "line")
    for one in (model, load(tmp_path / "ours")):
        one.export(tmp_path / "m.sql", "sql")
        text = (tmp_path / "m.sql").read_text()
        assert '"b"' in text
        assert "1.0" in text
    for one in (linear, load(tmp_path / "line")):
        one.export(tmp_path / "m.sql", "sql")
        assert '"x"' in (tmp_path / "m.sql").read_text()
    with pytest.raises(PodiumError, match="feature_names must be different from each other"):
        read(xgboost(), feature_names=["a", "a", "b"])
    for names, got in ((iter(["a", 1, "b"]), r"\['a', 1, 'b'\]"), ("abc", "'abc'")):
        with pytest.raises(PodiumError, match=f"must be a list of strings, one for each column; got {got}"):
            read(xgboost(), feature_names=names)
