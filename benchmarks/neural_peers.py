"""RankNet and LambdaRank beside other loops over the same net: a plain torch loop, and allRank's.

    python benchmarks/neural_peers.py times PATH/mq2008 [--epochs 10] [--repeat 3] [--json FILE]
    python benchmarks/neural_peers.py quality PATH/mq2008 [--seeds 5] [--folds 5] [--epochs 40] [--json FILE]
    python benchmarks/neural_peers.py allrank PATH/mq2008 [--seeds 1] [--folds 5] [--epochs 40] [--json FILE]

The plain loop has the same net, Adam, rate, dropout, scaled inputs and batches of 16 queries; its loss is softplus of
all score differences of a query, by autograd. `times`: seconds of processor time of an epoch over the training part of
fold 1, on one thread; turns alternate, the best of each counts. `quality`: NDCG@10 of the validation parts after all
epochs, differences paired by fold and seed, of two plain loops: "the same draws" begins with RankNet's first weights
and draws its batches and units, so that only sums differ; "its own draws" begins as torch's layers do and draws for
itself. `allrank`: allRank's own model, data loader, update and losses (rankNet; lambdaLoss with its lambdaRank_scheme),
with the same inputs, rate, dropout and sizes. It asks for a torch of 2021, so that it is installed without what it
needs, ``pip install --no-deps allRank``; its modules for files in the cloud and charts are left empty.
"""

import argparse
import json
import sys
import time
from pathlib import Path
from unittest.mock import MagicMock

import numpy as np
import torch

from podium import LambdaRank, RankNet, evaluate, read_letor
from podium.data import RankingData, feedback_of
from podium.neural import NetInputs, NetShape, QueryBatches

HIDDEN, BATCH, DROPOUT = 32, 16, 0.5
RATE = RankNet().learning_rate
softplus = torch.nn.functional.softplus


def read_parts(folder, fold):
    """Training and validation part of a fold."""
    parts = [read_letor(folder / f"Fold{fold}" / f"{name}.txt.gz") for name in ("train", "vali")]
    return [(part.X, part.y, part.qid) for part in parts]


def value(valid, scores):
    """NDCG@10 of the validation part."""
    return evaluate(valid[1], scores, qid=valid[2], measures="ndcg@10", n_resamples=0)["ndcg@10"]


class Inputs:
    """A training part as the nets see it: scaled rows in canonical order, labels, bounds and batches of queries."""

    def __init__(self, train, seed):
        data = RankingData.from_arrays(train[0], train[1], qid=train[2])
        known = np.full(train[0].shape[1], -1)
        self.scaling = NetInputs.of(data.features, data.queries.rows, data.weights, "gauss", known, "plain")
        self.rows = self.tensor(data.features)[data.queries.rows]
        self.labels, self.ends = torch.from_numpy(data.labels), data.queries.offsets
        feedback = feedback_of(data)
        self.learned = np.flatnonzero(feedback.pairs_per_query)
        self.batches = QueryBatches(feedback, self.ends, BATCH, seed)

    def tensor(self, X):
        """Rows of features, scaled."""
        return torch.from_numpy(self.scaling.numbers(X).astype(np.float32))

    def span(self, query):
        """Rows of a query."""
        return np.arange(self.ends[query], self.ends[query + 1])


class SameUnits(torch.nn.Module):
    """Dropout that leaves out the units that RankNet leaves out."""

    def __init__(self, seed):
        super().__init__()
        self.seed, self.generator = seed, torch.Generator()

    def begin(self, epoch):
        """Draw the units of an epoch anew."""
        self.generator.manual_seed(int(np.random.default_rng([self.seed, epoch, 1]).integers(2**63)))

    def forward(self, rows):
        """Leave out units of rows in training, and let the others count for them."""
        if not self.training:
            return rows
        return rows * torch.empty_like(rows).bernoulli_(1 - DROPOUT, generator=self.generator) / (1 - DROPOUT)


def plain_net(n_inputs, seed, same_draws):
    """The net as torch's users write it, with its own first weights or RankNet's."""
    torch.manual_seed(seed)
    thin = SameUnits(seed) if same_draws else torch.nn.Dropout(DROPOUT)
    net = torch.nn.Sequential(torch.nn.Linear(n_inputs, HIDDEN), torch.nn.ReLU(), thin, torch.nn.Linear(HIDDEN, 1))
    if same_draws:
        shape = NetShape(n_inputs, (), (HIDDEN,))
        first, bias, last = (torch.from_numpy(part.copy()) for part in shape.split(shape.start(seed)))
        with torch.no_grad():
            net[0].weight.copy_(first.T)
            net[0].bias.copy_(bias)
            net[3].weight.copy_(last.T)
    return net


def drawn_batches(inputs, epoch, rng, same_draws):
    """Queries of each batch of an epoch."""
    if same_draws:
        return [batch.queries for batch in inputs.batches.of_epoch(epoch)]
    drawn = rng.permutation(inputs.learned)
    return [drawn[first : first + BATCH] for first in range(0, len(drawn), BATCH)]


def plain_update(net, update, inputs, queries):
    """One update by autograd."""
    spans = [inputs.span(query) for query in queries]
    scores, cost, at = net(inputs.rows[np.concatenate(spans)])[:, 0], 0.0, 0
    for span in spans:
        own, y = scores[at : at + len(span)], inputs.labels[span]
        cost = cost + softplus(-(own[:, None] - own))[y[:, None] > y].sum()
        at += len(span)
    update.zero_grad()
    (cost / len(queries)).backward()
    update.step()


def plain_loop(train, valid, epochs, seed, same_draws=False):
    """Fit the plain loop; return its scores of the validation part and seconds of an epoch."""
    inputs, rng = Inputs(train, seed), np.random.default_rng(seed)
    net = plain_net(inputs.rows.shape[1], seed, same_draws)
    update = torch.optim.Adam(net.parameters(), RATE)
    start = time.process_time()
    for epoch in range(1, epochs + 1):
        if same_draws:
            net[2].begin(epoch)
        for queries in drawn_batches(inputs, epoch, rng, same_draws):
            plain_update(net, update, inputs, queries)
    seconds = (time.process_time() - start) / epochs
    net.eval()
    with torch.no_grad():
        return net(inputs.tensor(valid[0]))[:, 0].numpy().astype(float), seconds


def load_allrank():
    """Return what is needed of allRank; its modules for files in the cloud and for charts are left empty."""
    for name in ("torchvision", "torchvision.transforms", "gcsfs", "pkg_resources", "tensorboardX"):
        try:
            __import__(name)
        except ImportError:
            sys.modules[name] = MagicMock()
    from allrank.data.dataset_loading import FixLength, ToTensor
    from allrank.models.losses import lambdaLoss, rankNet
    from allrank.models.model import make_model
    from allrank.training.train_utils import loss_batch

    def lambda_rank(scores, labels):
        return lambdaLoss(scores, labels, weighing_scheme="lambdaRank_scheme")

    return (FixLength, ToTensor), {"RankNet": rankNet, "LambdaRank": lambda_rank}, make_model, loss_batch


def allrank_loop(train, valid, epochs, seed, name):
    """Fit allRank's net; return its scores of the validation part and seconds of an epoch."""
    (fix_length, to_tensor), losses, make_model, loss_batch = load_allrank()
    inputs = Inputs(train, seed)
    pad, convert = fix_length(int(np.diff(inputs.ends).max())), to_tensor()
    lists = [
        convert(pad((inputs.rows[span].numpy(), inputs.labels[span].numpy())))
        for span in map(inputs.span, inputs.learned)
    ]
    torch.manual_seed(seed)
    loader = torch.utils.data.DataLoader(lists, batch_size=BATCH, shuffle=True)
    layers = {"sizes": [HIDDEN], "input_norm": False, "activation": "ReLU", "dropout": DROPOUT}
    net = make_model(layers, None, {"d_output": 1, "output_activation": None}, inputs.rows.shape[1])
    update = torch.optim.Adam(net.parameters(), RATE)
    net.train()
    start = time.process_time()
    for _ in range(epochs):
        for rows, labels, places in loader:
            loss_batch(net, losses[name], rows, labels, places, None, update)
    seconds = (time.process_time() - start) / epochs
    net.eval()
    with torch.no_grad():
        return net.score(inputs.tensor(valid[0])[None], None, None)[0].numpy().astype(float), seconds


def our_seconds(kind, train, epochs, repeat):
    """Seconds of an epoch of ours, without what a fit does once."""
    taken = {1: [], 1 + epochs: []}
    kind(1).fit(train[0], train[1], qid=train[2])
    for _ in range(repeat):
        for n, own in taken.items():
            start = time.process_time()
            kind(n).fit(train[0], train[1], qid=train[2])
            own.append(time.process_time() - start)
    return (min(taken[1 + epochs]) - min(taken[1])) / epochs


def times(folder, epochs, repeat):
    """Return seconds of an epoch of each."""
    train, valid = read_parts(folder, 1)
    found = {kind.__name__: our_seconds(kind, train, epochs, repeat) for kind in (RankNet, LambdaRank)}
    found["plain torch loop"] = min(plain_loop(train, valid, epochs, 0)[1] for _ in range(repeat))
    for name, seconds in found.items():
        print(f"| {name} | {seconds:.3f} s an epoch |", flush=True)
    return found


def compared(ways, folder, folds, seeds, pairs):
    """Return NDCG@10 of each way by fold and seed, and the differences of pairs of ways with errors over seeds."""
    values = {name: np.zeros((folds, seeds)) for name in ways}
    for fold in range(folds):
        train, valid = read_parts(folder, fold + 1)
        for seed in range(seeds):
            for name, way in ways.items():
                values[name][fold, seed] = value(valid, way(train, valid, seed))
        print(f"fold {fold + 1} done", flush=True)
    differences = [difference(values, *pair) for pair in pairs]
    for name, own in values.items():
        print(f"| {name} | {100 * own.mean():.2f} |")
    for row in differences:
        print(f"| {row['of']} | {row['against']} | {100 * row['difference']:+.3f} ± {100 * row['error']:.3f} |")
    return {"ndcg": {name: own.tolist() for name, own in values.items()}, "differences": differences}


def difference(values, of, against):
    """Return the mean difference, and its standard error over folds and seeds."""
    gap = (values[of] - values[against]).ravel()
    error = float(gap.std(ddof=1) / np.sqrt(len(gap))) if len(gap) > 1 else float("nan")
    return {"of": of, "against": against, "difference": float(gap.mean()), "error": error}


def ours(kind, epochs):
    """Return a way that fits one of our nets."""
    return lambda train, valid, seed: (
        kind(epochs, random_state=seed).fit(train[0], train[1], qid=train[2]).predict(valid[0])
    )


def quality(folder, folds, seeds, epochs):
    """Return RankNet beside plain loops."""
    ways = {
        "RankNet": ours(RankNet, epochs),
        "plain, the same draws": lambda *given: plain_loop(*given[:2], epochs, given[2], same_draws=True)[0],
        "plain, its own draws": lambda *given: plain_loop(*given[:2], epochs, given[2])[0],
    }
    return compared(ways, folder, folds, seeds, [("RankNet", other) for other in list(ways)[1:]])


def allrank(folder, folds, seeds, epochs):
    """Return our nets beside allRank's, and seconds of an epoch of these."""
    seconds = {"RankNet": [], "LambdaRank": []}

    def theirs(name):
        def way(train, valid, seed):
            scores, took = allrank_loop(train, valid, epochs, seed, name)
            seconds[name].append(took)
            return scores

        return way

    kinds = {"RankNet": RankNet, "LambdaRank": LambdaRank}
    ways = {name: ours(kind, epochs) for name, kind in kinds.items()}
    ways.update({f"allRank, {name}": theirs(name) for name in kinds})
    found = compared(ways, folder, folds, seeds, [(name, f"allRank, {name}") for name in kinds])
    found["seconds_of_an_epoch"] = {name: min(own) for name, own in seconds.items()}
    print(found["seconds_of_an_epoch"])
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=("times", "quality", "allrank"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--epochs", type=int)
    parser.add_argument("--seeds", type=int)
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    torch.set_num_threads(1)
    if given.part == "times":
        found = times(given.folder, given.epochs or 10, given.repeat)
    else:
        run, seeds = {"quality": (quality, 5), "allrank": (allrank, 1)}[given.part]
        found = run(given.folder, given.folds, given.seeds or seeds, given.epochs or RankNet().n_estimators)
    if given.json is not None:
        kept = json.loads(given.json.read_text()) if given.json.exists() else {}
        given.json.write_text(json.dumps({**kept, f"peers_{given.part}": found}, indent=1) + "\n")


if __name__ == "__main__":
    main()
