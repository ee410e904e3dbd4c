"""Nets elsewhere: files, ONNX, Solr, explanations that add up."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import podium
from peers import peer
from podium import FormatError, LambdaRank, PodiumError, RankNet, export_report, load, make_search
from podium.explain.net_gradients import mean_gradient
from podium.model_file import read_model, write_model
from podium.neural import Net, NetShape
from profiles import examples
from reference import neural as plain

SCALES = ["gauss", "log1p", "standard"]


@pytest.fixture(scope="module")
def table():
    """Search data with features of many sizes, some missing, one constant."""
    d = make_search(20, 10, 5, random_state=0)
    X = np.c_[d.X * [1, 100, 1e-3, 1, 1], np.ones(len(d.y))]
    X[np.random.default_rng(0).random(len(X)) < 0.2, 2] = np.nan
    return X, d.y, d.qid


def fitted(table, **given):
    X, y, qid = table
    return RankNet(**{"n_estimators": 6, "hidden": (7, 4), "learning_rate": 0.02, **given}).fit(X, y, qid=qid)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("hidden", [(), (6,), (7, 4)])
def test_onnx_runtime_scores_alike(table, scale, hidden, tmp_path):
    runtime, X = peer("onnxruntime"), table[0]
    model = fitted(table, scale=scale, hidden=hidden)
    model.export(tmp_path / "net.onnx", "onnx")
    session = runtime.InferenceSession(tmp_path / "net.onnx", providers=["CPUExecutionProvider"])
    far = np.concatenate([X, X * 50, -X, np.full((1, X.shape[1]), np.nan)]).astype(np.float32)
    (theirs,) = session.run(None, {"X": far})
    ours = model.predict(far)
    np.testing.assert_allclose(theirs[:, 0], ours, rtol=2e-4, atol=2e-4)
    report = export_report(model, far, "onnx", qid=np.zeros(len(far)))
    assert report.largest_difference < 1e-3, "the report scores as ONNX does, beyond the training rows too"


def solr_scores(text, X):
    """Score rows by the layers of a NeuralNetworkModel, as Solr's documentation has them."""
    model = json.loads(text)
    assert model["class"] == "org.apache.solr.ltr.model.NeuralNetworkModel"
    rows = X
    for layer in model["params"]["layers"]:
        rows = rows @ np.array(layer["matrix"]).T + np.array(layer["bias"])
        rows = {"relu": lambda x: np.maximum(x, 0), "identity": lambda x: x}[layer["activation"]](rows)
    return rows[:, 0]


@pytest.mark.parametrize("hidden", [(), (6,), (7, 4)])
def test_the_layers_of_solr_score_alike(table, hidden, tmp_path):
    X, y, qid = table
    X = np.nan_to_num(X)
    model = RankNet(4, hidden=hidden, scale="standard", learning_rate=0.02).fit(X, y, qid=qid)
    model.export(tmp_path / "net.json", "solr", missing="absent", name="mine")
    text = (tmp_path / "net.json").read_text()
    np.testing.assert_allclose(solr_scores(text, X), model.predict(X), rtol=1e-4, atol=1e-4)
    assert json.loads(text)["name"] == "mine"
    assert [one["name"] for one in json.loads(text)["features"]] == [f"f{i}" for i in range(6)]
    assert export_report(model, X, "solr", qid=qid, missing="absent").largest_difference < 1e-3


def test_what_a_format_cannot_hold_is_refused(table, tmp_path):
    X, y, qid = table
    model = fitted(table)
    with pytest.raises(PodiumError, match='fit it with scale="standard"'):
        model.export(tmp_path / "x", "solr", missing="absent")
    with pytest.raises(PodiumError, match="reads a missing value as 0"):
        fitted(table, scale="standard").export(tmp_path / "x", "solr")
    for name, holds in (("lightgbm", "trees"), ("sql", "trees and weighted sums")):
        with pytest.raises(
            PodiumError, match=f"holds {holds}, but RankNet scores by a net; formats for it are solr, onnx"
        ):
            model.export(tmp_path / "x", name)
    towns = RankNet(2, hidden=(3,), categorical_features=[1]).fit(np.c_[X[:, 0], y], y, qid=qid)
    with pytest.raises(PodiumError, match="reads the categories of 'f1'"):
        towns.export(tmp_path / "x", "onnx")
    assert not list(tmp_path.iterdir())


@given(st.integers(0, 10**6))
@examples(30, plain=5)
def test_the_mean_gradient_is_that_of_many_steps_and_adds_up(seed):
    rng = np.random.default_rng(seed)
    shape = NetShape(3, (), tuple(rng.integers(1, 6, rng.integers(0, 4)).tolist()))
    net = Net(shape, rng.normal(size=shape.n_weights).astype(np.float32))
    start, end = rng.normal(size=(2, 3))
    found = mean_gradient(net.layers, start, end)
    gap = plain.net_scores(net.layers, np.stack([end, start]))
    assert found @ (end - start) == pytest.approx(gap[0] - gap[1], rel=1e-9, abs=1e-9)
    steps, h = (np.arange(2000) + 0.5) / 2000, 1e-6
    line = start + steps[:, None] * (end - start)
    slopes = [
        (plain.net_scores(net.layers, line + h * e) - plain.net_scores(net.layers, line - h * e)).mean() / (2 * h)
        for e in np.eye(3)
    ]
    np.testing.assert_allclose(found, slopes, rtol=0.02, atol=0.02 * np.abs(slopes).max() + 1e-6)


@pytest.mark.parametrize("scale", SCALES)
def test_explanations_add_up_to_the_difference_of_scores(table, scale):
    X = table[0]
    model = fitted(table, scale=scale)
    scores = model.predict(X)
    for a, b in ((0, 1), (5, 17), (30, 2)):
        one, back = model.explain(X, a, b), model.explain(X, b, a)
        assert one.contributions.sum() == pytest.approx(scores[a] - scores[b], rel=1e-9, abs=1e-9)
        np.testing.assert_allclose(one.contributions, -back.contributions, atol=1e-12)
        assert one.contributions[5] == 0  # constant
        assert one.method == "integrated gradients"
    whole = model.explain_query(X, table[2], table[2][0])
    own = scores[table[2] == table[2][0]]
    np.testing.assert_allclose(whole.contributions.sum(axis=1), own - own.mean(), atol=1e-9)


def test_explanations_of_a_linear_net_are_its_weights_times_the_differences(table):
    X, y, qid = np.nan_to_num(table[0]), *table[1:]
    model = RankNet(4, hidden=(), scale="standard").fit(X, y, qid=qid)
    weight = model.rounds_[-1].net.layers[0][0][:, 0] / model._inputs.scaling.deviations
    np.testing.assert_allclose(model.explain(X, 3, 8).contributions, weight * (X[3] - X[8]), atol=1e-12)


def test_categories_have_one_part_each(table):
    X, y, qid = table
    model = RankNet(10, hidden=(6,), categorical_features=[1], learning_rate=0.02).fit(np.c_[X[:, 0], y], y, qid=qid)
    rows = np.array([[0.5, 0.0], [0.5, 1.0]])
    found = model.explain(rows, 0, 1)
    low, high = model.predict(rows)
    assert found.contributions.tolist() == pytest.approx([0.0, low - high])


def test_what_if_is_refused_with_advice(table):
    with pytest.raises(PodiumError, match=r"RankNet is a net; explain\(X, a, b\) says what each"):
        fitted(table).what_if(table[0], 0, 1)


class TestFiles:
    @pytest.mark.parametrize("optimizer", ["adam", "sgd"])
    @pytest.mark.parametrize("scale", SCALES)
    def test_saved_nets_score_alike_and_can_be_gone_on_from(self, table, optimizer, scale, tmp_path):
        X, y, qid = table
        model = fitted(table, optimizer=optimizer, scale=scale)
        model.save(tmp_path / "net")
        loaded = load(tmp_path / "net")
        np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
        for one, other in zip(loaded.staged_predict(X), model.staged_predict(X), strict=True):
            np.testing.assert_array_equal(one, other)
        further = [
            RankNet(8, hidden=(7, 4), learning_rate=0.02, optimizer=optimizer, scale=scale).fit(
                X, y, qid=qid, init_model=before
            )
            for before in (loaded, model)
        ]
        np.testing.assert_array_equal(further[0].predict(X), further[1].predict(X))

    @pytest.mark.parametrize(
        ("where", "change", "message"),
        [
            (("epochs", "weights"), lambda x: x[:-1], "weights must have"),
            (("epochs", "weights"), lambda x: np.where(np.arange(len(x)) == 3, np.nan, x), "weights must be"),
            (("epochs", "moments"), lambda x: x[:-1], "moments must have"),
            (("epochs", "hidden"), lambda x: x + 1, "weights must have"),
            (("epochs", "n_numbers"), lambda x: x + 1, "must have|does not read"),
            (("inputs", "scale"), lambda x: "cubic", "scale must be one of"),
            (("inputs", "deviations"), lambda x: -x, "deviations must be"),
            (("inputs", "means"), lambda x: x[1:], "means must have"),
            (("inputs", "flagged"), lambda x: ~x.astype(bool), "does not read as many inputs"),
            (("inputs", "knot_offsets"), lambda x: x[:-1], "knot_offsets must"),
            (("inputs", "knots"), lambda x: x[::-1], "must ascend"),
        ],
    )
    def test_damaged_nets_are_refused(self, table, where, change, message, tmp_path):
        fitted(table).save(tmp_path / "net")
        content = dict(read_model(tmp_path / "net"))
        learned = dict(content["learned"])
        part = dict(learned[where[0]])
        part[where[1]] = change(part[where[1]])
        write_model(tmp_path / "net", {**content, "learned": {**learned, where[0]: part}})
        with pytest.raises(FormatError, match=message):
            load(tmp_path / "net")

    def test_names_and_categories_come_back(self, tmp_path):
        pandas = peer("pandas")
        rng = np.random.default_rng(0)
        frame = pandas.DataFrame({"town": pandas.Categorical(rng.choice(list("abc"), 60)), "x": rng.random(60)})
        model = LambdaRank(3, hidden=(4,)).fit(frame, rng.integers(0, 3, 60), group=[10] * 6)
        model.save(tmp_path / "net")
        loaded = podium.load(tmp_path / "net")
        assert loaded.categories_["town"].tolist() == ["a", "b", "c"]
        np.testing.assert_array_equal(loaded.predict(frame[::-1]), model.predict(frame[::-1]))
