"""Rows without queries: one query where that is meant, a warning or an error where it looks forgotten."""

import warnings
from unittest.mock import patch

import numpy as np
import pytest
from sklearn.base import clone

from podium import (
    MART,
    GradientFreeBoost,
    L2Boost,
    LambdaMART,
    LinearPlackettLuce,
    NearestNeighbor,
    PairBoost,
    PlugInRanker,
    PNormPush,
    PodiumError,
    PreferenceRegression,
    RankBoost,
    RankBoostPlus,
    RankRLS,
    RankSVM,
    RSRank,
    TreeRank,
    blend,
    compare,
    evaluate,
)
from podium.data import ranking_data
from podium.rankers.rankboost_plus import exponential_losses

pytestmark = [
    pytest.mark.plain,
    pytest.mark.filterwarnings("ignore:overflow encountered in scalar"),  # hashes wrap around on purpose
]

N, MAX_ROWS_UNWARNED = 40, ranking_data.MAX_ROWS_UNWARNED
rng = np.random.default_rng(0)
X, y, amounts = rng.normal(size=(N, 2)), rng.integers(0, 3, N).astype(float), rng.normal(size=N)
BY_QUERY = {
    "RankBoost": RankBoost(2),
    "RankBoostPlus": RankBoostPlus(2),
    "PNormPush": PNormPush(2),
    "LambdaMART": LambdaMART(2, min_child_samples=2),
    "cross-entropy": MART(2, loss="cross_entropy", min_child_samples=2),
    "GradientFreeBoost": GradientFreeBoost(2),
    "NearestNeighbor": NearestNeighbor(),
    "LinearPlackettLuce": LinearPlackettLuce(),
    "TreeRank": TreeRank(4, min_child_weight=1.0, pruning_folds=0),
    "RankSVM": RankSVM(),
    "RSRank": RSRank(2),
    "RankRLS": RankRLS(),
    "PairBoost": PairBoost(2),
}
BY_ROW = {
    "MART": MART(2, min_child_samples=2),
    "L2Boost": L2Boost(2),
    "PreferenceRegression": PreferenceRegression(),
    "PlugInRanker": PlugInRanker(),
}


@pytest.fixture(autouse=True)
def few_rows_are_many():
    with patch.object(ranking_data, "MAX_ROWS_UNWARNED", N - 1):
        yield


def test_a_thousand_rows_are_not_yet_many():
    with patch.object(ranking_data, "MAX_ROWS_UNWARNED", MAX_ROWS_UNWARNED):
        grades = np.arange(1001) % 3
        evaluate(grades[1:], grades[1:], measures="pair_loss", n_resamples=0)
        with pytest.warns(UserWarning, match="All 1001 rows are one query"):
            evaluate(grades, grades, measures="pair_loss", n_resamples=0)


@pytest.mark.parametrize("name", BY_QUERY)
def test_many_graded_rows_without_queries_get_a_warning(name):
    message = rf"All {N} rows are one query, because neither qid nor group was given; .* say group=\[{N}\] if"
    with pytest.warns(UserWarning, match=message) as caught:
        clone(BY_QUERY[name]).fit(X, y)
    assert caught[0].filename == __file__


@pytest.mark.parametrize("name", BY_QUERY)
@pytest.mark.parametrize(
    "said", [{"group": [N]}, {"qid": np.zeros(N)}, {"qid": ["all"] * N}], ids=["size", "0", "text"]
)
def test_one_query_that_is_said_is_no_surprise(name, said):
    model = clone(BY_QUERY[name]).fit(X, y, **said)
    with pytest.warns(UserWarning, match="one query"):
        other = clone(BY_QUERY[name]).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), other.predict(X))


@pytest.mark.parametrize("name", [*BY_QUERY, *BY_ROW])
def test_few_rows_and_amounts_are_one_query_without_a_word(name):
    ranker = (BY_QUERY | BY_ROW)[name]
    clone(ranker).fit(X[:-1], y[:-1])
    clone(ranker).fit(X, amounts)


@pytest.mark.parametrize("name", BY_ROW)
def test_rankers_of_single_rows_need_no_queries(name):
    clone(BY_ROW[name]).fit(X, y)


def test_half_as_many_labels_as_rows_are_amounts():
    halves = np.arange(N) // 2.0
    evaluate(halves, amounts, measures="pair_loss", n_resamples=0)
    halves[0] = halves[-1]
    halves[1] = halves[-1]
    with pytest.warns(UserWarning, match="one query"):
        evaluate(halves, amounts, measures="pair_loss", n_resamples=0)


def test_pairs_alone_need_no_queries():
    RankBoost(2).fit(X, pairs=([0, 1], [2, 3]))


MODEL = RankBoost(2).fit(X, y, group=[N])
CALLS = {
    "score": lambda: MODEL.score(X, y),
    "certificate": lambda: MODEL.certificate(X, y),
    "exponential_losses": lambda: exponential_losses(MODEL, X, y),
    "refit": lambda: LambdaMART(2, min_child_samples=2).fit(X, y, group=[N]).refit(X, y),
    "evaluate": lambda: evaluate(y, amounts, measures="pair_loss", n_resamples=0),
    "compare": lambda: compare(y, amounts, X[:, 0], measures="pair_loss", n_resamples=0),
    "blend": lambda: blend([amounts, X[:, 0]], y),
}


@pytest.mark.parametrize("name", CALLS)
def test_measuring_many_graded_rows_without_queries_gets_a_warning(name):
    with pytest.warns(UserWarning, match=f"All {N} rows are one query") as caught:
        CALLS[name]()
    assert {one.filename for one in caught if one.category is UserWarning} == {__file__}


def test_measuring_one_query_that_is_said_is_no_surprise():
    MODEL.score(X, y, qid=np.zeros(N))
    evaluate(y, amounts, group=[N], measures="pair_loss", n_resamples=0)
    blend([amounts, X[:, 0]], y, group=[N])


QID = np.arange(N) % 4


@pytest.mark.parametrize("ranker", [RankBoost(2), LambdaMART(2, min_child_samples=2), MART(2, min_child_samples=2)])
def test_an_evaluation_set_without_queries_is_refused_beside_rows_with_some(ranker):
    message = r"eval_set\[1\] must have queries, as the training rows have: give eval_qid or eval_group"
    with pytest.raises(PodiumError, match=message):
        ranker.fit(X, y, qid=QID, eval_set=[(X, y), (X, y)], eval_qid=[QID, None])
    with pytest.raises(PodiumError, match=r"eval_set\[0\] must have queries"):
        ranker.fit(X, y, group=[N], eval_set=[(X, y)])
    assert not hasattr(ranker, "rounds_")
    ranker.fit(X, y, group=[N], eval_set=[(X, y)], eval_group=[[N]])


def test_an_evaluation_set_with_queries_is_refused_beside_rows_without():
    with pytest.raises(
        PodiumError, match=rf"The training rows must have queries, as eval_set\[0\] has: .*group=\[{N - 1}"
    ):
        RankBoost(2).fit(X[1:], y[1:], eval_set=[(X, y)], eval_qid=[QID])
    RankBoost(2).fit(X, pairs=([0, 1], [2, 3]), eval_set=[(X, y)], eval_qid=[QID])
    MART(2, min_child_samples=2).fit(X, y, eval_set=[(X, y)], eval_qid=[QID])


def test_an_evaluation_set_of_many_rows_gets_a_warning_of_its_own():
    with pytest.warns(
        UserWarning, match=rf"All {N} rows of eval_set\[0\] are one query.*eval_group=\[\.\.\., \[{N}\]"
    ) as caught:
        RankBoost(2).fit(X[1:], y[1:], eval_set=[(X, y)])
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        MART(2, min_child_samples=2).fit(X, y, eval_set=[(X, y)])
