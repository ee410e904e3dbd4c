"""Fixtures that several test files share."""

from pathlib import Path

import pytest

SHARED_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real data beside the checkout, where it exists; its sets may not be passed on."""
    if not SHARED_DATA.is_dir():
        pytest.skip("the real data sets are not beside this checkout; their terms forbid shipping them")
    return SHARED_DATA
