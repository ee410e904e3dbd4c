"""Fusing runs: the one call, and what it returns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from os import PathLike

import numpy as np
from rich.table import Table

from podium._compiled import thread_count
from podium._magnitudes import check_integer
from podium._types import Json
from podium._validation import Array, PodiumError, check_choice
from podium.evaluation import (
    PairedResult,
    paired_result,
    parse_measures,
    plain_text,
    resampling_settings,
    table_of,
)
from podium.fusion.candidates import Candidates, gather
from podium.fusion.formulas import FORMULAS, NORMALIZATIONS
from podium.fusion.judged_scores import JudgedScores
from podium.fusion.learned import LearnedFusion, learn_fusion
from podium.measures import Measure, QueryValues
from podium.model_file import write_text
from podium.readers import Qrels, Run

LEARNED = "rankboost"
METHODS = (LEARNED, *FORMULAS)
FUSION_MEASURES = ("map", "ndcg@10", "p@10")
N_RESAMPLES = 10_000


@dataclass(frozen=True, eq=False)
class Fusion:
    """One run made of several, and how good it is: ``print(fusion)`` is a table, ``fusion.save(path)`` a TREC file.

    Attributes
    ----------
    run : Run
        The fused run: documents of each query, the best first.
    method : str
    runs : tuple of str
        Names of the runs that were fused.
    comparisons : dict of str to dict of str to PairedResult
        By name of a formula or run, and by measure: the fused run (first) against it (second), paired by query. Empty
        without judgements.
    n_judged : int
        Queries that were measured.
    best_run : str or None
        The run with the best first measure on these very queries: a choice in hindsight, in its favour.
    learned : LearnedFusion or None
        Model, and the settings of each fold, where the fusion was learned.
    """

    run: Run
    method: str
    runs: tuple[str, ...]
    comparisons: dict[str, dict[str, PairedResult]]
    n_judged: int
    best_run: str | None
    learned: LearnedFusion | None

    def save(self, path: str | PathLike[str]) -> None:
        """Write the fused run as a TREC file: ``query Q0 document place score tag``."""
        write_text(path, "".join(_lines(self.run)))

    def to_dict(self) -> dict[str, Json]:
        """Return everything but the run and the model as plain values, ready for JSON."""
        return {
            "method": self.method,
            "runs": list(self.runs),
            "documents": len(self.run.score),
            "judged_queries": self.n_judged,
            "best_run": self.best_run,
            "settings": [] if self.learned is None else [asdict(one) for one in self.learned.settings],
            "comparisons": {
                name: {measure: asdict(one) for measure, one in results.items()}
                for name, results in self.comparisons.items()
            },
        }

    def table(self) -> Table:
        """Return the fused run beside the formulas and the best single run, as a rich table."""
        n_queries = len(np.unique(self.run.qid))
        if not self.comparisons:
            counts = {"runs": len(self.runs), "queries": n_queries, "documents": len(self.run.score), "judgements": 0}
            rows = [["fused by", self.method], *([name, f"{count:,}"] for name, count in counts.items())]
            return table_of("Fusion", None, rows)
        shown = [name for name in self.comparisons if name in FORMULAS or name == self.best_run]
        names = list(self.comparisons[shown[0]])
        first = [self.comparisons[shown[0]][name].first for name in names]
        rows = [[self.method, *(f"{mean:.4f}" for mean in first), "", "", ""]]
        rows += [self._row(name, names) for name in shown]
        header = ["", *names, f"{self.method} ahead by, {names[0]}", "95% interval", "p"]
        title = f"{len(self.runs)} runs fused by {self.method}, {n_queries} queries, {self.n_judged} of them judged"
        return table_of(title, header, rows)

    def _row(self, name: str, measures: Sequence[str]) -> list[str]:
        """Return the cells of one formula or run."""
        results = [self.comparisons[name][measure] for measure in measures]
        main = results[0]
        sureness = [f"{main.difference:+.4f}", f"{main.low:+.4f} … {main.high:+.4f}", f"{main.p_value:.4f}"]
        label = f"best run: {name}" if name == self.best_run else name
        return [label, *(f"{one.second:.4f}" for one in results), *sureness]

    def __str__(self) -> str:
        return plain_text(self.table())


def fuse(
    runs: Sequence[Run] | Mapping[str, Run],
    qrels: Qrels | None = None,
    *,
    method: str | None = None,
    norm: str = "min-max",
    depth: int | None = 1000,
    measures: str | Iterable[str] = FUSION_MEASURES,
    n_folds: int = 4,
    random_state: int = 0,
    n_jobs: int | None = None,
) -> Fusion:
    """Make one run of several.

    Parameters
    ----------
    runs : list of Run, or mapping of str to Run
        At least two, as `read_run` returns them; names are those of the mapping, or the tags.
    qrels : Qrels, optional
        Judgements, as `read_qrels` returns them: to learn from, and to measure by.
    method : {"rankboost", "rrf", "combsum", "combmnz", "borda", "isr"}, optional
        "rankboost" learns from `qrels` and is the default with them; "rrf", reciprocal rank fusion, is without.
    norm : {"min-max", "max", "sum", "zmuv", "rank", "borda", "none"}
        How CombSUM and CombMNZ make scores comparable.
    depth : int or None
        Documents of a query that the fused run keeps; None keeps all.
    measures : str or iterable of str
        What to compare by; options of the learned fusion are chosen by the first.
    n_folds : int
        Folds of queries, at least 3. Each judged query is fused by a model that has not seen its fold; queries without
        judgements by a model of all judged ones.
    random_state : int
        Seed of the folds and of the tests.
    n_jobs : int, optional
        Threads, as scikit-learn counts them; the answer does not depend on it.

    Returns
    -------
    Fusion

    Examples
    --------
    >>> import numpy as np
    >>> from podium import fuse
    >>> from podium.readers import Run
    >>> one = Run(np.array(["q", "q"]), np.array(["a", "b"]), np.array([2.0, 1.0]), "one")
    >>> two = Run(np.array(["q", "q"]), np.array(["b", "c"]), np.array([9.0, 8.0]), "two")
    >>> fuse([one, two], method="rrf").run.docid.tolist()
    ['b', 'a', 'c']
    """
    chosen = check_choice(method or (LEARNED if qrels is not None else "rrf"), METHODS, "method")
    check_choice(norm, NORMALIZATIONS, "norm")
    parsed = parse_measures(measures)
    _check_numbers(chosen, qrels, depth, n_folds, random_state)
    candidates = gather(runs)
    judged = None if qrels is None else JudgedScores(candidates, qrels)
    learned = None
    if chosen == LEARNED and judged is not None:
        learned = learn_fusion(judged, parsed[0], depth, n_folds, random_state, thread_count(n_jobs))
    scores = FORMULAS[chosen](candidates, norm) if learned is None else learned.scores
    run = candidates.named(candidates.coded_run(scores, depth, chosen))
    if judged is None:
        return Fusion(run, chosen, candidates.runs, {}, 0, None, None)
    others = _other_scores(candidates, chosen, norm)
    comparisons, best = _compare(judged, scores, others, parsed, depth, random_state)
    return Fusion(run, chosen, candidates.runs, comparisons, len(judged.queries), best, learned)


def _check_numbers(method: str, qrels: Qrels | None, depth: int | None, n_folds: int, random_state: int) -> None:
    """Refuse numbers that mean nothing, and learning without judgements."""
    if method == LEARNED and qrels is None:
        raise PodiumError(f"method={LEARNED!r} learns from judgements: give qrels, or a formula such as method='rrf'.")
    if depth is not None:
        check_integer(depth, "depth", 1)
    check_integer(n_folds, "n_folds", 3)
    check_integer(random_state, "random_state", 0)


def _other_scores(candidates: Candidates, method: str, norm: str) -> dict[str, Array]:
    """Return the scores of the formulas, and of the single runs, that a fusion is compared with."""
    others = {name: formula(candidates, norm) for name, formula in FORMULAS.items() if name != method}
    taken = {*METHODS}
    singles = zip(candidates.runs, candidates.scores.T, strict=True)
    return others | {name if name not in taken else f"{name} (run)": column for name, column in singles}


def _compare(
    judged: JudgedScores,
    scores: Array,
    others: Mapping[str, Array],
    measures: Sequence[Measure],
    depth: int | None,
    random_state: int,
) -> tuple[dict[str, dict[str, PairedResult]], str]:
    """Compare fused scores with others, query by query, and name the best single run."""
    settings = resampling_settings(0.95, N_RESAMPLES, random_state)
    fused = judged.measure(scores, measures, depth)
    comparisons = {}
    for name, column in others.items():
        found: dict[str, QueryValues] = judged.measure(column, measures, depth)
        comparisons[name] = {
            one.name: paired_result(fused[one.name], found[one.name], one.higher_is_better, settings)
            for one in measures
        }
    sign = 1 if measures[0].higher_is_better else -1
    singles = [name for name in others if name not in FORMULAS]
    return comparisons, max(singles, key=lambda name: sign * comparisons[name][measures[0].name].second)


def _lines(run: Run) -> Iterable[str]:
    """Yield the lines of a TREC file; places count from 1 in each query."""
    place, last = 0, None
    for query, document, score in zip(run.qid.tolist(), run.docid.tolist(), run.score.tolist(), strict=True):
        place = place + 1 if query == last else 1
        last = query
        yield f"{query} Q0 {document} {place} {score!r} {run.tag}\n"
