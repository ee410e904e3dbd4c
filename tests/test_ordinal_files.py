"""Model files of ordinal rankers: what comes back, and what is refused."""

import copy

import numpy as np
import pytest

from peers import peer
from podium import (
    SVOR,
    AdaBoostOR,
    BaggingOR,
    ExtendedBinary,
    FormatError,
    ORBoost,
    OrdinalThresholds,
    ORStump,
    PodiumError,
    PRank,
    RankBoost,
    load,
)
from podium.model_file import read_model, write_model

pytestmark = pytest.mark.plain


def sample(n_rows=30):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 2))
    return X, np.digitize(X[:, 0] + 0.3 * X[:, 1] + rng.normal(0, 0.4, n_rows), [-0.5, 0.5])


def saved(ranker, path, X=None, y=None):
    given = sample() if X is None else (X, y)
    fitted = ranker.fit(*given)
    fitted.save(path)
    return fitted, read_model(path)


def refused(path, content, learned):
    """Return what is said of a file with other learned values."""
    broken = copy.deepcopy(content)
    broken["learned"].update(learned)
    write_model(path, broken)
    with pytest.raises(FormatError) as caught:
        load(path)
    return str(caught.value)


def test_rounds_that_no_fit_makes_are_refused(tmp_path):
    _, content = saved(AdaBoostOR(n_estimators=3), tmp_path / "model")
    for name, values, message in (
        ("epsilon", [-0.1, 0.2, 0.3], "epsilon must be a list of numbers from 0 to 0.5"),
        ("epsilon", [0.1, 0.2, 0.51], "epsilon must be a list of numbers from 0 to 0.5"),
        ("weight", [0.5, -0.5, 0.5], "weight must be a list of finite numbers of at least 0"),
    ):
        assert message in refused(tmp_path / "model", content, {name: np.array(values)})
    for best in (-1, 4):
        assert "from 0 to 3" in refused(tmp_path / "model", content, {"best_iteration": best})


def test_the_grade_of_a_vote_without_rounds_is_one_of_the_grades(tmp_path):
    _, content = saved(AdaBoostOR(n_estimators=3), tmp_path / "model")
    for grade in (-1, 3):
        assert "constant_grade must be an integer, from 0 to 2" in refused(
            tmp_path / "model", content, {"constant_grade": grade}
        )


def test_rankers_of_a_vote_with_other_labels_are_refused(tmp_path):
    X, y = sample()
    _, content = saved(BaggingOR(PRank(epochs=1), n_estimators=2), tmp_path / "model")
    other = PRank(epochs=1).fit(X, 10 + y).content()
    message = refused(tmp_path / "model", content, {"rankers": [other, other]})
    assert "must have the classes of the vote" in message


def test_columns_of_stumps_are_refused_at_their_first_value_out_of_bounds(tmp_path):
    _, content = saved(ORStump(), tmp_path / "model")
    bad = {"feature": (2, -1), "missing": (3, -1), "direction": (2, -2)}
    for name, value in ((name, value) for name, values in bad.items() for value in values):
        assert name in refused(tmp_path / "model", content, {name: np.array([value])})
    twice = {name: np.repeat(content["learned"][name], 2) for name in ("feature", "direction", "missing")}
    twice["thresholds"] = np.tile(content["learned"]["thresholds"], 2)
    assert "one stump is expected; got 2" in refused(tmp_path / "model", content, twice)


def test_a_falling_stump_on_the_last_feature_comes_back(tmp_path):
    X = np.array([[0.0, 3.0], [0.0, 2.0], [0.0, 1.0], [0.0, np.nan]])
    fitted, _ = saved(ORStump(), tmp_path / "model", X, [0, 1, 2, 2])
    assert (fitted.feature_, fitted.direction_, fitted.missing_) == (1, -1, 2)
    assert load(tmp_path / "model").predict(X).tolist() == [0, 1, 2, 2]


@pytest.mark.parametrize("ranker", [PRank(epochs=2), SVOR(0.1)], ids=lambda r: type(r).__name__)
def test_deviations_of_nothing_are_refused(ranker, tmp_path):
    _, content = saved(ranker, tmp_path / "model")
    for value in (0.0, -1.0):
        message = refused(tmp_path / "model", content, {"deviations_": np.array([1.0, value])})
        assert "deviations_ must be a list of positive finite numbers" in message


def test_labels_that_are_no_labels_are_refused(tmp_path):
    _, content = saved(ORStump(), tmp_path / "model")
    for labels in (
        np.array([1, 2, 2]),
        np.array([1.0, 2.0, np.nan]),
        np.array([1.0, 2.0, np.inf]),
        {"kind": "texts", "values": ["a", "b", "b"]},
        {"kind": "texts", "values": ["a", "b", 3]},
        {"kind": "texts", "values": ["a"]},
        {"kind": "texts", "values": ["a", "b", "c" * (2**22 // 3 + 1)]},
        {"kind": "colours", "values": ["a", "b", "c"]},
    ):
        message = refused(tmp_path / "model", content, {"classes": labels})
        assert "classes must be at least two different labels" in message


def test_thresholds_that_coincide_or_are_infinite_are_read(tmp_path):
    X, y = np.ones((6, 1)), [0, 1, 1, 1, 2, 3]
    fitted, _ = saved(PRank(epochs=1), tmp_path / "model", X, y)
    assert fitted.thresholds_.tolist() == [-np.inf, np.inf, np.inf]
    assert load(tmp_path / "model").predict(X).tolist() == [1] * 6


@pytest.mark.parametrize("ranker", [PRank(epochs=3), SVOR(0.1)], ids=lambda r: type(r).__name__)
def test_thresholds_of_a_file_are_all_there(ranker, tmp_path):
    fitted, _ = saved(ranker, tmp_path / "model")
    assert load(tmp_path / "model").thresholds_.tolist() == fitted.thresholds_.tolist()


@pytest.mark.parametrize("direction", [0, 2])
def test_cut_points_need_a_direction(direction, tmp_path):
    ranker = OrdinalThresholds(RankBoost(n_estimators=2), folds=None)
    _, content = saved(ranker, tmp_path / "model")
    assert "direction_" in refused(tmp_path / "model", content, {"direction_": direction})


def test_cut_points_of_falling_grades_come_back(tmp_path):
    X, y = sample()
    ranker = RankBoost(n_estimators=3).fit(X, y)
    fitted, _ = saved(OrdinalThresholds(ranker, folds="prefit"), tmp_path / "model", X, 2 - y)
    assert fitted.direction_ == -1
    np.testing.assert_array_equal(load(tmp_path / "model").predict(X), fitted.predict(X))


@pytest.mark.parametrize("encoding", ["one-hot", "number"])
def test_a_binary_ranker_comes_back_with_its_encoding(encoding, tmp_path):
    X, _ = sample()
    fitted, _ = saved(ExtendedBinary(AdaBoostOR(n_estimators=3), encoding=encoding), tmp_path / "model")
    loaded = load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.binary_values(X), fitted.binary_values(X))
    assert ExtendedBinary().encoding == "one-hot"


def test_a_base_of_a_users_own_is_in_no_file_though_it_is_a_stump(tmp_path):
    class Own(ORStump):
        """A stump that never says the highest grade."""

        def _grade(self, features):
            return np.minimum(super()._grade(features), 1)

    X, y = sample()
    model = AdaBoostOR(Own(), n_estimators=2).fit(X, y)
    assert set(model.predict(X)) == {0, 1}
    with pytest.raises(PodiumError, match="holds rankers of Podium only; Own is not one"):
        model.save(tmp_path / "model")


@pytest.mark.parametrize(
    "ranker", [AdaBoostOR(n_estimators=3), BaggingOR(n_estimators=3)], ids=lambda r: type(r).__name__
)
def test_stumps_of_a_file_know_what_they_knew(ranker, tmp_path):
    pandas = peer("pandas")
    X, y = sample()
    frame = pandas.DataFrame(X, columns=["age", "size"])
    ranker.fit(frame, np.array(["a", "b", "c"])[y]).save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    for one, other in zip(ranker._voters()[0], loaded._voters()[0], strict=True):
        assert other.feature_names_in_.tolist() == ["age", "size"]
        assert (other.n_features_in_, other.sparse_input_, other.costs_convex_) == (2, False, True)
        np.testing.assert_array_equal(other.predict(frame), one.predict(frame))


def test_rounds_after_the_best_are_kept_and_not_used(tmp_path):
    X, y = sample(60)
    for ranker in (AdaBoostOR(n_estimators=40, early_stopping_rounds=3), ORBoost(40, early_stopping_rounds=3)):
        fitted = ranker.fit(X[::2], y[::2], eval_set=[(X[1::2], np.roll(y[1::2], 1))])
        assert fitted.best_iteration_ < len(fitted.rounds_)
        fitted.save(tmp_path / "model")
        loaded = load(tmp_path / "model")
        assert (loaded.best_iteration_, len(loaded.rounds_)) == (fitted.best_iteration_, len(fitted.rounds_))
        np.testing.assert_array_equal(loaded.predict_rank(X), fitted.predict_rank(X))
        np.testing.assert_array_equal(loaded.predict(X), fitted.predict(X))
