"""Which tests run a function: found by coverage, kept until the test's file changes."""

from __future__ import annotations

import ast
import json
import re
import time
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable
from hashlib import sha256
from itertools import accumulate
from pathlib import Path

from mutants.faults import SOURCE
from mutants.forked_tests import Request
from mutants.runner import PLAIN, PROJECT, WORK, Copy

KIND = "plain" if PLAIN else "compiled"
BUDGETS_SECONDS = (3.0, 60.0) if PLAIN else (20.0, 60.0)
"""Tests that are run for one fault, the quick ones first; then, where none of them has noticed it, the slower ones."""
FIRST_FILES, FIRST_SECONDS = 2, 3.0
"""Files and seconds of the tests that are run before these."""
FORMAT = b"2"
"""Of records; counts as content."""


def record_path(folder: Path, file: str, content: bytes) -> Path:
    """Return where the record of a test file is kept; another content has another place."""
    return folder / f"{Path(file).stem}-{sha256(FORMAT + content).hexdigest()[:16]}.json"


def read_record(path: Path) -> dict[str, tuple[float, set[str]]]:
    """Return the seconds and functions of each test of a file, of none if there is no record."""
    if not path.exists():
        return {}
    record = json.loads(path.read_text("utf-8"))
    names = record["functions"]
    return {test: (took, {names[i] for i in numbers}) for test, (took, numbers) in record["tests"].items()}


class TestMap:
    """Tests by the functions that they run."""

    __test__ = False

    def __init__(
        self, copies: list[Copy], share: Callable[..., None], say: Callable[[str], None], only: list[str]
    ) -> None:
        self.folder = WORK / KIND
        self.folder.mkdir(parents=True, exist_ok=True)
        files = [path.relative_to(PROJECT) for path in sorted((PROJECT / "tests").rglob("test_*.py"))]
        wanted = [file for file in files if not only or file.stem in only]
        missing = [file for file in wanted if not self._target(file).exists()]
        share(missing, lambda copy, file: self._record(copy, file, say))
        records = [read_record(self._target(file)) for file in files]
        self.tests = {test: record[test] for record in records for test in record}
        self.sizes = Counter(map(file_of, self.tests))
        self.texts = {str(file): (PROJECT / file).read_text("utf-8") for file in files}

    def _target(self, file: Path) -> Path:
        return record_path(self.folder, str(file), (PROJECT / file).read_bytes())

    def _record(self, copy: Copy, file: Path, say: Callable[[str], None]) -> None:
        began = time.monotonic()
        code, failed = copy.forked.ask(Request(file=str(file), target=str(self._target(file)), plain_only=PLAIN))
        say(f"{KIND} tests of {file}: {time.monotonic() - began:.0f} s" + (f", exit {code}: {failed}" if code else ""))
        if code not in (0, 1):  # tests that fail without a fault are none of the file's tests
            self._target(file).unlink(missing_ok=True)

    def choose(self, module: str, function: str) -> list[tuple[float, str]]:
        """Return seconds and names of the tests that run a function, quick ones first.

        Compiled kernels leave no trace: then those that run any function of the module, or else of its folder. A fault
        outside of functions concerns the files that import from the module or name a class of it, too.
        """
        folder = "".join(module.rpartition("/")[:2])
        importing = set() if function else self._naming(module)
        for wanted in (f"{module}:{function}", f"{module}:", folder):
            exact = wanted.endswith(f":{function}") and bool(function)
            found = [
                (took, test)
                for test, (took, functions) in self.tests.items()
                if (wanted in functions if exact else any(one.startswith(wanted) for one in functions))
                or file_of(test) in importing
            ]
            if found:
                return sorted(found)
        return []

    def _naming(self, module: str) -> set[str]:
        """Return the test files that import from a module, or name one of its public classes."""
        tree = ast.parse((SOURCE / module).read_text("utf-8"))
        classes = [one.name for one in tree.body if isinstance(one, ast.ClassDef) and not one.name.startswith("_")]
        imported = re.escape(f"from podium.{module.removesuffix('.py').replace('/', '.')} import")
        wanted = re.compile("|".join([imported, *(rf"\b{name}\b" for name in classes)]))
        return {file for file, text in self.texts.items() if wanted.search(text)}

    def stages(self, found: list[tuple[float, str]], killers: Counter[str]) -> list[list[str]]:
        """Return the tests to run one after the other, each stage where those before it have not noticed a fault.

        The first is of few files, as reading test files takes longer than most tests; then come quick ones, as many
        as each budget has time for.

        Parameters
        ----------
        found : list of (float, str)
            Seconds and names, quick ones first.
        killers : Counter
            How many faults of the module a test has noticed.
        """
        first = self._likeliest(found, killers) if found else []
        later = [[test for test in stage if test not in set(first)] for stage in _within_budgets(found)]
        later[0].sort(key=lambda test: -killers[test])
        return [first, *later]

    def _likeliest(self, found: list[tuple[float, str]], killers: Counter[str]) -> list[str]:
        """Return quick tests of the files that have noticed most, or else run the function in most of their tests."""
        noticed, share = Counter[str](), Counter[str]()
        for _, test in found:
            file = file_of(test)
            noticed[file] += killers[test]
            share[file] += 1 / self.sizes[file]
        files = set(sorted(share, key=lambda file: (-noticed[file], -share[file]))[:FIRST_FILES])
        of_files = sorted((-killers[test], took, test) for took, test in found if file_of(test) in files)
        totals = accumulate(took for _, took, _ in of_files)
        within = bisect_right(list(totals), FIRST_SECONDS)
        return [test for *_, test in of_files[: max(1, within)]]

    def seconds(self, tests: list[str]) -> list[float]:
        """Return how long each test took."""
        return [self.tests[test][0] for test in tests]


def file_of(test: str) -> str:
    """Return the file that a test is in."""
    return test.partition("::")[0]


def _within_budgets(found: list[tuple[float, str]]) -> tuple[list[str], list[str]]:
    """Return the first tests, as many as the first budget has time for, and those for which the second has."""
    totals = list(accumulate(took for took, _ in found))
    first, second = (max(1, bisect_right(totals, sum(BUDGETS_SECONDS[: n + 1]))) for n in range(2))
    tests = [test for _, test in found]
    return tests[:first], tests[first:second]
