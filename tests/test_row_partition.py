"""Rows of a leaf that threads part and join in chunks: parts of kernels, as plain Python."""

import numpy as np
import pytest

from podium._compiled import JIT_DISABLED
from podium._exact import DIGITS, TERMS_PER_CARRY, sum_rows
from podium.trees.growth_state import LEAF, TASK
from podium.trees.row_partition import chunk, join_chunk, partition_rows
from tree_kernels import records

pytestmark = [pytest.mark.plain, pytest.mark.skipif(not JIT_DISABLED, reason="parts of kernels")]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("n_chunks", [1, 2, 5])
@pytest.mark.parametrize("searched", ["left", "right", "none"])
def test_chunks_are_joined_in_their_order_with_the_gradients_of_the_leaf_that_is_searched(seed, n_chunks, searched):
    rng = np.random.default_rng(seed)
    n, start, stop = 40, 5, 5 + [0, 1, 3, 20, 29, 35][seed]
    codes, goes_left = rng.integers(0, 4, (2, n, 16)).astype(np.uint8), np.arange(256) < 1 + seed % 3
    rows, planes = rng.permutation(n).astype(np.uint32), rng.integers(0, 99, (2, n))
    given, spare, values = rows.copy(), np.full(n, n, np.uint32), np.full((2, n), -1)
    task, leaves, n_left = records(TASK)[0], records(LEAF, 2), np.zeros(n_chunks, np.int64)
    task.start, task.stop, task.n_items = start, stop, n_chunks
    for item in range(n_chunks):
        n_left[item] = partition_rows(codes, 17, goes_left, *chunk(task, item), rows, spare)
    middle = task.middle = start + n_left.sum()
    leaves.start, leaves.stop = [start, middle], [middle, stop]
    task.smaller = {"left": 0, "right": 1, "none": -1}[searched]
    for item in rng.permutation(n_chunks).tolist():
        join_chunk(n_left, task, item, spare, planes, leaves, rows, values)
    left = goes_left[codes[1, given, 1]]
    own = np.arange(start, stop)
    np.testing.assert_array_equal(
        rows, np.r_[given[:start], given[own][left[own]], given[own][~left[own]], given[stop:]]
    )
    gathered = np.zeros(n, bool)
    if searched != "none":
        gathered[leaves[task.smaller].start : leaves[task.smaller].stop] = True
    np.testing.assert_array_equal(values, np.where(gathered, planes[:, rows], -1))


def test_rows_beyond_those_of_one_carry_are_summed_too():
    values, rows = np.arange(3.0 * TERMS_PER_CARRY), np.arange(0, 3 * TERMS_PER_CARRY, 2)
    total = sum_rows(values, rows, True, np.empty(TERMS_PER_CARRY), np.empty(DIGITS, np.int64))
    assert total == values[rows].sum()
