"""LETOR files: against a plain line parser; every refusal with its sentence."""

import gzip
from unittest.mock import patch

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, assume, example, given
from hypothesis import strategies as st

from podium import FormatError, PodiumError, read_letor
from podium._validation import SizeError
from podium.readers import letor, line_blocks
from profiles import examples
from reference import readers as twin

quick = examples(60, suppress_health_check=[HealthCheck.function_scoped_fixture])

values = st.one_of(
    st.floats(width=32).map(lambda x: f"{x:.6g}"),
    st.floats().map(repr),
    st.sampled_from(["0", "1.000000", "-0.0", "NaN", "inf", "1e-7", "123456789012345678901234567890"]),
)
labels = st.one_of(st.integers(0, 4).map(str), st.floats(allow_nan=False, allow_infinity=False).map(repr))
blanks = st.sampled_from([" ", "  ", "\t", " \t "])
comments = st.sampled_from(
    [
        "",
        "#",
        " # note",
        "#docid = GX1",
        " # inc = 1 docid = GX-22 prob = 0.5",
        " # docid=é#1",
        "# mydocid = 3",
    ]
)
ends = st.sampled_from(["\n", "\r\n", "\r", " \n"])
others = st.sampled_from(["\n", "\r\n", "\r", "  \n", "# only a comment\n", "\t# docid = 4\r\n"])


@st.composite
def lines(draw, qids):
    features = draw(st.lists(st.integers(1, 9), unique=True, max_size=5))
    tokens = [draw(labels), *([] if qids is None else [f"qid:{draw(qids)}"])]
    tokens += [f"{feature}:{draw(values)}" for feature in features]
    return draw(blanks).join(tokens) + draw(comments) + draw(ends)


@st.composite
def files(draw):
    qids = draw(
        st.sampled_from([None, st.integers(-3, 10**17).map(str), st.sampled_from(["1", "07", "q-1", "é", "-0"])])
    )
    text = "".join(draw(st.lists(st.one_of(lines(qids), others), min_size=1, max_size=12)))
    return (text.rstrip("\n") if draw(st.booleans()) else text).encode()


@pytest.fixture
def write(tmp_path):
    def to_file(data, name="file.txt"):
        path = tmp_path / name
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        return path

    return to_file


def read_in_pieces(path, block_bytes, **options):
    with patch.object(line_blocks, "BLOCK_BYTES", block_bytes), patch.object(letor, "ENTRIES_PER_STORE", 7):
        return read_letor(path, **options)


@pytest.mark.plain
@examples(60, plain=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(files(), st.integers(1, 90), st.booleans())
@example(b"1 qid:1 1:2\r\n\r\n0 qid:1 2:1#docid = x", 3, False)
@example(b"1 1:2\r0 2:1\r\r\n1 3:1\n0 1:1\r", 6, False)
def test_equals_the_plain_parser_wherever_blocks_are_cut(write, data, block_bytes, packed):
    rows, broken = twin.letor_file(data)
    assert not broken
    assume(rows)
    table = read_in_pieces(write(gzip.compress(data) if packed else data), block_bytes, n_features=9, sparse=False)
    X = np.zeros((len(rows), 9))
    for i, (_, _, features, _) in enumerate(rows):
        for feature, value in features.items():
            X[i, feature - 1] = value
    np.testing.assert_array_equal(table.X.view(np.int64), X.view(np.int64))
    np.testing.assert_array_equal(table.y, [row[0] for row in rows])
    qids = [row[1] for row in rows]
    assert (table.qid is None) if qids[0] is None else (table.qid.tolist() == twin.ids(qids))
    docids = [row[3] for row in rows]
    assert (table.docid is None) if not any(docids) else (table.docid.tolist() == docids)
    assert table.feature_names is None


@pytest.mark.plain
@quick
@given(files(), st.integers(1, 90))
def test_a_sparse_result_stores_what_the_file_does(write, data, block_bytes):
    rows, _ = twin.letor_file(data)
    assume(rows)
    X = read_in_pieces(write(data), block_bytes, n_features=9, sparse=True).X
    assert X.has_canonical_format
    assert X.indices.dtype == np.int32
    assert X.shape == (len(rows), 9)
    for i, (_, _, features, _) in enumerate(rows):
        part = slice(X.indptr[i], X.indptr[i + 1])
        assert (X.indices[part] + 1).tolist() == sorted(features)
        np.testing.assert_array_equal(X.data[part], [features[feature] for feature in sorted(features)])


tokens = st.sampled_from(["1", "nan", "x", "qid:", "qid:2", "1:1", "2:1e5", "0:1", "3:", ":4", "5:x", "1:2:3", "#"])


@pytest.mark.plain
@quick
@given(
    st.lists(st.lists(tokens, max_size=5).map(" ".join), min_size=1, max_size=6),
    st.integers(1, 60),
    st.sampled_from(["\n", "\r\n", "\r"]),
)
@example(["1 qid:1 1:1", "1 1:1"], 5, "\n")
@example(["1 1:1", "1 qid:1 1:1"], 5, "\n")
def test_broken_files_raise_at_one_of_their_broken_lines(write, texts, block_bytes, end):
    data = end.join(texts).encode()
    rows, broken = twin.letor_file(data)
    if not broken:
        assume(rows)
        assert len(read_in_pieces(write(data), block_bytes, n_features=9).y) == len(rows)
        return
    with pytest.raises(FormatError) as caught:
        read_in_pieces(write(data), block_bytes, n_features=9)
    # With a broken line before it, which line first has a qid is not the same question for both parsers.
    assert caught.value.line in broken or "qid" in caught.value.problem
    assert caught.value.text == texts[caught.value.line - 1]


GOOD = "2 qid:10 1:0.03 2:0.4 # docid = GX001\n0 qid:10 2:0.5 # docid = GX002\n"
REFUSALS = {
    "a word as label": (
        "high qid:1 1:2",
        "the label must be a finite number, got 'high': 'high qid:1 1:2'",
    ),
    "no label": ("qid:1 1:2", "the label must be a finite number, got 'qid:1': 'qid:1 1:2'"),
    "nan as label": ("nan qid:1 1:2", "the label must be a finite number, got 'nan': 'nan qid:1 1:2'"),
    "infinite label": (
        "1e999 qid:1 1:2",
        "the label must be a finite number, got '1e999': '1e999 qid:1 1:2'",
    ),
    "a word as value": (
        "1 qid:1 1:2 2:low",
        "the feature value must be a number, got 'low': '1 qid:1 1:2 2:low'",
    ),
    "no value": (
        "1 qid:1 1: 2:3",
        "expected feature:value, like 3:0.25, but found '1:': '1 qid:1 1: 2:3'",
    ),
    "no colon": ("1 qid:1 7", "expected feature:value, like 3:0.25, but found '7': '1 qid:1 7'"),
    "a named feature": (
        "1 qid:1 bm25:7",
        "expected feature:value, like 3:0.25, but found 'bm25:7': '1 qid:1 bm25:7'",
    ),
    "an empty qid": (
        "1 qid: 1:7",
        "expected feature:value, like 3:0.25, but found 'qid:': '1 qid: 1:7'",
    ),
    "a late qid": ("1 1:7 qid:1", "qid must stand right after the label: '1 1:7 qid:1'"),
    "feature 0": (
        "1 qid:1 0:7 1:2",
        "feature number 0 is not allowed: LETOR counts from 1, so add 1 to every feature number: '1 qid:1 0:7 1:2'",
    ),
    "feature too large": (
        "1 qid:1 99999999999999999999:7",
        "feature number 99999999999999999999 is larger than 2147483647, the largest that can be read: "
        "'1 qid:1 99999999999999999999:7'",
    ),
    "a feature twice": ("1 qid:1 3:1 2:1 3:1", "feature 3 is given twice: '1 qid:1 3:1 2:1 3:1'"),
    "no qid": (
        "1 1:2",
        "the line has no qid but the lines before it have one; give every line one, or no line: '1 1:2'",
    ),
}


@pytest.mark.plain
@pytest.mark.parametrize("case", REFUSALS)
@pytest.mark.parametrize("block_bytes", [10, 4096])
def test_a_broken_line_is_named(write, case, block_bytes):
    line, sentence = REFUSALS[case]
    path = write(GOOD + "\n" + line + "\r\n" + GOOD)
    with pytest.raises(FormatError) as caught:
        read_in_pieces(path, block_bytes)
    assert str(caught.value) == f"{path}, line 4: {sentence}."


@pytest.mark.plain
def test_a_qid_after_lines_without_one_is_refused(write):
    with pytest.raises(FormatError, match="line 2: the line has a qid but the lines before it have none; give"):
        read_letor(write("1 1:2\n1 qid:1 1:2\n"))


@pytest.mark.plain
def test_a_feature_beyond_n_features_is_refused(write):
    with pytest.raises(FormatError, match="line 1: feature number 3 is larger than 2: '1 3:1'"):
        read_letor(write("1 3:1\n"), n_features=2)


@pytest.mark.plain
@pytest.mark.parametrize("data", ["", "\n\n", "# nothing\n", "\ufeff"])
def test_a_file_without_rows_is_refused(write, data):
    path = write(data)
    with pytest.raises(FormatError) as caught:
        read_letor(path)
    layout = "'label qid:query feature:value ...', like '2 qid:10 1:0.03 2:0.4'"
    assert str(caught.value) == f"{path}: the file has no rows; expected lines of {layout}."


@pytest.mark.plain
def test_a_file_without_features_is_refused_unless_their_number_is_given(write):
    path = write("1\n13\n5\n")
    with pytest.raises(FormatError, match="no line has a feature; expected lines of 'label qid:query"):
        read_letor(path)
    np.testing.assert_array_equal(read_letor(path, n_features=2, sparse=False).X, np.zeros((3, 2)))


@pytest.mark.plain
@pytest.mark.parametrize(
    ("start", "like"),
    [
        (b"\x89PNG\r\n\x1a\n", ", like a PNG image"),
        (b"PAR1\x15\x04", ", like a Parquet file; read it with read_parquet"),
        (b"PK\x03\x04", ", like a zip archive; unpack it first"),
        (b"BZh9", ", like a bzip2 file; unpack it first or pack it with gzip"),
        ("1 1:2\n".encode("utf-16"), ", like UTF-16 text; save it as UTF-8"),
        (b"1 qid:1 1:\x00", " (it holds NUL bytes)"),
    ],
)
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_binary_file_is_refused(write, start, like, pack):
    path = write(pack(start + b"\n" * 9))
    with pytest.raises(FormatError) as caught:
        read_letor(path)
    assert str(caught.value) == f"{path}: expected a text file but this looks binary{like}."


@pytest.mark.plain
def test_a_truncated_gz_is_refused_wherever_it_is_cut(write):
    whole = gzip.compress(GOOD.encode() * 50)
    for length in range(2, len(whole)):
        path = write(whole[:length])
        with pytest.raises(FormatError) as caught:
            read_letor(path)
        assert str(caught.value) == f"{path}: the .gz ends too early; copy or download the whole file again."


@pytest.mark.plain
def test_a_damaged_gz_is_refused(write):
    whole = bytearray(gzip.compress(GOOD.encode() * 50))
    whole[-8] ^= 1
    with pytest.raises(FormatError, match=r"the \.gz is damaged \(CRC check failed .*\); copy or download it again"):
        read_letor(write(bytes(whole)))


@pytest.mark.plain
def test_a_missing_file_stays_pythons_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_letor(tmp_path / "none.txt")


@pytest.mark.plain
@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"n_features": 0}, "n_features must be None or an integer from 1 to 2147483647; got 0."),
        ({"n_features": 2.5}, "n_features must be None or an integer from 1 to 2147483647; got 2.5."),
        ({"dtype": int}, "dtype must be float64 or float32; got <class 'int'>."),
        ({"dtype": "zz"}, "dtype must be float64 or float32; got 'zz'."),
        ({"sparse": "yes"}, "sparse must be 'auto', True or False; got 'yes'."),
    ],
)
def test_wrong_parameters_are_refused(write, options, sentence):
    with pytest.raises(PodiumError) as caught:
        read_letor(write(GOOD), **options)
    assert str(caught.value) == sentence


def test_a_dense_result_beyond_the_memory_is_refused_with_its_size(write):
    path = write("1 qid:1 2147483647:2\n0 qid:1 1:1\n")
    assert read_letor(path).X.shape == (2, 2147483647)
    with patch("podium._memory.machine_memory", lambda: 2**34), pytest.raises(SizeError) as caught:
        read_letor(path, sparse=False)
    size = "a dense X of 2 rows and 2147483647 columns takes at least 32.0 GiB, more memory than there is"
    assert str(caught.value) == f"{path}: {size}; consider sparse=True, or dtype='float32'."


@pytest.mark.parametrize("line", ["1 qid:{} 1:2", "1 qid:1 1:2 # docid = {}"])
def test_a_name_too_long_to_give_all_rows_its_room_is_refused(write, line):
    assert len(read_letor(write(line.format("a" * 4096))).y) == 1
    with pytest.raises(FormatError, match="line 2: the name of a query or document must not be longer than 4096 bytes"):
        read_letor(write(line.format("a") + "\n" + line.format("a" * 4097)))


def test_the_readme_line_gives_its_table(write):
    table = read_letor(write(GOOD))
    np.testing.assert_array_equal(table.X, [[0.03, 0.4], [0, 0.5]])
    np.testing.assert_array_equal(table.y, [2.0, 0.0])
    assert table.qid.dtype == np.int64
    assert table.qid.tolist() == [10, 10]
    assert table.docid.tolist() == ["GX001", "GX002"]


def test_a_row_without_docid_has_none_among_others(write):
    assert read_letor(write("1 1:2 # docid = a\n1 1:2\n")).docid.tolist() == ["a", None]


def test_float32_is_the_rounded_float64(write):
    path = write("1 1:0.1 2:1e300 3:nan\n2 1:16777217 2:3.4028236e38 3:1e-46\n")
    with np.errstate(over="ignore"):
        expected = read_letor(path).X.astype(np.float32)
    np.testing.assert_array_equal(read_letor(path, dtype=np.float32).X, expected)


def test_auto_is_sparse_below_one_in_fifty_cells(write):
    assert sp.issparse(read_letor(write("1 1:1\n1 51:1\n")).X)
    assert not sp.issparse(read_letor(write("1 1:1\n1 50:1\n")).X)
    assert not sp.issparse(read_letor(write("1 1:1\n1 51:1\n"), sparse=False).X)


def test_a_long_line_spans_many_blocks(write):
    line = "1 qid:1 " + " ".join(f"{j}:{j}" for j in range(1, 2001))
    table = read_in_pieces(write(f"{line}\n{line}"), 64)
    np.testing.assert_array_equal(table.X, [np.arange(1.0, 2001.0)] * 2)


@pytest.mark.plain
def test_a_bar_is_shown_on_stderr_when_asked_for_only(write, capsys):
    path = write(GOOD)
    read_letor(path, progress=True)
    shown = capsys.readouterr()
    assert "reading file.txt" in shown.err
    assert shown.out == ""
    read_letor(path)
    assert capsys.readouterr().err == ""


@pytest.mark.plain
def test_a_large_file_gets_a_bar_on_a_terminal(write, monkeypatch, capsys):
    monkeypatch.setattr(line_blocks, "PROGRESS_BYTES", 10)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    read_letor(write(GOOD))
    assert "reading file.txt" in capsys.readouterr().err


def test_ids_that_are_not_utf8_stay_apart(tmp_path):
    path = tmp_path / "latin.txt"
    path.write_bytes(b"1 qid:caf\xe9 1:1 # docid = d\xe9\n0 qid:caf\xe8 1:2 # docid = d\xe8\n")
    table = read_letor(path)
    assert len(set(table.qid.tolist())) == 2
    assert len(set(table.docid.tolist())) == 2
