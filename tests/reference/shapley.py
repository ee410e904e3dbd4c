"""Shapley values by their definition: all subsets of features. Imports nothing of the library."""

from itertools import combinations
from math import factorial


def shapley_values(value, n_features):
    """Values of a game: ``value(frozenset)`` of each coalition."""
    players = range(n_features)
    return [
        sum(
            factorial(size) * factorial(n_features - size - 1) / factorial(n_features)
            * (value(frozenset((*others, one))) - value(frozenset(others)))
            for size in range(n_features)
            for others in combinations([player for player in players if player != one], size)
        )
        for one in players
    ]  # fmt: skip


def interventional(score, a, b):
    """Values of row a against row b: features outside a coalition have b's values."""
    return shapley_values(lambda held: score([a[j] if j in held else b[j] for j in range(len(a))]), len(a))


def path_dependent(tree, row):
    """Values of one tree at a row: a split on a feature outside a coalition is followed on both sides.

    ``tree`` is a leaf (value, count), or (feature, goes_left, left, right) with a function of the feature's value.
    """

    def count(node):
        return node[1] if len(node) == 2 else count(node[2]) + count(node[3])

    def mean(node, held):
        if len(node) == 2:
            return node[0]
        feature, goes_left, left, right = node
        if feature in held:
            return mean(left if goes_left(row[feature]) else right, held)
        sides = count(left) * mean(left, held) + count(right) * mean(right, held)
        return sides / (count(left) + count(right))

    return shapley_values(lambda held: mean(tree, held), len(row))
