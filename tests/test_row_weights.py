"""What docs/data.md says of a weight of 2: where it is the row given twice, and what makes it another thing."""

import numpy as np
import pytest

from peers import peer
from podium import MART, LambdaMART, RankNet, RSRank, TreeRankForest, TreeRankTournament

pytestmark = [
    pytest.mark.plain,
    pytest.mark.filterwarnings("ignore:overflow encountered in scalar"),  # hashes wrap around on purpose
]


def weighted_and_repeated(ranker):
    """Scores learned from rows with weights, and from each row as often."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(60, 3))
    y = np.digitize(X[:, 0] + X[:, 1] + rng.normal(0, 0.5, 60), [-1.0, 0.0, 1.0])
    times, qid = rng.integers(1, 4, 60), np.repeat(np.arange(6), 10)
    weighted = ranker.fit(X, y, qid=qid, sample_weight=times).predict(X)
    return weighted, ranker.fit(np.repeat(X, times, axis=0), np.repeat(y, times), qid=np.repeat(qid, times)).predict(X)


PLAIN = {"n_estimators": 3, "min_child_samples": 1, "delta": "none"}


@pytest.mark.parametrize(
    "ranker",
    [
        LambdaMART(**PLAIN, normalize="none"),
        LambdaMART(**PLAIN, normalize="query"),
        MART(3, min_child_samples=1),
        RSRank(n_estimators=3, importance="none"),
        TreeRankForest(3, bootstrap=False),
        TreeRankTournament(2, bootstrap=False),
    ],
    ids=str,
)
def test_a_weight_is_the_row_as_often(ranker):
    np.testing.assert_allclose(*weighted_and_repeated(ranker), atol=1e-6)


@pytest.mark.parametrize(
    "ranker",
    [
        LambdaMART(**{**PLAIN, "delta": "ndcg"}),
        LambdaMART(**PLAIN, truncation=3),
        LambdaMART(**PLAIN, subsample=0.5),
        LambdaMART(**{**PLAIN, "min_child_samples": 20}),
        MART(3, min_child_samples=1, loss="cross_entropy"),
        RSRank(n_estimators=3),
        TreeRankForest(3),
        TreeRankTournament(2),
    ],
    ids=str,
)
def test_a_weight_is_not_the_row_as_often_where_rows_are_drawn_or_ranked_or_counted(ranker):
    weighted, repeated = weighted_and_repeated(ranker)
    assert np.abs(weighted - repeated).max() > 1e-3


def test_dropout_draws_other_units_for_rows_given_more_often():
    peer("torch")
    weighted, repeated = weighted_and_repeated(RankNet(3))
    assert np.abs(weighted - repeated).max() > 1e-3
    np.testing.assert_allclose(*weighted_and_repeated(RankNet(3, dropout=0.0)), atol=1e-5)
