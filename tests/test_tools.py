"""The tests' own tools: which tests a change touches, how many examples, what becomes of a missing peer or data set."""

import runpy
from pathlib import Path

import pytest

import real_data
from peers import peer
from profiles import EXAMPLES, NIGHTLY_FACTOR, examples, settings
from quick import choose, uses
from real_data import find_data

TEXTS = {
    "tests/test_a.py": "from podium.losses.pairs import pull",
    "tests/test_b.py": "from podium import Ranker",
    "tests/test_c.py": "import tables",
    "tests/test_d.py": "from podium import losses",
}
MODULE = {"src/podium/losses/pairs.py": "def pull(): ...\n\nclass Ranker: ...\n"}


def test_a_changed_test_file_runs_whole_whatever_the_budget():
    assert choose({"tests/test_a.py": "", "README.md": ""}, {}, TEXTS, 0.0) == ["tests/test_a.py"]


def test_without_records_files_that_name_a_module_or_import_what_it_defines_are_chosen():
    assert choose(MODULE, {}, TEXTS, 60.0) == ["tests/test_a.py", "tests/test_b.py"]
    assert choose({"tests/tables.py": "rows = 3"}, {}, {"tests/test_c.py": "from tables import rows"}, 60.0)


def test_recorded_tests_of_a_module_are_chosen_quick_ones_first_within_the_budget():
    records = {
        "tests/test_a.py::test_slow": (9.0, {"losses/pairs.py:pull"}),
        "tests/test_a.py::test_quick": (1.0, {"losses/pairs.py:push"}),
        "tests/test_a.py::test_other": (0.1, {"losses/pairs_other.py:pull"}),
        "tests/test_b.py::test_next": (2.0, {"losses/pairs.py:pull"}),
    }
    assert choose(MODULE, records, TEXTS, 5.0) == ["tests/test_a.py::test_quick", "tests/test_b.py::test_next"]
    assert choose(MODULE, records, TEXTS, 12.0)[-1] == "tests/test_a.py::test_slow"
    changed = choose({**MODULE, "tests/test_b.py": ""}, records, TEXTS, 5.0)
    assert changed == ["tests/test_b.py", "tests/test_a.py::test_quick"]


def test_names_that_only_begin_alike_are_no_use():
    assert not uses("from podium.losses.pairs_other import x", "src/podium/losses/pairs.py", "")
    assert uses('monkeypatch.setattr("podium.losses.pairs.LIMIT", 1)', "src/podium/losses/pairs.py", "")
    assert uses("from podium.losses import pairs", "src/podium/losses/pairs.py", "")


@pytest.mark.parametrize(("profile", "factor"), [("steady", 1), ("nightly", NIGHTLY_FACTOR)])
def test_examples_scale_with_the_profile(profile, factor):
    before = settings.get_current_profile_name()
    settings.load_profile(profile)
    try:
        found = examples(7)
        assert settings.default.max_examples == EXAMPLES * factor
    finally:
        settings.load_profile(before)
    assert (found.max_examples, found.deadline, found.derandomize) == (7 * factor, None, factor == 1)


def test_a_missing_peer_fails_unless_peers_are_declared_missing(monkeypatch):
    monkeypatch.delenv("PODIUM_WITHOUT_PEERS", raising=False)
    with pytest.raises(ModuleNotFoundError, match="no_such_peer is missing: pip install"):
        peer("no_such_peer")
    monkeypatch.setenv("PODIUM_WITHOUT_PEERS", "1")
    with pytest.raises(pytest.skip.Exception):
        peer("no_such_peer")
    assert peer("pytest") is pytest


def test_the_folder_of_data_sets_is_the_one_that_is_named_or_next_to_the_checkout(tmp_path, monkeypatch):
    source = Path(real_data.__file__)
    monkeypatch.setenv("PODIUM_DATA", str(tmp_path))
    assert runpy.run_path(source)["FOLDER"] == tmp_path.resolve()
    monkeypatch.setenv("PODIUM_DATA", "")
    assert runpy.run_path(source)["FOLDER"] == source.resolve().parents[2] / "shared" / "data"


def test_a_data_set_that_is_missing_from_the_folder_skips(tmp_path, monkeypatch):
    (tmp_path / "there").mkdir()
    monkeypatch.setattr("real_data.FOLDER", tmp_path)
    assert find_data("there") == tmp_path / "there"
    with pytest.raises(pytest.skip.Exception, match="mq2008"):
        find_data("mq2008")
