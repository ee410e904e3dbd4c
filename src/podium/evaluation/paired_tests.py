"""Two rankings query by query: differences with intervals, tests of them, and Holm's correction for several tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from podium._validation import Array
from podium.evaluation.resampling import bootstrap_interval, randomisation_p_value
from podium.evaluation.results import PairedResult
from podium.measures import weighted_mean


class ByQuery(Protocol):
    """A measure's value and weight of each query."""

    @property
    def values(self) -> Array:
        """Values, NaN where there is none."""

    @property
    def weights(self) -> Array:
        """Weights in the mean."""


def paired_result(first: ByQuery, second: ByQuery, higher_is_better: bool, settings: dict[str, Any]) -> PairedResult:
    """Compare one measure of two rankings over the queries where both are defined.

    Parameters
    ----------
    first, second : ByQuery
        Values of the same queries in the same order.
    higher_is_better : bool
        Direction of the measure.
    settings : dict
        ``confidence``, ``n_resamples`` and ``random_state``.
    """
    how = {name: settings[name] for name in ("confidence", "n_resamples", "random_state")}
    both = ~(np.isnan(first.values) | np.isnan(second.values))
    one, two, weights = first.values[both], second.values[both], first.weights[both]
    differences = one - two
    low, high = bootstrap_interval(differences, weights, **how)
    better = differences if higher_is_better else -differences
    return PairedResult(
        first=weighted_mean(one, weights),
        second=weighted_mean(two, weights),
        difference=weighted_mean(differences, weights),
        low=low,
        high=high,
        p_value=randomisation_p_value(differences * weights, how["n_resamples"], how["random_state"]),
        wins=int((better > 0).sum()),
        losses=int((better < 0).sum()),
        draws=int((better == 0).sum()),
    )


def wilcoxon_p_value(first: Array, second: Array) -> float:
    """Return the two-sided p-value of Wilcoxon's signed-rank test; queries without a difference are left out."""
    from scipy.stats import wilcoxon  # here: scipy.stats takes long to import

    differences = (first - second)[first != second]
    return 1.0 if len(differences) == 0 else float(wilcoxon(differences).pvalue)


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values corrected by Holm (1979): no false claim among all of them with the chance of one test.

    The i-th lowest of m is multiplied by m - i + 1, at most 1, and never below one that was lower before. NaN stays.
    """
    given = np.asarray(p_values, float)
    order = np.argsort(given, kind="stable")[: int((~np.isnan(given)).sum())]
    factors = len(order) - np.arange(len(order))
    corrected = given.copy()
    corrected[order] = np.minimum(np.maximum.accumulate(given[order] * factors), 1.0)
    return [float(one) for one in corrected]
