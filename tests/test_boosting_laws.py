"""Boosted trees round by round: what each round is told, what models go on from, refits, rounds that are not used."""

import numpy as np
import pytest

from podium import RankBoost
from podium._magnitudes import LARGEST
from podium._validation import PodiumError
from podium.data.feedback import Graded
from podium.data.ranking_data import Queries, RankingData
from podium.losses import CrossEntropy, LambdaLoss
from podium.measures import measure_queries
from podium.rankers.boosted_trees import find_categories
from podium.rankers.lambdamart import MART, LambdaMART
from podium.trees.grower import TreeGrower
from podium.trees.tree_boosting import Sampler
from reference import trees as twin

pytestmark = [
    pytest.mark.plain,
    pytest.mark.filterwarnings("ignore:overflow encountered in scalar"),  # hashes and codes wrap around on purpose
]

SMALL = {"min_child_samples": 3, "max_leaves": 4}


def table(seed, n_queries=9, size=8):
    """Rows in no order, with a label of their own each."""
    rng = np.random.default_rng(seed)
    n = n_queries * size
    X = rng.integers(0, 6, (n, 3)).astype(float)
    X[rng.random(X.shape) < 0.15] = np.nan
    y = np.nan_to_num(X[:, 0]) + np.nan_to_num(X[:, 1], nan=3) + rng.random(n)
    qid = np.repeat(np.arange(n_queries), size)[rng.permutation(n)]
    return X, y, qid


def grades(y):
    return np.digitize(y, [3.0, 6.0, 8.0]).astype(float)


def watched(seen):
    """A squared loss that notes the scores of each row, by its label, in each round."""

    def loss(scores, feedback):
        seen.append(dict(zip(feedback.labels.tolist(), scores.tolist(), strict=True)))
        return scores - feedback.labels, np.ones_like(scores)

    return loss


def in_order(seen, y):
    return np.array([seen[label] for label in y.tolist()])


@pytest.mark.parametrize("subsample", [1.0, 0.5])
@pytest.mark.parametrize("n_jobs", [1, 3])
def test_each_round_learns_from_the_scores_after_the_rounds_before(subsample, n_jobs, monkeypatch):
    monkeypatch.setattr("podium._compiled.CELLS_WORTH_THREADS", 0)
    X, y, qid = table(0)
    seen = []
    model = MART(4, loss=watched(seen), subsample=subsample, n_jobs=n_jobs, **SMALL).fit(X, y, qid=qid)
    assert len(seen) == len(model.rounds_) == 4
    for before, stage in zip(seen[1:], model.staged_predict(X), strict=False):
        np.testing.assert_allclose(in_order(before, y), stage, rtol=1e-12, atol=1e-12)


def test_a_fit_goes_on_from_the_trees_of_another_data_set():
    """On the same data, going on is hard to tell from beginning anew."""
    half = LambdaMART(3, **SMALL).fit(table(1)[0], grades(table(1)[1]), qid=table(1)[2])
    X, y, qid = table(2)
    seen = []
    model = MART(5, loss=watched(seen), **SMALL).fit(X, y, qid=qid, init_model=half)
    assert len(model.rounds_) == 5
    assert len(seen) == 2
    for one, other in zip(half.trees_, model.trees_, strict=False):
        np.testing.assert_array_equal(one.value, other.value)
        np.testing.assert_array_equal(one.threshold, other.threshold)
    np.testing.assert_allclose(in_order(seen[0], y), half.predict(X), rtol=1e-12)
    np.testing.assert_allclose(list(model.staged_predict(X))[2], half.predict(X), rtol=1e-12)


def test_a_fit_goes_on_from_the_scores_of_another_ranker():
    base = RankBoost(4).fit(table(1)[0], grades(table(1)[1]), qid=table(1)[2])
    X, y, qid = table(2)
    seen = []
    model = MART(1, loss=watched(seen), **SMALL).fit(X, y, qid=qid, init_model=base)
    np.testing.assert_allclose(in_order(seen[0], y), base.predict(X), rtol=1e-12)
    np.testing.assert_allclose(model.predict(X) - model.trees_[0].predict(X), base.predict(X), atol=1e-12)
    squared = MART(1, **SMALL).fit(X, y, qid=qid, init_model=base)
    assert squared.base_score_ == 0.0
    np.testing.assert_allclose(squared.predict(X) - squared.trees_[0].predict(X), base.predict(X), atol=1e-12)
    assert MART(1, **SMALL).fit(X, y, qid=qid).base_score_ == pytest.approx(y.mean())


@pytest.mark.parametrize("start", [RankBoost(3), MART(2, **SMALL)], ids=["ranker", "trees"])
def test_evaluation_sets_follow_the_stages_whatever_the_fit_goes_on_from(start):
    X, y, qid = table(3)
    other, y_other, qid_other = table(4)
    labels = grades(y_other)
    start.fit(X, grades(y), qid=qid)
    model = MART(4, eval_metric="ndcg@5", **SMALL)
    model.fit(X, y, qid=qid, init_model=start, eval_set=[(other, labels)], eval_qid=[qid_other])
    order = np.argsort(qid_other, kind="stable")
    offsets = np.arange(0, len(order) + 1, 8)
    expected = [measure_queries("ndcg@5", labels[order], s[order], offsets).mean for s in model.staged_predict(other)]
    np.testing.assert_allclose(model.evals_result_["validation_0"]["ndcg@5"], expected, rtol=1e-9)


@pytest.fixture(scope="module")
def stopped():
    """A model with rounds beyond the best one."""
    X, y, qid = table(5)
    noise = np.random.default_rng(8).permutation(grades(y))
    model = MART(
        12, early_stopping_rounds=2, eval_metric="ndcg@3", learning_rate=0.5, max_leaves=6, min_child_samples=2
    )
    model.fit(X, y, qid=qid, eval_set=[(X, noise)], eval_qid=[qid])
    assert len(model.rounds_) == model.best_iteration_ + 2 < 12
    return model


def test_the_first_measure_decides_on_early_stopping():
    X, y, qid = table(5)
    noise = np.random.default_rng(10).permutation(grades(y))
    model = MART(12, early_stopping_rounds=12, eval_metric=["ndcg@3", "pair_loss"], learning_rate=0.5, **SMALL)
    model.fit(X, y, qid=qid, eval_set=[(X, noise)], eval_qid=[qid])
    first, last = (model.evals_result_["validation_0"][name] for name in ("ndcg@3", "pair_loss"))
    assert model.best_iteration_ == 1 + np.argmax(first) != 1 + np.argmin(last)


def test_rounds_beyond_the_best_are_not_used(stopped):
    X, y, qid = table(5)
    used = stopped.trees_[: stopped.best_iteration_]
    np.testing.assert_allclose(
        stopped.predict(X), stopped.base_score_ + sum(tree.predict(X) for tree in used), rtol=1e-12
    )
    gains = np.zeros(3)
    for tree in used:
        np.add.at(gains, tree.feature, tree.gain)
    np.testing.assert_allclose(stopped.feature_importances_, gains / gains.sum())
    further = MART(12, **SMALL).fit(X, y, qid=qid, init_model=stopped)
    for one, other in zip(used, further.trees_, strict=False):
        np.testing.assert_array_equal(one.value, other.value)
    after = further.trees_[stopped.best_iteration_]
    assert not np.array_equal(after.value, stopped.trees_[stopped.best_iteration_].value)
    assert len(stopped._exported().trees) == stopped.best_iteration_


def test_a_model_without_splits_has_importances_of_zero():
    X, y, qid = table(5)
    with pytest.warns(UserWarning, match="Nothing was learned"):
        model = MART(2, min_child_samples=70).fit(X, y, qid=qid)
    np.testing.assert_array_equal(model.feature_importances_, 0)


@pytest.mark.parametrize(("least", "reason"), [(36, "no split of any feature"), (37, "consider a smaller min_child")])
def test_too_few_rows_are_named_only_where_they_are_too_few(least, reason):
    _, y, qid = table(5)
    with pytest.warns(UserWarning, match=reason):
        MART(1, min_child_samples=least).fit(np.ones((72, 1)), y, qid=qid)


def refitted(model, X, y, weight, decay, reg_lambda=0.0):
    """Leaf values of each tree of a squared loss, tree after tree, and the scores in the end."""
    scores, found = np.full(len(y), model.base_score_), []
    for tree in model.trees_[: model.best_iteration_]:
        leaf, values = np.array([twin.leaf(tree, row) for row in X]), tree.value.copy()
        for own in np.unique(leaf):
            g, h = (weight * (scores - y))[leaf == own].sum(), weight[leaf == own].sum()
            values[own] = decay * tree.value[own] - (1 - decay) * model.learning_rate * g / (h + reg_lambda)
        scores += values[leaf]
        found.append(values)
    return found, scores


@pytest.mark.parametrize("decay", [0.0, 0.3, 1.0, None])
def test_a_refit_equals_the_twin_with_weights_of_rows_and_queries(decay):
    X, y, qid = table(6)
    model = MART(3, reg_lambda=1.5, **SMALL).fit(X, y, qid=qid)
    other, y_other, qid_other = table(7)
    rng = np.random.default_rng(9)
    rows, queries = rng.integers(1, 4, len(y)).astype(float), {int(q): 1.0 + q % 3 for q in range(9)}
    weight = rows * np.array([queries[q] for q in qid_other.tolist()])
    expected, scores = refitted(model, other, y_other, weight, 0.9 if decay is None else decay, 1.5)
    given = {} if decay is None else {"decay": decay}
    model.refit(other, y_other, qid=qid_other, sample_weight=rows, query_weight=queries, **given)
    for tree, values in zip(model.trees_, expected, strict=True):
        np.testing.assert_allclose(tree.value, values, rtol=1e-9)
    np.testing.assert_allclose(model.predict(other), scores, rtol=1e-9)


def test_a_refit_drops_the_rounds_that_are_not_used_and_keeps_the_start(stopped):
    X, y, qid = table(5)
    best, base = stopped.best_iteration_, RankBoost(2).fit(X, grades(y), qid=qid)
    model = MART(12, **SMALL).fit(X, y, qid=qid, init_model=base)
    model._keep(model.rounds_, best)
    model.refit(X, y, qid=qid, decay=1.0)
    assert len(model.rounds_) == model.best_iteration_ == best
    kept = base.predict(X) + sum(tree.predict(X) for tree in model.trees_)
    np.testing.assert_allclose(model.predict(X), kept, rtol=1e-12)


def test_a_refit_begins_with_the_scores_of_the_base_model():
    X, y, qid = table(5)
    base = RankBoost(2).fit(X, grades(y), qid=qid)
    seen = []
    model = MART(2, loss=watched(seen), **SMALL).fit(X, y, qid=qid, init_model=base)
    seen.clear()
    model.refit(X, y, qid=qid, decay=0.0)
    np.testing.assert_allclose(in_order(seen[0], y), base.predict(X), rtol=1e-12)
    np.testing.assert_allclose(in_order(seen[1], y), base.predict(X) + model.trees_[0].predict(X), rtol=1e-12)


def test_a_refit_keeps_to_monotone_constraints():
    X, y, qid = table(6)
    model = MART(2, monotone_constraints=[1, 0, 0], **SMALL).fit(X, y, qid=qid)
    assert any(0 in tree.feature for tree in model.trees_)
    model.refit(X, -y, qid=qid, decay=0.0)
    grid = np.column_stack([np.tile(np.arange(6.0), 6), np.repeat(np.arange(6.0), 6), np.zeros(36)])
    assert (np.diff(model.predict(grid).reshape(6, 6), axis=1) >= -1e-12).all()


def test_rounds_of_a_refit_draw_the_gamma_of_their_number(monkeypatch):
    X, y, qid = table(5)
    numbers, plain = [], CrossEntropy.derivatives
    monkeypatch.setattr(
        CrossEntropy,
        "derivatives",
        lambda self, scores, number=0: (numbers.append(number), plain(self, scores, number))[1],
    )
    model = MART(3, loss="cross_entropy", **SMALL).fit(X, grades(y), qid=qid)
    model.refit(X, grades(y), qid=qid)
    assert numbers == [0, 1, 2, 0, 1, 2]


def test_what_a_round_is_drawn_and_rounded_by_depends_on_seed_and_round(monkeypatch):
    X, y, qid = table(5)
    salts, grow = [], TreeGrower.grow
    monkeypatch.setattr(TreeGrower, "grow", lambda self, *a: (salts.append(a[2]), grow(self, *a))[1])
    for seed in (0, 1):
        MART(2, random_state=seed, **SMALL).fit(X, y, qid=qid)
    assert len(set(salts)) == 4


def test_draws_are_of_the_share_asked_for_and_differ_by_round_and_seed():
    keys = np.random.default_rng(2).integers(0, 2**64, 20, np.uint64)
    queries = Queries(np.arange(20), np.arange(100), np.arange(0, 101, 5), keys)
    for share, n_queries, n_features in ((0.5, 10, 6), (0.26, 5, 3), (0.01, 1, 1)):
        sampler = Sampler(queries, 12, share, share, 3)
        rows, features = sampler.rows(0), sampler.features(0)
        assert len(rows) == 5 * n_queries
        assert len(np.unique(rows // 5)) == n_queries
        assert len(set(features.tolist())) == n_features
        np.testing.assert_array_equal(features, np.sort(features))
        np.testing.assert_array_equal(rows, np.sort(rows))
    draws = [Sampler(queries, 12, 0.5, 0.5, seed) for seed in (3, 4)]
    for kind in ("rows", "features"):
        found = [getattr(sampler, kind)(number).tolist() for sampler in draws for number in range(3)]
        assert len({tuple(one) for one in found}) == 6
    everything = Sampler(queries, 12, 1.0, 1.0, 3)
    assert everything.rows(0) is None
    assert everything.features(0) is None


@pytest.mark.parametrize("squares", [True, False])
def test_parameters_reach_the_growth_of_trees(squares):
    X, y, qid = table(5)
    X[:, 2] = np.nan_to_num(X[:, 2])
    model = MART(
        max_leaves=5, max_depth=3, min_child_samples=4, min_child_weight=0.5, reg_lambda=2.0, min_split_gain=0.25,
        max_bins=4, quantized=False, monotone_constraints=[1, 0, 0], cat_smooth=7.0, categorical_features=[2],
        split_by="squares" if squares else "newton",
    )  # fmt: skip
    categories = find_categories(X, [2], None, None)
    weights = {"sample_weight": np.arange(1.0, 73.0), "query_weight": {q: 1.0 + q for q in range(9)}}
    data = RankingData.from_arrays(X, y, qid=qid, **weights)
    object.__setattr__(data, "categories", categories)
    grower = model._make_grower(data, 3, 1)
    assert (grower.max_leaves, grower.max_depth) == (5, 3)
    assert grower.limits == (4, 0.5, 0.0 if squares else 2.0, 0.25)
    assert grower.reg_lambda == 2.0
    assert grower.exact
    np.testing.assert_array_equal(grower.monotone, [1, 0, 0])
    assert grower.categories.smoothing == 7.0
    assert grower.bins.cuts.n_bins[:2].max() <= 4
    np.testing.assert_array_equal(grower.keys, data.queries.place_keys())
    if squares:
        rows = data.queries.rows
        np.testing.assert_allclose(grower.weight, (np.arange(1.0, 73.0) * (1.0 + qid))[rows])
    assert not MART()._make_grower(data, 3, 1).exact


@pytest.mark.parametrize("kind", ["sample_weight", "query_weight"])
def test_bins_hold_equal_weight(kind):
    X, y = np.arange(60.0)[:, None], np.tile([0.0, 1.0], 30)
    qid = np.repeat([0, 1], 30)
    heavy = {"sample_weight": np.where(qid == 1, 3.0, 1.0), "query_weight": {0: 1.0, 1: 3.0}}[kind]
    options = {"max_bins": 2, "max_leaves": 2, "min_child_samples": 1}
    even = MART(1, **options).fit(X, y + qid, qid=qid).trees_[0].threshold[0]
    uneven = MART(1, **options).fit(X, y + qid, qid=qid, **{kind: heavy}).trees_[0].threshold[0]
    assert (even, uneven) == (29.0, 39.0)


@pytest.mark.parametrize("loss", ["squared", "logistic", "balanced"])
def test_a_query_of_weight_two_counts_twice(loss):
    X, y, qid = table(5)
    y, twice = grades(y) - 1, np.concatenate([np.arange(72), np.flatnonzero(qid % 2)])
    names = np.concatenate([qid, 100 + qid[qid % 2 == 1]])
    model = MART(2, loss=loss, min_child_samples=1, min_child_weight=2.0, max_leaves=4, quantized=False)
    one = model.fit(X, y, qid=qid, query_weight={q: 1.0 + q % 2 for q in range(9)}).predict(X)
    np.testing.assert_allclose(one, model.fit(X[twice], y[twice], qid=names).predict(X), rtol=1e-9, atol=1e-12)


def test_what_a_loss_is_told():
    X, y, qid = table(5)
    data = RankingData.from_arrays(X, grades(y), qid=qid, query_weight={q: 1.0 + q for q in range(9)})
    scores = np.random.default_rng(3).normal(size=72)
    graded = Graded(data.labels, data.queries.offsets, data.row_weight, data.query_weight)
    keys = data.queries.place_keys()
    for seed in (0, 4):
        found = MART(loss="cross_entropy")._make_loss(data, 1, seed).derivatives(scores, 1)
        np.testing.assert_array_equal(found, CrossEntropy(graded, seed, keys).derivatives(scores, 1))
    for given, meant in (({}, (30, "query")), ({"form": "paper"}, (None, "none")), ({"truncation": 2}, (2, "query"))):
        found = LambdaMART(gain="linear", sigma=0.6, **given)._make_loss(data, 1, 0).derivatives(scores)
        expected = LambdaLoss(graded, "ndcg", meant[0], 0.6, normalize=meant[1], gain="linear").derivatives(scores)
        np.testing.assert_array_equal(found, expected)
    logistic = [MART(loss="logistic", sigma=s)._make_loss(data, 1, 0).start() for s in (1.0, 2.0)]
    assert logistic[0] == 2 * logistic[1] != 0


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ({}, (30, "query")),
        ({"delta": "map"}, (30, "query")),
        ({"delta": "none"}, (None, "none")),
        ({"delta": "none", "truncation": 5, "normalize": "pairs"}, (5, "pairs")),
        ({"form": "paper"}, (None, "none")),
        ({"form": "paper", "truncation": None, "normalize": "none"}, (None, "none")),
        ({"truncation": None}, (None, "query")),
        ({"normalize": "none"}, (30, "none")),
    ],
)
def test_what_auto_means(given, meant):
    assert LambdaMART(**given)._pairs_and_scale() == meant


def test_sigma_cancels_in_models_of_explicit_pairs():
    X, y, _ = table(5)
    pairs = np.argsort(-y)[:30], np.argsort(y)[:30]
    options = SMALL | {"min_child_weight": 0.0}
    one, two = (LambdaMART(3, sigma=s, **options).fit(X, pairs=pairs).predict(X) for s in (1.0, 2.0))
    np.testing.assert_allclose(one, 2 * two, rtol=1e-6, atol=1e-9)
    assert np.ptp(one) > 0.01


@pytest.mark.parametrize("seed", range(5))
def test_contradictions_may_be_netted(seed):
    X, y, _ = table(seed)
    better, worse = np.argsort(-y)[:30], np.argsort(y)[:30]
    both = np.append(better, worse[:9]), np.append(worse, better[:9])
    options = SMALL | {"quantized": False}  # gradients are rounded otherwise for other pairs
    netted = LambdaMART(2, contradictions="net", **options).fit(X, pairs=both).predict(X)
    alone = LambdaMART(2, **options).fit(X, pairs=(better[9:], worse[9:])).predict(X)
    np.testing.assert_allclose(netted, alone, rtol=1e-6)


def test_the_order_of_rows_and_queries_changes_no_bit_of_gains():
    X, y, qid = table(5)
    order, names = np.random.default_rng(1).permutation(72), np.random.default_rng(2).permutation(9)
    one = MART(2, **SMALL).fit(X, y, qid=qid)
    two = MART(2, **SMALL).fit(X[order], y[order], qid=names[qid][order])
    for a, b in zip(one.trees_, two.trees_, strict=True):
        np.testing.assert_array_equal(a.gain, b.gain)
        np.testing.assert_array_equal(a.value, b.value)


def test_scores_that_might_grow_too_large_are_refused_in_their_round():
    X, qid = np.arange(8.0)[:, None], np.zeros(8)

    def steady(scores, feedback):
        return np.where(feedback.labels > 0, -0.4 * LARGEST, 0.4 * LARGEST), np.ones_like(scores)

    options = {"learning_rate": 1.0, "min_child_samples": 1, "max_leaves": 2}
    y = np.repeat([0.0, 1.0], 4)
    assert len(MART(2, loss=steady, **options).fit(X, y, qid=qid).rounds_) == 2
    with pytest.raises(PodiumError, match="in round 3"):
        MART(3, loss=steady, **options).fit(X, y, qid=qid)
    with pytest.raises(PodiumError, match="in round 1"):  # 0.75 of it to begin with, and as much by the tree
        MART(1, **options).fit(X, np.repeat([0.0, LARGEST], [2, 6]), qid=qid)
