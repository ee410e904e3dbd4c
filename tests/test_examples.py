"""The examples run on small made data, and what they show is so."""

import gzip
import importlib.util
import re
import sys
from pathlib import Path

import numpy as np
import pytest

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


def example(name):
    """Import an example by its file name."""
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_examples_import_from_the_doors_of_rooms():
    texts = [path.read_text("utf-8") for path in EXAMPLES.glob("*.py")]
    imported = {name for text in texts for name in re.findall(r"^\s*(?:from|import) (podium\S*)", text, re.M)}
    assert {"podium", "podium.pairs"} <= imported
    assert [name for name in sorted(imported) if name.count(".") > 1] == []


@pytest.fixture(scope="module")
def metasearch():
    return example("metasearch")


@pytest.fixture(scope="module")
def movies():
    return example("movies")


def write_trec(folder, task):
    """Write a task of made systems as judgements and runs; the score is the place, negated."""
    (folder / "runs").mkdir()
    document = [f"d{i}" for i in range(len(task.y))]
    with gzip.open(folder / "qrels.txt.gz", "wt") as file:
        file.writelines(f"{q} 0 {d} {int(y)}\n" for q, d, y in zip(task.qid, document, task.y, strict=True))
    for column, name in zip(task.X.T, task.systems, strict=True):
        with gzip.open(folder / "runs" / f"{name.replace(' ', '_')}.run.gz", "wt") as file:
            for row in np.flatnonzero(~np.isnan(column)):
                file.write(f"{task.qid[row]} Q0 {document[row]} 0 {column[row]} {name.replace(' ', '_')}\n")


def test_metasearch_is_above_the_best_single_system_on_made_systems(metasearch, capsys):
    outcome = metasearch.main(["--queries", "16", "--rounds", "30"])
    assert outcome.comparison["map"].difference > 0
    assert outcome.comparison["disagreement"].difference < 0
    assert len(outcome.chosen) == metasearch.FOLDS
    printed = capsys.readouterr().out
    for name in ("map", "disagreement"):
        assert name in printed
        assert f"{abs(outcome.comparison[name].difference):.4f}"[:5] in printed


def test_metasearch_folds_test_each_query_once_and_never_train_on_it(metasearch):
    task = metasearch.make_systems(n_queries=12, n_docs=60, n_systems=3)
    tested = []
    for train, test in metasearch.folds(task.qid):
        assert not set(task.qid[train]) & set(task.qid[test])
        assert set(task.qid[train]) | set(task.qid[test]) == set(task.qid)
        tested += np.arange(len(task.qid))[test].tolist()
    assert sorted(tested) == list(range(len(task.qid)))  # every row is tested once


def test_metasearch_reads_from_trec_files_what_was_written_to_them(metasearch, tmp_path):
    made = metasearch.make_systems(n_queries=5, n_docs=60, n_systems=3, seed=1)
    write_trec(tmp_path, made)
    read = metasearch.read_systems(tmp_path)
    assert read.systems == [name.replace(" ", "_") for name in made.systems]

    def content(task):
        rows = zip(task.qid.astype(str), task.y, np.nan_to_num(task.X), strict=True)
        return sorted((q, y, *x.tolist()) for q, y, x in rows)

    assert content(read) == content(made)


def test_metasearch_without_runs_ends_with_a_sentence(metasearch, tmp_path):
    (tmp_path / "qrels.txt.gz").write_bytes(gzip.compress(b"1 0 d 1\n"))
    with pytest.raises(SystemExit, match=r"There must be files \*\.run\.gz in"):
        metasearch.main([str(tmp_path)])


def test_movies_rankboost_disagrees_less_than_neighbor_and_similarity_with_many_ratings(movies, capsys):
    means = movies.main(["--targets", "3", "--ratings", "200"])
    assert list(means) == list(movies.RANKERS)
    disagreement = {name: values["disagreement"] for name, values in means.items()}
    assert disagreement["RankBoost"] < disagreement["vector similarity"] < disagreement["nearest neighbor"] < 0.5
    assert all(0 <= value <= 1 for values in means.values() for value in values.values())
    assert "vector similarity" in capsys.readouterr().out


def test_movies_measures_take_the_highest_rating_as_good(movies):
    found = movies.quality(np.array([4.0, 2.0, 4.0, 1.0]), np.array([3.0, 4.0, 2.0, 1.0]))
    assert found == pytest.approx({"disagreement": 2 / 5, "map": (1 / 2 + 2 / 3) / 2, "prot": 1 / 2, "coverage": 2 / 3})


def test_movies_reads_ratings_and_keeps_targets_out_of_the_features(movies, tmp_path):
    lines = [f"{user}\t{movie}\t{1 + (user + movie) % 5}\t0\n" for user in range(1, 6) for movie in range(1, 9)]
    (tmp_path / "u.data.gz").write_bytes(gzip.compress("".join(lines).encode()))
    targets = list(movies.read_targets(tmp_path, n_targets=2, n_ratings=8))
    assert [(target.X.shape, target.y.shape) for target in targets] == [((8, 3), (8,))] * 2
    columns = np.column_stack([targets[0].X, *(target.y for target in targets)])
    expected = 1 + (np.arange(1, 6) + np.arange(1, 9)[:, None]) % 5
    assert sorted(columns.T.tolist()) == sorted(expected.T.tolist())


def test_own_weak_learner_is_used_and_helps_beside_stumps(capsys):
    own = example("own_weak_learner")
    means = own.main(["--ratings", "40", "--people", "4"])[40]
    assert means["both"] < means["stumps"] < 0.5
    assert "vector similarity" in capsys.readouterr().out


def test_own_weak_learner_chooses_among_stumps_and_similarity():
    own = example("own_weak_learner")
    made = own.make_preferences(80, 30, missing=0.5)
    rounds = own.RANKERS["both"]().fit(made.X, made.y).rounds_
    kinds = {type(done.ranking).__name__ for done in rounds}
    assert kinds == {"Stump", "Similarity"}
    assert all(done.Z <= 1 for done in rounds)
