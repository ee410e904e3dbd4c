"""How much memory and time a fit will take, from costs that were measured."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import NamedTuple

from podium._memory import machine_memory
from podium._sparse import is_sparse
from podium._types import Features, Json
from podium.diagnosis.checked_rows import CheckedRows
from podium.diagnosis.finding import Finding

BASIS = (
    "measured by benchmarks/doctor.py on one thread of an AMD EPYC at 2.6 GHz with dense data; kernels compile once, "
    "which takes up to 12 s more"
)
"""Where the costs come from, as people read it."""


class Cost(NamedTuple):
    """Costs of a fit, in nanoseconds and bytes.

    Parameters
    ----------
    once_per_cell : float
        Checking, hashing and binning of one value.
    per_cell, per_row, per_pair : float
        Of one round, for each value of X, each row, and each pair of rows with different labels.
    bytes_per_cell, bytes_per_row : float
        Memory beside X.
    """

    once_per_cell: float
    per_cell: float
    per_row: float
    per_pair: float
    bytes_per_cell: float
    bytes_per_row: float


ROUNDS = 100
COSTS = {
    "RankBoost": Cost(60.0, 0.35, 17.0, 0.0, 1.8, 220.0),
    "LambdaMART": Cost(60.0, 1.7, 45.0, 1.9, 2.2, 190.0),
}
"""Costs of rankers with their default parameters."""


@dataclass(frozen=True)
class Estimate:
    """What a fit of 100 rounds will take, by measured costs: about right for times, within a factor of two.

    Attributes
    ----------
    ranker : str
    seconds : float
        On one thread.
    n_bytes : int
        Memory at the peak, X included.
    """

    ranker: str
    seconds: float
    n_bytes: int

    def to_dict(self) -> dict[str, Json]:
        """Return the estimate as plain values, ready for JSON."""
        return asdict(self)


def estimates_of(rows: CheckedRows) -> tuple[Estimate, ...]:
    """Return what fits on some data will take."""
    features = rows.data.features
    n_cells = len(features.data) if is_sparse(features) else features.size
    n_pairs = int(rows.pairs_per_query.sum()) + (0 if rows.data.pairs is None else len(rows.data.pairs.better))
    held = n_cells * features.dtype.itemsize
    return tuple(_estimate(name, cost, n_cells, rows.n_rows, n_pairs, held) for name, cost in COSTS.items())


def fit_seconds(ranker: str, features: Features, n_pairs: int, n_rounds: int) -> float | None:
    """Return what a fit of a ranker will take on one thread, by measured costs; None where none were measured."""
    if ranker not in COSTS:
        return None
    n_cells = len(features.data) if is_sparse(features) else features.size
    return _seconds(COSTS[ranker], n_cells, features.shape[0], n_pairs, n_rounds)


def check_memory(estimates: tuple[Estimate, ...]) -> Iterator[Finding]:
    """Yield what will not fit into the machine."""
    too_large = [one for one in estimates if one.n_bytes > machine_memory()]
    if too_large:
        most = max(too_large, key=lambda one: one.n_bytes)
        sentence = (
            f"A fit of {most.ranker} will take about {most.n_bytes / 2**30:.1f} GiB, and this machine has "
            f"{machine_memory() / 2**30:.1f}; give X as float32, or fewer rows or features."
        )
        yield Finding("too-large", "error", sentence)


def _seconds(cost: Cost, n_cells: int, n_rows: int, n_pairs: int, n_rounds: int) -> float:
    """Return the time of one fit."""
    a_round = cost.per_cell * n_cells + cost.per_row * n_rows + cost.per_pair * n_pairs
    return (cost.once_per_cell * n_cells + n_rounds * a_round) / 1e9


def _estimate(name: str, cost: Cost, n_cells: int, n_rows: int, n_pairs: int, held: int) -> Estimate:
    """Return the costs of one ranker."""
    seconds = _seconds(cost, n_cells, n_rows, n_pairs, ROUNDS)
    return Estimate(name, seconds, int(held + cost.bytes_per_cell * n_cells + cost.bytes_per_row * n_rows))
