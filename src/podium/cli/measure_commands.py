"""Commands that measure rankings, as the help shows them: evaluate, compare, evaluate-run, measures."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from podium.cli.options import (
    Against,
    ChosenMeasures,
    Convention,
    DataFile,
    Format,
    Ignore,
    Item,
    Json,
    Label,
    Measures,
    PairsFile,
    PerQuery,
    Qid,
    Rankings,
    Relevant,
    Sizes,
    Source,
    Ties,
    measure_names,
    number_or_word,
)


def evaluate_command(
    file: DataFile,
    rankings: Rankings = [],  # noqa: B006 (typer copies it)
    against: Against = None,
    feature: Annotated[
        int | None, typer.Option(help="Rank by this feature, counted from 1; negative: reversed.")
    ] = None,
    measure: ChosenMeasures = None,
    ties: Ties = None,
    relevant: Relevant = None,
    convention: Convention = "podium",
    per_query: PerQuery = False,
    file_format: Format = "auto",
    label: Label = "label",
    qid: Qid = "qid",
    query_sizes: Sizes = None,
    pairs: PairsFile = None,
    item: Item = None,
    ignore: Ignore = [],  # noqa: B006 (typer copies it)
    as_json: Json = False,
) -> None:
    """Measure how well models, files of scores, or a single feature, rank the rows of a data file.

    Several are a leaderboard, the best by the first measure on top. With --pairs, they are measured against pairs.

    podium evaluate test.txt a.podium b.podium bm25.txt -m ndcg@10,map
    """
    from podium.cli.measuring import evaluate_file

    source = Source(file, file_format, label, qid, query_sizes, item, ignore)
    if pairs is not None:
        from podium.cli.preferences import evaluate_pairs, refuse_beside_pairs

        refuse_beside_pairs({
            "--against": against is not None, "--relevant": relevant is not None,
            "--convention": convention != "podium", "--per-query": per_query, "--query-sizes": query_sizes is not None,
        })  # fmt: skip
        evaluate_pairs(source, pairs, rankings, feature, _measures(measure) | {"ties": ties}, as_json)
        return
    evaluate_file(source, rankings, against, feature, _rules(measure, ties, relevant, convention), as_json, per_query)


def compare_command(
    file: DataFile,
    rankings: Rankings,
    measure: Measures = ["ndcg@10"],  # noqa: B006 (typer copies it)
    chart: Annotated[
        Path | None, typer.Option(help="File for the critical-difference diagram: .html, .svg, .png or .json.")
    ] = None,
    ties: Ties = None,
    relevant: Relevant = None,
    convention: Convention = "podium",
    file_format: Format = "auto",
    label: Label = "label",
    qid: Qid = "qid",
    query_sizes: Sizes = None,
    item: Item = None,
    ignore: Ignore = [],  # noqa: B006 (typer copies it)
    as_json: Json = False,
) -> None:
    """Test models and files of scores against each other, paired by query.

    Differences with intervals, p-values with Holm's correction, average ranks with Friedman's test, and the
    critical-difference diagrams of Nemenyi and of Wilcoxon with Holm's correction.

    podium compare test.txt a.podium b.podium bm25.txt -m ndcg@10
    """
    from podium.cli.measuring import compare_files

    source = Source(file, file_format, label, qid, query_sizes, item, ignore)
    compare_files(source, rankings, _rules(measure, ties, relevant, convention), chart, as_json)


def evaluate_run_command(
    qrels: Annotated[Path, typer.Argument(help="TREC judgements: qid 0 docno relevance; - is standard input.")],
    runs: Annotated[list[Path], typer.Argument(help="TREC runs: qid Q0 docno rank score tag; - is standard input.")],
    against: Against = None,
    measure: Measures = ["map", "ndcg", "ndcg@10", "p@10", "mrr", "recall@100"],  # noqa: B006 (typer copies it)
    per_query: PerQuery = False,
    as_json: Json = False,
) -> None:
    """Measure TREC runs against judgements, as trec_eval does; its names of measures are read too.

    podium evaluate-run qrels.txt a.run b.run -m P_10,ndcg_cut_10,bpref
    """
    from podium.cli.measuring import evaluate_trec_runs

    evaluate_trec_runs(qrels, runs, against, measure, as_json, per_query)


def measures_command(as_json: Json = False) -> None:
    """List the measures, with what each one says.

    podium measures
    """
    from podium.cli.measuring import list_measures

    list_measures(as_json)


def _rules(measure: list[str] | None, ties: str | None, relevant: str | None, convention: str) -> dict[str, Any]:
    """Return options of `evaluate`."""
    rules = {**_measures(measure), "ties": ties, "convention": convention}
    return {**rules, "relevant": number_or_word(relevant)}


def _measures(given: list[str] | None) -> dict[str, Any]:
    """Return the measures that --measure names, as an option of `evaluate`; its own default where there are none."""
    return {} if given is None else {"measures": measure_names(given)}
