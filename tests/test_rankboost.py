"""RankBoost: against the plain reference round by round, the paper's guarantees, weights, bad input."""

import numpy as np
import pytest

from podium import (
    NoPairsError,
    PodiumError,
    RankBoost,
    evaluate,
    generalization_bound,
    make_preferences,
    make_search,
)
from podium.measures import pair_losses
from podium.pairs.weak_ranking import WeakResult
from rankboost_data import columns_of, small_data, story
from reference import rankboost as reference

pytestmark = pytest.mark.plain


@pytest.fixture(scope="module")
def search():
    return make_search(n_queries=14, docs_per_query=9, n_features=8, random_state=0)


@pytest.fixture(scope="module")
def valid():
    return make_search(n_queries=14, docs_per_query=9, n_features=8, random_state=1)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("criterion", ["r", "z"])
@pytest.mark.parametrize("alpha", ["r", "z", "numeric"])
def test_rounds_equal_the_reference(seed, criterion, alpha):
    X, y, qid, weight = small_data(seed, continuous=seed % 2 == 1)
    triples = reference.graded_triples(y, qid, weight)
    expected = reference.rank_boost(triples, columns_of(X), 6, criterion, alpha)
    model = RankBoost(6, criterion=criterion, alpha=alpha, max_bins=None).fit(X, y, qid=qid, sample_weight=weight)
    np.testing.assert_allclose(np.array(story(model)), np.array(expected), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_labels_with_pairs_equal_the_reference(seed):
    X, y, qid, _ = small_data(seed, continuous=False)
    rng = np.random.default_rng(seed + 10)
    better, worse = rng.permutation(42)[:10], rng.permutation(42)[10:20]
    pairs = (better[better != worse], worse[better != worse], rng.random((better != worse).sum()) + 0.1)
    triples = reference.graded_triples(y, qid) + list(zip(pairs[1], pairs[0], pairs[2], strict=True))
    expected = reference.rank_boost(triples, columns_of(X), 5)
    model = RankBoost(5, max_bins=None).fit(X, y, qid=qid, pairs=pairs)
    np.testing.assert_allclose(np.array(story(model)), np.array(expected), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("options", [{}, {"criterion": "z"}, {"alpha": "numeric"}, {"weak": "feature"}])
def test_training_loss_stays_below_the_product_of_z(search, options):
    model = RankBoost(15, **options).fit(search.X, search.y, qid=search.qid)
    certificate = model.certificate()
    assert np.all(certificate["Z"] <= 1)
    for scores, bound in zip(model.staged_predict(search.X), certificate["bound"], strict=True):
        loss = evaluate(search.y, scores, qid=search.qid, measures="pair_loss_1", n_resamples=0)["pair_loss_1"]
        assert loss <= bound * (1 + 1e-12)


@pytest.mark.parametrize("pair_weight", ["pairs", "queries"])
def test_certificate_has_the_loss_of_labels_and_pairs(search, pair_weight):
    rng = np.random.default_rng(0)
    better, worse = rng.permutation(len(search.y))[:60].reshape(2, 30)
    pairs = (better, worse, rng.random(30) + 0.5)
    model = RankBoost(15, pair_weight=pair_weight).fit(search.X, search.y, qid=search.qid, pairs=pairs)
    certificate = model.certificate(search.X, search.y, qid=search.qid, pairs=pairs)
    assert np.all(certificate["loss"] <= certificate["bound"])
    ids, codes = np.unique(search.qid, return_inverse=True)
    triples = reference.graded_triples(search.y.tolist(), codes.tolist())
    count = np.bincount([codes[low] for low, _, _ in triples], minlength=len(ids))
    scale = (lambda row: 1 / count[codes[row]]) if pair_weight == "queries" else (lambda row: 1.0)
    triples = [(low, high, scale(low)) for low, high, _ in triples] + list(zip(worse, better, pairs[2], strict=True))
    for scores, loss in zip(model.staged_predict(search.X), certificate["loss"], strict=True):
        wrong = sum(weight for low, high, weight in triples if scores[high] <= scores[low])
        assert loss == pytest.approx(wrong / sum(weight for *_, weight in triples), rel=1e-9)


def test_edge_bound_is_that_of_the_paper_and_holds_for_the_third_method(search):
    certificate = RankBoost(15).fit(search.X, search.y, qid=search.qid).certificate()
    np.testing.assert_allclose(certificate["edge_bound"], np.cumprod(np.sqrt(1 - certificate["r"] ** 2)), rtol=1e-12)
    assert np.all(certificate["bound"] <= certificate["edge_bound"] * (1 + 1e-12))


def test_staged_predict_ends_at_predict(search):
    model = RankBoost(20).fit(search.X, search.y, qid=search.qid)
    *_, last = model.staged_predict(search.X)
    np.testing.assert_allclose(last, model.predict(search.X), rtol=1e-12, atol=1e-12)


def test_row_of_weight_two_is_the_row_twice(search):
    X, y, qid = np.round(search.X), search.y, search.qid
    weight = 1.0 + (np.arange(len(y)) % 3 == 0)
    twice = np.repeat(np.arange(len(y)), weight.astype(int))
    weighted = RankBoost(10, max_bins=None).fit(X, y, qid=qid, sample_weight=weight)
    doubled = RankBoost(10, max_bins=None).fit(X[twice], y[twice], qid=qid[twice])
    np.testing.assert_allclose(story(weighted), story(doubled), rtol=1e-9)


def test_pair_of_weight_two_is_the_pair_twice():
    data = make_preferences(60, 20)
    better, worse, weight = data.pairs
    twice = [np.concatenate([side, side]) for side in (better, worse)]
    one = RankBoost(10).fit(data.X, pairs=(better, worse, 2 * weight))
    two = RankBoost(10).fit(data.X, pairs=(*twice, np.concatenate([weight, weight])))
    np.testing.assert_allclose(story(one), story(two), rtol=1e-9)


def test_query_weight_of_zero_leaves_a_query_out(search):
    out = search.qid == search.qid[0]
    weight = np.where(out, 0.0, 1.0)
    without = RankBoost(10, max_bins=None).fit(search.X[~out], search.y[~out], qid=search.qid[~out])
    with_zero = RankBoost(10, max_bins=None).fit(search.X, search.y, qid=search.qid, query_weight=weight)
    np.testing.assert_allclose(with_zero.predict(search.X), without.predict(search.X), atol=1e-9)


def test_explicit_pairs_learn_a_taste():
    data = make_preferences(80, 30, random_state=3)
    model = RankBoost(30).fit(data.X, pairs=tuple(data.pairs))
    better, worse, weight = data.pairs
    assert pair_losses(better, worse, weight, model.predict(data.X))[1] < 0.2


@pytest.mark.parametrize("criterion", ["r", "z"])
def test_cumulative_weights_are_never_negative(search, criterion):
    model = RankBoost(25, cumulative=True, criterion=criterion).fit(search.X, search.y, qid=search.qid)
    sums: dict[tuple, float] = {}
    for done in model.rounds_:
        key = (done.feature, done.threshold, done.abstain)
        sums[key] = sums.get(key, 0.0) + done.alpha
        assert sums[key] > 0


@pytest.mark.parametrize("weak", ["stump", "feature"])
@pytest.mark.parametrize("sign", [1, -1])
def test_monotone_constraints_hold_on_a_grid_where_the_data_would_break_them(weak, sign):
    # Without constraints features 0 and 1 rise and features 2 and 3 fall.
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 4)).round(1)
    y = (X @ [1.0, 0.9, -1.0, -0.9] + rng.standard_normal(60) > 0).astype(float)
    free, held = (RankBoost(12, weak=weak, monotone_constraints=c).fit(X, y) for c in (None, [sign, 0, sign, 0]))
    for model, lowest in ((free, -np.inf), (held, 0.0)):
        falls, rises = zip(*(changes_along(model, X, feature, sign) for feature in (0, 2)), strict=True)
        assert max(rises) > 0.1, "the constrained features are used"
        assert min(falls) >= lowest
        assert min(falls) < -0.1 or model is held


def changes_along(model, X, feature, sign):
    """Sum of the falls, and of the rises, of ``sign * score`` while one feature grows through its range."""
    grid = np.repeat(np.median(X, axis=0)[None], 50, axis=0)
    grid[:, feature] = np.linspace(X[:, feature].min(), X[:, feature].max(), 50)
    steps = sign * np.diff(model.predict(grid))
    steps[np.abs(steps) < 1e-12] = 0.0
    return steps[steps < 0].sum(), steps[steps > 0].sum()


@pytest.mark.parametrize("abstain", [0, 1])
def test_fixed_abstention_is_kept(abstain):
    data = make_preferences(80, 15)
    model = RankBoost(20, abstain=abstain).fit(data.X, pairs=tuple(data.pairs))
    assert {done.abstain for done in model.rounds_} == {abstain}


def test_a_perfect_feature_gives_finite_weights_and_an_end():
    y = np.arange(20.0)
    model = RankBoost(200).fit(y[:, None], y)
    assert np.isfinite(model.predict(y[:, None])).all()
    assert np.all(np.diff(model.predict(y[:, None])) > 0)
    two = RankBoost(50).fit(np.array([[0.0], [1.0]]), [0, 1])
    assert np.isfinite(two.rounds_[0].alpha)


@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1e160, 1e300])
@pytest.mark.parametrize("pair_weight", ["pairs", "queries"])
def test_scale_of_row_weights_changes_nothing(search, scale, pair_weight):
    weight = np.full(len(search.y), scale)
    one = RankBoost(5, pair_weight=pair_weight).fit(search.X, search.y, qid=search.qid)
    two = RankBoost(5, pair_weight=pair_weight).fit(search.X, search.y, qid=search.qid, sample_weight=weight)
    np.testing.assert_allclose(two.predict(search.X), one.predict(search.X), rtol=1e-9)


@pytest.mark.parametrize("rate", [0.1, 0.5, 2.0])
@pytest.mark.parametrize("options", [{}, {"criterion": "z"}, {"weak": "feature"}, {"alpha": "numeric"}])
def test_learning_rate_multiplies_alpha(search, options, rate):
    (whole,), (done,) = (
        RankBoost(1, learning_rate=one, **options).fit(search.X, search.y, qid=search.qid).rounds_
        for one in (1.0, rate)
    )
    assert done.ranking == whole.ranking
    assert done.alpha == pytest.approx(rate * whole.alpha, rel=1e-12)
    assert done.Z > whole.Z or rate > 1


def test_large_steps_leave_a_finite_certificate(search):
    model = RankBoost(20, learning_rate=100).fit(search.X, search.y, qid=search.qid)
    for certificate in (model.certificate(), model.certificate(search.X, search.y, qid=search.qid)):
        assert all(np.isfinite(values).all() for values in certificate.values())
        assert certificate["bound"].max() > 1e300


def test_weights_of_rows_need_labels(search):
    with pytest.raises(PodiumError, match="with pairs alone give weights to the pairs"):
        RankBoost(2).fit(search.X, pairs=([0], [1]), sample_weight=np.ones(len(search.X)))


def test_importances_name_the_features_that_matter(search):
    rng = np.random.default_rng(0)
    y = (search.X[:, 2] > np.median(search.X[:, 2])) + 0.1 * (rng.random(len(search.y)) < 0.1)
    model = RankBoost(10).fit(search.X, y, qid=search.qid)
    assert model.feature_importances_.sum() == pytest.approx(1)
    assert model.feature_importances_.argmax() == 2


def test_generalization_bound_is_theorem_three():
    d, T, m, n, delta = 2, 10, 10**7, 10**8, 0.1
    capacity = 2 * (d + 1) * (T + 1) * np.log2(np.e * (T + 1))
    expected = sum(2 * np.sqrt((capacity * (np.log(2 * k / capacity) + 1) + np.log(18 / delta)) / k) for k in (m, n))
    assert generalization_bound(m, n, T, d, delta) == pytest.approx(expected, rel=1e-12)
    assert generalization_bound(50, 50, 100, 2) == np.inf
    least = int(np.ceil(capacity / 2))
    assert np.isfinite(generalization_bound(least, least, T, d, delta))
    assert generalization_bound(least, least - 1, T, d, delta) == np.inf
    with pytest.raises(PodiumError, match="dimension >= 2"):
        generalization_bound(10, 10, 1, 1)


class FirstFeature:
    """A weak learner of a user's own: always the first feature's sign."""

    def __init__(self, data):
        self.values = self.predict(data.features)[data.queries.rows]

    def predict(self, X):
        return (X[:, 0] > 0).astype(float)

    def search(self, potentials, distribution):
        r = float(np.sum(self.values * potentials))
        return WeakResult(self, self.values, r) if abs(r) > 1e-9 else None


def test_own_weak_learner(search):
    model = RankBoost(5, weak=FirstFeature, alpha="numeric").fit(search.X, search.y, qid=search.qid)
    assert model.stop_reason_ == "no weak ranking is better than chance"
    assert len(np.unique(model.predict(search.X))) == 2


def test_own_weak_rankings_cannot_be_saved(search, tmp_path):
    model = RankBoost(2, weak=FirstFeature).fit(search.X, search.y, qid=search.qid)
    with pytest.raises(PodiumError, match=r"A model file holds stumps only, or .* round 1 has a FirstFeature"):
        model.save(tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_verbose_shows_progress_on_standard_error(search, valid, capsys):
    RankBoost(5, verbose=1).fit(search.X, search.y, qid=search.qid, eval_set=[(valid.X, valid.y)], eval_qid=[valid.qid])
    captured = capsys.readouterr()
    assert "5/5" in captured.err
    assert "validation_0 pair_loss" in captured.err
    assert captured.out == ""


@pytest.mark.parametrize(
    ("options", "fit", "error", "message"),
    [
        ({}, {"y": np.ones(600)}, NoPairsError, "all rows have the same label"),
        ({}, {"y": None}, NoPairsError, "requires y to be passed"),
        ({}, {"pairs": ([0, 9999], [1, 2])}, PodiumError, r"better\[1\] is row 9999"),
        ({"criterion": "q"}, {}, PodiumError, "The 'criterion' parameter of RankBoost must be"),
        ({"n_estimators": 0}, {}, PodiumError, "The 'n_estimators' parameter of RankBoost must be"),
        ({"max_bins": 256}, {}, PodiumError, "The 'max_bins' parameter"),
        ({"eval_metric": "ncdg@3"}, {}, PodiumError, "did you mean ndcg"),
        ({"monotone_constraints": [1, 0]}, {}, PodiumError, "one entry per feature, 8; got 2"),
        ({"monotone_constraints": [2] * 8}, {}, PodiumError, "monotone_constraints must be -1, 0 or 1; got 2"),
        ({"early_stopping_rounds": 3}, {}, PodiumError, "early_stopping_rounds needs an eval_set"),
        ({"weak": "feature", "thresholds": [0.5]}, {}, PodiumError, "thresholds goes with stumps only"),
        ({"pair_weight": "rows"}, {}, PodiumError, "The 'pair_weight' parameter of RankBoost must be"),
        ({"contradictions": "drop"}, {}, PodiumError, "The 'contradictions' parameter of RankBoost must be"),
        ({"weak": "feature", "criterion": "z"}, {}, PodiumError, "criterion goes with stumps only"),
        ({"weak": "feature", "alpha": "z"}, {}, PodiumError, 'alpha="z" goes with stumps only'),
        ({"weak": "feature", "max_bins": 9}, {}, PodiumError, "max_bins goes with stumps only"),
        ({"weak": lambda data: 1, "abstain": 0}, {}, PodiumError, "abstain goes with stumps and features only"),
        ({"weak": lambda data: 1, "monotone_constraints": [1] * 8}, {}, PodiumError, "monotone_constraints goes with"),
        ({}, {"init_model": RankBoost()}, ValueError, "not fitted"),
        ({}, {"init_model": "m.podium"}, PodiumError, "init_model must be a fitted RankBoost; got str"),
        ({}, {"eval_set": [(np.ones((2, 3)), [0, 1])]}, PodiumError, r"eval_set\[0\] must have the columns of X"),
        ({}, {"eval_set": [(np.ones((2, 8)), [0, 1])], "eval_qid": []}, PodiumError, "eval_qid must have one"),
        ({}, {"eval_set": (np.ones((2, 8)), [0, 1])}, PodiumError, "eval_set must be a list of"),
        ({"eval_metric": []}, {}, PodiumError, "eval_metric must name at least one measure"),
        (
            {"eval_metric": "ndcg"},
            {"eval_set": [(np.ones((2, 8)), [0, 0])], "eval_group": [[2]]},
            PodiumError,
            "ndcg is not defined on",
        ),
        ({"checkpoint": "no/such/folder/file"}, {}, PodiumError, "The folder of no/such/folder/file does not exist"),
        ({"learning_rate": 1e9}, {}, PodiumError, "The 'learning_rate' parameter"),
    ],
)
def test_bad_input_gets_one_sentence(search, options, fit, error, message):
    given = {"y": search.y, "qid": None if "y" in fit else search.qid, **fit}
    if given["y"] is not None:
        given["y"] = given["y"][: len(search.X)] if len(given["y"]) >= len(search.X) else np.ones(len(search.X))
    with pytest.raises(error, match=message):
        RankBoost(**{"n_estimators": 2, **options}).fit(search.X, **given)


@pytest.mark.parametrize(
    ("X", "message"),
    [(np.full((4, 2), np.nan), "missing"), (np.ones((4, 2)), "constant")],
)
def test_features_that_cannot_rank_are_named(X, message):
    with pytest.warns(UserWarning, match=f"Nothing was learned, so that all predictions are equal: .*{message}"):
        model = RankBoost(2).fit(X, [0, 1, 0, 1])
    assert (model.predict(X).tolist(), model.feature_importances_.tolist()) == ([0.0] * 4, [0.0, 0.0])


def test_unknown_parameters_are_refused():
    with pytest.raises(TypeError, match="num_leaves"):
        RankBoost(num_leaves=31)
    with pytest.raises(ValueError, match="num_leaves"):
        RankBoost().set_params(num_leaves=31)
