"""Every option of the command line changes what it says, and nothing is read by another name."""

import gzip
import json
import warnings

import numpy as np
import pytest

from peers import peer
from podium import NearestNeighbor, RankBoost, evaluate, load, read_letor
from podium._validation import PodiumError
from podium.cli import exchange, files, training
from podium.cli.options import setting
from podium.report import export_report
from reference.foreign_files import LAMBDAMART, RANKBOOST, WEIGHTS

pytestmark = pytest.mark.plain

LETOR = (
    "2 qid:1 1:0.5 2:3\n0 qid:1 1:0.1 2:4\n1 qid:1 1:0.3 2:4\n"
    "1 qid:2 1:0.9 2:2 # docid = b\n0 qid:2 1:0.2 2:1\n0 qid:2 1:0.95 2:1\n"
)
PLAIN = LETOR.replace("qid:1 ", "").replace("qid:2 ", "")
CSV = "grade,topic,a,b\n2,x,0.5,3\n0,x,0.1,4\n1,x,0.3,4\n1,y,0.9,2\n0,y,0.2,1\n0,y,0.95,1\n"
COLUMNS = ["--label", "grade", "--qid", "topic"]
QUICK = ["--set", "n_estimators=3", "--quiet"]


@pytest.fixture
def run(command_line, tmp_path):
    """Run the command line in a folder of small files."""
    files = {"data.txt": LETOR, "plain.txt": PLAIN, "data.csv": CSV, "table": CSV, "scores": "3\n1\n2\n1\n1\n2\n"}
    files |= {"other": "1\n2\n3\n3\n2\n1\n", "sizes": "3\n3\n", "one": "6\n", "short": "3\n2\n"}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    return command_line


@pytest.fixture
def content(run):
    """Run a command that prints JSON and return what it says."""

    def call(*arguments):
        code, out, _ = run(*arguments, "--json")
        assert code == 0
        return json.loads(out, parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))

    return call


def test_evaluate_passes_its_options_on(content, tmp_path):
    table, scores = read_letor(tmp_path / "data.txt"), np.loadtxt(tmp_path / "scores")
    options = {
        "none": ([], {}),
        "ties": (["--ties", "pessimistic"], {"ties": "pessimistic"}),
        "stable": (["--ties", "stable"], {"ties": "stable"}),
        "relevant": (["--relevant", "1.5"], {"relevant": 1.5}),
        "top": (["--relevant", "top"], {"relevant": "top"}),
        "convention": (["--convention", "lightgbm"], {"convention": "lightgbm"}),
    }
    found = {}
    for name, (given, same) in options.items():
        measures = ["ndcg@2", "map", "mrr"]
        said = content("evaluate", "data.txt", "scores", *given, *(part for one in measures for part in ("-m", one)))
        assert (
            said["measures"]
            == evaluate(table.y, scores, qid=table.qid, measures=measures, **same).to_dict()["measures"]
        )
        found[name] = said["measures"]
    for name in ("ties", "relevant"):
        assert found[name] != found["none"]


def test_evaluate_against_subtracts_the_second_file(content, tmp_path):
    said = content("evaluate", "data.txt", "scores", "--against", "other", "-m", "ndcg@3")["measures"]["ndcg@3"]
    table = read_letor(tmp_path / "data.txt")
    means = [
        evaluate(table.y, np.loadtxt(tmp_path / name), qid=table.qid, measures="ndcg@3", n_resamples=0).to_dict()
        for name in ("scores", "other")
    ]
    one, two = (mean["measures"]["ndcg@3"]["mean"] for mean in means)
    assert said["difference"] == pytest.approx(one - two)
    assert one != two


def test_per_query_prints_each_query(run, content, tmp_path):
    assert "per_query" not in content("evaluate", "data.txt", "scores", "-m", "mrr")
    assert content("evaluate", "data.txt", "scores", "-m", "mrr", "--per-query")["per_query"] == {
        "mrr": {"1": 1.0, "2": 0.5 * (1 / 2 + 1 / 3)}
    }
    (tmp_path / "qrels").write_text("7 0 a 1\n7 0 b 0\n8 0 a 1\n")
    (tmp_path / "run").write_text("7 Q0 b 1 2.0 t\n7 Q0 a 2 1.0 t\n8 Q0 a 1 1.0 t\n")
    said = content("evaluate-run", "qrels", "run", "-m", "map", "-m", "p@1", "--per-query")
    assert said["per_query"] == {"map": {"7": 0.5, "8": 1.0}, "p@1": {"7": 0.0, "8": 1.0}}
    assert "per_query" not in content("evaluate-run", "qrels", "run")
    for command in (["evaluate", "data.txt", "scores", "-m", "mrr"], ["evaluate-run", "qrels", "run", "-m", "map"]):
        short, long = run(*command)[1], run(*command, "--per-query")[1]
        assert len(long.splitlines()) > len(short.splitlines())


def test_query_sizes_make_queries_in_every_command(content):
    sizes = ["--query-sizes", "sizes"]
    assert content("data", "plain.txt", *sizes)["feedback"]["n_queries"] == 2
    assert content("data", "plain.txt", "--query-sizes", "one")["feedback"]["n_queries"] == 1
    said = content("evaluate", "plain.txt", "scores", "-m", "pair_loss", *sizes)
    assert said == content("evaluate", "data.txt", "scores", "-m", "pair_loss")
    found = []
    for command in (
        ["train", "data.txt"],
        ["train", "plain.txt", *sizes],
        ["train", "plain.txt", "--query-sizes", "one"],
    ):
        content(*command, "-o", "m", "--set", "n_estimators=3")
        found.append(load("m").predict([[0.5, 3], [0.1, 4], [0.9, 2]]).tolist())
    assert found[0] == found[1] != found[2]


@pytest.mark.parametrize("command", [["data", "plain.txt"], ["evaluate", "plain.txt", "scores"]])
def test_sizes_must_sum_to_the_rows(run, tmp_path, command):
    (tmp_path / "long").write_text("3\n4\n")
    for name, total in (("short", 5), ("long", 7)):
        code, _, err = run(*command, "--query-sizes", name)
        assert code == 2
        assert err == f"podium: The sizes in {name} must sum to 6, the rows of plain.txt; got {total}.\n"


def test_format_label_and_qid_say_how_any_file_is_read(run, content, tmp_path):
    peer("pyarrow")
    as_csv = ["--format", "csv", *COLUMNS]
    assert content("data", "table", *as_csv)["feedback"]["n_queries"] == 2
    said = content("evaluate", "table", "scores", "-m", "mrr", *as_csv)
    assert said == content("evaluate", "data.csv", "scores", "-m", "mrr", *COLUMNS)
    assert said["measures"] == content("evaluate", "data.txt", "scores", "-m", "mrr")["measures"]
    train = ["train", "table", "-o", "m", *QUICK, "--eval", "table", *as_csv]
    assert run(*train)[0] == 0
    expected = run("score", "m", "data.csv", *COLUMNS)
    assert expected[0] == 0
    assert len(expected[1].split()) == 6
    assert run("score", "m", "table", *as_csv) == expected
    code, out, _ = run("export", "m", "--format", "sql", "-o", "m.sql", "--check", "table", "--check-format", "csv",
                       *COLUMNS, "--json")  # fmt: skip
    assert (code, json.loads(out)["n_queries"]) == (0, 2)
    (tmp_path / "letor.csv").write_text(LETOR)
    assert content("data", "letor.csv", "--format", "letor")["feedback"]["n_rows"] == 6
    for other in (["data", "table", *COLUMNS], ["data", "data.csv"], ["score", "m", "table", *COLUMNS]):
        assert run(*other)[0] == 2


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("data.csv", "csv"),
        ("data.CSV", "csv"),
        ("data.csv.gz", "csv"),
        ("data.gz.csv", "csv"),
        ("data.txt.csv", "csv"),
        ("data.csv.txt", "letor"),
        ("data.parquet", "parquet"),
        ("data.Parquet.gz", "parquet"),
        ("data.txt", "letor"),
        ("data", "letor"),
        ("data.gz", "letor"),
        ("data.csv.xz", "csv"),
        ("data.csv.zst", "csv"),
        ("v1.csv/data", "letor"),
    ],
)
def test_the_ending_names_the_format(name, kind, tmp_path):
    assert files.format_of(tmp_path / name) == kind


def test_a_packed_csv_file_is_read_by_its_ending(content, tmp_path):
    peer("pyarrow")
    (tmp_path / "data.csv.gz").write_bytes(gzip.compress(CSV.encode()))
    assert content("data", "data.csv.gz", *COLUMNS)["feedback"]["n_rows"] == 6


def test_settings_are_json_or_words():
    cases = {
        "a=1": 1, "a=1.5": 1.5, "a=true": True, "a=null": None, "a=None": None, "a=True": True, "a=False": False,
        "a=[1, 2]": [1, 2], "a=z": "z", "a=": "", "a=b=c": "b=c", 'a="1"': "1", "a=1e2": 100.0,
    }  # fmt: skip
    for text, value in cases.items():
        found = setting(text)
        assert found == ("a", value)
        assert type(found[1]) is type(value)
    with pytest.raises(PodiumError, match="--set needs name=value"):
        setting("a")


def test_set_changes_the_parameter_it_names(run):
    given = ["--set", "n_estimators=2", "--set", "cumulative=True", "--set", "max_bins=None", "--set", "criterion=z"]
    assert run("train", "data.txt", "-o", "m", "--quiet", *given)[0] == 0
    found = load("m").get_params()
    wanted = {"n_estimators": 2, "cumulative": True, "max_bins": None, "criterion": "z"}
    assert {name: found[name] for name in wanted} == wanted
    assert run("train", "data.txt", "-o", "m", "--ranker", "NearestNeighbor", "--set", "n_neighbors=2")[0] == 0
    assert isinstance(load("m"), NearestNeighbor)
    assert load("m").n_neighbors == 2


@pytest.mark.parametrize(("given", "verbose"), [([], 1), (["--quiet"], 0), (["--json"], 0)])
def test_a_bar_is_shown_unless_quiet_or_json(run, monkeypatch, given, verbose):
    made = []
    make = training.make_ranker
    monkeypatch.setattr(training, "make_ranker", lambda *args, **more: made.append(make(*args, **more)) or made[-1])
    assert run("train", "data.txt", "-o", "m", "--set", "n_estimators=1", *given)[0] == 0
    assert made[0].verbose == verbose


def test_evaluation_files_are_measured_in_their_order(content, tmp_path):
    (tmp_path / "swapped.txt").write_text(LETOR.replace("2 qid:1", "0 qid:1", 1))
    files = ["--eval", "data.txt", "--eval", "swapped.txt"]
    said = content("train", "data.txt", "-o", "m", "--set", "n_estimators=3", *files, "--set", "eval_metric=ndcg@2")
    tables = [read_letor(tmp_path / name) for name in ("data.txt", "swapped.txt")]
    model = RankBoost(3, eval_metric="ndcg@2").fit(
        tables[0].X,
        tables[0].y,
        qid=tables[0].qid,
        eval_set=[(table.X, table.y) for table in tables],
        eval_qid=[table.qid for table in tables],
    )
    assert set(said["measured"]) == {"data.txt ndcg@2", "swapped.txt ndcg@2"}
    assert list(load("m").evals_result_.values()) == list(model.evals_result_.values())
    assert said["measured"]["data.txt ndcg@2"] != said["measured"]["swapped.txt ndcg@2"]


def test_each_evaluation_file_has_its_own_sizes(run, content):
    train = ["train", "plain.txt", "-o", "m", "--set", "n_estimators=2", "--query-sizes", "sizes"]
    files = ["--eval", "plain.txt", "--eval", "plain.txt"]
    given = content(*train, *files, "--eval-query-sizes", "sizes", "--eval-query-sizes", "one")["measured"]
    assert len(given) == 2
    for count in (1, 3):
        code, _, err = run(*train, *files, *["--eval-query-sizes", "sizes"] * count)
        assert (code, err) == (2, f"podium: Give --eval-query-sizes for each of 2 --eval; got {count}.\n")


def test_evaluation_files_have_the_columns_of_the_training_file(run, tmp_path):
    (tmp_path / "fewer.txt").write_text("1 qid:1 1:0.5\n0 qid:1 1:0.1\n")
    assert run("train", "data.txt", "-o", "m", *QUICK, "--eval", "fewer.txt")[0] == 0
    code, out, _ = run("score", "m", "fewer.txt")
    assert code == 0
    expected = load("m").predict([[0.5, 0.0], [0.1, 0.0]])
    assert [float(line) for line in out.split()] == expected.tolist()


def sparse_and_dense(tmp_path):
    """A file that is sparse by itself, and one of the same columns that is not."""
    lines = [f"{row % 2} qid:{row // 4} {1 + row % 2}:1 {60 + row}:1 200:1\n" for row in range(12)]
    (tmp_path / "sparse.txt").write_text("".join(lines))
    dense = [f"{row % 2} qid:{row // 4} " + " ".join(f"{j}:1" for j in range(1 + row % 2, 30)) for row in range(12)]
    (tmp_path / "dense.txt").write_text("\n".join(dense))


def test_absent_cells_mean_the_same_in_evaluation_and_scoring_as_in_training(run, tmp_path):
    sparse_and_dense(tmp_path)
    assert run("train", "sparse.txt", "-o", "m", *QUICK, "--eval", "dense.txt")[0] == 0
    model = load("m")
    scores = [float(line) for line in run("score", "m", "dense.txt")[1].split()]
    like = read_letor(tmp_path / "dense.txt", sparse=True, n_features=200)
    assert scores == model.predict(like.X).tolist()
    table = read_letor(tmp_path / "sparse.txt")
    found = [
        RankBoost(3)
        .fit(table.X, table.y, qid=table.qid, eval_set=[(X, like.y)], eval_qid=[like.qid], eval_names=["dense.txt"])
        .evals_result_
        for X in (like.X, like.X.toarray())
    ]
    assert model.evals_result_ == found[0] != found[1]
    assert run("train", "dense.txt", "-o", "m", *QUICK)[0] == 0
    (tmp_path / "few.txt").write_text("1 qid:1 1:1\n0 qid:1 2:1\n")
    scores = [float(line) for line in run("score", "m", "few.txt")[1].split()]
    assert scores == load("m").predict(read_letor(tmp_path / "few.txt", sparse=False, n_features=29).X).tolist()


def test_pairs_count_with_their_weights(run, tmp_path):
    (tmp_path / "pairs").write_text("1 0 9\n4 3 1\n2 5 0.5\n")
    assert run("train", "data.txt", "-o", "m", *QUICK, "--pairs", "pairs")[0] == 0
    table = read_letor(tmp_path / "data.txt")
    pairs = ([1, 4, 2], [0, 3, 5], [9.0, 1.0, 0.5])
    expected = RankBoost(3).fit(table.X, table.y, qid=table.qid, pairs=pairs)
    np.testing.assert_array_equal(load("m").predict(table.X), expected.predict(table.X))
    without = RankBoost(3).fit(table.X, table.y, qid=table.qid, pairs=pairs[:2])
    assert without.predict(table.X).tolist() != expected.predict(table.X).tolist()


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["data", "absent"], "absent: No such file or directory."),
        (["train", "absent", "-o", "no/m"], "The folder of no/m does not exist."),
        (["export", "absent", "--format", "sql", "-o", "no/m"], "The folder of no/m does not exist."),
        (["import", "absent", "-o", "no/m"], "The folder of no/m does not exist."),
        (
            ["evaluate", "data.txt", "scores", "--feature", "1"],
            "Give models and files of scores or --feature, not both.",
        ),
        (["evaluate", "data.txt", "--feature", "3"], "--feature must be 1 to 2, or negative to reverse it; got 3."),
        (["evaluate", "data.txt", "--feature", "0"], "--feature must be 1 to 2, or negative to reverse it; got 0."),
        (["evaluate", "data.txt", "words"], "words must hold one score a line; value 3 is 'two'."),
        (["train", "data.txt", "-o", "m", "--ranker", "ORStump", "--pairs", "sizes"], None),
    ],
)
def test_bad_input_is_one_line_of_error_output_and_code_two(run, tmp_path, command, said):
    (tmp_path / "words").write_text("0\n1\ntwo\n")
    code, out, err = run(*command)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert err == f"podium: {said}\n" if said else err.startswith("podium: ")
    assert not (tmp_path / "m").exists()


def test_the_first_and_the_last_feature_can_be_ranked_by(content, tmp_path):
    table = read_letor(tmp_path / "data.txt")
    for number in (1, -1, 2, -2):
        said = content("evaluate", "data.txt", "--feature", number, "-m", "pair_loss")
        scores = np.sign(number) * table.X[:, abs(number) - 1]
        assert said["measures"] == evaluate(table.y, scores, qid=table.qid, measures="pair_loss").to_dict()["measures"]


@pytest.mark.filterwarnings("ignore:pair_loss is undefined")
def test_an_undefined_mean_is_null_in_json(content, tmp_path):
    (tmp_path / "flat.txt").write_text("0 qid:1 1:1\n0 qid:1 1:2\n")
    said = content("evaluate", "flat.txt", "--feature", "1", "-m", "pair_loss")
    assert said["measures"]["pair_loss"]["mean"] is None


def test_warnings_are_lines_of_error_output(run, monkeypatch, tmp_path):
    monkeypatch.setattr("podium.data.ranking_data.MAX_ROWS_UNWARNED", 3)
    (tmp_path / "plain.txt").write_text(PLAIN.replace("\n2 ", "\n1 ").replace("2 1:0.5", "1 1:0.5"))
    warnings.simplefilter("always")
    code, out, err = run("evaluate", "plain.txt", "scores", "-m", "mrr")
    assert code == 0
    assert err.startswith("podium: All 6 rows are one query")
    assert "one query" not in out
    assert run("evaluate", "plain.txt", "scores", "-m", "mrr", "--qid", "")[2] == ""


def test_score_needs_no_labels_and_no_queries_by_their_names(run, tmp_path):
    peer("pyarrow")
    assert run("train", "data.csv", "-o", "m", *QUICK, *COLUMNS)[0] == 0
    expected = run("score", "m", "data.csv", *COLUMNS)
    (tmp_path / "new.csv").write_text("\n".join(line.split(",", 2)[2] for line in CSV.split()))
    assert run("score", "m", "new.csv") == run("score", "m", "new.csv", *COLUMNS) == expected
    assert expected[0] == 0
    (tmp_path / "named.csv").write_text(CSV.replace("a,b", "label,qid"))
    assert run("train", "named.csv", "-o", "m", *QUICK, *COLUMNS)[0] == 0
    (tmp_path / "new.csv").write_text(
        "\n".join(line.split(",", 2)[2] for line in CSV.replace("a,b", "label,qid").split())
    )
    assert run("score", "m", "new.csv")[:2] == expected[:2]
    assert run("score", "m", "data.csv", "--label", "grade")[0] == 2


def test_export_passes_its_options_on(run, content, tmp_path, monkeypatch):
    (tmp_path / "names").write_text("first\nsecond one\n")
    assert run("train", "data.txt", "-o", "m", *QUICK)[0] == 0
    assert run("export", "m", "--format", "sql", "-o", "m.sql", "--feature-names", "names")[0] == 0
    assert '"first"' in (tmp_path / "m.sql").read_text() or '"second one"' in (tmp_path / "m.sql").read_text()
    assert content("export", "m", "--format", "sql", "-o", "m.sql") == {"model": "m.sql"}
    reports = []
    monkeypatch.setattr(exchange, "export_report", lambda *_, **given: reports.append(given) or 3)
    check = ["--feature-names", "names", "--check", "data.txt"]
    assert run("export", "m", "--format", "sql", "-o", "m.sql", *check)[0] == 0
    assert reports[0]["feature_names"] == ["first", "second one"]


def test_settings_of_an_export_reach_the_file_and_its_check(run, content, tmp_path):
    sparse_and_dense(tmp_path)
    assert run("train", "sparse.txt", "-o", "m", *QUICK)[0] == 0
    model, table = load("m"), read_letor(tmp_path / "sparse.txt", sparse=True)
    command = ["export", "m", "--format", "ranklib", "-o", "m.txt"]
    assert run(*command)[0] == 2  # a missing value would go the other way there
    assert run(*command, "--set", "missing=zero")[0] == 2
    assert not (tmp_path / "m.txt").exists()
    said = content(*command, "--set", "missing=absent", "--check", "sparse.txt")
    report = export_report(model, table.X, "ranklib", qid=table.qid, missing="absent")
    assert said == json.loads(json.dumps(report.to_dict()))
    for given, changed in ((["--set", "missing=absent"], True), ([], False)):  # Solr then takes what is missing for 0
        said = content("export", "m", "--format", "solr", "-o", "m.json", *given, "--check", "sparse.txt")
        assert (said["changed_scores"] > 0) == changed
    model.export(tmp_path / "expected", "ranklib", missing="absent")
    assert (tmp_path / "m.txt").read_text() == (tmp_path / "expected").read_text()


def test_import_passes_its_options_on(run, content, tmp_path):
    for name, text in (("trees", LAMBDAMART), ("stumps", RANKBOOST), ("sum", WEIGHTS)):
        (tmp_path / name).write_text(text)
    assert content("import", "trees", "-o", "m")["features"] == 4
    assert content("import", "trees", "-o", "m", "--n-features", "9")["features"] == 9
    assert load("m").n_features_in_ == 9
    (tmp_path / "names").write_text("a\nb\nc\nd\ne\n")
    assert content("import", "trees", "-o", "m", "--feature-names", "names")["features"] == 5
    assert list(load("m").feature_names_in_) == list("abcde")
    assert content("import", "sum", "-o", "m", "--format", "ranklib")["features"] == 3
    code, _, err = run("import", "sum", "-o", "m2", "--format", "xgboost-json")
    assert code == 2
    assert err.startswith("podium: ")
    assert not (tmp_path / "m2").exists()
