"""Every bound of a model file's checks: what stands on it is read, and what is one past it is refused."""

import json
import os
import struct
import sys
import tracemalloc
import zipfile
from io import BytesIO

import numpy as np
import pytest

from podium import FormatError, PodiumError, __version__
from podium.model_file import (
    PROTOCOL,
    Unfitted,
    read_model,
    write_bytes,
    write_model,
)
from podium.model_file.archive import LONGEST_ENTRY, pack, unpack
from podium.model_file.arrays import from_npy, to_npy

pytestmark = pytest.mark.plain
END = struct.Struct("<4s4H2LH")
"""Mark, this disk, the directory's disk, members here, members in all, size and place of the directory, comment."""


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
