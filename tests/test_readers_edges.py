"""Bounds of the readers: bars, bytes that are no text, room for the densest blocks, batches, numbers of lines."""

import gzip
from unittest.mock import patch

import numpy as np
import pytest
import scipy.sparse as sp

from peers import peer
from podium import FormatError, PodiumError, read_csv, read_letor, read_pairs, read_qrels, read_run
from podium._compiled import JIT_DISABLED
from podium._memory import enough_memory
from podium._validation import SizeError
from podium.readers import letor, line_blocks, read_query_sizes, read_weights

pytestmark = pytest.mark.plain
LETOR = "2 qid:10 1:0.03 2:0.4 # docid = GX001\n0 qid:10 2:0.5 # docid = GX002\n"


@pytest.fixture
def write(tmp_path):
    def to_file(data, name="file.txt"):
        path = tmp_path / name
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        return path

    return to_file


def in_blocks(size, reader, path, **options):
    """Read with blocks of few bytes and stores of few entries."""
    with patch.object(line_blocks, "BLOCK_BYTES", size), patch.object(letor, "ENTRIES_PER_STORE", 1):
        return reader(path, **options)


@pytest.mark.parametrize(("large", "terminal"), [(True, True), (True, False), (False, True), (False, False)])
def test_only_large_files_on_a_terminal_get_a_bar_by_themselves(write, monkeypatch, capsys, large, terminal):
    path = write(LETOR)
    size = path.stat().st_size
    monkeypatch.setattr(line_blocks, "PROGRESS_BYTES", size - 1 if large else size)
    monkeypatch.setattr("sys.stderr.isatty", lambda: terminal)
    read_letor(path)
    assert ("reading file.txt" in capsys.readouterr().err) == (large and terminal)


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_bar_moves_to_the_end_of_the_file_as_it_lies_on_disk(write, pack):
    path = write(pack(LETOR.encode() * 4))
    with patch("rich.progress.Progress.update") as update:
        in_blocks(16, read_letor, path, progress=True)
    places = [call.kwargs["completed"] for call in update.call_args_list]
    assert places == sorted(places)
    assert places[-1] == path.stat().st_size


def test_lines_are_counted_alike_wherever_a_block_ends(write):
    path = write("0.5\r\n\r\n1\r2\nx\r\n")
    for size in range(1, 17):
        with pytest.raises(FormatError, match=r"line 5: .*'x'"):
            in_blocks(size, read_weights, path)


def test_a_nul_among_the_first_bytes_is_binary(write):
    text = LETOR.encode() * 200
    with pytest.raises(FormatError, match="it holds NUL bytes"):
        read_letor(write(text[:8191] + b"\0" + text))


def test_a_byte_order_mark_takes_nothing_of_what_follows(write):
    like_a_mark = b"\xef\xbb\x80"  # its bytes are those of a mark, but for the last
    run = read_run(write(b"\xef\xbb\xbf" + like_a_mark + b" Q0 a 1 2 t\n"))
    assert run.qid.tolist() == [like_a_mark.decode()]
    with pytest.raises(FormatError, match="the label must be a finite number"):
        read_letor(write(b"\xef\xbb\xbf\xef\xbb\xbf1 1:2\n"))


@pytest.mark.parametrize("reader", [read_letor, lambda path: read_csv(path, label="y")])
def test_a_gz_with_any_byte_changed_is_read_or_refused_in_our_words(write, reader):
    whole = gzip.compress(LETOR.encode() if reader is read_letor else b"y,a\n1,2\n0,3\n0,4\n")
    refused = 0
    for place in range(10, len(whole)):
        changed = bytearray(whole)
        changed[place] ^= 0x55
        try:
            reader(write(bytes(changed)))
        except FormatError as error:
            refused += "the .gz" in str(error)
    assert refused > len(whole) / 3


def test_the_densest_blocks_have_room(write):
    line = "1 " + " ".join(f"{j}:{j}" for j in range(1, 10)) + "\n"
    table = in_blocks(1 << 20, read_letor, write(line * 40), sparse=False)
    np.testing.assert_array_equal(table.X, [np.arange(1.0, 10.0)] * 40)
    shortest = in_blocks(1 << 20, read_letor, write("1\n" * 40), n_features=1)
    assert len(shortest.y) == 40


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("size", [40, 90, 200, 1000])
def test_rows_of_all_stores_and_blocks_stand_in_their_order(write, sparse, size):
    rng = np.random.default_rng(size)
    X = np.where(rng.random((60, 12)) < 0.4, rng.integers(1, 99, (60, 12)), 0).astype(float)
    X[7] = 0.0
    lines = [f"{i % 3} " + " ".join(f"{j + 1}:{x:g}" for j, x in enumerate(row) if x) for i, row in enumerate(X)]
    with patch.object(letor, "ENTRIES_PER_STORE", 50), patch.object(line_blocks, "BLOCK_BYTES", size):
        table = read_letor(write("\n".join(lines)), sparse=sparse)
    found = table.X.toarray() if sparse else table.X
    np.testing.assert_array_equal(found, X[:, : found.shape[1]])
    assert found.shape[1] == 1 + np.flatnonzero(X.any(axis=0)).max()
    np.testing.assert_array_equal(table.y, np.arange(60) % 3)


@pytest.mark.skipif(not JIT_DISABLED, reason="kernels of another type would be compiled for this alone")
@pytest.mark.parametrize("n_rows", [2, 3])
def test_more_entries_than_the_type_of_columns_can_count(write, n_rows):
    line = "1 " + " ".join(f"{j}:{j}" for j in range(1, 61)) + "\n"
    with patch.object(letor, "COLUMN", np.int8):  # up to 127 entries, as int32 has up to 2³¹ - 1
        table = read_letor(write(line * n_rows), sparse=True)
    np.testing.assert_array_equal(table.X.toarray(), [np.arange(1.0, 61.0)] * n_rows)


@pytest.mark.parametrize("size", [1, 5, 4096])
def test_columns_are_as_many_as_the_largest_number_of_any_block(write, size):
    assert in_blocks(size, read_letor, write("1 1:1 7:1\n0 2:1\n1 3:1\n"), sparse=False).X.shape == (3, 7)
    assert in_blocks(size, read_letor, write("1 1:1 7:1\n0 2:1\n"), n_features=7, sparse=False).X.shape == (2, 7)
    assert in_blocks(size, read_letor, write("1 1:1 7:1\n0 2:1\n"), n_features=9).X.shape == (2, 9)


def test_the_share_of_cells_below_which_a_file_is_sparse(write):
    cells = "1 " + " ".join(f"{j}:1" for j in range(1, 11))
    assert not sp.issparse(read_letor(write(f"{cells} 500:1\n")).X)  # 11 of 500
    assert not sp.issparse(read_letor(write(f"{cells[:-5]} 500:1\n")).X)  # 10 of 500
    assert sp.issparse(read_letor(write(f"{cells[:-5]} 501:1\n")).X)


@pytest.mark.parametrize("size", [1, 6, 40, 4096])
@pytest.mark.parametrize(
    ("start", "line"), [("", 1), ("\n", 2), ("# note\n\n# note\n", 4), ("1 1:1\n\n0 1:2\n# note\n", 5)]
)
@pytest.mark.parametrize(
    ("broken", "problem"),
    [
        ("1 3:1 3:1", "feature 3 is given twice"),
        ("1 3:1 2:5 3:1", "feature 3 is given twice"),
        ("1 2:x", "the feature value must be a number, got 'x'"),
        ("x 2:1", "the label must be a finite number, got 'x'"),
        ("inf 2:1", "the label must be a finite number, got 'inf'"),
        ("1 0:1", "feature number 0 is not allowed: LETOR counts from 1, so add 1 to every feature number"),
        ("1 5:1", "feature number 5 is larger than 4"),
        ("1 18446744073709551617:1", "feature number 18446744073709551617 is larger than 4"),
        ("1 2:1_0", "the feature value must be a number, got '1_0'"),
    ],
)
def test_the_line_of_an_error_is_counted_from_the_start_of_the_file(write, size, start, line, broken, problem):
    path = write(f"{start}{broken}\n1 1:1\n")
    with pytest.raises(FormatError) as caught:
        in_blocks(size, read_letor, path, n_features=4)
    assert (caught.value.line, caught.value.problem, caught.value.text) == (line, problem, broken)


def test_the_last_feature_of_a_line_may_begin_the_next(write):
    np.testing.assert_array_equal(read_letor(write("1 3:1 2:1\n0 2:5 1:4\n0 3:5 1:4\n"), sparse=False).X[1:, 0], [4, 4])
    assert read_letor(write("1 2:1 1:1\n0 2:5\n0 2:5\n"), sparse=False).X[:, 1].tolist() == [1, 5, 5]


def test_docid_is_a_word_of_its_own(write):
    assert read_letor(write("1 1:2 # mydocid = 3\n")).docid is None
    assert read_letor(write("1 1:2 #docid=3\n1 1:2 # x\tdocid = 4 y\n1 1:2 # mydocid = 3\n")).docid.tolist() == [
        "3",
        "4",
        None,
    ]


@pytest.mark.parametrize("size", [1, 9, 4096])
def test_whole_numbers_and_texts_of_queries_stay_as_they_are_written(write, size):
    qids = ["12345", "-0", "0", "007", "999999999999999999999", "é-1"]
    table = in_blocks(size, read_letor, write("".join(f"1 qid:{qid} 1:1\n" for qid in qids)))
    assert table.qid.tolist() == qids
    numbers = ["123456789012345678", "-5", "0"]
    table = in_blocks(size, read_letor, write("".join(f"1 qid:{qid} 1:1\n" for qid in numbers)))
    assert table.qid.tolist() == [int(qid) for qid in numbers]
    wide = ["9223372036854775807", "-9223372036854775808"]
    table = in_blocks(size, read_letor, write("".join(f"1 qid:{qid} 1:1\n" for qid in wide)))
    assert table.qid.tolist() == wide


@pytest.mark.parametrize("exponent", ["18446744073709551617", "100000", "4294967297", "0000000000000000000001"])
def test_exponents_of_many_digits_are_what_python_makes_of_them(write, exponent):
    tokens = [f"{digits}e{sign}{exponent}" for digits in ("1", "0", "-2.5") for sign in ("", "+", "-")]
    table = read_letor(write("".join(f"1 1:{token}\n" for token in tokens)), sparse=False)
    assert [str(x) for x in table.X[:, 0].tolist()] == [str(float(token)) for token in tokens]


@pytest.mark.parametrize("size", [1, 20, 4096])
def test_the_tag_is_that_of_the_first_line(write, size):
    assert in_blocks(size, read_run, write("\n1 Q0 a 1 2 one\n1 Q0 b 2 1 two\n")).tag == "one"


@pytest.mark.parametrize("size", [1, 20, 4096])
def test_repeats_are_named_by_their_lines(write, size):
    path = write("\n1 0 b 1\n\n1 0 a 1\n2 0 a 1\n\n1 0 a 0\n")
    with pytest.raises(FormatError) as caught:
        in_blocks(size, read_qrels, path)
    assert caught.value.line == 7
    assert "query '1' has document 'a' twice, first on line 4" in caught.value.problem


@pytest.mark.parametrize("size", [1, 7, 4096])
def test_lines_of_columns_are_counted_over_blank_ones(write, size):
    for reader, text, line in ((read_pairs, "0 1\n\n \n2 2\n", 4), (read_weights, "1\n\n\n\n-1\n", 5)):
        with pytest.raises(FormatError) as caught:
            in_blocks(size, reader, write(text))
        assert caught.value.line == line


@pytest.mark.parametrize("size", [1, 4096])
def test_the_least_numbers_of_side_files(write, size):
    assert in_blocks(size, read_weights, write("0\n1\n")).tolist() == [0.0, 1.0]
    assert in_blocks(size, read_query_sizes, write("1\n2\n")).tolist() == [1, 2]
    assert in_blocks(size, read_pairs, write("0 1 5e-324\n1 0 1\n")).weight.tolist() == [5e-324, 1.0]
    for reader, text, problem in (
        (read_weights, "nan\n", "the weight must be a number, got 'nan'"),
        (read_weights, "inf\n", "the weight must be finite and at least 0"),
        (read_query_sizes, "0\n", "the query size must be an integer from 1, got '0'"),
        (read_query_sizes, "9223372036854775808\n", "must be an integer from 1, got '9223372036854775808'"),
        (read_pairs, "-1 0\n", "the winner must be an integer from 0, got '-1'"),
        (read_pairs, "1 0 nan\n", "the weight must be a number, got 'nan'"),
    ):
        with pytest.raises(FormatError, match=problem):
            in_blocks(size, reader, write(text))


def test_sizes_that_wrap_around_to_a_small_sum_are_refused(write):
    with pytest.raises(FormatError, match="query sizes must sum to a number of rows; got 18446744073709551618"):
        read_query_sizes(write("9223372036854775807\n9223372036854775807\n4\n"))


def test_names_of_just_the_longest_length_are_taken(write):
    name = "d" * 4096
    assert read_qrels(write(f"q 0 {name} 1\n")).docid.tolist() == [name]
    assert read_letor(write(f"1 qid:{name} 1:1 # docid = {name}\n")).docid.tolist() == [name]
    for text in (f"1 qid:{name}d 1:1\n", f"1 qid:1 1:1 # docid = {name}d\n"):
        with pytest.raises(FormatError, match="must not be longer than 4096 bytes"):
            read_letor(write(text))


@pytest.mark.parametrize("dtype", ["float16", "longdouble", "int64", "object"])
def test_features_of_other_types_are_refused(write, dtype):
    with pytest.raises(PodiumError, match="dtype must be float64 or float32; got"):
        read_letor(write(LETOR), dtype=dtype)


def test_rows_and_newlines_within_quotes_in_a_csv_file_of_several_blocks(write):
    """Arrow reads a megabyte at a time; wherever a block ends, most of the last newlines are within quotes."""
    peer("pyarrow")
    name = "a\n" * 30_000 + "b"
    table = read_csv(write("y,d,f\n" + "".join(f'{i % 2},"{name}",{i}\n' for i in range(25))), label="y", docid="d")
    np.testing.assert_array_equal(table.X[:, 0], np.arange(25))
    np.testing.assert_array_equal(table.y, np.arange(25) % 2)
    assert set(table.docid.tolist()) == {name}


def test_empty_documents_of_a_csv_file_are_none(write):
    peer("pyarrow")
    table = read_csv(write("y,d,f\n1,,1\n0,x,2\n0,,3\n"), label="y", docid="d")
    assert table.docid.tolist() == [None, "x", None]


def test_what_takes_just_all_memory_is_allowed(monkeypatch):
    monkeypatch.setattr("podium._memory.machine_memory", lambda: 3 * 2**30)
    with enough_memory(3 * 2**30, "X", "none"):
        pass
    with pytest.raises(SizeError, match=r"X takes at least 3\.0 GiB"), enough_memory(3 * 2**30 + 1, "X", "none"):
        pass


@pytest.mark.parametrize("length", [79, 80, 81, 200])
def test_lines_of_more_than_80_characters_are_cut_to_80(length):
    shown = str(FormatError("a", "b", 1, "x" * length)).split("'")[1]
    assert shown == ("x" * length if length <= 80 else "x" * 77 + "...")


def test_a_format_error_from_another_process_is_whole():
    import pickle

    error = pickle.loads(pickle.dumps(FormatError("a.txt", "why", 3, "the line")))
    assert (error.path, error.problem, error.line, error.text) == ("a.txt", "why", 3, "the line")
