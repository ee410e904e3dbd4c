"""What other programs can score: a sum of trees, a weighted sum of features, or a net.

Rankers hand one of these records to the writers of formats, which know nothing of rankers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from podium._compiled import ROW, SCORE
from podium._validation import Array
from podium.data import MAX_CATEGORIES
from podium.data.categories import Category
from podium.neural import Net, NetInputs
from podium.stumps import Stump
from podium.trees import Forest, RegressionTree


@dataclass(frozen=True, eq=False)
class TreeSum:
    """A model that scores a row by a constant and the values of its leaves.

    Attributes
    ----------
    trees : tuple of RegressionTree
        With every factor (learning rate, α) in the values of the leaves.
    base : float
        What the score begins with.
    n_features : int
    feature_names : tuple of str or None
    name : str
        The ranker's.
    categories : mapping of int to tuple
        The values of the categories of each categorical column by code; a column that is split by sets but not named
        here holds the codes themselves.
    """

    trees: tuple[RegressionTree, ...]
    base: float
    n_features: int
    feature_names: tuple[str, ...] | None
    name: str
    categories: Mapping[int, tuple[Category, ...]] = field(default_factory=dict)

    def score(self, features: Array) -> Array:
        """Return the score of each row of a checked matrix."""
        scores: Array = self.base + Forest.of(self.trees).score(features)
        return scores

    def with_base_as_tree(self) -> TreeSum:
        """Return the model with the constant, unless it is 0, as a last tree of one leaf.

        As the last one, because our scores add the constant to the sum of the trees: the same rounding.
        """
        if self.base == 0:
            return self
        return replace(self, trees=(*self.trees, leaf_tree(self.base)), base=0.0)

    def category_values(self, feature: int) -> tuple[Category, ...]:
        """Return the values of a categorical column, by code."""
        return self.categories.get(feature, CODES)


@dataclass(frozen=True, eq=False)
class Linear:
    """A model that scores a row by ``intercept + Σ_i weights[i] x_i``, where a missing x_i counts as ``missing[i]``.

    Attributes
    ----------
    weights, missing : ndarray of float64
    intercept : float
    feature_names : tuple of str or None
    name : str
        The ranker's.
    """

    weights: Array
    missing: Array
    intercept: float
    feature_names: tuple[str, ...] | None
    name: str

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.weights)

    def score(self, features: Array) -> Array:
        """Return the score of each row of a checked matrix."""
        scores: Array = self.intercept + self._filled(features) @ self.weights
        return scores

    def parts(self, features: Array) -> Array:
        """Return what each feature adds to the score of each row of a checked matrix."""
        return self._filled(features) * self.weights

    def _filled(self, features: Array) -> Array:
        return np.where(np.isnan(features), self.missing, features)


@dataclass(frozen=True, eq=False)
class NetScore:
    """A model that scores a row by a net.

    Attributes
    ----------
    inputs : NetInputs
        What the net reads of features.
    net : Net
    feature_names : tuple of str or None
    name : str
        The ranker's.
    """

    inputs: NetInputs
    net: Net
    feature_names: tuple[str, ...] | None
    name: str

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.inputs.n_categories)

    def score(self, features: Array) -> Array:
        """Return the score of each row of a checked matrix."""
        return self.net.score(self.inputs.numbers(features), self.inputs.codes(features))

    def net_inputs(self, features: Array) -> Array:
        """Return what the first layer reads of rows of a checked matrix."""
        return self.net.inputs(self.inputs.numbers(features), self.inputs.codes(features))

    @property
    def owners(self) -> Array:
        """The feature that each input of the first layer comes from."""
        widths = [width for _, width in self.net.shape.tables]
        return np.concatenate([self.inputs.owners, np.repeat(self.inputs.categorical, widths)])


CODES = tuple(range(MAX_CATEGORIES))
"""The codes of categories: what a column holds whose categories have no other values."""
Additive = TreeSum | Linear
"""What adds up trees or features."""
Exported = Additive | NetScore
"""What a writer of a format takes."""


def stump_tree(stump: Stump, alpha: float) -> RegressionTree:
    """Return a weighted stump as a tree: α where the feature is above the threshold, missing values by q_def."""
    return split_tree(stump.feature, stump.threshold, not stump.abstain, 0.0, alpha)


def split_tree(feature: int, threshold: float, missing_left: bool, low: float, high: float) -> RegressionTree:
    """Return a tree of one split: `low` up to the threshold, `high` above it."""
    return RegressionTree(
        feature=np.array([feature], np.int32), threshold=np.array([threshold], SCORE),
        missing_left=np.array([missing_left], np.bool_), left=np.array([-1], np.int32),
        right=np.array([-2], np.int32), value=np.array([low, high], SCORE), gain=np.zeros(1, SCORE),
        count=np.zeros(2, ROW), cut=np.full(1, -1, np.int32),
    )  # fmt: skip


def leaf_tree(value: float) -> RegressionTree:
    """Return a tree without splits."""
    whole, number = np.empty(0, np.int32), np.empty(0, SCORE)
    return RegressionTree(
        whole, number, np.empty(0, np.bool_), whole, whole, np.array([value], SCORE), number, np.zeros(1, ROW), whole
    )
