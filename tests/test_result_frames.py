"""Every result with columns: frames of pandas and polars hold them, and a missing library is named by one sentence."""

import sys

import numpy as np
import pytest

from doctor_data import clean
from peers import peer
from podium import (
    Comparison,
    Contest,
    CrossValidation,
    Diagnosis,
    Effects,
    Evaluation,
    Leaderboard,
    PermutationImportance,
    RankBoost,
    Tuning,
    compare,
    cross_validate,
    doctor,
    evaluate,
    leaderboard,
    permutation_importance,
)
from podium._result_frames import Framed
from podium.explain.effects import EffectCurve
from podium.tuning.tuning_result import TuningTrial

pytestmark = pytest.mark.plain

X, Y, QID = clean()
SCORES = {"first": X[:, 0], "second": X[:, 1], "third": X[:, 2]}
OPTIONS = {"qid": QID, "measures": ["ndcg@5", "map"], "n_resamples": 0}
CURVES = (
    EffectCurve(0, "price", "steps", np.array([0.5, 2.0]), np.array([-1.0, 0.0, 1.0]), 0.0, 0.8),
    EffectCurve(1, "city", "categories", np.array(["oslo", "rome"], object), np.array([-0.5, 0.5]), 0.1, 0.5),
)
TRIALS = (
    TuningTrial(1, {"weak": "stump", "depth": None}, 0.5, False, None, 0.1),
    TuningTrial(2, {"weak": 1, "depth": 2.5}, 0.6, True, None, 0.1),
)
RESULTS = {
    Evaluation: (lambda: evaluate(Y, X[:, 0], **OPTIONS), 30),
    Comparison: (lambda: compare(Y, X[:, 0], X[:, 1], **OPTIONS), 2),
    Leaderboard: (lambda: leaderboard(Y, SCORES, **OPTIONS), 6),
    Contest: (lambda: leaderboard(Y, SCORES, **OPTIONS).contest(), 3),
    CrossValidation: (lambda: cross_validate(RankBoost(2), X, Y, qid=QID, n_folds=3, measures="map"), 3),
    Tuning: (lambda: Tuning("RankBoost", "map", True, TRIALS, 2, {}), 2),
    Effects: (lambda: Effects(CURVES), 7),
    PermutationImportance: (
        lambda: permutation_importance(RankBoost(2).fit(X, Y, qid=QID), X, Y, qid=QID, n_repeats=1, n_resamples=0),
        5,
    ),
    Diagnosis: (lambda: doctor(np.c_[X, np.ones(len(Y)), Y], Y, qid=QID, pairs=([0, 2], [1, 0])), 3),
}
"""Each kind of result: how one is made, and how many rows its frame has."""


@pytest.fixture(params=RESULTS, ids=lambda kind: kind.__name__)
def made(request):
    """One result of each kind, and the rows of its frame."""
    make, n_rows = RESULTS[request.param]
    result = make()
    assert type(result) is request.param
    return result, n_rows


def test_all_kinds_of_framed_results_are_tried():
    assert set(Framed.__subclasses__()) == set(RESULTS)


def as_text(value):
    """A number, text or list as text, alike from both libraries; what is missing as an empty text."""
    plain = value.tolist() if hasattr(value, "tolist") else list(value) if isinstance(value, tuple) else value
    if isinstance(plain, list):
        return str(list(map(as_text, plain)))
    if plain is None or plain != plain:
        return ""
    return str(float(plain)) if isinstance(plain, int | float) else str(plain)


def test_frames_of_both_libraries_hold_the_columns(made):
    pandas, polars = peer("pandas"), peer("polars")
    result, n_rows = made
    columns = result.columns()
    frame, other = result.to_pandas(), result.to_polars()
    assert isinstance(frame, pandas.DataFrame)
    assert isinstance(other, polars.DataFrame)
    assert list(frame.columns) == other.columns == list(columns)
    for name, values in columns.items():
        expected = list(map(as_text, values))
        assert len(expected) == n_rows
        assert list(map(as_text, frame[name])) == expected
        texts = [as_text(value) for value in other[name].to_list()]
        if other[name].dtype == polars.String:  # what holds numbers and texts holds texts there
            texts = [as_text(float(one)) if one.replace(".", "").isdigit() else one for one in texts]
        assert texts == expected


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_missing_library_of_frames_is_named(made, library, monkeypatch):
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(ImportError) as caught:
        getattr(made[0], f"to_{library}")()
    assert type(caught.value) is ImportError
    assert str(caught.value) == f'This frame needs {library}: install it with pip install "podium[tables]".'
