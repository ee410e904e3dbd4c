"""Whether λ is the gradient of some cost (Burges 2010, "LM", section 4.3).

By Poincaré's lemma smooth functions λ_i of the scores are the partial derivatives of a cost if and only if
∂λ_i/∂s_j = ∂λ_j/∂s_i for all i and j (LM Eq. 10). Between the points where rows of a query change places that can be
seen by finite differences. Where rows a and b change places λ may jump; a cost that is continuous there has the same
derivatives along s_a = s_b on both sides, so the jump may only lie along e_a - e_b.

RankNet's λ is a gradient. The λ of LambdaRank has |ΔZ| of the current places: as long as no rows change places it is
the gradient of the RankNet cost times |ΔZ|, but |ΔZ| of each of a and b with all other rows jumps as they do.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from podium._compiled import SCORE
from podium._validation import Array, PodiumError, check_choice, check_labels, check_queries, check_scores
from podium.data import Graded, Queries, group_rows
from podium.losses import DELTAS, LambdaLoss
from podium.losses.lambdas import NORMALIZATIONS

LONGEST_STEP = 0.05
"""Step of finite differences where scores lie far apart: λ in single precision is then known to 0.0001 of its size."""

SWAP_DISTANCE = 1e-6
"""Distance of two rows before and after they change places."""


class HasDerivatives(Protocol):
    """A loss, of ours or of the caller."""

    def derivatives(self, scores: Array, number: int, /) -> tuple[Array, Array]:
        """Return λ and curvature of each row before round `number`."""


Lambdas: TypeAlias = str | Callable[[Array], ArrayLike] | HasDerivatives
"""What may be tested: the λ of a measure, a function of the scores, a loss."""


@dataclass(frozen=True, eq=False)
class LambdaSymmetry:
    """How far λ is from a gradient; all in the caller's row order.

    Attributes
    ----------
    lambdas : float64[n]
        λ at the scores.
    jacobian : float64[n, n]
        ``[i, j]``: ∂λ_i/∂s_j, by central differences.
    step : float
        Their step.
    asymmetry : float
        Largest |∂λ_i/∂s_j - ∂λ_j/∂s_i|.
    rows : tuple of int
        i and j there.
    jump : float
        Largest part of a jump of λ, where two neighbours of a query change places, that is not along e_a - e_b.
    jump_rows : tuple of int
        a and b there.
    tolerance : float
        Shares of the largest |∂λ_i/∂s_j| and of the largest |λ_i| that count as none.
    """

    lambdas: Array
    jacobian: Array
    step: float
    asymmetry: float
    rows: tuple[int, int]
    jump: float
    jump_rows: tuple[int, int]
    tolerance: float

    @property
    def is_symmetric(self) -> bool:
        """Whether λ is a gradient as long as no rows change places."""
        return bool(self.asymmetry <= self.tolerance * np.abs(self.jacobian).max(initial=0.0))

    @property
    def is_gradient(self) -> bool:
        """Whether λ is a gradient there and where each pair of neighbours changes places."""
        return self.is_symmetric and bool(self.jump <= self.tolerance * np.abs(self.lambdas).max(initial=0.0))


def lambda_symmetry(
    lambdas: Lambdas,
    scores: ArrayLike,
    y: ArrayLike | None = None,
    *,
    qid: ArrayLike | None = None,
    group: ArrayLike | None = None,
    step: float | None = None,
    tolerance: float = 0.01,
    **options: Any,
) -> LambdaSymmetry:
    """Test numerically whether λ is the gradient of a cost, at given scores.

    It takes 4 n computations of λ for n rows, and n² numbers. Rows of equal scores are where λ may jump: their
    derivatives are not defined, so scores should differ, for λ of single precision by 0.01 or more.

    Parameters
    ----------
    lambdas : str, callable or loss
        A measure that LambdaMART follows, "ndcg", "map", "mrr", "err" or "none" (RankNet), whose λ on the labels `y`
        is tested; or a function of the scores that returns λ of each row; or an object with
        ``derivatives(scores, number)`` that returns λ and a curvature.
    scores : array-like
        Score of each row.
    y : array-like, optional
        Labels, for the name of a measure alone.
    qid, group : array-like, optional
        Query of each row, or sizes of queries whose rows stand together: which rows may change places.
    step : float, optional
        Step of the finite differences; by default a quarter of the least distance of two scores of a query, so that no
        rows change places, and at most 0.05.
    tolerance : float
        Share of the largest derivative, and of the largest λ, that counts as no difference.
    **options
        Of the λ of a measure: truncation, sigma, normalize, gain, relevant, max_grade.

    Returns
    -------
    LambdaSymmetry

    Examples
    --------
    >>> from podium import lambda_symmetry
    >>> y, scores = [0, 2, 1, 0], [0.4, 0.1, -0.3, 1.0]
    >>> lambda_symmetry("none", scores, y).is_gradient
    True
    >>> test = lambda_symmetry("ndcg", scores, y, normalize="none")
    >>> test.is_symmetric, test.is_gradient
    (True, False)
    """
    given = check_scores(scores, np.size(scores), "scores")
    queries = group_rows(*check_queries(qid, group, len(given)))
    bound = _positive(tolerance, "tolerance")
    function = _function(lambdas, queries, y, options, len(given))
    neighbours = _neighbours(given, queries.rows, queries.offsets)
    distance = min((given[a] - given[b] for a, b in neighbours if given[a] > given[b]), default=np.inf)
    length = min(LONGEST_STEP, float(distance) / 4) if step is None else _positive(step, "step")
    jacobian = _jacobian(function, given, length)
    gaps = np.abs(jacobian - jacobian.T)
    i, j = np.unravel_index(np.argmax(gaps), gaps.shape)
    jump, jump_rows = _largest_jump(function, given, neighbours)
    return LambdaSymmetry(
        function(given), jacobian, length, float(gaps[i, j]), (int(i), int(j)), jump, jump_rows, bound
    )


def _function(
    lambdas: Lambdas, queries: Queries, y: ArrayLike | None, options: dict[str, Any], n_rows: int
) -> Callable[[Array], Array]:
    """Return λ as a checked function of the scores, in the caller's row order."""
    if isinstance(lambdas, str):
        return _of_measure(lambdas, queries, y, options, n_rows)
    if y is not None or options:
        raise PodiumError("y and options belong to the name of a measure; a function or a loss has its own.")
    call = getattr(lambdas, "derivatives", None)
    function = lambdas if call is None else lambda scores: call(scores, 0)[0]
    if not callable(function):
        raise PodiumError(
            f"lambdas must be one of {', '.join(DELTAS)}, a function of the scores or a loss with derivatives; "
            f"got {type(lambdas).__name__}."
        )
    return lambda scores: check_scores(np.array(function(scores.copy()), SCORE), n_rows, "lambdas")


def _of_measure(
    delta: str, queries: Queries, y: ArrayLike | None, options: dict[str, Any], n_rows: int
) -> Callable[[Array], Array]:
    """Return λ of LambdaMART on labels."""
    check_choice(delta, DELTAS, "lambdas")
    known = [
        name for name in inspect.signature(LambdaLoss).parameters if name not in ("feedback", "delta", "n_threads")
    ]
    for name in options:
        check_choice(name, known, "An option of the λ")
    check_choice(options.get("normalize", "none"), NORMALIZATIONS, "normalize")
    if y is None:
        raise PodiumError(f"y must be given: the λ of {delta!r} are those of labels.")
    labels = check_labels(y, n_rows)[queries.rows]
    feedback = Graded(labels, queries.offsets, np.ones(n_rows), np.ones(len(queries.offsets) - 1))
    loss = LambdaLoss(feedback, delta, **options)
    return lambda scores: queries.to_caller(loss.derivatives(np.ascontiguousarray(scores[queries.rows]))[0].copy())


def _neighbours(scores: Array, rows: Array, offsets: Array) -> list[tuple[int, int]]:
    """Return the rows that stand next to each other in a query, the upper one first."""
    pairs = []
    for start, stop in pairwise(offsets):
        own = rows[start:stop]
        order = own[np.argsort(-scores[own], kind="stable")].tolist()
        pairs += list(pairwise(order))
    return pairs


def _jacobian(function: Callable[[Array], Array], scores: Array, step: float) -> Array:
    """Return ∂λ_i/∂s_j by central differences."""
    columns = []
    for row in range(len(scores)):
        move = step * (np.arange(len(scores)) == row)
        columns.append((function(scores + move) - function(scores - move)) / (2 * step))
    return np.array(columns).T


def _largest_jump(
    function: Callable[[Array], Array], scores: Array, neighbours: list[tuple[int, int]]
) -> tuple[float, tuple[int, int]]:
    """Let each two neighbours meet and pass, and return the largest part of a jump of λ that is not along e_a - e_b."""
    largest, where = 0.0, (0, 0)
    for a, b in neighbours:
        middle, apart = (scores[a] + scores[b]) / 2, SWAP_DISTANCE * max(1.0, abs(scores[a]))
        before, after = scores.copy(), scores.copy()
        before[[a, b]], after[[a, b]] = [middle + apart, middle - apart], [middle - apart, middle + apart]
        jump = function(after) - function(before)
        along = (jump[a] - jump[b]) / 2
        jump[[a, b]] -= [along, -along]
        size = float(np.abs(jump).max())
        if size > largest:
            largest, where = size, (a, b)
    return largest, where


def _positive(value: float, name: str) -> float:
    """Return a number above 0."""
    [number] = check_labels(np.atleast_1d(value), 1, name)
    if number <= 0:
        raise PodiumError(f"{name} must be a number above 0; got {value!r}.")
    return float(number)
