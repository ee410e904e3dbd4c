"""Real files: their known counts, and scikit-learn's reading of them."""

import numpy as np
import pytest

from podium import read_letor, read_qrels, read_query_sizes, read_run


def test_mq2008_has_its_rows_queries_and_features(shared_data):
    tables = [read_letor(shared_data(f"mq2008/Fold{fold}/test.txt.gz")) for fold in range(1, 6)]
    assert sum(len(table.y) for table in tables) == 15211
    assert len(np.unique(np.concatenate([table.qid for table in tables]))) == 784
    assert {table.X.shape[1] for table in tables} == {46}
    assert set(np.concatenate([table.y for table in tables])) == {0, 1, 2}
    assert all(table.docid.dtype.kind == "U" for table in tables)
    assert tables[0].docid[0] == "GX004-93-7097963"


@pytest.mark.parametrize("name", ["mq2008/Fold1/vali.txt.gz", "lightgbm-example/rank.test.gz"])
def test_equals_scikit_learn_on_real_files(shared_data, name):
    from sklearn.datasets import load_svmlight_file

    X, y, qid = load_svmlight_file(str(shared_data(name)), query_id=True, zero_based=False)
    table = read_letor(shared_data(name))
    np.testing.assert_array_equal(table.X, X.toarray())
    np.testing.assert_array_equal(table.y, y)
    assert (table.qid is None) == (len(qid) == 0)
    np.testing.assert_array_equal(table.qid if table.qid is not None else qid, qid)


def test_lightgbm_sizes_cover_the_rows_of_its_file(shared_data):
    table = read_letor(shared_data("lightgbm-example/rank.train.gz"))
    sizes = read_query_sizes(shared_data("lightgbm-example/rank.train.query"))
    assert table.qid is None
    assert sizes.sum() == len(table.y) == 3005


def test_robust03_has_its_topics(shared_data):
    folder = shared_data("trec-robust03")
    qrels = read_qrels(folder / "qrels.txt.gz")
    runs = {path.name: read_run(path) for path in sorted((folder / "runs").iterdir())}
    assert len(np.unique(qrels.qid)) == 100
    assert len(runs) == 17
    assert all(set(run.qid) <= set(qrels.qid) for run in runs.values())
    first = runs["InexpC2.run.gz"]
    assert (first.qid[0], first.docid[0], first.score[0]) == ("303", "LA071090-0047", 49.19109429178723)
    assert first.tag == "InexpC2"
