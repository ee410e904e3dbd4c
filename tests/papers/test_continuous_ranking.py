"""Werner's review of ranking problems: example 2.1, to the digit, and Lemma 2.1."""

from fractions import Fraction

import numpy as np
import pytest

from podium.measures import measure_queries

LABELS = np.array([-3, 10.3, -8, 12, 14, -0.5, 29, -1.1, -5.7, 119])
SCORES = np.array([0.02, 0.6, 0.1, 0.47, 0.82, 0.04, 0.77, 0.09, 0.01, 0.79])
OFFSETS = np.array([0, 10])


def value(name, labels=LABELS, scores=SCORES):
    return float(measure_queries(name, labels, scores, OFFSETS).values[0])


@pytest.mark.plain
def test_example_2_1_has_the_paper_s_predicted_places():
    places = np.empty(10, int)
    places[np.argsort(-SCORES)] = np.arange(1, 11)
    assert places[np.argsort(-LABELS)].tolist() == [2, 3, 1, 5, 4, 8, 7, 9, 10, 6]


@pytest.mark.plain
@pytest.mark.parametrize(
    ("name", "fraction"),
    [
        ("weak_loss@4", Fraction(2, 10)),
        ("weak_loss_norm@4", Fraction(1, 4)),
        ("localized_loss@4", Fraction(37, 225)),
        ("localized_loss_norm@4", Fraction(75, 46) * Fraction(37, 225)),
        ("hard_loss", Fraction(16, 90)),
        ("weak_loss@5", Fraction(0)),
        ("weak_loss_norm@5", Fraction(0)),
        ("localized_loss@5", Fraction(1, 15)),
        ("localized_loss_norm@5", Fraction(18, 13) * Fraction(1, 15)),
    ],
)
def test_example_2_1(name, fraction):
    assert value(name) == pytest.approx(float(fraction), rel=1e-15, abs=1e-16)


@pytest.mark.plain
def test_example_2_1_has_the_paper_s_rounded_values():
    assert round(value("localized_loss_norm@4"), 3) == 0.268
    assert round(value("localized_loss_norm@5"), 3) == 0.092


@pytest.mark.plain
def test_lemma_2_1_hard_loss_is_half_of_one_minus_tau():
    rng = np.random.default_rng(0)
    for _ in range(20):
        labels, scores = rng.normal(size=10), rng.normal(size=10)
        tau = value("kendall", labels, scores)
        assert value("hard_loss", labels, scores) == pytest.approx((1 - tau) / 2, rel=1e-14)


@pytest.mark.plain
def test_localized_loss_of_all_rows_is_the_hard_loss():
    assert value("localized_loss@10") == value("localized_loss@99") == value("hard_loss")
    assert value("weak_loss@10") == value("weak_loss_norm@99") == 0.0
