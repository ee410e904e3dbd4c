"""Checkpoints belong to one fit: its data, whatever their order, and its parameters; and they never get shorter."""

from datetime import date

import numpy as np
import pytest
from sklearn.base import clone

from podium import AdaBoostOR, FormatError, ORBoost, PodiumError, RankBoost, load
from podium.boosting import Checkpoint, fingerprint
from podium.data.ranking_data import RankingData
from podium.model_file import read_model, write_model
from podium.pairs.pair_boosting import Round
from podium.stumps.round_columns import rounds_from_columns, rounds_to_columns
from podium.stumps.scaled_feature import ScaledFeature
from podium.stumps.stump import Stump

pytestmark = [
    pytest.mark.plain,
    pytest.mark.filterwarnings("ignore:overflow encountered in scalar"),  # hashes wrap around on purpose
]
PARAMETERS = {"learning_rate": 0.5, "criterion": "r"}


def arrays():
    """Return what a fit is given, all parts of it."""
    rng = np.random.default_rng(0)
    return {
        "X": rng.integers(0, 9, (12, 3)) * 1.0, "y": rng.integers(0, 3, 12), "qid": np.repeat([1, 2, 3], 4),
        "sample_weight": np.arange(1.0, 13.0), "query_weight": {1: 1.0, 2: 2.0, 3: 3.0},
        "pairs": ([0, 1, 5], [2, 3, 6], [1.0, 2.0, 3.0]),
    }  # fmt: skip


def mark(parameters=PARAMETERS, **changes):
    return fingerprint(parameters, RankingData.from_arrays(**(arrays() | changes)).columns())


def with_other(name, place):
    values = arrays()[name]
    values[place] = values[place] + 1
    return {name: values}


CHANGES = [
    *(with_other("X", place) for place in ((0, 0), (7, 1), (11, 2))),
    *(with_other("y", place) for place in (0, 5, 11)),
    *(with_other("sample_weight", place) for place in (0, 11)),
    with_other("query_weight", 2),
    {"qid": np.repeat([1, 2, 3], [3, 5, 4])},
    {"qid": np.repeat([1, 2], 6), "query_weight": None},
    {"query_weight": None},
    {"sample_weight": None},
    {"y": None, "sample_weight": None, "query_weight": None},
    {"pairs": None},
    {"pairs": ([0, 1, 5], [2, 3, 7], [1.0, 2.0, 3.0])},
    {"pairs": ([0, 1, 4], [2, 3, 6], [1.0, 2.0, 3.0])},
    {"pairs": ([0, 1, 5], [2, 3, 6], [1.0, 2.0, 4.0])},
]


@pytest.mark.parametrize("changes", CHANGES, ids=lambda changes: "-".join(changes))
def test_other_data_have_another_fingerprint(changes):
    assert mark(**changes) != mark()


TWO_ROWS = {"X": [[0.0], [1.0]], "y": [0.0, 1.0]}


@pytest.mark.parametrize(
    "part",
    [
        lambda k: {"y": [0.0, k]},
        lambda k: {"sample_weight": [1.0, k]},
        lambda k: {"pairs": ([1], [0], [k])},
        lambda k: {"X": [[0.0], [k]]},
    ],
    ids=["labels", "row weights", "pairs", "features"],
)
def test_data_of_two_rows_that_have_but_two_orders_have_other_fingerprints(part):
    data = [RankingData.from_arrays(**(TWO_ROWS | part(float(k)))) for k in range(1, 9)]
    assert len({fingerprint(PARAMETERS, one.columns()) for one in data}) == 8


def test_equal_rows_in_queries_of_other_sizes_have_another_fingerprint():
    given = {"X": np.zeros((4, 1)), "y": np.zeros(4)}
    data = [RankingData.from_arrays(**given, group=group) for group in ([2, 2], [1, 3], [4])]
    assert len({fingerprint(PARAMETERS, one.columns()) for one in data}) == 3


@pytest.mark.parametrize(
    "change",
    [{"sample_weight": np.full(4, 2.0)}, {"qid": [1, 1, 2, 2]}, {"y": np.ones(4)}, {"pairs": ([0], [1])}],
    ids=lambda change: "-".join(change),
)
def test_rows_that_are_alike_but_for_one_column_have_another_fingerprint(change):
    alike = {"X": np.zeros((4, 1)), "y": np.zeros(4), "qid": [1, 1, 1, 2], "sample_weight": np.ones(4), "pairs": None}
    assert mark(**{**alike, "query_weight": None, **change}) != mark(**alike, query_weight=None)


@pytest.mark.parametrize("parameters", [{}, {"learning_rate": 0.5}, PARAMETERS | {"criterion": "z"}], ids=str)
def test_other_parameters_have_another_fingerprint(parameters):
    assert mark(parameters) != mark()


def test_the_same_data_in_another_order_have_the_same_fingerprint():
    given, order = arrays(), np.random.default_rng(1).permutation(12)
    place = np.argsort(order)
    better, worse, weight = given["pairs"]
    moved = {name: given[name][order] for name in ("X", "y", "qid", "sample_weight")}
    assert mark(**moved, pairs=(place[better], place[worse], weight)) == mark()
    assert mark(dict(reversed(PARAMETERS.items()))) == mark()


def test_labels_that_are_objects_count_by_what_they_are():
    def digest(year):
        return fingerprint({}, [np.array([date(year, 5, 1), date(year, 6, 1)], dtype=object)])

    assert digest(2020) == digest(2020) != digest(2021)


@pytest.mark.parametrize("ranker", [AdaBoostOR(n_estimators=3), ORBoost(3)], ids=["AdaBoostOR", "ORBoost"])
def test_a_fit_to_dates_goes_on_from_its_checkpoint(ranker, tmp_path):
    X, labels = np.arange(12.0)[:, None] % 5, np.array(["2024-05-01", "2024-06-01"], "M8[D]")[np.arange(12) % 5 // 3]
    one = clone(ranker).set_params(checkpoint=tmp_path / "kept").fit(X, labels)
    two = clone(ranker).set_params(checkpoint=tmp_path / "kept").fit(X[::-1], labels[::-1])
    assert two.predict(X).tolist() == one.predict(X).tolist() == labels.tolist()


def rounds(count):
    return [Round(Stump(i % 3, float(i), 1), 0.5, 0.9, 0.1) for i in range(count)]


def checkpoint_at(path, fingerprint):
    def read(content, path):
        return rounds_from_columns(content["rounds"], path, 3)

    return Checkpoint(path, fingerprint, lambda rounds: {"rounds": rounds_to_columns(rounds)}, read)


def test_a_checkpoint_of_another_fit_is_refused(tmp_path):
    checkpoint_at(tmp_path / "file", "one").save(rounds(2))
    assert checkpoint_at(tmp_path / "file", "one").rounds == rounds(2)
    with pytest.raises(PodiumError, match="belongs to other data or other parameters"):
        checkpoint_at(tmp_path / "file", "two")


def test_a_checkpoint_is_written_when_it_gets_longer_alone(tmp_path, monkeypatch):
    written = []
    monkeypatch.setattr(
        "podium.boosting.checkpoint.write_model",
        lambda path, content: (written.append(len(content["rounds"]["alpha"])), write_model(path, content)),
    )
    checkpoint = checkpoint_at(tmp_path / "file", "one")
    for count in (0, 2, 2, 1, 3, 2):
        checkpoint.save(rounds(count))
    again = checkpoint_at(tmp_path / "file", "one")
    for count in (1, 3, 4):
        again.save(rounds(count))
    assert written == [2, 3, 4]
    assert len(read_model(tmp_path / "file")["rounds"]["alpha"]) == 4


@pytest.mark.parametrize(("low", "high", "fine"), [(0.0, 1.0, True), (1.0, 1.0, False), (1.0, 0.0, False)])
def test_a_scaled_feature_has_a_low_below_its_high(low, high, fine):
    columns = rounds_to_columns([Round(ScaledFeature(0, 0.0, 1.0, 0), 0.5, 0.9, 0.1)])
    columns |= {"low": np.array([low]), "high": np.array([high])}
    if fine:
        assert len(rounds_from_columns(columns, "file", 1)) == 1
    else:
        with pytest.raises(FormatError, match="a low that is not below its high"):
            rounds_from_columns(columns, "file", 1)


def test_a_fit_goes_on_from_its_own_checkpoint_and_refuses_that_of_another(tmp_path):
    given, path = arrays(), tmp_path / "file"
    del given["pairs"]
    half = RankBoost(2, checkpoint=path).fit(**given)
    whole = RankBoost(4, checkpoint=path).fit(**given)
    assert whole.rounds_[:2] == half.rounds_
    assert whole.rounds_ == RankBoost(4).fit(**given).rounds_
    for changes, parameters in (({"sample_weight": None}, {}), ({}, {"learning_rate": 0.5})):
        with pytest.raises(PodiumError, match="belongs to other data or other parameters"):
            RankBoost(4, checkpoint=path, **parameters).fit(**(given | changes))


def test_a_checkpoint_is_no_model_and_is_called_what_it_is(tmp_path):
    given = {name: value for name, value in arrays().items() if name in ("X", "y", "qid")}
    RankBoost(2, checkpoint=tmp_path / "kept").fit(**given)
    with pytest.raises(FormatError, match=r"it is a checkpoint, from which a fit with checkpoint=... goes on"):
        load(tmp_path / "kept")
