"""How far a run of rounds has come, on standard error: a bar on a terminal, some plain lines elsewhere."""

from __future__ import annotations

import sys
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

LINES_IN_ALL = 10
"""Plain lines of a run, beside that of the first round: a log should stay short."""


class RoundProgress(Protocol):
    """What shows the rounds; standard output is left to the caller."""

    def start(self) -> None:
        """Begin to show."""

    def update(self, n_done: int, text: str) -> None:
        """Show that so many rounds are done, and what there is to say of the last."""

    def stop(self) -> None:
        """Leave what was shown as it is."""


def round_progress(n_rounds: int) -> RoundProgress:
    """Return a bar where standard error is a terminal, lines elsewhere."""
    console = Console(stderr=True)
    return ProgressBar(n_rounds, console) if console.is_terminal else ProgressLines(n_rounds)


class ProgressBar:
    """A bar of rich.

    Parameters
    ----------
    n_rounds : int
    console : Console
    """

    def __init__(self, n_rounds: int, console: Console) -> None:
        columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"), TimeRemainingColumn())
        self.bar = Progress(*columns, console=console)
        self._task = self.bar.add_task("", total=n_rounds)

    def start(self) -> None:
        """Draw the bar."""
        self.bar.start()

    def update(self, n_done: int, text: str) -> None:
        """Move the bar."""
        self.bar.update(self._task, completed=n_done, description=text)

    def stop(self) -> None:
        """Leave the bar where it is."""
        self.bar.stop()


class ProgressLines:
    """A line for the first round, for about each tenth of all, and for the last.

    Parameters
    ----------
    n_rounds : int
    """

    def __init__(self, n_rounds: int) -> None:
        self.n_rounds, self._step = n_rounds, -(-n_rounds // LINES_IN_ALL)
        self._last, self._n_printed = (0, ""), 0

    def start(self) -> None:
        """Print nothing yet, but for rounds of an earlier run."""
        self._print()

    def update(self, n_done: int, text: str) -> None:
        """Print a line if it is time."""
        self._last = n_done, text
        if n_done == 1 or n_done % self._step == 0:
            self._print()

    def stop(self) -> None:
        """Print the line of the last round, unless it stands there."""
        self._print()

    def _print(self) -> None:
        n_done, text = self._last
        if n_done > self._n_printed:
            print(f"{n_done}/{self.n_rounds}  {text}", file=sys.stderr, flush=True)
            self._n_printed = n_done
