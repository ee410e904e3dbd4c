"""Models of LightGBM and XGBoost with splits on categories score codes here as they do there."""

import json

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import podium
from peers import peer
from podium import FormatError, LambdaMART, import_model
from podium._compiled import JIT_DISABLED
from profiles import examples
from reference.foreign import lightgbm_text

pytestmark = [
    pytest.mark.plain,
    pytest.mark.filterwarnings("ignore:overflow encountered in scalar"),  # hashes wrap around on purpose
]
FEW = examples(8, plain=3)
N_ROWS = 240
UNSEEN = [np.nan, 5.0, 41.0, 63.0, 64.0, 100.0, 254.0]
"""Missing values and codes that training did not see, but for 5."""


def make_rows(seed, n_categories=40):
    """Two columns of codes, with missing ones, and one of numbers; labels that follow the codes."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.integers(0, n_categories, N_ROWS), rng.integers(0, 4, N_ROWS), rng.normal(size=N_ROWS)])
    X[rng.random(X.shape) < 0.15] = np.nan
    effect = rng.normal(size=n_categories + 1)
    return X, effect[np.nan_to_num(X[:, 0], nan=n_categories).astype(int)] + (X[:, 1] == 2) + (X[:, 2] > 0)


def unseen_rows(X, seed, others=()):
    """The rows with codes that were not seen, or missing ones, in place of some."""
    rng = np.random.default_rng(seed)
    rows = X.copy()
    for column in (0, 1):
        changed = rng.random(len(X)) < 0.5
        rows[changed, column] = rng.choice([*UNSEEN, *others], changed.sum())
    return rows


def train_lightgbm(X, y, **parameters):
    lightgbm = peer("lightgbm")
    chosen = {
        "objective": "regression", "num_leaves": 8, "min_data_in_leaf": 3, "min_data_per_group": 1, "cat_smooth": 1,
        "verbose": -1, "num_threads": 1, **parameters,
    }  # fmt: skip
    return lightgbm.train(chosen, lightgbm.Dataset(X, y, categorical_feature=[0, 1]), 6)


def matrix(X, y=None):
    xgboost = peer("xgboost")
    return xgboost.DMatrix(X, y, feature_types=["c", "c", "q"], enable_categorical=True, nthread=1)


def train_xgboost(X, y, **parameters):
    xgboost = peer("xgboost")
    chosen = {"objective": "reg:squarederror", "max_depth": 3, "nthread": 1, "max_cat_to_onehot": 4, **parameters}
    return xgboost.train(chosen, matrix(X, y), 6)


def has_sets(model):
    return any(len(tree.sets) for tree in model.trees_)


@pytest.mark.parametrize("parameters", [{}, {"zero_as_missing": True}, {"use_missing": False}], ids=str)
@given(seed=st.integers(0, 10**6))
@FEW
def test_lightgbm_scores_of_codes_are_equal_bit_for_bit(parameters, seed, tmp_path_factory):
    X, y = make_rows(seed)
    booster = train_lightgbm(X, y, seed=seed, **parameters)
    path = tmp_path_factory.mktemp("models") / "model.txt"
    booster.save_model(path)
    model = import_model(path)
    assert has_sets(model)
    for rows in (X, unseen_rows(X, seed, others=[-1.0, -7.0, 255.0, 256.0, 300.0, 1e9])):
        np.testing.assert_array_equal(model.predict(rows), booster.predict(rows))


@pytest.mark.parametrize("ending", [".json", ".ubj"])
@given(seed=st.integers(0, 10**6))
@FEW
def test_xgboost_scores_of_codes_are_equal_bit_for_bit(ending, seed, tmp_path_factory):
    X, y = make_rows(seed)
    booster = train_xgboost(X, y, seed=seed)
    path = tmp_path_factory.mktemp("models") / f"model{ending}"
    booster.save_model(path)
    model = import_model(path)
    assert has_sets(model)
    for rows in (X, unseen_rows(X, seed)):
        np.testing.assert_array_equal(model.predict(rows), booster.predict(matrix(rows)).astype(float))


def test_a_dump_with_categories_differs_by_the_base_score_alone(tmp_path):
    X, y = make_rows(1)
    booster = train_xgboost(X, y, base_score=0.5)
    booster.dump_model(tmp_path / "dump.json", dump_format="json")
    model = import_model(tmp_path / "dump.json", n_features=3)
    assert has_sets(model)
    for rows in (X, unseen_rows(X, 1)):
        np.testing.assert_allclose(model.predict(rows) + 0.5, booster.predict(matrix(rows)), atol=1e-6)


def test_imported_sets_are_saved_and_loaded_and_exported(tmp_path):
    X, y = make_rows(2)
    train_lightgbm(X, y).save_model(tmp_path / "lightgbm.txt")
    train_xgboost(X, y).save_model(tmp_path / "xgboost.json")
    for name in ("lightgbm.txt", "xgboost.json"):
        model = import_model(tmp_path / name)
        model.save(tmp_path / "model.podium")
        rows = unseen_rows(X, 2)
        np.testing.assert_array_equal(podium.load(tmp_path / "model.podium").predict(rows), model.predict(rows))
        model.export(tmp_path / "again.txt", "lightgbm")
        np.testing.assert_allclose(import_model(tmp_path / "again.txt").predict(rows), model.predict(rows), atol=1e-6)


def test_absent_codes_are_zero_to_lightgbm(tmp_path):
    X, y = make_rows(3)
    booster = train_lightgbm(X, y)
    booster.save_model(tmp_path / "model")
    stored = sp.csr_array(np.nan_to_num(X))
    np.testing.assert_array_equal(
        import_model(tmp_path / "model").predict(stored), booster.predict(sp.csr_matrix(stored))
    )


@pytest.mark.skipif(JIT_DISABLED, reason="a fit of trees is slow without compilation")
def test_a_ranker_learns_on_from_imported_sets(tmp_path):
    X, y = make_rows(4)
    labels = (y > np.median(y)).astype(int)
    train_lightgbm(X, y).save_model(tmp_path / "model")
    model = import_model(tmp_path / "model")
    further = LambdaMART(3, min_child_samples=5).fit(X, labels, qid=np.repeat(np.arange(20), 12), init_model=model)
    further.save(tmp_path / "further")
    np.testing.assert_array_equal(podium.load(tmp_path / "further").predict(X), further.predict(X))


def test_more_categories_than_a_set_holds_are_refused(tmp_path):
    rng = np.random.default_rng(0)
    X = np.column_stack([np.arange(900) % 300, np.zeros(900), rng.normal(size=900)])
    y = (X[:, 0] > 200) * 1.0
    lightgbm, xgboost = train_lightgbm(X, y, max_bin=500), train_xgboost(X, y, max_bin=500)
    lightgbm.save_model(tmp_path / "lightgbm")
    xgboost.save_model(tmp_path / "xgboost.json")
    xgboost.dump_model(tmp_path / "dump", dump_format="json")
    for name in ("lightgbm", "xgboost.json", "dump"):
        with pytest.raises(FormatError, match=r"names category [0-9]+, but at most 255, from 0 to 254, can be read"):
            import_model(tmp_path / name)


SET = ("num_cat=1", "threshold=0", "decision_type=9")


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        ("", "cat_boundaries|numbers of sets"),
        ("cat_boundaries=0 1", "cat_boundaries must be integers from 0 to 0"),
        ("cat_boundaries=0 2\ncat_threshold=6", "cat_boundaries must be integers from 0 to 1"),
        ("cat_boundaries=0\ncat_threshold=6", "numbers of sets"),
        ("cat_boundaries=0 1\ncat_threshold=-6", "cat_threshold must be integers from 0 to 4294967295"),
    ],
)
def test_broken_sets_of_lightgbm(tmp_path, lines, reason):
    text = lightgbm_text(*SET)
    (tmp_path / "model").write_text(text.replace("left_child", f"{lines}\nleft_child"))
    with pytest.raises(FormatError, match=reason):
        import_model(tmp_path / "model")


@pytest.fixture
def small_set(tmp_path):
    """A model of LightGBM with one split, which sends codes 1 and 2 to the left."""
    text = lightgbm_text(*SET).replace("left_child", "cat_boundaries=0 1\ncat_threshold=6\nleft_child")
    (tmp_path / "model").write_text(text)
    return import_model(tmp_path / "model")


def test_a_small_set_of_lightgbm(small_set):
    rows = [[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [3.0, 0.0], [np.nan, 0.0], [-1.0, 0.0], [300.0, 0.0]]
    assert small_set.predict(rows).tolist() == [2, 1, 1, 2, 2, 2, 2]


@pytest.mark.parametrize("set_of", [[], [0, -1]], ids=str)
def test_a_file_with_sets_of_more_or_fewer_splits_than_there_are_is_refused(small_set, set_of):
    content = small_set.content()
    trees = content["learned"]["trees"]
    assert trees["set_of"].tolist() == [0]
    content["learned"]["trees"] = {
        **trees,
        "set_of": np.array(set_of, np.int32),
        "sets": trees["sets"][: 8 * len(set_of)],
    }
    with pytest.raises(FormatError, match="set_of must have 1 entries; got"):
        type(small_set).from_content(content, "file")


@pytest.mark.parametrize(
    ("name", "value"),
    [("categories_nodes", []), ("categories_sizes", [999]), ("categories_segments", [-1]), ("categories", None)],
)
def test_broken_sets_of_xgboost(tmp_path, name, value):
    X, y = make_rows(5)
    booster = train_xgboost(X, y, max_depth=1)
    booster.save_model(tmp_path / "model.json")
    document = json.loads((tmp_path / "model.json").read_text())
    tree = document["learner"]["gradient_booster"]["model"]["trees"][0]
    assert tree["split_type"][0] == 1
    tree[name] = value
    (tmp_path / "model.json").write_text(json.dumps(document))
    with pytest.raises(FormatError, match="categories"):
        import_model(tmp_path / "model.json")
