"""Time an epoch of RankNet: one gradient per document against pair by pair.

    python benchmarks/neural.py factored [--docs 100] [--queries 20] [--repeat 3]

`factored`: one epoch of RankNet on made queries, one update a query, with the same net, in three ways: λ summed to one
gradient per document (LM 2.1); every pair sent through the net, the pairs of a query in one matrix; every pair by
itself with its own way back, as LM 2 first had it (on few queries, scaled up). Seconds are of processor time, on one
thread; turns alternate, the best of each counts. LM is Burges 2010.
"""

import argparse
import time

import numpy as np
import torch
from kept_tables import add_folder, keep, with_machine

from podium import RankNet

HIDDEN, RATE = 32, 0.003
softplus = torch.nn.functional.softplus


def best_of(repeat, *functions):
    """Least seconds of each function, turns alternating."""
    seconds = [[] for _ in functions]
    for _ in range(repeat):
        for own, function in zip(seconds, functions, strict=True):
            start = time.process_time()
            function()
            own.append(time.process_time() - start)
    return [min(own) for own in seconds]


def plain_net(n_inputs):
    """The same net as torch's users write it."""
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(n_inputs, HIDDEN), torch.nn.ReLU(), torch.nn.Linear(HIDDEN, 1))


def pairs_of(y):
    """Rows of the pairs of one query, the better first."""
    better, worse = np.nonzero(y[:, None] > y)
    return torch.from_numpy(better), torch.from_numpy(worse)


def factored(given):
    """Print and keep seconds of an epoch in three ways."""
    torch.set_num_threads(1)
    docs, queries = given.docs, given.queries
    rng = np.random.default_rng(0)
    X = rng.normal(size=(docs * queries, 46))
    y, qid = rng.integers(0, 3, len(X)).astype(float), np.repeat(np.arange(queries), docs)
    rows = torch.from_numpy(X.astype(np.float32))
    net = plain_net(46)
    update = torch.optim.Adam(net.parameters(), RATE)
    lists = [pairs_of(y[qid == q]) for q in range(queries)]

    def fit(n):
        RankNet(n, hidden=(HIDDEN,), dropout=0.0, batch_size=1, scale="standard").fit(X, y, qid=qid)

    def by_matrix():
        for q, (better, worse) in enumerate(lists):
            own = rows[q * docs : (q + 1) * docs]
            update.zero_grad()
            softplus(net(own[worse]) - net(own[better])).sum().backward()
            update.step()

    def pair_by_pair():
        own = rows[:docs]
        for i, j in zip(*lists[0], strict=True):
            update.zero_grad()
            softplus(net(own[j : j + 1]) - net(own[i : i + 1])).sum().backward()
            update.step()

    fit(1)
    few, many, matrix, single = best_of(given.repeat, lambda: fit(1), lambda: fit(11), by_matrix, pair_by_pair)
    ours, single = max(1e-6, (many - few) / 10), single * queries
    n_pairs = sum(len(better) for better, _ in lists)
    print(f"{queries} queries of {docs} documents, {n_pairs} pairs, seconds of an epoch:")
    found = {"one gradient per document": ours, "all pairs of a query through the net": matrix, "pair by pair": single}
    keep("neural", {"factored": found}, given)
    for row in factored_rows(found):
        print("| " + " | ".join(row) + " |")


def factored_rows(found):
    """Return the cells of each way: seconds, and how many times the first."""
    ours = next(iter(found.values()))
    return [[name, f"{seconds:.2g}", f"{seconds / ours:,.0f}"] for name, seconds in found.items()]


def tables(kept):
    """Return the table of the page."""
    header = ["an epoch of RankNet, 20 queries of 100 documents, one update a query", "seconds", "times"]
    return {"neural-factored": with_machine(kept["factored"], header, factored_rows(kept["factored"]["figures"]))}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=("factored",))
    parser.add_argument("--docs", type=int, default=100)
    parser.add_argument("--queries", type=int, default=20)
    parser.add_argument("--repeat", type=int, default=3)
    add_folder(parser)
    given = parser.parse_args()
    factored(given)


if __name__ == "__main__":
    main()
