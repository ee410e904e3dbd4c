"""Files of PlackettLuce: what they keep, and what is refused."""

import numpy as np
import pytest

from podium import FormatError, PlackettLuce, load
from podium.model_file import read_model, write_model

pytestmark = pytest.mark.plain

UNTIED = [["a", "b", "c", "d"], ["b", "a"], ["d", "c", "a"], ["c", "b"], ["d", "b"], ["b", "d", "a", "c"]]
TIED = [["a", ("b", "c"), "d"], ["b", "a"], ["d", "c", "a"], ["c", ["a", "d"]], ["d", "b"], [{"a", "b"}, "c"]]


@pytest.mark.parametrize("made", [UNTIED, TIED, [[1, 20], [20, 3], [3, 1]], [["ä", "10"], ["10", "ä"]]])
@pytest.mark.parametrize("errors", [True, False])
def test_saving_and_loading_change_nothing(made, errors, tmp_path):
    model = PlackettLuce(standard_errors=errors, tol=1e-9).fit(made)
    model.save(tmp_path / "one")
    loaded = load(tmp_path / "one")
    assert type(loaded) is PlackettLuce
    assert loaded.get_params() == model.get_params()
    assert loaded.rank() == model.rank()
    assert loaded.items_.tolist() == model.items_.tolist()
    assert hasattr(loaded, "standard_errors_") == errors
    for name in ("strengths_", "tie_sizes_", "tie_strengths_", "log_likelihood_", "n_iter_"):
        np.testing.assert_array_equal(getattr(loaded, name), getattr(model, name))
    assert loaded.log_probability(made[0]) == model.log_probability(made[0])
    loaded.save(tmp_path / "two")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("items", ["a", "b", "b", "c"], "items must be at least two ids that ascend"),
        ("items", ["a"], "items must be at least two ids that ascend"),
        ("items", ["a", 1, "b", "c"], "items must hold item ids of one kind"),
        ("items", 3, "items must be a list of item ids"),
        ("strengths_", np.zeros(3), "strengths_ must have 4 entries; got 3"),
        ("strengths_", np.array([0.0, 1.0, np.nan, 1.0]), "strengths_ must be a list of finite numbers"),
        ("tie_strengths_", np.array([-1.0]), "tie_strengths_ must be a list of positive finite numbers"),
        ("tie_strengths_", np.ones(2), "tie_strengths_ must have 1 entries; got 2"),
        ("tie_sizes_", np.array([1]), "tie_sizes_ must be a list of integers from 2"),
        ("standard_errors_", np.array([0.0, 1.0, -1.0, 1.0]), "standard_errors_ must be"),
        ("n_iter_", -1, "n_iter_ must be an integer"),
    ],
)
def test_files_that_hold_something_else_are_refused(name, value, message, tmp_path):
    PlackettLuce().fit(TIED).save(tmp_path / "model")
    content = read_model(tmp_path / "model")
    write_model(tmp_path / "broken", {**content, "learned": {**content["learned"], name: value}})
    with pytest.raises(FormatError, match=message):
        load(tmp_path / "broken")


def test_parameters_of_a_file_are_checked(tmp_path):
    PlackettLuce().fit(TIED).save(tmp_path / "model")
    content = read_model(tmp_path / "model")
    write_model(tmp_path / "broken", {**content, "parameters": {"alpha": -1.0}})
    with pytest.raises(FormatError, match="alpha"):
        load(tmp_path / "broken")


@pytest.mark.parametrize(
    "command",
    [
        ["score", "model", "rows.txt"],
        ["explain", "model", "rows.txt"],
        ["report", "model", "rows.txt", "-o", "page.html"],
        ["export", "model", "--format", "sql", "-o", "model.sql"],
        ["evaluate", "rows.txt", "model"],
        ["evaluate", "rows.txt", "model", "--pairs", "pairs.txt"],
        ["evaluate", "rows.txt", "scores.txt", "--against", "model"],
        ["compare", "rows.txt", "scores.txt", "model"],
    ],
)
def test_every_command_that_scores_rows_says_that_items_have_no_scores(command_line, tmp_path, command):
    PlackettLuce().fit(UNTIED).save(tmp_path / "model")
    (tmp_path / "rows.txt").write_text("1 qid:1 1:0.5\n0 qid:1 1:0.1\n")
    (tmp_path / "pairs.txt").write_text("0 1\n")
    (tmp_path / "scores.txt").write_text("2\n1\n")
    code, out, err = command_line(*command)
    assert (code, out) == (2, "")
    assert err == "podium: model holds a PlackettLuce, which ranks items and has no scores for rows of features.\n"


def test_ids_may_be_arrays_of_objects():
    objects = np.array(["a", "b", "c"], object)
    model = PlackettLuce(1.0).fit(pairs=(objects[[0, 0, 1]], objects[[1, 2, 2]]), items=objects)
    assert model.rank() == ["a", "b", "c"]
    with pytest.raises(ValueError, match=r"better must hold item ids, integers or strings; got 1\.5"):
        PlackettLuce(1.0).fit(pairs=(np.array([1, 1.5], object), [2, 3]))
