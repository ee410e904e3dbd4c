"""AdaBoostOR: votes, rounds, files, bad input, and what does not change an answer."""

import copy

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import config_context
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.utils.estimator_checks import parametrize_with_checks

from peers import peer
from podium import AdaBoostOR, FormatError, ORStump, PodiumError, PRank, VectorSimilarity, load
from podium.model_file import read_model, write_model
from podium.ordinal.votes import Votes, vote_of_stumps
from tables import graded_table

RANKERS = [
    ORStump(),
    ORStump(cost="zero-one"),
    AdaBoostOR(n_estimators=25),
    AdaBoostOR(n_estimators=25, cost="squared"),
    AdaBoostOR(n_estimators=25, cost=[[0, 1, 5, 5], [1, 0, 4, 9], [2, 1, 0, 0], [3, 3, 3, 0]]),
    AdaBoostOR(PRank(epochs=5), n_estimators=3),
    AdaBoostOR(AdaBoostOR(n_estimators=4), n_estimators=3),
]
each_ranker = pytest.mark.parametrize("ranker", RANKERS, ids=lambda r: str(r).replace("\n", ""))


@parametrize_with_checks([ORStump(), AdaBoostOR(n_estimators=60), AdaBoostOR(PRank(epochs=50), n_estimators=3)])
def test_estimator_checks_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def table():
    return graded_table()


@each_ranker
def test_row_order_changes_no_bit(ranker, table):
    X, y = table
    shuffled = np.random.default_rng(1).permutation(150)
    one, two = clone(ranker).fit(X, y), clone(ranker).fit(X[shuffled], y[shuffled])
    np.testing.assert_array_equal(one.predict_rank(X), two.predict_rank(X))
    np.testing.assert_array_equal(one.predict(X), two.predict(X))


def test_row_order_changes_no_bit_where_rows_differ_in_costs_alone(table):
    X, y = np.repeat(table[0], 2, axis=0), np.repeat(table[1], 2)
    rng = np.random.default_rng(2)
    steps = np.abs(np.subtract.outer(y, np.arange(4))) * rng.random((300, 1))
    shuffled = rng.permutation(300)
    one = AdaBoostOR(n_estimators=20).fit(X, y, sample_cost=steps)
    two = AdaBoostOR(n_estimators=20).fit(X[shuffled], y[shuffled], sample_cost=steps[shuffled])
    assert [done.epsilon for done in one.rounds_] == [done.epsilon for done in two.rounds_]
    np.testing.assert_array_equal(one.predict_rank(X), two.predict_rank(X))


@pytest.mark.parametrize("ranker", RANKERS[:5], ids=lambda r: str(r).replace("\n", ""))
def test_thread_count_changes_no_bit(ranker, table, monkeypatch):
    monkeypatch.setattr("podium._compiled.CELLS_WORTH_THREADS", 0)
    monkeypatch.setattr("podium.ordinal.votes.ROWS_PER_TASK", 32)
    X, y = table
    one, two = (clone(ranker).set_params(n_jobs=n).fit(X, y).predict_rank(X) for n in (1, 3))
    np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("ranker", RANKERS[:5], ids=lambda r: str(r).replace("\n", ""))
def test_absent_entries_of_sparse_data_are_missing_like_nan(ranker, table):
    X, y = table
    X = X + 1
    stored = sp.csr_array(np.nan_to_num(X))
    expected = clone(ranker).fit(X, y).predict_rank(X)
    np.testing.assert_array_equal(clone(ranker).fit(stored, y).predict_rank(stored), expected)


@each_ranker
def test_saving_and_loading_change_nothing(ranker, table, tmp_path):
    X, y = table
    labels = np.array(["bad", "fair", "good", "great"])[y]
    fitted = clone(ranker).fit(X, labels)
    fitted.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert str(loaded) == str(fitted)
    assert loaded.costs_convex_ == fitted.costs_convex_
    np.testing.assert_array_equal(loaded.predict(X), fitted.predict(X))
    np.testing.assert_array_equal(loaded.predict_rank(X), fitted.predict_rank(X))
    for name in ("bounds_", "train_costs_", "best_iteration_"):
        np.testing.assert_array_equal(getattr(loaded, name, None), getattr(fitted, name, None))


@pytest.mark.plain
def test_files_that_are_no_ordinal_models_are_refused(table, tmp_path):
    X, y = table
    path = tmp_path / "model"
    AdaBoostOR(n_estimators=3).fit(X, y).save(path)
    content = read_model(path)
    stumps = content["learned"]["stumps"]
    narrow, fewer = ORStump().fit(X[:, :2], y).content(), ORStump().fit(X, np.minimum(y, 2)).content()
    wrong = {
        "classes must be at least two different labels": ("classes", np.array([1])),
        "classes must be": ("classes", {"kind": "objects", "values": [1, [2]]}),
        "costs_convex must be true or false": ("costs_convex", 1),
        "epsilon must be a list of numbers from 0 to 0.5": ("epsilon", np.array([0.1, 0.2, 0.9])),
        "weight must have 3 entries; got 1": ("weight", np.array([1.0])),
        "best_iteration must be an integer, from 0 to 3": ("best_iteration", 4),
        "thresholds must have 9 entries; got 1": ("stumps", {**stumps, "thresholds": np.ones(1)}),
        "missing must have 3 entries; got 1": ("stumps", {**stumps, "missing": np.ones(1, int)}),
        "feature must be a list of integers from 0 to 3": ("stumps", {**stumps, "feature": np.array([0, 1, 4])}),
        "direction must be a list of 1 or -1": ("stumps", {**stumps, "direction": np.array([0, 1, 1])}),
        "missing must be a list of integers from 0 to 3": ("stumps", {**stumps, "missing": np.full(3, 4)}),
        "numbers that ascend": ("stumps", {**stumps, "thresholds": np.array([2.0, 1, 3] * 3)}),
        "thresholds must be a list of numbers": ("stumps", {**stumps, "thresholds": [[1, 2, 3]] * 3}),
        "the ranker 'Oracle' is not known": ("rankers", [{"ranker": "Oracle"}]),
        "best_iteration must be an integer, from 0 to 0; got 3": ("rankers", []),
        "the ranker of a round must have 4 features; it has 2": ("rankers", [narrow]),
        "must have the classes of the vote": ("rankers", [fewer]),
        "the ranker of a round must have the classes": ("rankers", [VectorSimilarity().fit(X, y).content()]),
    }
    for message, (name, value) in wrong.items():
        broken = copy.deepcopy(content)
        broken["learned"][name] = value
        if name == "rankers":
            del broken["learned"]["stumps"]
            broken["learned"] |= {one: np.full(len(value), 0.25) for one in ("epsilon", "weight", "train_costs")}
        write_model(path, broken)
        with pytest.raises(FormatError, match=message):
            load(path)


@pytest.mark.plain
def test_bases_that_heed_no_costs_are_refused(table):
    with pytest.raises(
        PodiumError, match=r"must take sample_cost in fit.*LogisticRegression does not: consider ORStump"
    ):
        AdaBoostOR(LogisticRegression()).fit(*table)


class Majority(ORStump):
    """A base that is always wrong."""

    def _learn_grades(self, data):
        super()._learn_grades(data)
        self._worst = int(np.argmax(data.costs.sum(axis=0)))

    def _grade(self, features):
        return np.full(features.shape[0], self._worst)


@pytest.mark.plain
def test_the_run_ends_before_a_base_that_is_worse_than_one_half(table):
    X, y = table
    with pytest.warns(UserWarning, match=r"learned.*: the next base ranker has epsilon .* more than one half"):
        model = AdaBoostOR(Majority()).fit(X, y)
    costs = [np.abs(y - grade).sum() for grade in model.classes_]
    assert set(model.predict(X)) == {model.classes_[np.argmin(costs)]}
    assert (model.rounds_, model.best_iteration_, len(model.train_costs_)) == ([], 0, 0)
    np.testing.assert_array_equal(model.predict_rank(X), 1 + np.argmin(costs))


@pytest.mark.plain
def test_a_base_ranker_without_error_outvotes_the_others_and_ends_the_run():
    X = np.arange(9.0)[:, None]
    y = np.repeat([0, 1, 2], 3)
    model = AdaBoostOR(n_estimators=50).fit(X, y)
    assert (len(model.rounds_), model.rounds_[0].epsilon, model.rounds_[0].weight) == (1, 0.0, 1.0)
    assert model.stop_reason_ == "the last base ranker makes no error"
    assert (model.bounds_.tolist(), model.train_costs_.tolist()) == ([0.0], [0.0])

    class Late(ORStump):
        """Errs in the first two rounds."""

        fits = 0

        def _learn_grades(self, data):
            super()._learn_grades(data)
            Late.fits += 1
            self._shift = Late.fits <= 2

        def _grade(self, features):
            grades = super()._grade(features)
            return np.where(grades == 0, 1, grades) if self._shift else grades

    model = AdaBoostOR(Late(), n_estimators=50).fit(X, y)
    weights = [done.weight for done in model.rounds_]
    assert len(weights) == 3
    assert weights[2] == 1 + weights[0] + weights[1]
    np.testing.assert_array_equal(model.predict(X), y)


@pytest.mark.plain
def test_a_constant_that_is_right_half_of_the_time_is_learned_once():
    X, y = np.zeros((4, 1)), [0, 0, 1, 1]
    model = AdaBoostOR(n_estimators=50).fit(X, y)
    assert (len(model.rounds_), model.rounds_[0].epsilon, model.rounds_[0].weight) == (1, 0.5, 0.0)
    np.testing.assert_array_equal(model.predict(X), ORStump().fit(X, y).predict(X))


@pytest.mark.plain
def test_half_of_the_votes_is_half_of_them_whatever_rounding_makes_of_errors():
    X, y = [[1.0], [4.0], [4.0], [0.0]], [0, 2, 3, 1]
    model = AdaBoostOR(n_estimators=4, cost="zero-one").fit(X, y)
    thirds, quarters = [done.weight for done in model.rounds_[::2]], [done.weight for done in model.rounds_[1::2]]
    np.testing.assert_allclose(thirds + quarters, 0.5 * np.log([2, 2, 3, 3]), rtol=1e-11)
    assert thirds[0] == thirds[1]
    assert quarters[0] == quarters[1]
    above = sum(done.weight * (done.ranker.predict(X) >= 3) for done in model.rounds_)
    np.testing.assert_array_equal(above[:3], 0.5 * sum(thirds + quarters))  # OR Eq. 6: at least half of the votes
    assert model.predict(X).tolist() == [3, 3, 3, 1]


def test_votes_of_stumps_are_those_of_one_stump_after_the_other(table):
    X, y = table
    model = AdaBoostOR(n_estimators=40).fit(X, y)
    slow = Votes(150, 4)
    for done in model.rounds_:
        slow.add(done.ranker.stump_.grades(X), done.weight)
    stumps, weights = [done.ranker.stump_ for done in model.rounds_], [done.weight for done in model.rounds_]
    fast = vote_of_stumps(stumps, np.array(weights), X, 4, 1)
    np.testing.assert_array_equal(fast.sums, slow.sums)
    assert fast.total == slow.total
    ranks = np.array([stump.grades(X) + 1 for stump in stumps])
    np.testing.assert_allclose(model.predict_rank(X), np.average(ranks, axis=0, weights=weights))
    *_, last = model.staged_predict(X)
    np.testing.assert_array_equal(last, model.predict(X))


@pytest.mark.plain
def test_importances_are_shares_of_the_fall_of_the_bound(table):
    X, y = table
    model = AdaBoostOR(n_estimators=30).fit(X, y)
    falls = -np.diff(np.log(model.bounds_), prepend=0.0)
    features = np.array([done.ranker.feature_ for done in model.rounds_])
    expected = [falls[features == j].sum() for j in range(4)] / falls.sum()
    np.testing.assert_allclose(model.feature_importances_, expected, rtol=1e-9)
    assert not AdaBoostOR(PRank(epochs=2), n_estimators=2).fit(X, y).feature_importances_.any()


def test_rank_is_by_the_mean_of_the_votes_within_queries(table):
    X, y = table
    model, qid = AdaBoostOR(n_estimators=10).fit(X, y), np.arange(150) % 7
    scores, places = model.predict_rank(X), model.rank(X, qid=qid)
    expected = [1 + np.sum(scores[qid == qid[i]] > scores[i]) for i in range(150)]
    np.testing.assert_array_equal(places, expected)


@pytest.mark.plain
def test_evaluation_sets_follow_the_rounds_and_stop_them(table):
    X, y = table
    train, valid = slice(0, 100), slice(100, 150)
    model = AdaBoostOR(n_estimators=200, early_stopping_rounds=15)
    model.fit(X[train], y[train], eval_set=[(X[train], y[train]), (X[valid], y[valid])])
    history = model.evals_result_["validation_1"]["cost"]
    assert len(history) == len(model.rounds_) == model.best_iteration_ + 15
    assert model.best_iteration_ == 1 + np.argmin(history)
    costs = [np.abs(predicted - y[valid]).mean() for predicted in model.staged_predict(X[valid])]
    np.testing.assert_allclose(history, costs)
    assert -model.score(X[valid], y[valid]) == pytest.approx(min(history))
    assert model.stop_reason_ == f"cost of validation_1 was lowest after round {model.best_iteration_}"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"eval_set": ([[1.0] * 4], [1])}, "must be a list of \\(X, y\\)"),
        ({"eval_set": [([[1.0] * 3], [1])]}, "eval_set\\[0\\] must have the columns of X: 4 expected, 3 given"),
        ({"eval_set": [([[1.0] * 4], [9])]}, "grades of the fit \\(0, 1, 2, 3\\); row 0 has 9"),
        ({"eval_set": [([[1.0] * 4], [1])], "eval_cost": []}, "one entry per eval_set: 1 expected, 0 given"),
    ],
)
def test_bad_evaluation_sets_are_refused_and_leave_the_fitted_ranker_as_it_was(given, message, table):
    X, y = table
    fitted = AdaBoostOR(n_estimators=5).fit(X, y)
    before = fitted.predict_rank(X)
    with pytest.raises(PodiumError, match=message):
        fitted.fit(X[:, ::-1], y, **given)
    np.testing.assert_array_equal(fitted.predict_rank(X), before)


def test_evaluation_sets_must_have_the_names_of_the_columns(table):
    pandas = peer("pandas")
    X, y = pandas.DataFrame(table[0], columns=list("abcd")), table[1]
    with pytest.raises(
        PodiumError, match=r"eval_set\[0\] must have the columns of X, in their order. .*'d' is missing"
    ):
        AdaBoostOR(n_estimators=2).fit(X, y, eval_set=[(X.rename(columns={"d": "e"}), y)])


@pytest.mark.plain
def test_early_stopping_needs_an_evaluation_set(table):
    with pytest.raises(PodiumError, match="early_stopping_rounds needs an eval_set to measure"):
        AdaBoostOR(early_stopping_rounds=5).fit(*table)
    with pytest.raises(PodiumError, match="early_stopping_rounds needs an eval_set to measure"):
        AdaBoostOR(AdaBoostOR(early_stopping_rounds=5)).fit(*table)


def test_grid_search_and_routing_of_weights_work(table):
    X, y = table
    search = GridSearchCV(AdaBoostOR(n_estimators=10), {"cost": ["absolute", "squared"]}, cv=3, error_score="raise")
    assert search.fit(X, y).best_score_ < 0
    with config_context(enable_metadata_routing=True):
        ranker = AdaBoostOR(n_estimators=10).set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        scores = cross_validate(ranker, X, y, cv=3, params={"sample_weight": np.ones(150)}, error_score="raise")
    assert np.all(scores["test_score"] < 0)


@pytest.mark.plain
def test_random_bases_are_seeded_anew_each_round(table):
    X, y = table
    base = AdaBoostOR(PRank(epochs=2), n_estimators=3)
    one, two, other = (clone(base).set_params(random_state=seed).fit(X, y) for seed in (0, 0, 1))
    seeds = {done.ranker.random_state for model in (one, other) for done in model.rounds_}
    assert len(seeds) == len(one.rounds_) + len(other.rounds_) > 2
    assert max(seeds) < 2**31  # any library takes them
    np.testing.assert_array_equal(one.predict_rank(X), two.predict_rank(X))
    assert [done.epsilon for done in one.rounds_] != [done.epsilon for done in other.rounds_]
