"""`podium rankers`, names of rankers and parameters, and the settings of a run: files, `podium info`, TOML."""

import inspect
import json
import tomllib

import pytest

from peers import peer
from podium import AdaBoostOR, LambdaMART, PodiumError, PRank, RankBoost, load, read_letor
from podium.cli import run_settings
from podium.cli.ranker_help import documented, parameters_of
from podium.cli.ranker_table import TABLE, matching_rankers, ranker_name
from podium.model_file import read_model, write_model
from podium.rankers import RANKERS
from podium.rankers.other_spellings import OURS, SPELLINGS, check_parameter_names
from podium.tuning.settings_file import settings_text

pytestmark = pytest.mark.plain

QUICK = ["--set", "n_estimators=3", "--quiet"]
NOT_TRAINED = {"ImportedTrees", "ImportedLinear", "ExtendedBinary"}
"""Rankers without an entry: the command line cannot train them."""


def test_every_ranker_that_can_be_trained_is_in_the_table_with_its_parameters():
    assert set(TABLE) == set(RANKERS) - NOT_TRAINED
    for name in TABLE:
        found = parameters_of(name)
        assert {one.name: str(one.default) for one in found} == {
            key: str(value) for key, value in RANKERS[name]().get_params(deep=False).items()
        }
        assert all(one.kind and one.line for one in found), name


def test_the_table_and_the_parameters_are_printed(command_line):
    code, out, _ = command_line("rankers")
    assert code == 0
    assert all(any(line.startswith(f"{name} ") for line in out.splitlines()) for name in TABLE)
    said = json.loads(command_line("rankers", "--json")[1])
    assert said["RankBoost"] == {"optimises": TABLE["RankBoost"].optimises, "line": TABLE["RankBoost"].line}
    code, out, _ = command_line("rankers", "lambda-mart")
    assert code == 0
    assert "max_leaves             31          Leaves of a tree, which grows" in out
    assert out.startswith("LambdaMART: boosted trees that follow a measure")
    said = json.loads(command_line("rankers", "LAMBDAMART", "--json")[1])
    by_name = {one["name"]: one for one in said["parameters"]}
    assert by_name["max_leaves"]["default"] == 31
    assert by_name["max_leaves"]["kind"] == "int"


def test_the_first_sentence_of_each_parameter_is_taken():
    doc = """Words.

    Parameters
    ----------
    a, b : int
        Both e.g. this. Then more.
    c : {"x", "y"}
        `One` line
        and another; with more.

    Attributes
    ----------
    d_ : int
        Not this.
    """
    assert documented(inspect.cleandoc(doc)) == {
        "a": ("int", "Both e.g. this."), "b": ("int", "Both e.g. this."),
        "c": ('{"x", "y"}', "One line and another; with more."),
    }  # fmt: skip
    assert documented("Nothing.") == {}


@pytest.mark.parametrize("text", ["LambdaMART", "lambdamart", "LAMBDA_MART", "lambda-mart"])
def test_rankers_are_named_in_any_case(text):
    assert ranker_name(text) == "LambdaMART"
    assert ranker_name("rankboost+") == "RankBoostPlus"
    assert matching_rankers("lam") == ["LambdaMART", "LambdaRank"]
    with pytest.raises(
        PodiumError, match=r"no ranker 'Lambda' \(did you mean LambdaRank or LambdaMART\?\); `podium rank"
    ):
        ranker_name("Lambda")
    with pytest.raises(PodiumError, match=r"There is no ranker 'x'; `podium rankers` lists all\."):
        ranker_name("x")


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("num_leaves", "max_leaves"), ("min_data_in_leaf", "min_child_samples"), ("eta", "learning_rate"),
        ("feature_fraction", "colsample_bytree"), ("bagging_fraction", "subsample"), ("lambda_l2", "reg_lambda"),
        ("num_boost_round", "n_estimators"), ("depth", "max_depth"), ("l2_leaf_reg", "reg_lambda"),
        ("max_bin", "max_bins"), ("nthread", "n_jobs"), ("seed", "random_state"), ("iterations", "n_estimators"),
    ],
)  # fmt: skip
def test_spellings_of_other_libraries_are_answered_with_ours(command_line, search_files, theirs, ours):
    said = f"LambdaMART has no parameter '{theirs}': it is called {ours} here."
    train = ["train", "train.txt", "-o", "m", "--ranker", "lambdamart"]
    assert command_line(*train, "--set", f"{theirs}=1") == (2, "", f"podium: {said}\n")
    for call in (LambdaMART().set_params, LambdaMART):
        with pytest.raises(PodiumError) as raised:
            call(**{theirs: 1})
        assert str(raised.value) == said


def test_what_a_ranker_has_under_no_name_is_refused_with_near_matches():
    for call in (RankBoost().set_params, RankBoost):
        with pytest.raises(
            PodiumError,
            match=r"must be one of .*n_estimators, .* 'num_leaves' .which other rankers call max_leaves",
        ):
            call(num_leaves=3)
    with pytest.raises(PodiumError, match=r"got 'n_estimator' \(did you mean n_estimators"):
        RankBoost().set_params(n_estimator=3)
    with pytest.raises(TypeError, match="unexpected keyword argument"):
        RankBoost(own=3)


def test_no_name_of_ours_counts_as_a_spelling_where_a_ranker_has_it():
    names = {name for ranker in RANKERS.values() for name in ranker._get_param_names()}
    assert set(SPELLINGS) <= names
    for ranker in RANKERS.values():
        own = [name for name in OURS if name in ranker._get_param_names()]
        given = {name: ranker().get_params(deep=False)[name] for name in own}
        assert isinstance(ranker(**given), ranker)


def test_parameters_of_a_ranker_inside_another_are_left_to_it():
    check_parameter_names("AdaBoostOR", ["estimator__max_depth"], ["estimator"])
    with pytest.raises(PodiumError, match="'max_depth__estimator'"):
        check_parameter_names("AdaBoostOR", ["max_depth__estimator"], ["estimator"])


def test_a_toml_file_sets_ranker_and_parameters_and_options_go_first(command_line, search_files, tmp_path):
    (tmp_path / "run.toml").write_text(
        'ranker = "rankboost"\n[parameters]\nn_estimators = 4\ncriterion = "z"\nmax_bins = "None"\n'
    )
    train = ["train", "train.txt", "-o", "m", "--quiet", "--config", "run.toml"]
    assert command_line(*train)[0] == 0
    model = load("m")
    assert (type(model).__name__, len(model.rounds_), model.criterion, model.max_bins) == ("RankBoost", 4, "z", None)
    assert command_line(*train, "--set", "n_estimators=2")[0] == 0
    assert len(load("m").rounds_) == 2
    assert command_line(*train, "--ranker", "RankBoostPlus")[0] == 2  # which has no criterion


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("ranker = 3", "run.toml: ranker must be a name in quotes and [parameters] a table."),
        ("parameters = 3", "run.toml: ranker must be a name in quotes and [parameters] a table."),
        (
            "[parameter]\na = 1",
            "run.toml: a run has ranker and [parameters]; got 'parameter' (did you mean parameters?)",
        ),
        ("ranker =", "run.toml: this is not TOML (Invalid value"),
        ("[parameters]\nnum_leaves = 3\n", "A parameter of RankBoost must be one of"),
    ],
)
def test_a_file_that_is_no_run_is_one_sentence(command_line, search_files, tmp_path, text, said):
    (tmp_path / "run.toml").write_text(text)
    code, out, err = command_line("train", "train.txt", "-o", "m", "--config", "run.toml")
    assert (code, out) == (2, "")
    assert err.startswith(f"podium: {said}")
    assert err.count("\n") == 1
    assert not (tmp_path / "m").exists()


def test_info_says_what_a_file_holds_and_how_it_was_made(command_line, search_files, tmp_path):
    train = ["train", "train.txt", "-o", "m", "--eval", "valid.txt", "--set", "n_estimators=40", "--json"]
    train += ["--set", "early_stopping_rounds=2", "--set", "eval_metric=ndcg@5"]
    report = json.loads(command_line(*train)[1])
    said = json.loads(command_line("info", "m", "--json")[1])
    model = load("m")
    assert said["ranker"] == "RankBoost"
    assert said["parameters"]["early_stopping_rounds"] == 2
    assert said["bytes"] == (tmp_path / "m").stat().st_size
    assert (said["protocol"], said["rounds"], said["best_round"]) == (1, len(model.rounds_), model.best_iteration_)
    assert said["features"] == [str(j + 1) for j in range(model.n_features_in_)]
    assert said["training"] == model.training_summary_
    assert said["measured"] == report["measured"]
    watched = (
        f"watched ndcg@5 of valid.txt: best after round {model.best_iteration_}, not better in the 2 rounds after it"
    )
    assert said["early_stopping"] == report["early_stopping"] == watched
    assert said["ended_because"] == f"ndcg@5 of valid.txt was highest after round {model.best_iteration_}"
    assert said["run"]["command"] == " ".join(["podium", *train])
    assert (said["run"]["data"], said["run"]["eval"]) == ("train.txt", ["valid.txt"])
    assert said["size"] == f"{model.best_iteration_} trees, {2 * model.best_iteration_} leaves"
    lines = command_line("info", "m")[1].splitlines()
    assert f"early stopping    {watched}" in lines
    assert any(line.startswith("features          30: feature 1, feature 2,") for line in lines)
    assert "  n_estimators = 40" in lines


def test_info_knows_models_without_a_run_or_rounds_and_models_of_items(command_line, search_files, tmp_path):
    table = read_letor(tmp_path / "train.txt")
    RANKERS["RankRLS"]().fit(table.X, table.y, qid=table.qid).save("linear")
    said = json.loads(command_line("info", "linear", "--json")[1])
    assert said["run"] is None
    assert (said["rounds"], said["early_stopping"], said["features"][0]) == (None, None, "f0")
    assert said["size"] == "30 weights that are not 0"
    RANKERS["ORStump"]().fit(table.X, table.y).save("grades")
    assert json.loads(command_line("info", "grades", "--json")[1])["size"] == "4 sums for 5 grades"
    from podium import PlackettLuce

    PlackettLuce().fit([["a", "b"], ["b", "a"], ["a", "b"]]).save("items")
    code, out, _ = command_line("info", "items")
    assert code == 0
    assert "ranker  PlackettLuce" in out


def test_the_settings_of_a_model_train_it_again(command_line, search_files, tmp_path):
    train = ["train", "train.txt", "-o", "m", *QUICK, "--set", "max_bins=null"]
    assert command_line(*train, "--set", "criterion=z", "--set", 'eval_metric=["map", "mrr"]')[0] == 0
    assert command_line("info", "m", "--toml", "--json") == (2, "", "podium: Give --toml or --json, not both.\n")
    code, out, _ = command_line("info", "m", "--toml")
    assert code == 0
    assert out.startswith("# podium train train.txt -o m --set n_estimators=3 ")
    assert tomllib.loads(out)["parameters"]["eval_metric"] == ["map", "mrr"]
    (tmp_path / "run.toml").write_text(out)
    assert command_line("train", "train.txt", "-o", "again", "--config", "run.toml", "--quiet")[0] == 0
    one, two = read_model("m"), read_model("again")
    assert one["parameters"] == two["parameters"]
    assert command_line("score", "m", "valid.txt") == command_line("score", "again", "valid.txt")


def test_what_the_command_line_sets_by_itself_is_no_setting():
    text = run_settings.to_toml("RankBoost", {"a": None, "b": (1, "x"), "e": 0.5, "f": True, "verbose": 1}, None)
    assert text == 'ranker = "RankBoost"\n\n[parameters]\na = "None"\nb = [1, "x"]\ne = 0.5\nf = true\n'


@pytest.mark.filterwarnings("ignore:overflow encountered in scalar")  # hashes wrap around on purpose
@pytest.mark.parametrize(
    ("ranker", "given", "parameters"),
    [
        ("LambdaMART", 'gain={"0": 0, "1": 1, "2": 5, "3": 6, "4": 7}', {"gain": dict(enumerate([0, 1, 5, 6, 7]))}),
        ("RankBoost", 'thresholds={"1": [0, 0.5]}', {"thresholds": {1: [0, 0.5]}}),
        ("RankBoost", "thresholds=[0, 0.5]", {"thresholds": [0, 0.5]}),
    ],
)
def test_mappings_have_the_keys_of_python(command_line, search_files, tmp_path, ranker, given, parameters):
    train = ["train", "train.txt", "--quiet"]
    code, _, err = command_line(*train, "-o", "m", "--ranker", ranker, "--set", "n_estimators=3", "--set", given)
    assert (code, err) == (0, "")
    table = read_letor("train.txt")
    model = RANKERS[ranker](n_estimators=3, **parameters).fit(table.X, table.y, qid=table.qid)
    assert load("m").predict(table.X).tolist() == model.predict(table.X).tolist()
    assert model.get_params().items() >= parameters.items()
    (tmp_path / "run.toml").write_text(command_line("info", "m", "--toml")[1])
    assert command_line(*train, "-o", "again", "--config", "run.toml")[0] == 0
    assert read_model("m")["parameters"] == read_model("again")["parameters"]


def test_keys_of_thresholds_are_names_where_columns_have_them(command_line, tmp_path):
    peer("pyarrow")
    (tmp_path / "data.csv").write_text("label,qid,1,b\n1,x,3,5\n0,x,1,5\n1,x,2,9\n0,x,0,2\n")
    train = ["train", "data.csv", "-o", "m", *QUICK, "--ranker", "RankBoost"]
    assert command_line(*train, "--set", 'thresholds={"1": [1.5], "b": [4]}')[0] == 0
    assert load("m").thresholds == {"1": [1.5], "b": [4]}
    assert {(one.feature, one.threshold) for one in load("m").rounds_} >= {(0, 1.5)}
    assert command_line(*train, "--set", 'thresholds={"0": [1.5]}')[0] == 0
    assert load("m").thresholds == {0: [1.5]}


def test_searches_take_numbers_of_columns_as_keys_of_thresholds(command_line, search_files):
    common = ["train.txt", "--ranker", "RankBoost", *QUICK, "--set", 'thresholds={"0": [0.5]}']
    assert command_line("cv", *common, "--folds", "2")[0] == 0
    peer("optuna")
    assert command_line("tune", *common, "--trials", "1")[0] == 0


def test_settings_with_a_ranker_inside_are_refused(command_line):
    X = [[float(i)] for i in range(9)]
    AdaBoostOR(PRank(epochs=2), n_estimators=2).fit(X, [i // 3 for i in range(9)]).save("m")
    code, out, err = command_line("info", "m", "--toml")
    assert (code, out) == (2, "")
    assert err.endswith("and lists and mappings of these; it cannot hold estimator=PRank(epochs=2).\n")


@pytest.mark.parametrize("thresholds", [[None, [1.5]], {"a": None, "b": [1.5, None]}])
def test_none_within_lists_and_mappings_of_settings_is_read_back(tmp_path, thresholds):
    (tmp_path / "run.toml").write_text(settings_text("RankBoost", {"thresholds": thresholds}))
    assert run_settings.read_config(tmp_path / "run.toml").parameters == {"thresholds": thresholds}


def test_a_run_that_was_tampered_with_is_refused(command_line, search_files):
    assert command_line("train", "train.txt", "-o", "m", *QUICK)[0] == 0
    write_model("m", {**read_model("m"), "run": {"command": 3}})
    assert command_line("info", "m") == (2, "", "podium: m: command must be a string; got 3.\n")
    assert command_line("score", "m", "valid.txt")[0] == 0
