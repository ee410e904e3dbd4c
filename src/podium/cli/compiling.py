"""The command that compiles all kernels ahead: compile."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, cast

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from podium._errors import PodiumError

if TYPE_CHECKING:
    from numba.core.dispatcher import Dispatcher

NO_CACHE = "No folder for machine code can be written to; set NUMBA_CACHE_DIR to one that can."


def compile_kernels(n_jobs: int | None, quiet: bool, as_json: bool = False) -> None:
    """Compile every kernel into Numba's cache, and say where that is and how long it took.

    Numba compiles one kernel at a time in a process, so that processes share out the work.
    """
    start = time.perf_counter()
    cache = cache_folder()
    n_processes = _process_count(n_jobs)
    try:
        with _progress(quiet or as_json) as progress:
            names = job_names()
            task = progress.add_task("Compiling kernels", total=len(names))
            for name in run_jobs(names, n_processes):
                progress.update(task, advance=1, description=f"Compiled {name}")
    except OSError as error:
        raise PodiumError(f"Machine code cannot be written to {cache}: {error.strerror or error}.") from None
    except BrokenExecutor:
        raise PodiumError("A process that compiled was killed; with --jobs 1 less memory is needed.") from None
    seconds = time.perf_counter() - start
    said = json.dumps({"seconds": round(seconds, 1), "folder": str(cache)})
    print(said if as_json else f"Compiled all kernels in {seconds:.0f} s, into {cache}")


def cache_folder() -> Path:
    """Return the folder below which Numba keeps machine code; refuse where it would keep none, or elsewhere."""
    try:
        from podium import _compiled
        from podium.measures import sorting
    except RuntimeError as error:  # Numba, where it finds no place for a cache
        raise PodiumError(NO_CACHE) from error
    if _compiled.JIT_DISABLED:
        raise PodiumError("There is nothing to compile: NUMBA_DISABLE_JIT is set.")
    used = Path(str(cast("Dispatcher", sorting.sort_short_queries).stats.cache_path))
    wanted = os.environ.get("NUMBA_CACHE_DIR")
    if not wanted:
        return used.parent if used.name != "__pycache__" else used.parent.parent
    if Path(wanted).resolve() not in used.resolve().parents:
        raise PodiumError(f"NUMBA_CACHE_DIR, {wanted}, cannot be written to.")
    return Path(wanted)


def job_names() -> list[str]:
    """Return the names of what is to be run."""
    from podium.cli.kernel_calls import JOBS

    return list(JOBS)


def run_jobs(names: list[str], n_processes: int) -> Iterator[str]:
    """Run jobs in new processes and yield the name of each when it is done."""
    from podium.cli.kernel_calls import run_job

    with ProcessPoolExecutor(n_processes, get_context("spawn")) as pool:
        for done in as_completed([pool.submit(run_job, name) for name in names]):
            yield done.result()


def _process_count(n_jobs: int | None) -> int:
    """Return how many processes compile: all processors unless said otherwise."""
    if n_jobs == 0:
        raise PodiumError("--jobs must be an integer other than 0 (-1 is all processors); got 0.")
    from podium._compiled import thread_count

    return thread_count(-1 if n_jobs is None else n_jobs)


def _progress(quiet: bool) -> Progress:
    """Return a progress bar on standard error."""
    columns = TextColumn("{task.description}"), BarColumn(), TextColumn("{task.completed}/{task.total}")
    return Progress(*columns, TimeElapsedColumn(), console=Console(file=sys.stderr), disable=quiet)
