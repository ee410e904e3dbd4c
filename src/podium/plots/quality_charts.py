"""Charts of how good a ranking is: measures at k, differences of two rankings query by query, margins, scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from podium._validation import Array, PodiumError
from podium.evaluation import compare, evaluate
from podium.evaluation.queries import grouped
from podium.measures import parse_measure
from podium.plots.altair_charts import altair, inline
from podium.plots.feature_charts import LOWERS, RAISES

if TYPE_CHECKING:
    from altair import Chart, LayerChart

DEPTHS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10)
MAX_PAIRS = 4_000_000
"""Pairs of rows whose margins are looked at; of more, queries are drawn at random."""
MAX_GRADES = 50
"""Grades that scores are drawn by."""
QUANTILES = {"low": 0.05, "quarter": 0.25, "middle": 0.5, "three_quarters": 0.75, "high": 0.95}
"""What is drawn of the scores of a grade."""


def measure_at_k(
    y: ArrayLike, scores: ArrayLike, measure: str = "ndcg", ks: Sequence[int] = DEPTHS, **options: Any
) -> list[dict[str, float]]:
    """Return the mean of a measure at several k, with its interval.

    Parameters
    ----------
    y, scores
        As for `evaluate`.
    measure : str
        Name of a measure that takes a k, without it.
    ks : sequence of int
    **options
        Further options of `evaluate`: qid, convention and the like.
    """
    names = [f"{measure}@{int(k)}" for k in ks]
    result = evaluate(y, scores, measures=names, **options)
    found = [(k, result.result(name)) for k, name in zip(ks, names, strict=True)]
    return [{"k": int(k), "mean": one.mean, "low": one.low, "high": one.high} for k, one in found]


def plot_measure_at_k(
    y: ArrayLike,
    scores: Mapping[str, ArrayLike],
    *,
    measure: str = "ndcg",
    ks: Sequence[int] = DEPTHS,
    **options: Any,
) -> LayerChart:
    """Return a chart of a measure at several k, with the bootstrap interval of each mean as a band.

    Parameters
    ----------
    y : array-like
        Labels.
    scores : mapping of str to array-like
        Scores of each ranking by its name.
    measure : str
        Name of a measure that takes a k, such as "ndcg", "err" or "p".
    ks : sequence of int
    **options
        Further options of `evaluate`, above all ``qid``.

    Examples
    --------
    >>> chart = plot_measure_at_k([2, 0, 1], {"first": [0.9, 0.8, 0.1]}, ks=(1, 2))
    >>> [round(row["mean"], 4) for row in chart.to_dict()["data"]["values"]]
    [1.0, 0.8262]
    """
    rows = [
        {"ranking": name, **row}
        for name, given in scores.items()
        for row in measure_at_k(y, given, measure, ks, **options)
        if np.isfinite(row["mean"])
    ]
    data, alt = inline(rows, f"{measure} is not defined for any query"), altair()
    base = alt.Chart(data, title=f"{measure} at k").encode(
        x=alt.X("k:Q", title="k", axis=alt.Axis(tickMinStep=1)),
        color=alt.Color("ranking:N", title=None, sort=list(scores)),
    )
    y_axis = alt.Y("mean:Q", title=measure, scale=alt.Scale(zero=False))
    band = base.mark_area(opacity=0.18).encode(y=alt.Y("low:Q", scale=alt.Scale(zero=False)), y2="high:Q")
    line = base.mark_line(point=True).encode(y=y_axis, tooltip=["ranking:N", "k:Q", "mean:Q", "low:Q", "high:Q"])
    chart: LayerChart = line + band
    return chart


def plot_query_differences(
    y: ArrayLike,
    scores: ArrayLike,
    other_scores: ArrayLike,
    *,
    measure: str = "ndcg@10",
    qid: ArrayLike | None = None,
    **options: Any,
) -> Chart:
    """Return a chart of how much one ranking is above another in each query, the queries it wins by most first.

    Parameters
    ----------
    y, scores, other_scores, qid
        As for `compare`.
    measure : str
    **options
        Further options of `compare`.

    Examples
    --------
    >>> y, qid = [1, 0, 1, 0], ["a", "a", "b", "b"]
    >>> chart = plot_query_differences(y, [2, 1, 1, 2], [1, 2, 1, 2], measure="mrr", qid=qid)
    >>> [(row["query"], row["difference"]) for row in chart.to_dict()["data"]["values"]]
    [('a', 0.5), ('b', 0.0)]
    """
    name, shared = str(parse_measure(measure)), {k: v for k, v in options.items() if k != "n_resamples"}
    found = compare(y, scores, other_scores, qid=qid, measures=[measure], **options)[measure]
    one, two = (evaluate(y, given, qid=qid, measures=[measure], n_resamples=0, **shared).per_query(measure)
                for given in (scores, other_scores))  # fmt: skip
    differences = {query: one[query] - two[query] for query in one if np.isfinite(one[query] - two[query])}
    ordered = sorted(differences.items(), key=lambda item: -item[1])
    rows = [
        {"query": str(query), "place": place, "difference": value, "better": "first" if value > 0 else "second"}
        for place, (query, value) in enumerate(ordered, 1)
    ]
    data, alt = inline(rows, f"{name} is not defined for any query"), altair()
    title = f"{name}, first less second: {found.difference:+.4f} ({found.low:+.4f} … {found.high:+.4f})"
    colors = alt.Scale(domain=["first", "second"], range=[RAISES, LOWERS])
    chart: Chart = (
        alt.Chart(data, title=alt.Title(title, subtitle=f"won {found.wins}, lost {found.losses}, same {found.draws}"))
        .mark_bar(size=max(1.0, 0.8 * 560 / len(rows)))
        .encode(
            x=alt.X("place:Q", title="queries", scale=alt.Scale(domain=[0.5, len(rows) + 0.5], nice=False)),
            y=alt.Y("difference:Q", title=f"difference of {name}"),
            color=alt.Color("better:N", title="better", scale=colors),
            tooltip=["query:N", "difference:Q"],
        )
        .properties(width=560)
    )
    return chart


def pair_margins(
    y: ArrayLike, scores: ArrayLike, qid: ArrayLike | None = None, *, max_pairs: int = MAX_PAIRS, random_state: int = 0
) -> Array:
    """Return the margins of the pairs of each query: the score of the row with the higher label less the other's.

    Parameters
    ----------
    y, scores, qid
        As for `evaluate`.
    max_pairs : int
        Pairs at most: of more, queries are drawn at random until so many are there; at least one query is.
    random_state : int

    Returns
    -------
    ndarray, ascending
    """
    labels, queries, [given] = grouped(y, qid, None, scores=scores)
    order = np.random.default_rng(random_state).permutation(len(queries))
    found: list[Array] = []
    for query in order.tolist():
        rows = slice(queries.offsets[query], queries.offsets[query + 1])
        found.append(_margins_of(labels[rows], given[rows]))
        if sum(map(len, found)) >= max_pairs:
            break
    margins: Array = np.sort(np.concatenate(found))
    return margins


def plot_pair_margins(
    y: ArrayLike,
    scores: Mapping[str, ArrayLike],
    *,
    qid: ArrayLike | None = None,
    n_points: int = 201,
    title: str = "Margins of pairs",
) -> LayerChart:
    """Return a chart of the share of pairs whose margin is at most so much: left of 0 stand the pairs in wrong order.

    Parameters
    ----------
    y : array-like
    scores : mapping of str to array-like
        Scores by name, such as those after some rounds of ``staged_predict``. A margin is given as a share of the
        largest one of its scores, so that scores of different sizes can be compared.
    qid : array-like, optional
    n_points : int
        Margins at which the share is drawn.
    title : str

    Examples
    --------
    >>> chart = plot_pair_margins([1, 0, 0], {"one": [2.0, 1.0, 3.0]}, n_points=3)
    >>> [(row["margin"], row["share"]) for row in chart.to_dict()["layer"][0]["data"]["values"]]
    [(-1.0, 0.5), (0.0, 0.5), (1.0, 1.0)]
    """
    at, rows = np.linspace(-1, 1, n_points), []
    for name, given in scores.items():
        margins = pair_margins(y, given, qid)
        scale = float(np.abs(margins).max(initial=0.0)) or 1.0
        shares = np.searchsorted(margins / scale, at, side="right") / max(len(margins), 1)
        rows += [{"scores": name, "margin": x, "share": share}
                 for x, share in zip(at.tolist(), shares.tolist(), strict=True) if len(margins)]  # fmt: skip
    data, alt = inline(rows, "no query has two labels"), altair()
    lines = (
        alt.Chart(data, title=title)
        .mark_line()
        .encode(
            x=alt.X("margin:Q", title="margin, as a share of the largest"),
            y=alt.Y("share:Q", title="share of pairs up to it", axis=alt.Axis(format="%")),
            color=alt.Color("scores:N", title=None, sort=list(scores)),
            tooltip=["scores:N", "margin:Q", "share:Q"],
        )
    )
    rule = alt.Chart(alt.Data(values=[{"margin": 0}])).mark_rule(strokeDash=[4, 3], color="gray")
    chart: LayerChart = lines + rule.encode(x="margin:Q")
    return chart


def scores_by_grade(y: ArrayLike, scores: ArrayLike, qid: ArrayLike | None = None) -> list[dict[str, float]]:
    """Return quantiles of the scores of each label, the lowest label first.

    Parameters
    ----------
    y, scores
        As for `evaluate`.
    qid : array-like, optional
        Query of each row: scores are then counted from the mean of their query, since only those of one query compare.
    """
    labels, queries, [given] = grouped(y, qid, None, scores=scores)
    if qid is not None:
        means = np.add.reduceat(given, queries.offsets[:-1]) / queries.sizes
        given = given - np.repeat(means, queries.sizes)
    grades = np.unique(labels)
    if len(grades) > MAX_GRADES:
        raise PodiumError(f"Scores are drawn by at most {MAX_GRADES} grades; y has {len(grades)}. Consider fewer.")
    return [
        {"grade": grade, "rows": int((labels == grade).sum())}
        | {name: float(np.quantile(given[labels == grade], q)) for name, q in QUANTILES.items()}
        for grade in grades.tolist()
    ]


def plot_scores_by_grade(
    y: ArrayLike, scores: ArrayLike, *, qid: ArrayLike | None = None, title: str = "Scores by grade"
) -> LayerChart:
    """Return a chart of the scores of each grade: median, middle half, and 5 % to 95 %.

    Parameters
    ----------
    y, scores
        As for `evaluate`.
    qid : array-like, optional
        Query of each row: scores are then counted from the mean of their query, since only those of one query compare.
    title : str

    Examples
    --------
    >>> chart = plot_scores_by_grade([0, 0, 1], [1.0, 3.0, 4.0])
    >>> [row["middle"] for row in chart.to_dict()["data"]["values"]]
    [2.0, 4.0]
    """
    rows = [{**row, "grade": f"{row['grade']:g}"} for row in scores_by_grade(y, scores, qid)]
    data, alt = inline(rows, "there are no rows"), altair()
    axis = "score" if qid is None else "score, from the mean of the query"
    base = alt.Chart(data, title=title).encode(
        x=alt.X("grade:N", title="grade", sort=None, axis=alt.Axis(labelAngle=0))
    )
    tooltip = ["grade:N", "rows:Q", *(f"{name}:Q" for name in QUANTILES)]
    span = base.mark_rule(color=RAISES).encode(y=alt.Y("low:Q", title=axis), y2="high:Q")
    half = base.mark_bar(size=28, color=RAISES, opacity=0.55).encode(
        y=alt.Y("quarter:Q", title=axis), y2="three_quarters:Q", tooltip=tooltip
    )
    middle = base.mark_tick(size=28, thickness=2, color="black").encode(y=alt.Y("middle:Q", title=axis))
    chart: LayerChart = (span + half + middle).properties(width=alt.Step(48))
    return chart


def _margins_of(labels: Array, scores: Array) -> Array:
    """Return the margin of each pair of different labels."""
    order = np.argsort(-labels, kind="stable")
    labels, scores = labels[order], scores[order]
    higher = labels[:, None] > labels[None, :]
    margins: Array = (scores[:, None] - scores[None, :])[higher]
    return margins
