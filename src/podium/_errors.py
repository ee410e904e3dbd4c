"""The errors that Podium raises: one sentence, what, what it must be, what came, and advice where there is some."""

from __future__ import annotations

from os import PathLike


class PodiumError(ValueError):
    """Something given to Podium cannot be used; the message says what, what it must be and what came."""


class NoPairsError(PodiumError):
    """The feedback holds no pair of rows of which one should stand above the other."""


class KindError(PodiumError, TypeError):
    """A value is of a kind that cannot be a number, such as a dict in a column of features."""


class SizeError(PodiumError, MemoryError):
    """Something needs more memory than there is; the message says how much."""


class FormatError(PodiumError):
    """A file is not in the format it was read as.

    Parameters
    ----------
    path : str or path-like
        The file.
    problem : str
        What is wrong and what was expected, without a final full stop.
    line : int, optional
        Number of the line, counted from 1.
    text : str, optional
        The line as it stands in the file; shown cut to 80 characters.
    """

    def __init__(
        self, path: str | PathLike[str], problem: str, line: int | None = None, text: str | None = None
    ) -> None:
        self.path, self.problem, self.line, self.text = str(path), problem, line, text
        place = self.path if line is None else f"{self.path}, line {line}"
        shown = "" if text is None else f": {(text if len(text) <= 80 else text[:77] + '...')!r}"
        super().__init__(f"{place}: {problem}{shown}.")

    def __reduce__(self) -> tuple[type[FormatError], tuple[str, str, int | None, str | None]]:
        return type(self), (self.path, self.problem, self.line, self.text)
