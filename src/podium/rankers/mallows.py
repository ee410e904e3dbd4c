"""Mallows: a consensus of rankings, and how far rankings stray from it."""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted

from podium._compiled import ROW
from podium._magnitudes import check_integer
from podium._validation import Array, FormatError, PodiumError, Seed
from podium.model_file import NOT_NEGATIVE, Column, Scalar, Schema
from podium.permutations import (
    Consensus,
    Items,
    Rankings,
    best_dispersion,
    draw_orders,
    find_consensus,
    log_likelihood,
    order_cost,
    preferences,
    read_rankings,
)
from podium.rankers.permutation_model import PermutationModel

MAX_ITEMS_BY_DEFAULT = 12
"""Items of a group that `search="auto"` orders exactly."""
MAX_ITEMS_EXACT = 20
"""Items of a group that `search="exact"` takes: 16 bytes for each of 2²⁰ subsets."""


class Mallows(PermutationModel):
    """The model of Mallows (1957) with Kendall's distance.

    ``P(ranking) = φ^d / Z(φ)``, where d counts the pairs of items that the ranking orders other than the consensus.
    The consensus of maximum likelihood is the order that disagrees least with the rankings, whatever φ is (Kemeny's).
    The dispersion φ is then the one whose expected distance is the mean distance of the rankings: 0 where all are
    alike, 1 where all orders are equally likely.

    A ranking may name the best items alone: those that it does not name stand below, in an order that is not known. Its
    probability is the sum over all such orders, and has a closed form. Ties, and rankings of a choice of the items,
    have none, and are refused.

    Parameters
    ----------
    search : {"auto", "exact", "local"}
        How the consensus is found. Groups of items that majorities put above each other are ordered one by one.
        "auto" orders groups of up to 12 items exactly, by dynamic programming over their subsets, and larger ones by
        moving single items from Borda's order until no move helps; "exact" takes groups of up to 20 and refuses larger
        ones; "local" moves items in all groups.

    Attributes
    ----------
    ranking_ : ndarray
        The consensus, best first; of equally good ones the first by its ids in each group that is ordered exactly.
    dispersion_ : float
        φ, from 0 to 1.
    distance_ : float
        Mean distance of the rankings from the consensus.
    distance_bound_ : float
        No order has a smaller mean distance.
    exact_ : bool
        Whether the consensus is known to be best: its distance is the bound.
    log_likelihood_ : float

    Examples
    --------
    >>> model = Mallows().fit([["a", "b", "c"], ["a", "c", "b"], ["a", "b", "c"]])
    >>> model.rank(), round(model.distance_, 6), model.exact_
    (['a', 'b', 'c'], 0.333333, True)
    """

    _parameter_constraints: ClassVar[dict[str, list[object]]] = {"search": [StrOptions({"auto", "exact", "local"})]}
    _kept: ClassVar[Schema] = Schema(
        Items(),
        Column("order_", ROW, (0, "last_item"), "n_items"),
        Scalar("dispersion_", float, (0.0, 1.0)),
        Scalar("distance_", float, NOT_NEGATIVE),
        Scalar("distance_bound_", float, NOT_NEGATIVE),
        Scalar("exact_", bool),
        Scalar("log_likelihood_", float),
    )

    def __init__(self, search: str = "auto") -> None:
        self.search = search

    def fit(
        self,
        rankings: Iterable[Iterable[object]],
        y: None = None,
        *,
        weights: ArrayLike | None = None,
        items: object = None,
    ) -> Self:
        """Learn consensus and dispersion.

        Parameters
        ----------
        rankings : list of lists
            Item ids, integers or strings, best first; items that a ranking does not name stand below those it does.
        y : None
            Not used: scikit-learn's place for labels.
        weights : array-like, optional
            Weight of each ranking; 2 means the ranking twice.
        items : list, optional
            All items, where the rankings might not name each of them.

        Returns
        -------
        self
        """
        self._check_parameters()
        data = _whole_rankings(read_rankings(rankings, None, weights, items))
        self._keep(data, self._find(preferences(data)))
        return self

    def _find(self, above: Array) -> Consensus:
        """Return the consensus as `search` has it."""
        largest = {"auto": MAX_ITEMS_BY_DEFAULT, "exact": MAX_ITEMS_EXACT, "local": 1}[self.search]
        found = find_consensus(above, largest)
        if self.search == "exact" and found.cost > found.bound:
            raise PodiumError(
                f"search='exact' must have groups of at most {MAX_ITEMS_EXACT} items that majorities do not part; "
                "there is a larger one: search='auto' says how far from the best its order can be."
            )
        return found

    def _keep(self, data: Rankings, found: Consensus) -> None:
        """Set what the fit gives."""
        total, choices = data.weight.sum(), _choices(data)
        self.items_, self.order_ = data.items, found.order
        self.dispersion_ = best_dispersion(found.cost, choices)
        self.distance_, self.distance_bound_ = float(found.cost / total), float(found.bound / total)
        self.exact_ = bool(found.cost <= found.bound)
        self.log_likelihood_ = log_likelihood(found.cost, choices, self.dispersion_)
        self._take_up()

    def distance(self, ranking: Iterable[object]) -> int:
        """Return the pairs of items that a ranking orders other than the consensus."""
        check_is_fitted(self)
        data = _whole_rankings(read_rankings([ranking], None, None, self.items_))
        return round(order_cost(preferences(data), self.order_))

    def sample(self, size: int = 1, random_state: Seed = None) -> Array:
        """Return random rankings of all items, one in each row, best first, by repeated insertion."""
        check_is_fitted(self)
        random = check_random_state(random_state)
        places = draw_orders(self.dispersion_, len(self.items_), check_integer(size, "size", 1), random)
        drawn: Array = self.ranking_[places]
        return drawn

    def _log_probability(self, ranking: Rankings) -> float:
        data = _whole_rankings(ranking)
        distance = order_cost(preferences(data), self.order_)
        return log_likelihood(distance, _choices(data), self.dispersion_)

    def _check_learned(self, path: str | PathLike[str]) -> None:
        if len(np.unique(self.order_)) < len(self.items_):
            raise FormatError(path, "order_ must name every item once")

    def _take_up(self) -> None:
        self.ranking_ = self.items_[self.order_]


def _whole_rankings(rankings: Rankings) -> Rankings:
    """Return rankings with the items that they do not name below; refuse ties."""
    if np.any(rankings.block_sizes > 1):
        raise PodiumError("Mallows must have rankings without ties; PlackettLuce takes them.")
    return rankings.with_rest_below()


def _choices(data: Rankings) -> Array:
    """Return the weight of the choices from m = 1 … n items."""
    first, end = data.blocks[:-1], data.blocks[data.starts[1:]][data.ranking_of_block]
    weight = np.where(data.unordered, 0.0, data.weight[data.ranking_of_block])
    return np.bincount(end - first - 1, weights=weight, minlength=len(data.items))
