"""Nets in files: their inputs, and their epochs as columns, for models and checkpoints."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from reprlib import repr as short

import numpy as np

from podium._compiled import ROW
from podium._validation import Array, FormatError
from podium.model_file import NOT_NEGATIVE, POSITIVE, Column, Content, Scalar, Schema, Value
from podium.neural.net_inputs import NUMBER_SCALES, Knots, NetInputs
from podium.neural.network import WEIGHT, Epoch, Net, NetShape
from podium.ordinal.scaling import Scaling

LARGEST_WEIGHT = float(np.finfo(WEIGHT).max)
RANGE = (-LARGEST_WEIGHT, LARGEST_WEIGHT)
MOST_UNITS = 2**31 - 1
INPUTS = Schema(
    Scalar("scale", str),
    Column("means", size="n_numeric"),
    Column("deviations", bounds=POSITIVE, size="n_numeric"),
    Column("flagged", np.bool_, size="n_numeric"),
    Column("knots", size="n_knots"),
    Column("quantiles", size="n_knots"),
    Column("knot_offsets", np.int64, (0, "n_knots"), ascending=True),
    holds="inputs",
)
"""What a file keeps of the inputs."""
SHAPE = Schema(
    Scalar("n_numbers", int, (0, MOST_UNITS)),
    Column("table_rows", np.int64, (1, MOST_UNITS), "n_tables"),
    Column("table_widths", np.int64, (1, MOST_UNITS), "n_tables"),
    Column("hidden", np.int64, (1, MOST_UNITS)),
    holds="sizes",
)
"""What a file keeps of a net's shape."""
EPOCHS = Schema(
    Column("n_steps", np.int64, (0, 2**63 - 1), "n_rounds"),
    Column("pull", bounds=NOT_NEGATIVE, size="n_rounds"),
    Column("weights", WEIGHT, RANGE, "n_rounds", "n_weights"),
    holds="epochs",
)
"""What a file keeps of epochs, and of their moments, where there are any."""
MOMENTS = Column("moments", WEIGHT, RANGE, "n_rounds", "n_moments")


class _InputColumns:
    """Inputs with the names that their columns have."""

    def __init__(self, inputs: NetInputs) -> None:
        self.scale, self.flagged = inputs.scale, inputs.flagged
        self.means, self.deviations = inputs.scaling.means, inputs.scaling.deviations
        self.knots, self.quantiles = inputs.knots.values, inputs.knots.quantiles
        self.knot_offsets = inputs.knots.offsets


class _ShapeColumns:
    """A shape with the names that its columns have."""

    def __init__(self, shape: NetShape) -> None:
        self.n_numbers, self.hidden = shape.n_numbers, shape.hidden
        self.table_rows, self.table_widths = ([table[side] for table in shape.tables] for side in (0, 1))


class _EpochColumns:
    """An epoch with the names that its columns have."""

    def __init__(self, epoch: Epoch) -> None:
        self.n_steps, self.pull, self.weights = epoch.n_steps, epoch.pull, epoch.net.weights
        self.moments = epoch.moments.ravel()


def inputs_to_columns(inputs: NetInputs) -> Content:
    """Return the inputs as columns."""
    return INPUTS.write(_InputColumns(inputs))


def inputs_from_columns(columns: Value, path: str | PathLike[str], n_categories: Array) -> NetInputs:
    """Return the inputs that `inputs_to_columns` wrote, each value checked."""
    n_numeric = int((n_categories < 0).sum())
    found = INPUTS.read(columns, path, {"n_numeric": n_numeric})
    if found["scale"] not in NUMBER_SCALES:
        raise FormatError(path, f"scale must be one of {', '.join(NUMBER_SCALES)}; got {short(found['scale'])}")
    knots = Knots(found["knots"], found["quantiles"], found["knot_offsets"].astype(ROW))
    _check_knots(knots, n_numeric, path)
    scaling = Scaling(found["means"], found["deviations"])
    return NetInputs(found["scale"], scaling, knots, found["flagged"], n_categories)


def _check_knots(knots: Knots, n_numeric: int, path: str | PathLike[str]) -> None:
    """Refuse knots that are not shared out to the features, or do not ascend."""
    ends, starts = knots.offsets, np.zeros(len(knots.values), bool)
    if len(ends) != n_numeric + 1 or ends[0] != 0 or ends[-1] != len(knots.values):
        raise FormatError(path, "knot_offsets must begin with 0 and end with the number of knots")
    starts[ends[:-1][ends[:-1] < len(starts)]] = True
    if not np.all((np.diff(knots.values) > 0) | starts[1:]):
        raise FormatError(path, "the knots of a feature must ascend")


def epochs_to_columns(epochs: Sequence[Epoch]) -> Content:
    """Return the epochs as columns, and the shape of their nets; nothing where there are none."""
    if not epochs:
        return {}
    rows = _schema(len(epochs[0].moments)).write_rows([_EpochColumns(epoch) for epoch in epochs])
    return {**SHAPE.write(_ShapeColumns(epochs[0].net.shape)), **rows}


def epochs_from_columns(columns: Value, path: str | PathLike[str], n_moments: int) -> list[Epoch]:
    """Return the epochs that `epochs_to_columns` wrote, each value checked."""
    if not columns:
        return []
    sizes = SHAPE.read(columns, path, {})
    tables = zip(sizes["table_rows"].tolist(), sizes["table_widths"].tolist(), strict=True)
    shape = NetShape(sizes["n_numbers"], tuple(tables), tuple(sizes["hidden"].tolist()))
    widths = {"n_weights": shape.n_weights, "n_moments": n_moments * shape.n_weights}
    found = _schema(n_moments).read(columns, path, widths)
    n_epochs = len(found["n_steps"])
    moments = found.get("moments", np.empty(0, WEIGHT)).reshape(n_epochs, n_moments, shape.n_weights)
    rows = zip(found["weights"], moments, found["n_steps"].tolist(), found["pull"].tolist(), strict=True)
    return [Epoch(Net(shape, weights), own, n_steps, pull) for weights, own, n_steps, pull in rows]


def _schema(n_moments: int) -> Schema:
    """Return the columns of epochs whose rule remembers so many vectors."""
    return EPOCHS.extended(MOMENTS) if n_moments else EPOCHS
