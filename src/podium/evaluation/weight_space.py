"""Rankers as functions of their weights: linear ones, nets, torch modules, and functions themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from podium._compiled import SCORE, compiled, even_ranges, run_threads
from podium._sparse import dense_rows, is_sparse
from podium._types import Features
from podium._validation import Array, PodiumError, check_features, check_labels, check_scores


class WeightSpace(Protocol):
    """A ranker whose weights can be moved.

    Attributes
    ----------
    weights : float64[d]
        The ranker's own.
    """

    weights: Array

    def scores(self, weights: Array) -> Array:
        """Return the scores of all rows, float64[m, n], at each of m vectors of weights."""


def weight_space(model: Any, X: Any, weights: Any, n_rows: int, n_threads: int) -> WeightSpace:
    """Return a ranker as a function of its weights; see `podium.local_optimality` for what it may be."""
    is_function = callable(model) and not hasattr(model, "parameters")
    if (X is None, weights is not None) != (is_function, is_function):
        raise PodiumError("A function of the weights needs weights and X=None; any other ranker needs X alone.")
    if is_function:
        return _Function(model, check_labels(weights, np.size(weights), "weights"), n_rows)
    if hasattr(model, "weight_function"):
        return _Function(model.weight_function(X), model.weights_, n_rows)
    features, _ = check_features(X)
    if features.shape[0] != n_rows:
        raise PodiumError(f"X must have one row per label: {n_rows} expected, {features.shape[0]} given.")
    if hasattr(model, "parameters"):
        return _Network(model, features)
    if hasattr(model, "coef_"):
        return _Linear(model, features, n_threads)
    raise PodiumError(
        f"model must be a fitted linear ranker with coef_, a net, a torch module or a function of its weights; "
        f"got {type(model).__name__}."
    )


def is_linear(ranker: WeightSpace) -> bool:
    """Whether the scores are linear in the weights by construction."""
    return isinstance(ranker, _Linear)


class _Function:
    """A function of the weights that returns the score of each row."""

    def __init__(self, function: Callable[[Array], ArrayLike], weights: Array, n_rows: int) -> None:
        self.function, self.weights, self.n_rows = function, weights, n_rows

    def scores(self, weights: Array) -> Array:
        """Return the scores of all rows for each row of weights."""
        return np.array([check_scores(self.function(one), self.n_rows, "scores") for one in weights])


class _Linear:
    """A linear ranker: all weights at once, by a product of matrices."""

    def __init__(self, model: Any, features: Features, n_threads: int) -> None:
        self.weights = np.array(model.coef_, SCORE).ravel()
        dense = dense_rows(features)  # what is not held is missing
        if dense.shape[1] != len(self.weights):
            raise PodiumError(f"X must have {len(self.weights)} features, one for each of coef_; got {dense.shape[1]}.")
        if not np.isfinite(dense).all():
            raise PodiumError("X must be finite here: weights cannot be moved where a linear ranker abstains.")
        self.columns, self.n_threads = np.ascontiguousarray(dense.T, SCORE), n_threads

    def scores(self, weights: Array) -> Array:
        """Return the scores of all rows for each row of weights."""
        out = np.zeros((len(weights), self.columns.shape[1]))
        runs = even_ranges(len(weights), min(self.n_threads, len(weights)))
        calls = [(weights[a:b], self.columns, out[a:b]) for a, b in runs]
        run_threads(_add_columns, calls, self.n_threads)
        return out


class _Network:
    """A torch module, or what looks like one; its parameters are put back after each call."""

    def __init__(self, module: Any, features: Features) -> None:
        self.module = module
        self.parameters = [one for one in module.parameters() if one.requires_grad]
        if not self.parameters:
            raise PodiumError("The module must have parameters that can be learned; it has none.")
        arrays = [np.asarray(one.detach().cpu(), SCORE) for one in self.parameters]
        self.shapes = [one.shape for one in arrays]
        self.weights = np.concatenate([one.ravel() for one in arrays])
        self.n_rows = features.shape[0]
        dense = features.toarray() if is_sparse(features) else features
        self.inputs = self.parameters[0].data.new_tensor(dense)

    def scores(self, weights: Array) -> Array:
        """Return the scores of all rows for each row of weights."""
        with self._kept():
            return np.array([self._scores(one) for one in weights])

    def _scores(self, weights: Array) -> Array:
        parts = np.split(weights, np.cumsum([int(np.prod(shape)) for shape in self.shapes])[:-1])
        for parameter, shape, part in zip(self.parameters, self.shapes, parts, strict=True):
            parameter.data.copy_(parameter.data.new_tensor(part.reshape(shape)))
        found = np.asarray(self.module(self.inputs).detach().cpu(), SCORE)
        return check_scores(found.reshape(-1), self.n_rows, "The module's output")

    @contextmanager
    def _kept(self) -> Iterator[None]:
        """Run the module as it is used, not trained; then give it its parameters and its mode back."""
        before, training = [one.data.clone() for one in self.parameters], self.module.training
        self.module.eval()
        try:
            yield
        finally:
            for parameter, values in zip(self.parameters, before, strict=True):
                parameter.data.copy_(values)
            self.module.train(training)


@compiled
def _add_columns(weights: Array, columns: Array, scores_out: Array) -> None:
    """Do ``scores_out += weights @ columns``, rows alike in a way alike, which a library's product does not promise."""
    for model in range(len(weights)):
        scores = scores_out[model]
        for feature in range(len(columns)):
            weight, column = weights[model, feature], columns[feature]
            for row in range(len(scores)):
                scores[row] += weight * column[row]
