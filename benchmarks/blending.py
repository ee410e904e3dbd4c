"""The sweep that `blend` makes, query by query, against measuring the query anew at each crossing.

    python benchmarks/blending.py [--rows 20000] [--longest 400] [--measure ndcg@10]

Scores are not tied, so that with `ties="stable"`, which is measured anew, the values must be the same: checked.
"""

import argparse
import time

import numpy as np
from rich.console import Console
from rich.table import Table

from podium import blend_curve


def made_scores(n_rows, size):
    """Labels, queries of one size, and the scores of two rankers that know something of the labels."""
    rng = np.random.default_rng(size)
    y = rng.integers(0, 4, n_rows // size * size).astype(float)
    return y, np.repeat(np.arange(len(y) // size), size), [y + 2 * rng.normal(size=len(y)) for _ in range(2)]


def timed(*given, **options):
    start = time.process_time()
    return blend_curve(*given, **options), time.process_time() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--longest", type=int, default=400)
    parser.add_argument("--measure", default="ndcg@10")
    args = parser.parse_args()
    table = Table("rows of a query", "sweep, ms a query", "anew, ms a query", "ratio", title=args.measure)
    size = 25
    while size <= args.longest:
        y, qid, scores = made_scores(args.rows, size)
        few = slice(0, 4 * size)
        options = {"measure": args.measure}
        blend_curve(*(one[:size] for one in scores), y[:size], **options)  # compiles
        _, seconds = timed(*scores, y, qid=qid, **options)
        some, _ = timed(*(one[few] for one in scores), y[few], qid=qid[few], **options)
        anew, slow = timed(*(one[few] for one in scores), y[few], qid=qid[few], ties="stable", **options)
        middles = (anew.edges[1:] + anew.edges[:-1]) / 2
        np.testing.assert_allclose(some.values[np.searchsorted(some.edges, middles) - 1], anew.values, atol=1e-9)
        each, other = 1000 * seconds / (qid[-1] + 1), 1000 * slow / 4
        table.add_row(str(size), f"{each:.3f}", f"{other:.2f}", f"{each / other:.4f}")
        size *= 2
    Console().print(table)


if __name__ == "__main__":
    main()
