"""The commands as a newcomer runs them: tables, JSON, and one sentence with exit code 2 on bad input."""

import json
import warnings

import numpy as np
import pytest

from peers import peer
from podium.cli import files as cli_files
from podium.cli import measuring
from podium.data import ranking_data
from podium.rankers import RANKERS

LETOR = "2 qid:1 1:0.5 2:3\n0 qid:1 1:0.1 2:4\n1 qid:2 1:0.9 # docid = b\n0 qid:2 1:0.2 2:1\n"


@pytest.fixture
def run(command_line, tmp_path):
    """Run the command line in a folder with a data file and scores."""
    (tmp_path / "data.txt").write_text(LETOR)
    (tmp_path / "scores.txt").write_text("0.9\n0.1\n0.2\n0.8\n")
    return command_line


def test_data_says_what_there_is_to_learn(run):
    code, out, _ = run("data", "data.txt")
    assert code == 0
    assert "queries with nothing to learn" in out
    content = json.loads(run("data", "data.txt", "--json")[1])
    assert content["feedback"]["n_rows"] == 4
    assert content["feedback"]["label_pairs"] == 2
    assert content["labels"] == {"2.0": 1, "1.0": 1, "0.0": 2}


def test_evaluate_prints_a_table_or_json(run):
    code, out, _ = run("evaluate", "data.txt", "scores.txt", "-m", "mrr")
    assert code == 0
    assert "mrr" in out
    assert "0.7500" in out
    content = json.loads(run("evaluate", "data.txt", "scores.txt", "-m", "mrr", "--json", "--per-query")[1])
    assert content["measures"]["mrr"]["mean"] == 0.75
    assert content["per_query"]["mrr"] == {"1": 1.0, "2": 0.5}


def test_evaluate_takes_the_least_relevant_label_or_the_top_grade(run):
    def rank(*more):
        return run("evaluate", "data.txt", "scores.txt", "-m", "mrr", "--json", *more)

    assert json.loads(rank("--relevant", "2")[1])["measures"]["mrr"]["empty_queries"] == 1
    assert json.loads(rank("--relevant", "top")[1])["measures"]["mrr"]["empty_queries"] == 0
    code, _, error = rank("--relevant", "best")
    assert code == 2
    assert "relevant must be a finite number or \"top\"; got 'best'" in error


def test_evaluate_by_a_feature_and_its_reverse(run):
    up = json.loads(run("evaluate", "data.txt", "--feature", "1", "-m", "pair_loss", "--json")[1])
    down = json.loads(run("evaluate", "data.txt", "--feature", "-1", "-m", "pair_loss", "--json")[1])
    assert up["measures"]["pair_loss"]["mean"] == 0.0
    assert down["measures"]["pair_loss"]["mean"] == 1.0


def test_evaluate_against_a_second_file(run, tmp_path):
    (tmp_path / "other.txt").write_text("0\n1\n0\n1\n")
    content = json.loads(run("evaluate", "data.txt", "scores.txt", "--against", "other.txt", "--json")[1])
    assert content["measures"]["pair_loss"]["difference"] == -0.5


def test_evaluate_reads_csv_and_query_sizes(run, tmp_path):
    peer("pyarrow")
    (tmp_path / "data.csv").write_text("grade,topic,a\n1,x,0.5\n0,x,0.7\n")
    out = run("evaluate", "data.csv", "--label", "grade", "--qid", "topic", "--feature", 1, "-m", "mrr", "--json")
    assert json.loads(out[1])["measures"]["mrr"]["mean"] == 0.5
    (tmp_path / "plain.txt").write_text("1 1:1\n0 1:2\n0 1:5\n1 1:6\n")
    (tmp_path / "plain.query").write_text("2\n2\n")
    out = run("evaluate", "plain.txt", "--query-sizes", "plain.query", "--feature", 1, "-m", "mrr", "--json")
    assert json.loads(out[1])["measures"]["mrr"]["mean"] == 0.75


def test_a_csv_file_of_grades_needs_no_queries(run, tmp_path):
    peer("pyarrow")
    (tmp_path / "stars.csv").write_text("stars,a\n" + "".join(f"{1 + i // 4},{i}\n" for i in range(12)))
    options = ["--label", "stars", "--qid", "", "--ranker", "ORStump", "-o", "m.podium"]
    assert run("train", "stars.csv", *options)[0] == 0
    code, out, _ = run("score", "m.podium", "stars.csv", *options[:4])
    assert (code, out.split()) == (0, sorted(out.split()))
    code, _, err = run("train", "stars.csv", *options[:2], *options[4:])
    assert code == 2
    assert "there is no column 'qid'" in err


def test_one_query_is_said_by_an_empty_qid_and_warned_of_otherwise(run, tmp_path, monkeypatch):
    monkeypatch.setattr(ranking_data, "MAX_ROWS_UNWARNED", 3)
    (tmp_path / "plain.txt").write_text("1 1:3\n0 1:2\n0 1:1\n1 1:4\n0 1:5\n")
    warnings.simplefilter("always")
    command = ["evaluate", "plain.txt", "--feature", "1", "-m", "pair_loss"]
    code, _, err = run(*command)
    assert code == 0
    assert err.startswith("podium: All 5 rows are one query, because neither qid nor group was given;")
    assert err.count("\n") == 1
    assert run(*command, "--qid", "")[2] == ""


def test_evaluation_files_have_query_sizes_of_their_own(run, tmp_path):
    (tmp_path / "plain.txt").write_text(LETOR.replace("qid:1 ", "").replace("qid:2 ", ""))
    (tmp_path / "sizes").write_text("2\n2\n")
    train = ["train", "plain.txt", "-o", "m", "--quiet", "--set", "n_estimators=2", "--query-sizes", "sizes"]
    code, _, err = run(*train, "--eval", "plain.txt")
    assert code == 2
    assert "eval_set[0] must have queries, as the training rows have" in err
    assert run(*train, "--eval", "plain.txt", "--eval-query-sizes", "sizes")[0] == 0
    code, _, err = run(*train, "--eval-query-sizes", "sizes")
    assert code == 2
    assert "Give --eval-query-sizes for each of 0 --eval; got 1." in err


def test_evaluate_run_scores_a_trec_run(run, tmp_path):
    (tmp_path / "qrels").write_text("1 0 a 1\n1 0 b 0\n")
    (tmp_path / "run").write_text("1 Q0 b 1 2.0 t\n1 Q0 a 2 1.0 t\n")
    content = json.loads(run("evaluate-run", "qrels", "run", "-m", "map", "--json")[1])
    assert content["measures"]["map"]["mean"] == 0.5


def test_measures_lists_every_name(run):
    assert "ndcg[@k]" in run("measures")[1]
    assert "pair_loss" in json.loads(run("measures", "--json")[1])


def test_version(run):
    from podium import __version__

    assert run("--version")[1].strip() == __version__


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["data", "absent.txt"], "absent.txt: No such file or directory."),
        (["evaluate", "data.txt"], "Give a file of scores, or --feature N"),
        (["evaluate", "data.txt", "--feature", "9"], "--feature must be 1 to 2"),
        (["evaluate", "data.txt", "short.txt"], "scores must have one value per row: 4 expected, 1 given."),
        (["evaluate", "data.txt", "words.txt"], "words.txt must hold one score a line; value 2 is 'two'."),
        (["evaluate", "data.txt", "scores.txt", "-m", "ndgc@10"], "ndcg"),
        (["evaluate", "broken.txt", "scores.txt"], "broken.txt, line 1:"),
        (
            ["data", "data.txt", "--format", "xml"],
            "--format must be one of auto, letor, csv, parquet; got 'xml'",
        ),
        (["data", "data.txt", "--query-sizes", "short.txt"], "must sum to 4, the rows of data.txt; got 7."),
    ],
)
def test_bad_input_ends_with_a_sentence_and_code_two(run, tmp_path, arguments, message):
    (tmp_path / "short.txt").write_text("7\n")
    (tmp_path / "words.txt").write_text("1\ntwo\n")
    (tmp_path / "broken.txt").write_text("1 qid:1 one:1\n")
    code, out, err = run(*arguments)
    assert code == 2
    assert err.startswith("podium: ")
    assert message in err
    assert len(err.strip().split("\n")) == 1
    assert out == ""


@pytest.mark.parametrize(
    ("message", "sentence"),
    [
        ("Unable to allocate 8.00 GiB for an array", "not enough memory: Unable to allocate 8.00 GiB for an array."),
        ("", "There is not enough memory."),
    ],
)
def test_too_little_memory_ends_with_a_sentence_and_code_two(run, monkeypatch, message, sentence):
    def fail(*_):
        raise MemoryError(message)

    monkeypatch.setattr(measuring, "load_table", fail)
    code, _, err = run("data", "data.txt")
    assert code == 2
    assert err.strip().endswith(sentence)
    assert err.count("\n") == 1


@pytest.mark.plain
def test_missing_features_stand_last():
    from podium.readers import RankingTable

    X = np.array([[np.nan], [1.0], [-5.0]])
    table = RankingTable(X, np.zeros(3), None, None, None)
    assert cli_files.feature_scores(table, 1).tolist() == [-np.inf, 1.0, -5.0]
    assert cli_files.feature_scores(table, -1).tolist() == [-np.inf, -1.0, 5.0]


def write_letor(path, table):
    lines = []
    for x, y, qid in zip(table.X, table.y, table.qid, strict=True):
        cells = " ".join(f"{j + 1}:{value!r}" for j, value in enumerate(x.tolist()))
        lines.append(f"{y:g} qid:{qid} {cells}\n")
    path.write_text("".join(lines))


@pytest.fixture
def files(tmp_path):
    from podium import make_search

    for name, seed in (("train", 0), ("valid", 1)):
        write_letor(tmp_path / f"{name}.txt", make_search(n_queries=20, docs_per_query=10, random_state=seed))


def test_train_and_score_equal_the_library(run, files, tmp_path):
    from podium import RankBoost, load, read_letor

    train = ["train", "train.txt", "-o", "m.podium", "--set", "n_estimators=7", "--set", "criterion=z"]
    code, out, _ = run(*train)
    assert code == 0
    assert "m.podium" in out
    table = read_letor(tmp_path / "train.txt")
    expected = RankBoost(7, criterion="z").fit(table.X, table.y, qid=table.qid).predict(table.X)
    assert [float(line) for line in run("score", "m.podium", "train.txt")[1].split()] == expected.tolist()
    run("score", "m.podium", "train.txt", "-o", "scores.out")
    assert np.loadtxt(tmp_path / "scores.out").tolist() == expected.tolist()
    assert len(load(tmp_path / "m.podium").rounds_) == 7


def test_train_stops_early_and_reports(run, files):
    options = ["--set", "n_estimators=200", "--set", "early_stopping_rounds=3", "--set", 'eval_metric=["ndcg@5","map"]']
    code, out, _ = run("train", "train.txt", "-o", "m.podium", "--eval", "valid.txt", "--json", *options)
    report = json.loads(out)
    assert code == 0
    assert report["rounds"] == report["best_round"] + 3
    assert set(report["measured"]) == {"validation_0 ndcg@5", "validation_0 map"}


def test_train_and_score_with_grades(run, files, tmp_path):
    from podium import AdaBoostOR, read_letor

    options = ["--ranker", "AdaBoostOR", "--set", "n_estimators=5", "--eval", "valid.txt", "--json"]
    code, out, _ = run("train", "train.txt", "-o", "m", *options)
    assert code == 0
    assert set(json.loads(out)["measured"]) == {"validation_0 cost"}
    table, valid = read_letor(tmp_path / "train.txt"), read_letor(tmp_path / "valid.txt")
    expected = AdaBoostOR(n_estimators=5).fit(table.X, table.y, eval_set=[(valid.X, valid.y)]).predict(table.X)
    assert [float(line) for line in run("score", "m", "train.txt")[1].split()] == expected.tolist()


def test_train_and_score_with_a_vote_of_drawn_rows(run, files, tmp_path):
    from podium import BaggingOR, read_letor

    assert run("train", "train.txt", "-o", "m", "--ranker", "BaggingOR", "--set", "n_estimators=5", "--quiet")[0] == 0
    table = read_letor(tmp_path / "train.txt")
    expected = BaggingOR(n_estimators=5).fit(table.X, table.y).predict(table.X)
    assert [float(line) for line in run("score", "m", "train.txt")[1].split()] == expected.tolist()


def test_train_keeps_the_names_of_columns(run, tmp_path):
    peer("pyarrow")
    (tmp_path / "data.csv").write_text("label,qid,price,age\n1,x,0.5,3\n0,x,0.7,2\n0,x,0.9,9\n")
    (tmp_path / "other.csv").write_text("label,qid,cost,age\n1,x,0.5,3\n0,x,0.7,2\n")
    assert run("train", "data.csv", "-o", "m", "--quiet")[0] == 0
    code, _, err = run("score", "m", "other.csv")
    assert code == 2
    assert "'price' is missing" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", "train.txt", "-o", "no/m"], "The folder of no/m does not exist."),
        (["train", "train.txt", "-o", "."], ". is a folder; name a file."),
        (["evaluate", "train.txt", "train.txt", "--feature", "1"], "a file of scores or --feature, not both"),
        (["evaluate", "train.txt", "binary"], "binary must hold one score a line; it looks binary."),
        (["train", "train.txt", "-o", "m", "--set", "n_estimator=3"], "did you mean n_estimators?"),
        (["train", "train.txt", "-o", "m", "--set", "n_estimators"], "--set needs name=value"),
        (["train", "train.txt", "-o", "m", "--set", "n_estimators=few"], "The 'n_estimators' parameter"),
        (["train", "train.txt", "-o", "m", "--set", "weak=" + "[" * 100_000], "--set needs a short value"),
        (["train", "train.txt", "-o", "m", "--set", "n_estimators=" + "9" * 5000], "--set needs a short value"),
        (["train", "train.txt", "-o", "m", "--ranker", "RankBost"], "did you mean RankBoost"),
        (
            ["train", "train.txt", "-o", "m", "--ranker", "ORStump", "--eval", "valid.txt"],
            "ORStump does not take --eval",
        ),
        (["score", "train.txt", "train.txt"], "train.txt: this is not a Podium model file."),
    ],
)
def test_bad_training_input_ends_with_a_sentence_and_code_two(run, files, tmp_path, arguments, message):
    (tmp_path / "binary").write_bytes(bytes(range(128, 256)))
    code, _, err = run(*arguments)
    assert code == 2
    assert message in err
    assert not (tmp_path / "m").exists()


def write_table(path, columns):
    """Write columns by name as CSV or Parquet."""
    import pyarrow.csv
    import pyarrow.parquet

    writer = pyarrow.csv.write_csv if path.suffix == ".csv" else pyarrow.parquet.write_table
    writer(pyarrow.table(columns), path)


@pytest.fixture(params=["csv", "parquet"])
def tables(request, run, tmp_path):
    """Return the file of a model on the columns a and b, its data's columns, and what writes and scores others."""
    peer("pyarrow")
    rng = np.random.default_rng(0)
    a, b = rng.random(30), rng.random(30)
    columns = {"label": np.rint(2 * a), "qid": np.repeat([1, 2, 3], 10), "a": a, "b": b}

    def score(columns, *options):
        write_table(tmp_path / f"new.{request.param}", columns)
        return run("score", "m", f"new.{request.param}", *options)

    write_table(tmp_path / f"data.{request.param}", columns)
    assert run("train", f"data.{request.param}", "-o", "m", "--quiet", "--set", "n_estimators=5")[0] == 0
    return columns, score


@pytest.mark.parametrize("left_out", [["label"], ["qid"], ["label", "qid"]])
def test_new_data_are_scored_without_labels_and_queries(tables, left_out):
    columns, score = tables
    expected = score(columns)
    assert expected[0] == 0
    assert len(expected[1].split()) == 30
    assert score({name: column for name, column in columns.items() if name not in left_out}) == expected


def test_labels_and_queries_of_rows_to_score_are_not_read(tables):
    columns, score = tables
    expected = score(columns)
    assert score({**columns, "label": [None] * 30, "qid": [None] * 30}) == expected
    assert score({**columns, "label": ["unknown"] * 30}) == expected
    named = {"grade": columns["label"], "topic": columns["qid"], "a": columns["a"], "b": columns["b"]}
    assert score(named, "--label", "grade", "--qid", "topic") == expected


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["a"], "'b' is missing (1 such name(s))"),
        (["a", "b", "c"], "'c' is not known (1 such name(s))"),
        (["b", "a"], "they stand in another order"),
        (["label", "qid"], "no column is left for the features beside label, qid"),
        (["grade", "a", "b"], "'grade' is not known"),
    ],
)
def test_columns_that_the_model_does_not_have_are_one_sentence(tables, names, message):
    columns, score = tables
    code, out, err = score({name: columns.get(name, columns["a"]) for name in names})
    assert (code, out) == (2, "")
    assert message in err
    assert len(err.strip().split("\n")) == 1


def test_a_feature_of_the_model_is_one_whatever_its_name(run, tmp_path):
    peer("pyarrow")
    (tmp_path / "data.csv").write_text("grade,qid,a\n1,5,0\n0,4,1\n0,3,0\n1,6,1\n")
    assert run("train", "data.csv", "-o", "m", "--label", "grade", "--qid", "", "--quiet")[0] == 0
    expected = run("score", "m", "data.csv", "--label", "grade", "--qid", "")
    (tmp_path / "new.csv").write_text("qid,a\n5,0\n4,1\n3,0\n6,1\n")
    assert expected[0] == 0
    assert run("score", "m", "new.csv") == expected


def test_an_export_is_checked_on_data_without_labels(run, tmp_path):
    peer("pyarrow")
    (tmp_path / "data.csv").write_text("label,qid,a\n1,x,5\n0,x,4\n0,x,3\n")
    (tmp_path / "new.csv").write_text("qid,a\nx,5\nx,4\ny,4\n")
    assert run("train", "data.csv", "-o", "m", "--quiet")[0] == 0
    code, out, _ = run("export", "m", "--format", "sql", "-o", "m.sql", "--check", "new.csv", "--json")
    assert (code, json.loads(out)["n_queries"]) == (0, 2)


TRAINED = {
    "RankBoost": ["n_estimators=2"],
    "RankBoostPlus": ["n_estimators=2"],
    "LambdaMART": ["n_estimators=2"],
    "MART": ["n_estimators=2"],
    "RankNet": ["n_estimators=2", "hidden=[4, 3]"],
    "LambdaRank": ["n_estimators=2", "hidden=[]"],
    "PNormPush": ["n_estimators=2"],
    "InfinitePush": ["alpha=1e-05"],
    "PairBoost": ["n_estimators=2"],
    "L2Boost": ["n_estimators=2"],
    "L1Boost": ["n_estimators=2"],
    "PreferenceRegression": [],
    "NearestNeighbor": [],
    "VectorSimilarity": [],
    "LinearPlackettLuce": [],
    "RankSVM": ["penalty=l1"],
    "RankRLS": [],
    "PlugInRanker": [],
    "GradientFreeBoost": ["n_estimators=2", "singular_every=2"],
    "AdaBoostOR": ["n_estimators=2"],
    "BaggingOR": ["n_estimators=2"],
    "ORStump": [],
    "ORBoost": ["n_estimators=2"],
    "PRank": ["epochs=2"],
    "SVOR": ["kernel=linear"],
    "OrdinalThresholds": ["folds=null"],
    "TreeRank": [],
    "TreeRankForest": ["n_estimators=2"],
    "TreeRankTournament": ["n_estimators=1"],
    "RankOver": [],
    "CRank": [],
}
"""Every ranker that can be trained from the command line, with what makes that quick."""
NOT_TRAINED = {
    "ExtendedBinary": "A model file holds rankers of Podium only; HistGradientBoostingClassifier is not one of them",
    "ImportedTrees": "ImportedTrees cannot be trained, it is read by import_model",
    "ImportedLinear": "ImportedLinear cannot be trained, it is read by import_model",
}
"""All others, and why not."""


@pytest.mark.parametrize("name", RANKERS)
def test_every_ranker_is_trained_and_scores_or_is_refused_before_data_are_read(run, files, name, tmp_path):
    if name in NOT_TRAINED:
        code, out, err = run("train", "no such file", "-o", "m", "--ranker", name)
        assert (code, out) == (2, "")
        assert NOT_TRAINED[name] in err
        assert len(err.strip().split("\n")) == 1
        assert not (tmp_path / "m").exists()
        return
    settings = [part for one in TRAINED[name] for part in ("--set", one)]
    assert run("train", "train.txt", "-o", "m", "--ranker", name, "--quiet", *settings)[0] == 0
    assert run("score", "m", "valid.txt")[0] == 0


def test_files_are_read_like_the_one_that_was_trained_on(run, tmp_path):
    """A file that leaves out the last features, or stores more of its cells, has the same columns and gaps."""
    rng = np.random.default_rng(0)
    lines = {"sparse": [], "denser": []}
    for name, share in (("sparse", 0.01), ("denser", 0.03)):
        for row in range(300):
            present = [j for j in range(1, 200) if rng.random() < share] + ([200] if name == "sparse" else [])
            cells = " ".join(f"{j}:1" for j in sorted({*present, *([1, 2] if row % 2 else [])}))
            lines[name].append(f"{row % 2} qid:{row // 10} {cells}\n")
        (tmp_path / f"{name}.txt").write_text("".join(lines[name]))
    assert run("train", "sparse.txt", "-o", "m", "--eval", "denser.txt", "--quiet")[0] == 0
    assert run("score", "m", "denser.txt", "-o", "scores")[0] == 0
    content = json.loads(run("evaluate", "denser.txt", "scores", "-m", "pair_loss", "--json")[1])
    assert content["measures"]["pair_loss"]["mean"] < 0.05


def test_eval_file_with_other_columns_is_refused(run, tmp_path):
    peer("pyarrow")
    (tmp_path / "a.csv").write_text("label,qid,x,y\n1,q,1,2\n0,q,2,1\n")
    (tmp_path / "b.csv").write_text("label,qid,y,x\n1,q,1,2\n0,q,2,1\n")
    code, _, err = run("train", "a.csv", "-o", "m", "--eval", "b.csv")
    assert code == 2
    assert "they stand in another order" in err


def test_export_writes_a_file_and_says_what_changes(run, files, tmp_path):
    run("train", "train.txt", "-o", "m.podium", "--set", "n_estimators=5", "--quiet")
    code, out, _ = run("export", "m.podium", "--format", "sql", "--out", "m.sql")
    assert (code, out) == (0, "model: m.sql\n")
    assert "CASE WHEN" in (tmp_path / "m.sql").read_text()
    setting = ["--set", "missing=absent"]
    code, out, _ = run("export", "m.podium", "--format", "ranklib", "-o", "m.txt", "--check", "train.txt", *setting)
    assert code == 0
    assert out.startswith("ranklib: 0 of 199 scores change")
    assert (tmp_path / "m.txt").read_text().startswith("## RankBoost")
    report = run("export", "m.podium", "--format", "onnx", "-o", "m.onnx", "--check", "train.txt", "--json")[1]
    assert json.loads(report)["n_queries"] == 20


def test_export_takes_names_from_a_file(run, files, tmp_path):
    from podium import load

    run("train", "train.txt", "-o", "m.podium", "--set", "n_estimators=5", "--quiet")
    n_features = load(tmp_path / "m.podium").n_features_in_
    (tmp_path / "names.txt").write_text("".join(f"column {i}\n" for i in range(n_features)))
    assert run("export", "m.podium", "--format", "sql", "-o", "m.sql", "--feature-names", "names.txt")[0] == 0
    assert '"column ' in (tmp_path / "m.sql").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--format", "sqll", "-o", "m.sql"], "did you mean sql?"),
        (["--format", "sql", "-o", "no/m.sql"], "The folder of no/m.sql does not exist."),
        (["--format", "sql", "-o", "m.sql", "--set", "path=x"], "The format sql takes no options"),
        (["--format", "scorecard", "-o", "m.pdf"], "The ending of a scorecard must be one of csv, html; got 'pdf'"),
    ],
)
def test_bad_exports_end_with_a_sentence_and_code_two(run, files, tmp_path, arguments, message):
    run("train", "train.txt", "-o", "m.podium", "--set", "n_estimators=5", "--quiet")
    code, _, err = run("export", "m.podium", *arguments)
    assert code == 2
    assert message in err
    assert len(err.strip().split("\n")) == 1
