"""The parameters that all rankers by nets share: what they may be, and what a docstring says of them."""

from __future__ import annotations

from numbers import Integral, Real
from os import PathLike

from sklearn.utils._param_validation import Interval, StrOptions

from podium._validation import PodiumError
from podium.data import CONTRADICTIONS
from podium.neural import NUMBER_SCALES, UPDATE_RULES

MOST_UNITS = 65536
"""Units of a hidden layer, which a slip of the keyboard may otherwise take all memory for."""
LARGEST_RATE, LARGEST_DECAY = 1e9, 1e29
"""Their product must be a number of single precision."""
CONSTRAINTS: dict[str, list[object]] = {
    "n_estimators": [Interval(Integral, 1, None, closed="left")],
    "hidden": [tuple, list],
    "sigma": [Interval(Real, 1e-9, 1e9, closed="both")],
    "pair_weight": [StrOptions({"pairs", "queries"})],
    "contradictions": [StrOptions(set(CONTRADICTIONS))],
    "optimizer": [StrOptions(set(UPDATE_RULES))],
    "learning_rate": [Interval(Real, 0, LARGEST_RATE, closed="right")],
    "learning_rate_decay": [Interval(Real, 0, 1, closed="right")],
    "weight_decay": [Interval(Real, 0, LARGEST_DECAY, closed="both")],
    "dropout": [Interval(Real, 0, 1, closed="left")],
    "batch_size": [Interval(Integral, 1, None, closed="left")],
    "scale": [StrOptions(set(NUMBER_SCALES))],
    "categorical_features": ["array-like", StrOptions({"from_dtype"}), None],
    "embedding_size": [Interval(Integral, 1, 4096, closed="both")],
    "early_stopping_rounds": [Interval(Integral, 1, None, closed="left"), None],
    "eval_metric": [str, list, tuple],
    "checkpoint": [str, PathLike, None],
    "random_state": ["random_state"],
    "n_jobs": [Integral, None],
    "verbose": ["verbose"],
}
"""What scikit-learn checks each parameter against."""

SHARED = """\
    sigma : float
        Steepness of the pairs' sigmoid, from 1e-9 to 1e9.
    contradictions : {"keep", "net"}
        Whether explicit pairs that contradict each other all count, or are netted, as `RankBoost` has it.
    optimizer : {"adam", "sgd"}
        How weights follow the gradient: Adam (Kingma and Ba 2015), or stochastic gradient descent as LM has it.
    learning_rate : float
        η: size of the updates of the first epoch, at most 1e9.
    learning_rate_decay : float
        Factor on η after each epoch; 1 keeps it.
    weight_decay : float
        Share, times η, by which weights shrink at each update, at most 1e29.
    dropout : float
        Probability that a hidden unit is left out of an update.
    batch_size : int
        Queries of an update, all rows of each; queries that explicit pairs join stay together.
    scale : {"gauss", "log1p", "standard"}
        Numbers are put to quantiles of the normal distribution by their ranks in the training rows, or their
        logarithm ``sign(x) log(1 + |x|)`` is taken, or neither; then they get mean 0 and standard deviation 1. A
        missing value counts as the mean, and has an input of its own that says so where training rows miss the feature.
    categorical_features : "from_dtype", sequence or None
        Columns of categories: those of a frame's category types; or numbers, names or a mask; or none. Each category,
        and what is missing or new, is a row of numbers that are learned.
    embedding_size : int
        Numbers of such a row.
    early_stopping_rounds : int, optional
        Stop when the first `eval_metric` on the last evaluation set has not improved for so many epochs, and predict
        with the net of its best value.
    eval_metric : str or list of str
        Measures of the evaluation sets.
    checkpoint : path, optional
        File to keep the epochs in while fitting, from which a fit that was killed goes on.
    random_state : int, RandomState or None
        Draws the first weights, the batches and the units left out: the same net on one machine.
    n_jobs : int, optional
        Threads of λ and of scores; the model does not depend on their number. torch runs on one.
    verbose : int
        1 shows a progress bar.

    Attributes
    ----------
    rounds_ : list of Epoch
        Each with its `net`, the `moments` and `n_steps` of its updates, and its `pull`, the mean size of λ.
    best_iteration_ : int
        Epoch whose net `predict` uses: the last one, or with early stopping that of the best measure.
    evals_result_ : dict
        ``evals_result_["validation_0"]["ndcg@10"]``: the measure after each epoch.
    weights_ : ndarray of float64
        Weights of the net that `predict` uses: tables of categories, then W and b of each layer.
    stop_reason_ : str
        Why the fit ended.
    categories_ : dict
        Categories of each categorical column.
"""
"""Parameters and attributes of these rankers, for the docstring of each."""


def check_hidden(hidden: object) -> None:
    """Refuse what is no list of layer sizes."""
    sizes = list(hidden) if isinstance(hidden, tuple | list) else [None]
    for units in sizes:
        if isinstance(units, bool) or not isinstance(units, Integral) or not 1 <= int(units) <= MOST_UNITS:
            raise PodiumError(
                f"hidden must be a tuple of layer sizes from 1 to {MOST_UNITS}, such as (32,) or (64, 16), or () for a "
                f"linear score; got {hidden!r}."
            )
