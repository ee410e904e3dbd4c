"""Experiments, benchmarks and the demo run as programs, on small sizes, and print the lines of their figures."""

import gzip
import json
import os
import re
import runpy
import sys
from itertools import chain, groupby, pairwise
from pathlib import Path

import numba.typed
import numpy as np
import pytest

from peers import peer
from small_benchmarks import CONTESTS, SMALL

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("benchmarks", "experiments")
TOPICS = {b"303", b"310", b"320", b"325", b"330", b"336", b"341", b"344"}
NUMBER = r"[-+]?\d[\d.,e+-]*"

pytestmark = pytest.mark.filterwarnings("ignore")  # of peers


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    """Run a program of the project in a folder of its own and return what it prints."""

    def run_program(path, *arguments):
        program = ROOT / path
        siblings = {other.stem for other in program.parent.glob("*.py")}
        with monkeypatch.context() as patch:
            patch.setattr(sys, "argv", [str(program), *map(str, arguments)])
            patch.setattr(sys, "path", [str(program.parent), *sys.path])
            patch.setenv("COLUMNS", "200")
            patch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]))
            patch.chdir(tmp_path)
            for name in siblings & set(sys.modules):
                patch.delitem(sys.modules, name)
            try:
                runpy.run_path(str(program), run_name="__main__")
            except SystemExit as ended:
                if ended.code:
                    pytest.fail(f"{path} ended with {ended.code}")
            finally:
                for name in siblings & set(sys.modules):
                    del sys.modules[name]
        return capsys.readouterr().out

    return run_program


@pytest.fixture
def few_topics(shared_data, tmp_path):
    """Judgements and runs of the first topics of a collection: a program's lines are the same for all of them."""
    whole, few = shared_data("trec-robust03"), tmp_path / "few"
    (few / "runs").mkdir(parents=True)
    runs = sorted(whole.glob("runs/*.run.gz"))[:4]
    for path in (whole / "qrels.txt.gz", *runs):
        lines = gzip.decompress(path.read_bytes()).splitlines(keepends=True)
        by_topic = (list(group) for topic, group in groupby(lines, lambda line: line.split()[0]) if topic in TOPICS)
        kept = chain.from_iterable(group[:100] if path in runs else group for group in by_topic)
        (few / path.relative_to(whole)).write_bytes(gzip.compress(b"".join(kept), 1))
    return few


@pytest.fixture
def interpreted_peer(monkeypatch):
    """Run ranx as plain Python: compiling it takes longer than all that is measured here."""
    peer("ranx")
    containers = {numba.typed.Dict: dict, numba.typed.List: list}
    for module in [module for name, module in sys.modules.items() if name.startswith("ranx.")]:
        for attribute, value in vars(module).items():
            if isinstance(value, type) and value in containers:
                monkeypatch.setattr(module, attribute, containers[value])
            elif hasattr(value, "py_func"):
                monkeypatch.setattr(module, attribute, value.py_func)


def lines_with(text, *patterns):
    """Each pattern, in which # is a number, must be in the text; white space is of any width."""
    for pattern in patterns:
        parts = (re.escape(part) for part in pattern.split("#"))
        wanted = NUMBER.join(part.replace(r"\ ", r"[\s│]+") for part in parts)
        assert re.search(wanted, text), f"{pattern}\n{text}"


def test_experiments_use_the_public_interface_alone():
    public = {"podium", "podium.plots", "podium.tuning"}  # docs/plots.md, docs/tuning.md
    for path in (ROOT / "experiments").glob("*.py"):
        imported = re.findall(r"^\s*(?:from|import) (podium\S*)", path.read_text(), re.M)
        assert set(imported) <= public, path.name
        assert len(path.read_text().splitlines()) < 200, path.name


def test_every_benchmark_and_experiment_is_run_here():
    tested = {f"benchmarks/{name}" for name in SMALL} | set(re.findall(r'run\("(\S+\.py)"', Path(__file__).read_text()))
    tested = {one for one in tested if one.startswith(FOLDERS)}
    assert tested == {str(path.relative_to(ROOT)) for folder in FOLDERS for path in (ROOT / folder).glob("*.py")}


@pytest.mark.parametrize("name", SMALL)
def test_benchmark_prints_its_figures(name, run):
    arguments, patterns = SMALL[name]
    keeps = "add_folder(" in (ROOT / "benchmarks" / name).read_text()
    lines_with(run(f"benchmarks/{name}", *arguments, *(["--folder", "kept"] if keeps else [])), *patterns)


def test_benchmark_of_starts_prints_its_figures_and_all_its_calls_run(run, monkeypatch):
    text = run("benchmarks/start.py", "--repeat", 1, "--warm", "--calls", "evaluate", "--folder", "kept")
    lines_with(text, "podium --help # #", "import podium # #", "first evaluate, new process # #")
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    program = runpy.run_path(str(ROOT / "benchmarks" / "start.py"))
    for imported, call in program["CALLS"].values():
        names = {}
        exec(f"{program['DATA']}from podium import {imported}\nmade = {call}", names)
        assert names["made"] is not None


TINY = ["--rows", 400, "--trees", 2, "--leaves", 4, "--docs", 20, "--repeat", 1]


@pytest.mark.parametrize(
    ("what", "patterns"),
    [
        ("pieces", ["canonical order #", "binning #", "lambdas #", "packing #", "tree #"]),
        ("categories", ["even categories # # # #", "few frequent ones # # # #"]),
    ],
)
def test_benchmark_of_lambdamart_prints_its_figures(what, patterns, run):
    peer("lightgbm")
    lines_with(run("benchmarks/lambdamart.py", what, *TINY, "--folder", "kept"), *patterns)


def test_contests_with_peers_print_ratios_and_keep_records_and_charts(run, tmp_path, interpreted_peer):
    for name in ("lightgbm", "xgboost", "catboost", "treelite", "ir_measures", "altair"):
        peer(name)
    text = run("benchmarks/bench.py", *CONTESTS, "--small", "--folder", "kept")
    for patterns in CONTESTS.values():
        lines_with(text, *patterns)
    for name in CONTESTS:
        kept = json.loads((tmp_path / "kept" / f"{name}.json").read_text())
        assert {"podium"} <= {one["contestant"] for one in kept["records"]}
        assert kept["machine"]["versions"]["numpy"]
        assert (tmp_path / "kept" / f"{name}.svg").read_text().startswith("<svg")


def test_page_of_the_benchmarks_is_that_of_the_results(run):
    run("benchmarks/bench.py", "--check")


def test_tables_of_single_benchmarks_are_those_of_their_results(run):
    run("benchmarks/kept_tables.py", "--check")


def test_demo_goes_from_a_csv_file_to_an_explained_model_step_by_step(run, tmp_path):
    peer("pyarrow")
    text = run("examples/demo.py", "--queries", 60)
    steps = re.findall(r"^== (\w+)", text, re.M)
    assert steps == ["Writing", "Compiling", "Looking", "Training", "Measuring", "Explaining", "Reporting"]
    lines_with(text, "watched ndcg@10 of valid.csv: best after round #", "ndcg@10 #", "Done in # s")
    places = [text.rindex(name) for name in (" lambdamart.podium ", " feature.podium ")]
    assert places == sorted(places), "the leaderboard has the trees above a single feature"
    assert (tmp_path / "build" / "demo" / "report.html").stat().st_size > 10_000
    assert re.search(r"^Why document 2 stands (above|below) document 1: ", text, re.M)


def test_experiment_on_forms_of_lambda_checks_its_plain_kernel(run):
    text = run("experiments/lambda_kernel.py")
    for name in ("query", "none", "pairs", "both"):
        assert float(re.search(rf"^{name}: scores (\S+)$", text, re.M)[1]) < 1e-5


def test_experiment_on_forms_of_lambda_keeps_what_it_ran(run, shared_data, tmp_path):
    folder, one = shared_data("lightgbm-example").parent, ["--sets", "lightgbm-example"]
    lines_with(run("experiments/lambda_collections.py", folder, *one), "lightgbm-example: fold 1 trains on # rows")
    few = ["--forms", "LambdaMART query", "--leaves", 2, "--folds", 1, "--cache", tmp_path]
    text = run("experiments/lambda_forms.py", "run", folder, *one, *few)
    lines_with(text, "lightgbm-example-LambdaMART query-2-sampled-5.npz")
    with np.load(tmp_path / "lightgbm-example-LambdaMART query-2-all-5.npz") as kept:
        assert sorted(kept) == [f"test-0-{seed}" for seed in range(5)]


@pytest.mark.parametrize(("what", "row"), [("quantized", "| 2 seeds | # | # | #"), ("normalized", "| 30 trees | #")])
def test_experiments_on_made_rows_print_the_difference(run, what, row):
    few = ["--seeds", 2, "--rows", 480, "--folder", "kept"]
    lines_with(run("experiments/lambdamart.py", what, *few), row)


def test_experiments_on_continuous_labels_print_the_example_and_tables(run):
    text = run("experiments/ranking_losses.py", "example", "--folder", "kept")
    lines_with(text, "hard_loss 0.1778", "weak_loss@4 0.2000", "localized_loss@4 0.1644", "localized_loss@5 0.0667")
    text = run("experiments/ranking_losses.py", "complexity", "--largest", 400, "--naive", 200, "--folder", "kept")
    lines_with(text, "n 100 podium # ms naive # ms", "n 316 podium # ms naive -")
    text = run("experiments/continuous.py", "--repetitions", 1, "--settings", 0, "--folder", "kept")
    lines_with(text, "in, out of sample (25, 50) | above L2Boost", "signs exp | #, # | # | # | 0 | 0 |")


def test_experiment_on_ranking_problems_leaves_out_labels_that_a_ranker_refuses(run):
    few = ["--repetitions", 1, "--rows", 60, "--rankers", "RankBoost", "PlugInRanker", "--folder", "kept"]
    text = run("experiments/ranking_problems.py", *few)
    cells = {line.split(" | ")[0]: line.split(" | ")[1:] for line in text.splitlines()}
    assert [bool(cell.strip(" |")) for cell in cells["| PlugInRanker"]] == [True] * 6 + [False] * 3
    assert all(cell.strip(" |") for cell in cells["| RankBoost"])


def test_experiments_on_mq2008_print_the_difference(run, shared_data):
    peer("lightgbm")
    folder = shared_data("mq2008")
    few = ["--seeds", 2, "--trees", 2, "--folder", "kept"]
    lines_with(run("experiments/lambdamart.py", "peers", *few, folder), "2 trees | # | #", "early stopping, patience #")


def test_experiments_on_the_top_of_the_list_print_their_tables(run, shared_data, tmp_path):
    folder = shared_data("letor-baselines").parent
    kept = ["--folds", 1, "--kept", tmp_path]
    text = run("experiments/top_of_list.py", "push", folder, "--rounds", 2, *kept)
    lines_with(text, *(f"| {name} | # | # |" for name in ("PNormPush p = 16", "RankSVM, l1", "RSRank")))
    lines_with(text, "| official RankSVM | 0.4696 | 0.2279 |")
    text = run("experiments/top_of_list.py", "lambdas", folder, "--trees", 2, "--seeds", 1, *kept)
    lines_with(text, '| `"localized"` | # | # | # | # ± # |', '| `"none"` | # | # | # | # ± # |')
    assert set(json.loads((tmp_path / "top_of_list.json").read_text())) == {"push", "lambdas"}


def test_benchmark_of_ranking_trees_shows_what_defaults_were_chosen_on(run):
    text = run("benchmarks/treerank.py", "--choose", "--leaves", 3, "--seeds", 1, "--folds", 2, "--folder", "kept")
    lines_with(text, "diabetes # # # # #", "made 800 x 30 # # # # #", "mean # # # # #", "its standard error # # # # #")


def test_experiments_on_nets_print_their_tables(run, shared_data, tmp_path):
    text = run("experiments/net_optimality.py", "figure")
    lines_with(text, "left: 13 errors, NDCG@10 0.61, RR 1.00", "right: 11 errors, NDCG@10 0.44, RR 0.25")
    few = ["--folds", 1, "--seeds", 1, "--epochs", 1, "--trees", 2, "--json", tmp_path / "kept.json"]
    text = run("experiments/neural.py", "quality", shared_data("mq2008"), *few)
    lines_with(text, "| LambdaRank | # | # |", "| blend | LambdaMART | # ± # |", "| distilled | RankNet | # ± # |")
    assert json.loads((tmp_path / "kept.json").read_text())["quality"]["ndcg"]["RankNet"] > 0.5
    assert run("experiments/neural_tables.py", "--json", tmp_path / "kept.json").strip() in text


def test_benchmark_of_nets_beside_other_loops_prints_seconds(run, shared_data):
    text = run("benchmarks/neural_peers.py", "times", shared_data("mq2008"), "--epochs", 1, "--repeat", 1)
    lines_with(text, *(f"| {name} | # s an epoch |" for name in ("RankNet", "LambdaRank", "plain torch loop")))


def test_benchmark_of_fusion_prints_settings_and_seconds(run, few_topics):
    text = run("benchmarks/fusion.py", few_topics, "--runs", 2, "--threads", 1, "--folder", "kept")
    lines_with(text, "seed 0: settings", "reading # s, fusing and writing # s; # s of processors")


def test_experiments_on_ordinal_sets_keep_their_tables(run, shared_data, tmp_path):
    folder = shared_data("ordinal")
    few = ["--sets", "machinecpu", "--splits", 2, "--columns", "ORStump", "PRank", "--folder", "kept"]
    lines_with(
        run("experiments/ordinal.py", folder, *few), *(f"machinecpu {name} train #" for name in ("ORStump", "PRank"))
    )
    run("experiments/ordinal.py", folder, "--sets", "pyrimidines", *few[2:5], "ORStump", *few[-2:])
    kept = json.loads((tmp_path / "kept/ordinal.json").read_text())["table"]
    assert {name: list(own) for name, own in kept.items()} == {
        "machinecpu": ["ORStump", "PRank"],
        "pyrimidines": ["ORStump"],
    }


def test_experiments_on_ordinal_readings_and_peers_keep_their_tables(run, shared_data, tmp_path):
    peer("mord")
    folder, few = shared_data("ordinal"), ["--sets", "pyrimidines", "--splits", 2, "--folder", tmp_path]
    lines_with(
        run("experiments/ordinal_readings.py", "variants", folder, *few), "| pyrimidines, 2 | # ± # | # ± # | 0.46"
    )
    lines_with(run("experiments/ordinal_readings.py", "prices", folder, *few), "| pyrimidines, 2 | # / # | # / # |")
    text = run("experiments/ordinal_peers.py", folder, *few, "--candidates", "SVOR linear", "ORBoost")
    lines_with(text, "| pyrimidines, 2 | # ± # | # ± # | # ± #")
    picks = json.loads((tmp_path / "ordinal_peers.json").read_text())["pyrimidines"]["chosen"]
    assert set(picks) <= {"SVOR linear", "ORBoost"}


def test_leaderboard_of_ordinal_rankers_chooses_on_validation_parts(run, shared_data, tmp_path):
    for name in ("optuna", "lightgbm", "mord"):
        peer(name)
    folder, kept = shared_data("ordinal"), ["--cache", tmp_path, "--folder", tmp_path, "--sets", "pyrimidines"]
    rankers = ["ORStump", "SVOR", "LightGBM", "scikit-learn forest, classes", "mord LogisticAT"]
    few = [*kept, "--trials", 1, "--rankers", *rankers]
    lines_with(run("experiments/leaderboard_ordinal.py", "tune", folder, *few), "pyrimidines fold 4 ORStump # # s")
    assert run("experiments/leaderboard_ordinal.py", "tune", folder, *few) == ""
    text = run("experiments/leaderboard_ordinal.py", "table", folder, *kept)
    lines_with(text, "pyrimidines, 74 rows", "| **SVOR** | #", "| **ours, by fold** | #", "| others, by fold | #")
    found = json.loads((tmp_path / "leaderboard_ordinal.json").read_text())["pyrimidines"]
    assert found["best"] == min(("ORStump", "SVOR"), key=lambda name: found["rankings"][name]["valid"])
    assert [("p_holm" in found["rankings"][name]) for name in rankers] == [name != found["best"] for name in rankers]
    lines_with(run("experiments/ordinal_contenders.py"), "PRank: variant siprank or prank; epochs #")
    lines_with(run("experiments/ordinal_libraries.py"), "mord LogisticAT: alpha #", "CatBoost: iterations #")


def test_experiment_on_variants_of_rankboost_pairs_them_by_query(run, shared_data, tmp_path):
    variants = ["stump, pairs, rate 1", "feature, queries, rate 1"]
    few = ["--folds", 1, "--seeds", 1, "--folder", tmp_path, "--variants", *variants]
    text = run("experiments/rankboost_variants.py", shared_data("mq2008"), *few)
    lines_with(text, "| 471 queries, 1 seeds |", "| feature, queries, rate 1 | # | # | # ± # | # ± # |")
    found = json.loads((tmp_path / "rankboost_variants.json").read_text())["rows"]
    assert found["chosen among stumps"] == found[variants[0]]


def test_theorems_on_ordinal_ranking_hold_in_the_experiment(run, shared_data, tmp_path):
    few = ["--sets", "machinecpu", "--rounds", 12, "--folder", tmp_path]
    run("experiments/ordinal_theorems.py", "theorems", shared_data("ordinal"), *few)
    lines_with(run("experiments/ordinal_theorems.py", "figure", *few[2:]), "rounds 1 10 training cost # #")
    found = json.loads((tmp_path / "ordinal_theorems.json").read_text())["theorems"]["machinecpu"]
    assert found["regret"] <= found["binary_regret"] + 1e-9
    assert found["v_shaped"]
    assert found["excess_of_g_plus"] == pytest.approx(0.0, abs=1e-9)
    assert found["differ"] == 0
    assert sum(found["constants"][:2]) == pytest.approx(1.0)
    assert all(np.diff([found[key] for key in ("cost", "bound", "exponential")], axis=0).ravel() >= -1e-12)


def test_experiment_on_two_grades_prints_both_rankers(run, shared_data):
    few = ["--sets", "machinecpu", "--splits", 1, "--rounds", 100, "--folder", "kept"]
    text = run("experiments/two_grades.py", shared_data("ordinal"), *few)
    lines_with(text, "| machinecpu | # | # (# ± #) | # (# ± #) |")
    losses = [float(line.split("|")[-2]) for line in text.splitlines() if "machinecpu, " in line]
    assert losses[0] == pytest.approx(losses[1], rel=0.03), "both go to one optimum"


def test_experiment_on_the_family_of_lambda_prints_the_differences(run, shared_data):
    few = ["--seeds", 1, "--folds", 1, "--trees", 2, "--epochs", 1, "--folder", "kept"]
    text = run("experiments/lambda_family.py", shared_data("mq2008"), *few)
    lines_with(text, "| RankNet on trees | # | # | # ± # | # ± # |", "| blend of LambdaMART and LambdaRank | # | # |")


def test_leaderboard_goes_on_from_its_cache_and_prints_the_official_values(run, shared_data, tmp_path):
    peer("optuna")
    folder, kept = shared_data("letor-baselines").parent, ["--cache", tmp_path, "--folder", tmp_path, "--folds", 1]
    few = ["--tasks", "mq2008", "--trials", 2, "--rankers", "RankRLS", "scikit-learn Ridge"]
    lines_with(run("experiments/leaderboard.py", "tune", folder, *kept, *few), "mq2008 fold 1 RankRLS # # s")
    assert run("experiments/leaderboard.py", "tune", folder, *kept, *few) == ""
    text = run("experiments/leaderboard.py", "table", folder, *kept, "--tasks", "mq2008")
    lines_with(text, "| RankBoost, official file | 0.3856 |", "| **our blend** | # |", "| scikit-learn Ridge | # |")
    run("experiments/leaderboard_seeds.py", "tune", folder, *kept, *few, "--seeds", 0, 1)
    first, second = (json.loads((tmp_path / f"seed-{one}" / "mq2008.RankRLS.1.json").read_text()) for one in (0, 1))
    again = json.loads((tmp_path / "mq2008.RankRLS.1.json").read_text())
    assert first["trials"] == again["trials"] != second["trials"]
    text = run("experiments/leaderboard_seeds.py", "table", folder, *kept, "--seeds", 0, 1)
    lines_with(text, "| 156 queries, 2 seeds |", "| **our blend** | # (# to #) | # (# to #) |")
    lines_with(text, "| less | RankRLS, NDCG@10 |", "| scikit-learn Ridge | # ± # (p #) | # ± # (p #) | # ± # (p #) |")
    run("experiments/leaderboard.py", "tune", folder, *kept, "--tasks", "movielens", *few[2:])
    text = run("experiments/leaderboard.py", "table", folder, *kept, "--tasks", "movielens")
    lines_with(text, "| 95 queries |", "| **RankRLS** | # |")
    lines_with(run("experiments/leaderboard_tasks.py", folder), "lightgbm: fold 1 trains on 160 queries, # rows")
    lines_with(run("experiments/leaderboard_rankers.py"), "RankRLS: alpha # to #, log; pair_weight pairs or queries")
    lines_with(run("experiments/leaderboard_peers.py"), "lightgbm #", "optuna #")


@pytest.mark.parametrize("what", [("movielens", "movielens-100k", "--every", 200), ("letor", "mq2008", "--folds", 1)])
def test_experiments_on_rankboost_plus_print_the_paper_beside(what, run, shared_data):
    name, folder, *few = what
    small = ["--rounds", 3, "--jobs", 1, "--folder", "kept"]
    text = run("experiments/rankboost_plus.py", name, shared_data(folder), *few, *small)
    for measure in ("R̂1", "R̂2", "NDCG@3", "NDCG@7"):
        lines_with(text, f"| {measure} | # (#) | # (#) | # (#) |")


def test_figures_of_rankboost_plus_show_what_its_theory_says(run, shared_data, tmp_path):
    few = ["--every", 90, "--rounds", 20, "--folder", tmp_path]
    lines_with(run("experiments/rankboost_plus_figures.py", shared_data("movielens-100k"), *few), "| RB-D, Ê2 | # | #")
    plus, _, discrete = json.loads((tmp_path / "rankboost_plus_figures.json").read_text())["training"]
    assert all(after[1] <= before[1] for before, after in pairwise(plus)), "RankBoost+ lowers Ê2 in every round"
    assert discrete[-1][0] < plus[-1][0], "RB-D has the lower Ê1"


def test_experiment_on_meta_search_prints_its_tables(run, few_topics):
    few = ["--rounds", 2, "--folds", 1, "--jobs", 1, "--folder", "kept"]
    text = run("experiments/metasearch_runs.py", few_topics, *few)
    lines_with(text, "| RankBoost | # | # | # | # | # | # | # |", "best of top 10", "| WeakLearn.2.cum | #, # |")


def test_experiment_on_movies_prints_the_means(run, shared_data):
    few = ["--splits", 1, "--targets", 2, "--jobs", 1, "--folder", "kept", "--parts", "densities", "guessing"]
    text = run("experiments/movie_ratings.py", shared_data("movielens-100k"), *few)
    lines_with(text, "densities 61 to 100 ratings RankBoost [# # # #", "guessing 60 movies, 0.25 good #")


def test_plots_of_the_papers_are_drawn_from_the_results(run, tmp_path):
    peer("altair")
    peer("vl_convert")
    names = run("experiments/paper_plots.py", "--folder", tmp_path).split()
    assert {"metasearch_losses.svg", "movies_features.svg", "leaderboard.svg"} <= set(names)
    assert all((tmp_path / name).read_text().startswith("<svg") for name in names)


def test_tables_of_the_papers_are_those_of_the_results(run):
    run("experiments/paper_tables.py", "--check")
