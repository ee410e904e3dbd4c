"""What a driver does by the clock: how many rounds it asks for at once, and when newcomers are worth a new start."""

from __future__ import annotations

import time

import numpy as np

NEWCOMER_SECONDS = 5.0
"""How often the driver looks whether workers have come."""


TASK_SECONDS = 0.1
"""What a task should take at least: Dask needs some milliseconds for each."""
MOST_ROUNDS = 50
"""Rounds of one task."""


class StartClock:
    """How long a start of the workers and a round take, and when to look for newcomers."""

    def __init__(self) -> None:
        self._started = self._begun = self._looked = time.monotonic()
        self._n_before, self._n_rounds = 0, 1
        self._noted = np.inf

    def start(self) -> None:
        """Note that workers start."""
        self._started = time.monotonic()

    def begin(self, n_rounds: int) -> None:
        """Note that they are ready, after so many rounds."""
        self._begun = self._looked = time.monotonic()
        self._n_before, self._n_rounds, self._noted = n_rounds, 1, self._begun

    def note(self, n_rounds: int) -> None:
        """Note that so many more rounds are done: as many more are asked for at once as take a while, at most twice."""
        now = time.monotonic()
        wanted = int(TASK_SECONDS * n_rounds / max(now - self._noted, 1e-6))
        self._n_rounds, self._noted = max(1, min(wanted, 2 * self._n_rounds, MOST_ROUNDS)), now

    def rounds_a_task(self) -> int:
        """Return how many rounds to ask for at once."""
        return self._n_rounds

    def is_due(self) -> bool:
        """Say, once in a while, that it is time to look for newcomers."""
        due = time.monotonic() - self._looked > NEWCOMER_SECONDS
        self._looked = time.monotonic() if due else self._looked
        return due

    def repays(self, saved: float, n_rounds: int, n_estimators: int) -> bool:
        """Say whether to save such a share of the rounds that are left is worth a start."""
        a_round = (time.monotonic() - self._begun) / max(n_rounds - self._n_before, 1)
        return saved * a_round * (n_estimators - n_rounds) > self._begun - self._started
