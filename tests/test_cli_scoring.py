"""`podium score`: new data need no labels and no queries, but the columns of the model."""

import numpy as np
import pytest

from peers import peer


def write_table(path, columns):
    """Write columns by name as CSV or Parquet."""
    import pyarrow.csv
    import pyarrow.parquet

    writer = pyarrow.csv.write_csv if path.suffix == ".csv" else pyarrow.parquet.write_table
    writer(pyarrow.table(columns), path)


@pytest.fixture(params=["csv", "parquet"])
def tables(request, command_line, tmp_path):
    """Return the file of a model on the columns a and b, its data's columns, and what writes and scores others."""
    peer("pyarrow")
    rng = np.random.default_rng(0)
    a, b = rng.random(30), rng.random(30)
    columns = {"label": np.rint(2 * a), "qid": np.repeat([1, 2, 3], 10), "a": a, "b": b}

    def score(columns, *options):
        write_table(tmp_path / f"new.{request.param}", columns)
        return command_line("score", "m", f"new.{request.param}", *options)

    write_table(tmp_path / f"data.{request.param}", columns)
    assert command_line("train", f"data.{request.param}", "-o", "m", "--quiet", "--set", "n_estimators=5")[0] == 0
    return columns, score


@pytest.mark.parametrize("left_out", [["label"], ["qid"], ["label", "qid"]])
def test_new_data_are_scored_without_labels_and_queries(tables, left_out):
    columns, score = tables
    expected = score(columns)
    assert expected[0] == 0
    assert len(expected[1].split()) == 30
    assert score({name: column for name, column in columns.items() if name not in left_out}) == expected


def test_labels_and_queries_of_rows_to_score_are_not_read(tables):
    columns, score = tables
    expected = score(columns)
    assert score({**columns, "label": [None] * 30, "qid": [None] * 30}) == expected
    assert score({**columns, "label": ["unknown"] * 30}) == expected
    named = {"grade": columns["label"], "topic": columns["qid"], "a": columns["a"], "b": columns["b"]}
    assert score(named, "--label", "grade", "--qid", "topic") == expected


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["a"], "'b' is missing (1 such name(s))"),
        (["a", "b", "c"], "'c' is not known (1 such name(s))"),
        (["b", "a"], "they stand in another order"),
        (["label", "qid"], "no column is left for the features beside label, qid"),
        (["grade", "a", "b"], "'grade' is not known"),
    ],
)
def test_columns_that_the_model_does_not_have_are_one_sentence(tables, names, message):
    columns, score = tables
    code, out, err = score({name: columns.get(name, columns["a"]) for name in names})
    assert (code, out) == (2, "")
    assert message in err
    assert len(err.strip().split("\n")) == 1


def test_a_feature_of_the_model_is_one_whatever_its_name(command_line, tmp_path):
    peer("pyarrow")
    (tmp_path / "data.csv").write_text("grade,qid,a\n1,5,0\n0,4,1\n0,3,0\n1,6,1\n")
    assert command_line("train", "data.csv", "-o", "m", "--label", "grade", "--qid", "", "--quiet")[0] == 0
    expected = command_line("score", "m", "data.csv", "--label", "grade", "--qid", "")
    (tmp_path / "new.csv").write_text("qid,a\n5,0\n4,1\n3,0\n6,1\n")
    assert expected[0] == 0
    assert command_line("score", "m", "new.csv") == expected


def test_columns_named_by_numbers_must_stand_in_their_order(command_line, tmp_path):
    peer("pyarrow")
    (tmp_path / "data.csv").write_text("label,qid,1,2\n1,x,5,3\n0,x,4,2\n0,x,3,9\n")
    (tmp_path / "turned.csv").write_text("2,1\n3,5\n2,4\n")
    (tmp_path / "named.csv").write_text("a,b\n5,3\n4,2\n")
    assert command_line("train", "data.csv", "-o", "m", "--quiet", "--set", "n_estimators=2")[0] == 0
    code, _, err = command_line("score", "m", "turned.csv")
    assert (code, err) == (2, "podium: The columns must be those of the model: they stand in another order.\n")
    assert command_line("score", "m", "named.csv")[0] == 0
