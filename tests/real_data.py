"""Real data sets outside the checkout: their terms forbid shipping them, so that each may be missing."""

import os
from pathlib import Path

import pytest

NAMED, BESIDE = os.environ.get("PODIUM_DATA"), Path(__file__).resolve().parents[2] / "shared" / "data"
FOLDER = Path(NAMED).resolve() if NAMED else BESIDE
"""The folder that PODIUM_DATA names, or one next to the checkout."""


def find_data(name: str) -> Path:
    """Return where a set or a file of it is; skip the test where it is not."""
    if not (FOLDER / name).exists():
        pytest.skip(f"{name} is not in {FOLDER}; its terms forbid shipping it, PODIUM_DATA names a folder")
    return FOLDER / name
