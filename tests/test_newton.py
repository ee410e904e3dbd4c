"""Newton's method for concave likelihoods: steps that overshoot, and a likelihood that never rises."""

from dataclasses import dataclass

import numpy as np
import pytest

from podium.permutations.likelihood import MOST_HALVINGS, maximise

pytestmark = pytest.mark.plain


@dataclass
class Hill:
    """-log(2 cosh x): whole steps from beyond 1.1 overshoot, ever further."""

    x: np.ndarray

    @property
    def value(self):
        return -float(np.logaddexp(self.x, -self.x).sum())

    @property
    def gradient(self):
        return -np.tanh(self.x)

    def product(self, direction):
        return direction / np.cosh(self.x) ** 2


class Hills:
    def at(self, x):
        return Hill(x)


def test_steps_that_overshoot_are_halved():
    found = maximise(Hills(), np.array([3.0, -2.0]), np.zeros(2), 0.0, 1e-9, 50)
    assert found.converged
    np.testing.assert_allclose(found.parameters, 0.0, atol=1e-9)
    assert 3 < found.n_iter < 30


def test_a_penalty_moves_the_maximum_to_where_the_slopes_meet():
    found = maximise(Hills(), np.array([3.0]), np.zeros(1), 0.5, 1e-10, 50)
    np.testing.assert_allclose(found.parameters, 0.0, atol=1e-9)
    assert found.point.value == pytest.approx(-np.log(2))


class Cliff:
    """A likelihood that falls with every look at it, whatever its gradient says."""

    def __init__(self):
        self.looks = 0

    def at(self, x):
        self.looks += 1
        point = Hill(x)
        return type("Fallen", (), {"value": -1.0 * self.looks, "gradient": point.gradient, "product": point.product})()


def test_where_no_step_rises_nothing_moves_and_that_is_said():
    cliff = Cliff()
    found = maximise(cliff, np.array([0.5]), np.zeros(1), 0.0, 1e-9, 2)
    assert not found.converged
    assert found.parameters.tolist() == [0.5]
    assert cliff.looks == 1 + 2 * MOST_HALVINGS
