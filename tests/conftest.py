"""The profile of Hypothesis, and fixtures that several test files share."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

import podium
import profiles
from real_data import find_data

pytest.register_assert_rewrite("parameters")  # before the search for doctests imports it
profiles.settings.load_profile(os.environ.get("PODIUM_PROFILE", "steady"))


@pytest.fixture(scope="session")
def shared_data() -> Callable[[str], Path]:
    """`find_data`: where a real data set is; the test is skipped where it is not."""
    return find_data


@pytest.fixture
def read(tmp_path):
    """Import a model of another program: a text, or a document as JSON."""

    def of(content, **options):
        text = content if isinstance(content, str) else json.dumps(content)
        (tmp_path / "model").write_text(text)
        return podium.import_model(tmp_path / "model", **options)

    return of
