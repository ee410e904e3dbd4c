"""What every ranker shares, on one whose scores are its first column: positions, quality, columns, queries, files."""

import warnings
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import podium
from peers import peer
from podium import FormatError, PodiumError, RankBoost, VectorSimilarity, evaluate, load
from podium.model_file import read_model, write_model
from podium.rankers import RANKERS, Ranker

pytestmark = [
    pytest.mark.plain,
    pytest.mark.filterwarnings("ignore:overflow encountered in scalar"),  # hashes wrap around on purpose
]
SAMPLES = Path(__file__).parent / "data" / "models" / "protocol-1"


class First(Ranker):
    """A ranker that scores by the first column, and keeps the evaluation sets that it was given."""

    _parameter_constraints = {"eval_metric": [str, list]}  # noqa: RUF012

    def __init__(self, eval_metric="ndcg@3"):
        self.eval_metric = eval_metric

    def _learn(self, data, evals, init_model):
        self.evals_ = evals

    def _score(self, features):
        return np.asarray(features[:, 0], float)


class Whatever(First):
    """A ranker to which queries do not matter."""

    _by_query = False


@pytest.fixture
def table():
    """Scores with many ties, grades, and queries of sizes 1 to 9 whose rows are mixed."""
    rng = np.random.default_rng(0)
    qid = rng.permutation(np.repeat(["q3", "q1", "q4", "q0", "q2"], [1, 3, 9, 7, 5]))
    X = rng.integers(0, 4, (25, 2)).astype(float)
    return X, rng.integers(0, 3, 25), qid


@pytest.fixture
def model(table):
    X, y, qid = table
    return First().fit(X, y, qid=qid)


# Positions


def test_rows_with_equal_scores_share_the_best_position(model, table):
    X, _, qid = table
    expected = [1 + np.sum((qid == qid[i]) & (X[:, 0] > X[i, 0])) for i in range(len(X))]
    assert model.rank(X, qid=qid).tolist() == expected
    assert model.rank(X).tolist() == [1 + np.sum(X[:, 0] > x) for x in X[:, 0]]


def test_a_tie_across_queries_is_none(model):
    assert model.rank([[2.0, 0], [1.0, 0], [1.0, 0], [0.0, 0]], qid=[0, 0, 1, 1]).tolist() == [1, 2, 1, 2]


def test_positions_follow_their_rows_in_any_order(model, table):
    X, _, qid = table
    places, order = model.rank(X, qid=qid), np.random.default_rng(1).permutation(len(X))
    assert model.rank(X[order], qid=qid[order]).tolist() == places[order].tolist()


# Quality


@pytest.mark.parametrize("metric", ["ndcg@3", "map", "mrr", "p@1", "pair_loss", "disagreement", "kendall", "auc"])
def test_score_is_the_measure_of_evaluate_higher_being_better(metric, table):
    X, y, qid = table
    expected = evaluate(y, X[:, 0], qid=qid, measures=[metric])[metric]
    sign = -1 if metric in ("pair_loss", "disagreement") else 1
    found = First([metric, "err"]).fit(X, y, qid=qid).score(X, y, qid=qid)
    assert found == pytest.approx(sign * expected, rel=1e-12)
    assert found != 0


def test_a_query_counts_in_score_as_much_as_the_mean_weight_of_its_rows(table):
    X, y, qid = table
    model, weight = First("p@1").fit(X, y, qid=qid), np.random.default_rng(2).integers(1, 9, len(X))
    alone = {q: model.score(X[qid == q], y[qid == q]) for q in np.unique(qid) if (y[qid == q] > 0).any()}
    means = [weight[qid == q].mean() for q in alone]
    found = model.score(X, y, qid=qid, sample_weight=weight)
    assert found == pytest.approx(np.average(list(alone.values()), weights=means), rel=1e-12)
    assert found != pytest.approx(model.score(X, y, qid=qid), rel=1e-3)


def test_many_rows_without_queries_are_warned_of(model):
    X, y = np.arange(1001.0)[:, None].repeat(2, 1), np.arange(1001) % 3
    with pytest.warns(UserWarning, match=r"All 1001 rows are one query.*say qid=np.zeros\(1001\)"):
        model.score(X, y)
    with pytest.warns(UserWarning, match=r"All 1001 rows are one query.*say group=\[1001\]"):
        First().fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.score(X[1:], y[1:])
        model.score(X, y, qid=np.zeros(1001))
        First().fit(X, y, group=[1001])
        Whatever().fit(X, y)


# Columns


def test_names_of_an_earlier_fit_are_forgotten(table):
    pandas = peer("pandas")
    X, y, qid = table
    model = First().fit(pandas.DataFrame(X, columns=["a", "b"]), y, qid=qid)
    assert model.feature_names_in_.tolist() == ["a", "b"]
    assert not hasattr(model.fit(X, y, qid=qid), "feature_names_in_")


@pytest.mark.parametrize(
    ("columns", "message"),
    [(["b", "a"], "another order"), (["a", "c"], "'b' is missing"), (["a", "b", "c"], "'c' is not known")],
)
def test_other_names_of_columns_are_refused_everywhere(columns, message, table):
    pandas = peer("pandas")
    X, y, qid = table
    frame, other = pandas.DataFrame(X, columns=["a", "b"]), pandas.DataFrame(np.resize(X, (25, len(columns))))
    other.columns = columns
    model = First().fit(frame, y, qid=qid)
    with pytest.raises(PodiumError, match=message):
        model.predict(other)
    if len(columns) == 2:
        swapped = {"'b' is missing": "'[bc]' is (not known|missing)"}.get(message, message)
        with pytest.raises(
            PodiumError, match=rf"eval_set\[0\] must have the columns of X, in their order.*({swapped})"
        ):
            First().fit(frame, y, qid=qid, eval_set=[(other, y)], eval_qid=[qid])
        with pytest.raises(PodiumError, match=f"init_model must have the columns of X, in their order.*({swapped})"):
            First().fit(other, y, qid=qid, init_model=model)


@pytest.mark.parametrize("width", [1, 3])
def test_another_number_of_columns_is_refused_everywhere(width, model, table):
    X, y, qid = table
    other = np.resize(X, (25, width))
    with pytest.raises(PodiumError, match=f"X has {width} features, but First is expecting 2 features"):
        model.predict(other)
    with pytest.raises(PodiumError, match=rf"eval_set\[0\] must have the columns of X: 2 expected, {width} given"):
        First().fit(X, y, qid=qid, eval_set=[(other, y)], eval_qid=[qid])
    with pytest.raises(PodiumError, match=f"init_model must have the columns of X: {width} expected, 2 given"):
        First().fit(other, y, qid=qid, init_model=model)


# Evaluation sets


def test_evaluation_sets_without_queries_beside_rows_with_some(table):
    X, y, qid = table
    for kind in (First, Whatever):
        with pytest.raises(PodiumError, match=r"eval_set\[1\] must have queries, as the training rows have"):
            kind().fit(X, y, qid=qid, eval_set=[(X, y)] * 2, eval_qid=[qid, None])
    with pytest.raises(PodiumError, match=r"The training rows must have queries, as eval_set\[0\] has"):
        First().fit(X, y, eval_set=[(X, y)], eval_qid=[qid])
    assert len(Whatever().fit(X, y, eval_set=[(X, y)], eval_qid=[qid]).evals_) == 1


@pytest.mark.parametrize(
    ("given", "got"),
    [
        ((1, 2), "tuple"),
        (((1, 2), (3, 4)), "tuple"),
        ([(1,)], "a tuple of 1"),
        ([(1, 2), [1, 2, 3]], r"a list of 3 \(queries are given in eval_qid\)"),
        ([1], "an entry of type int"),
        (3, "int"),
        ("ab", "str"),
    ],
    ids=str,
)
def test_evaluation_sets_are_a_list_of_two(given, got, table):
    X, y, qid = table
    with pytest.raises(PodiumError, match=rf"eval_set must be a list of \(X, y\), such as .*; got {got}\.$"):
        First().fit(X, y, qid=qid, eval_set=given)


@pytest.mark.parametrize("name", ["eval_qid", "eval_group"])
@pytest.mark.parametrize("n_given", [0, 2])
def test_queries_of_evaluation_sets_are_one_each(name, n_given, table):
    X, y, qid = table
    with pytest.raises(PodiumError, match=f"{name} must have one entry per eval_set: 1 expected, {n_given} given"):
        First().fit(X, y, qid=qid, eval_set=[(X, y)], **{name: [qid] * n_given})


def test_as_many_rounds_as_there_were_may_be_asked_for():
    X, y = np.arange(12.0).reshape(-1, 1) % 5, np.arange(12) % 3
    model = RankBoost(3).fit(X, y)
    assert RankBoost(3).fit(X, y, init_model=model).rounds_ == model.rounds_
    with pytest.raises(PodiumError, match=r"init_model has 3 rounds already.*got 2"):
        RankBoost(2).fit(X, y, init_model=model)


# Files


def test_sparse_rows_and_names_are_kept_in_a_file(table, tmp_path):
    X, y, qid = table
    for given in (X, sp.csr_array(X)):
        model = VectorSimilarity().fit(given, y, qid=qid)
        assert model.sparse_input_ == sp.issparse(given)
        model.save(tmp_path / "model")
        assert load(tmp_path / "model").sparse_input_ == sp.issparse(given)


@pytest.mark.parametrize("names", [[], ["a"], ["a", "b", "c"], ["a", 1], "ab", {"a": 1, "b": 2}], ids=str)
def test_names_in_a_file_are_one_for_each_feature(names, table, tmp_path):
    X, y, qid = table
    write_model(tmp_path / "model", {**VectorSimilarity().fit(X, y, qid=qid).content(), "feature_names": names})
    with pytest.raises(FormatError, match=r"feature_names must (be a list of strings|have 2 entries)"):
        load(tmp_path / "model")


def test_what_is_kept_must_be_arrays(table, tmp_path):
    X, y, qid = table
    content = VectorSimilarity().fit(X, y, qid=qid).content()
    content["learned"]["coef_"] = content["learned"]["coef_"].tolist()
    write_model(tmp_path / "model", content)
    with pytest.raises(FormatError, match="coef_ must be a list of finite numbers"):
        load(tmp_path / "model")


def test_a_ranker_with_the_name_of_one_of_ours_cannot_be_saved(table, tmp_path):
    X, y, qid = table
    own = type("RankBoost", (RankBoost,), {"__init__": RankBoost.__init__})
    with pytest.raises(PodiumError, match="holds rankers of Podium only; RankBoost is not one of them"):
        own(2).fit(X, y, qid=qid).save(tmp_path / "model")


@pytest.fixture
def content(table):
    X, y, qid = table
    return RankBoost(2).fit(X, y, qid=qid).content()


def test_a_measure_may_be_a_whole_number_in_a_file(content, tmp_path):
    evals = {"validation_0": {"map": [1, 0.5]}}
    write_model(tmp_path / "model", {**content, "training": {**content["training"], "evals": evals}})
    assert load(tmp_path / "model").evals_result_ == evals


@pytest.mark.parametrize("name", ["rows", "queries", "features", "grades", "pairs"])
def test_a_summary_without_one_of_its_counts_is_refused(name, content, tmp_path):
    training = {key: value for key, value in content["training"].items() if key != name}
    write_model(tmp_path / "model", {**content, "training": training})
    with pytest.raises(FormatError, match=f"{name} is missing"):
        load(tmp_path / "model")


@pytest.mark.parametrize("error", [TypeError, OverflowError])
def test_parameters_that_break_a_check_are_refused(error, content, tmp_path, monkeypatch):
    def check(self):
        raise error("int too large to convert to float")

    write_model(tmp_path / "model", content)
    monkeypatch.setattr(RankBoost, "_check_parameters", check)
    with pytest.raises(FormatError, match=r"a parameter cannot be used\. int too large to convert to float"):
        load(tmp_path / "model")


@pytest.mark.parametrize("change", [-1, 1])
def test_another_best_round_than_what_was_learned_is_refused(change, content, tmp_path):
    training = {**content["training"], "best_round": content["training"]["best_round"] + change}
    write_model(tmp_path / "model", {**content, "training": training})
    with pytest.raises(FormatError, match="best_round is not the best_iteration"):
        load(tmp_path / "model")


@pytest.mark.parametrize("parameters", [{"max_bins": 10**400}, {"learning_rate": 10**400}, {"depth": 1}, [], None])
def test_parameters_that_fit_would_not_take_are_refused(parameters, content, tmp_path):
    given = {**content["parameters"], **parameters} if isinstance(parameters, dict) else parameters
    write_model(tmp_path / "model", {**content, "parameters": given})
    with pytest.raises(FormatError, match=r"a parameter cannot be used|parameters are not those of RankBoost"):
        load(tmp_path / "model")


def other_value(value):
    """Return another value of the same kind as a default; None where there is no telling."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    return value / 2 if isinstance(value, float) and value else None


@pytest.mark.parametrize("name", RANKERS)
def test_numbers_and_truth_values_that_are_no_defaults_are_kept_in_a_file(name, tmp_path):
    """All but the number of neighbours, which says what kind of a model was learned."""
    path = next(one for one in sorted(SAMPLES.glob("*.podium")) if read_model(one)["ranker"] == name)
    model = load(path)
    changed = {key: other_value(value) for key, value in type(model)().get_params(deep=False).items()}
    for key, value in ((key, value) for key, value in changed.items() if value is not None and key != "n_neighbors"):
        before = getattr(model, key)
        model.set_params(**{key: value})
        try:
            model._check_parameters()
        except PodiumError:  # it goes with another parameter only
            model.set_params(**{key: before})
    model.save(tmp_path / "model")
    assert str(load(tmp_path / "model").get_params()) == str(model.get_params())


def test_all_public_names_can_be_imported():
    assert {"__version__", "load", "export_report", "import_model", *RANKERS} <= set(podium.__all__)
    for name in podium.__all__:
        assert getattr(podium, name) is not None
