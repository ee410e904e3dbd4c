"""Runs what a change touches: `make quick`, without compiling, within a budget of seconds.

Changed are the files that differ from the last commit, or from the upstream branch if none does. A changed test file
is chosen whole; for a changed module, tests that run one of its functions, by the records of `make mutants` where
they exist, or else test files that name the module or import what it defines. Quick tests come first.
"""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

from mutants.tests_of import read_record, record_path

PROJECT = Path(__file__).parents[1]
RECORDS = PROJECT / ".mutants" / "plain"
BUDGET_SECONDS = float(os.environ.get("QUICK_SECONDS", "12"))
"""Of tests; pytest's start and imports come on top."""
UNKNOWN_SECONDS = 2.0
"""Taken for a test file that no record tells of."""

Records = dict[str, tuple[float, set[str]]]


def changed_files(project: Path) -> list[str]:
    """Return paths that differ from HEAD, new ones too; with a clean tree those that differ from upstream."""

    def git(*arguments: str) -> list[str]:
        done = subprocess.run(("git", *arguments), cwd=project, capture_output=True, text=True, check=False)
        return done.stdout.split("\n")[:-1] if done.returncode == 0 else []

    found = git("diff", "--name-only", "HEAD") + git("ls-files", "--others", "--exclude-standard")
    return sorted(set(found or git("diff", "--name-only", "@{upstream}...") or git("diff", "--name-only", "HEAD~1")))


def read_records(folder: Path, texts: dict[str, str]) -> Records:
    """Return seconds and functions of each test that coverage has recorded, of test files that are as they were."""
    found: Records = {}
    for path, text in texts.items():
        found.update(read_record(record_path(folder, path, text.encode())))
    return found


def choose(changed: dict[str, str], records: Records, texts: dict[str, str], seconds: float) -> list[str]:
    """Return the tests of a change, as many as the budget has time for.

    Parameters
    ----------
    changed : dict
        Content of each changed file by its path below the project.
    records : dict
        Seconds and functions of recorded tests, such as ``"losses/lambdas.py:pull"``.
    texts : dict
        Content of each test file by its path.
    seconds : float
        Changed test files always run, whole; others while this lasts.

    Returns
    -------
    list of str
        Files and tests as pytest takes them.
    """
    modules = {path: text for path, text in changed.items() if path.endswith(".py") and path not in texts}
    starts = tuple(path.removeprefix("src/podium/") + ":" for path in modules if path.startswith("src/podium/"))
    recorded = {test.partition("::")[0] for test in records}
    candidates = [
        (took, test) for test, (took, names) in records.items() if any(name.startswith(starts) for name in names)
    ]
    candidates += [
        (UNKNOWN_SECONDS, path)
        for path, text in texts.items()
        if any(uses(text, *module) for module in modules.items() if path not in recorded or _helps(module[0]))
    ]
    chosen = [path for path in changed if path in texts]
    for took, test in sorted(candidates):
        if test.partition("::")[0] not in chosen:
            seconds -= took
            if seconds < 0:
                break
            chosen.append(test)
    return chosen


def _helps(path: str) -> bool:
    """Say whether a module belongs to the tests: functions of these are not recorded."""
    return path.startswith("tests/")


def uses(text: str, path: str, module: str) -> bool:
    """Say whether a test file names a module, or imports something that the module defines."""
    name = re.sub("^(src|tests)/|(/__init__)?[.]py$", "", path).replace("/", ".")
    public = {node.name for node in ast.parse(module).body if isinstance(node, ast.ClassDef | ast.FunctionDef)}
    imports = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ImportFrom)]
    imported = {alias.name for node in imports for alias in node.names}
    by_name = any(f"{node.module}.{alias.name}.".startswith(f"{name}.") for node in imports for alias in node.names)
    return by_name or f"{name}." in text or bool(public & imported)


def main() -> int:
    """Run the tests of what has changed."""
    paths = sorted((PROJECT / "tests").rglob("test_*.py"))
    texts = {str(path.relative_to(PROJECT)): path.read_text("utf-8") for path in paths}
    names = [name for name in changed_files(PROJECT) if name.endswith(".py") and (PROJECT / name).exists()]
    changed = {name: (PROJECT / name).read_text("utf-8") for name in names}
    chosen = choose(changed, read_records(RECORDS, texts), texts, BUDGET_SECONDS)
    print(f"{len(changed)} changed files, {len(chosen)} tests or files of tests", flush=True)
    if not chosen:
        return 0
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    command = [sys.executable, "-m", "pytest", "-m", "plain", "-x", "-p", "no:xdist", *chosen]
    code = subprocess.run(command, cwd=PROJECT, env=environment, check=False).returncode
    return 0 if code == 5 else code  # 5: none of them is plain


if __name__ == "__main__":
    sys.exit(main())
