"""Puts in the faults one at a time, runs the tests that belong to them, and prints which were noticed."""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from dataclasses import asdict
from functools import cache
from hashlib import sha256
from queue import Empty, Queue
from typing import Any

from mutants.faults import SOURCE, Fault, make_faults, read_faults
from mutants.results import KILLED, NO_TESTS, PHASE_NAMES, SURVIVED, Results
from mutants.runner import PLAIN, PROJECT, WORK, Copy
from mutants.tests_of import KIND, TestMap, file_of
from real_data import FOLDER

RESULTS = WORK / "results.jsonl"
CHOSEN = WORK / "chosen.json"
"""The faults of a run, for its phases: making them takes a minute."""
ORDINAL = ("adaboost_or", "bagging", "base_rankers", "boosted_ordinal", "extended_binary", "orboost", "ordinal")
"""Beginnings of names of estimators that give grades."""
GENERATED = (
    *("measures", "pairs", "losses", "ordinal"),
    *(f"rankers/{name}" for name in (*ORDINAL, "orstump", "prank", "svor", "voting")),
)
"""Modules that operators are tried on if none are named."""
Outcome = tuple[str, str, int]
"""Whether a fault was noticed, by which test, and how many were run."""
PHASES: tuple[tuple[str, list[str]], ...] = (("1", []), ("0", []), ("1", ["--slow"]), ("0", ["--slow"]))
"""Kernels as plain Python or compiled: quick tests of both, and where none has noticed a fault all of both."""
NOTICED = {1, 2, 3, None}
"""Exit codes of pytest: a test failed, the run broke off, an internal error; None is a run that never ended.

A negative code, of a process that a signal ended, is noticed too.
"""


def main() -> int:
    """Run both phases and print the table."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # the phase ends with this process
    given = _arguments()
    WORK.mkdir(exist_ok=True)
    if given.phase:
        faults = [Fault(**row) for row in json.loads(CHOSEN.read_text("utf-8"))]
        run_phase(faults, given.workers, given.tests, given.slow)
        return 0
    lock = (WORK / "lock").open("w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        print("Another run puts faults into the same copies: wait for it, or use another clone.")
        return 2
    faults = _chosen(given)
    CHOSEN.write_text(json.dumps([asdict(fault) for fault in faults]), "utf-8")
    misfits = [fault for fault in faults if (SOURCE / fault.module).read_text("utf-8").count(fault.before) != 1]
    if misfits:
        print("\n".join(f"{fault.module} has this text not once: {fault.before}" for fault in misfits))
        return 2
    for plain, speed in PHASES:
        if any(Results(RESULTS).outcome(fault) != KILLED for fault in faults) and (plain == "1" or not given.plain):
            command = [sys.executable, "-m", "mutants", *sys.argv[1:], "--phase", *speed]
            threads = {"NUMBA_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PYTHONPATH": str(PROJECT / "tests")}
            own = {"NUMBA_DISABLE_JIT": plain, "PODIUM_DATA": str(FOLDER)}  # copies lie elsewhere than the checkout
            subprocess.run(command, env={**os.environ, **threads, **own}, check=True)
    return report(faults, given.least, not given.generated)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="mutants", description=__doc__)
    parser.add_argument("modules", nargs="*", help="modules or folders below src/podium")
    parser.add_argument("--generated", action="store_true", help="faults that cosmic-ray's operators make")
    parser.add_argument("--sample", type=int, default=12, help="generated faults of each module")
    parser.add_argument("--tests", nargs="+", default=[], help="test files to look into, such as test_push; else all")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--plain", action="store_true", help="leave out the compiled phase")
    parser.add_argument("--least", type=float, default=None, help="least share of noticed faults; 0.95, generated 0.9")
    parser.add_argument("--phase", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--slow", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    given.least = given.least if given.least is not None else (0.9 if given.generated else 0.95)
    given.modules = given.modules or (list(GENERATED) if given.generated else [])
    return given


def _chosen(given: argparse.Namespace) -> list[Fault]:
    """Return the faults of the modules that were asked for."""
    if not given.generated:
        return [fault for fault in read_faults() if not given.modules or fault.module.startswith(tuple(given.modules))]
    files = [str(path.relative_to(SOURCE)) for path in sorted(SOURCE.rglob("*.py"))]
    return make_faults([file for file in files if file.startswith(tuple(given.modules))], given.sample)


def run_phase(faults: list[Fault], workers: int, only: list[str], slow: bool) -> None:
    """Run the tests of this phase, plain or compiled, for the faults that no test has noticed yet.

    Parameters
    ----------
    faults : list of Fault
    workers : int
        Faults tried at a time; one more by compiled tests, many of which wait for processes that they have started.
    only : list of str
        Names of test files to look into beside those that were looked into before; none for all.
    slow : bool
        Whether to run all tests in new processes, or the quick ones in memory where that is possible.
    """
    phase = f"{KIND} slow" if slow else KIND
    copies = [Copy(number) for number in range(workers if PLAIN else workers + 1)]
    lock = threading.Lock()

    def say(line: str) -> None:
        with lock:
            print(line, flush=True)

    def share(items: list[Any], work: Any) -> None:
        _share(copies, items, work)

    tests, results = TestMap(copies, share, say, only), Results(RESULTS)

    def try_fault(copy: Copy, fault: Fault) -> None:
        source = (SOURCE / fault.module).read_text("utf-8")
        found = tests.choose(fault.module, fault.function(source))
        files = sorted({file_of(test) for _, test in found})
        stamp = sha256(f"{source}{[(file, _digest(file)) for file in files]}".encode()).hexdigest()
        if results.of(fault).get(f"{phase} stamp") == stamp:
            return
        with lock:
            stages = tests.stages(found, results.killers(fault, KIND))
        begun = time.monotonic()
        if slow:
            outcome, killer, n_tests = try_on_disk(copy, fault, source, stages, tests)
        else:
            tried = stages[: 1 if fault.equivalent else 2]
            outcome, killer, n_tests = try_in_memory(copy, fault, source, tried, tests)
            if outcome == NO_TESTS or (outcome == SURVIVED and KIND == "compiled"):
                outcome, killer, n_tests = try_on_disk(copy, fault, source, tried, tests)
        with lock:
            results.save(
                fault, {phase: outcome, f"{phase} stamp": stamp, f"{phase} tests": n_tests, f"{phase} killer": killer}
            )
        seconds = time.monotonic() - begun
        say(f"{outcome:9s} {fault.module}: {fault.breaks} ({n_tests} {phase} tests, {seconds:.1f} s)")

    first = phase == PHASE_NAMES[0]
    left = [fault for fault in faults if first or not (results.outcome(fault) == KILLED or fault.equivalent)]
    share(left, try_fault)


def try_in_memory(copy: Copy, fault: Fault, source: str, stages: list[list[str]], tests: TestMap) -> Outcome:
    """Put a fault into functions that are imported and run tests, stage by stage, until one notices.

    Processes that tests start do not see the fault, nor does what was computed by an import: what survives both kinds
    of quick tests is tried on disk.
    """
    changed, n_tests, code = fault.apply(source), 0, None
    for stage in filter(None, stages):
        code, killer = copy.run_with(fault.module, changed, stage, tests.seconds(stage))
        n_tests += len(stage)
        if killer or code in (None, -signal.SIGXCPU):
            return KILLED, killer, n_tests
        if code != 0:
            break
    return (SURVIVED if code == 0 else NO_TESTS), "", n_tests


def try_on_disk(copy: Copy, fault: Fault, source: str, stages: list[list[str]], tests: TestMap) -> Outcome:
    """Put a fault into the copy's source and run tests in new processes, stage by stage, until one notices."""
    outcome, n_tests = NO_TESTS, 0
    with copy.changed(fault.module, fault.apply(source)):
        for stage in filter(None, stages):
            code = copy.run(stage, tests.seconds(stage))
            n_tests += len(stage)
            outcome = KILLED if code in NOTICED or (code or 0) < 0 else SURVIVED if code == 0 else f"exit {code}"
            if outcome != SURVIVED:
                return outcome, copy.failed(stage), n_tests
    return outcome, "", n_tests


def _share(copies: list[Copy], items: list[Any], work: Any) -> None:
    """Do the work for each item, one thread for each copy; raise the first error."""
    queue: Queue[Any] = Queue()
    for item in items:
        queue.put(item)
    errors: list[BaseException] = []

    def take(copy: Copy) -> None:
        try:
            while not errors:
                work(copy, queue.get_nowait())
        except Empty:
            pass
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=take, args=(copy,), daemon=True) for copy in copies]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


@cache
def _digest(file: str) -> str:
    return sha256((PROJECT / file).read_bytes()).hexdigest()


def report(faults: list[Fault], least: float, all_explained: bool) -> int:
    """Print killed and survived by module, then each survivor; return 1 if too many survived, or for no reason."""
    results = Results(RESULTS)
    outcomes = {fault: results.outcome(fault) for fault in faults}
    for module in sorted({fault.module for fault in faults}):
        counts = Counter(outcomes[fault] for fault in faults if fault.module == module)
        print(f"{module:40s} " + "  ".join(f"{name} {count}" for name, count in sorted(counts.items())))
    for fault, outcome in outcomes.items():
        if outcome != KILLED:
            reason = f" (equivalent: {fault.equivalent})" if fault.equivalent else ""
            print(f"\n{outcome}: {fault.module}: {fault.breaks}{reason}\n- {fault.before}\n+ {fault.after}")
    killed = sum(outcome == KILLED for outcome in outcomes.values())
    unexplained = sum(outcome != KILLED and not fault.equivalent for fault, outcome in outcomes.items())
    print(f"\n{killed} of {len(faults)} faults noticed ({killed / max(len(faults), 1):.1%}), {unexplained} unexplained")
    return int(killed < least * len(faults) or (all_explained and unexplained > 0))


if __name__ == "__main__":
    sys.exit(main())
