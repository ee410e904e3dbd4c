"""Parameters that LambdaMART and MART share: the trees, their leaves and splits, what is drawn for each."""

import numpy as np
import pytest

from parameters import changing, fitted, made, rounds_of, table
from podium import MART, LambdaMART

TREES = (LambdaMART, MART)
FREE = {
    "n_estimators": 1, "learning_rate": 1.0, "min_child_samples": 1, "min_child_weight": 0.0, "quantized": False,
    "max_leaves": 31,
}  # fmt: skip
"""One tree that nothing holds back."""
TWO = {**FREE, "max_leaves": 2}
"""One split."""


def two_groups(n_low=6, n_high=10):
    """One query and a feature of two values, so that a tree can have one split alone."""
    X = np.r_[np.zeros(n_low), np.ones(n_high)][:, None]
    y = np.arange(n_low + n_high) % 3 + X[:, 0]
    return X, y, np.zeros(n_low + n_high)


def grows(estimator, data, **changed):
    """Whether a fit has any tree; where not, it must warn."""
    if len(silent_fit(estimator, data, **changed).trees_):
        return True
    with pytest.warns(UserWarning, match="Nothing was learned"):
        fitted(estimator, data, **changed)
    return False


def silent_fit(estimator, data, **changed):
    import warnings

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Nothing was learned")
        return fitted(estimator, data, **changed)


def first_tree(estimator, data=None, **changed):
    return fitted(estimator, data, **changed).trees_[0]


@changing("learning_rate", *TREES)
def values_of_the_first_leaves_are_multiplied_by_it(estimator):
    whole, part = (fitted(estimator, learning_rate=rate) for rate in (1.0, 0.25))
    assert part.trees_[0].feature.tolist() == whole.trees_[0].feature.tolist()
    assert part.trees_[0].value.tolist() == (0.25 * whole.trees_[0].value).tolist()
    assert part.trees_[1].value.tolist() != (0.25 * whole.trees_[1].value).tolist()


@changing("max_leaves", *TREES)
def trees_have_so_many_leaves(estimator):
    free = first_tree(estimator, **FREE)
    assert free.n_leaves > 6
    for most in (2, 3, 6):
        tree = first_tree(estimator, **{**FREE, "max_leaves": most})
        assert tree.n_leaves == most
        assert tree.gain[0] == pytest.approx(free.gain[0])


@changing("max_depth", *TREES)
def no_leaf_is_deeper(estimator):
    assert first_tree(estimator, **FREE).depth > 3
    for most in (1, 3):
        tree = first_tree(estimator, **FREE, max_depth=most)
        assert tree.depth == most
        assert tree.n_leaves > most


@changing("min_child_samples", *TREES)
def no_leaf_has_fewer_rows(estimator):
    data = two_groups(6, 10)
    assert first_tree(estimator, data, **{**TWO, "min_child_samples": 6}).count.tolist() == [6, 10]
    assert not grows(estimator, data, **{**TWO, "min_child_samples": 7})
    counts = first_tree(estimator, **{**FREE, "min_child_samples": 9}).count
    assert counts.min() >= 9 > first_tree(estimator, **FREE).count.min()


def curvatures(estimator, data):
    """H of each leaf of the one possible split, from what λ makes of its value -G/(H + λ)."""
    plain, held = (first_tree(estimator, data, **TWO, reg_lambda=ridge).value for ridge in (0.0, 1.0))
    return held / (plain - held)


@changing("reg_lambda", *TREES)
def leaf_values_are_shrunk_by_the_share_of_curvature(estimator):
    data = two_groups()
    H = curvatures(estimator, data)
    if estimator is MART:
        np.testing.assert_allclose(H, [6, 10])
    plain = first_tree(estimator, data, **TWO).value
    assert np.all(plain != 0)
    for ridge in (0.5, 3.0):
        np.testing.assert_allclose(first_tree(estimator, data, **TWO, reg_lambda=ridge).value, plain * H / (H + ridge))
    G = plain * H  # the pulls of pairs, and the residuals of a mean, cancel
    assert abs(G.sum()) < 1e-6 * np.abs(G).max()
    gain = first_tree(estimator, data, **TWO, reg_lambda=3.0).gain[0]
    assert gain == pytest.approx(np.sum(G**2 / (H + 3.0)) - G.sum() ** 2 / (H.sum() + 3.0), rel=1e-4)


@changing("min_child_weight", *TREES)
def no_leaf_has_less_curvature(estimator):
    data = two_groups()
    least = curvatures(estimator, data).min()
    assert grows(estimator, data, **{**TWO, "min_child_weight": 0.999 * least})
    assert not grows(estimator, data, **{**TWO, "min_child_weight": 1.001 * least})


@changing("min_split_gain", *TREES)
def no_split_gains_less(estimator):
    free = first_tree(estimator, **FREE)
    least = float(np.median(free.gain))
    held = first_tree(estimator, **FREE, min_split_gain=least)
    assert held.gain.min() >= least > free.gain.min()
    data = two_groups()
    gain = first_tree(estimator, data, **TWO).gain[0]
    assert grows(estimator, data, **TWO, min_split_gain=0.999 * gain)
    assert not grows(estimator, data, **TWO, min_split_gain=1.001 * gain)


def ranknet_start(y):
    """Gradient and curvature of one query's rows with equal scores, all pairs alike (LM 2)."""
    above, below = (y[:, None] < y).sum(axis=1), (y[:, None] > y).sum(axis=1)
    return (above - below) / 2, (above + below) / 4


def spread_curvature(scores, feedback):
    """Derivatives of a loss whose curvature differs from row to row."""
    y = feedback.labels
    return scores + 1.5 - y, 0.05 + y**2


@changing("split_by", *TREES)
def squares_count_rows_where_newton_counts_curvature(estimator):
    rng = np.random.default_rng(3)
    y = rng.choice(4, 40, p=[0.15, 0.6, 0.1, 0.15]).astype(float)  # rows of the commonest grade have few pairs
    X = (rng.random((40, 30)) < rng.random(30)).astype(float)
    X[0], X[1] = 0.0, 1.0
    if estimator is MART:
        options, (g, h) = {"loss": spread_curvature}, (1.5 - y, 0.05 + y**2)
    else:
        options, (g, h) = {"delta": "none"}, ranknet_start(y)
    chosen = {}
    for name, bend, ridge in (("newton", h, 2.0), ("squares", np.ones(40), 0.0)):
        gains = [sum(g[s].sum() ** 2 / (bend[s].sum() + ridge) for s in (x == 0, x == 1)) for x in X.T]
        tree = first_tree(estimator, (X, y, np.zeros(40)), **TWO, **options, split_by=name, reg_lambda=2.0)
        chosen[name] = tree.feature[0]
        assert tree.feature[0] == np.argmax(gains)
        sides = [X[:, tree.feature[0]] == value for value in (0, 1)]
        np.testing.assert_allclose(tree.value, [-g[s].sum() / (h[s].sum() + 2.0) for s in sides])
    assert chosen["newton"] != chosen["squares"]


@changing("subsample", *TREES)
def a_tree_learns_from_that_share_of_the_queries(estimator):
    X, _y, qid = table()
    model = fitted(estimator, subsample=0.25, min_child_samples=1, n_estimators=6)
    assert [tree.count.sum() for tree in model.trees_] == [24] * 6  # three queries of eight rows
    assert [tree.count.sum() for tree in fitted(estimator).trees_] == [96] * 4
    drawn = [rows_in_leaves(tree, X, qid) for tree in model.trees_]
    assert len(set(map(tuple, drawn))) > 1


def rows_in_leaves(tree, X, qid):
    """Queries whose rows fit the counts of a tree: the first set of three that does."""
    from itertools import combinations

    leaves = tree.with_values(np.arange(float(tree.n_leaves))).predict(X).astype(int)
    counts = np.array([np.bincount(leaves[qid == q], minlength=tree.n_leaves) for q in range(12)])
    fitting = [own for own in combinations(range(12), 3) if np.array_equal(counts[list(own)].sum(axis=0), tree.count)]
    assert fitting  # whole queries are drawn
    return fitting[0]


@changing("colsample_bytree", *TREES)
def a_tree_uses_that_share_of_the_features(estimator):
    held = [set(tree.feature) for tree in fitted(estimator, **{**FREE, "n_estimators": 4}, colsample_bytree=0.5).trees_]
    assert [len(own) for own in held] == [2] * 4
    assert set.union(*held) == {0, 1, 2, 3}
    assert set(first_tree(estimator, **FREE).feature) == {0, 1, 2, 3}


@changing("max_bins", *TREES)
def a_feature_has_a_threshold_fewer_than_bins(estimator):
    for most in (2, 5):
        model = fitted(estimator, **{**FREE, "n_estimators": 2}, max_bins=most)
        cuts = np.concatenate([tree.threshold[tree.feature == 0] for tree in model.trees_])
        assert len(set(cuts)) == most - 1
        X = table()[0][:, 0]
        shares = [np.mean(cut >= X) for cut in sorted(set(cuts))]
        np.testing.assert_allclose(shares, np.arange(1, most) / most, atol=0.02)
    free = fitted(estimator, **{**FREE, "n_estimators": 2})
    assert len(set(np.concatenate([tree.threshold[tree.feature == 0] for tree in free.trees_]))) > 5


@changing("quantized", *TREES)
def gradients_are_rounded_for_splits_and_not_for_leaf_values(estimator):
    """The gain of a split comes from sums of rounded gradients; the values of its leaves do not."""
    data = two_groups(60, 100)
    exact, rounded = (first_tree(estimator, data, **{**TWO, "quantized": flag}) for flag in (False, True))
    np.testing.assert_allclose(rounded.value, exact.value, rtol=1e-12)
    G2 = exact.value**2 * curvatures(estimator, data)
    assert abs(exact.gain[0] / G2.sum() - 1) < 1e-12 < 1e-9 < abs(rounded.gain[0] / G2.sum() - 1) < 1e-3


@changing("monotone_constraints", *TREES)
def scores_go_the_way_they_may(estimator):
    X, y, qid = table()
    grid = np.tile(X[:4, None], (1, 12, 1))
    grid[:, :, 0] = np.linspace(0, 1, 12)
    X = np.column_stack([1 - X[:, 0], X[:, 1:]])  # scores want to fall with the first feature

    def steps(constraint):
        constraints = None if constraint is None else [constraint, 0, 0, 0]
        model = fitted(estimator, (X, y, qid), **{**FREE, "max_leaves": 16}, monotone_constraints=constraints)
        return np.diff(model.predict(grid.reshape(-1, 4)).reshape(4, 12), axis=1)

    assert steps(None).min() < 0 < steps(None).max()
    assert steps(0).min() < 0 < steps(0).max()
    assert steps(1).min() >= 0
    assert steps(-1).max() <= 0 > steps(-1).min()


def categories():
    """One query; the first column has codes of which the odd ones are good, the second is noise."""
    rng = np.random.default_rng(5)
    codes = np.repeat(np.arange(8.0), 6)
    return np.column_stack([codes, rng.random(48)]), codes % 2 + rng.integers(0, 2, 48), np.zeros(48)


@changing("categorical_features", *TREES)
def one_split_parts_a_set_of_categories(estimator):
    X, y, qid = categories()
    options = {**TWO, "cat_smooth": 0.0}
    for given in ([0], [True, False]):
        model = fitted(estimator, (X, y, qid), **options, categorical_features=given)
        assert list(model.categories_) == [0]
        scores = model.predict(X)
        assert len(set(scores[X[:, 0] % 2 == 1])) == len(set(scores[X[:, 0] % 2 == 0])) == 1
        assert scores[6] > scores[0]
    for none in (None, "from_dtype"):
        model = fitted(estimator, (X, y, qid), **options, categorical_features=none)
        assert model.categories_ == {}
        assert len(set(model.predict(X)[X[:, 0] % 2 == 1])) == 2


@changing("cat_smooth", *TREES)
def rare_categories_win_no_split(estimator):
    """A rare category, all of it good, against a number that parts many rows less clearly."""
    code = np.r_[0.0, 0.0, np.tile([1.0, 2.0], 30)]
    number = np.r_[0.0, 0.0, np.repeat([0.0, 1.0], 30)]
    y = np.r_[9.0, 9.0, np.where(np.arange(60) % 5 < 3, number[2:], 1 - number[2:])]
    data = np.column_stack([code, number]), y, np.zeros(62)
    gains = []
    for smooth in (0.0, 1.0, 1000.0):
        tree = first_tree(estimator, data, **TWO, cat_smooth=smooth, categorical_features=[0])
        gains.append(tree.gain[0])
        assert tree.feature[0] == (1 if smooth == 1000.0 else 0)
    assert gains[0] > gains[1] > gains[2]


@changing("random_state", *TREES)
def a_seed_draws_the_same_queries_and_features_each_time(estimator):
    options = {"subsample": 0.5, "colsample_bytree": 0.5, "min_child_samples": 2}
    fits = [fitted(estimator, **options, random_state=seed) for seed in (3, 3, 4)]
    assert rounds_of(fits[0]) == rounds_of(fits[1]) != rounds_of(fits[2])
    assert [model.seed_ for model in fits] == [3, 3, 4]
    one, two = (fitted(estimator, **options, random_state=np.random.RandomState(7)) for _ in range(2))
    assert rounds_of(one) == rounds_of(two) == rounds_of(fitted(estimator, **options, random_state=one.seed_))
    assert fitted(estimator, random_state=None).seed_ != fitted(estimator, random_state=None).seed_


@changing("refit(decay)", *TREES)
def refitted_values_keep_that_share_of_the_old_ones(estimator):
    X, y, qid = table()
    old = fitted(estimator, n_estimators=1).trees_[0].value
    values = {}
    for decay in (0.0, 0.25, 1.0):
        model = made(estimator, n_estimators=1).fit(X, y, qid=qid)
        values[decay] = model.refit(X, y.max() - y, qid=qid, decay=decay).trees_[0].value
    assert values[1.0].tolist() == old.tolist()
    np.testing.assert_allclose(values[0.25], 0.25 * old + 0.75 * values[0.0])
    assert np.all(np.abs(values[0.0] - old) > 1e-3)
    if estimator is LambdaMART:
        return
    base = np.mean(y)  # the start stays that of the fit
    leaves = np.searchsorted(np.unique(model.trees_[0].predict(X)), model.trees_[0].predict(X))
    means = [0.1 * np.mean((y.max() - y - base)[leaves == one]) for one in np.unique(leaves)]
    np.testing.assert_allclose(np.sort(values[0.0]), np.sort(means))
