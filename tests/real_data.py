"""Real data sets beside the checkout: their terms forbid shipping them, so that each may be missing."""

from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "shared" / "data"


def find_data(name: str) -> Path:
    """Return where a set or a file of it is; skip the test where it is not."""
    if not (FOLDER / name).exists():
        pytest.skip(f"{name} is not among the data sets beside this checkout; its terms forbid shipping it")
    return FOLDER / name
