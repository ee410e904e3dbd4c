"""A diagnosis: what the doctor found, as objects, as tables to print and as JSON."""

from __future__ import annotations

from dataclasses import dataclass

from rich.console import Group
from rich.table import Table
from rich.text import Text

from podium._result_frames import Columns, Framed
from podium._types import Json
from podium._validation import PodiumError
from podium.diagnosis.estimates import BASIS, ROUNDS, Estimate
from podium.diagnosis.finding import SEVERITIES, Finding
from podium.diagnosis.overview import Overview
from podium.evaluation.results import plain_text

BASIS_LINE = f"Times and memory: {BASIS}."
STYLES = {"error": "bold red", "warning": "yellow", "note": "cyan"}


@dataclass(frozen=True)
class Diagnosis(Framed):
    """What the doctor found: ``print(diagnosis)`` shows it, ``for finding in diagnosis.findings`` goes through it.

    Attributes
    ----------
    overview : Overview
        The data in numbers.
    findings : tuple of Finding
        What is wrong, the worst first.
    estimates : tuple of Estimate
        What fits will take.
    """

    overview: Overview
    findings: tuple[Finding, ...]
    estimates: tuple[Estimate, ...]

    @property
    def codes(self) -> tuple[str, ...]:
        """Codes of the findings, in their order."""
        return tuple(finding.code for finding in self.findings)

    def __getitem__(self, code: str) -> Finding:
        for finding in self.findings:
            if finding.code == code:
                return finding
        raise PodiumError(f"The doctor did not find {code!r}; found were {', '.join(self.codes) or 'none'}.")

    def to_dict(self) -> dict[str, Json]:
        """Return everything as plain values, ready for JSON."""
        return {
            "overview": self.overview.to_dict(),
            "findings": [finding.to_dict() for finding in self.findings],
            "estimates": {"rounds": ROUNDS, "basis": BASIS, "fits": [one.to_dict() for one in self.estimates]},
        }

    def columns(self) -> Columns:
        """Return a row for each finding, as columns."""
        rows = [finding.to_dict() for finding in self.findings]
        names = ("code", "severity", "sentence", "features", "queries", "rows")
        return {name: [row[name] for row in rows] for name in names}

    def table(self) -> Group:
        """Return overview, findings and estimates as tables of rich."""
        spaced = [part for table in self._tables() for part in (table, Text())]
        return Group(*spaced, Text(BASIS_LINE, "dim"))

    def __str__(self) -> str:
        return "\n\n".join([*map(plain_text, self._tables()), BASIS_LINE])

    def _tables(self) -> list[Table]:
        """Return the three tables."""
        return [self._overview_table(), self._finding_table(), self._estimate_table()]

    def _overview_table(self) -> Table:
        """Return the data in numbers."""
        table = _table("Data", 0)
        for name, text in self.overview.lines():
            table.add_row(Text(name), Text(text))
        return table

    def _finding_table(self) -> Table:
        """Return the findings, or a line that says that there are none."""
        counts = [(kind, sum(one.severity == kind for one in self.findings)) for kind in SEVERITIES]
        title = ", ".join(f"{count} {kind}{'' if count == 1 else 's'}" for kind, count in counts if count)
        table = _table(f"Findings: {title or 'none'}", 1)
        for finding in self.findings:
            said = Text.assemble(finding.sentence, (f"  {finding.code}", "dim"))
            table.add_row(Text(finding.severity, STYLES[finding.severity]), said)
        if not self.findings:
            table.add_row("", "Nothing to complain of.")
        return table

    def _estimate_table(self) -> Table:
        """Return what fits will take."""
        table = _table("A fit will take about", 0)
        for one in self.estimates:
            table.add_row(f"{one.ranker}, {ROUNDS} rounds", f"{_seconds(one.seconds)}, {_memory(one.n_bytes)}")
        return table


def _table(title: str, space: int) -> Table:
    """Return a table of two columns without a frame, `space` lines between its rows."""
    return Table(
        title=title, title_justify="left", title_style="bold", box=None, show_header=False,
        padding=(0, 2, space, 0), pad_edge=False,
    )  # fmt: skip


def _seconds(seconds: float) -> str:
    """Return a time as people say it."""
    if seconds < 1:
        return "less than a second"
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} minutes"


def _memory(n_bytes: int) -> str:
    """Return an amount of memory as people say it."""
    return f"{n_bytes / 2**20:,.0f} MiB" if n_bytes < 2**30 else f"{n_bytes / 2**30:,.1f} GiB"
