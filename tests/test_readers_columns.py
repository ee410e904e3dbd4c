"""TREC runs and judgements, pairs, sizes and weights: against plain Python, and each refusal."""

import gzip
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from podium import FormatError, read_pairs, read_qrels, read_query_sizes, read_run
from podium.readers import line_blocks, read_weights, spans
from profiles import examples
from reference import readers as twin

pytestmark = pytest.mark.plain
quick = examples(50, plain=20, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture
def write(tmp_path):
    def to_file(data, name="file.txt"):
        path = tmp_path / name
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        return path

    return to_file


names = st.text("ab1é-#", min_size=1, max_size=4)
rows = st.lists(
    st.tuples(names, names, st.floats(allow_nan=False).map(repr)), unique_by=lambda row: row[:2], min_size=1
)


@quick
@given(rows, st.sampled_from([" ", "\t", "  "]), st.sampled_from(["\n", "\r\n", "\r", "\n\n"]), st.integers(1, 60))
def test_a_run_equals_its_split_lines(write, rows, blank, end, block_bytes):
    lines = [blank.join([qid, "Q0", docid, "7", score, "mine"]) for qid, docid, score in rows]
    with patch.object(line_blocks, "BLOCK_BYTES", block_bytes):
        run = read_run(write(end.join(lines)))
    assert run.qid.tolist() == [row[0] for row in rows]
    assert run.docid.tolist() == [row[1] for row in rows]
    assert run.score.tolist() == [float(row[2]) for row in rows]
    assert run.tag == "mine"


@quick
@given(st.lists(st.tuples(st.sampled_from("abcdé"), st.sampled_from(["1", "11", "2"])), min_size=1, max_size=8))
def test_the_first_repeat_is_found(keys):
    one, two = (np.array(column) for column in zip(*keys, strict=True))
    assert spans.first_repeat(one, two) == twin.first_repeat(one.tolist(), two.tolist())


@quick
@given(st.lists(st.sampled_from("abcdé"), min_size=1, max_size=8))
def test_the_first_repeat_is_found_though_all_hashes_meet(keys):
    with patch.object(spans, "mix_rows", lambda letters, hashes: None):
        assert spans.first_repeat(np.array(keys)) == twin.first_repeat(keys)


def test_qrels_keep_negative_grades_and_read_gz(write):
    qrels = read_qrels(write(gzip.compress(b"1 0 a 2\n1 0 b -1\n2 0 a 0\n")))
    assert qrels.qid.tolist() == ["1", "1", "2"]
    assert qrels.docid.tolist() == ["a", "b", "a"]
    assert qrels.relevance.dtype == np.int64
    assert qrels.relevance.tolist() == [2, -1, 0]


REFUSALS = {
    "run with five columns": (
        read_run,
        "1 Q0 a 1 2.5 t\n1 Q0 b 2 2.5\n",
        ", line 2: expected 6 columns (query Q0 document rank score tag) but there are 5: '1 Q0 b 2 2.5'",
    ),
    "run with seven columns": (
        read_run,
        "1 Q0 a 1 2.5 my tag\n",
        ", line 1: expected 6 columns (query Q0 document rank score tag) but there are 7: '1 Q0 a 1 2.5 my tag'",
    ),
    "run with a word as score": (
        read_run,
        "1 Q0 a 1 high t\n",
        ", line 1: the score must be a number, got 'high': '1 Q0 a 1 high t'",
    ),
    "run with a comment in the score": (
        read_run,
        "1 Q0 a 1 2#3 t\n",
        ", line 1: the score must be a number, got '2#3': '1 Q0 a 1 2#3 t'",
    ),
    "run with nan as score": (
        read_run,
        "1 Q0 a 1 nan t\n",
        ", line 1: the score must be a number, got 'nan': '1 Q0 a 1 nan t'",
    ),
    "run with a repeated document": (
        read_run,
        "1 Q0 a 1 2 t\n\n2 Q0 a 1 2 t\n1 Q0 a 3 1 t\n",
        ", line 4: query '1' has document 'a' twice, first on line 1; keep one of the lines",
    ),
    "empty run": (
        read_run,
        "\n\n",
        ": the file has no rows; expected lines of query Q0 document rank score tag",
    ),
    "qrels with three columns": (
        read_qrels,
        "1 a 2\n",
        ", line 1: expected 4 columns (query 0 document relevance) but there are 3: '1 a 2'",
    ),
    "qrels with a fraction": (
        read_qrels,
        "1 0 a 1.5\n",
        ", line 1: the relevance must be an integer, got '1.5': '1 0 a 1.5'",
    ),
    "qrels with a repeated document": (
        read_qrels,
        "1 0 a 1\n1 0 a 0\n",
        ", line 2: query '1' has document 'a' twice, first on line 1; keep one of the lines",
    ),
    "pairs with one column": (
        read_pairs,
        "0\t1\n3\n",
        ", line 2: expected 2 or 3 columns (winner loser [weight]) but there are 1: '3'",
    ),
    "pairs with a negative row": (
        read_pairs,
        "0\t-1\n",
        ", line 1: the loser must be an integer from 0, got '-1': '0\\t-1'",
    ),
    "a pair of one row": (read_pairs, "0 1\n2 2\n", ", line 2: a row cannot stand above itself: '2 2'"),
    "pairs with a zero weight": (
        read_pairs,
        "0 1 0\n",
        ", line 1: the weight must be positive and finite: '0 1 0'",
    ),
    "pairs with an infinite weight": (
        read_pairs,
        "0 1 inf\n",
        ", line 1: the weight must be positive and finite: '0 1 inf'",
    ),
    "pairs that lose their weights": (
        read_pairs,
        "0 1 2\n1 2\n",
        ", line 2: the line has no weight but the lines before it have one; give every line one, or no line: '1 2'",
    ),
    "pairs that gain weights": (
        read_pairs,
        "0 1\n\n1 2 3\n",
        ", line 3: the line has a weight but no line before it has; give every line one, or no line: '1 2 3'",
    ),
    "two sizes on a line": (
        read_query_sizes,
        "3\n4 5\n",
        ", line 2: expected 1 column (rows of a query) but there are 2: '4 5'",
    ),
    "an empty query": (
        read_query_sizes,
        "3\n0\n",
        ", line 2: the query size must be an integer from 1, got '0': '0'",
    ),
    "a negative weight": (read_weights, "-1\n", ", line 1: the weight must be finite and at least 0: '-1'"),
}


@pytest.mark.parametrize("case", REFUSALS)
@pytest.mark.parametrize("block_bytes", [3, 4096])
def test_a_wrong_line_is_named(write, case, block_bytes):
    reader, data, sentence = REFUSALS[case]
    path = write(data)
    with patch.object(line_blocks, "BLOCK_BYTES", block_bytes), pytest.raises(FormatError) as caught:
        reader(path)
    assert str(caught.value) == f"{path}{sentence}."


@pytest.mark.parametrize("reader", [read_run, read_qrels, read_pairs, read_query_sizes, read_weights])
def test_truncated_and_binary_files_are_refused(write, reader):
    with pytest.raises(FormatError, match=r"the \.gz ends too early"):
        reader(write(gzip.compress(b"1\n" * 99)[:-9]))
    with pytest.raises(FormatError, match="looks binary, like a PNG image"):
        reader(write(b"\x89PNG\r\n\x1a\n"))


def test_pairs_weigh_one_unless_the_file_says_else(write):
    better, worse, weight = read_pairs(write("0\t1\n5\t2\n"))
    assert (better.tolist(), worse.tolist(), weight.tolist()) == ([0, 5], [1, 2], [1.0, 1.0])
    assert read_pairs(write("0\t1\t0.5\r\n+5\t02\t1e2\r\n")).weight.tolist() == [0.5, 100.0]


def test_weights_and_sizes_are_read_one_a_line(write):
    assert read_weights(write("0.5\n\n2\n")).tolist() == [0.5, 2.0]
    sizes = read_query_sizes(write("3\r\n1\r\n"))
    assert sizes.dtype == np.int64
    assert sizes.tolist() == [3, 1]


def test_sizes_that_no_table_can_have_are_refused(write):
    with pytest.raises(FormatError, match="query sizes must sum to a number of rows; got 18446744073709551616"):
        read_query_sizes(write("4611686018427387904\n" * 4))


def test_a_name_too_long_to_give_all_rows_its_room_is_refused(write):
    with pytest.raises(FormatError, match="line 1: the name of a query or document must not be longer than 4096"):
        read_qrels(write("q 0 " + "d" * 4097 + " 1\n"))
