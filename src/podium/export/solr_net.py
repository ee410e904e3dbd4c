"""Nets as Solr's NeuralNetworkModel: layers of a matrix, a bias and an activation, in float32.

Solr reads the features as they are, so that their scale must be one that the first layer can take in: a mean and a
deviation. A missing value counts as 0.
"""

from __future__ import annotations

import json

import numpy as np

from podium._validation import Array, PodiumError
from podium.export.ensemble import NetScore


def folded_layers(record: NetScore) -> list[tuple[Array, Array]]:
    """Return W and b of each layer, the first one on features as they are, indicators of missing values left out."""
    (weight, bias), *others = record.net.layers
    scaling = record.inputs.scaling
    own = weight[: len(scaling.means)] / scaling.deviations[:, None]
    return [(own, bias - scaling.means @ own), *others]


def params(record: NetScore, missing: str) -> str:
    """Return the layers; refuse what Solr cannot read."""
    if record.inputs.scale != "standard":
        raise PodiumError(
            f"Solr's NeuralNetworkModel reads features as they are, but this {record.name} has "
            f'scale={record.inputs.scale!r}; fit it with scale="standard" to export it.'
        )
    if missing != "absent":
        raise PodiumError(
            f"Solr's NeuralNetworkModel reads a missing value as 0, but {record.name} takes it for the mean; if no "
            'value is ever missing, say missing="absent".'
        )
    layers = folded_layers(record)
    return json.dumps(
        {
            "layers": [
                {
                    "matrix": weight.T.astype(np.float32).astype(float).tolist(),
                    "bias": bias.astype(np.float32).astype(float).tolist(),
                    "activation": "relu" if number < len(layers) - 1 else "identity",
                }
                for number, (weight, bias) in enumerate(layers)
            ]
        }
    )


def score(record: NetScore, X: Array) -> Array:
    """Score rows as Solr does."""
    rows, layers = np.nan_to_num(X.astype(np.float32), nan=0.0), folded_layers(record)
    for number, (weight, bias) in enumerate(layers):
        rows = rows @ weight.astype(np.float32) + bias.astype(np.float32)
        rows = np.maximum(rows, np.float32(0.0)) if number < len(layers) - 1 else rows
    scores: Array = rows[:, 0]
    return scores
