"""What every contest with peers shares: turns, records of what was measured, the machine, and where results are kept.

A suite (training, scoring, reading, measures, memory, start) has a function ``entries(small)`` that yields records::

    {"case": "50,000 rows, 50 trees of 31 leaves", "size": 50000, "contestant": "podium", "value": 1.43, ...}

`value` is in the unit of the suite, lower is better. A case has Podium and its peers at one or several sizes.
"""

import importlib.metadata
import json
import os
import platform
import time
from pathlib import Path

RESULTS = Path(__file__).parents[1] / "results"
OURS = "podium"
CHOSEN = {"clock": "wall"}
"""The clock of this run; "cpu" is processor time, for one thread on a machine that others use too."""
PACKAGES = (
    "numpy", "numba", "scipy", "scikit-learn", "lightgbm", "xgboost", "catboost", "treelite", "ranx", "ir-measures",
)  # fmt: skip


CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}


def best_times(contestants, turns, clock=None):
    """Return the best time and the last result of each contestant; they take turns, so that all see one machine."""
    clock, best, results = clock or CLOCKS[CHOSEN["clock"]], {}, {}
    for _ in range(turns):
        for name, run in contestants.items():
            start = clock()
            results[name] = run()
            best[name] = min(best.get(name, float("inf")), clock() - start)
    return best, results


def records(case, size, values, **more):
    """Return a record for each contestant; `more` has further columns, each by contestant."""
    for name, value in values.items():
        extra = {key: column[name] for key, column in more.items() if name in column}
        yield {"case": case, "size": size, "contestant": name, "value": float(f"{value:.4g}")} | extra


def installed(name):
    """Return the version of a package, None where it is not installed."""
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def machine():
    """Return what a figure depends on: processor, memory, system, and versions of everything that took part."""
    model = platform.processor()
    if Path("/proc/cpuinfo").exists():
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), model)
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 0
    versions = {name: version for name in PACKAGES if (version := installed(name)) is not None}
    return {
        "processor": model,
        "cores": os.cpu_count(),
        "memory": f"{pages / 2**30:.0f} GB",
        "load": round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None,
        "clock": CHOSEN["clock"],
        "system": platform.system(),
        "python": platform.python_version(),
        "versions": versions,
    }


def keep(suite, found, folder=RESULTS):
    """Write the records of a suite, each in its place; those of cases that were not run now stay."""
    path = Path(folder) / f"{suite}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    cases = {}
    for records_ in (json.loads(path.read_text())["records"] if path.exists() else [], found):
        own = {}
        for one in records_:
            own.setdefault((one["case"], one["size"]), []).append(one)
        cases |= own
    lines = ",\n".join("  " + json.dumps(one) for own in cases.values() for one in own)
    path.write_text(f'{{\n "machine": {json.dumps(machine())},\n "records": [\n{lines}\n ]\n}}\n')


def load(suite, folder=RESULTS):
    """Return what was kept of a suite."""
    return json.loads((Path(folder) / f"{suite}.json").read_text())


def ratios(found):
    """Return for each case and size Podium's value over each peer's: {(case, size): {peer: ratio}}."""
    values = {}
    for one in found:
        values.setdefault((one["case"], one["size"]), {})[one["contestant"]] = one["value"]
    return {
        place: {name: of[OURS] / value for name, value in of.items() if name != OURS}
        for place, of in values.items()
        if OURS in of
    }
