"""What rankers learn from: rows, labels, queries, pairs and categories, checked once."""

from __future__ import annotations

from podium.data.categories import (
    MAX_CATEGORIES,
    CategoricalFeatures,
    Categories,
    CategoryCounts,
    CodedFrame,
    categorical_columns,
    category_order,
    count_categories,
    is_category,
    names_of_columns,
    read_features,
)
from podium.data.column_facts import ColumnFacts, column_facts, why_columns_rank_nothing
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
    why_no_pairs,
)
from podium.data.generators import make_search
from podium.data.hashes import (
    MIN_CELLS_COMPILED,
    hash_columns,
    hash_features,
    hash_queries,
    row_keys,
    salted,
    told_apart,
)
from podium.data.measured_pairs import N_PARTS, both_ways
from podium.data.pair_summary import PairSummary, summarize_pairs
from podium.data.ranking_data import (
    Queries,
    RankingData,
    canonical_order,
    group_rows,
    one_query_sentence,
    warn_of_one_query,
)

__all__ = [
    "CONTRADICTIONS",
    "MAX_CATEGORIES",
    "MIN_CELLS_COMPILED",
    "N_PARTS",
    "PAIR_WEIGHTS",
    "CategoricalFeatures",
    "Categories",
    "CategoryCounts",
    "CodedFrame",
    "ColumnFacts",
    "Feedback",
    "FeedbackSum",
    "FeedbackSummary",
    "Graded",
    "PairSummary",
    "Pairs",
    "Queries",
    "RankingData",
    "both_ways",
    "canonical_order",
    "categorical_columns",
    "category_order",
    "column_facts",
    "count_categories",
    "feedback_of",
    "group_rows",
    "hash_columns",
    "hash_features",
    "hash_queries",
    "is_category",
    "make_search",
    "names_of_columns",
    "one_query_sentence",
    "read_features",
    "row_keys",
    "salted",
    "summarize",
    "summarize_pairs",
    "told_apart",
    "warn_of_one_query",
    "why_columns_rank_nothing",
    "why_no_pairs",
]
