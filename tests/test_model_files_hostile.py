"""Model files that are damaged or made to do harm: each is a FormatError that says what is wrong."""

import io
import json
import struct
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest

from podium import (
    FormatError,
    LambdaMART,
    NearestNeighbor,
    PreferenceRegression,
    RankBoost,
    VectorSimilarity,
    load,
)
from podium.model_file import PROTOCOL, Unfitted, read_model, write_model
from podium.model_file.arrays import from_npy, to_npy
from tables import small_table

pytestmark = [
    pytest.mark.plain,
    pytest.mark.filterwarnings("ignore:overflow encountered in scalar"),  # hashes wrap around on purpose
]


@pytest.fixture(scope="module")
def table():
    return small_table()


@pytest.fixture(scope="module")
def trees(table):
    X, y, qid = table
    return LambdaMART(3, max_leaves=4, min_child_samples=3).fit(X, y, qid=qid)


@pytest.fixture(scope="module")
def stumps(table):
    X, y, qid = table
    return RankBoost(3).fit(X, y, qid=qid)


def changed(content, place, value):
    """Return content with another value at a place such as "learned/trees/left"."""
    key, _, rest = place.partition("/")
    return {**content, key: changed(content[key], rest, value) if rest else value}


WRONG_STUMPS = {
    "ranker": ("Oracle", "the ranker 'Oracle' is not known"),
    "parameters": ({"depth": 3}, "the parameters are not those of RankBoost"),
    "parameters/n_estimators": (-3, "The 'n_estimators' parameter of RankBoost must be"),
    "parameters/eval_metric": (["nonsense"], "measure 'nonsense' is unknown"),
    "parameters/weak": (Unfitted("Oracle", {}), "the ranker 'Oracle' is not known"),
    "parameters/abstain": (Unfitted("MART", {"loss": 3}), "The 'loss' parameter of MART must be"),
    "n_features": (0, "n_features must be an integer, from 1 to 2147483647; got 0"),
    "sparse_input": (0, "sparse_input must be true or false"),
    "feature_names": (["a"], "feature_names must have 4 entries; got 1"),
    "training": ([], "the summary of the training is not one"),
    "training/rows": (-1, "rows must be an integer, at least 0; got -1"),
    "training/best_round": (2, "best_round is not the best_iteration"),
    "training/stop_reason": (2, "stop_reason must be a string"),
    "training/evals": ({"validation_0": {"map": [1.0, None]}}, "evals must hold a list of numbers"),
    "learned": ({}, "the rounds of the model are incomplete: feature is missing"),
    "learned/best_iteration": (4, "best_iteration must be an integer, from 0 to 3; got 4"),
    "learned/rounds/feature": (np.array([0, 1, 7]), "feature must be a list of integers from 0 to 3"),
    "learned/rounds/abstain": (np.array([0, 1, 0.5]), "abstain must be a list of integers from 0 to 1"),
    "learned/rounds/alpha": (np.array([np.inf, 1, 1]), "alpha must be a list of finite numbers"),
    "learned/rounds/threshold": (np.array([1.0, 2.0]), "threshold must have 3 entries; got 2"),
    "learned/rounds/Z": (np.array([[1.0, 1.0, 1.0]]), "Z must be a list of numbers"),
    "learned/rounds/r": ([1, 2, {}], "r must be a list of numbers"),
}
WRONG_TREES = {
    "learned/trees": (None, "the trees of the model are incomplete"),
    "learned/trees/feature": (np.full(9, 4), "feature must be a list of integers from 0 to 3"),
    "learned/trees/left": (np.zeros(9, int), "do not form a tree"),
    "learned/trees/right": (np.full(9, 10**9), "right must be a list of integers"),
    "learned/trees/missing_left": (np.full(9, 2), "missing_left must be a list of integers from 0 to 1"),
    "learned/trees/threshold": (np.ones(8), "threshold must have 9 entries; got 8"),
    "learned/trees/gain": (np.full(9, np.nan), "gain must be a list of numbers"),
    "learned/trees/value": (np.full(12, np.inf), "value must be a list of finite numbers"),
    "learned/trees/count": (np.full(12, -1), "count must be a list of integers from 0"),
    "learned/trees/n_leaves": (np.array([0, 4, 4]), "n_leaves must be a list of integers from 1 to 12"),
    "learned/best_iteration": (True, "best_iteration must be an integer"),
    "learned/base_score": (10**400, "base_score must be a finite number"),
    "learned/base_model": ({"ranker": ["x"]}, r"the ranker \['x'\] is not known"),
    "training/seed": ("0", "seed must be an integer"),
}


@pytest.mark.parametrize("place", WRONG_STUMPS)
def test_content_of_stumps_that_is_not_sound_is_refused(place, stumps, tmp_path):
    value, message = WRONG_STUMPS[place]
    write_model(tmp_path / "model", changed(stumps.content(), place, value))
    with pytest.raises(FormatError, match=message):
        load(tmp_path / "model")


@pytest.mark.parametrize("place", WRONG_TREES)
def test_content_of_trees_that_is_not_sound_is_refused(place, trees, tmp_path):
    value, message = WRONG_TREES[place]
    write_model(tmp_path / "model", changed(trees.content(), place, value))
    with pytest.raises(FormatError, match=message):
        load(tmp_path / "model")


def test_a_base_model_of_other_features_is_refused(table, trees, tmp_path):
    X, y, qid = table
    other = RankBoost(2).fit(X[:, :2], y, qid=qid).content()
    write_model(tmp_path / "model", changed(trees.content(), "learned/base_model", other))
    with pytest.raises(FormatError, match="the base model must have 4 features; it has 2"):
        load(tmp_path / "model")


@pytest.mark.parametrize(
    ("ranker", "name", "value", "message"),
    [
        (PreferenceRegression(), "coef_", np.ones(3), "coef_ must have 4 entries; got 3"),
        (PreferenceRegression(), "averages_", np.full(4, np.nan), "averages_ must be a list of finite numbers"),
        (VectorSimilarity(), "default_", [1.0], "default_ must be a finite number"),
        (NearestNeighbor(), "feature_", 4, "feature_ must be an integer, from 0 to 3; got 4"),
        (NearestNeighbor(), "loss_", None, "loss_ is missing"),
        (RankBoost(3, weak="feature"), "rounds/low", np.full(3, 9.0), "a low that is not below its high"),
    ],
)
def test_what_other_rankers_learned_is_checked(ranker, name, value, message, table, tmp_path):
    X, y, qid = table
    content = ranker.fit(X, y, qid=qid).content()
    write_model(tmp_path / "model", changed(content, f"learned/{name}", value))
    with pytest.raises(FormatError, match=message):
        load(tmp_path / "model")


SAMPLES = Path(__file__).parent / "data" / "models" / f"protocol-{PROTOCOL}"
WRONG_SAMPLES = [
    ("adaboost_or", "learned/classes", np.array([1, 1, 2, 3]), "two different labels"),
    ("adaboost_or", "learned/classes", np.array([0, 1, 2, np.nan]), "two different labels"),
    ("adaboost_or", "learned/train_costs", np.full(3, np.nan), "train_costs must be a list of finite numbers"),
    ("adaboost_or", "parameters/estimator", Unfitted("MART", {}), "estimator must take sample_cost in fit"),
    ("orstump", "learned/classes/values", ["a", "b", "c", "c"], "two different labels"),
    ("orstump", "learned/classes/values", "abcd", "two different labels"),
    ("orstump", "learned/classes/kind", "code", "two different labels"),
    ("orstump", "learned/classes", {"kind": "texts", "values": ["a", "b" * 2**21, "c"]}, "two different labels"),
    ("orstump", "learned/feature", np.array([0, 0]), "direction must have 2 entries; got 1"),
    ("orstump", "learned/costs_convex", 1, "costs_convex must be true or false"),
    ("orstump", "parameters/cost", [[0.0, 1.0], [1.0, 0.0]], "for each of the 4 grades"),
    ("orstump", "parameters/cost", {}, "a parameter cannot be used"),
    ("orboost", "learned/rounds/feature", np.full(6, 4), "feature must be a list of integers from 0 to 3"),
    ("prank", "learned/coef_", np.ones(3), "coef_ must have 4 entries; got 3"),
    ("prank", "learned/deviations_", np.zeros(4), "deviations_ must be a list of positive"),
    ("prank", "learned/thresholds_", np.array([1.0, 2.0]), "thresholds_ must have 3 entries; got 2"),
    ("prank", "learned/training_cost_", np.ones(2), "training_cost_ must be a finite number"),
    ("prank", "training/seed", -1, "seed must be an integer"),
    ("svor", "learned/support_vectors", np.ones(5), "support_vectors must have"),
    ("svor", "learned/dual_coef_", 3, "dual_coef_ must be a list of finite numbers"),
    ("svor", "learned/n_iter_", 1.5, "n_iter_ must be an integer"),
    ("svor", "learned/gap_", np.inf, "gap_ must be a finite number"),
    ("extended_binary", "parameters/encoding", "number", "the estimator must have 5 features; it has 7"),
    ("extended_binary", "learned/not_monotone_", None, "not_monotone_ is missing"),
    ("extended_binary", "learned/estimator/learned/classes", np.array([0, 1]), "must tell -1 and 1 apart"),
    ("ordinal_thresholds", "learned/direction_", 0, "direction_ must be 1 or -1"),
    ("ordinal_thresholds", "learned/estimator", None, "the ranker None is not known"),
    ("ordinal_thresholds", "learned/estimator/n_features", 5, "the estimator must have 4 features; it has 5"),
    ("imported_trees", "learned/source", {"format": 3}, "the source of the imported model must be strings"),
    ("imported_trees", "learned/reading", None, "zero_as_missing is missing"),
    ("imported_trees", "learned/reading/zero_as_missing", np.array([4]), "integers from 0 to 3"),
    ("imported_trees", "learned/reading/zero_as_missing", np.array([1, 1]), "different columns in their order"),
    ("imported_trees", "learned/best_iteration", 5, "best_iteration must be an integer, from 0 to 4"),
    ("imported_linear", "learned/coef", np.full(4, np.inf), "coef must be a list of finite numbers"),
    ("imported_linear", "learned/intercept", "0", "intercept must be a finite number"),
    ("categories", "learned/categories", [[4, [1]]], "the categories must be lists of a column"),
    ("categories", "learned/categories", [], "sets must split the categorical features, and no others"),
    ("categories", "learned/trees/sets", np.zeros(3, np.uint32), "sets must have 24 entries; got 3"),
    ("categories", "learned/trees/set_of", np.zeros(0, int), "set_of must have 12 entries; got 0"),
]


@pytest.mark.parametrize(("name", "place", "value", "message"), WRONG_SAMPLES)
def test_samples_with_one_wrong_value_are_refused(name, place, value, message, tmp_path):
    write_model(tmp_path / "model", changed(read_model(SAMPLES / f"{name}.podium"), place, value))
    with pytest.raises(FormatError, match=message):
        load(tmp_path / "model")


def test_a_base_that_predicts_texts_is_refused(tmp_path):
    texts = read_model(SAMPLES / "orstump.podium")
    content = changed(read_model(SAMPLES / "ordinal_thresholds.podium"), "learned/estimator", texts)
    write_model(tmp_path / "model", content)
    with pytest.raises(FormatError, match="the estimator must predict numbers"):
        load(tmp_path / "model")


def members(data):
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def packed(held, kind=zipfile.ZIP_STORED, comment=b"", **marks):
    """Return an archive; marks are attributes of its first member."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", kind) as archive:
        archive.comment = comment
        for name, data in held.items():
            archive.writestr(zipfile.ZipInfo(name), data, kind)
        for name, value in marks.items():
            setattr(archive.infolist()[0], name, value)
    return buffer.getvalue()


def document(held, **changes):
    """Return the members with a changed JSON document."""
    return {**held, "model.json": json.dumps({**json.loads(held["model.json"]), **changes}).encode()}


def without(held, name):
    """Return the members but one."""
    return {other: one for other, one in held.items() if other != name}


LEFT = "learned/trees/left.npy"
NO_MODEL = "this is not a Podium model file"
FILES = {
    "empty": (NO_MODEL, lambda data, held: b""),
    "another document": (NO_MODEL, lambda data, held: b"[]"),
    "no text": (NO_MODEL, lambda data, held: b"\xff\xfe"),
    "no document": (NO_MODEL, lambda data, held: packed(without(held, "model.json"))),
    "a constant that JSON has not": (NO_MODEL, lambda data, held: packed({**held, "model.json": b'{"a": NaN}'})),
    "brackets without end": (NO_MODEL, lambda data, held: packed({**held, "model.json": b"[" * 10**5})),
    "a number of many digits": (NO_MODEL, lambda data, held: packed({**held, "model.json": b"[" + b"9" * 5000 + b"]"})),
    "many brackets": (
        "its JSON document is too large",
        lambda data, held: packed({**held, "model.json": b"[]," * (2**20 + 1)}),
    ),
    "a later protocol": ("protocol 2 is later than 1", lambda data, held: packed(document(held, protocol=2))),
    "an earlier protocol": ("protocol 0 is not 1", lambda data, held: packed(document(held, protocol=0))),
    "a protocol that is no number": (
        "protocol True is not 1",
        lambda data, held: packed(document(held, protocol=True)),
    ),
    "a document without its archive": (NO_MODEL, lambda data, held: held["model.json"]),
    "no end": ("its archive is damaged", lambda data, held: data[:-1]),
    "only an end": ("archive is damaged", lambda data, held: b"PK\x05\x06"),
    "a comment": ("its archive is damaged, or not a plain one", lambda data, held: packed(held, comment=b"more")),
    "64-bit sizes": ("not a plain one", lambda data, held: data[:-22] + b"PK\x06\x07" + bytes(16) + data[-22:]),
    "a wrong checksum": ("Bad CRC-32", lambda data, held: data.replace(b'"podium":', b'"Podium":')),
    "a long directory": ("has a directory of 2147483648", lambda data, held: data[:-10] + b"\0\0\0\x80" + data[-6:]),
    "a directory elsewhere": ("archive is damaged", lambda data, held: data[:-6] + b"\xff\0\0\0" + data[-2:]),
    "compressed": ("must be stored, not compressed", lambda data, held: packed(held, zipfile.ZIP_DEFLATED)),
    "encrypted": ("must be stored, not compressed or encrypted", lambda data, held: packed(held, flag_bits=1)),
    "two sizes": ("must be stored", lambda data, held: packed(held, file_size=10**9)),
    "more than there is": (
        "declare more bytes than the file has",
        lambda data, held: packed(held, file_size=10**9, compress_size=10**9),
    ),
    "a way out": (
        "the member '../x.npy' of its archive is not known",
        lambda data, held: packed({**held, "../x.npy": b""}),
    ),
    "a way to the root": ("the member '/x.npy' of its", lambda data, held: packed({**held, "/x.npy": b""})),
    "two of a name": ("have the same name", lambda data, held: packed(held, filename=LEFT)),
    "an array too many": (
        "nothing names its array x.npy",
        lambda data, held: packed({**held, "x.npy": to_npy(np.ones(1))}),
    ),
    "an array too few": ("is missing, or named twice", lambda data, held: packed(without(held, LEFT))),
    "an array twice": ("missing, or named twice", lambda data, held: packed(document(held, more={"$array": LEFT}))),
    "a new mark": (r"its mark '\$code' is not known", lambda data, held: packed(document(held, more={"$code": 1}))),
    "a mark and more": (
        r"its mark '\$map' is not",
        lambda data, held: packed(document(held, more={"$map": [], "b": 1})),
    ),
    "a number in words": (
        "its number 'many' is none",
        lambda data, held: packed(document(held, more={"$float": "many"})),
    ),
    "a tuple of a number": ("its list 3 is none", lambda data, held: packed(document(held, more={"$tuple": 3}))),
    "a key alone": ("a list of keys with their", lambda data, held: packed(document(held, more={"$map": [[1]]}))),
    "a list as key": (
        "neither strings nor numbers",
        lambda data, held: packed(document(held, more={"$map": [[[], 1]]})),
    ),
    "a ranker of nothing": (
        "has no name or no parameters",
        lambda data, held: packed(document(held, more={"$ranker": "MART", "parameters": []})),
    ),
    "deep values": (
        "nested more than 64 levels deep",
        lambda data, held: packed(document(held, more=json.loads("[" * 80 + "]" * 80))),
    ),
}


@pytest.mark.parametrize("case", FILES)
def test_damaged_and_hostile_files_are_refused(case, trees, tmp_path):
    message, change = FILES[case]
    path = tmp_path / "model"
    trees.save(path)
    data = path.read_bytes()
    path.write_bytes(change(data, members(data)))
    with pytest.raises(FormatError, match=message):
        load(path)


def test_a_document_longer_than_the_limit_is_refused(trees, tmp_path, monkeypatch):
    trees.save(tmp_path / "model")
    monkeypatch.setattr("podium.model_file.MAX_DOCUMENT_BYTES", 500)
    with pytest.raises(FormatError, match="its JSON document is too large"):
        load(tmp_path / "model")


@pytest.mark.parametrize("name", ["lambdamart", "rankboost", "adaboost_or", "orstump", "orboost", "imported_trees"])
def test_a_number_of_features_takes_no_memory(name, tmp_path):
    write_model(tmp_path / "model", {**read_model(SAMPLES / f"{name}.podium"), "n_features": 2**31 - 1})
    tracemalloc.start()
    try:
        assert load(tmp_path / "model").n_features_in_ == 2**31 - 1
        assert tracemalloc.get_traced_memory()[1] < 2**20
    finally:
        tracemalloc.stop()


def npy(header, numbers=b"\0" * 24):
    """Return an array file with a header of its own."""
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header) + 1) + header.encode() + b"\n" + numbers


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x93NUMPY",
        npy("{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }")[:-1],
        npy("{'descr': '<f8', 'fortran_order': False, 'shape': (4,), }"),
        npy("{'descr': '<f8', 'fortran_order': False, 'shape': (9999999999, 9999999999), }"),
        npy("{'descr': '<f8', 'fortran_order': False, 'shape': (0, 9999999999, 9999999999), }", b""),
        npy("{'descr': '<f8', 'fortran_order': True, 'shape': (3,), }"),
        npy("{'descr': '>f8', 'fortran_order': False, 'shape': (3,), }"),
        npy("{'descr': '|O', 'fortran_order': False, 'shape': (3,), }"),
        npy("{'descr': '<f2', 'fortran_order': False, 'shape': (12,), }"),
        npy("{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (3,), }"),
        npy("{'descr': '<f8', 'fortran_order': False, 'shape': (__import__('os'),), }"),
        npy("{'descr': '|b1', 'fortran_order': False, 'shape': (3,), }", b"\0\1\2"),
        npy("{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }").replace(b"\x01\x00", b"\x03\x00", 1),
    ],
)
def test_arrays_that_numpy_would_not_have_written_are_refused(data):
    with pytest.raises(FormatError, match="a: name"):
        from_npy(data, "name", "a")


@pytest.mark.parametrize("shape", [(), (0,), (3,), (0, 5), (2, 3), (2, 1, 3), (1, 2, 3, 4)])
@pytest.mark.parametrize("kind", ["?", "i1", "u2", "i8", "f4", "f8", ">f8"])
def test_arrays_are_read_as_numpy_reads_them(shape, kind):
    given = np.asfortranarray(np.arange(np.prod(shape, dtype=int)).reshape(shape) % 2).astype(kind)
    found = from_npy(to_npy(given), "name", "a")
    np.testing.assert_array_equal(found, given)
    np.testing.assert_array_equal(np.load(io.BytesIO(to_npy(given)), allow_pickle=False), given)
    assert (found.shape, found.dtype) == (given.shape, given.dtype.newbyteorder("="))
