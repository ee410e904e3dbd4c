"""Models of permutations: choices after Plackett and Luce, with ties too, and the law of Mallows around a consensus."""

from __future__ import annotations

from podium.permutations.choices import Choices
from podium.permutations.comparison_graph import check_connected, check_ties
from podium.permutations.consensus import Consensus, find_consensus, order_cost, preferences
from podium.permutations.items import ItemId, Items, check_ids, numbers_of
from podium.permutations.likelihood import maximise
from podium.permutations.linear_choices import LinearLikelihood, row_choices
from podium.permutations.mallows_law import best_dispersion, draw_orders, log_likelihood
from podium.permutations.rankings import Rankings, blocks_of_ids, read_rankings
from podium.permutations.tied_choices import TiedChoices

__all__ = [
    "Choices",
    "Consensus",
    "ItemId",
    "Items",
    "LinearLikelihood",
    "Rankings",
    "TiedChoices",
    "best_dispersion",
    "blocks_of_ids",
    "check_connected",
    "check_ids",
    "check_ties",
    "draw_orders",
    "find_consensus",
    "log_likelihood",
    "maximise",
    "numbers_of",
    "order_cost",
    "preferences",
    "read_rankings",
    "row_choices",
]
