"""Models of LightGBM and XGBoost score here as they do there."""

import json

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import podium
from peers import peer
from podium import FormatError, PodiumError, import_model
from podium._compiled import JIT_DISABLED
from podium.importing.foreign_trees import at_most_as_float32, below_as_float32
from profiles import examples
from reference.foreign import ZERO, lightgbm_goes_left, lightgbm_text

pytestmark = [
    pytest.mark.plain,
    pytest.mark.filterwarnings("ignore:overflow encountered in scalar"),  # scoring by masks wraps around on purpose
]
FEW = examples(12, plain=2)
N_ROWS, QUERY = 120, 12


def make_rows(seed, share_missing=0.2):
    """Rows of small integers, many of them 0 or missing, and labels that follow the first columns."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 5, (N_ROWS, 4)) / rng.choice([1.0, 3.0])
    X[rng.random(X.shape) < share_missing] = np.nan
    y = np.clip(np.nan_to_num(X[:, 0], nan=2) + (X[:, 1] == 0) + rng.integers(0, 2, N_ROWS), 0, 4).astype(int)
    return X, y


def at_thresholds(trees, n_features, seed):
    """Rows whose values stand on thresholds, one float64 and one float32 beside them, at 0 and missing."""
    rng = np.random.default_rng(seed)
    t = np.unique(np.clip(np.concatenate([[0.0], *(tree.threshold for tree in trees)]), -1e30, 1e30))
    single = t.astype(np.float32)
    beside = [np.nextafter(single, np.float32(side)).astype(float) for side in (-np.inf, np.inf)]
    middles = [(one + single) / 2 for one in beside]
    near = [np.nextafter(one, side) for one in (t, *middles) for side in (-np.inf, np.inf)]
    small = [0.0, -0.0, ZERO, -ZERO, 1e-36, -1e-36, 1e-34, -1e-34, np.nan]
    return rng.choice(np.concatenate([t, *beside, *middles, *near, small]), (100 if JIT_DISABLED else 300, n_features))


def train_lightgbm(X, y, n_rounds=6, **parameters):
    lightgbm = peer("lightgbm")
    chosen = {
        "objective": "lambdarank", "num_leaves": 8, "min_data_in_leaf": 3, "min_sum_hessian_in_leaf": 0,
        "learning_rate": 0.3, "verbose": -1, "num_threads": 1, **parameters,
    }  # fmt: skip
    group = [QUERY] * (len(y) // QUERY) if chosen["objective"] == "lambdarank" else None
    return lightgbm.train(chosen, lightgbm.Dataset(X, y, group=group), n_rounds)


def train_xgboost(X, y, n_rounds=6, **parameters):
    xgboost = peer("xgboost")
    chosen = {"objective": "rank:ndcg", "max_depth": 3, "eta": 0.4, "nthread": 1, "verbosity": 0, **parameters}
    data = xgboost.DMatrix(X, y, nthread=1)
    if chosen["objective"].startswith("rank"):
        data.set_group([QUERY] * (len(y) // QUERY))
    return xgboost.train(chosen, data, n_rounds)


def margins(booster, X):
    """XGBoost's own scores."""
    xgboost = peer("xgboost")
    return booster.predict(xgboost.DMatrix(X, nthread=1), output_margin=True).astype(float)


@pytest.mark.parametrize(
    "parameters",
    [{}, {"zero_as_missing": True}, {"use_missing": False}, {"boosting": "dart", "drop_rate": 0.5}],
    ids=str,
)
@given(seed=st.integers(0, 10**6), share_missing=st.sampled_from([0.0, 0.3]))
@FEW
def test_lightgbm_scores_are_equal_bit_for_bit(parameters, seed, share_missing, tmp_path_factory):
    X, y = make_rows(seed, share_missing)
    booster = train_lightgbm(X, y, seed=seed, **parameters)
    path = tmp_path_factory.mktemp("models") / "model.txt"
    booster.save_model(path)
    model = import_model(path)
    edges = at_thresholds(model.trees_, 4, seed)
    for rows in (X, edges, edges.astype(np.float32)):
        np.testing.assert_array_equal(model.predict(rows), booster.predict(rows, raw_score=True))


@pytest.mark.parametrize("endings", [".json", ".ubj"])
@pytest.mark.parametrize(
    "parameters",
    [{}, {"booster": "dart", "rate_drop": 0.5}, {"tree_method": "exact", "num_parallel_tree": 2, "subsample": 0.7}],
    ids=str,
)
@given(seed=st.integers(0, 10**6), share_missing=st.sampled_from([0.0, 0.3]))
@FEW
def test_xgboost_scores_are_equal_bit_for_bit(parameters, endings, seed, share_missing, tmp_path_factory):
    X, y = make_rows(seed, share_missing)
    booster = train_xgboost(X, y, seed=seed, base_score=0.3, **parameters)
    path = tmp_path_factory.mktemp("models") / f"model{endings}"
    booster.save_model(path)
    model = import_model(path)
    edges = at_thresholds(model.trees_, 4, seed)
    for rows in (X, edges, edges.astype(np.float32)):
        np.testing.assert_array_equal(model.predict(rows), margins(booster, rows))


def test_zeros_that_are_missing_in_a_model_that_needs_them_so(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_ROWS, 2))
    X[rng.random(X.shape) < 0.4] = 0
    y = np.where(X[:, 0] == 0, 3, X[:, 0] > 1).astype(int)
    booster = train_lightgbm(X, y, zero_as_missing=True)
    booster.save_model(tmp_path / "model")
    model = import_model(tmp_path / "model")
    assert 0 in model._reading.zero_as_missing
    rows = np.concatenate([X, -X, np.where(X == 0, np.nan, X), 1e-36 * X])
    np.testing.assert_array_equal(model.predict(rows), booster.predict(rows, raw_score=True))
    stored = sp.csr_array(X)
    np.testing.assert_array_equal(model.predict(stored), booster.predict(X, raw_score=True))


def test_a_long_sum_of_float32_is_equal_too(tmp_path):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(600, 4))
    y = (X[:, 0] * 2 > rng.normal(size=600)).astype(int)
    booster = train_xgboost(X, y, 300, base_score=5.0)
    booster.save_model(tmp_path / "model.json")
    np.testing.assert_array_equal(import_model(tmp_path / "model.json").predict(X[:60]), margins(booster, X[:60]))


@given(x=st.floats(allow_nan=False), c=st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_below_a_float32_in_float64(x, c):
    near = [x, c, *(np.nextafter(below_as_float32(np.array([c])), side)[0] for side in (-np.inf, np.inf))]
    threshold = below_as_float32(np.array([c]))[0]
    with np.errstate(over="ignore"):
        assert all((one <= threshold) == bool(np.float32(one) < np.float32(c)) for one in (*near, threshold))


@given(
    x=st.floats(allow_nan=False), t=st.floats(allow_nan=False, allow_infinity=False, min_value=-1e39, max_value=1e39)
)
def test_at_most_a_float64_after_rounding_to_float32(x, t):
    threshold = at_most_as_float32(np.array([t]))[0]
    near = [x, t, threshold, *(np.nextafter(threshold, side) for side in (-np.inf, np.inf))]
    with np.errstate(over="ignore"):
        assert all((one <= threshold) == bool(np.float64(np.float32(one)) <= t) for one in near if abs(one) < 3e38)


def test_a_dump_of_xgboost_differs_by_the_base_score_alone(tmp_path):
    X, y = make_rows(1)
    booster = train_xgboost(X, y, base_score=0.5)
    booster.dump_model(tmp_path / "dump.json", dump_format="json", with_stats=True)
    (tmp_path / "texts.json").write_text(json.dumps(booster.get_dump(dump_format="json")))
    for name in ("dump.json", "texts.json"):
        model = import_model(tmp_path / name, n_features=4)
        np.testing.assert_allclose(model.predict(X) + 0.5, margins(booster, X), atol=1e-6)
    assert model.feature_importances_.sum() == 0
    assert import_model(tmp_path / "dump.json", n_features=4).feature_importances_.sum() == pytest.approx(1)


@pytest.mark.parametrize(
    ("objective", "base"),
    [("reg:squarederror", 2.0), ("binary:logistic", 0.3), ("count:poisson", 0.7), ("reg:gamma", 0.7)],
)
def test_base_scores_of_other_objectives(objective, base, tmp_path):
    X, y = make_rows(2)
    booster = train_xgboost(X, (y > 1) + (0.5 if "gamma" in objective else 0), objective=objective, base_score=base)
    booster.save_model(tmp_path / "model.json")
    np.testing.assert_allclose(import_model(tmp_path / "model.json").predict(X), margins(booster, X), atol=1e-6)


def test_a_random_forest_of_lightgbm_is_a_mean(tmp_path):
    X, y = make_rows(4)
    booster = train_lightgbm(X, y, boosting="rf", bagging_freq=1, bagging_fraction=0.6, objective="regression")
    booster.save_model(tmp_path / "model.txt")
    np.testing.assert_allclose(import_model(tmp_path / "model.txt").predict(X), booster.predict(X), rtol=1e-12)


def test_rounds_past_the_best_one_do_not_score(tmp_path):
    xgboost = peer("xgboost")
    X, y = make_rows(5)
    ranker = xgboost.XGBRanker(n_estimators=40, early_stopping_rounds=3, max_depth=3, eval_metric="ndcg@5", n_jobs=1)
    qid = np.repeat(np.arange(N_ROWS // QUERY), QUERY)
    noise = np.random.default_rng(0).integers(0, 2, N_ROWS)
    ranker.fit(X, y, qid=qid, eval_set=[(X, noise)], eval_qid=[qid], verbose=False)
    ranker.save_model(tmp_path / "model.json")
    model = import_model(tmp_path / "model.json")
    assert model.best_iteration_ == ranker.best_iteration + 1 < len(model.trees_)
    np.testing.assert_array_equal(model.predict(X), ranker.predict(X).astype(float))


def test_absent_entries_mean_what_they_mean_there(tmp_path):
    X, y = make_rows(6)
    stored = sp.csr_array(np.nan_to_num(X))
    lightgbm, xgboost = train_lightgbm(X, y), train_xgboost(X, y)
    lightgbm.save_model(tmp_path / "lightgbm")
    xgboost.save_model(tmp_path / "xgboost.json")
    np.testing.assert_array_equal(
        import_model(tmp_path / "lightgbm").predict(stored), lightgbm.predict(sp.csr_matrix(stored), raw_score=True)
    )
    np.testing.assert_array_equal(import_model(tmp_path / "xgboost.json").predict(stored), margins(xgboost, stored))


NEAR_ZERO = [0.0, -0.0, 1e-36, -1e-36, ZERO, -ZERO, 2e-35, -2e-35, 1.0, -1.0, 3.0, np.nan, np.inf]


@pytest.mark.parametrize("kind", [0, 2, 4, 6, 8, 10])
@pytest.mark.parametrize("threshold", [0.0, 1e-36, -1e-36, ZERO, -ZERO, 1.0, -1.0, 2e-35, np.inf, 1e300])
def test_lightgbm_splits_near_zero(threshold, kind, tmp_path):
    (tmp_path / "model").write_text(lightgbm_text(f"threshold={threshold!r}", f"decision_type={kind}"))
    expected = [1.0 if lightgbm_goes_left(x, threshold, kind) else 2.0 for x in NEAR_ZERO]
    assert import_model(tmp_path / "model").predict([[x, 0.0] for x in NEAR_ZERO]).tolist() == expected


def test_a_column_whose_zeros_are_missing_is_read_so(tmp_path):
    path = tmp_path / "model"
    path.write_text(lightgbm_text("decision_type=4"))
    model = import_model(path)
    assert model.predict([[0.0, 0.0], [-1.0, 0.0], [1.0, 0.0], [np.nan, 0.0]]).tolist() == [2, 1, 2, 2]
    model.save(tmp_path / "ours")
    assert podium.load(tmp_path / "ours").predict([[0.0, 0.0], [-1.0, 0.0]]).tolist() == [2, 1]
    with pytest.raises(PodiumError, match="0 for a missing value in feature 0"):
        model.export(tmp_path / "other", "lightgbm")


def test_zeros_that_are_missing_in_one_tree_and_numbers_in_another_are_refused(tmp_path):
    two = lightgbm_text("decision_type=4", trees=2)
    head, second = two.rsplit("decision_type=4", 1)
    (tmp_path / "model").write_text(f"{head}decision_type=8{second}")
    with pytest.raises(FormatError, match="feature 0 is split with 0 as a missing value and with 0 as a number"):
        import_model(tmp_path / "model")


def test_names_of_features(tmp_path):
    X, y = make_rows(7)
    lightgbm, xgboost = peer("lightgbm"), peer("xgboost")
    pandas = peer("pandas")
    frame = pandas.DataFrame(X, columns=["one", "two", "three", "four"])
    data = lightgbm.Dataset(frame, y, group=[QUERY] * (N_ROWS // QUERY))
    lightgbm.train({"objective": "lambdarank", "verbose": -1, "num_threads": 1}, data, 2).save_model(tmp_path / "l")
    booster = xgboost.train({"objective": "reg:squarederror", "nthread": 1}, xgboost.DMatrix(frame, y), 2)
    booster.save_model(tmp_path / "x.json")
    booster.dump_model(tmp_path / "dump", dump_format="json")
    for name in ("l", "x.json"):
        model = import_model(tmp_path / name)
        assert model.feature_names_in_.tolist() == list(frame)
        np.testing.assert_array_equal(model.predict(frame), model.predict(X))
    with pytest.raises(PodiumError, match="another order"):
        model.predict(frame[["two", "one", "three", "four"]])
    with pytest.raises(FormatError, match="must be one of feature_names; give them in the order of the columns"):
        import_model(tmp_path / "dump")
    by_name = import_model(tmp_path / "dump", feature_names=list(frame))
    np.testing.assert_allclose(np.ptp(by_name.predict(X) - model.predict(X)), 0, atol=1e-6)


@pytest.mark.parametrize(
    ("parameters", "reason"),
    [
        ({"linear_tree": True, "objective": "regression"}, "linear models in the leaves"),
        ({"objective": "multiclass", "num_class": 5}, "several classes"),
    ],
    ids=["linear", "classes"],
)
def test_models_of_lightgbm_that_are_no_sum_of_plain_trees_are_refused(parameters, reason, tmp_path):
    X, y = make_rows(8, 0.0)
    train_lightgbm(X, y, **parameters).save_model(tmp_path / "model")
    with pytest.raises(FormatError, match=reason):
        import_model(tmp_path / "model")


@pytest.mark.parametrize(
    ("parameters", "reason"),
    [
        ({"booster": "gblinear", "objective": "reg:squarederror"}, "one of gbtree, dart; got 'gblinear'"),
        ({"objective": "multi:softprob", "num_class": 5}, "several classes"),
        ({"objective": "reg:squarederror", "multi_strategy": "multi_output_tree"}, "several classes or targets"),
    ],
    ids=["linear", "classes", "targets"],
)
def test_models_of_xgboost_that_are_no_sum_of_plain_trees_are_refused(parameters, reason, tmp_path):
    xgboost = peer("xgboost")
    X, y = make_rows(9)
    labels = np.stack([y, y], 1) if "multi_strategy" in parameters else y
    xgboost.train({**parameters, "nthread": 1}, xgboost.DMatrix(X, labels), 2).save_model(tmp_path / "model.json")
    with pytest.raises(FormatError, match=reason):
        import_model(tmp_path / "model.json")
