"""Hashes of rows, columns and queries by what they hold: what the canonical order and all chances come from."""

from __future__ import annotations

import numpy as np

from podium._compiled import SCORE, compiled
from podium._pair_gate import PairArrays
from podium._sparse import is_sparse
from podium._types import Features
from podium._validation import Array

CELLS_PER_HASH_BLOCK = 2**15
"""Cells converted to float64 and hashed at a time: a block and its copies stay in the second-level cache."""

MIN_CELLS_COMPILED = 4_000_000
"""Cells from which a kernel, ten times as quick, saves more than it takes to be loaded: 5 ms."""

MULTIPLIER = np.uint64(0xBF58476D1CE4E5B9)
"""An odd constant of SplitMix64: multiplying by it is a bijection that spreads low bits upwards."""


def told_apart(contents: Array, number: Array) -> Array:
    """Hash each of some keys together with its number among the equal ones."""
    return mixed(contents + mixed(number.astype(np.uint64)))


def salted(keys: Array, *salts: int) -> Array:
    """Hash keys together with some numbers, such as a seed and a round: chances that depend on nothing else."""
    salt = np.zeros(1, np.uint64)
    for one in salts:
        salt = mixed(salt + mixed(np.array([one], np.uint64)))
    return mixed(keys ^ salt)


def row_keys(features: Features, labels: Array | None, weight: Array, pairs: PairArrays | None) -> Array:
    """Hash each row's features, label, weight and pairs to 64 bits.

    Rows with equal keys are equal in all that a ranker sees (but for a chance of 2⁻⁶⁴ a pair of rows), so
    their order changes nothing.
    """
    keys = hash_features(features)
    for column in (labels, weight):
        if column is not None:
            keys = mixed(keys + mixed(_bits(column)))
    if pairs is None:
        return keys
    wins, losses = np.zeros_like(keys), np.zeros_like(keys)
    stake = mixed(_bits(pairs.weight))
    np.add.at(wins, pairs.better, mixed(keys[pairs.worse] + stake))
    np.add.at(losses, pairs.worse, mixed(keys[pairs.better] - stake))
    return mixed(keys + mixed(wins) - mixed(losses))


def hash_features(features: Features) -> Array:
    """Hash each row of a matrix to 64 bits.

    Equal numbers hash alike in float32, float64 and any layout, and missing ones add nothing, so that a sparse
    row hashes like the dense one with NaN for what is absent.
    """
    keys = np.zeros(features.shape[0], np.uint64)
    column_keys = mixed(np.arange(features.shape[1], dtype=np.uint64))
    if is_sparse(features):
        columns = np.repeat(np.arange(features.shape[1]), np.diff(features.indptr))
        np.add.at(keys, features.indices, _cell_keys(features.data, column_keys[columns]))
        return mixed(keys)
    if features.size >= MIN_CELLS_COMPILED and features.flags.c_contiguous:
        with np.errstate(over="ignore"):  # products wrap round, of which plain Python warns
            _add_cell_keys(features, column_keys, np.empty(features.shape[1]), keys)
        return mixed(keys)
    step = max(1, CELLS_PER_HASH_BLOCK // features.shape[1])
    for start in range(0, len(keys), step):
        cells = _cell_keys(features[start : start + step], column_keys)
        np.sum(cells, axis=1, out=keys[start : start + step])
    return mixed(keys)


def hash_columns(features: Features) -> Array:
    """Hash each column of a matrix to 64 bits: equal columns hash alike, in whatever layout and precision they are."""
    n_rows, n_features = features.shape
    row_keys = mixed(np.arange(n_rows, dtype=np.uint64))
    keys = np.zeros(n_features, np.uint64)
    if is_sparse(features):
        columns = np.repeat(np.arange(n_features), np.diff(features.indptr))
        np.add.at(keys, columns, _cell_keys(features.data, row_keys[features.indices]))
        return keys
    step = max(1, CELLS_PER_HASH_BLOCK // n_features)
    for start in range(0, n_rows, step):
        keys += _cell_keys(features[start : start + step], row_keys[start : start + step, None]).sum(axis=0)
    return keys


def hash_queries(row_hashes: Array, codes: Array, n_queries: int) -> Array:
    """Hash each query by the hashes of its rows, in whatever order they stand."""
    keys = np.zeros(n_queries, np.uint64)
    np.add.at(keys, codes, mixed(row_hashes))
    return keys


def _cell_keys(values: Array, place_keys: Array) -> Array:
    """Hash single cells by value and by the key of their column or row; 0 where the value is missing."""
    cells: Array = _bits(values) ^ place_keys
    cells ^= cells >> np.uint64(32)  # small integers differ in their upper bits alone
    cells *= MULTIPLIER
    cells ^= cells >> np.uint64(29)
    cells[np.isnan(values)] = 0
    return cells


def _bits(values: Array) -> Array:
    """View numbers as 64 bits, with -0.0 as 0.0 and every NaN alike."""
    numbers = np.add(values, 0.0, dtype=SCORE, order="C")
    numbers[np.isnan(numbers)] = np.nan
    return numbers.view(np.uint64)


def mixed(keys: Array) -> Array:
    """Scramble 64-bit keys so that every input bit reaches every output bit (the finaliser of SplitMix64)."""
    mixed = keys + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * MULTIPLIER
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


@compiled
def _add_cell_keys(values: Array, column_keys: Array, row: Array, keys_out: Array) -> None:
    """Do ``keys_out[:] = _cell_keys(values, column_keys).sum(axis=1)``; `row` is scratch for a row as floats."""
    bits, multiplier = row.view(np.uint64), np.uint64(MULTIPLIER)
    for i in range(len(values)):
        total = np.uint64(0)
        for j in range(len(row)):
            row[j] = values[i, j] + 0.0  # the sum turns -0.0 into 0.0
        for j in range(len(row)):
            cell = bits[j] ^ column_keys[j]
            cell = (cell ^ (cell >> np.uint64(32))) * multiplier
            total += (cell ^ (cell >> np.uint64(29))) if row[j] == row[j] else np.uint64(0)
        keys_out[i] = total
