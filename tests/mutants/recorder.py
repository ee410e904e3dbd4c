"""What each test runs and how long it takes, by coverage."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

from mutants.faults import function_names


class Recorder:
    """A plugin of pytest that records seconds and functions of each test.

    What runs before a test, in fixtures, counts for all tests of the file, as they may share it.
    """

    def __init__(self, target: Path) -> None:
        import coverage

        self.target, self.seconds = target, {}
        self.coverage = coverage.Coverage(
            data_file=None, source=[str(Path.cwd() / "src" / "podium")], config_file=False
        )
        self.coverage.set_option("run:disable_warnings", ["no-data-collected"])  # of tests that start processes

    def __enter__(self) -> Recorder:
        self.coverage.start()
        self.coverage.switch_context("setup")
        return self

    def pytest_runtest_call(self, item: Any) -> None:
        """Record for this test."""
        self.coverage.switch_context(item.nodeid)

    def pytest_runtest_teardown(self, item: Any) -> None:
        """Record for all tests."""
        self.coverage.switch_context("setup")

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Note the time of a test that passed, and print why one failed: the log is read by who wonders."""
        if report.when == "call" and report.passed:
            self.seconds[report.nodeid] = report.duration
        if report.failed:
            print(report.longreprtext, flush=True)

    def __exit__(self, *_: object) -> None:
        """Write what was recorded."""
        self.coverage.stop()
        found: dict[str, set[str]] = defaultdict(set)
        data = self.coverage.get_data()
        for file in data.measured_files():
            names, module = function_names(Path(file).read_text("utf-8"), True), file.partition("/src/podium/")[2]
            for line, contexts in data.contexts_by_lineno(file).items():
                for context in contexts:
                    if line in names:
                        found[context].add(f"{module}:{names[line]}")
        shared = found.pop("setup", set())
        functions = sorted(shared.union(*found.values()))
        numbers = {name: number for number, name in enumerate(functions)}
        tests = {
            test: [took, sorted(numbers[name] for name in found[test] | shared)] for test, took in self.seconds.items()
        }
        self.target.write_text(json.dumps({"functions": functions, "tests": tests}), "utf-8")
