"""Every bound of a model file's checks: what stands on it is read, and what is one past it is refused."""

import json
import os
import struct
import sys
import tracemalloc
import zipfile
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest

from podium import FormatError, PodiumError, __version__, load
from podium.export.ensemble import leaf_tree, split_tree
from podium.model_file import (
    PROTOCOL,
    Unfitted,
    read_model,
    write_bytes,
    write_model,
)
from podium.model_file.archive import LONGEST_ENTRY, pack, unpack
from podium.model_file.arrays import from_npy, to_npy
from podium.trees.regression_tree import RegressionTree
from podium.trees.tree_columns import trees_from_columns, trees_to_columns

pytestmark = pytest.mark.plain
SAMPLES = Path(__file__).parent / "data" / "models" / f"protocol-{PROTOCOL}"
END = struct.Struct("<4s4H2LH")
"""Mark, this disk, the directory's disk, members here, members in all, size and place of the directory, comment."""


# The document


def text_of(path):
    with zipfile.ZipFile(path) as archive:
        return archive.read("model.json")


def test_the_longest_document_is_read_and_a_longer_one_refused(tmp_path, monkeypatch):
    path = tmp_path / "model"
    write_model(path, {"a": 1})
    length = len(text_of(path))
    monkeypatch.setattr("podium.model_file.MAX_DOCUMENT_BYTES", length)
    assert read_model(path)["a"] == 1
    monkeypatch.setattr("podium.model_file.MAX_DOCUMENT_BYTES", length - 1)
    with pytest.raises(FormatError, match="its JSON document is too large"):
        read_model(path)


def test_what_is_no_archive_is_refused_before_it_is_read(tmp_path):
    (tmp_path / "model").write_bytes(bytes(2**22))
    tracemalloc.start()
    try:
        with pytest.raises(FormatError, match="this is not a Podium model file"):
            read_model(tmp_path / "model")
        assert tracemalloc.get_traced_memory()[1] < 2**20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("value", [[[], [], []], {"a": {}, "b": {}}, [{}, [], {}]], ids=str)
def test_brackets_of_both_kinds_are_counted(value, tmp_path, monkeypatch):
    write_model(tmp_path / "model", {"value": value})
    text = text_of(tmp_path / "model")
    n_brackets = text.count(b"[") + text.count(b"{")
    monkeypatch.setattr("podium.model_file.MOST_BRACKETS", n_brackets)
    assert read_model(tmp_path / "model")["value"] == value
    monkeypatch.setattr("podium.model_file.MOST_BRACKETS", n_brackets - 1)
    with pytest.raises(FormatError, match="its JSON document is too large"):
        read_model(tmp_path / "model")


def test_a_protocol_must_be_a_whole_number(tmp_path):
    for protocol in (float(PROTOCOL), str(PROTOCOL), None):
        text = json.dumps({"format": "podium model", "protocol": protocol})
        write_bytes(tmp_path / "model", pack({"model.json": text.encode()}))
        with pytest.raises(FormatError, match=f"protocol {protocol!r} is not {PROTOCOL}, which this version reads"):
            read_model(tmp_path / "model")


def test_a_file_says_its_version_and_has_its_arrays_in_the_order_of_their_names(tmp_path):
    write_model(tmp_path / "model", {"z": np.ones(1), "a": np.zeros(2)})
    assert read_model(tmp_path / "model")["podium"] == __version__
    with zipfile.ZipFile(tmp_path / "model") as archive:
        assert archive.namelist() == ["model.json", "a.npy", "z.npy"]


# The archive


def with_end(data, **changes):
    """Return an archive with other numbers in its last record."""
    names = ("mark", "disk", "start_disk", "here", "total", "size", "place", "comment")
    end = dict(zip(names, END.unpack(data[-END.size :]), strict=True))
    return data[: -END.size] + END.pack(*(end | changes).values())


def archive_of(members, **marks):
    """Return an archive as zipfile writes it; marks are attributes of its first member in the directory."""
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name), data)
        for name, value in marks.items():
            setattr(archive.infolist()[0], name, value)
    return buffer.getvalue()


TWO = {"a.json": b"12", "b/c-1.npy": b"345"}


def test_archives_are_the_same_wherever_they_are_written(monkeypatch):
    here = pack(TWO)
    monkeypatch.setattr(sys, "platform", "win32")
    assert pack(TWO) == here
    with zipfile.ZipFile(BytesIO(here)) as archive:
        assert {entry.external_attr >> 16 for entry in archive.infolist()} == {0o644}
        assert {entry.date_time for entry in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
    assert unpack(here, "file") == TWO


@pytest.mark.parametrize("changes", [{"disk": 1}, {"start_disk": 1}, {"here": 1}, {"comment": 1}, {"mark": b"PK\5\7"}])
def test_ends_that_a_plain_archive_has_not_are_refused(changes):
    assert unpack(with_end(pack(TWO)), "file") == TWO
    with pytest.raises(FormatError, match="its archive is damaged, or not a plain one"):
        unpack(with_end(pack(TWO), **changes), "file")


def test_the_place_of_64_bit_sizes_is_looked_at():
    data = pack(TWO)
    large = data[: -END.size] + b"PK\x06\x07" + bytes(16) + data[-END.size :]
    with pytest.raises(FormatError, match="its archive is damaged, or not a plain one"):
        unpack(large, "file")


def test_an_archive_of_nothing_is_an_archive():
    assert unpack(pack({}), "file") == {}
    with pytest.raises(FormatError, match=r"damaged \(no end\)"):
        unpack(pack({})[:-1], "file")


def test_the_most_members_are_written_and_read_and_one_more_refused(monkeypatch):
    data = pack(TWO)
    monkeypatch.setattr("podium.model_file.archive.MOST_MEMBERS", 2)
    assert pack(TWO) == data
    assert unpack(data, "file") == TWO
    monkeypatch.setattr("podium.model_file.archive.MOST_MEMBERS", 1)
    with pytest.raises(PodiumError, match="at most 0 arrays; this model has 1"):
        pack(TWO)
    with pytest.raises(FormatError, match="for 2 members"):
        unpack(data, "file")


@pytest.mark.parametrize("count", [1, 3])
def test_the_longest_names_are_read_and_longer_ones_refused(count):
    longest = {f"{i}{'n' * (LONGEST_ENTRY - 46 - 5)}.npy": b"" for i in range(count)}
    assert unpack(pack(longest), "file") == longest
    with pytest.raises(FormatError, match="has a directory of"):
        unpack(pack({f"n{name}": b"" for name in longest}), "file")


def test_members_may_declare_as_many_bytes_as_the_file_has_in_all():
    data = archive_of({"a.json": b"1" * 50, "b.npy": b"2" * 50})
    with pytest.raises(FormatError, match="declare more bytes than the file has"):
        unpack(archive_of({"a.json": b"1" * 50, "b.npy": b"2" * 50}, file_size=len(data), compress_size=len(data)), "f")


@pytest.mark.parametrize("name", ["a.b.npy", "a.npy.txt", "a.npyz", "a.npy\n", "a//b.npy", "a/.npy", ".npy", "a.txt"])
def test_names_of_no_array_are_refused(name):
    with pytest.raises(FormatError, match="of its archive is not known"):
        unpack(archive_of({name: b""}), "file")


def test_members_with_further_fields_are_refused():
    with pytest.raises(FormatError, match="must be stored"):
        unpack(archive_of({"a.json": b"1"}, extra=b"\x01\x02\x00\x00"), "file")


# Arrays


def npy(shape, numbers, kind="<f8"):
    """Return an array file that declares a shape."""
    header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + numbers


@pytest.mark.parametrize("n_bytes", [15, 17, 24])
def test_an_array_has_the_bytes_of_its_shape(n_bytes):
    assert from_npy(npy((2,), bytes(16)), "name", "file").tolist() == [0, 0]
    with pytest.raises(FormatError, match=f"name has {n_bytes} bytes of numbers"):
        from_npy(npy((2,), bytes(n_bytes)), "name", "file")


def test_an_array_has_four_dimensions_at_most():
    assert from_npy(npy((1, 1, 1, 1), bytes(8)), "name", "file").shape == (1, 1, 1, 1)
    assert to_npy(np.zeros((1, 1, 1, 1))).endswith(bytes(8))
    with pytest.raises(FormatError, match="is not an array of numbers"):
        from_npy(npy((1, 1, 1, 1, 1), bytes(8)), "name", "file")
    with pytest.raises(PodiumError, match="four dimensions at most; got 5"):
        to_npy(np.zeros((1, 1, 1, 1, 1)))


def test_an_empty_array_has_a_shape_that_fits_in_memory():
    assert from_npy(npy((0, 2**20, 2**20), b""), "name", "file").shape == (0, 2**20, 2**20)
    with pytest.raises(FormatError, match="which is not its shape"):
        from_npy(npy((0, 2**20, 2**20 + 1), b""), "name", "file")


# Values


def nested_lists(depth, value=1):
    for _ in range(depth):
        value = [value]
    return value


def nested_maps(depth, value=1):
    for _ in range(depth):
        value = {3: value}
    return value


def nested_rankers(depth, value=1):
    for _ in range(depth):
        value = Unfitted("MART", {"a": value})
    return value


@pytest.mark.parametrize("innermost", [1, 1.5, "text", (), {}], ids=str)
@pytest.mark.parametrize(("make", "deepest"), [(nested_lists, 63), (nested_maps, 31), (nested_rankers, 31)])
def test_the_deepest_values_are_saved_and_loaded_and_deeper_ones_not_saved(make, deepest, innermost, tmp_path):
    content = {"value": make(deepest, innermost)}
    write_model(tmp_path / "model", content)
    assert read_model(tmp_path / "model")["value"] == content["value"]
    with pytest.raises(PodiumError, match="A model file cannot hold value/"):
        write_model(tmp_path / "model", {"value": make(deepest + 1, innermost)})


@pytest.mark.parametrize(
    "keys", [("b c", "d e"), ("é", "ü"), ("n" * 96, "n" * 97), ("n" * 300, "m" * 300), ("a/b", "a.b")]
)
def test_arrays_come_back_whatever_the_keys_they_stand_under(keys, tmp_path):
    write_model(tmp_path / "model", {key: np.full(3, i) for i, key in enumerate(keys)} | {"a": np.ones(1)})
    found = read_model(tmp_path / "model")
    assert [found[key].tolist() for key in keys] == [[0, 0, 0], [1, 1, 1]]


@pytest.mark.parametrize("key", ["$array", "$float", "$", 3, 1.5, None, True], ids=str)
def test_keys_that_json_or_our_marks_cannot_have_come_back(key, tmp_path):
    value = {key: {"a": np.inf, "b": -np.inf}, "other": (1, [key])}
    write_model(tmp_path / "model", {"value": value})
    assert read_model(tmp_path / "model")["value"] == value


@pytest.mark.parametrize("item", [[], ["a"], ["a", 1, 2]], ids=str)
def test_a_key_in_a_file_has_one_value(item, tmp_path):
    text = json.dumps({"format": "podium model", "protocol": PROTOCOL, "value": {"$map": [item]}})
    write_bytes(tmp_path / "model", pack({"model.json": text.encode()}))
    with pytest.raises(FormatError, match="its mapping must be a list of keys with their values"):
        read_model(tmp_path / "model")


# Writing


def test_all_bytes_have_left_the_buffer_when_they_are_synced(tmp_path, monkeypatch):
    sizes, sync = [], os.fsync
    monkeypatch.setattr("os.fsync", lambda number: (sizes.append(os.fstat(number).st_size), sync(number)))
    write_bytes(tmp_path / "file", b"12345")
    assert sizes == [5]


def test_a_file_can_be_written_while_it_is_being_written(tmp_path, monkeypatch):
    sync = os.fsync

    def write_again(number):
        monkeypatch.setattr("os.fsync", sync)
        write_bytes(tmp_path / "file", b"meanwhile")

    monkeypatch.setattr("os.fsync", write_again)
    write_bytes(tmp_path / "file", b"at last")
    assert (tmp_path / "file").read_bytes() == b"at last"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


# Trees


def three_trees():
    """Trees of two, one and three leaves; one threshold is infinite."""
    whole, number = (lambda *values: np.array(values, np.int32)), (lambda *values: np.array(values, float))
    last = RegressionTree(
        whole(1, 0), number(-np.inf, 0.5), np.array([True, False]), whole(1, -1), whole(-3, -2), number(1, 2, 3),
        number(0.25, 0), np.array([0, 2**53, 7]), whole(-1, -1),
    )  # fmt: skip
    return [split_tree(1, 0.5, True, -1.0, 1.0), leaf_tree(0.5), last]


def test_columns_give_the_trees_back():
    trees = three_trees()
    for given in (trees, trees[2:], trees[1:2], []):
        found = trees_from_columns(trees_to_columns(given), "file", 2)
        assert len(found) == len(given)
        for one, other in zip(found, given, strict=True):
            for name in ("feature", "threshold", "missing_left", "left", "right", "value", "gain", "count", "cut"):
                expected = getattr(other, name)
                assert getattr(one, name).dtype == expected.dtype
                np.testing.assert_array_equal(getattr(one, name), expected)


@pytest.mark.parametrize(
    ("name", "place", "value", "message"),
    [
        ("feature", 0, 2, "feature must be a list of integers from 0 to 1"),
        ("feature", 0, -1, "feature must be a list of integers from 0 to 1"),
        ("missing_left", 0, 2, "missing_left must be"),
        ("threshold", 0, np.nan, "a split has no threshold"),
        ("gain", 1, np.nan, "gain must be a list of numbers"),
        ("value", 2, np.inf, "value must be a list of finite numbers"),
        ("value", 2, np.nan, "value must be a list of finite numbers"),
        ("count", 0, 2**53 + 2, "count must be"),
        ("count", 0, -1, "count must be"),
        ("n_leaves", 0, 0, "n_leaves must be a list of integers from 1 to 6"),
        ("n_leaves", 0, 1, "n_leaves must add up to the 6 entries of value"),
        ("n_leaves", 0, 3, "n_leaves must add up to the 6 entries of value"),
        ("left", 0, -2, "do not form a tree"),
        ("right", 0, -1, "do not form a tree"),
        ("left", 1, 0, "do not form a tree"),
        ("left", 2, 1, "do not form a tree"),
        ("right", 2, -1, "do not form a tree"),
        ("left", 0, -7, "left must be"),
        ("right", 0, 4, "right must be"),
    ],
)
def test_a_wrong_number_in_the_columns_of_trees_is_refused(name, place, value, message):
    columns = trees_to_columns(three_trees())
    columns[name] = columns[name].astype(float if name in ("threshold", "gain", "value") else np.int64)
    columns[name][place] = value
    with pytest.raises(FormatError, match=message):
        trees_from_columns(columns, "file", 2)


@pytest.mark.parametrize("name", ["feature", "threshold", "missing_left", "left", "right", "gain"])
@pytest.mark.parametrize("change", [lambda column: column[:-1], lambda column: np.append(column, column[-1])])
def test_there_is_an_entry_for_each_split(name, change):
    columns = trees_to_columns(three_trees())
    columns[name] = change(columns[name])
    with pytest.raises(FormatError, match=f"{name} must have 3 entries; got {len(columns[name])}"):
        trees_from_columns(columns, "file", 2)


@pytest.mark.parametrize("name", ["count", "value"])
@pytest.mark.parametrize("change", [lambda column: column[:-1], lambda column: np.append(column, column[-1])])
def test_there_is_an_entry_for_each_leaf(name, change):
    columns = trees_to_columns(three_trees())
    columns[name] = change(columns[name])
    with pytest.raises(FormatError, match=r"count must have . entries"):
        trees_from_columns(columns, "file", 2)


@pytest.mark.parametrize("name", ["n_leaves", "feature", "threshold", "missing_left", "left", "right", "gain", "value"])
def test_no_column_of_trees_may_be_missing(name):
    columns = trees_to_columns(three_trees())
    del columns[name]
    with pytest.raises(FormatError, match=f"the trees of the model are incomplete: {name} is missing"):
        trees_from_columns(columns, "file", 2)


# Sets of categories


def sets_of(path, **changes):
    """Write the sample with sets of categories, some of whose columns are changed."""
    content = read_model(SAMPLES / "categories.podium")
    trees = content["learned"]["trees"]
    for name, change in changes.items():
        trees[name] = change(trees[name].astype(np.int64))
    write_model(path, content)
    return path


def at(place, value):
    """Return a change of one number."""

    def change(column):
        column[place] = value
        return column

    return change


@pytest.mark.parametrize("categorical", [[0, 3], None])
def test_sets_of_several_trees_come_back_each_to_its_split(categorical):
    before = load(SAMPLES / "categories.podium")
    after = trees_from_columns(trees_to_columns(before.trees_), "file", 4, categorical)
    assert sum(len(tree.sets) > 0 for tree in after) > 1
    for one, other in zip(after, before.trees_, strict=True):
        np.testing.assert_array_equal(one.set_of, other.set_of)
        np.testing.assert_array_equal(one.sets, other.sets)


@pytest.mark.parametrize("value", [-1, 2**32])
@pytest.mark.parametrize("place", [0, -1])
def test_words_of_sets_have_32_bits(place, value, tmp_path):
    load(sets_of(tmp_path / "model", sets=at(place, 2**32 - 1)))
    with pytest.raises(FormatError, match="sets must be a list of integers from 0 to 4294967295"):
        load(sets_of(tmp_path / "model", sets=at(place, value)))


def test_there_are_as_many_words_as_sets_take(tmp_path):
    for change in (lambda words: words[:-8], lambda words: words[:-1], lambda words: np.append(words, words[:8])):
        with pytest.raises(FormatError, match=r"sets must have .* entries; got"):
            load(sets_of(tmp_path / "model", sets=change))


def test_sets_that_splits_name_are_there(tmp_path):
    content = read_model(SAMPLES / "categories.podium")
    del content["learned"]["trees"]["sets"]
    write_model(tmp_path / "model", content)
    with pytest.raises(FormatError, match="set_of must number the sets of a tree"):
        load(tmp_path / "model")


def test_sets_are_numbered_in_the_order_of_splits(tmp_path):
    columns = read_model(SAMPLES / "categories.podium")["learned"]["trees"]
    by_set = np.flatnonzero(columns["set_of"] >= 0)
    with pytest.raises(FormatError, match="set_of must number the sets of a tree in the order of its splits"):
        load(sets_of(tmp_path / "model", set_of=at(by_set[0], 1)))
    with pytest.raises(FormatError, match="set_of must number"):
        load(sets_of(tmp_path / "model", set_of=at(by_set[-1], 7)))
    for wrong in (-2, len(columns["set_of"]) + 1):
        with pytest.raises(FormatError, match="set_of must be a list of integers from -1 to"):
            load(sets_of(tmp_path / "model", set_of=at(by_set[0], wrong)))
    with pytest.raises(FormatError, match="sets must split the categorical features, and no others"):
        load(sets_of(tmp_path / "model", set_of=at(by_set[-1], -1), sets=lambda words: words[:-8]))
    for change in (lambda own: own[:-1], lambda own: np.append(own, -1)):
        with pytest.raises(FormatError, match=r"set_of must have .* entries; got"):
            load(sets_of(tmp_path / "model", set_of=change))
