"""Parameters of the losses of LambdaMART and MART, against the formulas, row by row, of two rounds."""

import numpy as np
import pytest

from parameters import changing
from podium import MART, LambdaMART, PreferenceRegression
from reference import losses as plain

RIDGE = 0.01
WHOLE = {
    "n_estimators": 2, "learning_rate": 1.0, "min_child_samples": 1, "min_child_weight": 0.0, "max_leaves": 64,
    "quantized": False, "reg_lambda": RIDGE,
}  # fmt: skip
"""Trees whose leaves have a few rows each; λ makes the scale of gradients and curvatures seen."""


def rows():
    """Three queries of different sizes, one feature, whose values are all different and lie near the grades."""
    rng = np.random.default_rng(11)
    sizes = (9, 4, 6)
    y = np.concatenate([rng.permutation([0, 0, 1, 1, 2, 3, 4, 0, 2]), [3, 0, 1, 0], rng.integers(0, 4, 6)]).astype(
        float
    )
    return (y + rng.normal(size=19))[:, None], y, np.repeat(np.arange(3), sizes)


def check_rounds(model, derivatives, pairs=None):
    """Each leaf of both trees has the value -G/(H + λ) of its rows, where scores begin as the feature."""
    X, y, qid = rows()
    start = PreferenceRegression().fit(X, X[:, 0])  # scores that are not tied: places are plain
    given = {"qid": qid} if pairs is None else {"pairs": pairs}
    staged = model.fit(X, None if pairs else y, init_model=start, **given).staged_predict(X)
    before = start.predict(X)
    np.testing.assert_allclose(before, X[:, 0])
    for scores in staged:
        found, (g, h) = scores - before, derivatives(before)
        values = np.unique(found.round(12))
        assert len(values) > 1
        for value in values:
            own = found.round(12) == value
            assert value * (h[own].sum() + RIDGE) == pytest.approx(-g[own].sum(), abs=3e-5)  # λ has six digits
        before = scores


def by_query(one_query):
    """Derivatives of all rows from those of one query's labels and scores."""
    _, y, qid = rows()

    def derivatives(scores):
        parts = [one_query(y[qid == q], scores[qid == q]) for q in range(3)]
        return np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])

    return derivatives


def lambdas(delta="ndcg", truncation=30, normalize="query", sigma=1.0):
    """Derivatives of LambdaMART's loss by the formulas."""

    def one_query(y, scores):
        weights = plain.pair_weights(y, scores, delta, truncation, np.ones(len(y)), rows()[1].max())
        return plain.normalized_lambdas(weights, scores, sigma, normalize)

    return by_query(one_query)


@changing("delta", LambdaMART)
def pairs_weigh_what_the_measure_changes_by(estimator):
    for delta in ("ndcg", "map", "mrr", "err", "localized"):
        check_rounds(estimator(**WHOLE, delta=delta), lambdas(delta))
    check_rounds(estimator(**WHOLE, delta="auc"), lambdas("auc", None))
    check_rounds(estimator(**WHOLE, delta="localized", truncation=3), lambdas("localized", 3))
    check_rounds(estimator(**WHOLE, delta="none"), lambdas("none", None, "none"))


@changing("form", LambdaMART)
def auto_is_the_tuned_form_or_that_of_the_paper(estimator):
    check_rounds(estimator(**WHOLE, form="tuned"), lambdas("ndcg", 30, "query"))
    check_rounds(estimator(**WHOLE, form="paper"), lambdas("ndcg", None, "none"))


@changing("truncation", LambdaMART)
def pairs_have_a_row_among_the_first_places(estimator):
    for truncation in (1, 3, None):
        check_rounds(estimator(**WHOLE, truncation=truncation), lambdas("ndcg", truncation))
    check_rounds(estimator(**WHOLE, truncation=2, delta="none"), lambdas("none", 2, "none"))


@changing("normalize", LambdaMART)
def gradients_are_normalised_by_pairs_and_queries(estimator):
    for normalize in ("none", "pairs", "query", "both"):
        check_rounds(estimator(**WHOLE, normalize=normalize), lambdas(normalize=normalize))


@changing("sigma", LambdaMART)
def the_sigmoid_of_pairs_is_so_steep(estimator):
    for sigma in (0.3, 2.0):
        check_rounds(estimator(**WHOLE, sigma=sigma), lambdas(sigma=sigma))


def linear_ndcg(ranked, k, top):
    """NDCG with the labels as gains."""

    def dcg(gains):
        return sum(gain / np.log2(place + 2) for place, gain in enumerate(gains[:k]))

    return dcg(ranked) / dcg(sorted(ranked, reverse=True))


@changing("gain", LambdaMART)
def labels_gain_what_is_given(estimator, monkeypatch):
    check_rounds(estimator(**WHOLE, gain="exp2"), lambdas())
    monkeypatch.setitem(plain.MEASURES, "linear", linear_ndcg)
    for gain in ("linear", {0: 0.0, 1: 1.0, 2: 2.0, 3: 3.0, 4: 4.0}, lambda labels: labels):
        check_rounds(estimator(**WHOLE, gain=gain), lambdas("linear"))


@changing("contradictions", LambdaMART)
def pairs_both_ways_all_count_or_are_netted(estimator):
    pairs = np.array([0, 1, 1, 2, 3, 4, 5, 6]), np.array([1, 0, 0, 3, 5, 5, 4, 7])
    kept = [(i, j, 1.0) for i, j in zip(*pairs, strict=True)]
    netted = [(1, 0, 1.0), (2, 3, 1.0), (3, 5, 1.0), (6, 7, 1.0)]
    for name, listed in (("keep", kept), ("net", netted)):

        def derivatives(scores, listed=listed):
            parts = [plain.lambdas({(i, j): weight}, scores, 1.0) for i, j, weight in listed]
            return np.sum([g for g, _ in parts], axis=0), np.sum([h for _, h in parts], axis=0)

        check_rounds(estimator(**WHOLE, contradictions=name), derivatives, pairs)


def logistic(sigma, balanced=False):
    """Derivatives of log(1 + exp(-2 y σ s)), y = 1 for labels above 0 and else -1 (LM Eq. 14, 15)."""
    y = np.where(rows()[1] > 0, 1.0, -1.0)
    counts = np.where(y > 0, np.sum(y > 0), np.sum(y < 0))
    weight = len(y) / 2 / counts if balanced else np.ones(len(y))

    def derivatives(scores):
        response = 2 * y * sigma / (1 + np.exp(2 * y * sigma * scores))
        return -weight * response, weight * np.abs(response) * (2 * sigma - np.abs(response))

    return derivatives


@changing("loss", MART)
def each_loss_has_its_own_derivatives(estimator):
    y = rows()[1]
    check_rounds(estimator(**WHOLE), lambda scores: (scores - y, np.ones(len(y))))
    check_rounds(estimator(**WHOLE, loss="logistic"), logistic(1.0))
    check_rounds(estimator(**WHOLE, loss="balanced"), logistic(1.0, balanced=True))
    tripled = estimator(
        **WHOLE, loss=lambda scores, feedback: (3 * (scores - feedback.labels), np.full(len(scores), 7.0))
    )
    check_rounds(tripled, lambda scores: (3 * (scores - y), np.full(len(y), 7.0)))
    X, y, qid = rows()
    entropy = estimator(**WHOLE, loss="cross_entropy").fit(X, y, qid=qid)
    assert entropy.base_score_ == 0
    better, worse = np.nonzero((qid[:, None] == qid) & (y[:, None] > y + 1))
    scores = entropy.predict(X)
    assert np.mean(scores[better] > scores[worse]) > 0.8


@changing("sigma", MART)
def the_logistic_losses_are_so_steep(estimator):
    for sigma in (0.3, 2.0):
        check_rounds(estimator(**WHOLE, loss="logistic", sigma=sigma), logistic(sigma))
        check_rounds(estimator(**WHOLE, loss="balanced", sigma=sigma), logistic(sigma, balanced=True))
