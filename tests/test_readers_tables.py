"""CSV and Parquet files: columns by name, missing cells, and each refusal."""

import gzip
import re

import numpy as np
import pytest

from peers import peer
from podium import FormatError, PodiumError, read_csv, read_parquet

arrow = peer("pyarrow")
pq = peer("pyarrow.parquet")

pytestmark = pytest.mark.plain
TEXT = "grade,query,doc,bm25,clicks\n2,7,a,0.1,3\n0,7,b,,4\n1,-8,c,1e300,NA\n"
NAMES = {"label": "grade", "qid": "query", "docid": "doc"}


@pytest.fixture
def csv_file(tmp_path):
    def to_file(text):
        path = tmp_path / "file.csv"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return to_file


@pytest.fixture
def parquet_file(tmp_path):
    def to_file(**columns):
        path = tmp_path / "file.parquet"
        pq.write_table(arrow.table(columns), path)
        return path

    return to_file


@pytest.mark.parametrize("pack", [bytes, gzip.compress, lambda text: b"\xef\xbb\xbf" + text])
def test_a_csv_file_gives_its_columns(csv_file, pack):
    table = read_csv(csv_file(pack(TEXT.encode())), **NAMES)
    np.testing.assert_array_equal(table.X, [[0.1, 3], [np.nan, 4], [1e300, np.nan]])
    np.testing.assert_array_equal(table.y, [2.0, 0.0, 1.0])
    assert table.qid.dtype == np.int64
    assert table.qid.tolist() == [7, 7, -8]
    assert table.docid.tolist() == ["a", "b", "c"]
    assert table.feature_names == ["bm25", "clicks"]


def test_features_are_taken_in_the_order_asked_for(csv_file):
    table = read_csv(csv_file(TEXT), label="grade", features=["clicks", "query"], dtype=np.float32)
    np.testing.assert_array_equal(table.X, np.array([[3, 7], [4, 7], [np.nan, -8]], np.float32))
    assert table.X.dtype == np.float32
    assert table.qid is None
    assert table.docid is None


def test_data_without_labels_and_columns_to_ignore(csv_file, parquet_file):
    table = read_csv(csv_file(TEXT), label=None, ignore=["grade", "query", "doc", "not there"])
    assert (table.y, table.qid, table.feature_names) == (None, None, ["bm25", "clicks"])
    table = read_parquet(parquet_file(a=[1.0, 2.0], note=["x", "y"]), label=None, ignore=["note"])
    assert (table.y, table.X.tolist()) == (None, [[1.0], [2.0]])


def test_quoted_names_and_cells_and_another_delimiter(csv_file):
    table = read_csv(csv_file('y;"a;b";d\n1;2;"x\ny"\n0;3;\n'), label="y", docid="d", delimiter=";")
    assert table.feature_names == ["a;b"]
    assert table.docid.tolist() == ["x\ny", None]


def test_queries_that_only_look_like_numbers_stay_text(csv_file):
    assert read_csv(csv_file("y,q,f\n1,007,1\n1,7,1\n"), label="y", qid="q").qid.tolist() == ["007", "7"]


def test_a_parquet_file_gives_its_columns(parquet_file):
    path = parquet_file(
        y=[1, 2, 3],
        q=["a", "a", "b"],
        d=["x", None, "z"],
        whole=arrow.array([1, None, 2**53], arrow.int64()),
        flag=[True, False, None],
        none=arrow.nulls(3),
        real=arrow.array([0.5, float("nan"), None], arrow.float32()),
    )
    table = read_parquet(path, label="y", qid="q", docid="d")
    nan = np.nan
    np.testing.assert_array_equal(table.X, [[1, 1, nan, 0.5], [nan, 0, nan, nan], [2.0**53, nan, nan, nan]])
    assert table.qid.tolist() == ["a", "a", "b"]
    assert table.docid.tolist() == ["x", None, "z"]
    assert table.feature_names == ["whole", "flag", "none", "real"]


def test_parquet_and_csv_of_one_table_are_alike(csv_file, parquet_file):
    rng = np.random.default_rng(0)
    columns = {name: rng.standard_normal(500) for name in ("y", "a", "b")} | {"q": rng.integers(0, 9, 500)}
    lines = zip(*(column.tolist() for column in columns.values()), strict=True)
    text = "\n".join([",".join(columns), *(",".join(map(repr, line)) for line in lines)])
    one = read_csv(csv_file(text), label="y", qid="q")
    two = read_parquet(parquet_file(**columns), label="y", qid="q")
    for left, right in zip(one[:3], two[:3], strict=True):
        np.testing.assert_array_equal(left, right)


REFUSALS = {
    "a column that is not there": (
        TEXT,
        NAMES | {"qid": "querry"},
        "there is no column 'querry' (did you mean query?) among grade, query, doc, bm25, clicks",
    ),
    "a column that is there twice": ("y,f,f\n1,2,3\n", {"label": "y"}, "column 'f' stands there 2 times"),
    "a word as feature": (
        TEXT,
        {"label": "grade"},
        "column 'doc' must hold numbers but has 'a' in row 1; ignore it, or leave it out of features",
    ),
    "a word as label": (
        TEXT.replace("\n1,-8", "\nbest,-8"),
        NAMES,
        "column 'grade' must hold numbers but has 'best' in row 3",
    ),
    "no label": (
        TEXT.replace("\n0,7", "\n,7"),
        NAMES,
        "label 'grade' must be a finite number in every row, but row 2 has none",
    ),
    "an infinite label": (
        TEXT.replace("\n0,7", "\ninf,7"),
        NAMES,
        "label 'grade' must be a finite number in every row, but row 2 has inf",
    ),
    "no query": (
        TEXT.replace("0,7", "0,"),
        NAMES,
        "qid 'query' must name a query in every row, but row 2 has none",
    ),
    "a short row": (TEXT + "1,2\n", NAMES, "row 4: Expected 5 columns, got 2: 1,2"),
    "no features": (
        "y,q\n1,2\n",
        {"label": "y", "qid": "q"},
        "no column is left for the features beside y, q",
    ),
    "no rows": ("y,f\n", {"label": "y"}, "the file has no rows, only names of columns"),
    "nothing": (
        "",
        {"label": "y"},
        "the file has no rows; expected a line of column names and then rows",
    ),
    "a binary file": (
        b"PAR1\x00",
        {"label": "y"},
        "expected a text file but this looks binary, like a Parquet file; read it with read_parquet",
    ),
    "a truncated gz": (
        gzip.compress(TEXT.encode() * 9)[:-9],
        NAMES,
        "the .gz ends too early; copy or download the whole file again",
    ),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_a_csv_file_that_cannot_be_used_is_refused(csv_file, case):
    text, options, sentence = REFUSALS[case]
    path = csv_file(text)
    with pytest.raises(FormatError) as caught:
        read_csv(path, **options)
    assert str(caught.value) == f"{path}: {sentence}."


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"features": "bm25"}, "features must be a list of column names; got 'bm25'."),
        ({"features": 5}, "features must be a list of column names; got 5."),
        (
            {"features": ["grade"]},
            "column 'grade' must be named once among label, qid, docid and features.",
        ),
        ({"ignore": "bm25"}, "ignore must be a list of column names; got 'bm25'."),
        ({"delimiter": "||"}, "delimiter must be one character; got '||'."),
        ({"delimiter": 5}, "delimiter must be one character; got 5."),
        ({"dtype": "i4"}, "dtype must be float64 or float32; got 'i4'."),
        ({"dtype": "zz"}, "dtype must be float64 or float32; got 'zz'."),
    ],
)
def test_wrong_parameters_are_refused(csv_file, options, sentence):
    with pytest.raises(PodiumError) as caught:
        read_csv(csv_file(TEXT), **NAMES, **options)
    assert str(caught.value) == sentence


def test_a_parquet_column_of_text_is_refused_as_feature(parquet_file):
    path = parquet_file(y=[1.0], title=["x"])
    with pytest.raises(FormatError) as caught:
        read_parquet(path, label="y")
    sentence = "column 'title' must hold numbers but holds string; ignore it, or leave it out of features"
    assert str(caught.value) == f"{path}: {sentence}."


@pytest.mark.parametrize("cut", [slice(None, 300), slice(None, 0), slice(0, -1)])
def test_a_file_that_is_no_whole_parquet_is_refused(parquet_file, cut):
    path = parquet_file(y=[1.0], f=[2.0])
    path.write_bytes(path.read_bytes()[cut])
    with pytest.raises(FormatError, match=re.escape(f"{path}: not a whole Parquet file (")):
        read_parquet(path, label="y")


def test_a_missing_file_stays_pythons_error(tmp_path):
    for reader in (read_csv, read_parquet):
        with pytest.raises(FileNotFoundError):
            reader(tmp_path / "none", label="y")


@pytest.mark.parametrize("reader", [read_csv, read_parquet])
def test_without_pyarrow_the_error_says_how_to_get_it(csv_file, monkeypatch, reader):
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(PodiumError) as caught:
        reader(csv_file(TEXT), label="grade")
    assert str(caught.value) == 'Reading CSV and Parquet files needs pyarrow: pip install "podium[tables]".'
