"""A run against judgements: by hand, and digit for digit as trec_eval."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from peers import peer
from podium import PodiumError, evaluate_run, evaluate_runs, read_qrels, read_run
from podium.evaluation.judged_measures import JUDGED_MEASURES, JudgedQuery
from podium.measures.trec_names import OF_RUNS
from podium.readers import Qrels, Run
from profiles import examples
from reference import comparing

QRELS = "1 0 a 1\n1 0 b 0\n1 0 c 2\n2 0 a 0\n2 0 d 1\n3 0 x 1\n"
RUN = "1 Q0 b 1 2.5 t\n1 Q0 a 2 2.5 t\n2 Q0 z 1 9 t\n2 Q0 d 2 8 t\n4 Q0 q 1 1 t\n"


@pytest.fixture
def files(tmp_path):
    (tmp_path / "qrels").write_text(QRELS)
    (tmp_path / "run").write_text(RUN)
    return read_qrels(tmp_path / "qrels"), read_run(tmp_path / "run")


@pytest.mark.plain
def test_ties_by_name_descending_and_unretrieved_relevant_documents_count(files):
    result = evaluate_run(*files, measures=["map", "mrr", "recall@10", "ndcg", "p@5"])
    assert result.per_query("map") == {"1": 0.25, "2": 0.5}
    assert result.per_query("mrr") == {"1": 0.5, "2": 0.5}
    assert result.per_query("recall@10") == {"1": 0.5, "2": 1.0}
    assert result.per_query("p@5") == {"1": 0.2, "2": 0.2}
    ideal = 2 + 1 / np.log2(3)
    assert result.per_query("ndcg")["1"] == pytest.approx(1 / np.log2(3) / ideal)


@pytest.mark.plain
def test_unanswered_queries_count_on_request(files):
    result = evaluate_run(*files, measures="map", unanswered="zero")
    assert result.per_query("map") == {"1": 0.25, "2": 0.5, "3": 0.0}


@pytest.mark.plain
def test_intervals_and_threads_of_a_run_are_those_that_are_asked_for(tmp_path):
    rng = np.random.default_rng(0)
    grades, scores = rng.integers(0, 2, (30, 5)), rng.random((30, 5))
    grades[:, 0] = 1
    rows = [(query, name) for query in range(30) for name in range(5)]
    (tmp_path / "qrels").write_text("".join(f"{q} 0 d{n} {grades[q, n]}\n" for q, n in rows))
    (tmp_path / "run").write_text("".join(f"{q} Q0 d{n} 1 {scores[q, n]} t\n" for q, n in rows))
    files = read_qrels(tmp_path / "qrels"), read_run(tmp_path / "run")

    def interval(**options):
        return evaluate_run(*files, measures="map", **options).interval("map")

    narrow, usual, wide = (interval(confidence=confidence) for confidence in (0.5, 0.95, 0.99))
    assert wide[0] < usual[0] < narrow[0] < narrow[1] < usual[1] < wide[1]
    assert interval() == interval(random_state=0) == interval(n_jobs=2) == usual != interval(random_state=1)
    with pytest.raises(PodiumError, match="n_jobs must be None or an integer other than 0"):
        evaluate_run(*files, measures="map", n_jobs=0)


@pytest.mark.plain
def test_scores_equal_in_single_precision_are_ties(tmp_path):
    (tmp_path / "qrels").write_text("1 0 a 1\n1 0 b 0\n")
    (tmp_path / "run").write_text("1 Q0 a 1 1.000000001 t\n1 Q0 b 2 1.0 t\n")
    result = evaluate_run(read_qrels(tmp_path / "qrels"), read_run(tmp_path / "run"), measures="mrr")
    assert result["mrr"] == 0.5


@pytest.mark.plain
def test_no_shared_query_is_refused(tmp_path, files):
    (tmp_path / "other").write_text("q7 Q0 a 1 1 t\n")
    with pytest.raises(PodiumError, match="share no query; the run has 'q7', the judgements '1'"):
        evaluate_run(files[0], read_run(tmp_path / "other"))


@pytest.mark.plain
def test_a_run_or_judgements_of_nothing_are_refused(files):
    qrels, run = files
    none = np.array([], str)
    with pytest.raises(PodiumError, match=r"The run must hold documents of queries; there are none\."):
        evaluate_run(qrels, Run(none, none, np.array([]), "empty"))
    with pytest.raises(PodiumError, match=r"The judgements must hold documents of queries; there are none\."):
        evaluate_run(Qrels(none, none, np.array([])), run)


def by_hand(qrels, run, query):
    """Relevance of a query's documents in trec_eval's order, and how many of them were retrieved."""
    judged = {document: grade for q, document, grade in qrels if q == query}
    found = sorted(((score, document) for q, document, score in run if q == query), reverse=True)
    names = [document for _, document in found]
    rest = [grade for document, grade in judged.items() if document not in names]
    return [judged.get(document, 0) for document in names] + rest, len(names)


@pytest.mark.plain
@pytest.mark.parametrize(("n_names", "n_drawn"), [(5, 3), (30, 15)])
@pytest.mark.parametrize("seed", range(2))
def test_random_runs_equal_the_formulas(tmp_path, seed, n_names, n_drawn):
    """Few documents in many queries, with ties, scores below 0, unjudged, unretrieved and unanswered."""
    rng = np.random.default_rng(seed)
    names = [f"d{number}" for number in range(n_names)]
    qrels = [(f"q{q}", d, int(rng.integers(0, 3))) for q in range(9) for d in rng.permutation(names)[:n_drawn]]
    run = [(f"q{q}", d, float(rng.integers(-2, 2))) for q in range(2, 11) for d in rng.permutation(names)[:n_drawn]]
    (tmp_path / "qrels").write_text("".join(f"{q} 0 {d} {grade}\n" for q, d, grade in qrels))
    (tmp_path / "run").write_text("".join(f"{q} Q0 {d} 1 {score} t\n" for q, d, score in run))
    files = read_qrels(tmp_path / "qrels"), read_run(tmp_path / "run")
    for unanswered, queries in (("skip", range(2, 9)), ("zero", range(9))):
        result = evaluate_run(*files, measures=["map", "recall@2", "p@4", "mrr"], unanswered=unanswered, n_resamples=0)
        assert sorted(result.per_query("map")) == [f"q{q}" for q in queries]
        for q in queries:
            labels, depth = by_hand(qrels, run, f"q{q}")
            places = [place for place, label in enumerate(labels[:depth], 1) if label > 0]
            relevant = max(sum(label > 0 for label in labels), 1)
            precision = sum((j + 1) / place for j, place in enumerate(places)) / relevant
            found = {name: result.per_query(name)[f"q{q}"] for name in result}
            assert found["map"] == pytest.approx(precision)
            assert found["mrr"] == pytest.approx(1 / places[0] if places else 0)
            assert found["recall@2"] == pytest.approx(sum(place <= 2 for place in places) / relevant)
            assert found["p@4"] == pytest.approx(sum(place <= 4 for place in places) / 4)


PAIRS = {
    "map": "map",
    "ndcg": "ndcg",
    "ndcg@10": "ndcg_cut_10",
    "p@10": "P_10",
    "p@1000": "P_1000",
    "recall@100": "recall_100",
    "mrr": "recip_rank",
    "map@100": "map_cut_100",
    "top@5": "success_5",
    "rprec": "Rprec",
    "bpref": "bpref",
    "infap": "infAP",
}


@pytest.mark.plain
def test_measures_of_runs_alone_are_those_that_other_messages_name():
    assert sorted(OF_RUNS) == sorted(JUDGED_MEASURES)


@pytest.mark.parametrize("name", ["InexpC2", "NLPR03vb10", "MU03rob01"])
def test_every_query_equals_trec_eval(shared_data, name):
    pytrec_eval = peer("pytrec_eval")
    folder = shared_data("trec-robust03")
    qrels, run = read_qrels(folder / "qrels.txt.gz"), read_run(folder / "runs" / f"{name}.run.gz")
    compare_with_trec_eval(pytrec_eval, qrels, run)


def compare_with_trec_eval(pytrec_eval, qrels, run):
    """Compare the value of every query and measure with what trec_eval itself computes."""
    judged, retrieved = {}, {}
    for query, document, relevance in zip(qrels.qid, qrels.docid, qrels.relevance, strict=True):
        judged.setdefault(str(query), {})[str(document)] = int(relevance)
    for query, document, score in zip(run.qid, run.docid, run.score, strict=True):
        retrieved.setdefault(str(query), {})[str(document)] = float(score)
    expected = pytrec_eval.RelevanceEvaluator(judged, set(PAIRS.values())).evaluate(retrieved)
    result = evaluate_run(qrels, run, measures=list(PAIRS), n_resamples=0)
    for ours, theirs in PAIRS.items():
        values = result.per_query(ours)
        assert values.keys() == expected.keys()
        for query, value in values.items():
            assert value == pytest.approx(expected[query][theirs], abs=1e-9), (ours, query)


def drawn(seed, lowest):
    """Judgements from `lowest` on and a run, with ties, unjudged and unretrieved documents."""
    rng = np.random.default_rng(seed)
    names = np.array([f"d{number}" for number in range(12)])
    judged = [rng.permutation(names)[: rng.integers(3, 12)] for _ in range(30)]
    found = [rng.permutation(names)[: rng.integers(1, 12)] for _ in range(30)]

    def columns(parts):
        qid = np.repeat([f"q{q}" for q in range(len(parts))], [len(one) for one in parts])
        return qid, np.concatenate(parts)

    qrels, run = columns(judged), columns(found)
    grades = rng.choice([lowest, 0, 1, 2], len(qrels[0]), p=[0.2, 0.4, 0.3, 0.1])
    return Qrels(*qrels, grades), Run(*run, rng.integers(0, 6, len(run[0])).astype(float), "t")


@pytest.mark.parametrize("lowest", [0, -1])
@pytest.mark.parametrize("seed", range(3))
def test_drawn_runs_equal_trec_eval(seed, lowest):
    """A relevance of -1 is a document of the pool that nobody judged."""
    pytrec_eval = peer("pytrec_eval")
    qrels, run = drawn(seed, lowest)
    compare_with_trec_eval(pytrec_eval, qrels, run)


@pytest.mark.plain
@examples(100)
@given(st.lists(st.tuples(st.integers(-1, 2), st.booleans()), min_size=1, max_size=12), st.integers(1, 12))
def test_measures_of_judgements_equal_their_formulas(documents, depth):
    """Documents that were not judged have the relevance 0; those after `depth` were not retrieved."""
    labels = np.array([grade if known else 0 for grade, known in documents], float)
    judged = np.array([known for _, known in documents])
    labels, judged = np.append(labels, 1.0), np.append(judged, True)
    for name, formula in (
        ("rprec", comparing.r_precision),
        ("bpref", comparing.binary_preference),
        ("infap", comparing.inferred_average_precision),
    ):
        value = JUDGED_MEASURES[name].value(JudgedQuery(labels, judged, min(depth, len(labels))))
        assert value == pytest.approx(formula(labels.tolist(), judged.tolist(), min(depth, len(labels)))), name


@pytest.mark.plain
def test_a_query_without_relevant_documents_is_zero_by_measures_of_judgements(tmp_path):
    (tmp_path / "qrels").write_text("1 0 a 0\n2 0 a 1\n")
    (tmp_path / "run").write_text("1 Q0 a 1 1 t\n2 Q0 a 1 1 t\n")
    files = read_qrels(tmp_path / "qrels"), read_run(tmp_path / "run")
    result = evaluate_run(*files, measures=["bpref", "Rprec", "infAP"])
    assert [result.per_query(name) for name in result] == [{"1": 0.0, "2": 1.0}] * 3
    assert result.n_empty("bpref") == 1


@pytest.mark.plain
def test_names_of_trec_eval_stand_as_they_were_given_and_answer_to_ours(files):
    result = evaluate_run(*files, measures=["P_5", "ndcg_cut_10", "recip_rank", "RPREC", "map", "recall.10", "p@10"])
    assert list(result) == ["P_5", "ndcg_cut_10", "recip_rank", "Rprec", "map", "recall.10", "p@10"]
    ours = evaluate_run(*files, measures=["p@5", "ndcg@10", "mrr", "rprec", "map", "recall@10", "p@10"])
    assert [result[name] for name in result] == [ours[name] for name in ours]
    assert result["p@5"] == result["P_5"] == ours["P_5"]
    assert ours["Rprec"] == result["rprec"]
    with pytest.raises(PodiumError, match="'P_20' was not evaluated; measured were P_5"):
        result["P_20"]


@pytest.mark.plain
@pytest.mark.parametrize("name", ["P_0", "P_x", "ndcg_cut", "recip_rank_10"])
def test_names_that_trec_eval_would_not_know_are_refused(files, name):
    with pytest.raises(PodiumError, match=r"measure|k must be"):
        evaluate_run(*files, measures=name)


@pytest.mark.plain
def test_no_measure_is_refused(files):
    with pytest.raises(PodiumError, match="measures must name at least one measure"):
        evaluate_run(*files, measures=[])


@pytest.fixture
def runs(files, tmp_path):
    (tmp_path / "better").write_text("1 Q0 c 1 3 t\n1 Q0 a 2 2 t\n3 Q0 z 1 2 t\n3 Q0 x 2 1 t\n")
    return {"plain": files[1], "better": read_run(tmp_path / "better")}


@pytest.mark.plain
def test_several_runs_are_measured_as_each_alone(files, runs):
    board = evaluate_runs(files[0], runs, measures=["P_5", "map"])
    assert list(board) == ["better", "plain"]
    for name, run in runs.items():
        alone = evaluate_run(files[0], run, measures=["P_5", "map"])
        assert board[name].to_dict()["measures"] == alone.to_dict()["measures"]
    assert board["plain"].per_query("map") == pytest.approx({"1": 0.25, "2": 0.5, "3": np.nan}, nan_ok=True)
    everything = evaluate_runs(files[0], runs, measures="map", unanswered="zero")
    assert everything["better"]["map"] == pytest.approx(1.5 / 3)


@pytest.mark.plain
def test_runs_are_tested_on_the_queries_that_both_answered(files, runs):
    pair = evaluate_runs(files[0], runs, measures="map").against("plain").results["better"]["map"]
    assert (pair.wins, pair.losses, pair.draws) == (1, 0, 0)
    assert (pair.first, pair.second) == (1.0, 0.25)
    assert evaluate_runs(files[0], runs, measures="map").contest().n_queries == 1


@pytest.mark.plain
def test_bad_runs_are_refused(files, runs):
    with pytest.raises(PodiumError, match="runs must map names to runs"):
        evaluate_runs(files[0], {})
    with pytest.raises(PodiumError, match="An option of evaluate_runs must be one of unanswered"):
        evaluate_runs(files[0], runs, convention="trec")
