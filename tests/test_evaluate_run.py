"""A run against judgements: by hand, and digit for digit as trec_eval."""

import numpy as np
import pytest

from peers import peer
from podium import PodiumError, evaluate_run, read_qrels, read_run

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
}


@pytest.mark.parametrize("name", ["InexpC2", "NLPR03vb10", "MU03rob01"])
def test_every_query_equals_trec_eval(shared_data, name):
    pytrec_eval = peer("pytrec_eval")
    folder = shared_data("trec-robust03")
    qrels, run = read_qrels(folder / "qrels.txt.gz"), read_run(folder / "runs" / f"{name}.run.gz")
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
