"""New values of leaves by hand."""

import numpy as np
import pytest

from podium.trees.leaf_values import newton_values
from podium.trees.regression_tree import RegressionTree

pytestmark = pytest.mark.plain


def two_leaves():
    """A split of feature 0 with the values 7 and 8."""
    columns = [np.array(one) for one in ([0], [0.5], [True], [~0], [~1], [7.0, 8.0], [1.0], [1, 1], [1])]
    return RegressionTree(*columns)


def test_leaves_with_gradient_but_nothing_to_divide_it_by_keep_their_values():
    found = newton_values(two_leaves(), np.array([3.0, 4.0]), np.array([0.0, 2.0]), 0.0)
    np.testing.assert_array_equal(found, [7.0, -2.0])
    np.testing.assert_array_equal(
        newton_values(two_leaves(), np.array([3.0, 4.0]), np.array([0.0, 2.0]), 2.0), [-1.5, -1.0]
    )


@pytest.mark.parametrize("factor", [1.0, 0.5])
@pytest.mark.parametrize("reg_lambda", [0.0, 2.0])
def test_values_the_wrong_way_round_meet_midway(reg_lambda, factor):
    pull, bend = np.array([6.0, -1.0]), np.array([2.0, 1.0])
    middle = factor * (pull / (bend + reg_lambda)).mean()
    found = newton_values(two_leaves(), -pull, bend, reg_lambda, np.array([1]), factor)
    np.testing.assert_allclose(found, [middle, middle])
    free = newton_values(two_leaves(), -pull, bend, reg_lambda, np.array([-1]), factor)
    np.testing.assert_allclose(free, factor * pull / (bend + reg_lambda))
