"""Model files: samples of every protocol, what is kept, what cannot be saved, and files changed at random."""

import importlib.util
import json
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.utils._param_validation import HasMethods

from model_samples import scores_of
from peers import peer
from podium import MART, LambdaMART, PodiumError, RankBoost, VectorSimilarity, load
from podium._compiled import JIT_DISABLED
from podium.model_file import PROTOCOL, REAL, Column, Unfitted, read_model, write_model
from podium.rankers import RANKERS
from podium.stumps.round_columns import rounds_from_columns
from profiles import examples
from tables import small_table

pytestmark = [
    pytest.mark.plain,
    pytest.mark.filterwarnings("ignore:overflow encountered in scalar"),  # hashes wrap around on purpose
]
SAMPLES = Path(__file__).parent / "data" / "models"
EXPECTED = {folder: json.loads((folder / "expected.json").read_text()) for folder in sorted(SAMPLES.iterdir())}
SMALL = {"n_estimators": 3, "max_leaves": 4, "min_child_samples": 3}


@pytest.fixture(scope="module")
def table():
    return small_table()


@pytest.fixture(scope="module")
def trees(table):
    X, y, qid = table
    return LambdaMART(**SMALL).fit(X, y, qid=qid)


@pytest.fixture(scope="module")
def stumps(table):
    X, y, qid = table
    return RankBoost(3).fit(X, y, qid=qid)


# Samples


@pytest.mark.parametrize(
    ("folder", "name"),
    [(folder, name) for folder, expected in EXPECTED.items() for name in expected["scores"]],
    ids=lambda value: getattr(value, "name", value),
)
def test_samples_of_every_protocol_score_as_they_did(folder, name):
    rows = np.array(EXPECTED[folder]["rows"], float)
    model, expected = load(folder / f"{name}.podium"), EXPECTED[folder]
    np.testing.assert_allclose(scores_of(model, rows), expected["scores"][name], rtol=1e-12, atol=1e-12)
    if name in expected.get("grades", {}):
        assert model.predict(rows).tolist() == expected["grades"][name]


@pytest.mark.parametrize("folder", EXPECTED, ids=lambda folder: folder.name)
def test_checkpoints_of_every_protocol_are_read(folder):
    model, path = load(folder / "checkpoint.podium"), folder / "fit.checkpoint"
    rounds = rounds_from_columns(read_model(path)["rounds"], path, 4)
    assert [round_.ranking for round_ in rounds] == [round_.ranking for round_ in model.rounds_]


def test_there_are_samples_of_every_protocol_and_of_every_ranker_in_the_newest():
    assert [folder.name for folder in EXPECTED] == [f"protocol-{number}" for number in range(1, PROTOCOL + 1)]
    newest = {type(load(path)).__name__ for path in (SAMPLES / f"protocol-{PROTOCOL}").glob("*.podium")}
    assert newest == set(RANKERS)


# What is kept


def test_the_same_model_gives_the_same_bytes(trees, tmp_path):
    trees.save(tmp_path / "one")
    trees.save(tmp_path / "two")
    load(tmp_path / "one").save(tmp_path / "three")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes() == (tmp_path / "three").read_bytes()


def test_what_the_training_was_is_kept(table, tmp_path):
    X, y, qid = table
    model = LambdaMART(30, early_stopping_rounds=2, max_leaves=4, min_child_samples=3, eval_metric=["map", "ndcg@3"])
    model.fit(X, y, qid=qid, pairs=([0, 1], [2, 3]), eval_set=[(X, y[::-1])], eval_qid=[qid])
    assert model.training_summary_ == {
        "rows": 60, "queries": 5, "features": 4, "grades": len(np.unique(y)), "pairs": 2,
        "missing": int(np.isnan(X).sum()),
    }  # fmt: skip
    model.save(tmp_path / "model")
    loaded, training = load(tmp_path / "model"), read_model(tmp_path / "model")["training"]
    for name in ("training_summary_", "evals_result_", "stop_reason_", "best_iteration_", "seed_"):
        assert getattr(loaded, name) == getattr(model, name)
    assert training["best_round"] == model.best_iteration_ < len(model.rounds_)
    np.testing.assert_array_equal(loaded.feature_importances_, model.feature_importances_)


def test_parameters_come_back_as_they_were(table, tmp_path):
    X, y, qid = table
    gain = {0: 0.0, 1.0: 1.0, 2: 3.0, 3: 7.0, 4: np.inf}
    constraints = np.array([1, 0, 0, -1], np.int16)
    given = LambdaMART(
        np.int64(2), gain=gain, eval_metric=("map", "ndcg@3"), sigma=np.float32(0.1), monotone_constraints=constraints
    )
    given.fit(X, np.minimum(y, 3), qid=qid).save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert loaded.gain == gain
    assert [type(key) for key in loaded.gain] == [int, float, int, int, int]
    assert loaded.eval_metric == ("map", "ndcg@3")
    assert (loaded.n_estimators, loaded.sigma) == (2, np.float32(0.1))
    assert loaded.monotone_constraints.dtype == np.int16
    np.testing.assert_array_equal(loaded.monotone_constraints, constraints)


def test_paths_are_kept_as_texts(table, tmp_path):
    X, y, qid = table
    RankBoost(2, checkpoint=tmp_path / "c").fit(X, y, qid=qid).save(tmp_path / "model")
    assert load(tmp_path / "model").checkpoint == str(tmp_path / "c")


@pytest.mark.parametrize("state", [None, np.random.RandomState(4)])
def test_the_seed_that_was_drawn_is_kept(state, table, tmp_path):
    X, y, qid = table
    model = LambdaMART(**SMALL, subsample=0.5, random_state=state).fit(X, y, qid=qid)
    model.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert loaded.random_state == (None if state is None else model.seed_)
    again = LambdaMART(**SMALL, subsample=0.5, random_state=loaded.seed_).fit(X, y, qid=qid)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_a_model_on_another_models_scores_is_kept_whole(table, tmp_path):
    X, y, qid = table
    base = RankBoost(3).fit(X, y, qid=qid)
    model = LambdaMART(**SMALL).fit(X, y, qid=qid, init_model=MART(**SMALL).fit(X, y, qid=qid, init_model=base))
    model.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert loaded.base_model_.rounds_ == base.rounds_
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))


class Wrapped(VectorSimilarity):
    """A ranker with a ranker among its parameters."""

    _parameter_constraints = {"estimator": [HasMethods("fit")], "others": [list, None]}  # noqa: RUF012

    def __init__(self, estimator=None, others=None):
        self.estimator, self.others = estimator, others


def test_rankers_among_the_parameters_are_kept_unfitted(table, tmp_path, monkeypatch):
    X, y, qid = table
    monkeypatch.setitem(RANKERS, "Wrapped", Wrapped)
    inner = RankBoost(7, checkpoint=tmp_path / "never written").set_params(eval_metric=("map",))
    Wrapped(inner, [MART(2), 3]).fit(X, y, qid=qid).save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert type(loaded.estimator) is RankBoost
    assert (loaded.estimator.n_estimators, loaded.estimator.eval_metric) == (7, ("map",))
    assert not hasattr(loaded.estimator, "rounds_")
    assert str(loaded.others) == str([MART(2), 3])


def test_arrays_that_a_ranker_keeps_come_back_with_kind_and_shape(table, tmp_path, monkeypatch):
    X, y, qid = table
    table_, flags = Column("table_", np.float32, REAL, width=3), Column("flags_", np.bool_)
    monkeypatch.setattr(VectorSimilarity, "_kept", VectorSimilarity._kept.extended(table_, flags))
    model = VectorSimilarity().fit(X, y, qid=qid)
    model.table_, model.flags_ = np.arange(6, dtype=np.float32).reshape(3, 2).T, np.array([True, False])
    model.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    for name in ("table_", "flags_"):
        assert getattr(loaded, name).dtype == getattr(model, name).dtype
        np.testing.assert_array_equal(getattr(loaded, name), getattr(model, name))
        assert getattr(loaded, name).flags.writeable


def test_the_best_round_of_an_imported_model_is_kept(tmp_path):
    content = read_model(SAMPLES / f"protocol-{PROTOCOL}" / "imported_trees.podium")
    content["learned"]["best_iteration"] = content["training"]["best_round"] = 2
    write_model(tmp_path / "model", content)
    loaded = load(tmp_path / "model")
    assert (loaded.best_iteration_, len(loaded.trees_)) == (2, 4)
    loaded.save(tmp_path / "again")
    assert read_model(tmp_path / "again")["learned"]["best_iteration"] == 2


def test_names_are_kept_in_the_file(table, tmp_path):
    pandas = peer("pandas")
    X, y, qid = table
    frame = pandas.DataFrame(X, columns=["a", "b [€]", "c/d", "$e"])
    RankBoost(3).fit(frame, y, qid=qid).save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert loaded.feature_names_in_.tolist() == list(frame.columns)
    with pytest.raises(PodiumError, match="'a' is missing"):
        loaded.predict(frame.rename(columns={"a": "z"}))


plain = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
arrays = st.sampled_from(["?", "i1", "u8", "f4", "f8"]).flatmap(
    lambda kind: st.lists(st.integers(0, 100), max_size=6).map(lambda values: np.array(values, kind))
)
values = st.recursive(
    plain | arrays,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(
            st.text(max_size=5) | st.integers() | st.sampled_from(["$array", "a", "b/c"]), inner, max_size=3
        )
        | st.builds(Unfitted, st.text(max_size=5), st.dictionaries(st.text(max_size=5), inner, max_size=2))
    ),
    max_leaves=12,
)


@examples(150, plain=30)
@given(values)
def test_every_value_comes_back_from_a_file(tmp_path_factory, value):
    path = tmp_path_factory.mktemp("values") / "file"
    write_model(path, {"value": value})
    assert_same(read_model(path)["value"], value)


def assert_same(found, value):
    """Assert equal values of equal kinds; NaN equals NaN."""
    assert type(found) is type(value)
    if isinstance(value, dict):
        assert list(found) == list(value)
        found, value = list(found.values()), list(value.values())
    if isinstance(value, list | tuple):
        assert len(found) == len(value)
        for one, other in zip(found, value, strict=True):
            assert_same(one, other)
    elif isinstance(value, np.ndarray):
        assert found.dtype == value.dtype
        np.testing.assert_array_equal(found, value)
    else:
        assert found == value or (found != found and value != value)


# What cannot be saved


def test_code_cannot_be_saved_and_nothing_is_written(table, tmp_path):
    X, y, qid = table
    models = {
        "gain=<function": LambdaMART(**SMALL, gain=lambda y: y),
        "loss=<function": MART(**SMALL, loss=lambda s, f: (s - f.labels, np.ones_like(s))),
    }
    for message, model in models.items():
        model.fit(X, y, qid=qid)
        with pytest.raises(PodiumError, match=f"holds values and no code: {message}.*set_params"):
            model.save(tmp_path / "model")
    assert list(tmp_path.iterdir()) == []
    model.set_params(loss="squared").save(tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").predict(X), model.predict(X))


class Own(RankBoost):
    """A ranker of a user."""


def test_rankers_that_load_would_not_know_cannot_be_saved(table, tmp_path):
    X, y, qid = table
    with pytest.raises(PodiumError, match="holds rankers of Podium only; Own is not one of them"):
        Own(2).fit(X, y, qid=qid).save(tmp_path / "model")
    model = LambdaMART(**SMALL).fit(X, y, qid=qid, init_model=Own(2).fit(X, y, qid=qid))
    with pytest.raises(PodiumError, match="Own is not one of them"):
        model.save(tmp_path / "model")


@pytest.mark.parametrize("value", [{1, 2}, b"x", 1j, np.array(["a"]), np.array([1j]), np.zeros((1,) * 5), object])
def test_values_that_a_file_cannot_hold_are_refused(value, tmp_path):
    with pytest.raises(PodiumError, match="A model file"):
        write_model(tmp_path / "file", {"value": [value]})
    assert list(tmp_path.iterdir()) == []


def test_a_failed_save_leaves_the_old_file_whole(stumps, tmp_path, monkeypatch):
    path = tmp_path / "model"
    path.write_text("old")
    monkeypatch.setattr("os.fsync", lambda _: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(OSError, match="No space left on device"):
        stumps.save(path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_path_that_cannot_be_written_is_refused(stumps, tmp_path):
    with pytest.raises(PodiumError, match="is a folder; name a file"):
        stumps.save(tmp_path)
    with pytest.raises(PodiumError, match="does not exist"):
        stumps.save(tmp_path / "nowhere" / "model")


def test_a_model_too_large_for_the_format_is_refused(trees, tmp_path, monkeypatch):
    monkeypatch.setattr("podium.model_file.archive.MOST_MEMBERS", 5)
    with pytest.raises(PodiumError, match="at most 4 arrays; this model has 9"):
        trees.save(tmp_path / "model")
    monkeypatch.undo()
    monkeypatch.setattr("zipfile.ZIP64_LIMIT", 1000)
    with pytest.raises(PodiumError, match="at most 4 GB"):
        trees.save(tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(JIT_DISABLED, reason="hundreds of models are slow to score without compilation")
def test_changed_files_load_or_are_refused():
    spec = importlib.util.spec_from_file_location(
        "fuzz_models", Path(__file__).resolve().parents[1] / "benchmarks" / "fuzz_models.py"
    )
    fuzz = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(fuzz)
    counts, bad, _ = fuzz.run(400, seed=1)
    assert bad == []
    assert counts["refused"] > counts["loaded"] > 0
