"""What became of each fault: a line of JSON for each time it was tried, so that a run broken off goes on from there."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from mutants.faults import Fault

KILLED, SURVIVED, NO_TESTS = "killed", "survived", "no test"
PHASE_NAMES = ("plain", "compiled", "plain slow", "compiled slow")
Outcome = dict[str, str | int]


class Results:
    """Outcomes of faults by their keys; later lines of the file add to earlier ones.

    Parameters
    ----------
    path : Path
        Read at once if it is there; each outcome is added to its end.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.known: dict[str, Outcome] = {}
        lines = path.read_text("utf-8").splitlines() if path.exists() else []
        for line in lines:
            self._add(**json.loads(line))

    def _add(self, key: str, **outcome: str | int) -> None:
        self.known.setdefault(key, {}).update(outcome)

    def of(self, fault: Fault) -> Outcome:
        """Return what is known of a fault."""
        return self.known.get(fault.key, {})

    def save(self, fault: Fault, outcome: Outcome) -> None:
        """Keep an outcome."""
        line = {"key": fault.key, "module": fault.module, "breaks": fault.breaks, **outcome}
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
        self._add(**line)

    def outcome(self, fault: Fault) -> str:
        """Return whether any phase noticed a fault."""
        found = {str(self.of(fault).get(kind, NO_TESTS)) for kind in PHASE_NAMES}
        return KILLED if KILLED in found else min(found - {NO_TESTS}, default=NO_TESTS)

    def killers(self, fault: Fault, kind: str) -> Counter[str]:
        """Return how many faults of the same module each test has noticed; the one that noticed this fault leads."""
        same = [known for known in self.known.values() if known.get("module") == fault.module]
        noticed = Counter(str(known.get(f"{kind} killer", "")) for known in same)
        own = str(self.of(fault).get(f"{kind} killer", ""))
        found = noticed + Counter({own: len(same) * 1000})
        del found[""]
        return found
