"""`podium train`: the library's model, its report, and one sentence for what cannot be trained."""

import json
import tracemalloc

import numpy as np
import pytest

from peers import peer
from podium import _sparse
from podium.cli import files
from podium.rankers import RANKERS

LETOR = "2 qid:1 1:0.5 2:3\n0 qid:1 1:0.1 2:4\n1 qid:2 1:0.9 # docid = b\n0 qid:2 1:0.2 2:1\n"


def test_a_csv_file_of_grades_needs_no_queries(command_line, tmp_path):
    peer("pyarrow")
    (tmp_path / "stars.csv").write_text("stars,a\n" + "".join(f"{1 + i // 4},{i}\n" for i in range(12)))
    options = ["--label", "stars", "--qid", "", "--ranker", "ORStump", "-o", "m.podium"]
    assert command_line("train", "stars.csv", *options)[0] == 0
    code, out, _ = command_line("score", "m.podium", "stars.csv", *options[:4])
    assert (code, out.split()) == (0, sorted(out.split()))
    code, _, err = command_line("train", "stars.csv", *options[:2], *options[4:])
    assert code == 2
    assert "there is no column 'qid'" in err


def test_evaluation_files_have_query_sizes_of_their_own(command_line, tmp_path):
    (tmp_path / "plain.txt").write_text(LETOR.replace("qid:1 ", "").replace("qid:2 ", ""))
    (tmp_path / "sizes").write_text("2\n2\n")
    train = ["train", "plain.txt", "-o", "m", "--quiet", "--set", "n_estimators=2", "--query-sizes", "sizes"]
    code, _, err = command_line(*train, "--eval", "plain.txt")
    assert code == 2
    said = "plain.txt must have queries, as the training rows have: give --eval-query-sizes, or a file with queries."
    assert err == f"podium: {said}\n"
    assert command_line(*train, "--eval", "plain.txt", "--eval-query-sizes", "sizes")[0] == 0
    code, _, err = command_line(*train, "--eval-query-sizes", "sizes")
    assert code == 2
    assert "Give --eval-query-sizes for each of 0 --eval; got 1." in err


def test_train_and_score_equal_the_library(command_line, search_files, tmp_path):
    from podium import RankBoost, load, read_letor

    train = ["train", "train.txt", "-o", "m.podium", "--set", "n_estimators=7", "--set", "criterion=z"]
    code, out, _ = command_line(*train)
    assert code == 0
    assert "m.podium" in out
    table = read_letor(tmp_path / "train.txt")
    expected = RankBoost(7, criterion="z").fit(table.X, table.y, qid=table.qid).predict(table.X)
    assert [float(line) for line in command_line("score", "m.podium", "train.txt")[1].split()] == expected.tolist()
    command_line("score", "m.podium", "train.txt", "-o", "scores.out")
    assert np.loadtxt(tmp_path / "scores.out").tolist() == expected.tolist()
    assert len(load(tmp_path / "m.podium").rounds_) == 7


def test_features_numbered_with_gaps_take_no_memory_for_their_names(command_line, tmp_path, monkeypatch):
    monkeypatch.setattr(_sparse, "COLUMN_BYTES", 2**26)
    (tmp_path / "gaps.txt").write_text("1 qid:1 20000000:1\n0 qid:1 1:1\n1 qid:2 2:1\n0 qid:2 1:1\n")
    tracemalloc.start()
    try:
        refused = [command_line("train", "gaps.txt", "-o", "m"), command_line("cv", "gaps.txt", "--folds", "2")]
        code, out, _ = command_line("data", "gaps.txt", "--json")
        measured = command_line("evaluate", "gaps.txt", "--feature", "20000000")
        assert tracemalloc.get_traced_memory()[1] < 2**26
    finally:
        tracemalloc.stop()
    for failed, _, err in refused:
        assert failed == 2
        assert "podium: A sparse X of 20000000 columns takes at least" in err
        assert err.endswith("GiB, more memory than there is; number the features without gaps.\n")
    assert (code, measured[0]) == (0, 0)
    assert {"n_features": 20_000_000, "absent_features": 19_999_997}.items() <= json.loads(out).items()


def test_the_numbers_of_a_letor_file_are_names():
    names = files.column_names(files.RankingTable(np.zeros((1, 3)), np.zeros(1), None, None, None))
    assert list(names) == ["1", "2", "3"]
    assert list(names[1:]) == ["2", "3"]


def test_train_stops_early_and_reports(command_line, search_files):
    options = ["--set", "n_estimators=200", "--set", "early_stopping_rounds=3", "--set", 'eval_metric=["ndcg@5","map"]']
    code, out, _ = command_line("train", "train.txt", "-o", "m.podium", "--eval", "valid.txt", "--json", *options)
    report = json.loads(out)
    assert code == 0
    assert report["rounds"] == report["best_round"] + 3
    assert set(report["measured"]) == {"valid.txt ndcg@5", "valid.txt map"}


def test_train_and_score_with_grades(command_line, search_files, tmp_path):
    from podium import AdaBoostOR, read_letor

    options = ["--ranker", "AdaBoostOR", "--set", "n_estimators=5", "--eval", "valid.txt", "--json"]
    code, out, _ = command_line("train", "train.txt", "-o", "m", *options)
    assert code == 0
    assert set(json.loads(out)["measured"]) == {"valid.txt cost"}
    table, valid = read_letor(tmp_path / "train.txt"), read_letor(tmp_path / "valid.txt")
    expected = AdaBoostOR(n_estimators=5).fit(table.X, table.y, eval_set=[(valid.X, valid.y)]).predict(table.X)
    assert [float(line) for line in command_line("score", "m", "train.txt")[1].split()] == expected.tolist()


def test_train_and_score_with_a_vote_of_drawn_rows(command_line, search_files, tmp_path):
    from podium import BaggingOR, read_letor

    assert (
        command_line("train", "train.txt", "-o", "m", "--ranker", "BaggingOR", "--set", "n_estimators=5", "--quiet")[0]
        == 0
    )
    table = read_letor(tmp_path / "train.txt")
    expected = BaggingOR(n_estimators=5).fit(table.X, table.y).predict(table.X)
    assert [float(line) for line in command_line("score", "m", "train.txt")[1].split()] == expected.tolist()


def test_train_keeps_the_names_of_columns(command_line, tmp_path):
    peer("pyarrow")
    (tmp_path / "data.csv").write_text("label,qid,price,age\n1,x,0.5,3\n0,x,0.7,2\n0,x,0.9,9\n")
    (tmp_path / "other.csv").write_text("label,qid,cost,age\n1,x,0.5,3\n0,x,0.7,2\n")
    assert command_line("train", "data.csv", "-o", "m", "--quiet")[0] == 0
    code, _, err = command_line("score", "m", "other.csv")
    assert code == 2
    assert "'price' is missing" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", "train.txt", "-o", "no/m"], "The folder of no/m does not exist."),
        (["train", "train.txt", "-o", "."], ". is a folder; name a file."),
        (["evaluate", "train.txt", "train.txt", "--feature", "1"], "models and files of scores or --feature, not both"),
        (["evaluate", "train.txt", "binary"], "binary must hold one score a line; it looks binary."),
        (["train", "train.txt", "-o", "m", "--set", "n_estimator=3"], "did you mean n_estimators?"),
        (["train", "train.txt", "-o", "m", "--set", "n_estimators"], "--set needs name=value"),
        (
            ["train", "train.txt", "-o", "m", "--set", "n_estimators=few"],
            "--set n_estimators of RankBoost must be an int",
        ),
        (["train", "train.txt", "-o", "m", "--set", "weak=" + "[" * 100_000], "--set needs a short value"),
        (["train", "train.txt", "-o", "m", "--set", "n_estimators=" + "9" * 5000], "--set needs a short value"),
        (
            ["train", "train.txt", "-o", "m", "--ranker", "RankBost"],
            "There is no ranker 'RankBost' (did you mean RankBoost",
        ),
        (
            ["train", "train.txt", "-o", "m", "--ranker", "ORStump", "--eval", "valid.txt"],
            "ORStump does not take --eval",
        ),
        (["score", "train.txt", "train.txt"], "train.txt: this is not a Podium model file."),
    ],
)
def test_bad_training_input_ends_with_a_sentence_and_code_two(command_line, search_files, tmp_path, arguments, message):
    (tmp_path / "binary").write_bytes(bytes(range(128, 256)))
    code, _, err = command_line(*arguments)
    assert code == 2
    assert message in err
    assert not (tmp_path / "m").exists()


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
    "RSRank": ["n_estimators=2"],
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
def test_every_ranker_is_trained_and_scores_or_is_refused_before_data_are_read(
    command_line, search_files, name, tmp_path
):
    if name in NOT_TRAINED:
        code, out, err = command_line("train", "no such file", "-o", "m", "--ranker", name)
        assert (code, out) == (2, "")
        assert NOT_TRAINED[name] in err
        assert len(err.strip().split("\n")) == 1
        assert not (tmp_path / "m").exists()
        return
    settings = [part for one in TRAINED[name] for part in ("--set", one)]
    assert command_line("train", "train.txt", "-o", "m", "--ranker", name, "--quiet", *settings)[0] == 0
    assert command_line("score", "m", "valid.txt")[0] == 0


def test_files_are_read_like_the_one_that_was_trained_on(command_line, tmp_path):
    """A file that leaves out the last features, or stores more of its cells, has the same columns and gaps."""
    rng = np.random.default_rng(0)
    lines = {"sparse": [], "denser": []}
    for name, share in (("sparse", 0.01), ("denser", 0.03)):
        for row in range(300):
            present = [j for j in range(1, 200) if rng.random() < share] + ([200] if name == "sparse" else [])
            cells = " ".join(f"{j}:1" for j in sorted({*present, *([1, 2] if row % 2 else [])}))
            lines[name].append(f"{row % 2} qid:{row // 10} {cells}\n")
        (tmp_path / f"{name}.txt").write_text("".join(lines[name]))
    assert command_line("train", "sparse.txt", "-o", "m", "--eval", "denser.txt", "--quiet")[0] == 0
    assert command_line("score", "m", "denser.txt", "-o", "scores")[0] == 0
    content = json.loads(command_line("evaluate", "denser.txt", "scores", "-m", "pair_loss", "--json")[1])
    assert content["measures"]["pair_loss"]["mean"] < 0.05


def test_eval_file_with_other_columns_is_refused(command_line, tmp_path):
    peer("pyarrow")
    (tmp_path / "a.csv").write_text("label,qid,x,y\n1,q,1,2\n0,q,2,1\n")
    (tmp_path / "b.csv").write_text("label,qid,y,x\n1,q,1,2\n0,q,2,1\n")
    code, _, err = command_line("train", "a.csv", "-o", "m", "--eval", "b.csv")
    assert code == 2
    assert "they stand in another order" in err


def test_a_file_that_is_measured_twice_has_two_names(command_line, search_files):
    twice = ["--eval", "valid.txt", "--eval", "valid.txt"]
    out = command_line("train", "train.txt", "-o", "m", "--set", "n_estimators=2", "--json", *twice)[1]
    assert list(json.loads(out)["measured"]) == ["valid.txt pair_loss", "valid.txt (2) pair_loss"]


def test_files_of_the_same_name_are_told_apart_by_their_folders(command_line, search_files, tmp_path):
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "valid.txt").write_text((tmp_path / "valid.txt").read_text())
    train = ["train", "train.txt", "-o", "m", "--set", "n_estimators=2", "--json", "--eval", "other/valid.txt"]
    assert list(json.loads(command_line(*train)[1])["measured"]) == ["valid.txt pair_loss"]
    both = list(json.loads(command_line(*train, "--eval", "valid.txt")[1])["measured"])
    assert both == ["other/valid.txt pair_loss", "valid.txt pair_loss"]


@pytest.mark.parametrize(
    ("ranker", "option", "message"),
    [
        ("AdaBoostOR", "--pairs", "AdaBoostOR does not take --pairs: it learns grades, not preferences."),
        ("PRank", "--eval", "PRank does not take --eval: it does not learn in rounds."),
    ],
)
def test_options_that_a_ranker_cannot_use_are_refused(command_line, search_files, tmp_path, ranker, option, message):
    code, out, err = command_line("train", "train.txt", "-o", "m", "--ranker", ranker, option, "train.txt")
    assert (code, out, err) == (2, "", f"podium: {message}\n")
    assert not (tmp_path / "m").exists()
