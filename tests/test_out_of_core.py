"""Fits from Parquet files: the model of a fit in memory, bit for bit; what is refused."""

import numpy as np
import pandas as pd
import pytest

from podium import MART, LambdaMART, PodiumError, RankBoost, RankSVM, make_search
from podium._exchange import ALONE
from podium.binning import BinSample, bin_features, cuts
from podium.out_of_core import fit, mapped_bins, parquet_rows, predict

pytestmark = pytest.mark.filterwarnings("error")


def search_frame(n_queries, seed):
    """Rows in no order, with missing values, few-valued columns and weights that are no powers of two."""
    made, rng = make_search(n_queries=n_queries, random_state=seed), np.random.default_rng(seed)
    X = np.array(made.X)[:, :19]
    X[rng.random(X.shape) < 0.05] = np.nan
    X[:, 3] = np.floor(4 * rng.random(len(X)))
    frame = pd.DataFrame(X, columns=[f"f{number}" for number in range(19)])
    frame["label"], frame["query"], frame["weight"] = made.y, made.qid, rng.random(len(X)) + 0.1
    frame["query_weight"] = 0.3 + np.asarray(made.qid) % 3
    frame = frame.sample(frac=1, random_state=seed)
    frame.iloc[: len(frame) // 8, 7] = -np.inf  # in the first batches alone
    return frame


@pytest.fixture(scope="module")
def frame():
    return search_frame(40, 1)


@pytest.fixture(scope="module")
def files(frame, tmp_path_factory):
    """The rows in three files, the second without any."""
    folder = tmp_path_factory.mktemp("files")
    for number, part in enumerate((frame[:700], frame[:0], frame[700:])):
        part.to_parquet(folder / f"part-{number}.parquet", row_group_size=300, index=False)
    return folder


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    monkeypatch.setattr(parquet_rows, "CELLS_PER_BATCH", 19 * 128)


def columns(frame):
    return frame[[f"f{number}" for number in range(19)]]


def assert_same(found, expected, X):
    np.testing.assert_array_equal(found.predict(X), expected.predict(X))
    for name in ("training_summary_", "evals_result_", "best_iteration_", "stop_reason_", "seed_"):
        assert getattr(found, name) == getattr(expected, name), name
    assert found.content()["learned"].keys() == expected.content()["learned"].keys()


@pytest.mark.parametrize("ranker", [LambdaMART(4, subsample=0.7, colsample_bytree=0.8), MART(4, max_bins=10)])
def test_a_fit_from_files_is_the_fit_in_memory(files, frame, ranker):
    local = type(ranker)(**ranker.get_params()).fit(
        columns(frame), frame["label"], qid=frame["query"], sample_weight=frame["weight"],
        query_weight=frame["query_weight"],
    )  # fmt: skip
    named = {"qid": "query", "sample_weight": "weight", "query_weight": "query_weight"}
    found = fit(ranker, files, "label", **named)
    assert_same(found, local, columns(frame))
    left_out = ("label", "query", "weight", "query_weight")
    in_order = pd.concat([frame[:700], frame[700:]])
    np.testing.assert_array_equal(predict(found, files, leave_out=left_out), local.predict(columns(in_order)))


@pytest.mark.parametrize(("most", "max_bins"), [(mapped_bins.MOST_MERGED, 255), (50, 255), (4096, 40)])
def test_bins_of_many_rows_come_from_a_sample(files, frame, monkeypatch, most, max_bins):
    monkeypatch.setattr(cuts, "MAX_ROWS_SORTED", 500)
    monkeypatch.setattr(cuts, "SAMPLE_ROWS", 200)
    monkeypatch.setattr("podium.binning.shared_bins.MOST_MERGED", most)
    monkeypatch.setattr(mapped_bins, "MOST_MERGED", most)
    kept = columns(frame).round(1).assign(label=frame["label"], query=frame["query"], weight=frame["weight"])
    kept.to_parquet(files.parent / "rounded.parquet")
    options = {"n_estimators": 3, "max_bins": max_bins}
    local = LambdaMART(**options).fit(
        columns(kept), kept["label"], qid=kept["query"], sample_weight=kept["weight"]
    )  # fmt: skip
    paths = files.parent / "rounded.parquet"
    assert_same(fit(LambdaMART(**options), paths, "label", qid="query", sample_weight="weight"), local, columns(kept))


def test_streamed_bins_are_those_of_memory(monkeypatch):
    monkeypatch.setattr(cuts, "MAX_ROWS_SORTED", 200)
    monkeypatch.setattr(cuts, "SAMPLE_ROWS", 8)
    rng = np.random.default_rng(4)
    X, weight, keys = rng.integers(12, size=(300, 5)).astype(float), rng.random(300) ** 4 + 0.01, np.arange(300)
    X[:90, 1], X[:90, 2] = np.nan, -np.inf
    keys = rng.permutation(keys).astype(np.uint64)
    local = bin_features(X, None, weight, 9, keys=keys)
    runs, sample = mapped_bins.FeatureRuns(5), BinSample.draw(weight, keys, ALONE)
    parts = [(slice(start, start + 100), X[start : start + 100]) for start in range(0, 300, 100)]
    for own, features in parts:
        runs.add(features, sample.own_shares[own])
    uppers = mapped_bins.stream_uppers(lambda: parts, 300, sample, runs, 9, None)
    found = mapped_bins.stream_codes(lambda: parts, np.arange(300), uppers, None)
    assert any(len(upper) == 9 for upper in uppers)
    np.testing.assert_array_equal(found.codes, local.codes)
    for name in ("thresholds", "offsets", "first", "has_missing"):
        np.testing.assert_array_equal(getattr(found.cuts, name), getattr(local.cuts, name))


def test_early_stopping_and_going_on_are_those_of_memory(frame, tmp_path):
    other = search_frame(15, 2)
    other.to_parquet(tmp_path / "valid.parquet")
    options = {"n_estimators": 30, "early_stopping_rounds": 2, "learning_rate": 0.6, "eval_metric": ["ndcg@5", "map"]}
    X, y, qid = columns(frame), frame["label"], frame["query"]
    frame.drop(columns=["weight", "query_weight"]).to_parquet(tmp_path / "train.parquet")
    other.drop(columns=["weight", "query_weight"]).to_parquet(tmp_path / "valid.parquet")
    given = {"eval_set": [(columns(other), other["label"])], "eval_qid": [other["query"]]}
    first = LambdaMART(2, random_state=5).fit(columns(other), other["label"], qid=other["query"])
    streamed = {"eval_set": [(tmp_path / "valid.parquet", "label")], "eval_qid": ["query"], "qid": "query"}
    for start in (None, first, RankBoost(3).fit(columns(other), other["label"], qid=other["query"])):
        local = LambdaMART(**options).fit(X, y, qid=qid, init_model=start, **given)
        found = fit(LambdaMART(**options), tmp_path / "train.parquet", "label", init_model=start, **streamed)
        assert local.best_iteration_ < 30
        assert_same(found, local, X)


def test_columns_of_weights_in_files_of_evaluation_sets_are_no_features(files, frame, tmp_path):
    search_frame(15, 2).to_parquet(tmp_path / "valid.parquet")
    given = {"qid": "query", "eval_set": [(tmp_path / "valid.parquet", "label")], "eval_qid": ["query"]}
    weights = {"sample_weight": "weight", "query_weight": "query_weight"}
    found = fit(LambdaMART(3), files, "label", **given, **weights)
    search_frame(15, 2).drop(columns=list(weights.values())).to_parquet(tmp_path / "valid.parquet")
    assert_same(fit(LambdaMART(3), files, "label", **given, **weights), found, columns(frame))


def test_a_checkpoint_goes_on(frame, tmp_path):
    frame.drop(columns=["weight", "query_weight"]).to_parquet(tmp_path / "train.parquet")
    options = {"checkpoint": tmp_path / "c.podium", "random_state": 3}
    fit(LambdaMART(3, **options), tmp_path / "train.parquet", "label", qid="query")
    found = fit(LambdaMART(5, **options), tmp_path / "train.parquet", "label", qid="query")
    local = LambdaMART(5, random_state=3).fit(columns(frame), frame["label"], qid=frame["query"])
    np.testing.assert_array_equal(found.predict(columns(frame)), local.predict(columns(frame)))


def test_parameters_changed_since_the_fit_are_refused_in_scoring_too(files, frame):
    few = frame[:60]
    model = RankSVM(kernel="rbf").fit(columns(few).fillna(0).clip(-9, 9), few["label"], qid=few["query"])
    with pytest.raises(PodiumError, match="kernel must be 'rbf', as it was when RankSVM was fitted"):
        predict(model.set_params(kernel="linear"), files, leave_out=["label", "query", "weight", "query_weight"])


def test_temporary_files_have_no_name(files, tmp_path):
    fit(LambdaMART(1), files, "label", qid="query", sample_weight="weight", query_weight=dict.fromkeys(range(40), 1.0),
        folder=str(tmp_path))  # fmt: skip
    assert not list(tmp_path.iterdir())


def refused(message, *given, **options):
    with pytest.raises(PodiumError, match=message):
        fit(*given, **{"qid": "query", **options})


def test_what_is_refused(files, frame, tmp_path):
    ranker = LambdaMART(2)
    refused("Only LambdaMART and MART can be trained out of core; got RankBoost", RankBoost(), files, "label")
    refused("There is no file .*nowhere", ranker, tmp_path / "nowhere.parquet", "label")
    refused("must name Parquet files, or a folder", ranker, tmp_path, "label")
    refused("y names the column 'grade', which .* does not have", ranker, files, "grade")
    refused("eval_qid must have one entry per eval_set: 1 expected, 0 given", ranker, files, "label",
            eval_set=[(files, "label")])  # fmt: skip
    refused(r"eval_set\[0\] must have the features of X, in their order: 21 expected", ranker, files, "label",
            eval_set=[(files, "weight")], eval_qid=["query"])  # fmt: skip
    (tmp_path / "text.parquet").write_bytes(b"no parquet at all")
    refused("text.parquet is no Parquet file", ranker, tmp_path / "text.parquet", "label")
    frame.rename(columns={"f3": "g3"}).to_parquet(tmp_path / "other.parquet", index=False)
    refused("same columns; .*f0, f1, .* has", ranker, [files / "part-0.parquet", tmp_path / "other.parquet"], "label")
    frame.astype({"f3": "float32"}).to_parquet(tmp_path / "types.parquet", index=False)
    refused("f3 is double in .* and float in", ranker, [files / "part-0.parquet", tmp_path / "types.parquet"], "label")
    frame[:0].to_parquet(tmp_path / "empty.parquet", index=False)
    refused("X must have at least one row", ranker, tmp_path / "empty.parquet", "label")
    frame[["label", "query"]].to_parquet(tmp_path / "bare.parquet", index=False)
    refused("there is no feature", ranker, tmp_path / "bare.parquet", "label")
    frame.assign(label=np.nan).to_parquet(tmp_path / "nan.parquet", index=False)
    refused("y must be finite", ranker, tmp_path / "nan.parquet", "label")
    frame.assign(f3="red").astype({"f3": "category"}).to_parquet(tmp_path / "red.parquet", index=False)
    refused("Column 'f3' of X", ranker, tmp_path / "red.parquet", "label")
    refused("categorical_features cannot be named", LambdaMART(categorical_features=["f3"]), files, "label")
    refused("A file of .* GB is needed in .*missing, but: No such file", ranker, files, "label",
            folder=str(tmp_path / "missing"))  # fmt: skip


def test_a_full_disk_is_a_sentence(monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(mapped_bins.os, "posix_fallocate", full)
    with pytest.raises(
        PodiumError, match=r"A file of 0\.001 GB is needed in .*: No space left on device; name another"
    ):
        mapped_bins.mapped_zeros((1000, 1000), np.uint8, None)
