"""The profile of Hypothesis, and fixtures that several test files share."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

import podium
import profiles

pytest.register_assert_rewrite("parameters")  # before the search for doctests imports it
profiles.settings.load_profile(os.environ.get("PODIUM_PROFILE", "steady"))

SHARED_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def shared_data() -> Callable[[str], Path]:
    """Return where a real data set or file is, beside the checkout; they may not be passed on, so it may be missing."""

    def find(name: str) -> Path:
        if not (SHARED_DATA / name).exists():
            pytest.skip(f"{name} is not among the data sets beside this checkout; its terms forbid shipping it")
        return SHARED_DATA / name

    return find


@pytest.fixture
def read(tmp_path):
    """Import a model of another program: a text, or a document as JSON."""

    def of(content, **options):
        text = content if isinstance(content, str) else json.dumps(content)
        (tmp_path / "model").write_text(text)
        return podium.import_model(tmp_path / "model", **options)

    return of
