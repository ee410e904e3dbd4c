"""The parameters that all rankers of trees share: what they may be, and what a docstring says of them."""

from __future__ import annotations

from numbers import Integral, Real
from os import PathLike

from sklearn.utils._param_validation import Interval, StrOptions

CONSTRAINTS: dict[str, list[object]] = {
    "n_estimators": [Interval(Integral, 1, None, closed="left")],
    "learning_rate": [Interval(Real, 0, 100, closed="right")],
    "max_leaves": [Interval(Integral, 2, None, closed="left")],
    "max_depth": [Interval(Integral, 1, None, closed="left"), None],
    "min_child_samples": [Interval(Integral, 1, None, closed="left")],
    "min_child_weight": [Interval(Real, 0, None, closed="left")],
    "reg_lambda": [Interval(Real, 0, None, closed="left")],
    "min_split_gain": [Interval(Real, 0, None, closed="left")],
    "split_by": [StrOptions({"newton", "squares"})],
    "subsample": [Interval(Real, 0, 1, closed="right")],
    "colsample_bytree": [Interval(Real, 0, 1, closed="right")],
    "max_bins": [Interval(Integral, 2, 255, closed="both")],
    "quantized": ["boolean"],
    "monotone_constraints": ["array-like", None],
    "categorical_features": ["array-like", StrOptions({"from_dtype"}), None],
    "cat_smooth": [Interval(Real, 0, None, closed="left")],
    "sigma": [Interval(Real, 1e-9, 1e9, closed="both")],
    "early_stopping_rounds": [Interval(Integral, 1, None, closed="left"), None],
    "eval_metric": [str, list, tuple],
    "checkpoint": [str, PathLike, None],
    "random_state": ["random_state"],
    "n_jobs": [Integral, None],
    "verbose": ["verbose"],
}
"""What scikit-learn checks each parameter against."""

SHARED = """\
    learning_rate : float
        η: factor on every leaf's value, at most 100.
    max_leaves : int
        Leaves of a tree, which grows where the gain is largest.
    max_depth : int, optional
        Most splits on the way to a leaf; no limit by default.
    min_child_samples : int
        Least training rows of a leaf.
    min_child_weight : float
        Least sum of curvatures of a leaf.
    reg_lambda : float
        Added to every sum of curvatures.
    min_split_gain : float
        Least gain of a split.
    split_by : {"newton", "squares"}
        What a split lowers: "newton" the loss itself, by the gain G²/(H + λ) of sums of gradients and curvatures;
        "squares" the squared error of a tree on the gradients, by G²/n, as LM has it (Eq. 11). Leaf values are
        Newton's in both. With "squares" n is the sum of row weights, `min_child_weight` is the least such sum of a
        leaf, and `reg_lambda` acts on leaf values alone.
    subsample : float
        Share of the queries, drawn anew for each tree, that it learns from.
    colsample_bytree : float
        Share of the features drawn for each tree.
    max_bins : int
        Most bins of a feature.
    quantized : bool
        Round gradients to a few bits for the histograms (leaf values never are), which is faster.
    monotone_constraints : sequence of int, optional
        For each feature 1 (may only raise scores as it grows), -1 (only lower them) or 0.
    categorical_features : "from_dtype", sequence or None
        Columns to be split by sets of their categories: those of a frame's category types (pandas, polars,
        pyarrow); or numbers, names or a mask of columns, whose different values are then categories; or none.
        Values that the fit has not seen are missing.
    cat_smooth : float
        Each category's mean gradient is shrunk towards that of its node by so many pseudo-rows, so that neither rare
        categories nor many of them win a split by chance.
    {monitoring}
    random_state : int, RandomState or None
        Seed of the draws; the same seed gives the same model, None a new one each time.
    n_jobs : int, optional
        Threads; the model does not depend on their number.
    verbose : int
        1 shows a progress bar.

    Attributes
    ----------
    rounds_ : list of TreeRound
        The tree of each round, its gain and number of leaves.
    trees_ : list of RegressionTree
    best_iteration_ : int
        Trees that `predict` uses: all of them, or with early stopping those up to the best measure.
    evals_result_ : dict
        ``evals_result_["validation_0"]["ndcg@10"]``: the measure after each round.
    feature_importances_ : ndarray
        Share of each feature in the gains of all splits.
    base_score_ : float
        Score before the first tree.
    categories_ : dict
        Categories of each categorical column, by its name or number, ascending, numbers before strings; of more
        than 255 the most frequent ones.
    stop_reason_ : str
        Why the fit ended.
    n_features_in_, feature_names_in_
        As scikit-learn has them.
"""
"""Parameters and attributes of every ranker of trees, for the docstring of each."""
