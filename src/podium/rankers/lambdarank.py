"""RankNet and LambdaRank: nets that learn from pairs (Burges 2010, "LM", sections 2 to 4)."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from os import PathLike
from typing import Any, ClassVar

from sklearn.utils._param_validation import Interval, StrOptions

from podium._types import PairsLike, Seed
from podium._validation import Array
from podium.data import N_PARTS, CategoricalFeatures, Feedback, Graded, both_ways
from podium.losses import DELTAS, NORMALIZATIONS, LambdaLoss
from podium.measures.conventions import Gain
from podium.neural import GradedCost, ListedCost, PairCostPart, TiedCost
from podium.rankers.net_ranker import NetRanker


class RankNet(NetRanker):
    """A net, or a linear score, that learns the probability of one row standing above another (LM 2).

    With P = 1/(1 + exp(-σ (s_i - s_j))), a pair costs ``-P̄ log P - (1 - P̄) log(1 - P)``: P̄ is 1 where row i has the
    higher label, ½ for rows of the same label if these count, or a measured probability. The λ of the pairs are summed
    to one gradient per row, which goes through the net once (LM 2.1): training takes time in proportion to the rows,
    but for the sums, which take 2 ns a pair.

    ``fit(X, pairs=(better, worse, weight, probability))`` takes pairs of which several judges were asked: the
    probability is the share of them who put `better` above `worse`; the weight may be None.

    Parameters
    ----------
    n_estimators : int
        Epochs: each goes through all queries once.
    hidden : tuple of int
        Units of each hidden layer, which are rectified linear; () for a linear score.
    tie_weight : float
        Weight of a pair of rows of the same label, whose P̄ is ½, against 1 for others; it pulls their scores together.
    pair_weight : {"pairs", "queries"}
        Whether all pairs of labels weigh alike, or all queries do.
    {shared}

    Examples
    --------
    >>> from podium import RankNet, make_search
    >>> train = make_search(n_queries=40, random_state=0)
    >>> model = RankNet(5, hidden=(8,)).fit(train.X, train.y, qid=train.qid)
    >>> model.predict(train.X).shape == train.y.shape
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[object]]] = {
        **NetRanker._parameter_constraints,
        "tie_weight": [Interval(Real, 0, 1e9, closed="both")],
    }

    def __init__(
        self,
        n_estimators: int = 40,
        *,
        hidden: Sequence[int] = (32,),
        tie_weight: float = 0.0,
        pair_weight: str = "pairs",
        sigma: float = 1.0,
        contradictions: str = "keep",
        optimizer: str = "adam",
        learning_rate: float = 0.006,
        learning_rate_decay: float = 1.0,
        weight_decay: float = 0.0,
        dropout: float = 0.5,
        batch_size: int = 16,
        scale: str = "gauss",
        categorical_features: CategoricalFeatures = "from_dtype",
        embedding_size: int = 4,
        early_stopping_rounds: int | None = None,
        eval_metric: str | Sequence[str] = "ndcg@10",
        checkpoint: str | PathLike[str] | None = None,
        random_state: Seed = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_estimators = n_estimators
        self.hidden = hidden
        self.tie_weight = tie_weight
        self.pair_weight = pair_weight
        self.sigma = sigma
        self.contradictions = contradictions
        self.optimizer = optimizer
        self.learning_rate = learning_rate
        self.learning_rate_decay = learning_rate_decay
        self.weight_decay = weight_decay
        self.dropout = dropout
        self.batch_size = batch_size
        self.scale = scale
        self.categorical_features = categorical_features
        self.embedding_size = embedding_size
        self.early_stopping_rounds = early_stopping_rounds
        self.eval_metric = eval_metric
        self.checkpoint = checkpoint
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _given_pairs(self, pairs: Any) -> PairsLike | None:
        """Return pairs with a measured probability as pairs both ways."""
        if isinstance(pairs, tuple) and len(pairs) == N_PARTS:
            return both_ways(pairs)
        given: PairsLike | None = pairs
        return given

    def _cost_parts(self, feedback: Feedback, offsets: Array, threads: int) -> list[PairCostPart]:
        parts: list[PairCostPart] = []
        for part in feedback.parts:
            if isinstance(part, Graded):
                parts.append(GradedCost(LambdaLoss(part, "none", None, self.sigma, n_threads=threads)))
                if self.tie_weight:
                    parts.append(TiedCost(part, self.tie_weight, self.sigma))
            else:
                parts.append(ListedCost(part, offsets, self.sigma))
        return parts


class LambdaRank(NetRanker):
    """A net, or a linear score, that follows a measure of ranking: RankNet with each pair weighed by |ΔZ| (LM 3).

    The λ are those of `LambdaMART`, by the same kernel: a pair weighs what the measure would change by if its two rows
    changed places. Explicit pairs have no places in a query and count by their own weights, as in `RankNet`.

    Parameters
    ----------
    n_estimators : int
        Epochs: each goes through all queries once.
    hidden : tuple of int
        Units of each hidden layer, which are rectified linear; () for a linear score.
    delta : {"ndcg", "map", "mrr", "err", "auc", "localized"}
        The measure that weighs pairs, as in `LambdaMART`.
    truncation : int or None
        Only pairs with a row among the first so many places count, and the measure looks no further; None for all.
    normalize : {"none", "pairs", "query", "both"}
        "query" multiplies λ of each query by log2(1 + S)/S, S = 2 Σ |λ|/σ over its pairs; "pairs" divides |ΔZ| by
        0.01 + σ |s_i - s_j|. LM has neither.
    gain : "exp2", "linear", mapping or callable
        Gain of a label in NDCG: 2^y - 1, y, or given.
    {shared}

    Examples
    --------
    >>> from podium import LambdaRank, make_search
    >>> train = make_search(n_queries=40, random_state=0)
    >>> model = LambdaRank(5, hidden=(8,), delta="map").fit(train.X, train.y, qid=train.qid)
    >>> model.predict(train.X).shape == train.y.shape
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[object]]] = {
        **{name: rule for name, rule in NetRanker._parameter_constraints.items() if name != "pair_weight"},
        "delta": [StrOptions(set(DELTAS) - {"none"})],
        "truncation": [Interval(Integral, 1, None, closed="left"), None],
        "normalize": [StrOptions(set(NORMALIZATIONS))],
        "gain": [StrOptions({"exp2", "linear"}), dict, callable],
    }
    pair_weight = "pairs"

    def __init__(
        self,
        n_estimators: int = 40,
        *,
        hidden: Sequence[int] = (32,),
        delta: str = "ndcg",
        truncation: int | None = None,
        normalize: str = "none",
        gain: Gain = "exp2",
        sigma: float = 1.0,
        contradictions: str = "keep",
        optimizer: str = "adam",
        learning_rate: float = 0.006,
        learning_rate_decay: float = 1.0,
        weight_decay: float = 0.0,
        dropout: float = 0.5,
        batch_size: int = 16,
        scale: str = "gauss",
        categorical_features: CategoricalFeatures = "from_dtype",
        embedding_size: int = 4,
        early_stopping_rounds: int | None = None,
        eval_metric: str | Sequence[str] = "ndcg@10",
        checkpoint: str | PathLike[str] | None = None,
        random_state: Seed = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_estimators = n_estimators
        self.hidden = hidden
        self.delta = delta
        self.truncation = truncation
        self.normalize = normalize
        self.gain = gain
        self.sigma = sigma
        self.contradictions = contradictions
        self.optimizer = optimizer
        self.learning_rate = learning_rate
        self.learning_rate_decay = learning_rate_decay
        self.weight_decay = weight_decay
        self.dropout = dropout
        self.batch_size = batch_size
        self.scale = scale
        self.categorical_features = categorical_features
        self.embedding_size = embedding_size
        self.early_stopping_rounds = early_stopping_rounds
        self.eval_metric = eval_metric
        self.checkpoint = checkpoint
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _cost_parts(self, feedback: Feedback, offsets: Array, threads: int) -> list[PairCostPart]:
        how: dict[str, Any] = {"normalize": self.normalize, "gain": self.gain, "n_threads": threads}
        parts: list[PairCostPart] = []
        for part in feedback.parts:
            if isinstance(part, Graded):
                parts.append(GradedCost(LambdaLoss(part, self.delta, self.truncation, self.sigma, **how)))
            else:
                parts.append(ListedCost(part, offsets, self.sigma))
        return parts
