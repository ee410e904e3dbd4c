"""The defaults of all rankers, written down once more: they change on purpose only."""

import json
from pathlib import Path

import pytest

from podium.rankers import RANKERS

pytestmark = pytest.mark.plain
FILE = Path(__file__).parent / "data" / "defaults.json"
"""Made by hand where a default changes; parameters that are objects stand there as Python writes them."""


def written(value):
    """Return a value as JSON gives it back."""
    return value if isinstance(value, str | int | float | bool | None) else repr(value)


def test_defaults_are_those_written_down():
    found = {
        name: {parameter: written(value) for parameter, value in ranker().get_params(deep=False).items()}
        for name, ranker in RANKERS.items()
    }
    assert found == json.loads(FILE.read_text("utf-8"))
