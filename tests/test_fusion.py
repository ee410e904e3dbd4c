"""Fusion: formulas equal ranx's, learned ones see no query they are measured on, files are TREC's."""

import json
import os
import subprocess
import sys
from itertools import product

import numpy as np
import pytest

from peers import peer
from podium import PodiumError, evaluate_run, fuse, read_qrels, read_run
from podium.fusion import learned
from podium.fusion.candidates import gather
from podium.fusion.formulas import FORMULAS, NORMALIZATIONS
from podium.fusion.judged_scores import JudgedScores
from podium.measures import parse_measure
from podium.readers import Qrels, Run

RANX = {"rrf": "rrf", "combsum": "sum", "combmnz": "mnz", "borda": "bordafuse", "isr": "isr"}


def made_runs(n_queries=6, n_docs=30, n_runs=4, depth=12, seed=0, decimals=6):
    """Runs that see relevance through noise, the first ones better, each to a depth of its own; and judgements."""
    rng = np.random.default_rng(seed)
    qid, docid = (
        np.repeat([f"q{q}" for q in range(n_queries)], n_docs),
        np.tile([f"d{d}" for d in range(n_docs)], n_queries),
    )
    relevance = rng.integers(-1, 3, len(qid))
    runs = []
    for number in range(n_runs):
        score = np.round(relevance + (0.5 + number) * rng.normal(size=len(qid)), decimals)
        best = np.concatenate([rows[np.argsort(-score[rows])[: depth + number]] for rows in
                               np.split(np.arange(len(qid)), n_queries)])  # fmt: skip
        rows = rng.permutation(best)
        runs.append(Run(qid[rows], docid[rows], score[rows] * 10.0**number - 3, f"run{number}"))
    judged = rng.random(len(qid)) < 0.8
    return runs, Qrels(qid[judged], docid[judged], relevance[judged])


def as_dict(run):
    """Scores by query and document."""
    nested = {}
    for query, document, score in zip(run.qid, run.docid, run.score, strict=True):
        nested.setdefault(str(query), {})[str(document)] = float(score)
    return nested


def rows_of(run):
    return list(zip(run.qid.tolist(), run.docid.tolist(), run.score.tolist(), strict=True))


def by_hand(runs, method):
    """Fused scores of a formula on min-max scores, one query and one document at a time."""
    fused = {}
    for query in sorted({q for run in runs for q in run.qid.tolist()}):
        lists = [sorted(((s, d) for q, d, s in rows_of(run) if q == query), reverse=True) for run in runs]
        documents = sorted({d for found in lists for _, d in found})
        for document in documents:
            parts = []
            for found in lists:
                names = [d for _, d in found]
                low, high = min(s for s, _ in found), max(s for s, _ in found)
                if document in names:
                    place = names.index(document) + 1
                    scaled = (found[place - 1][0] - low) / max(high - low, 1e-9)
                    points = {"rrf": 1 / (60 + place), "isr": 1 / place**2, "borda": len(documents) - place + 1}
                    parts.append(points.get(method, scaled))
                elif method == "borda":
                    parts.append((len(documents) - len(names) + 1) / 2)
            factor = len(parts) if method in ("combmnz", "isr") else 1
            fused[query, document] = factor * sum(parts)
    return fused


@pytest.mark.plain
@pytest.mark.parametrize("method", FORMULAS)
def test_formulas_equal_their_definitions(method):
    runs, _ = made_runs(n_queries=3, n_docs=9, depth=4)
    fused = fuse(runs, method=method, depth=None).run
    expected = by_hand(runs, method)
    assert len(fused.score) == len(expected)
    for query, document, score in rows_of(fused):
        assert score == pytest.approx(expected[query, document])


RANX_PROGRAM = """
import json, sys
import ranx
runs, calls = json.load(sys.stdin)
runs = [ranx.Run({query: dict(found) for query, found in run.items()}) for run in runs]
fused = [ranx.fuse(runs, norm=norm, method=method).to_dict() for method, norm in calls]
print(json.dumps([{q: {d: float(s) for d, s in found.items()} for q, found in one.items()} for one in fused]))
"""


def test_formulas_and_normalisations_equal_ranx():
    """In a process of its own, in which ranx compiles nothing: that takes minutes."""
    peer("ranx")
    runs, _ = made_runs()
    calls = [(method, norm) for method in ("combsum", "combmnz") for norm in NORMALIZATIONS]
    calls += [(method, "min-max") for method in ("rrf", "borda", "isr")]
    asked = [(RANX[method], None if norm == "none" else norm) for method, norm in calls]
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", RANX_PROGRAM], input=json.dumps([list(map(as_dict, runs)), asked]),
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    for (method, norm), theirs in zip(calls, json.loads(done.stdout), strict=True):
        ours = as_dict(fuse(runs, method=method, norm=norm, depth=None).run)
        assert ours.keys() == theirs.keys()
        for query, scores in ours.items():
            assert scores == pytest.approx(theirs[query], rel=1e-9, abs=1e-12), (method, norm)


@pytest.mark.plain
@pytest.mark.parametrize("norm", NORMALIZATIONS)
def test_the_order_of_runs_and_lines_changes_nothing(norm):
    runs, _ = made_runs(decimals=0)
    turned = [Run(run.qid[::-1], run.docid[::-1], run.score[::-1], run.tag) for run in runs[::-1]]
    for method in FORMULAS:
        one, other = (fuse(some, method=method, norm=norm).run for some in (runs, turned))
        assert rows_of(one) == rows_of(other)


@pytest.mark.plain
def test_equal_scores_stand_by_name_descending():
    run = Run(np.array(["q"] * 3), np.array(["a", "c", "b"]), np.ones(3), "one")
    candidates = gather([run, run._replace(score=np.array([1.0, 2.0, 3.0]))])
    assert candidates.documents[candidates.document].tolist() == ["a", "b", "c"]
    assert candidates.places.tolist() == [[3.0, 3.0], [2.0, 1.0], [1.0, 2.0]]
    assert candidates.runs == ("one", "one (2)")


@pytest.mark.plain
def test_queries_that_some_run_does_not_answer():
    runs, qrels = made_runs()
    short = runs[1].qid != "q2"
    runs[1] = Run(runs[1].qid[short], runs[1].docid[short], runs[1].score[short], "short")
    for method in FORMULAS:
        for norm in NORMALIZATIONS:
            fused = fuse(runs, method=method, norm=norm).run
            assert np.isfinite(fused.score).all()
            assert set(fused.qid) == {f"q{q}" for q in range(6)}
    single = fuse(runs, qrels, method="rrf").comparisons["short"]["map"]
    answered = evaluate_run(qrels, runs[1], measures="map", n_resamples=0).per_query("map")
    assert single.second == pytest.approx(sum(answered.values()) / 6)


@pytest.mark.plain
@pytest.mark.parametrize("depth", [3, None])
@pytest.mark.parametrize("decimals", [0, 6])
def test_measures_of_scores_equal_those_of_the_run(depth, decimals):
    runs, qrels = made_runs(decimals=decimals)
    candidates = gather(runs)
    judged = JudgedScores(candidates, qrels)
    names = ["map", "ndcg", "ndcg@10", "p@10", "mrr", "recall@5"]
    for scores in (candidates.scores[:, 1], FORMULAS["rrf"](candidates, "min-max")):
        found = judged.measure(scores, [parse_measure(name) for name in names], depth)
        run = candidates.named(candidates.coded_run(scores, depth))
        expected = evaluate_run(qrels, run, measures=names, unanswered="zero", n_resamples=0)
        for name in names:
            np.testing.assert_allclose(found[name].values, list(expected.per_query(name).values()))
        some = judged.measure(scores, [parse_measure("map")], depth, np.array([1, 4]))["map"].values
        np.testing.assert_allclose(some, found["map"].values[[1, 4]])


@pytest.mark.plain
def test_scores_equal_in_single_precision_are_ties():
    runs, qrels = made_runs()
    candidates = gather(runs)
    scores = 1 - 1e-12 * candidates.document
    found = JudgedScores(candidates, qrels).measure(scores, [parse_measure("map")], None)["map"].values
    run = candidates.named(candidates.coded_run(scores[::-1], None))
    expected = evaluate_run(qrels, run._replace(score=np.ones(len(run.score))), measures="map", n_resamples=0)
    np.testing.assert_allclose(found, list(expected.per_query("map").values()))


@pytest.mark.plain
def test_unanswered_and_unjudged_queries_are_not_measured():
    runs, qrels = made_runs()
    more = Qrels(np.append(qrels.qid, "q9"), np.append(qrels.docid, "d1"), np.append(qrels.relevance, 1))
    judged = JudgedScores(gather(runs), more)
    assert judged.queries.tolist() == [0, 1, 2, 3, 4, 5]
    fewer = qrels.qid != "q3"
    judged = JudgedScores(gather(runs), Qrels(*(column[fewer] for column in qrels)))
    assert judged.queries.tolist() == [0, 1, 2, 4, 5]
    with pytest.raises(PodiumError, match=r"share no query; the runs have 'q0', the judgements \['x'\]"):
        fuse(runs, Qrels(np.array(["x"]), np.array(["d"]), np.array([1])))


@pytest.fixture(scope="module")
def task():
    return made_runs(n_queries=24, n_docs=60, n_runs=3, depth=25, seed=1)


@pytest.fixture
def few_rounds(monkeypatch):
    monkeypatch.setattr(learned, "ROUNDS", (5, 20))
    settings = tuple(learned.Setting(*one) for one in product(learned.FEATURES, learned.UNRETRIEVED, (5, 20)))
    monkeypatch.setattr(learned, "SETTINGS", settings)


def test_a_learned_fusion_is_compared_with_formulas_and_runs(task, few_rounds):
    runs, qrels = task
    fused = fuse(runs, qrels)
    assert fused.method == "rankboost"
    assert list(fused.comparisons) == [*FORMULAS, "run0", "run1", "run2"]
    measured = evaluate_run(qrels, fused.run, n_resamples=0)
    for name in ("map", "ndcg@10", "p@10"):
        assert fused.comparisons["rrf"][name].first == pytest.approx(measured[name])
    expected = evaluate_run(qrels, fuse(runs, method="isr").run, n_resamples=0)
    assert fused.comparisons["isr"]["map"].second == pytest.approx(expected["map"])
    assert fused.best_run == "run0"
    assert fused.comparisons["run2"]["map"].difference > 0
    assert fused.comparisons["rrf"]["map"].difference > 0.02
    assert "best run: run0" in str(fused)
    assert "run2" not in str(fused)
    content = json.loads(json.dumps(fused.to_dict()))
    assert content["judged_queries"] == 24
    assert len(content["settings"]) == 4


def test_no_query_is_fused_by_a_model_that_has_seen_it(task, few_rounds):
    """Turning the judgements of a fold round changes no fused score of it."""
    runs, qrels = task
    judged = JudgedScores(gather(runs), qrels)
    measure = parse_measure("map")
    folds = learned._Task(judged, measure, 1000, 3, 0).folds
    assert sorted(np.bincount(folds)) == [8, 8, 8]
    own = np.isin(qrels.qid, judged.candidates.queries[folds == 1])
    turned = qrels._replace(relevance=np.where(own, 1 - qrels.relevance, qrels.relevance))
    one = learned.learn_fusion(judged, measure, 1000, 3, 0, 1)
    other = learned.learn_fusion(JudgedScores(gather(runs), turned), measure, 1000, 3, 0, 1)
    rows = folds[judged.candidates.query] == 1
    assert (learned._Task(JudgedScores(gather(runs), turned), measure, 1000, 3, 0).folds == folds).all()
    assert one.settings[1] == other.settings[1]
    np.testing.assert_array_equal(one.scores[rows], other.scores[rows])
    assert (one.scores[~rows] != other.scores[~rows]).any()


def test_threads_and_orders_change_nothing(task, few_rounds):
    runs, qrels = task
    turned = [Run(run.qid[::-1], run.docid[::-1], run.score[::-1], run.tag) for run in runs]
    other = Qrels(qrels.qid[::-1], qrels.docid[::-1], qrels.relevance[::-1])
    assert rows_of(fuse(runs, qrels).run) == rows_of(fuse(turned, other, n_jobs=2).run)


def test_queries_without_judgements_are_fused_by_the_model_of_all(task, few_rounds):
    runs, qrels = task
    some = qrels.qid != "q5"
    fused = fuse(runs, Qrels(*(column[some] for column in qrels)))
    assert fused.n_judged == 23
    assert set(fused.run.qid) == {f"q{q}" for q in range(24)}
    candidates = gather(runs)
    rows = candidates.query == np.searchsorted(candidates.queries, "q5")
    setting = fused.learned.setting
    X = {"places": -candidates.places, "scores": NORMALIZATIONS["zmuv"](candidates)}[setting.features][rows]
    np.testing.assert_allclose(fused.learned.scores[rows], fused.learned.model.predict(X))


def test_judgements_of_relevant_documents_alone_count_others_as_not_relevant(task, few_rounds):
    runs, qrels = task
    relevant = qrels.relevance > 0
    only = Qrels(*(column[relevant] for column in qrels))
    for given, all_known in ((only, True), (qrels, False)):
        judged = JudgedScores(gather(runs), given)
        for measure in ("map", "ndcg@10"):
            labels = learned._labels(judged, parse_measure(measure))
            assert set(labels) == ({0.0, 1.0} if measure == "map" else {0.0, 1.0, 2.0})
            assert learned._known_rows(judged, labels).all() == all_known
    assert fuse(runs, only).comparisons["rrf"]["map"].first > 0.3


@pytest.mark.plain
def test_of_many_other_documents_some_are_drawn(monkeypatch):
    monkeypatch.setattr(learned, "MAX_OTHERS", 7)
    runs, qrels = made_runs()
    judged = JudgedScores(gather(runs), qrels)
    labels, known, query = np.maximum(judged.grades, 0), judged.judged, judged.candidates.query
    drawn = [learned._drawn(judged.candidates, labels, known, seed) for seed in (0, 0, 1)]
    for q in range(6):
        own = (query == q) & known & (labels == 0)
        assert drawn[0][own].sum() == min(own.sum(), 7)
    assert drawn[0][labels > 0].all()
    assert (drawn[0] == drawn[1]).all()
    assert (drawn[0] != drawn[2]).any()


@pytest.mark.plain
def test_a_run_named_like_a_formula_stands_beside_it():
    runs, qrels = made_runs(n_runs=2)
    runs[1] = Run(runs[1].qid, runs[1].docid, runs[1].score, "rrf")
    compared = fuse(runs, qrels, method="combsum").comparisons
    alone = evaluate_run(qrels, runs[1], measures="map", n_resamples=0)["map"]
    formula = evaluate_run(qrels, fuse(runs, method="rrf").run, measures="map", n_resamples=0)["map"]
    assert compared["rrf (run)"]["map"].second == pytest.approx(alone)
    assert compared["rrf"]["map"].second == pytest.approx(formula)


def test_the_best_setting_is_chosen_by_the_direction_of_the_measure():
    settings = learned.SETTINGS
    assert len(set(settings)) == 8
    values = [{one: np.array([0.1 * number, np.nan]) for number, one in enumerate(settings)}]
    assert learned._best(values, parse_measure("map")) == settings[-1]
    assert learned._best(values, parse_measure("pair_loss")) == settings[0]
    flat = [dict.fromkeys(settings, np.ones(2))]
    assert learned._best(flat, parse_measure("map")) == settings[0]


@pytest.mark.plain
def test_a_saved_run_is_read_back(tmp_path):
    runs, _ = made_runs()
    fused = fuse(runs, method="combmnz", depth=5)
    fused.save(tmp_path / "fused.run")
    again = read_run(tmp_path / "fused.run")
    assert again.tag == "combmnz"
    assert rows_of(again) == rows_of(fused.run)
    assert np.bincount(np.unique(again.qid, return_inverse=True)[1]).tolist() == [5] * 6
    first = (tmp_path / "fused.run").read_text().splitlines()[:6]
    assert [line.split()[3] for line in first] == ["1", "2", "3", "4", "5", "1"]
    assert str(fused).split()[-2:] == ["judgements", "0"]


@pytest.mark.plain
def test_bad_input_is_refused_in_a_sentence():
    runs, qrels = made_runs()
    one = runs[0]
    wrong = {
        "at least two runs; got 1": lambda: fuse([one]),
        "runs must be a list": lambda: fuse(one),
        "learns from judgements": lambda: fuse(runs, method="rankboost"),
        "method must be one of": lambda: fuse(runs, method="best"),
        "norm must be one of": lambda: fuse(runs, norm="maximum"),
        "n_folds must be": lambda: fuse(runs, qrels, n_folds=2),
        "depth must be": lambda: fuse(runs, depth=0),
        "Run 'run0' is empty": lambda: fuse([Run(one.qid[:0], one.docid[:0], one.score[:0], "run0"), one]),
        "must be finite; document": lambda: fuse([one._replace(score=one.score * np.inf), runs[1]]),
        "twice; keep one": lambda: fuse([Run(*(np.repeat(part, 2) for part in one[:3]), "run0"), runs[1]]),
        "as many queries as documents": lambda: fuse([one._replace(qid=one.qid[1:]), runs[1]]),
        "in 9 folds, 9 queries must have": lambda: fuse(runs, qrels, n_folds=9),
    }
    for message, call in wrong.items():
        with pytest.raises(PodiumError, match=message):
            call()


def test_the_command(command_line, tmp_path, task, few_rounds):
    runs, qrels = task
    for run in runs:
        lines = [f"{q} Q0 {d} 0 {s!r} {run.tag}\n" for q, d, s in rows_of(run)]
        (tmp_path / f"{run.tag}.run").write_text("".join(lines))
    judged = zip(qrels.qid, qrels.docid, qrels.relevance, strict=True)
    (tmp_path / "qrels").write_text("".join(f"{q} 0 {d} {grade}\n" for q, d, grade in judged))
    files = [f"{run.tag}.run" for run in runs]
    code, out, _ = command_line("fuse", *files, "--qrels", "qrels", "-o", "fused.run", "--folds", "3", "--json")
    assert code == 0
    assert json.loads(out)["method"] == "rankboost"
    expected = evaluate_run(read_qrels(tmp_path / "qrels"), read_run(tmp_path / "fused.run"), n_resamples=0)["map"]
    assert json.loads(out)["comparisons"]["rrf"]["map"]["first"] == pytest.approx(expected)
    code, out, _ = command_line("fuse", *files, "-o", "rrf.run", "--depth", "2")
    assert (code, len(read_run(tmp_path / "rrf.run").score)) == (0, 48)
    assert out.split()[:4] == ["Fusion", "fused", "by", "rrf"]
    code, _, error = command_line("fuse", files[0], "-o", "one.run")
    assert code == 2
    assert "at least two runs" in error
    assert not (tmp_path / "one.run").exists()


def test_robust03_is_fused_better_than_by_formulas(shared_data, few_rounds):
    folder = shared_data("trec-robust03")
    names = ("InexpC2", "MU03rob01", "NLPR03vb10", "aplrob03a")
    runs = [read_run(folder / "runs" / f"{name}.run.gz") for name in names]
    qrels = read_qrels(folder / "qrels.txt.gz")
    few = np.unique(qrels.qid)[::4]
    runs = [Run(*(column[np.isin(run.qid, few)] for column in run[:3]), run.tag) for run in runs]
    fused = fuse(runs, qrels, measures="map", depth=200, n_folds=3, n_jobs=2)
    assert all(fused.comparisons[name]["map"].difference > 0 for name in FORMULAS)
