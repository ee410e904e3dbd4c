"""Packages that tests compare with or read from: a missing one fails its tests, so that none is skipped unseen."""

from __future__ import annotations

import importlib
import os
from typing import Any

import pytest


def peer(name: str) -> Any:
    """Import a package; without it the test fails, or is skipped where PODIUM_WITHOUT_PEERS=1 says so."""
    if os.environ.get("PODIUM_WITHOUT_PEERS") == "1":
        return pytest.importorskip(name)  # noqa: TID251
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        message = f"{name} is missing: pip install -e '.[dev]', or PODIUM_WITHOUT_PEERS=1 to skip its tests"
        raise ModuleNotFoundError(message, name=error.name) from error
