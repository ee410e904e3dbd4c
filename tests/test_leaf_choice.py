"""Which leaf is divided next, and which can be forgotten: parts of kernels, as plain Python."""

import numpy as np
import pytest

from podium._compiled import JIT_DISABLED
from podium.trees.division import _next_leaf, _take_best
from podium.trees.growth_state import DIVISION, GROWTH, LEAF, TASK, GrowingTree
from podium.trees.leaf_choice import forget_splits, place_for_histograms
from podium.trees.leaf_values import room_for_sums
from podium.trees.split import SPLIT
from tree_kernels import records

pytestmark = [pytest.mark.plain, pytest.mark.skipif(not JIT_DISABLED, reason="parts of kernels")]


def test_of_leaves_with_equal_gains_the_first_is_split():
    leaves, best, task, growth = records(LEAF, 3), records(SPLIT, 3), records(TASK)[0], records(GROWTH)[0]
    leaves.stop, best.gain = 4, [1.0, 2.0, 2.0]
    growth.n_leaves, growth.max_leaves, growth.steps_left, growth.n_histograms = 3, 9, 5, 9
    tree = GrowingTree(leaves, best, np.zeros((1, 256), bool), best, leaves, *room_for_sums(3))
    _next_leaf(1, task, growth, tree, records(DIVISION, 3), np.zeros(256, bool))
    assert growth.divided == 1


@pytest.mark.parametrize(
    ("max_leaves", "gains", "kept", "least"),
    [
        (9, [1.0, 3.0, -1.0, 2.0], [1.0, 3.0, -1.0, 2.0], -1.0),
        (7, [1.0, 3.0, -1.0, 2.0], [1.0, 3.0, -1.0, 2.0], 1.0),
        (6, [1.0, 3.0, -1.0, 2.0], [-1.0, 3.0, -1.0, 2.0], 2.0),
        (6, [2.0, 3.0, 2.0, 2.0], [2.0, 3.0, -1.0, -1.0], 2.0),
        (5, [1.0, 3.0, -1.0, 2.0], [-1.0, 3.0, -1.0, -1.0], -1.0),
    ],
)
def test_leaves_that_the_tree_has_no_room_to_divide_are_forgotten(max_leaves, gains, kept, least):
    best, growth = records(SPLIT, 5), records(GROWTH)[0]
    best.gain[:4], best.gain[4], growth.n_leaves, growth.max_leaves = gains, 7.0, 4, max_leaves
    forget_splits(1, growth, best)
    assert best.gain.tolist() == [*kept, 7.0]
    assert growth.least_gain == pytest.approx(least, rel=1e-11)
    assert growth.least_gain < least or least < 0


def test_histograms_of_the_last_leaf_without_a_split_are_overwritten_first():
    leaves, best, growth = records(LEAF, 4), records(SPLIT, 4), records(GROWTH)[0]
    leaves.histogram, best.gain, growth.n_leaves, growth.n_used = [0, 1, -1, 2], [-1.0, -1.0, -1.0, 1.0], 4, 3
    tree = GrowingTree(leaves, best, np.zeros((1, 256), bool), best, leaves, *room_for_sums(4))
    assert [place_for_histograms(growth, tree) for _ in range(4)] == [1, 0, 3, 4]
    assert leaves.histogram.tolist() == [-1, -1, -1, 2]
    leaves.histogram, growth.together = [0, 1, 3, 2], 1
    assert place_for_histograms(growth, tree) == 5


def test_of_equal_gains_in_several_items_the_first_is_taken():
    found, best = records(SPLIT, (3, 2)), records(SPLIT)
    found.gain[:, 0], found.feature[:, 0], best.gain = [1.0, 2.0, 2.0], [3, 5, 7], -1.0
    _take_best(found, 0, 0, best)
    assert (best[0].gain, best[0].feature) == (2.0, 5)
