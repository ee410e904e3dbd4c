"""Time nets that rank: one gradient per document against pair by pair, epochs on MQ2008, a plain torch loop.

    python benchmarks/neural.py factored [--docs 100] [--queries 20] [--repeat 3]
    python benchmarks/neural.py mq2008 PATH/mq2008 [--epochs 10] [--seeds 3] [--repeat 3]

`factored`: one epoch of RankNet on made queries, one update a query, with the same net, in three ways: λ summed to one
gradient per document (LM 2.1); every pair sent through the net, the pairs of a query in one matrix; every pair by
itself with its own way back, as LM 2 first had it (on few queries, scaled up). `mq2008`: seconds of an epoch over the
training part of fold 1, and of a plain torch loop with the same net, the same Adam, batches, dropout and scaled inputs,
whose loss is softplus of all score differences of a query by autograd; NDCG@10 of both on the validation part after 40
epochs. Seconds are of processor time, on one thread; turns alternate, the best of each counts. LM is Burges 2010.
"""

import argparse
import time
from pathlib import Path

import numpy as np
import torch

from podium import LambdaRank, RankNet, evaluate, read_letor
from podium.data.feedback import feedback_of
from podium.data.ranking_data import RankingData
from podium.neural import NetInputs

HIDDEN, RATE, BATCH = 32, 0.003, 16
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


def plain_net(n_inputs, dropout=0.0):
    """The same net as torch's users write it."""
    torch.manual_seed(0)
    layers = [torch.nn.Linear(n_inputs, HIDDEN), torch.nn.ReLU(), torch.nn.Dropout(dropout), torch.nn.Linear(HIDDEN, 1)]
    return torch.nn.Sequential(*layers)


def pairs_of(y):
    """Rows of the pairs of one query, the better first."""
    better, worse = np.nonzero(y[:, None] > y)
    return torch.from_numpy(better), torch.from_numpy(worse)


def factored(docs, queries, repeat):
    """Print seconds of an epoch in three ways."""
    torch.set_num_threads(1)
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
    few, many, matrix, single = best_of(repeat, lambda: fit(1), lambda: fit(11), by_matrix, pair_by_pair)
    ours, single = max(1e-6, (many - few) / 10), single * queries
    n_pairs = sum(len(better) for better, _ in lists)
    print(f"{queries} queries of {docs} documents, {n_pairs} pairs, seconds of an epoch:")
    print(f"| one gradient per document | {ours:.4f} | 1 |")
    print(f"| all pairs of a query through the net | {matrix:.3f} | {matrix / ours:.0f} |")
    print(f"| pair by pair | {single:.1f} | {single / ours:.0f} |")


def read_part(folder, name):
    """One part of fold 1."""
    part = read_letor(folder / "Fold1" / f"{name}.txt.gz")
    return part.X, part.y, part.qid


def plain_loop(train, valid, epochs, seed):
    """Fit the plain torch loop; return its scores of the validation part and seconds of an epoch."""
    data = RankingData.from_arrays(train[0], train[1], qid=train[2])
    known = np.full(train[0].shape[1], -1)
    inputs = NetInputs.of(data.features, data.queries.rows, data.weights, "gauss", known, "plain")
    rows = torch.from_numpy(inputs.numbers(data.features)[data.queries.rows].astype(np.float32))
    labels, ends, rng = torch.from_numpy(data.labels), data.queries.offsets, np.random.default_rng(seed)
    learned = np.flatnonzero(feedback_of(data).pairs_per_query)
    torch.manual_seed(seed)
    net = plain_net(rows.shape[1], 0.5)
    update = torch.optim.Adam(net.parameters(), RATE)
    start = time.process_time()
    for _ in range(epochs):
        drawn = rng.permutation(learned)
        for first in range(0, len(drawn), BATCH):
            chosen = drawn[first : first + BATCH]
            spans = [np.arange(ends[q], ends[q + 1]) for q in chosen]
            scores = net(rows[np.concatenate(spans)])[:, 0]
            cost, at = 0.0, 0
            for span in spans:
                own, y = scores[at : at + len(span)], labels[span]
                cost = cost + softplus(-(own[:, None] - own))[y[:, None] > y].sum()
                at += len(span)
            update.zero_grad()
            (cost / len(chosen)).backward()
            update.step()
    seconds = (time.process_time() - start) / epochs
    net.eval()
    with torch.no_grad():
        found = net(torch.from_numpy(inputs.numbers(valid[0]).astype(np.float32)))[:, 0].numpy()
    return found.astype(float), seconds


def mq2008(folder, epochs, seeds, repeat):
    """Print seconds of an epoch and NDCG@10 of the validation part."""
    torch.set_num_threads(1)
    train, valid = read_part(folder, "train"), read_part(folder, "vali")

    def ours(kind, n, seed=0, **given):
        return kind(n, random_state=seed, **given).fit(train[0], train[1], qid=train[2])

    def value(scores):
        return evaluate(valid[1], scores, qid=valid[2], measures="ndcg@10", n_resamples=0)["ndcg@10"]

    for kind in (RankNet, LambdaRank):
        ours(kind, 1)
        few, many = best_of(repeat, lambda kind=kind: ours(kind, 1), lambda kind=kind: ours(kind, 1 + epochs))
        print(f"| {kind.__name__} | {(many - few) / epochs:.3f} s an epoch |")
    print(f"| plain torch loop | {min(plain_loop(train, valid, epochs, 0)[1] for _ in range(repeat)):.3f} s an epoch |")
    found = {"RankNet": [], "plain torch loop": []}
    for seed in range(seeds):
        found["RankNet"].append(value(ours(RankNet, 40, seed).predict(valid[0])))
        found["plain torch loop"].append(value(plain_loop(train, valid, 40, seed)[0]))
    for name, values in found.items():
        error = np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else float("nan")
        print(f"| {name} | validation NDCG@10 {100 * np.mean(values):.2f} ± {100 * error:.2f} (seeds) |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=("factored", "mq2008"))
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--docs", type=int, default=100)
    parser.add_argument("--queries", type=int, default=20)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--repeat", type=int, default=3)
    given = parser.parse_args()
    if given.part == "factored":
        factored(given.docs, given.queries, given.repeat)
    else:
        mq2008(given.folder, given.epochs, given.seeds, given.repeat)


if __name__ == "__main__":
    main()
