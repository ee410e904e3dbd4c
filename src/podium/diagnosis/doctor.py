"""The doctor: looks at data before anything is learned, and says what is wrong and what to do."""

from __future__ import annotations

from collections.abc import Sequence

from numpy.typing import ArrayLike

from podium._compiled import thread_count
from podium._types import MatrixLike, PairsLike
from podium.diagnosis.checked_rows import CheckedRows
from podium.diagnosis.diagnosis_result import Diagnosis
from podium.diagnosis.estimates import check_memory, estimates_of
from podium.diagnosis.feature_checks import check_features
from podium.diagnosis.finding import SEVERITIES
from podium.diagnosis.leak_check import check_leaks
from podium.diagnosis.overview import overview_of
from podium.diagnosis.pair_checks import check_pairs
from podium.diagnosis.query_checks import check_queries
from podium.diagnosis.split_checks import check_held_out


def doctor(
    X: MatrixLike,
    y: ArrayLike | None = None,
    *,
    qid: ArrayLike | None = None,
    group: ArrayLike | None = None,
    pairs: PairsLike | None = None,
    items: ArrayLike | None = None,
    test: Sequence[object] | None = None,
    n_jobs: int | None = None,
) -> Diagnosis:
    """Look at data before anything is learned from it, and say what is wrong and what to do.

    Parameters
    ----------
    X, y, qid, group, pairs, items
        As for a ranker's `fit`.
    test : tuple, optional
        (X, y, qid) of test data, or a `RankingTable`; y may be None. What it shares with the training data is found.
    n_jobs : int, optional
        Threads, as scikit-learn counts them; the answer does not depend on it.

    Returns
    -------
    Diagnosis

    Examples
    --------
    >>> import numpy as np
    >>> from podium import doctor, make_search
    >>> table = make_search(n_queries=20, random_state=0)
    >>> X = np.c_[table.X, np.ones(len(table.y)), table.y]
    >>> diagnosis = doctor(X, table.y, qid=table.qid)
    >>> diagnosis["constant-features"].features, diagnosis["leaking-features"].features
    (('31',), ('32',))
    """
    n_threads = thread_count(n_jobs)
    rows = CheckedRows.of(X, y, qid, group, pairs, items)
    held_out = None if test is None else CheckedRows.of_test(test, rows.categories)
    estimates = estimates_of(rows)
    findings = [*check_queries(rows), *check_features(rows), *check_leaks(rows, n_threads), *check_pairs(rows)]
    findings += check_memory(estimates)
    if held_out is not None:
        findings += check_held_out(rows, held_out)
    findings.sort(key=lambda finding: SEVERITIES.index(finding.severity))
    return Diagnosis(overview_of(rows), tuple(findings), estimates)
