"""Why one row stands above another: what each feature adds to the difference of their scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from podium._types import Json
from podium._validation import Array
from podium.data.categories import Category
from podium.export import Exported, TreeSum

MAX_LISTED = 10
"""Features that a printed explanation names; the rest are added up in one line."""


@dataclass(frozen=True, eq=False)
class Explanation:
    """What each feature adds to the difference of two rows' scores.

    Attributes
    ----------
    rows : tuple of int
        The two rows, a and b, as places in X.
    scores : tuple of float
        Their scores.
    contributions : ndarray of float64
        Of each feature; their sum is ``scores[0] - scores[1]``.
    values : ndarray, shape (2, n_features)
        The features of both rows; categories as they were given to the fit, in an array of objects.
    feature_names : tuple of str
    method : str
        What a missing feature means: "interventional" or "path"; "additive" where each feature's part of the score
        does not depend on the others, so that all meanings agree.
    row_names : tuple of str, optional
        What the rows are called where they are printed.
    """

    rows: tuple[int, int]
    scores: tuple[float, float]
    contributions: Array
    values: Array
    feature_names: tuple[str, ...]
    method: str
    row_names: tuple[str, str] | None = None

    @property
    def difference(self) -> float:
        """Score of a less that of b."""
        return self.scores[0] - self.scores[1]

    @property
    def order(self) -> Array:
        """Features by the size of their contribution, the largest first."""
        return np.argsort(-np.abs(self.contributions), kind="stable")

    def to_dict(self) -> dict[str, Json]:
        """Return rows, scores, method, and features with a part in the difference, largest first, as JSON has them."""
        features: list[Json] = [
            {
                "feature": self.feature_names[j],
                "contribution": float(self.contributions[j]),
                "values": [json_value(value) for value in self.values[:, j]],
            }
            for j in self.order.tolist()
            if self.contributions[j] != 0
        ]
        return {"rows": list(self.rows), "scores": list(self.scores), "method": self.method, "features": features}

    def __str__(self) -> str:
        a, b = self.row_names or (f"row {self.rows[0]}", f"row {self.rows[1]}")
        if self.difference == 0:
            start = f"Level: {a} and {b} both score {self.scores[0]:.6g}"
        else:
            where = "above" if self.difference > 0 else "below"
            start = f"Why {a} stands {where} {b}: {self.scores[0]:.6g} against {self.scores[1]:.6g}"
        lines = [f"{start}, a difference of {self.difference:+.6g}."]
        moved = [j for j in self.order.tolist() if self.contributions[j] != 0]
        width = max((len(self.feature_names[j]) for j in moved[:MAX_LISTED]), default=0)
        for j in moved[:MAX_LISTED]:
            one, other = (value_text(value) for value in self.values[:, j])
            lines.append(f"  {self.contributions[j]:+12.6g}  {self.feature_names[j]:{width}s}  {one} against {other}")
        rest = moved[MAX_LISTED:]
        if rest:
            more = "1 other feature" if len(rest) == 1 else f"{len(rest)} other features"
            lines.append(f"  {self.contributions[rest].sum():+12.6g}  {more}")
        return "\n".join(lines)


@dataclass(frozen=True, eq=False)
class QueryExplanation:
    """What each feature adds to the scores of the rows of one query, against the query's mean.

    Attributes
    ----------
    rows : ndarray of int64
        Rows of X, in their order there.
    scores : ndarray of float64
    contributions : ndarray of float64, shape (n_rows, n_features)
        Row by row; their sum is the row's score less the mean score of the query. The difference of two rows is what
        stands between them.
    values : ndarray, shape (n_rows, n_features)
    feature_names : tuple of str
    method, row_names
        As in `Explanation`.
    """

    rows: Array
    scores: Array
    contributions: Array
    values: Array
    feature_names: tuple[str, ...]
    method: str
    row_names: tuple[str, ...] | None = None

    def pair(self, a: int, b: int) -> Explanation:
        """Return why row a of X stands above row b."""
        at = [self.rows.tolist().index(row) for row in (a, b)]
        return Explanation(
            (a, b), (float(self.scores[at[0]]), float(self.scores[at[1]])),
            self.contributions[at[0]] - self.contributions[at[1]], self.values[at], self.feature_names, self.method,
        )  # fmt: skip

    def to_dict(self) -> dict[str, Json]:
        """Return the features' names and, for each row, its score and what each feature adds, as JSON has them."""
        names = self.row_names or tuple(map(str, self.rows.tolist()))
        rows: list[Json] = [
            {"row": name, "score": score, "contributions": parts}
            for name, score, parts in zip(names, self.scores.tolist(), self.contributions.tolist(), strict=True)
        ]
        return {"method": self.method, "features": list(self.feature_names), "rows": rows}

    def __str__(self) -> str:
        lines = [f"{len(self.rows)} rows against their mean score of {self.scores.mean():.6g}, from the top:"]
        for i in np.argsort(-self.scores, kind="stable").tolist():
            parts = [
                f"{self.feature_names[j]} {self.contributions[i, j]:+.4g}"
                for j in np.argsort(-np.abs(self.contributions[i]), kind="stable")[:3].tolist()
                if self.contributions[i, j] != 0
            ]
            name = f"row {self.rows[i]}" if self.row_names is None else self.row_names[i]
            lines.append(f"  {name}: {self.scores[i]:.6g}  {', '.join(parts)}".rstrip())
        return "\n".join(lines)


def names_or_numbers(names: Sequence[str] | None, n_features: int) -> tuple[str, ...]:
    """Return the names of the features, f0, f1 and so on where they have none."""
    return tuple(names) if names is not None else _numbered(n_features)


@lru_cache(maxsize=16)
def _numbered(n_features: int) -> tuple[str, ...]:
    """Return f0, f1 and so on, made once for each width: an explanation takes little longer than this."""
    return tuple(f"f{j}" for j in range(n_features))


def with_categories(values: Array, model: Exported) -> Array:
    """Return rows with the values of categories in the place of their codes, if there are categorical columns."""
    if not isinstance(model, TreeSum) or not model.categories:
        return values
    given = values.astype(object)
    for feature, own in model.categories.items():
        given[:, feature] = [category_of(code, own) for code in values[:, feature].tolist()]
    return given


def category_of(code: float, values: tuple[Category, ...]) -> Category:
    """Return the category of a code, NaN for what is missing."""
    return code if np.isnan(code) else values[int(code)]


def value_text(value: Category) -> str:
    """Return a feature's value as people read it."""
    if isinstance(value, str):
        return value
    return "missing" if np.isnan(value) else f"{value + 0.0:.6g}"  # -0 is 0 to people


def json_value(value: Category) -> Category | None:
    """Return a feature's value as JSON has it."""
    if isinstance(value, str):
        return value
    return None if np.isnan(value) else float(value)
