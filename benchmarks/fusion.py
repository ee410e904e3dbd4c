"""Fusion of TREC runs: seconds, and MAP of the learned fusion beside formulas and the best single run.

    python benchmarks/fusion.py PATH/trec-robust03 [--first 0] [--runs 10] [--seeds 0] [--threads 2]

The folder holds qrels.txt.gz and runs/*.run.gz, of which those from `--first` on are taken in the order of their names.
Each seed draws other folds; the first one's figures are kept. Seconds are those of `podium fuse`: reading, learning,
tests and writing.
"""

import argparse
import tempfile
import time
from pathlib import Path

from kept_tables import add_folder, keep, markdown
from rich.console import Console

from podium import fuse, read_qrels, read_run

SHOWN = {"rrf": "RRF", "combsum": "CombSUM", "combmnz": "CombMNZ", "borda": "Borda", "isr": "ISR"}


def fused(paths, qrels_path, seed, threads):
    """Read, fuse and write; return the fusion and the seconds of reading and of the rest, by clock and processor."""
    start, used = time.perf_counter(), time.process_time()
    runs, qrels = [read_run(path) for path in paths], read_qrels(qrels_path)
    read = time.perf_counter() - start
    fusion = fuse(runs, qrels, random_state=seed, n_jobs=threads)
    with tempfile.TemporaryDirectory() as folder:
        fusion.save(Path(folder) / "fused.run")
    return fusion, read, time.perf_counter() - start - read, time.process_time() - used


def figures_of(fusion):
    """Return the MAP of the learned fusion, and of each other one with its distance from it; the best run is last."""
    others = {name: own["map"] for name, own in fusion.comparisons.items() if name in SHOWN}
    others["best single run"] = fusion.comparisons[fusion.best_run]["map"]
    learned = {"learned": [others["best single run"].first]}
    return learned | {name: [one.second, one.difference, one.low, one.high] for name, one in others.items()}


def tables(kept):
    """Return the table of the page."""
    found = {name: part["figures"] for name, part in kept.items()}
    header = ["", *(text for name in found for text in (name, ""))]
    rows = [[SHOWN.get(name, name)] for name in next(iter(found.values()))]
    for own in found.values():
        for row, (mean, *ahead) in zip(rows, own.values(), strict=True):
            row += [f"{mean:.4f}", "{:+.4f} ({:+.4f} to {:+.4f})".format(*ahead)] if ahead else [f"**{mean:.4f}**", ""]
    return {"fusion": markdown(header, rows)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--threads", type=int, default=2)
    add_folder(parser)
    args = parser.parse_args()
    paths = sorted((args.data / "runs").glob("*.run.gz"))[args.first : args.first + args.runs]
    console = Console(width=120)
    for seed in args.seeds:
        fusion, read, rest, used = fused(paths, args.data / "qrels.txt.gz", seed, args.threads)
        console.print(fusion.table())
        if seed == args.seeds[0]:
            keep("fusion", {f"runs {args.first + 1} to {args.first + len(paths)}": figures_of(fusion)}, args)
        console.print(f"seed {seed}: settings " + "; ".join(map(str, fusion.learned.settings)))
        console.print(f"reading {read:.1f} s, fusing and writing {rest:.1f} s; {used:.1f} s of processors\n")


if __name__ == "__main__":
    main()
