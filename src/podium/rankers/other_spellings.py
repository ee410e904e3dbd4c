"""How LightGBM, XGBoost, CatBoost and scikit-learn spell parameters, and what Podium calls them.

They are no aliases: a parameter has one name. But who writes one of these is told ours.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from podium._validation import KindError, near_matches

SPELLINGS: dict[str, tuple[str, ...]] = {
    "n_estimators": (
        "num_boost_round", "num_iterations", "num_iteration", "num_round", "num_rounds", "num_trees", "num_tree",
        "nrounds", "n_iter", "n_trees", "iterations", "max_iter", "epochs",
    ),
    "learning_rate": ("eta", "shrinkage", "shrinkage_rate", "lr"),
    "max_leaves": ("num_leaves", "num_leaf", "max_leaf", "max_leaf_nodes"),
    "max_depth": ("depth",),
    "min_child_samples": (
        "min_data_in_leaf", "min_data_per_leaf", "min_data", "min_samples_leaf", "min_leaf", "min_instances_per_node",
    ),
    "min_child_weight": ("min_sum_hessian_in_leaf", "min_sum_hessian_per_leaf", "min_sum_hessian", "min_hessian"),
    "min_split_gain": ("min_gain_to_split", "min_split_loss", "min_impurity_decrease", "gamma"),
    "reg_lambda": ("lambda_l2", "lambda", "lambda_", "l2", "l2_leaf_reg", "l2_regularization", "reg_l2"),
    "subsample": ("bagging_fraction", "bagging", "sub_row", "sample_rate"),
    "colsample_bytree": ("feature_fraction", "sub_feature", "colsample", "rsm", "max_features"),
    "max_bins": ("max_bin", "border_count", "n_bins"),
    "monotone_constraints": ("monotone_constraint", "mc", "monotonic_cst"),
    "categorical_features": ("categorical_feature", "cat_features", "cat_feature", "categorical_column"),
    "truncation": ("lambdarank_truncation_level", "lambdarank_num_pair_per_sample"),
    "normalize": ("lambdarank_norm", "lambdarank_normalization"),
    "sigma": ("sigmoid",),
    "gain": ("label_gain", "ndcg_exp_gain"),
    "early_stopping_rounds": ("early_stopping_round", "early_stopping", "n_iter_no_change", "od_wait"),
    "eval_metric": ("metric", "metrics", "custom_metric", "eval_at", "ndcg_eval_at"),
    "random_state": ("seed", "random_seed", "bagging_seed"),
    "n_jobs": ("nthread", "nthreads", "num_threads", "num_thread", "thread_count", "n_threads"),
    "verbose": ("verbosity", "verbose_eval", "silent"),
    "C": ("c",),
    "alpha": ("lambda_l1", "reg_alpha", "l1"),
}  # fmt: skip
"""Spellings of other libraries, by our name."""
OURS = {theirs: ours for ours, others in SPELLINGS.items() for theirs in others}
"""Our name of each of them."""


def check_parameter_names(ranker: str, given: Iterable[str], known: Collection[str]) -> None:
    """Refuse a name that is no parameter of a ranker, with ours for the spelling of another library.

    Parameters
    ----------
    ranker : str
        Its name, for the message.
    given : iterable of str
        Names; what follows a double underscore belongs to a ranker inside it and is not looked at.
    known : collection of str
        Names of its parameters.
    """
    for name in given:
        if name.partition("__")[0] in known:
            continue
        ours = OURS.get(name)
        if ours in known:
            raise KindError(f"{ranker} has no parameter {name!r}: it is called {ours} here.")
        near = near_matches(name, known) if ours is None else f" (which other rankers call {ours})"
        raise KindError(f"A parameter of {ranker} must be one of {', '.join(known)}; got {name!r}{near}.")
