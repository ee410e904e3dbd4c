"""What scikit-learn's search and cross-validation need to keep queries whole: folds, splits and scores by query."""

from __future__ import annotations

from podium.model_selection.query_folds import QueryKFold
from podium.model_selection.query_split import train_test_split
from podium.model_selection.ranking_scorer import RankingScorer, ranking_scorer

__all__ = ["QueryKFold", "RankingScorer", "ranking_scorer", "train_test_split"]
