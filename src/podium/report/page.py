"""One page on a model and the rows that it ranked: what it learned, where it fails, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike

from numpy.typing import ArrayLike

from podium._magnitudes import check_integer
from podium._types import Json, MatrixLike
from podium.evaluation.queries import DEFAULT_MEASURES
from podium.model_file import check_writable, write_text
from podium.rankers import Estimator
from podium.report.judged_rows import JudgedRows
from podium.report.model_facts import function_facts, model_facts, round_curves
from podium.report.quality_facts import (
    check_measurable,
    data_facts,
    evaluated,
    extremes,
    goodness,
    grade_facts,
    quality_facts,
)
from podium.report.query_details import Explainer, query_details
from podium.report.query_sample import choose_queries
from podium.report.rendering import page_of
from podium.report.reproduction import reproduction


@dataclass(frozen=True, eq=False)
class Report:
    """A page on a model and the rows that it ranked.

    Attributes
    ----------
    content : dict
        All numbers and words of the page, as JSON has them.
    n_shown : int
        Queries whose rankings are on the page.
    """

    content: dict[str, Json]
    n_shown: int

    def html(self) -> str:
        """Return the page: one file that opens without a network."""
        return page_of(self.content)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the page to a file; an old file stays whole if this fails."""
        check_writable(path)
        write_text(path, self.html())


def report(
    model: Estimator,
    X: MatrixLike,
    y: ArrayLike,
    *,
    qid: ArrayLike | None = None,
    group: ArrayLike | None = None,
    docid: ArrayLike | None = None,
    measures: Sequence[str] = DEFAULT_MEASURES,
    title: str | None = None,
    feature_names: Sequence[str] | None = None,
    findings: Sequence[str] = (),
    files: Sequence[str | PathLike[str]] = (),
    commands: Sequence[str] = (),
    random_state: int = 0,
) -> Report:
    """Make one page on a model and the rows that it ranked, for people who will never install anything.

    The page holds the data, the model and its parameters, learning curves, measures with intervals, the worst and the
    best queries, rankings in which the reader picks two documents and sees what each feature adds to the difference of
    their scores, the functions of the features, and how to get the same again. Of many queries it shows the worst, the
    best and some drawn at random, and says so; measures are of all.

    Parameters
    ----------
    model : fitted ranker
        Of rows. One that is no sum of trees or of features is reported without contributions.
    X, y : array-like
        Rows to rank and their labels, best of queries that the model has not learned from.
    qid, group : array-like, optional
        Query of each row, or sizes of queries whose rows stand together.
    docid : array-like, optional
        What each row is called; by default its place in the query.
    measures : sequence of str
        Measures of the page; queries are sorted by the first.
    title : str, optional
    feature_names : sequence of str, optional
        What the features are called; by default as in the fit.
    findings : sequence of str
        Sentences on the data to be shown with them, such as a check of the data found.
    files : sequence of path
        Files of the model and of the rows, named on the page with their SHA-256.
    commands : sequence of str
        Commands that made them, shown on the page.
    random_state : int
        Seed of the queries that are drawn where they are many.

    Returns
    -------
    Report
        ``report.save("report.html")`` writes the page.

    Examples
    --------
    >>> import podium
    >>> train, test = podium.make_search(20, random_state=0), podium.make_search(20, random_state=1)
    >>> model = podium.RankBoost(n_estimators=10).fit(train.X, train.y, qid=train.qid)
    >>> page = podium.report(model, test.X, test.y, qid=test.qid)
    >>> page.content["summary"]["queries"]
    20
    """
    check_integer(random_state, "random_state", 0)
    judged = JudgedRows.of(model, X, y, qid, group, docid, feature_names)
    parsed = check_measurable(judged, measures)
    result, explainer = evaluated(judged, parsed), Explainer.of(judged)
    good = goodness(result, parsed[0])
    chosen = choose_queries(good, judged.sizes, len(explainer.features), random_state)
    worst, best = extremes(good, chosen)
    values = {name: one.values for name, one in result.results.items()}
    quality = quality_facts(judged, result, parsed)
    return Report(
        {
            "title": title or f"{type(model).__name__} on {len(judged.query_ids):,} queries",
            "summary": {
                "model": type(model).__name__,
                "rows": len(judged.scores),
                "queries": len(judged.query_ids),
                "features": model.n_features_in_,
            },
            "data": data_facts(judged, findings),
            "model": model_facts(model, judged.feature_names),
            "curves": round_curves(judged, X, parsed[0], random_state),
            "quality": quality,
            "grades": grade_facts(model, X, y),
            "queries": {**query_details(judged, chosen, values, explainer), "worst": worst, "best": best},
            "functions": function_facts(judged, X, explainer.features),
            "reproduction": reproduction(model, [one.name for one in parsed], files, commands),
        },
        len(chosen),
    )
