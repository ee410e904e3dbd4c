"""Fusion of TREC runs: seconds, and MAP of the learned fusion beside formulas and the best single run.

    python benchmarks/fusion.py FOLDER [--first 0] [--runs 10] [--seeds 0] [--threads 2]

FOLDER holds qrels.txt.gz and runs/*.run.gz, of which those from `--first` on are taken in the order of their names.
Each seed draws other folds. Seconds are those of `podium fuse`: reading, learning, tests and writing.
"""

import argparse
import tempfile
import time
from pathlib import Path

from rich.console import Console

from podium import fuse, read_qrels, read_run


def fused(paths, qrels_path, seed, threads):
    """Read, fuse and write; return the fusion and the seconds of reading and of the rest, by clock and processor."""
    start, used = time.perf_counter(), time.process_time()
    runs, qrels = [read_run(path) for path in paths], read_qrels(qrels_path)
    read = time.perf_counter() - start
    fusion = fuse(runs, qrels, random_state=seed, n_jobs=threads)
    with tempfile.TemporaryDirectory() as folder:
        fusion.save(Path(folder) / "fused.run")
    return fusion, read, time.perf_counter() - start - read, time.process_time() - used


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    paths = sorted((args.folder / "runs").glob("*.run.gz"))[args.first : args.first + args.runs]
    console = Console(width=120)
    for seed in args.seeds:
        fusion, read, rest, used = fused(paths, args.folder / "qrels.txt.gz", seed, args.threads)
        console.print(fusion.table())
        console.print(f"seed {seed}: settings " + "; ".join(map(str, fusion.learned.settings)))
        console.print(f"reading {read:.1f} s, fusing and writing {rest:.1f} s; {used:.1f} s of processors\n")


if __name__ == "__main__":
    main()
