"""Nets that rank: inputs, weights and scores of a net, gradients of pairs per document, and its epochs with torch.

torch is imported when a net is trained, and then alone: scores, files and exports need none.
"""

from __future__ import annotations

from podium.neural.net_columns import epochs_from_columns, epochs_to_columns, inputs_from_columns, inputs_to_columns
from podium.neural.net_inputs import NUMBER_SCALES, NetInputs
from podium.neural.net_training import NetTraining, StagedNet, Training
from podium.neural.network import Epoch, Net, NetShape
from podium.neural.pair_cost import GradedCost, ListedCost, PairCost, PairCostPart, TiedCost
from podium.neural.query_batches import QueryBatches
from podium.neural.update_rules import UPDATE_RULES

__all__ = [
    "NUMBER_SCALES",
    "UPDATE_RULES",
    "Epoch",
    "GradedCost",
    "ListedCost",
    "Net",
    "NetInputs",
    "NetShape",
    "NetTraining",
    "PairCost",
    "PairCostPart",
    "QueryBatches",
    "StagedNet",
    "TiedCost",
    "Training",
    "epochs_from_columns",
    "epochs_to_columns",
    "inputs_from_columns",
    "inputs_to_columns",
]
