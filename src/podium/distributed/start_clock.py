"""Whether workers that have come are worth a new start of a fit."""

from __future__ import annotations

import time

NEWCOMER_SECONDS = 5.0
"""How often the driver looks whether workers have come."""


class StartClock:
    """How long a start of the workers and a round take, and when to look for newcomers."""

    def __init__(self) -> None:
        self._started = self._begun = self._looked = time.monotonic()
        self._n_before = 0

    def start(self) -> None:
        """Note that workers start."""
        self._started = time.monotonic()

    def begin(self, n_rounds: int) -> None:
        """Note that they are ready, after so many rounds."""
        self._begun = self._looked = time.monotonic()
        self._n_before = n_rounds

    def is_due(self) -> bool:
        """Say, once in a while, that it is time to look for newcomers."""
        due = time.monotonic() - self._looked > NEWCOMER_SECONDS
        self._looked = time.monotonic() if due else self._looked
        return due

    def repays(self, saved: float, n_rounds: int, n_estimators: int) -> bool:
        """Say whether to save such a share of the rounds that are left is worth a start."""
        a_round = (time.monotonic() - self._begun) / max(n_rounds - self._n_before, 1)
        return saved * a_round * (n_estimators - n_rounds) > self._begun - self._started
