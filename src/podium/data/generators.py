"""Data sets ready to run: made search and preference data of any size, and a continuous set at hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from podium._pair_gate import PairArrays
from podium._validation import PodiumError, check_choice
from podium.readers import RankingTable

if TYPE_CHECKING:
    from sklearn.utils import Bunch

_FAMILY = 8
"""Features that share a hidden quality, as the scores of one field by several formulas do."""
_SHARED = 0.8
"""Correlation of a feature with the hidden quality of its family, before it becomes a count or sparse."""
_GRADE_SHARES = np.array([0.52, 0.32, 0.13, 0.02, 0.01])
"""Shares of the grades 0 to 4, those of the MSLR-WEB30K collection."""
_CALIBRATION = (200, 60)
"""Queries and documents of the sample in which a rule's grades get those shares."""
_BATCH = 1 << 11
"""Rows made at a time: they and what is needed on the way stay in the processor's cache."""


def make_search(
    n_queries: int = 200,
    docs_per_query: int = 50,
    n_features: int = 30,
    *,
    random_state: int = 0,
    rule: int = 0,
) -> RankingTable:
    """Make data like a search engine's: queries, documents, and grades from 0 to 4.

    Features come in families that share a hidden quality, so that they are correlated. Of every six, two are
    heavy-tailed counts (``count_0``), one is zero in seven rows of ten (``sparse_1``) and three are
    bell-shaped scores (``score_2``); every sixteenth is the same for all documents of a query (``query_15``).
    The grade rises with a weighted sum of about a third of the features, squashed, with two interactions,
    and with noise of the row and of the query.

    Parameters
    ----------
    n_queries : int, default 200
        Number of queries.
    docs_per_query : int, default 50
        Mean number of documents of a query; each has between half of it and half more.
    n_features : int, default 30
        Number of features.
    random_state : int, default 0
        Seed of the rows.
    rule : int, default 0
        Seed of the hidden rule from features to grades, the limits of the grades included. Sets with one rule
        and different seeds are samples of one population: take one to train and another to test.

    Returns
    -------
    RankingTable
        `X` float64, `qid` from 0, no `docid`; the same for the same arguments.

    Examples
    --------
    >>> train, test = make_search(random_state=0), make_search(random_state=1)
    >>> sorted(set(train.y.tolist()))
    [0.0, 1.0, 2.0, 3.0, 4.0]
    """
    _check_counts(1, n_queries=n_queries, docs_per_query=docs_per_query, n_features=n_features)
    _check_counts(0, random_state=random_state, rule=rule)
    hidden = _SearchRule(n_features, rule)
    limits = _grade_limits(hidden, rule)
    rng = np.random.default_rng([random_state, 1])
    X, quality, qid = _sample(hidden, rng, n_queries, docs_per_query)
    grade = np.searchsorted(limits, quality, side="right").astype(np.float64)
    return RankingTable(X, grade, qid, None, hidden.names)


class _SearchRule:
    """The hidden rule of :func:`make_search`: what each feature is, and how the features make a quality."""

    kinds: ClassVar = {"count": slice(0, None, 3), "sparse": slice(1, None, 6), "query": slice(15, None, 16)}

    def __init__(self, n_features: int, seed: int) -> None:
        rng = np.random.default_rng([seed, 0])
        self.n_features = n_features
        self.weight = rng.standard_normal(n_features) * (rng.random(n_features) < 0.3)
        self.weight[0] += 1.0  # So that no rule, however few its features, is noise alone.
        self.mixed = np.arange(n_features)[[0, 3 % n_features, 7 % n_features]]
        self.names = self._names()

    def _names(self) -> list[str]:
        """Kind and number of each feature; the last kind that claims a feature has it."""
        kind = np.full(self.n_features, "score", object)
        for name, claimed in self.kinds.items():
            kind[claimed] = name
        return [f"{name}_{j}" for j, name in enumerate(kind)]

    def features(self, rng: np.random.Generator, by_query: np.ndarray) -> np.ndarray:
        """Make the rows of documents whose query has the hidden numbers `by_query`."""
        n_rows, n_families = len(by_query), -(-self.n_features // _FAMILY)
        shared = _SHARED * rng.standard_normal((n_rows, n_families))
        X: np.ndarray = rng.standard_normal((n_rows, self.n_features))
        X *= np.sqrt(1 - _SHARED**2)
        X += np.repeat(shared, _FAMILY, axis=1)[:, : self.n_features]
        count, sparse = X[:, self.kinds["count"]], X[:, self.kinds["sparse"]]
        count[:] = np.floor(np.exp(1.5 * count))
        sparse *= rng.random(sparse.shape) < 0.3
        X[:, self.kinds["query"]] = by_query
        return X

    def quality(self, X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """How good each row is, but for the noise of its query."""
        used = np.flatnonzero(self.weight)
        first, second, third = np.tanh(X[:, self.mixed]).T
        noise = 2.0 * rng.standard_normal(len(X))
        score: np.ndarray = np.tanh(X[:, used]) @ self.weight[used] + noise
        score += 1.5 * first * second - 2.0 * second * (third > 0)
        return score


def _sample(
    hidden: _SearchRule, rng: np.random.Generator, n_queries: int, docs_per_query: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Make features, quality and query of each row."""
    least = max(1, docs_per_query // 2)
    sizes = rng.integers(least, max(least, 2 * docs_per_query - least) + 1, n_queries)
    qid = np.repeat(np.arange(n_queries), sizes)
    by_query = rng.standard_normal((n_queries, len(range(hidden.n_features)[hidden.kinds["query"]])))
    quality = rng.standard_normal(n_queries)[qid]
    X = np.empty((len(qid), hidden.n_features))
    for start in range(0, len(qid), _BATCH):
        rows = slice(start, start + _BATCH)
        X[rows] = hidden.features(rng, by_query[qid[rows]])
        quality[rows] += hidden.quality(X[rows], rng)
    return X, quality, qid


def _grade_limits(hidden: _SearchRule, seed: int) -> np.ndarray:
    """Limits of quality between the grades, from a sample that depends on the rule alone."""
    _, quality, _ = _sample(hidden, np.random.default_rng([seed, 2]), *_CALIBRATION)
    limits: np.ndarray = np.quantile(quality, np.cumsum(_GRADE_SHARES)[:-1])
    return limits


class Preferences(NamedTuple):
    """Items, what raters said of them, and what one more person prefers.

    Parameters
    ----------
    X : ndarray of shape (n_items, n_raters), float64
        Rating of each item by each rater, NaN where the rater abstains.
    pairs : PairArrays
        The person's preferences: row numbers `better` and `worse`, and `weight`.
    y : ndarray of shape (n_items,), float64
        The person's own ratings, all of them, for measuring what was learned from the pairs.
    """

    X: np.ndarray
    pairs: PairArrays
    y: np.ndarray


def make_preferences(
    n_items: int = 300,
    n_raters: int = 100,
    *,
    n_pairs: int = 2000,
    missing: float = 0.8,
    random_state: int = 0,
) -> Preferences:
    """Make the task of RankBoost's movie experiment: order items for a person from the ratings of others.

    (Freund, Iyer, Schapire and Singer, An efficient boosting algorithm for combining preferences, 2003,
    section 6.2.) Items and raters have hidden tastes of four dimensions, and some items are liked by all. A
    rating is the agreement of both, with noise, in steps of a half from 1 to 5. Each rater sees some items
    and abstains on the rest. The pairs are drawn from the person's ratings, two different ones each, and
    weigh the difference of the two.

    Parameters
    ----------
    n_items : int, default 300
        Number of items, at least 2: the rows.
    n_raters : int, default 100
        Number of raters: the features.
    n_pairs : int, default 2000
        Number of pairs; one may be drawn more than once.
    missing : float, default 0.8
        Share of the ratings that are not given, from 0 to below 1.
    random_state : int, default 0
        Seed of everything.

    Returns
    -------
    Preferences
        The same for the same arguments.

    Examples
    --------
    >>> made = make_preferences(n_items=50, n_raters=10)
    >>> bool((made.y[made.pairs.better] > made.y[made.pairs.worse]).all())
    True
    """
    _check_counts(1, n_raters=n_raters, n_pairs=n_pairs)
    _check_counts(2, n_items=n_items)
    _check_counts(0, random_state=random_state)
    if not 0 <= missing < 1:
        raise PodiumError(f"missing must be a share from 0 to below 1; got {missing!r}.")
    rng = np.random.default_rng([random_state, 3])
    ratings = _ratings(rng, n_items, n_raters + 1)
    X, y = ratings[:, :-1].copy(), ratings[:, -1].copy()
    X[rng.random(X.shape) < missing] = np.nan
    return Preferences(X, _draw_pairs(rng, y, n_pairs), y)


def _ratings(rng: np.random.Generator, n_items: int, n_raters: int) -> np.ndarray:
    """Rate every item by every rater, in steps of a half from 1 to 5; the last differ somewhere."""
    tastes = rng.standard_normal((n_items, 4)) @ rng.standard_normal((4, n_raters)) / 2
    liking = tastes + rng.standard_normal((n_items, 1)) + 0.5 * rng.standard_normal((n_items, n_raters))
    ratings: np.ndarray = np.clip(np.round(2 * (3 + 0.8 * liking)) / 2, 1.0, 5.0)
    if (ratings[:, -1] == ratings[0, -1]).all():  # Few items: without a difference no pair could be drawn.
        ratings[0, -1] += 0.5 if ratings[0, -1] < 5 else -0.5
    return ratings


def _draw_pairs(rng: np.random.Generator, y: np.ndarray, n_pairs: int) -> PairArrays:
    """Draw pairs of rows whose `y` differs: the first from all rows, the second from those that differ."""
    order = np.argsort(y, kind="stable")
    one = rng.integers(0, len(y), n_pairs)
    below, upto = (np.searchsorted(y[order], y[one], side) for side in ("left", "right"))
    place = rng.integers(0, len(y) - (upto - below))
    other = order[np.where(place < below, place, place + upto - below)]
    better, worse = np.where(y[one] > y[other], [one, other], [other, one])
    return PairArrays(better, worse, y[better] - y[worse])


def load_continuous(name: str = "diabetes") -> RankingTable:
    """Load a set whose labels are continuous: all rows are to be ordered, as one query.

    Parameters
    ----------
    name : {"diabetes"}, default "diabetes"
        ``"diabetes"``: 442 patients, ten measurements each, and how far the illness had gone a year later,
        from 25 to 346. It comes with scikit-learn; nothing is fetched.

    Returns
    -------
    RankingTable
        `qid` is 0 everywhere.
    """
    bunch = _CONTINUOUS[check_choice(name, _CONTINUOUS, "name")]()
    X = np.ascontiguousarray(bunch.data, np.float64)
    y = np.ascontiguousarray(bunch.target, np.float64)
    return RankingTable(X, y, np.zeros(len(y), np.int64), None, list(bunch.feature_names))


def _load_diabetes() -> Bunch:
    """scikit-learn's set, in the units of the measurements."""
    from sklearn.datasets import load_diabetes

    return load_diabetes(scaled=False)


_CONTINUOUS: dict[str, Callable[[], Bunch]] = {"diabetes": _load_diabetes}


def _check_counts(least: int, **counts: object) -> None:
    """Refuse what is not an integer from `least`."""
    for name, count in counts.items():
        if isinstance(count, bool) or not isinstance(count, int | np.integer) or count < least:
            raise PodiumError(f"{name} must be an integer from {least}; got {count!r}.")
