"""Why one row stands above another: parts that add up, Shapley values by definition, and changes that swap."""

from functools import cache, partial

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import podium
from explained_rows import fit_trees, random_rows
from peers import peer
from podium import MART, AdaBoostOR, LambdaMART, PodiumError, PreferenceRegression, RankBoost, import_model
from podium.explain.explanation import MAX_LISTED
from podium.explain.tree_shapley import TreeShapley
from podium.export.ensemble import leaf_tree
from reference import shapley as twin

pytestmark = [
    pytest.mark.plain,
    pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning"),  # random bits, in plain kernels
]


rows_of = partial(random_rows, n_rows=120, n_features=5)
trees = partial(fit_trees, n_estimators=6, max_leaves=9)


@cache
def fitted(seed, dtype=np.float64):
    """Rows and trees that tests look at and do not change."""
    X, y = rows_of(seed, dtype=dtype)
    return X, trees(X, y)


def nested(tree):
    """A regression tree as the reference takes it."""

    def below(child):
        if child < 0:
            return tree.value[~child], tree.count[~child]

        def goes_left(x):
            if tree.set_of[child] >= 0:
                code = int(x) if x == x else None
                known = code is not None and code < 255
                bits = tree.sets[tree.set_of[child]]
                return bool(bits[code // 32] >> (code % 32) & 1) if known else bool(tree.missing_left[child])
            return bool(tree.missing_left[child]) if x != x else bool(x <= tree.threshold[child])

        return int(tree.feature[child]), goes_left, below(tree.left[child]), below(tree.right[child])

    return below(0 if len(tree.feature) else -1)


@pytest.mark.parametrize(("seed", "dtype"), [(0, np.float64), (1, np.float32), (2, np.float64)])
def test_interventional_values_are_shapley_values_of_rows_that_mix_both(seed, dtype):
    X, model = fitted(seed, dtype=dtype)
    for a, b in ((5, 77), (77, 5)):
        found = model.explain(X, a, b)
        expected = twin.interventional(lambda row: model.predict(np.array([row], dtype))[0], X[a], X[b])
        np.testing.assert_allclose(found.contributions, expected, rtol=0, atol=1e-12)
        assert found.contributions.sum() == pytest.approx(found.difference, abs=1e-12)
        assert found.difference == model.predict(X[[a]])[0] - model.predict(X[[b]])[0]


@pytest.mark.parametrize("seed", range(4))
def test_path_dependent_values_are_shapley_values_of_means_over_both_sides(seed):
    X, model = fitted(seed)
    found = model.explain(X, 3, 40, method="path")
    expected = [
        sum(np.array(twin.path_dependent(nested(tree), X[row])) for tree in model.trees_[: model.best_iteration_])
        for row in (3, 40)
    ]
    np.testing.assert_allclose(found.contributions, expected[0] - expected[1], rtol=0, atol=1e-12)
    assert found.contributions.sum() == pytest.approx(found.difference, abs=1e-12)


@pytest.mark.parametrize("method", ["interventional", "path"])
def test_splits_on_sets_of_categories_are_walked_too(method):
    X, y = rows_of(1, n_features=4)
    site = np.random.default_rng(2).integers(0, 6, len(y))
    frame = pd.DataFrame(X, columns=list("wxyz"))
    frame["site"] = pd.Categorical(np.array(list("abcdef"))[site])
    frame.loc[::7, "site"] = None
    model = trees(frame, y + (site == 2), cat_smooth=0.0)
    assert any(len(tree.sets) for tree in model.trees_)
    read = model._check_rows(frame)
    for a, b in ((2, 50), (11, 64), (31, 90)):
        found = model.explain(frame, a, b, method=method)
        if method == "path":
            one, other = (
                sum(np.array(twin.path_dependent(nested(tree), read[i])) for tree in model.trees_) for i in (a, b)
            )
            expected = one - other
        else:
            expected = twin.interventional(lambda row: model._score(np.array([row]))[0], read[a], read[b])
        np.testing.assert_allclose(found.contributions, expected, rtol=0, atol=1e-12)
    for a in range(0, 100, 7):
        found = model.explain(frame, a, a + 9, method=method)
        assert found.contributions.sum() == pytest.approx(found.difference, abs=1e-12)
    assert found.feature_names == ("w", "x", "y", "z", "site")


@pytest.mark.parametrize("method", [None, "interventional", "path"])
def test_a_query_is_explained_against_its_mean(method):
    X, model = fitted(3)
    qid = np.repeat(["p", "q", "r"], 40)
    found = model.explain_query(X, qid, "q", method=method)
    assert found.rows.tolist() == list(range(40, 80))
    assert found.method == (method or "path")
    np.testing.assert_array_equal(found.scores, model.predict(X)[40:80])
    np.testing.assert_allclose(found.contributions.sum(axis=1), found.scores - found.scores.mean(), atol=1e-12)
    pair = found.pair(45, 60)
    assert pair.rows == (45, 60)
    assert pair.contributions.sum() == pytest.approx(pair.difference, abs=1e-12)
    if found.method == "path":
        np.testing.assert_allclose(
            pair.contributions, model.explain(X, 45, 60, method="path").contributions, atol=1e-12
        )
    else:
        against = np.mean([model.explain(X, 45, b).contributions if b != 45 else np.zeros(5) for b in range(40, 80)], 0)
        np.testing.assert_allclose(found.contributions[5], against, atol=1e-12)


def test_stumps_and_weighted_sums_act_apart():
    X, y = rows_of(4)
    model = RankBoost(30).fit(X, y, group=[len(y)])
    found = model.explain(X, 1, 2)
    assert found.method == "additive"
    for feature in range(5):
        alone = np.full((2, 5), np.nan)
        alone[:, feature] = X[[1, 2], feature]
        one, other = model.predict(alone)
        assert found.contributions[feature] == pytest.approx(one - other, abs=1e-12)
    query = model.explain_query(X[:7])
    np.testing.assert_allclose(query.pair(1, 2).contributions, found.contributions, atol=1e-12)
    linear = PreferenceRegression().fit(X, y)
    parts = linear.explain(X, 1, 2).contributions
    filled = np.where(np.isnan(X), linear.averages_, X)
    np.testing.assert_allclose(parts, linear.coef_ * (filled[1] - filled[2]), atol=1e-12)
    np.testing.assert_allclose(linear.explain_query(X[:7]).pair(1, 2).contributions, parts, atol=1e-12)


def test_saved_models_and_sparse_rows_are_explained_alike(tmp_path):
    X, model = fitted(5)
    model.save(tmp_path / "m.podium")
    found = podium.load(tmp_path / "m.podium").explain(X, 8, 9)
    np.testing.assert_array_equal(found.contributions, model.explain(X, 8, 9).contributions)
    known = ~np.isnan(X)
    entries = sp.csr_array((X[known], np.nonzero(known)), shape=X.shape)
    np.testing.assert_array_equal(model.explain(entries, 8, 9).contributions, found.contributions)


def test_trees_without_a_split_or_without_rounds_add_nothing():
    X, y = rows_of(6)
    with pytest.warns(UserWarning, match="Nothing was learned"):
        model = MART(3, min_child_samples=100).fit(X, y)
    assert model.explain(X, 0, 1).contributions.tolist() == [0.0] * 5
    assert model.explain_query(X[:3]).contributions.tolist() == [[0.0] * 5] * 3
    assert str(model.explain(X, 0, 1)).startswith("Level: row 0 and row 1 both score ")


def test_imported_models_of_lightgbm_have_its_contributions(tmp_path):
    lightgbm = peer("lightgbm")
    X, y = rows_of(7, n_rows=300)
    theirs = lightgbm.LGBMRanker(n_estimators=10, num_leaves=7, min_child_samples=5, verbose=-1)
    theirs.fit(X, y, group=[100] * 3)
    theirs.booster_.save_model(tmp_path / "m.txt")
    model = import_model(tmp_path / "m.txt")
    parts = theirs.predict(X, pred_contrib=True)[:, :-1]
    for a, b in ((0, 1), (17, 250)):
        found = model.explain(X, a, b, method="path")
        np.testing.assert_allclose(found.contributions, parts[a] - parts[b], atol=1e-9)
        assert model.explain(X, a, b).contributions.sum() == pytest.approx(found.difference, abs=1e-9)


def test_imported_models_of_xgboost_have_its_contributions(tmp_path):
    xgboost = peer("xgboost")
    X, y = rows_of(7, n_rows=300)
    theirs = xgboost.train(
        {"objective": "rank:pairwise", "max_depth": 5, "eta": 0.3, "min_child_weight": 0.5},
        xgboost.DMatrix(X, label=y, qid=np.repeat(range(3), 100)),
        num_boost_round=10,
    )
    parts = theirs.predict(xgboost.DMatrix(X), pred_contribs=True)[:, :-1]
    for name in ("m.json", "m.ubj"):
        theirs.save_model(tmp_path / name)
        model = import_model(tmp_path / name)
        model.save(tmp_path / "ours.podium")
        for one in (model, podium.load(tmp_path / "ours.podium")):
            for a, b in ((0, 1), (17, 250)):
                found = one.explain(X, a, b, method="path")
                np.testing.assert_allclose(found.contributions, parts[a] - parts[b], atol=2e-5)
                assert found.contributions.sum() == pytest.approx(found.difference, abs=1e-6)
            assert one.explain_query(X[:20]).method == "path"


def test_ways_of_many_features_and_many_rows_are_exact():
    rng = np.random.default_rng(0)
    X = rng.choice([0.0, 1.0, 2.0], size=(400, 9), p=[0.15, 0.4, 0.45])
    y = np.sum(np.cumprod(X > 0, axis=1), axis=1)  # each feature counts where those before it do: one long way
    model = MART(1, max_leaves=40, min_child_samples=1, learning_rate=0.5).fit(X, y)
    [tree] = model.trees_
    assert TreeShapley([tree], 9)._by_paths.edges.n_features.max() > 8
    found = model.explain_query(X)
    np.testing.assert_allclose(found.contributions.sum(axis=1), found.scores - found.scores.mean(), atol=1e-12)
    one, other = (np.array(twin.path_dependent(nested(tree), X[row])) for row in (int(y.argmax()), 149))
    np.testing.assert_allclose(found.pair(int(y.argmax()), 149).contributions, one - other, atol=1e-12)


@pytest.mark.parametrize("n_leaves", [64, 70])
def test_masks_and_the_walk_of_larger_trees_give_the_same(n_leaves):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(300, 6)).round(1)
    X[rng.random(X.shape) < 0.1] = np.nan
    y = np.nansum(X[:, :4], axis=1) * np.where(np.nan_to_num(X[:, 4]) > 0, 1, -1)
    model = MART(2, max_leaves=n_leaves, min_child_samples=1).fit(X, y)
    assert max(tree.n_leaves for tree in model.trees_) == n_leaves
    trees = TreeShapley([*model.trees_, leaf_tree(0.5)], 6)
    assert (trees._by_masks is None) == (n_leaves == 70)
    for a, b in ((0, 1), (7, 250), (9, 9)):
        (walked, _), (found, sums) = trees._walked_pair(X[a], X[b]), trees.of_pair(X[a], X[b])
        np.testing.assert_allclose(found, walked, rtol=0, atol=1e-13)
        assert found.sum() == pytest.approx(model.predict(X[[a]])[0] - model.predict(X[[b]])[0], abs=1e-12)
        if sums is not None:
            assert sums.tolist() == [sum(tree.predict(X[[i]])[0] for tree in model.trees_) + 0.5 for i in (a, b)]


def test_explanations_follow_a_model_that_learns_anew():
    X, y = rows_of(9)
    model = trees(X, y)
    before = model.explain(X, 0, 1)
    model.set_params(n_estimators=2).fit(X, 3 - y, group=[len(y)])
    after = model.explain(X, 0, 1)
    assert after.scores == tuple(model.predict(X[:2]))
    assert after.contributions.sum() == pytest.approx(after.difference, abs=1e-12)
    assert before.scores != after.scores
    model.refit(X, y, group=[len(y)], decay=0.1)
    assert model.explain(X, 0, 1).scores == tuple(model.predict(X[:2]))


def test_scores_of_a_model_that_goes_on_from_another_ranker_are_its_own():
    X, y = rows_of(9)
    start = RankBoost(5).fit(X, y, group=[len(y)])
    model = LambdaMART(3, max_leaves=5, min_child_samples=3).fit(X, y, group=[len(y)], init_model=start)
    assert model._scores_of_sums(np.zeros(2)) is None
    assert trees(X, y)._scores_of_sums(np.zeros(2)).tolist() == [0.0, 0.0]


def test_paths_of_many_rows_and_threads_are_those_of_each_row():
    X, y = rows_of(3, n_rows=100)
    parts = TreeShapley(trees(X, y, n_estimators=12).trees_, 5)
    found = parts.of_rows(X)
    np.testing.assert_array_equal(np.concatenate([parts.of_rows(X[[i]]) for i in range(100)]), found)
    np.testing.assert_array_equal(parts.of_rows(X, n_threads=3), found)


def grid(values):
    """Values on both sides of all given ones, and between them."""
    known = np.unique(values[~np.isnan(values)])
    return np.concatenate([known, (known[1:] + known[:-1]) / 2, known + 0.013, known - 0.017])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("kind", ["trees", "stumps", "linear"])
def test_the_smallest_change_swaps_the_rows_and_no_smaller_one_does(kind, dtype):
    X, y = rows_of(8, dtype=dtype)
    fits = {"trees": lambda: fitted(8, dtype)[1], "stumps": lambda: RankBoost(25).fit(X, y, group=[len(y)])}
    model = fits.get(kind, lambda: PreferenceRegression().fit(X, y))()
    scores, changed = model.predict(X), 0
    _, places = np.unique(scores, return_index=True)
    for a, b in ((places[5], places[3]), (places[1], places[-2]), (places[-1], places[-3])):
        found = {one.feature: one for one in model.what_if(X, a, b)}
        for feature in range(5):
            row = np.repeat(X[[a]], 1, axis=0)
            tried = grid(X[:, feature]).astype(dtype)
            many = np.repeat(row, len(tried), axis=0)
            many[:, feature] = tried
            above = scores[a] > scores[b]
            swaps = tried[(model.predict(many) < scores[b]) if above else (model.predict(many) > scores[b])]
            if feature not in found:
                assert len(swaps) == 0
                continue
            one, changed = found[feature], changed + 1
            row[0, feature] = one.after
            assert model.predict(row)[0] == one.score
            assert one.score < scores[b] if above else one.score > scores[b]
            if one.before == one.before and len(swaps):
                assert abs(one.after - one.before) <= np.abs(swaps - one.before).min() + 1e-6 * (kind == "linear")
    assert changed >= 2


def test_what_is_printed_names_the_largest_parts_first():
    rng = np.random.default_rng(9)
    X = rng.normal(size=(200, MAX_LISTED + 6))
    model = PreferenceRegression().fit(X, X.sum(axis=1))
    found = model.explain(X, 0, 1)
    lines = str(found).splitlines()
    where = "above" if found.difference > 0 else "below"
    assert lines[0].startswith(f"Why row 0 stands {where} row 1: ")
    assert len(lines) == MAX_LISTED + 2
    assert lines[-1].endswith("6 other features")
    sizes = [abs(float(line.split()[0])) for line in lines[1:-1]]
    assert sizes == sorted(sizes, reverse=True)
    listed = found.to_dict()["features"]
    assert sum(one["contribution"] for one in listed) == pytest.approx(found.difference)
    assert listed[0]["feature"] == f"f{found.order[0]}"
    assert "row 0: " in str(model.explain_query(X[:2]))


def test_missing_values_are_said_so():
    X, y = rows_of(10)
    model, row = trees(X, y), int(np.flatnonzero(np.isnan(X[:, 0]))[0])
    found = model.explain(X, row, int(np.flatnonzero(X[:, 0] > 1)[0]))
    assert "missing against" in str(found)
    assert next(one for one in found.to_dict()["features"] if one["feature"] == "f0")["values"][0] is None


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m, X: m.explain(X, 0, 120), "b must be a row of X, from 0 to 119; got 120"),
        (lambda m, X: m.explain(X, -1, 1), "a must be a row of X, from 0 to 119; got -1"),
        (lambda m, X: m.explain(X, 1, 1), "a and b must be two rows of X; both are 1"),
        (lambda m, X: m.explain(X, 0, 1, method="kernel"), "method must be one of interventional, path"),
        (lambda m, X: m.explain_query(X, ["a"] * 120, "b"), "query must be one of those in qid; 'b' is not"),
        (lambda m, X: m.explain(X[:, :2], 0, 1), "X has 2 features"),
        (lambda m, X: m.what_if(np.vstack([X[:1], X[:1]]), 0, 1), "stand level"),
    ],
)
def test_what_cannot_be_explained_is_said_in_a_sentence(call, message):
    X, y = rows_of(11)
    with pytest.raises(PodiumError, match=message):
        call(trees(X, y, n_estimators=1), X)


def test_rankers_that_are_no_sum_are_refused():
    X, y = rows_of(12, missing=0.0)
    with pytest.raises(PodiumError) as refused:
        AdaBoostOR(n_estimators=3).fit(X, y).explain(X, 0, 1)
    assert str(refused.value) == (
        "This AdaBoostOR cannot be explained feature by feature. "
        "AdaBoostOR predicts grades, which are no sum over trees or features."
    )


def test_paths_need_training_rows_in_every_leaf(tmp_path):
    xgboost = peer("xgboost")
    X, y = rows_of(13)
    theirs = xgboost.XGBRanker(n_estimators=3, max_depth=3).fit(X, y, qid=np.zeros(len(y)))
    theirs.get_booster().dump_model(tmp_path / "m.json", dump_format="json")
    model = import_model(tmp_path / "m.json", n_features=5)
    found = model.explain(X, 0, 1)
    assert found.contributions.sum() == pytest.approx(found.difference, abs=1e-6)
    with pytest.raises(PodiumError, match="needs the training rows of every leaf"):
        model.explain(X, 0, 1, method="path")


def test_parts_by_paths_add_up_where_a_path_has_many_features():
    X = np.repeat(np.tri(15, 14, -1), 3, axis=0)
    y = 3.0 ** np.repeat(np.arange(15), 3)  # each split takes away the highest row alone
    model = MART(1, max_leaves=15, min_child_samples=1).fit(X, y, group=[len(X)])
    found = model.explain(X, 0, len(X) - 1, method="path")
    assert (found.contributions != 0).sum() >= 9
    assert found.contributions.sum() == pytest.approx(found.scores[0] - found.scores[1], rel=1e-9)


def test_categories_are_shown_as_they_were_given():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"price": rng.random(200), "site": pd.Categorical(rng.choice(["shop", "forum", "news"], 200))})
    y = (X["site"] == "shop") * 2 + (X["price"] > 0.5)
    model = MART(10, min_child_samples=5).fit(X, y, qid=np.arange(200) // 10)
    a, b = int(np.flatnonzero(X["site"] == "shop")[0]), int(np.flatnonzero(X["site"] == "news")[0])
    found = model.explain(X, a, b)
    assert "shop against news" in str(found)
    site = next(one for one in found.to_dict()["features"] if one["feature"] == "site")
    assert site["values"] == ["shop", "news"]
    _, *shown = model.explain_query(X.iloc[:3]).values.T  # noqa: PD011 (of an explanation)
    assert shown[0].tolist() == X["site"][:3].tolist()
    change = next(one for one in model.what_if(X, a, b) if one.name == "site")
    assert change.before == "shop"
    assert change.after in ("forum", "news")
    other = X.copy()
    other.loc[b, "site"] = None
    assert "shop against missing" in str(model.explain(other, a, b))
