"""What rankers boosted with stumps make of their parameters, of earlier rounds, of evaluation sets and checkpoints."""

import numpy as np
import pytest

from podium import PodiumError, RankBoost, RankBoostPlus, load, make_search
from podium.boosting import Monitor, Stop, evaluation_sets
from podium.model_file import read_model
from podium.pairs.pair_boosting import Round
from podium.pairs.weak_ranking import WeakResult
from podium.plus.plus_search import EfficientLearner
from podium.stumps.round_columns import rounds_from_columns, rounds_to_columns
from podium.stumps.scaled_feature import ScaledFeature
from podium.stumps.stump import Stump, StumpLearner
from rankboost_data import story

pytestmark = pytest.mark.plain
LEARNERS = {RankBoost: StumpLearner, RankBoostPlus: EfficientLearner}
both = pytest.mark.parametrize("kind", LEARNERS)


def table(seed, n_queries=8):
    return make_search(n_queries=n_queries, docs_per_query=7, n_features=4, random_state=seed)


@pytest.fixture(scope="module")
def train():
    return table(0)


@pytest.fixture(scope="module")
def other():
    return table(1)


def fit(model, data, **given):
    return model.fit(data.X, data.y, qid=data.qid, **given)


def searches(kind, monkeypatch):
    """Return a list that gets an entry for each round that is searched for, not replayed."""
    search, searched = LEARNERS[kind].search, []
    monkeypatch.setattr(LEARNERS[kind], "search", lambda *given: searched.append(1) or search(*given))
    return searched


# Earlier rounds


@both
def test_only_rounds_that_init_model_lacks_are_searched(kind, train, monkeypatch):
    half, whole = fit(kind(5), train), fit(kind(9), train)
    searched = searches(kind, monkeypatch)
    gone_on = fit(kind(9), train, init_model=half)
    assert len(searched) == 4
    assert story(gone_on) == story(whole)


@both
def test_rounds_of_other_data_come_first_and_change_the_later_ones(kind, train, other):
    first = fit(kind(4), other)
    gone_on, alone = fit(kind(9), train, init_model=first), fit(kind(9), train)
    assert story(gone_on)[:4] == story(first)
    assert story(gone_on)[4:] != story(alone)[:5]
    np.testing.assert_array_equal(list(gone_on.staged_predict(train.X))[:4], list(first.staged_predict(train.X)))


@both
def test_going_on_takes_rows_in_any_order(kind, train):
    order = np.random.default_rng(0).permutation(len(train.y))
    shuffled = train._replace(X=train.X[order], y=train.y[order], qid=train.qid[order])
    half = fit(kind(5), train)
    assert story(fit(kind(9), shuffled, init_model=half)) == story(fit(kind(9), train))


@both
def test_earlier_rounds_are_repeated_up_to_where_early_stopping_ends_a_fit_at_once(kind, train, other):
    sets = {"eval_set": [(other.X, other.y)], "eval_qid": [other.qid]}
    at_once, longer = fit(kind(20, early_stopping_rounds=3), train, **sets), fit(kind(9), train)
    gone_on = fit(kind(20, early_stopping_rounds=3), train, init_model=longer, **sets)
    assert len(at_once.rounds_) < 9
    assert story(gone_on) == story(at_once)
    assert (gone_on.best_iteration_, gone_on.stop_reason_) == (at_once.best_iteration_, at_once.stop_reason_)
    assert gone_on.evals_result_ == at_once.evals_result_


def test_cumulative_weights_count_the_rounds_gone_on_from(train):
    half, whole = (fit(RankBoost(n, cumulative=True, criterion="z"), train) for n in (8, 18))
    assert min(done.alpha for done in whole.rounds_[8:]) < 0, "some stump is taken back"
    assert story(fit(RankBoost(18, cumulative=True, criterion="z"), train, init_model=half)) == story(whole)


@both
def test_only_rounds_that_the_checkpoint_lacks_are_searched(kind, train, tmp_path, monkeypatch):
    path = tmp_path / "fit.checkpoint"
    fit(kind(7, checkpoint=path), train)
    searched = searches(kind, monkeypatch)
    longer = fit(kind(12, checkpoint=path), train)
    assert len(searched) == 5
    assert len(read_model(path)["rounds"]["alpha"]) == 12
    shorter = fit(kind(3, checkpoint=path), train)
    assert len(searched) == 5
    assert story(shorter) == story(longer)[:3]


def test_a_checkpoint_is_kept_every_tenth_round(train, tmp_path, monkeypatch):
    path, lengths = tmp_path / "fit.checkpoint", []
    observe = Monitor.observe

    def note(self, done):
        observe(self, done)
        lengths.append(len(read_model(path)["rounds"]["alpha"]) if path.exists() else 0)

    monkeypatch.setattr(Monitor, "observe", note)
    fit(RankBoost(23, checkpoint=path), train)
    assert lengths == [0] * 9 + [10] * 10 + [20] * 4
    assert len(read_model(path)["rounds"]["alpha"]) == 23


CHANGES = {
    "labels": {"y": lambda data: np.where(np.arange(len(data.y)) == 3, data.y + 1, data.y)},
    "row weights": {"sample_weight": lambda data: np.where(np.arange(len(data.y)) == 3, 2.0, 1.0)},
    "query weights": {"query_weight": lambda data: np.where(data.qid == data.qid[0], 2.0, 1.0)},
    "features": {"X": lambda data: np.where(np.arange(len(data.y))[:, None] == 3, data.X + 0.5, data.X)},
    "queries": {"qid": lambda data: np.where(data.qid == data.qid[0], data.qid[-1], data.qid)},
    "pairs": {"pairs": lambda data: (np.array([0, 1]), np.array([8, 9]), np.array([1.0, 1.5]))},
    "worse rows": {"pairs": lambda data: (np.array([0, 1]), np.array([8, 10]), np.ones(2))},
    "init_model": {"init_model": lambda data: fit(RankBoost(1), table(2))},
    "another init_model": {"init_model": lambda data: fit(RankBoost(1), table(3))},
    "no init_model": {"init_model": lambda data: None},
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_checkpoint_of_other_data_or_another_start_is_refused(change, train, tmp_path):
    given = {"X": train.X, "y": train.y, "qid": train.qid}
    if change in ("pairs", "worse rows"):
        given["pairs"] = (np.array([0, 1]), np.array([8, 9]), np.ones(2))
    if "another" in change or "no " in change:
        given["init_model"] = fit(RankBoost(1), table(2))
    path = tmp_path / "fit.checkpoint"
    RankBoost(2, checkpoint=path).fit(**given)
    RankBoost(3, checkpoint=path).fit(**given)
    changed = {name: make(train) for name, make in CHANGES[change].items()}
    with pytest.raises(PodiumError, match="belongs to other data or other parameters"):
        RankBoost(3, checkpoint=path).fit(**{**given, **changed})


@pytest.mark.parametrize(
    "options",
    [
        {"criterion": "z"},
        {"alpha": "numeric"},
        {"learning_rate": 0.5},
        {"cumulative": True},
        {"abstain": 1},
        {"max_bins": 9},
        {"monotone_constraints": [0, 0, 0, 1]},
        {"pair_weight": "queries"},
        {"contradictions": "net"},
        {"thresholds": [0.5]},
    ],
)
def test_a_checkpoint_of_a_parameter_that_changes_rounds_is_refused(options, train, tmp_path):
    path = tmp_path / "fit.checkpoint"
    fit(RankBoost(2, checkpoint=path), train)
    with pytest.raises(PodiumError, match="belongs to other data or other parameters"):
        fit(RankBoost(3, checkpoint=path, **options), train)


def test_a_checkpoint_serves_fits_that_differ_in_what_changes_no_round(train, other, tmp_path):
    path = tmp_path / "fit.checkpoint"
    fit(RankBoost(3, checkpoint=path), train)
    sets = {"eval_set": [(other.X, other.y)], "eval_qid": [other.qid]}
    model = RankBoost(5, checkpoint=path, n_jobs=2, eval_metric="map", early_stopping_rounds=9)
    assert story(fit(model, train, **sets)) == story(fit(RankBoost(5), train))


def test_a_checkpoint_goes_with_stumps_only(train, tmp_path):
    with pytest.raises(PodiumError, match="checkpoint goes with stumps only"):
        fit(RankBoost(2, weak="feature", checkpoint=tmp_path / "fit.checkpoint"), train)


# Evaluation sets and early stopping


class Count:
    """A measure of the monitor's; lower is better."""

    def __init__(self, name, higher_is_better=False):
        self.name, self.higher_is_better = name, higher_is_better

    def __str__(self):
        return self.name


class Told:
    """An evaluation set whose values are given beforehand."""

    def __init__(self, name, **values):
        self.name, self.values, self.place = name, values, -1

    def add(self, done):
        self.place += 1
        return {name: values[self.place] for name, values in self.values.items()}


class Named:
    progress_text = "a round"


def test_the_first_measure_on_the_last_set_decides_on_the_best_round():
    first = Told("validation_0", loss=[9, 8, 7, 6, 5, 4], gain=[1, 2, 3, 4, 5, 6])
    last = Told("validation_1", loss=[5, 3, 4, 3, 9, 9], gain=[1, 2, 3, 4, 5, 6])
    monitor = Monitor(6, [first, last], [Count("loss"), Count("gain", higher_is_better=True)], patience=3)
    for _ in range(6):
        monitor.replay(Named())
        if monitor.stopped:
            break
    assert monitor.best_round == 2
    assert len(monitor.rounds) == 5
    assert monitor.reason == "loss of validation_1 was lowest after round 2"
    assert monitor.history["validation_0"] == {"loss": [9, 8, 7, 6, 5], "gain": [1, 2, 3, 4, 5]}


def test_the_highest_value_is_best_where_more_is_better():
    monitor = Monitor(
        5, [Told("validation_0", gain=[1, 4, 2, 3, 9])], [Count("gain", higher_is_better=True)], patience=2
    )
    while not monitor.stopped:
        monitor.replay(Named())
    assert (monitor.best_round, len(monitor.rounds)) == (2, 4)
    assert monitor.reason == "gain of validation_0 was highest after round 2"


@pytest.mark.parametrize("every", [1, 3])
def test_new_rounds_are_saved_at_their_turn_and_replayed_ones_never(every):
    saved = []
    monitor = Monitor(9, save=lambda rounds: saved.append(len(rounds)), save_every=every)
    monitor.replay(Named())
    monitor.replay(Named())
    for _ in range(7):
        monitor.observe(Named())
    assert saved == [n for n in range(3, 10) if n % every == 0]


def test_the_progress_bar_counts_the_rounds(monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")  # rich then takes everything for a terminal
    monitor = Monitor(7, verbose=1)
    for _ in range(4):
        monitor.observe(Named())
    assert [(task.completed, task.total) for task in monitor._progress.bar.tasks] == [(4, 7)]


def test_an_evaluation_set_sums_its_rounds_over_rows_in_any_order(train):
    from podium.data.ranking_data import RankingData
    from podium.measures import parse_measure

    order = np.random.default_rng(3).permutation(len(train.y))
    values = []
    for rows in (np.arange(len(train.y)), order):
        data = RankingData.from_arrays(train.X[rows], train.y[rows], qid=train.qid[rows])
        [one] = evaluation_sets([data], [parse_measure("ndcg@3"), parse_measure("pair_loss")], 1)
        rounds = [Round(ScaledFeature(f, 0.0, 1.0, 0), alpha, 1.0, 0.0) for f, alpha in ((0, 1.0), (1, -2.0), (2, 3.0))]
        values.append([one.add(done) for done in rounds])
        expected = train.X[rows].clip(0, 1)[:, :3] @ [1.0, -2.0, 3.0]
        np.testing.assert_allclose(one.staged.scores, expected, atol=1e-12)
    assert values[0] == values[1]


@both
def test_after_early_stopping_everything_uses_the_best_rounds(kind, train, other, tmp_path):
    noise = other._replace(y=np.random.default_rng(2).permutation(other.y))
    sets = {"eval_set": [(train.X, train.y), (noise.X, noise.y)], "eval_qid": [train.qid, noise.qid]}
    model = fit(kind(30, early_stopping_rounds=4, eval_metric=["ndcg@5", "pair_loss"]), train, **sets)
    history = model.evals_result_["validation_1"]["ndcg@5"]
    best = 1 + int(np.argmax(history))
    assert (model.best_iteration_, len(model.rounds_)) == (best, best + 4)
    np.testing.assert_allclose(model.predict(train.X), list(model.staged_predict(train.X))[best - 1], atol=1e-12)
    falls = np.zeros(4)
    for done in model.rounds_[:best]:
        falls[done.feature] -= np.log(done.Z)
    np.testing.assert_allclose(model.feature_importances_, falls / falls.sum(), rtol=1e-12)
    assert len(model._exported().trees) == best
    model.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert (loaded.best_iteration_, len(loaded.rounds_)) == (best, best + 4)
    np.testing.assert_array_equal(loaded.predict(noise.X), model.predict(noise.X))
    without = fit(kind(best + 4, eval_metric=["ndcg@5", "pair_loss"]), train, **sets)
    assert (without.best_iteration_, story(without)) == (best + 4, story(model))


# Parameters


def test_parameters_of_stumps_are_heard(train):
    data = train._replace(X=np.where(np.random.default_rng(0).random(train.X.shape) < 0.2, np.nan, train.X))
    few = fit(RankBoost(12, max_bins=3), data)
    for feature in range(4):
        assert len({done.threshold for done in few.rounds_ if done.feature == feature}) <= 3
    every = fit(RankBoost(12, max_bins=None), data)
    assert all(done.threshold in data.X[:, done.feature] or done.threshold == -np.inf for done in every.rounds_)
    for abstain in (0, 1):
        for kind in (RankBoost, RankBoostPlus):
            assert {done.abstain for done in fit(kind(6, abstain=abstain), data).rounds_} == {abstain}
        assert {done.abstain for done in fit(RankBoost(6, weak="feature", abstain=abstain), data).rounds_} == {abstain}


@both
@pytest.mark.parametrize("abstain", [0, 1])
def test_a_fixed_default_is_that_of_features_without_missing_values_too(kind, abstain, train):
    assert not np.isnan(train.X).any()
    assert {done.abstain for done in fit(kind(3, abstain=abstain), train).rounds_} == {abstain}


def test_no_round_of_a_checkpoint_is_written_twice(train, tmp_path, monkeypatch):
    lengths = []
    monkeypatch.setattr(
        "podium.boosting.checkpoint.write_model", lambda path, content: lengths.append(len(content["rounds"]["Z"]))
    )
    fit(RankBoost(20, checkpoint=tmp_path / "fit.checkpoint"), train)
    assert lengths == [10, 20]


@both
def test_weights_of_rows_move_the_quantiles_of_thresholds(kind):
    # Rows from 32 on weigh next to nothing, so that the third quartile of the others is a threshold.
    X = np.arange(64.0)[:, None]
    y, weight = (X[:, 0] > 23).astype(float), np.where(X[:, 0] > 31, 1e-6, 1.0)
    weighed, alike = (kind(1, max_bins=4).fit(X, y, sample_weight=w).rounds_[0] for w in (weight, np.ones(64)))
    assert 22 <= weighed.threshold <= 24
    assert not 20 <= alike.threshold <= 26


@pytest.mark.parametrize(
    ("options", "rule"),
    [({}, "r"), ({"criterion": "z"}, "z"), ({"criterion": "z", "alpha": "r"}, "r"), ({"weak": "feature"}, "r")],
)
def test_the_rule_of_the_criterion_is_the_default(options, rule, train):
    default, named = fit(RankBoost(4, **options), train), fit(RankBoost(4, **{**options, "alpha": rule}), train)
    assert story_of(default) == story_of(named)
    other = fit(RankBoost(4, **{**options, "alpha": "numeric"}), train)
    assert story_of(default) != story_of(other)


def story_of(model):
    return [(done.ranking, done.alpha, done.Z) for done in model.rounds_]


class Signed:
    """A weak learner of the user's: the sign of each feature in turn, as values of a dtype of their own."""

    def __init__(self, dtype):
        self.dtype, self.features = dtype, None

    def __call__(self, data):
        self.rows, self.left = data.features[data.queries.rows], iter(range(data.features.shape[1]))
        return self

    def search(self, potentials, distribution):
        feature = next(self.left, None)
        if feature is None:
            return Stop("all features had their turn")
        values = Stump(feature, 0.5, 0).predict(self.rows).astype(self.dtype)
        return WeakResult(Stump(feature, 0.5, 0), values.tolist() if self.dtype is object else values, 0.5)


@pytest.mark.parametrize("dtype", [bool, np.uint8, np.int32, np.float32, float])
def test_own_weak_rankings_of_any_real_dtype_are_taken_and_their_reason_told(dtype, train):
    model, doubles = (fit(RankBoost(9, weak=Signed(one)), train) for one in (dtype, float))
    assert story_of(model) == story_of(doubles)
    assert model.stop_reason_ == "all features had their turn"
    assert len(model.rounds_) == 4


# Rounds as columns


def test_rounds_come_back_from_columns_and_bad_columns_are_refused():
    rounds = [Round(Stump(0, -np.inf, 0), 0.5, 0.9, 0.1), Round(Stump(2, 1.5, 1), -0.5, 0.8, -0.2)]
    assert rounds_from_columns(rounds_to_columns(rounds), "m", 3) == rounds
    scaled = [Round(ScaledFeature(1, -1.0, 2.0, 1), 0.25, 0.7, 0.3)]
    assert rounds_from_columns(rounds_to_columns(scaled), "m", 2) == scaled
    bad = {"feature": [0, 3], "abstain": [0, 2], "threshold": [0.0, np.nan], "alpha": [1.0, np.inf], "Z": [1.0, np.nan]}
    bad["r"] = [0.5, np.nan]
    for name, values in bad.items():
        columns = rounds_to_columns(rounds)
        kind = columns[name].dtype
        with pytest.raises(PodiumError):
            rounds_from_columns({**columns, name: np.array(values, kind)}, "m", 3)
        with pytest.raises(PodiumError, match=r"must have . entries; got"):
            rounds_from_columns({**columns, name: columns[name][:1]}, "m", 3)
    for low, high in ((1.0, 1.0), (2.0, 1.0), (-np.inf, 0.0), (0.0, np.inf)):
        columns = rounds_to_columns(scaled)
        with pytest.raises(PodiumError, match=r"low that is not below its high|must be a list of finite numbers"):
            rounds_from_columns({**columns, "low": np.array([low]), "high": np.array([high])}, "m", 2)
