"""RankBoost's weak rankings of users' own: their values and α, features that cannot rank, candidate thresholds."""

import numpy as np
import pytest
import scipy.sparse as sp

from peers import peer
from podium import PodiumError, RankBoost, load, make_search
from podium.binning import bin_features
from podium.pairs.weak_ranking import WeakResult
from podium.stumps.cut_sums import sums_above
from podium.stumps.stump import Cumulative
from rankboost_data import columns_of, small_data, story
from reference import rankboost as reference

pytestmark = pytest.mark.plain


@pytest.fixture(scope="module")
def search():
    return make_search(n_queries=40, docs_per_query=15, n_features=8, random_state=0)


class TwoValues:
    """A weak learner whose ranking has two values of the user's choice; none of the tests looks at its r."""

    def __init__(self, low, high):
        self.low, self.high = low, high

    def predict(self, X):
        return np.where(X[:, 0] > 0, self.high, self.low)

    def __call__(self, data):
        self.values = self.predict(data.features)[data.queries.rows]
        return self

    def search(self, potentials, distribution):
        return WeakResult(self, self.values, 0.5)


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (0.0, 0.4), (1.0, 2.0), (-30.0, 70.0)])
def test_own_weak_rankings_of_any_range_get_the_numerical_minimum_by_default(search, low, high):
    (done,) = RankBoost(1, weak=TwoValues(low, high)).fit(search.X, search.y, qid=search.qid).rounds_
    unit = RankBoost(1, weak=TwoValues(0.0, 1.0), alpha="z").fit(search.X, search.y, qid=search.qid).rounds_[0]
    assert (done.alpha * (high - low), done.Z) == pytest.approx((unit.alpha, unit.Z), rel=1e-7)


@pytest.mark.parametrize(
    ("alpha", "low", "high", "message"),
    [
        ("z", -1.0, 0.4, r"of values 0 and 1; got values such as -1 and 0\.4: take alpha=\"numeric\""),
        ("z", 0.0, 50.0, "got values such as 50 and 50"),
        ("r", 0.0, 50.0, r"span at most 1, .*; got values from 0 to 50: take alpha=\"numeric\""),
        (None, 0.0, np.nan, "one finite value for each of the 559 training rows; TwoValues has nan for row"),
        (None, 0.0, np.inf, "TwoValues has inf for row"),
        (None, "a", "b", "TwoValues has values of dtype <U1"),
    ],
)
def test_own_weak_rankings_that_alpha_does_not_hold_for_are_refused(search, alpha, low, high, message):
    with pytest.raises(PodiumError, match=message):
        RankBoost(2, weak=TwoValues(low, high), alpha=alpha).fit(search.X, search.y, qid=search.qid)


def test_own_weak_learner_that_forgets_rows_is_refused(search):
    class Short(TwoValues):
        def __call__(self, data):
            self.values = np.ones(5)
            return self

    with pytest.raises(PodiumError, match=r"for each of the 559 training rows; Short has values of shape \(5,\)"):
        RankBoost(2, weak=Short(0.0, 1.0)).fit(search.X, search.y, qid=search.qid)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("constant", [0.0, 5e-324, -3.0, np.finfo(float).max])
def test_constant_features_beside_others_are_not_taken(search, order, constant):
    X = np.array(search.X, order=order)
    X[:, 1] = constant
    model = RankBoost(5, weak="feature").fit(X, search.y, qid=search.qid)
    assert 1 not in {done.feature for done in model.rounds_}
    assert np.all(model.certificate()["Z"] <= 1)


@pytest.mark.parametrize("criterion", ["r", "z"])
@pytest.mark.parametrize("form", ["dense", "columns", "sparse"])
def test_candidate_thresholds_equal_the_reference(criterion, form):
    X, y, qid, weight = small_data(3, continuous=True)
    candidates = [[0.5, 2.5, 3.25], [-4.0, 1.0, 1.5, 9.0], [], [2.0]]
    expected = reference.rank_boost(
        reference.graded_triples(y, qid, weight), columns_of(X), 8, criterion, criterion, candidates=candidates
    )
    ranked = ~np.isnan(X)
    matrix = sp.csc_array((X[ranked], np.nonzero(ranked)), shape=X.shape) if form == "sparse" else X
    model = RankBoost(8, criterion=criterion, thresholds=candidates, max_bins=None if form == "columns" else 255)
    model.fit(matrix, y, qid=qid, sample_weight=weight)
    np.testing.assert_allclose(np.array(story(model)), np.array(expected), rtol=1e-9, atol=1e-12)


def test_candidate_thresholds_by_name_by_number_for_each_and_for_all_features(search, tmp_path):
    frame = peer("pandas").DataFrame(search.X, columns=[f"f{j}" for j in range(8)])
    by_name = RankBoost(12, thresholds={"f2": [0.5, -0.5], "f5": np.array([0.25])}, max_bins=20)
    by_name.fit(frame, search.y, qid=search.qid)
    by_number = RankBoost(12, thresholds={5: [0.25], np.int64(2): [-0.5, 0.5]}, max_bins=20)
    by_number.fit(search.X, search.y, qid=search.qid)
    each = [None, None, [0.5, -0.5, 0.5], None, None, (0.25,), None, None]
    of_each = RankBoost(12, thresholds=each, max_bins=20).fit(search.X, search.y, qid=search.qid)
    assert story(by_name) == story(by_number) == story(of_each)
    assert {done.threshold for done in by_name.rounds_ if done.feature == 2} <= {-np.inf, -0.5, 0.5}
    for_all = RankBoost(12, thresholds=[0.0, 1.0]).fit(search.X, search.y, qid=search.qid)
    assert {done.threshold for done in for_all.rounds_} <= {0.0, 1.0}
    for number, model in enumerate((by_name, by_number, of_each, for_all)):
        model.save(tmp_path / f"{number}")
        assert load(tmp_path / f"{number}").predict(search.X).tolist() == model.predict(search.X).tolist()


def test_candidate_thresholds_of_float32_features_part_them_as_float64_would():
    X = np.array([[0.1], [0.2], [0.3]], np.float32)
    model = RankBoost(1, thresholds=[0.1, 0.3]).fit(X, [0, 1, 1])
    # 0.1 as float32 is above 0.1, so that this threshold parts nothing; 0.3 is above 0.3, and parted from the rest.
    assert float(X[0, 0]) > 0.1
    assert model.rounds_[0].threshold < 0.3 < float(X[2, 0])
    assert model.rounds_[0].threshold == float(np.float32(model.rounds_[0].threshold))
    assert model.predict(X).tolist() == model.predict(X.astype(float)).tolist()


def test_more_than_254_candidate_thresholds_need_sorted_columns():
    X = np.arange(600.0)[:, None]
    y = (X[:, 0] > 301).astype(float)
    with pytest.raises(PodiumError, match=r"At most 254 thresholds .*; feature 0 has 300: set max_bins=None for more"):
        RankBoost(1, thresholds=np.arange(300) + 299.5).fit(X, y)
    model = RankBoost(1, thresholds=np.arange(300) + 0.5, max_bins=None).fit(X, y)
    assert model.rounds_[0].threshold == 299.5


@pytest.mark.parametrize(
    ("thresholds", "message"),
    [
        ({"f9": [1]}, "thresholds names the column 'f9', but X has no names of columns"),
        ({8: [1]}, "names or numbers from 0 to 7 of columns of X as keys; got 8"),
        ([[1.0]] * 3, "an entry for each of the 8 features, or a mapping .*; got a list of 3 entries"),
        ([1.0, np.nan], "thresholds must be a list of finite numbers; got"),
        ({1: [0, np.inf]}, r"thresholds\[1\] must be a list of finite numbers"),
        ({1: ["low"]}, r"thresholds\[1\] must be a list of numbers; got \['low'\]"),
        ({1: 3.0}, r"thresholds\[1\] must be a list of finite numbers; got 3.0"),
        (3.0, "The 'thresholds' parameter of RankBoost must be"),
    ],
)
def test_bad_thresholds_get_one_sentence(search, thresholds, message):
    with pytest.raises(PodiumError, match=message):
        RankBoost(2, thresholds=thresholds).fit(search.X, search.y, qid=search.qid)


def test_a_checkpoint_of_other_thresholds_is_refused(search, tmp_path):
    path, many = tmp_path / "fit.checkpoint", np.linspace(-1, 1, 2001)
    other = np.where(np.arange(2001) == 1000, 0.0003, many)  # differs where the text of a long array has dots
    options = {"n_estimators": 2, "max_bins": None, "checkpoint": path}
    RankBoost(thresholds=many, **options).fit(search.X, search.y, qid=search.qid)
    with pytest.raises(PodiumError, match="belongs to other data or other parameters"):
        RankBoost(thresholds=other, **options).fit(search.X, search.y, qid=search.qid)


@pytest.mark.plain
def test_cumulative_weights_are_those_of_all_rounds_replayed_ones_included(monkeypatch):
    kept = []
    monkeypatch.setattr("podium.rankers.rankboost.Cumulative", lambda weigh: kept.append(Cumulative(weigh)) or kept[-1])
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 4, (40, 2)).astype(float), rng.integers(0, 3, 40)
    half = RankBoost(3, cumulative=True).fit(X, y)
    whole = RankBoost(6, cumulative=True).fit(X, y, init_model=half)
    for model, cumulative in zip((half, whole), kept, strict=True):
        sums = {}
        for done in model.rounds_:
            sums[done.ranking] = sums.get(done.ranking, 0.0) + done.alpha
        assert cumulative.weights == sums


@pytest.mark.plain
def test_all_threads_that_are_asked_for_share_the_sums(monkeypatch):
    asked = []
    monkeypatch.setattr("podium.stumps.cut_sums.run_threads", lambda kernel, calls, n_threads: asked.append(n_threads))
    X = np.arange(60.0).reshape(20, 3)
    for bins in (bin_features(X), bin_features(X, max_bins=None)):
        sums_above(bins, np.full(20, 0.05), 3)
    assert asked == [3, 3]
