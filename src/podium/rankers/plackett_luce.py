"""PlackettLuce: a strength for each item, from rankings, ties and comparisons."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from numbers import Integral, Real
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg.lapack import dtrtri
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from podium._compiled import ROW, SCORE
from podium._types import PairsLike
from podium._validation import Array, NoPairsError
from podium.model_file import POSITIVE, Column, Scalar, Schema
from podium.permutations import (
    Choices,
    Items,
    Rankings,
    TiedChoices,
    check_connected,
    check_ids,
    check_ties,
    maximise,
    numbers_of,
    read_rankings,
)
from podium.rankers.permutation_model import PermutationModel


class PlackettLuce(PermutationModel):
    """Strengths of items of maximum likelihood (Luce 1959, Plackett 1975; for two items Bradley and Terry 1952).

    A ranking is a row of choices, each of the best that is left: item i is chosen from a set A with probability
    ``exp(θ_i) / Σ_{j in A} exp(θ_j)``. Newton's method without a matrix maximises
    ``log-likelihood - alpha/2 Σ θ²``; a step costs a few passes over the rankings.

    Ties are those of Turner, van Etten, Firth and Kosmidis (2020): from A the items of S, d in number, are chosen as
    tied with probability proportional to ``δ_d exp(mean of θ over S)``, for those sizes d of ties that the rankings
    show; δ_1 = 1, and log δ_d is learned with the strengths, and shrunk by `alpha` like them.

    Parameters
    ----------
    alpha : float
        Weight of the squares of the strengths: they are normal with variance 1/alpha beforehand. With 0 the strengths
        are those of maximum likelihood, which are finite only where every item can be reached from every other by
        "stood above" (or tied); else `fit` says so.
    unranked : {"absent", "below"}
        What became of the items that a ranking does not name: they were not to be chosen, or they stand below all that
        it names, in an order that is not known.
    standard_errors : bool
        Whether to compute them: O(m³) for m items.
    tol : float
        Largest change of a strength in the last step.
    max_iter : int
        Most steps.

    Attributes
    ----------
    strengths_ : ndarray of shape (n_items,)
        θ of each of `items_`, with mean 0.
    standard_errors_ : ndarray of shape (n_items,)
        Of the strengths: roots of the diagonal of the inverse of the information matrix, in the space of mean 0.
    tie_sizes_, tie_strengths_ : ndarray
        The sizes d of ties that the rankings show, and their δ_d.
    log_likelihood_ : float
        Of the rankings, without the penalty.
    n_iter_ : int
        Steps that were taken.

    Examples
    --------
    >>> model = PlackettLuce().fit([["a", "b", "c"], ["b", "a", "c"], ["c", "a", "b"]])
    >>> model.rank()
    ['a', 'b', 'c']
    >>> games = PlackettLuce().fit(pairs=([1, 1, 2], [2, 2, 1]))
    >>> games.pair_probability([1], [2]).round(6).tolist()
    [0.666667]
    """

    _parameter_constraints: ClassVar[dict[str, list[object]]] = {
        "alpha": [Interval(Real, 0, None, closed="left")],
        "unranked": [StrOptions({"absent", "below"})],
        "standard_errors": ["boolean"],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    }
    _kept: ClassVar[Schema] = Schema(
        Items(),
        Column("strengths_", size="n_items"),
        Column("standard_errors_", bounds=(0.0, np.inf), size="n_items", optional=True),
        Column("tie_sizes_", ROW, (2, 2**31 - 1), "n_ties", ascending=True),
        Column("tie_strengths_", bounds=POSITIVE, size="n_ties"),
        Scalar("log_likelihood_", float),
        Scalar("n_iter_", int),
    )

    def __init__(
        self,
        alpha: float = 0.0,
        *,
        unranked: str = "absent",
        standard_errors: bool = True,
        tol: float = 1e-8,
        max_iter: int = 100,
    ) -> None:
        self.alpha = alpha
        self.unranked = unranked
        self.standard_errors = standard_errors
        self.tol = tol
        self.max_iter = max_iter

    def fit(
        self,
        rankings: Iterable[Iterable[object]] | None = None,
        y: None = None,
        *,
        pairs: PairsLike | None = None,
        weights: ArrayLike | None = None,
        items: object = None,
    ) -> Self:
        """Learn the strengths of items.

        Parameters
        ----------
        rankings : list of lists, optional
            Item ids, integers or strings, best first; a list, tuple or set inside a ranking holds items that tie.
        y : None
            Not used: scikit-learn's place for labels.
        pairs : tuple, optional
            (better, worse) or (better, worse, weight): ids of compared items, and how often. Added to the rankings.
        weights : array-like, optional
            Weight of each ranking; 2 means the ranking twice.
        items : list, optional
            All items, where the rankings might not name each of them.

        Returns
        -------
        self
        """
        self._check_parameters()
        data = self._read(read_rankings(rankings, pairs, weights, items))
        sizes = np.unique(data.block_sizes[~data.unordered & (data.block_sizes > 1)])
        if not np.any(data.block_sizes < np.diff(data.blocks[data.starts])[data.ranking_of_block]) and not len(sizes):
            raise NoPairsError("No ranking compares two items: there is nothing to learn from.")
        if self.alpha == 0:
            check_connected(data)
            check_ties(data, np.append(1, sizes))
        self._learn(data, sizes)
        return self

    def _learn(self, data: Rankings, sizes: Array) -> None:
        """Set what the fit gives."""
        choices = _choices(data, sizes)
        n_items = len(data.items)
        flat = _flat_direction(n_items, len(sizes))
        found = maximise(choices, np.zeros_like(flat), flat, self.alpha, self.tol, self.max_iter)
        if not found.converged:
            text = f"PlackettLuce stopped after {self.max_iter} steps; raise max_iter or alpha."
            warnings.warn(text, ConvergenceWarning, stacklevel=3)
        strengths = found.parameters[:n_items] - found.parameters[:n_items].mean()
        self.items_, self.strengths_ = data.items, strengths
        self.tie_sizes_, self.tie_strengths_ = sizes, np.exp(found.parameters[n_items:])
        self.log_likelihood_, self.n_iter_ = float(found.point.value), found.n_iter
        self.__dict__.pop("standard_errors_", None)
        if self.standard_errors:
            information = choices.at(found.parameters).information()
            self.standard_errors_ = _errors(information, flat, self.alpha)[:n_items]
        self._take_up()

    def pair_probability(self, better: ArrayLike, worse: ArrayLike) -> Array:
        """Return the probability of each of some items to stand above another, where just these two are compared."""
        check_is_fitted(self)
        high, low = (
            self.strengths_[numbers_of(check_ids(one, name), self.items_)]
            for one, name in ((better, "better"), (worse, "worse"))
        )
        tied = self.tie_strengths_[self.tie_sizes_ == 2].sum()
        chances: Array = 1.0 / (1.0 + np.exp(low - high) + tied * np.exp((low - high) / 2))
        return chances

    def _log_probability(self, ranking: Rankings) -> float:
        data = self._read(ranking)
        if not np.isin(data.block_sizes[~data.unordered], np.append(1, self.tie_sizes_)).all():
            return -np.inf
        parameters = np.concatenate([self.strengths_, np.log(self.tie_strengths_)])
        return float(_choices(data, self.tie_sizes_).at(parameters).value)

    def _read(self, rankings: Rankings) -> Rankings:
        """Return rankings as `unranked` has them read."""
        return rankings.with_rest_below() if self.unranked == "below" else rankings

    def _take_up(self) -> None:
        self.ranking_ = self.items_[np.argsort(-self.strengths_, kind="stable")]


def _choices(data: Rankings, sizes: Array) -> Choices | TiedChoices:
    """Return the likelihood of rankings, with ties of some sizes."""
    weight = np.where(data.unordered, 0.0, data.weight[data.ranking_of_block])
    if len(sizes):
        orders = np.append(1, sizes).astype(ROW)
        return TiedChoices(len(data.items), data.entries, data.blocks, data.starts, weight, orders)
    chosen = np.repeat(weight, data.block_sizes)
    ones = np.ones(len(data.entries), SCORE)
    return Choices(len(data.items), data.entries, data.blocks, data.starts, ones, chosen)


def _flat_direction(n_items: int, n_ties: int) -> Array:
    """Return the direction, of length 1, in which all strengths move together: no probability changes."""
    return np.concatenate([np.full(n_items, 1.0 / np.sqrt(n_items)), np.zeros(n_ties)])


def _errors(information: Array, flat: Array, alpha: float) -> Array:
    """Return standard errors of parameters; without a penalty in the space of mean 0, where they are told apart."""
    size = np.trace(information) / len(flat)
    root = np.linalg.cholesky(information + alpha * np.eye(len(flat)) + size * np.outer(flat, flat))
    inverse, _ = dtrtri(root, lower=1)
    along = 1.0 / alpha if alpha > 0 else 0.0
    variances = np.sum(inverse**2, axis=0) + (along - 1.0 / (alpha + size)) * flat**2
    errors: Array = np.sqrt(np.maximum(variances, 0.0))
    return errors
