"""MART and LambdaMART: boosted regression trees (Burges 2010, "LM", sections 6 and 7)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from numbers import Integral
from os import PathLike
from typing import Any, ClassVar

from numpy.typing import ArrayLike
from sklearn.utils._param_validation import Interval, StrOptions

from podium._exchange import ALONE, Exchange
from podium._types import Seed
from podium._validation import Array, PodiumError
from podium.data import CONTRADICTIONS, CategoricalFeatures, Feedback, Graded, RankingData, feedback_of
from podium.losses import (
    DELTAS,
    NORMALIZATIONS,
    POINTWISE,
    CrossEntropy,
    LambdaLoss,
    Loss,
    PairLoss,
    SumOfLosses,
    UserLoss,
    pointwise_loss,
)
from podium.measures.conventions import Gain
from podium.rankers.boosted_trees import TreeRanker
from podium.rankers.tree_parameters import CONSTRAINTS, SHARED

TRUNCATION, NORMALIZE = 30, "query"
"""The tuned λ: chosen on validation parts of MQ2008, see docs/lambdamart.md; `experiments/lambda_forms.py` shows it."""


class LambdaMART(TreeRanker):
    """Boosted trees that follow a measure of ranking: NDCG, AP, RR, ERR, AUC or the localized ranking loss.

    Each tree fits the λ of the training rows: how strongly the pairs of a query pull each row up or down, a pair
    weighing what the measure would change by if its two rows changed places (LM 7).

    Parameters
    ----------
    n_estimators : int
        Trees.
    delta : {"ndcg", "map", "mrr", "err", "auc", "localized", "none"}
        The measure that weighs pairs. "auc" is the share of pairs of different labels that stand in order, of all
        places whatever `truncation`; "localized" the localized ranking loss of the first `truncation` places, for any
        labels: rows that they miss, and pairs among them out of order. "none" weighs pairs alike: RankNet's gradient
        (LM 2) on trees. "auc" and "none" take all pairs unless `truncation` is given.
    form : {"tuned", "paper"}
        What "auto" means. "tuned" is what ranked best on real collections: ``truncation=30, normalize="query"``, all
        pairs if ``delta="auc"``, and all pairs without normalisation if ``delta="none"``. "paper" is λ as LM 7 writes
        it: all pairs, no normalisation; another `truncation` or `normalize` is then refused.
    truncation : "auto", int or None
        Only pairs with a row among the first so many places count, and the measure looks no further, so that
        time grows with n and not its square; None for all pairs.
    normalize : {"auto", "none", "pairs", "query", "both"}
        "query" multiplies λ and curvatures of each query by log2(1 + S)/S, S = 2 Σ |λ|/σ over its pairs, so that
        queries with many pairs do not outweigh the others. "pairs" divides |ΔZ| by 0.01 + σ |s_i - s_j|. LightGBM
        does both by default.
    sigma : float
        Steepness of the pairs' sigmoid, from 1e-9 to 1e9; it cancels in the model unless `reg_lambda` or
        `min_child_weight` act.
    gain : "exp2", "linear", mapping or callable
        Gain of a label in NDCG: 2^y - 1, y, or given; in a query with labels below 0, y counts from its lowest label.
    contradictions : {"keep", "net"}
        Whether explicit pairs that contradict each other all count, or are netted, as `RankBoost` has it.
    {shared}

    Examples
    --------
    >>> from podium import make_search
    >>> from podium.rankers.lambdamart import LambdaMART
    >>> train = make_search(n_queries=50, random_state=0)
    >>> model = LambdaMART(n_estimators=5).fit(train.X, train.y, qid=train.qid)
    >>> model.predict(train.X).shape == train.y.shape
    True
    """

    _shared_parameters: ClassVar[str] = SHARED
    _parameter_constraints: ClassVar[dict[str, list[object]]] = {
        **CONSTRAINTS,
        "delta": [StrOptions(set(DELTAS))],
        "form": [StrOptions({"tuned", "paper"})],
        "truncation": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left"), None],
        "normalize": [StrOptions({"auto", *NORMALIZATIONS})],
        "gain": [StrOptions({"exp2", "linear"}), dict, callable],
        "contradictions": [StrOptions(set(CONTRADICTIONS))],
    }

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        delta: str = "ndcg",
        form: str = "tuned",
        truncation: int | str | None = "auto",
        normalize: str = "auto",
        sigma: float = 1.0,
        gain: Gain = "exp2",
        contradictions: str = "keep",
        learning_rate: float = 0.1,
        max_leaves: int = 31,
        max_depth: int | None = None,
        min_child_samples: int = 20,
        min_child_weight: float = 1e-3,
        reg_lambda: float = 0.0,
        min_split_gain: float = 0.0,
        split_by: str = "newton",
        subsample: float = 1.0,
        colsample_bytree: float = 1.0,
        max_bins: int = 255,
        quantized: bool = True,
        monotone_constraints: Sequence[int] | None = None,
        categorical_features: CategoricalFeatures = "from_dtype",
        cat_smooth: float = 50.0,
        early_stopping_rounds: int | None = None,
        eval_metric: str | Sequence[str] = "ndcg@10",
        checkpoint: str | PathLike[str] | None = None,
        random_state: Seed = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_estimators = n_estimators
        self.delta = delta
        self.form = form
        self.truncation = truncation
        self.normalize = normalize
        self.sigma = sigma
        self.gain = gain
        self.contradictions = contradictions
        self.learning_rate = learning_rate
        self.max_leaves = max_leaves
        self.max_depth = max_depth
        self.min_child_samples = min_child_samples
        self.min_child_weight = min_child_weight
        self.reg_lambda = reg_lambda
        self.min_split_gain = min_split_gain
        self.split_by = split_by
        self.subsample = subsample
        self.colsample_bytree = colsample_bytree
        self.max_bins = max_bins
        self.quantized = quantized
        self.monotone_constraints = monotone_constraints
        self.categorical_features = categorical_features
        self.cat_smooth = cat_smooth
        self.early_stopping_rounds = early_stopping_rounds
        self.eval_metric = eval_metric
        self.checkpoint = checkpoint
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _check_parameters(self) -> None:
        super()._check_parameters()
        for name, same in (("truncation", None), ("normalize", "none")):
            given = getattr(self, name)
            if self.form == "paper" and given not in ("auto", same):
                raise PodiumError(
                    f'{name} must be "auto" or {same!r} with form="paper", whose λ is of all pairs and not normalised; '
                    f'got {given!r}: use form="tuned" to set it.'
                )

    def _pairs_and_scale(self) -> tuple[Any, str]:
        """Return the truncation and the normalisation that are meant."""
        as_written = self.form == "paper" or self.delta == "none"
        truncation = self.truncation
        if truncation == "auto":
            truncation = None if as_written or self.delta == "auc" else TRUNCATION
        normalize = self.normalize
        if normalize == "auto":
            normalize = "none" if as_written else NORMALIZE
        return truncation, normalize

    def _make_loss(self, data: RankingData, threads: int, seed: int, exchange: Exchange = ALONE) -> Loss:
        truncation, normalize = self._pairs_and_scale()
        options: dict[str, Any] = {"normalize": normalize, "gain": self.gain, "n_threads": threads}
        if self.delta == "err" and data.labels is not None:
            options["max_grade"] = max(exchange.peak(data.labels), 0.0)
        parts: list[Loss] = []
        for part in feedback_of(data, contradictions=self.contradictions, exchange=exchange).parts:
            if isinstance(part, Graded):
                parts.append(LambdaLoss(part, self.delta, truncation, self.sigma, **options))
            else:
                parts.append(PairLoss(part, len(data.queries.rows), self.sigma))
        return parts[0] if len(parts) == 1 else SumOfLosses(parts)


class MART(TreeRanker):
    """Boosted trees on labels one row at a time, or on each query as a distribution (LM 6).

    Parameters
    ----------
    n_estimators : int
        Trees.
    loss : {"squared", "logistic", "balanced", "cross_entropy"} or callable
        Squared error; logistic loss of labels above 0 against the others; the same with both kinds weighing
        alike (LM 6.1); the listwise cross-entropy XE-NDCG; or a function of (scores, feedback) that returns
        gradient and curvature of each row, rows grouped by query as ``feedback.offsets`` says.
    sigma : float
        Steepness of the logistic losses, from 1e-9 to 1e9; it cancels in the model (LM 6).
    {shared}
    """

    _shared_parameters: ClassVar[str] = SHARED
    _parameter_constraints: ClassVar[dict[str, list[object]]] = {
        **CONSTRAINTS,
        "loss": [StrOptions({*POINTWISE, "cross_entropy"}), callable],
    }

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        loss: str | Callable[[Array, Feedback], tuple[ArrayLike, ArrayLike]] = "squared",
        sigma: float = 1.0,
        learning_rate: float = 0.1,
        max_leaves: int = 31,
        max_depth: int | None = None,
        min_child_samples: int = 20,
        min_child_weight: float = 1e-3,
        reg_lambda: float = 0.0,
        min_split_gain: float = 0.0,
        split_by: str = "newton",
        subsample: float = 1.0,
        colsample_bytree: float = 1.0,
        max_bins: int = 255,
        quantized: bool = True,
        monotone_constraints: Sequence[int] | None = None,
        categorical_features: CategoricalFeatures = "from_dtype",
        cat_smooth: float = 50.0,
        early_stopping_rounds: int | None = None,
        eval_metric: str | Sequence[str] = "ndcg@10",
        checkpoint: str | PathLike[str] | None = None,
        random_state: Seed = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_estimators = n_estimators
        self.loss = loss
        self.sigma = sigma
        self.learning_rate = learning_rate
        self.max_leaves = max_leaves
        self.max_depth = max_depth
        self.min_child_samples = min_child_samples
        self.min_child_weight = min_child_weight
        self.reg_lambda = reg_lambda
        self.min_split_gain = min_split_gain
        self.split_by = split_by
        self.subsample = subsample
        self.colsample_bytree = colsample_bytree
        self.max_bins = max_bins
        self.quantized = quantized
        self.monotone_constraints = monotone_constraints
        self.categorical_features = categorical_features
        self.cat_smooth = cat_smooth
        self.early_stopping_rounds = early_stopping_rounds
        self.eval_metric = eval_metric
        self.checkpoint = checkpoint
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @property
    def _by_query(self) -> bool:  # type: ignore[override]
        return self.loss == "cross_entropy"

    def _make_loss(self, data: RankingData, threads: int, seed: int, exchange: Exchange = ALONE) -> Loss:
        feedback = feedback_of(data, exchange=exchange)
        if callable(self.loss):
            return UserLoss(self.loss, feedback)
        if data.labels is None or data.pairs is not None:
            raise PodiumError(f"MART with loss={self.loss!r} learns from labels y alone; use LambdaMART for pairs.")
        graded = Graded(data.labels, data.queries.offsets, data.row_weight, data.query_weight)
        if self.loss == "cross_entropy":
            return CrossEntropy(graded, seed, data.queries.place_keys())
        return pointwise_loss(self.loss, graded, self.sigma, exchange)
