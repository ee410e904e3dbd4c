"""What rankers learn from: rows, labels, queries, pairs and categories, checked once."""

from __future__ import annotations

from podium.data.categories import (
    MAX_CATEGORIES,
    CategoricalFeatures,
    Categories,
    categorical_columns,
    category_order,
    is_category,
    read_features,
)
from podium.data.feedback import (
    CONTRADICTIONS,
    PAIR_WEIGHTS,
    Feedback,
    FeedbackSum,
    FeedbackSummary,
    Graded,
    Pairs,
    feedback_of,
    summarize,
)
from podium.data.generators import make_search
from podium.data.ranking_data import (
    Queries,
    RankingData,
    canonical_order,
    group_rows,
    hash_features,
    row_keys,
    salted,
    told_apart,
    warn_of_one_query,
)

__all__ = [
    "CONTRADICTIONS",
    "MAX_CATEGORIES",
    "PAIR_WEIGHTS",
    "CategoricalFeatures",
    "Categories",
    "Feedback",
    "FeedbackSum",
    "FeedbackSummary",
    "Graded",
    "Pairs",
    "Queries",
    "RankingData",
    "canonical_order",
    "categorical_columns",
    "category_order",
    "feedback_of",
    "group_rows",
    "hash_features",
    "is_category",
    "make_search",
    "read_features",
    "row_keys",
    "salted",
    "summarize",
    "told_apart",
    "warn_of_one_query",
]
