"""Files of other programs: RankLib by its rules, broken and hostile files, the command line."""

import json
import random
import struct
import tracemalloc

import numpy as np
import pytest
from typer.testing import CliRunner

import podium
from podium import FormatError, ImportedLinear, ImportedTrees, LambdaMART, PodiumError, import_model, load
from podium._compiled import JIT_DISABLED
from podium.cli import app
from podium.importing import FORMATS, ForeignColumns
from podium.importing.ubjson import read_ubjson
from reference.foreign import lightgbm_text, ranklib_trees
from reference.foreign_files import DUMP, FOREST, LAMBDAMART, RANKBOOST, REGRESSION, SAMPLES, TREES, WEIGHTS, XGBOOST

pytestmark = [
    pytest.mark.plain,
    pytest.mark.filterwarnings("ignore:overflow encountered in scalar"),  # hashes wrap around on purpose
]
needs_fit = pytest.mark.skipif(JIT_DISABLED, reason="a fit of trees is slow without compilation")


@pytest.fixture
def read(tmp_path):
    """Import a text."""

    def of(content, **options):
        (tmp_path / "model").write_bytes(content if isinstance(content, bytes) else content.encode())
        return import_model(tmp_path / "model", **options)

    return of


def test_rankboost_of_ranklib_by_hand(read):
    model = read(RANKBOOST)
    rows = [[0.5, 9, -1.0], [0.6, 9, -1.0], [3.0, 9, 0.0], [np.nan, 9, np.nan]]
    assert model.predict(rows).tolist() == [0.0, 0.25, 0.25 + 0.5 - 1.0, 0.5]
    assert model.source_ == {"format": "ranklib", "ranker": "RankBoost"}
    assert (model.n_features_in_, len(model.trees_)) == (3, 3)


def test_trees_of_ranklib_by_hand(read):
    model = read(LAMBDAMART)
    rows = np.array([[0, 0.25, 0, 0], [0, 0.5, 0, -2], [0, 0.5, 0, 1], [0, np.nan, 0, np.nan], [0, 0.3, 0, np.nan]])
    expected = [ranklib_trees(TREES, row) for row in rows]
    assert model.predict(rows).tolist() == expected
    assert expected == pytest.approx([0.15, 0.37, 0.5, 0.15, 0.15])
    above = float(np.nextafter(np.float32(0.3), np.float32(1)))
    assert model.predict([[0, 0.3, 0, 0], [0, above, 0, 0], [0, (0.3 + 2 * above) / 3, 0, 0]]) == pytest.approx(
        [0.15, 0.5, 0.5]
    )
    assert model.n_features_in_ == 4


def test_random_forests_of_ranklib_are_the_mean_of_their_bags(read):
    rows = np.random.default_rng(0).normal(size=(20, 4))
    np.testing.assert_allclose(read(FOREST).predict(rows), read(LAMBDAMART).predict(rows), rtol=1e-6)


def test_weighted_sums_of_ranklib_by_hand(read):
    model = read(WEIGHTS)
    assert isinstance(model, ImportedLinear)
    assert model.coef_.tolist() == [0.5, 0.0, -0.25]
    assert model.predict([[1, 5, 2], [np.nan, 5, 4]]).tolist() == [0.0, -1.0]
    assert read(REGRESSION).predict([[1, 3], [0, 0]]).tolist() == [5.5, 2.0]
    assert read("## AdaRank\n1:0.5 2:1.0 1:0.25").coef_.tolist() == [0.75, 1.0]


@pytest.mark.parametrize("name", [name for name in SAMPLES if name.startswith("xgboost")])
def test_small_models_of_xgboost_by_hand(name, read):
    model = read(SAMPLES[name], n_features=3)
    base = 0.0 if name == "xgboost-json" else 1.0
    assert model.predict([[0, 0.4, 0], [0, 0.5, 0], [0, np.nan, 0]]).tolist() == [base + 0.25, base - 0.5, base - 0.5]


@pytest.mark.parametrize("name", SAMPLES)
def test_saved_and_loaded_models_score_the_same(name, read, tmp_path):
    model = read(SAMPLES[name], n_features=2 if name == "lightgbm" else None)
    rows = np.random.default_rng(1).normal(size=(30, model.n_features_in_))
    rows[::5] = np.nan
    model.save(tmp_path / "ours")
    loaded = podium.load(tmp_path / "ours")
    assert type(loaded) is type(model)
    assert loaded.source_ == model.source_
    np.testing.assert_array_equal(loaded.predict(rows), model.predict(rows))
    if isinstance(model, ImportedTrees):
        *_, last = loaded.staged_predict(rows)
        np.testing.assert_array_equal(last, model.predict(rows))
        np.testing.assert_array_equal(loaded.feature_importances_, model.feature_importances_)


def test_columns_that_the_caller_names(read):
    assert read(RANKBOOST, n_features=7).n_features_in_ == 7
    assert read(RANKBOOST, feature_names=list("abc")).feature_names_in_.tolist() == list("abc")
    assert read(json.dumps(DUMP), feature_names=["x", "f1"]).trees_[0].feature.tolist() == [1]
    assert read(json.dumps(DUMP).replace("f1", "title"), feature_names=["title"]).trees_[0].feature.tolist() == [0]
    with pytest.raises(FormatError, match="uses feature 3; 2 features were given"):
        read(RANKBOOST, n_features=2)
    with pytest.raises(FormatError, match="has 2 features; 3 were given"):
        read(lightgbm_text(), n_features=3)
    for bad, reason in ((["a", "a"], "different"), ("abc", "list of strings"), ([1, 2, 3], "list of strings")):
        with pytest.raises(PodiumError, match=reason):
            read(RANKBOOST, feature_names=bad)
    for bad in (0, -1, 2.5, True):
        with pytest.raises(PodiumError, match="positive integer"):
            read(RANKBOOST, n_features=bad)
    with pytest.raises(PodiumError, match="number of feature_names, 3; got 4"):
        read(RANKBOOST, feature_names=list("abc"), n_features=4)


def test_as_many_features_can_be_imported_as_a_file_can_have(read, tmp_path):
    most = 2**31 - 1
    read(RANKBOOST, n_features=most).save(tmp_path / "model")
    assert load(tmp_path / "model").n_features_in_ == most
    for more in (most + 1, 2**40):
        with pytest.raises(PodiumError, match=f"n_features must be at most {most}, .*; got {more}"):
            read(RANKBOOST, n_features=more)


def test_formats_are_told_by_the_beginning_or_named(read):
    assert read("\n \n" + RANKBOOST).n_features_in_ == 3
    with pytest.raises(FormatError, match="does not begin like one of the formats lightgbm, xgboost"):
        read("something else")
    with pytest.raises(PodiumError, match="format must be one of auto, lightgbm"):
        read(RANKBOOST, format="catboost")
    with pytest.raises(FormatError, match="begins with the line 'tree'"):
        read(RANKBOOST, format="lightgbm")


def swapped(old, new, text):
    assert old in text
    return text.replace(old, new, 1)


XML = LAMBDAMART
BROKEN = {
    "lightgbm version": (lightgbm_text("version=v9"), "must be one of v2, v3, v4"),
    "lightgbm cut": (lightgbm_text().partition("end of")[0], "not whole"),
    "lightgbm no header": ("tree\nversion=v4\nend of trees", "no num_class"),
    "lightgbm names": (lightgbm_text("feature_names=a b c"), "must be 2 names; got 3"),
    "lightgbm many names": (lightgbm_text("max_feature_idx=2000000000"), "must be 2000000001 names; got 2"),
    "lightgbm no number": (lightgbm_text("threshold=x"), "threshold must be numbers"),
    "lightgbm too few": (lightgbm_text("leaf_value=1"), "leaf_value must be 2 numbers; got 1"),
    "lightgbm no feature": (lightgbm_text("split_feature=2"), "integers from 0 to 1"),
    "lightgbm circle": (lightgbm_text("left_child=0"), "do not form a tree"),
    "lightgbm one leaf twice": (lightgbm_text("right_child=-1"), "do not form a tree"),
    "lightgbm nan leaf": (lightgbm_text("leaf_value=1 nan"), "every leaf a finite value"),
    "lightgbm nan threshold": (lightgbm_text("threshold=nan"), "every split needs a threshold"),
    "lightgbm huge": (lightgbm_text("num_leaves=2000000000"), "decision_type must be 1999999999 numbers; got 1"),
    "lightgbm tree sizes": (lightgbm_text("tree_sizes=1 2"), "one entry for each of 1 trees"),
    "lightgbm twice": (lightgbm_text().replace("num_cat=0", "num_leaves=2"), "stands twice"),
    "lightgbm bytes": (b"tree\n\xff\xfe", "text in UTF-8"),
    "xgboost no json": ('{"learner": ', "no JSON"),
    "xgboost bytes": (b'{"\xff": 1}', "no JSON that"),
    "xgboost digits": ('{"learner": ' + "9" * 5000 + "}", "no JSON that"),
    "xgboost deep": ('{"learner": ' + "[" * 100_000, "no JSON that"),
    "xgboost empty": ("{}", "there is no learner"),
    "xgboost list": ('{"learner": []}', "learner must be a table"),
    "xgboost child": (json.dumps(XGBOOST).replace("[2, -1, -1]", "[3, -1, -1]"), "integers from -1 to 2"),
    "xgboost one child": (json.dumps(XGBOOST).replace("[2, -1, -1]", "[-1, -1, -1]"), "two children"),
    "xgboost circle": (json.dumps(XGBOOST).replace("[1, -1, -1]", "[0, -1, -1]"), "do not form a tree"),
    "xgboost nodes": (json.dumps(XGBOOST).replace('"3", "size', '"2000000000", "size'), "must be 2000000000 numbers"),
    "xgboost feature": (json.dumps(XGBOOST).replace("[1, 0, 0]", "[3, 0, 0]"), "outside 0 to 2"),
    "xgboost infinite": (json.dumps(XGBOOST).replace("[0.5, 0.25", "[1e999, 0.25"), "must be finite"),
    "xgboost base": (json.dumps(XGBOOST).replace("[1E0]", "one"), "base_score must be numbers"),
    "xgboost base nan": (json.dumps(XGBOOST).replace("[1E0]", "nan"), "base_score nan is not one"),
    "xgboost base logit": (
        json.dumps(XGBOOST).replace("[1E0]", "2").replace("rank:ndcg", "binary:logistic"), "base_score 2 is not one"
    ),
    "ubjson cut": (SAMPLES["xgboost-ubj"][:-30], "bytes are expected"),
    "ubjson long": (b"{L" + struct.pack(">q", 2**62), "bytes are expected"),
    "ubjson negative": (b"{L" + struct.pack(">q", -1), "not negative"),
    "ubjson array": (b"{U\x01a[$D#L" + struct.pack(">q", 2**60), "bytes are expected"),
    "ubjson nothings": (b"{U\x01a[$Z#L" + struct.pack(">q", 2**60), "must be of numbers"),
    "ubjson untyped": (b"{U\x01a[#L" + struct.pack(">q", 2**60), "as long as it says"),
    "ubjson deep": (b"{U\x01a" + b"[" * 100_000, "nested too deeply"),
    "ubjson more": (SAMPLES["xgboost-ubj"] + b"i", "bytes are left"),
    "dump no list": ("[1]", "a node must be a table"),
    "dump condition": (json.dumps(DUMP).replace("split_condition", "x"), "a split needs split, split_condition"),
    "dump ways": (json.dumps(DUMP).replace('"yes": 1', '"yes": 7'), "must name the two children"),
    "dump unhashable": (json.dumps(DUMP).replace('"yes": 1', '"yes": {}'), "must name the two children"),
    "dump leaf": (json.dumps(DUMP).replace("0.25", "[]"), "leaves of .* must be numbers"),
    "dump infinite": (json.dumps(DUMP).replace("0.5", "1e99"), "must be finite"),
    "dump deep": ("[" + '{"nodeid":0,"children":[' * 50_000, "no JSON that"),
    "ranklib name": ("## RankNet\n1:2", "must be ## and one of RankBoost"),
    "ranklib two lines": (RANKBOOST + "\n1:2:3", "one line of entries"),
    "ranklib feature": (RANKBOOST.replace("1:0.5:0.25", "0:0.5:0.25"), "from 1 to"),
    "ranklib entry": (RANKBOOST.replace("1:0.5:0.25", "1:0.5"), "must be 2 numbers; got 1"),
    "ranklib infinite": (RANKBOOST.replace("0.25", "Infinity"), "finite"),
    "ranklib wide": ("## Coordinate Ascent\n2000000000:1", "may have 1048576 features"),
    "xml cut": (XML[:-40], "no XML"),
    "xml entity": (swapped("<ensemble>", '<!DOCTYPE a [<!ENTITY b "c">]><ensemble>', XML), "no XML|document type"),
    "xml tag": (swapped("<output>", "<x>", XML), "<x> must not stand within <split>"),
    "xml text": (swapped("</feature>", "</feature> what", XML), "must not hold the text 'what'"),
    "xml empty": (swapped("<output>-1.5 </output>", "", XML), "has an <output>, or"),
    "xml number": (swapped("-1.5", "a", XML), "a number is expected; got 'a "),
    "xml infinite": (swapped("0.3", "1e99", XML), "must be finite"),
    "xml weight": (swapped(' weight="0.1"', "", XML), "a number is expected"),
    "xml three": (swapped("</feature>", "</feature><split><output>1</output></split>", XML), "after its <feature>"),
    "xml feature": (swapped("<feature>2", "<feature>0", XML), "integer from 1"),
    "xml two trees": (XML + XML.partition("\n\n")[2], "one <ensemble>; got 2"),
    "xml leaf with split": (
        swapped("<output>-1.5 </output>", "<output>-1.5 </output><split><output>1</output></split>", XML),
        "after its <feature>",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_broken_files_are_refused_with_the_reason(name, read):
    content, reason = BROKEN[name]
    with pytest.raises(FormatError, match=reason):
        read(content)


@pytest.mark.parametrize("name", SAMPLES)
def test_changed_files_are_read_or_refused_and_nothing_else(name, tmp_path):
    kind = {"xgboost-ubj": "xgboost"}.get(name, name.partition("-")[0] if name.startswith("ranklib") else name)
    rng = random.Random(name)
    sample = SAMPLES[name]
    refused, models = 0, []
    tracemalloc.start()
    for _ in range(80):
        data = bytearray(sample)
        for _ in range(rng.choice([1, 1, 2, 8])):
            place = rng.randrange(len(data))
            piece = bytes(rng.choice(sample) for _ in range(rng.randrange(3)))
            data[place : place + rng.randrange(4)] = rng.choice([piece, bytes([rng.randrange(256)]), b"9" * 9])
        try:
            models.append(FORMATS[kind](bytes(data), tmp_path / "model", ForeignColumns(None, None)).model)
        except FormatError:
            refused += 1
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert refused > 5
    for model in (model for model in models if model.n_features < 100):
        assert np.isfinite(model.score(np.zeros((2, model.n_features)))).all()
    assert peak < 20_000_000


DART = json.loads(json.dumps(XGBOOST))
DART["learner"]["gradient_booster"] = {
    "name": "dart", "gbtree": DART["learner"]["gradient_booster"], "weight_drop": [0.5],
}  # fmt: skip
DART["learner"]["gradient_booster"]["gbtree"]["model"]["trees"][0] |= {
    "split_type": [1, 0, 0], "categories": [1, 2], "categories_nodes": [0], "categories_segments": [0],
    "categories_sizes": [2],
}  # fmt: skip
BY_SET = [{**DUMP[0], "split_condition": [1, 2]}]
LONE_VALUES = [5, -1, 1.5, True, None, "x", "", {}, {"a": 1}, 10**400, 1e300, "9" * 5000]
OTHER_VALUES = [*LONE_VALUES, [], [None], [[1]], [{}], [1e300]]


def with_other_values(content):
    """Yield the document with each of its values replaced by values of other kinds, and left out."""
    for key in content if isinstance(content, dict) else range(len(content) if isinstance(content, list) else 0):
        rest = dict(content) if isinstance(content, dict) else list(content)
        del rest[key]
        yield rest
        for other in (*OTHER_VALUES, *with_other_values(content[key])):
            changed = dict(content) if isinstance(content, dict) else list(content)
            changed[key] = other
            yield changed


@pytest.mark.parametrize(("kind", "document"), [("xgboost", XGBOOST), ("xgboost", DART), ("xgboost-json", BY_SET)])
def test_json_with_values_of_other_kinds_is_read_or_refused(kind, document):
    FORMATS[kind](json.dumps(document).encode(), "model", ForeignColumns(None, None))
    refused = 0
    for changed in with_other_values(document):
        try:
            FORMATS[kind](json.dumps(changed).encode(), "model", ForeignColumns(None, None))
        except FormatError:
            refused += 1
    assert refused > 100


@pytest.mark.parametrize("text", [lightgbm_text(), RANKBOOST, LAMBDAMART])
def test_texts_with_other_ends_of_lines_are_read_alike(text, read):
    rows = np.random.default_rng(0).normal(size=(9, read(text).n_features_in_))
    expected = read(text).predict(rows)
    for end in ("\r\n", "\r"):
        np.testing.assert_array_equal(read(text.replace("\n", end)).predict(rows), expected)


def test_kinds_of_values_in_ubjson():
    data = (
        b"{U\x01a[TFZNi\xff]U\x01bSU\x02hiU\x01cCxU\x01d[$d#U\x01\x3f\x80\x00\x00U\x01eD"
        + struct.pack(">d", 0.1)
        + b"}"
    )
    found = read_ubjson(data, "file")
    assert found["d"].tolist() == [1.0]
    del found["d"]
    assert found == {"a": [True, False, None, -1], "b": "hi", "c": "x", "e": 0.1}


@needs_fit
def test_imported_rankers_take_part_everywhere(read):
    X, y, qid = podium.make_search(n_queries=20, random_state=0)[:3]
    model = read(RANKBOOST, n_features=X.shape[1])
    scores = model.predict(X)
    result = podium.evaluate(y, scores, qid=qid, measures=["ndcg@10"])
    assert model.score(X, y, qid=qid) == pytest.approx(result["ndcg@10"])
    assert model.rank(X, qid=qid).min() == 1
    further = LambdaMART(5, min_child_samples=5).fit(X, y, qid=qid, init_model=model)
    np.testing.assert_allclose(further.predict(X) - scores, sum(tree.predict(X) for tree in further.trees_))
    few = np.arange(0, len(y), 5)
    alone = podium.evaluate(y[few], scores[few], qid=qid[few], measures=["ndcg@10"])["ndcg@10"]
    assert podium.blend([further.predict(X[few]), scores[few]], y[few], qid=qid[few]).value >= alone - 1e-12
    podium.compare(y, further.predict(X), scores, qid=qid, measures=["ndcg@10"])
    with pytest.raises(PodiumError, match="ImportedTrees cannot be trained, it is read by import_model"):
        model.fit(X, y, qid=qid)
    np.testing.assert_array_equal(model.predict(X), scores)


@needs_fit
def test_a_podium_model_comes_back_from_every_format_that_is_read(tmp_path):
    X, y, qid = podium.make_search(n_queries=20, random_state=1)[:3]
    X = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
    model = LambdaMART(8, max_leaves=40, min_child_samples=3).fit(X, y, qid=qid)
    for name in ("lightgbm", "xgboost-json"):
        model.export(tmp_path / name, name)
        back = import_model(tmp_path / name, n_features=X.shape[1])
        assert len(back.trees_) == len(model.trees_)
        np.testing.assert_allclose(back.predict(X), model.predict(X), atol=1e-6)
    np.testing.assert_array_equal(import_model(tmp_path / "lightgbm").predict(X), model.predict(X))
    full = np.nan_to_num(X)
    model.fit(full, y, qid=qid).export(tmp_path / "ranklib", "ranklib", missing="absent")
    back = import_model(tmp_path / "ranklib", n_features=X.shape[1])
    np.testing.assert_allclose(back.predict(full), model.predict(full), atol=1e-6)


def test_names_that_only_number_the_columns_are_not_kept(read):
    for names in ("Column_0 Column_1", "f0 f1"):
        assert not hasattr(read(lightgbm_text(f"feature_names={names}")), "feature_names_in_")
    assert read(lightgbm_text("feature_names=f1 a\u00a0b")).feature_names_in_.tolist() == ["f1", "a\u00a0b"]


def test_an_imported_model_is_exported_with_the_conditions_it_came_with(read, tmp_path):
    conditions = [0.5, 6.0, 0.1, -3.0, 0.0, 1e-3]
    trees = [json.loads(json.dumps(DUMP[0]).replace("0.5, ", f"{float(np.float32(c))!r}, ", 1)) for c in conditions]
    read(json.dumps(trees)).export(tmp_path / "again", "xgboost-json")
    again = json.loads((tmp_path / "again").read_text())
    assert [tree["split_condition"] for tree in again] == [tree["split_condition"] for tree in trees]


def test_the_command_line_imports(tmp_path):
    (tmp_path / "foreign").write_text(RANKBOOST)
    (tmp_path / "names").write_text("a\nb\nc\n")
    out = str(tmp_path / "ours")
    done = CliRunner().invoke(app, ["import", str(tmp_path / "foreign"), "--output", out, "--n-features", "5"])
    assert done.exit_code == 0, done.output
    assert "ranker: RankBoost" in done.output
    assert podium.load(out).n_features_in_ == 5
    done = CliRunner().invoke(
        app,
        ["import", str(tmp_path / "foreign"), "--output", out, "--feature-names", str(tmp_path / "names"), "--json"],
    )
    assert json.loads(done.output)["features"] == 3
    assert podium.load(out).feature_names_in_.tolist() == ["a", "b", "c"]
    (tmp_path / "foreign").write_text("nothing")
    done = CliRunner().invoke(app, ["import", str(tmp_path / "foreign"), "-o", out])
    assert isinstance(done.exception, FormatError)
    assert podium.load(out).n_features_in_ == 3
