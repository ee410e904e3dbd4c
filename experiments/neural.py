"""Nets on MQ2008: RankNet and LambdaRank beside RankSVM and LambdaMART, blends, stacking, distillation, optimality.

    python experiments/neural.py choose PATH/mq2008 [--seeds 5] [--json FILE]
    python experiments/neural.py quality PATH/mq2008 [--seeds 5] [--folds 5] [--epochs 40] [--trees 100] [--json FILE]
    python experiments/neural.py optimality PATH/mq2008 [--json FILE] [--chart FILE]
    python experiments/neural.py optimality_made [--json FILE]
    python experiments/neural.py figure [--chart FILE]

`choose`: settings around the defaults, NDCG@10 on the validation parts, mean of the last five epochs. `quality`:
NDCG@10 of the five test parts; differences are paired by query, a query's value its mean over the seeds. RankSVM's C
is chosen on the validation part. "blend" is the exact combination of LambdaMART and LambdaRank by the validation part;
"stack" is a LambdaRank, linear or with a hidden layer, that learns from the scores of LambdaMART, LambdaRank and
RankSVM on the validation part, beside the blend of the same three; "distilled" is a RankNet whose labels are
LambdaMART's scores of the training rows. `optimality`: LM 4.2, 459 random directions and one weight at a time, on the
training part of fold 1, for LambdaRank as it comes and for linear nets that are trained long; a direction is better
beyond chance where the mean change is above 2.33 of its standard errors over queries. `optimality_made`: the same on
made data of 1,000 and 4,000 queries. `figure`: LM Figure 1. LM is Burges 2010.
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np
from lambdamart import read_fold
from sklearn.base import clone

from podium import (
    LambdaMART,
    LambdaRank,
    RankNet,
    RankSVM,
    blend,
    evaluate,
    local_optimality,
    make_search,
    weight_curves,
)
from podium.evaluation.optimality import random_direction

NETS = {"RankNet": RankNet, "LambdaRank": LambdaRank}
CHOICES = [
    {},
    {"dropout": 0.0},
    {"dropout": 0.0, "hidden": ()},
    {"dropout": 0.0, "weight_decay": 1.0},
    {"hidden": (64,)},
    {"scale": "standard"},
    {"scale": "log1p"},
    {"learning_rate": 0.003},
    {"learning_rate": 0.01},
    {"batch_size": 4},
    {"batch_size": 64},
]
OWN_CHOICES = {
    "RankNet": [{"pair_weight": "queries"}, {"tie_weight": 0.2}],
    "LambdaRank": [{"normalize": "query"}, {"normalize": "query", "truncation": 30}, {"truncation": 10}],
}
C_VALUES = (0.1, 1.0, 10.0, 100.0, 1000.0)
COMPARED = [
    ("LambdaRank", "RankNet"),
    ("RankNet", "RankSVM"),
    ("LambdaRank", "LambdaMART"),
    ("blend", "LambdaMART"),
    ("blend of three", "LambdaMART"),
    ("stack", "blend of three"),
    ("stack with a hidden layer", "blend of three"),
    ("distilled", "LambdaMART"),
    ("distilled", "RankNet"),
]
"""Whose difference is shown."""
TO_THE_END = [(LambdaRank, 600, 0.02, 0.99), (LambdaRank, 2000, 0.05, 0.997), (RankNet, 600, 0.02, 0.99)]
"""Nets of the optimality test: epochs, rate and its decay."""
ONE_IN_A_HUNDRED = 2.33
"""Standard errors that a normal variable exceeds once in a hundred times."""


def ndcg(part, scores):
    """NDCG@10 of each query with something relevant, by its id."""
    found = evaluate(part[1], scores, qid=part[2], measures="ndcg@10", n_resamples=0).per_query("ndcg@10")
    return {query: value for query, value in found.items() if not np.isnan(value)}


def choose(folder, folds, seeds):
    """Return the validation NDCG@10 of each setting, mean of the last five epochs, of the folds and of the seeds."""
    found, parts = [], [read_fold(folder, fold)[:2] for fold in range(1, folds + 1)]
    for name, net in NETS.items():
        for setting in CHOICES + OWN_CHOICES[name]:
            histories = [
                net(random_state=seed, **setting)
                .fit(*train[:2], qid=train[2], eval_set=[valid[:2]], eval_qid=[valid[2]])
                .evals_result_["validation_0"]["ndcg@10"]
                for train, valid in parts
                for seed in range(100, 100 + seeds)  # not those of `quality`
            ]
            curve = np.mean(histories, axis=0)
            found.append(
                {"ranker": name, "setting": setting, "ndcg": float(curve[-5:].mean()), "curve": curve.tolist()}
            )
            print(f"| {name} | {setting or 'default'} | {100 * found[-1]['ndcg']:.2f} |", flush=True)
    return found


def best_margin(train, valid):
    """Return the linear RankSVM whose validation NDCG@10 is best."""
    models = [RankSVM(c, eval_metric="ndcg@10").fit(*train[:2], qid=train[2]) for c in C_VALUES]
    return max(models, key=lambda model: model.score(*valid[:2], qid=valid[2]))


def fit_nets(train, seed, epochs):
    """Return the two nets as they come, and seconds of an epoch."""
    models, seconds = {}, {}
    for name, net in NETS.items():
        start = time.perf_counter()
        models[name] = net(epochs, random_state=seed).fit(*train[:2], qid=train[2])
        seconds[name] = (time.perf_counter() - start) / models[name].n_estimators
    return models, seconds


def combined(models, names, valid, test):
    """Return the test scores of the best combination of models on the validation part."""
    scores = [[models[name].predict(part[0]) for name in names] for part in (valid, test)]
    return blend(scores[0], valid[1], qid=valid[2]).combine(scores[1])


def stacked(models, names, valid, test, net):
    """Return the test scores of a net that reads the scores of others, trained on the validation part."""
    columns = [np.column_stack([models[name].predict(part[0]) for name in names]) for part in (valid, test)]
    return net.fit(columns[0], valid[1], qid=valid[2]).predict(columns[1])


def one_run(fold_parts, margin, seed, epochs, trees):
    """Return the test scores of each ranker of one fold and seed, and seconds of an epoch."""
    train, valid, test = fold_parts
    models, seconds = fit_nets(train, seed, epochs)
    models["LambdaMART"] = LambdaMART(trees, random_state=seed).fit(*train[:2], qid=train[2])
    models["RankSVM"] = margin
    models["distilled"] = RankNet(epochs, random_state=seed).fit(
        train[0], models["LambdaMART"].predict(train[0]), qid=train[2]
    )
    scores = {name: model.predict(test[0]) for name, model in models.items()}
    three = ("LambdaMART", "LambdaRank", "RankSVM")
    scores["blend"] = combined(models, three[:2], valid, test)
    scores["blend of three"] = combined(models, three, valid, test)
    for name, hidden in (("stack", ()), ("stack with a hidden layer", (8,))):
        net = LambdaRank(epochs, hidden=hidden, scale="standard", dropout=0.0, random_state=seed)
        scores[name] = stacked(models, three, valid, test, net)
    return scores, seconds


def quality(folder, seeds, folds, epochs, trees):
    """Return means, differences with standard errors, and seconds of an epoch."""
    values, took = {}, {name: [] for name in NETS}
    for fold in range(1, folds + 1):
        parts = read_fold(folder, fold)
        margin = best_margin(*parts[:2])
        for seed in range(seeds):
            scores, seconds = one_run(parts, margin, seed, epochs, trees)
            for name, own in scores.items():
                values.setdefault(name, []).append(ndcg(parts[2], own))
            for name, own in seconds.items():
                took[name].append(own)
        print(f"fold {fold} done", flush=True)
    return summary(values, took, seeds)


def summary(values, took, seeds):
    """Return what the tables show; values of a query are first averaged over the seeds."""
    by_query = {}
    for name, runs in values.items():
        sums = {}
        for number, run in enumerate(runs):
            for query, value in run.items():
                sums.setdefault((number // seeds, query), []).append(value)
        by_query[name] = np.array([np.mean(own) for _, own in sorted(sums.items(), key=lambda item: str(item[0]))])
    spread = {
        name: [float(np.mean([np.mean(list(run.values())) for run in runs[seed::seeds]])) for seed in range(seeds)]
        for name, runs in values.items()
    }
    differences = []
    for one, other in COMPARED:
        gap = by_query[one] - by_query[other]
        error = float(gap.std(ddof=1) / np.sqrt(len(gap)))
        differences.append({"of": one, "against": other, "difference": float(gap.mean()), "error": error})
    return {
        "ndcg": {name: float(own.mean()) for name, own in by_query.items()},
        "by_seed": spread,
        "differences": differences,
        "seconds_of_an_epoch": {name: float(np.median(own)) for name, own in took.items()},
    }


def print_quality(found):
    """Print the tables of docs/neural.md."""
    print("| ranker | NDCG@10 | lowest and highest seed |\n|---|---|---|")
    for name, value in found["ndcg"].items():
        own = found["by_seed"][name]
        print(f"| {name} | {100 * value:.2f} | {100 * min(own):.2f} to {100 * max(own):.2f} |")
    print("\n| | against | difference |\n|---|---|---|")
    for row in found["differences"]:
        print(f"| {row['of']} | {row['against']} | {100 * row['difference']:+.2f} ± {100 * row['error']:.2f} |")
    print(found["seconds_of_an_epoch"])


def optimality_nets(train):
    """Return the nets whose weights are tested: linear ones trained with all queries in one batch, and one as it comes.

    Of the linear ones, the epoch with the highest NDCG of the training part counts, or the last one.
    """
    known = {"eval_set": [train[:2]], "eval_qid": [train[2]]}
    nets = {"LambdaRank as it comes": LambdaRank().fit(*train[:2], qid=train[2])}
    for kind, epochs, rate, decay in TO_THE_END:
        net = kind(
            epochs, hidden=(), dropout=0.0, batch_size=10**6, learning_rate=rate, learning_rate_decay=decay,
            eval_metric="ndcg", early_stopping_rounds=epochs,
        )  # fmt: skip
        name = f"{kind.__name__}, {epochs} epochs"
        nets[f"{name}, the best"] = net.fit(*train[:2], qid=train[2], **known)
        nets[f"{name}, the last"] = clone(net).set_params(early_stopping_rounds=None).fit(*train[:2], qid=train[2])
    return nets


def changes_of_queries(net, train, radii, n_directions=459):
    """Return the change of NDCG of each query by each direction and length of move: directions x radii x queries."""
    score, weights = net.weight_function(train[0]), net.weights_
    length = np.linalg.norm(weights)

    def values(moved):
        found = evaluate(train[1], score(moved), qid=train[2], measures="ndcg", n_resamples=0).per_query("ndcg")
        own = np.array(list(found.values()))
        return own[~np.isnan(own)]

    base = values(weights)
    directions = [random_direction(0, number, len(weights)) for number in range(n_directions)]
    return np.array([[values(weights + length * r * unit) - base for r in radii] for unit in directions])


def beyond_chance(changes):
    """Return how many directions better the measure, and worsen it, by more than 2.33 standard errors over queries.

    2.33 errors are exceeded by chance in one direction of a hundred where the mean over many queries does not change.
    """
    error = changes.std(axis=2, ddof=1) / np.sqrt(changes.shape[2])
    sizes = changes.mean(axis=2) / np.maximum(error, 1e-12)
    return (sizes > ONE_IN_A_HUNDRED).sum(axis=0).tolist(), (sizes < -ONE_IN_A_HUNDRED).sum(axis=0).tolist()


def optimality(folder, chart):
    """Return the tests of LM 4.2 for several nets; draw them."""
    train, found = read_fold(folder, 1)[0], {}
    for name, net in optimality_nets(train).items():
        test = local_optimality(net, *train[:2], qid=train[2], measure="ndcg")
        curves = weight_curves(net, *train[:2], qid=train[2], measure="ndcg", which=range(6), radius=0.3)
        changes = changes_of_queries(net, train, test.radii)
        better, worse = beyond_chance(changes)
        found[name] = {
            "ndcg": test.value, "epoch": net.best_iteration_, "radii": test.radii.tolist(),
            "rises": test.rises.tolist(), "falls": test.falls.tolist(), "bounds": test.bounds.tolist(),
            "best": test.best_value, "rises_beyond_chance": better, "falls_beyond_chance": worse,
            "mean_change": changes.mean(axis=(0, 2)).tolist(), "queries_changed": (changes != 0).mean((0, 2)).tolist(),
            "curves": curves.values.tolist(), "moves": curves.moves.tolist(),
        }  # fmt: skip
        print(f"| {name} | {test.value:.4f} | {test.rises.tolist()} | {better} | {worse} |", flush=True)
    if chart is not None:
        drawn = ("LambdaRank, 600 epochs, the best", "RankNet, 600 epochs, the best", "LambdaRank as it comes")
        draw_curves({name: found[name] for name in drawn}).save(chart, ppi=120)
    return found


def optimality_made(sizes=(1000, 4000)):
    """Return the test of LM 4.2 for linear nets on made data of more queries, of 20 rows and 8 features."""
    found = []
    for n_queries in sizes:
        made = make_search(n_queries, 20, 8, random_state=0)
        for kind in (LambdaRank, RankNet):
            net = kind(300, hidden=(), dropout=0.0, batch_size=10**6, learning_rate=0.05, learning_rate_decay=0.98)
            test = local_optimality(net.fit(made.X, made.y, qid=made.qid), made.X, made.y, qid=made.qid, measure="ndcg")
            rows = {"ranker": kind.__name__, "n_queries": n_queries, "ndcg": test.value, "radii": test.radii.tolist()}
            found.append({**rows, "rises": test.rises.tolist(), "best": test.best_value})
            print(
                f"| {kind.__name__} | {n_queries} | {test.value:.4f} | {test.rises.tolist()} | {test.best_value:.4f} |"
            )
    return found


def draw_curves(found):
    """Return the curves of single weights, and below them the shares of directions that better the measure."""
    import altair as alt

    rows = [
        {"ranker": name, "weight": f"weight {number}", "move": move, "change": value - one["ndcg"]}
        for name, one in found.items()
        for number, own in enumerate(one["curves"])
        for move, value in zip(one["moves"], own, strict=True)
    ]
    lines = (
        alt.Chart(alt.Data(values=rows), width=210, height=170)
        .mark_line()
        .encode(
            x=alt.X("move:Q", title="move of the weight"),
            y=alt.Y("change:Q", title="change of NDCG"),
            color=alt.Color("weight:N", title=None),
            column=alt.Column("ranker:N", title="NDCG of the training part, one weight at a time (LM 4.2)"),
        )
        .resolve_scale(x="independent")
    )
    shares = [
        {"ranker": name, "radius": f"{radius:g}", "share": 100 * rises / 459}
        for name, own in found.items()
        for radius, rises in zip(own["radii"], own["rises"], strict=True)
    ]
    bars = (
        alt.Chart(alt.Data(values=shares), width=210, height=120)
        .mark_bar()
        .encode(
            x=alt.X("radius:N", title="length of the move (share of |w|)"),
            y=alt.Y("share:Q", title="directions that better it, %"),
            column=alt.Column("ranker:N", title="459 random directions"),
        )
    )
    return alt.vconcat(lines, bars)


def figure(chart):
    """Draw LM Figure 1: fewer pairwise errors, and yet worse for who looks at the top."""
    import altair as alt

    lists = {"left: 13 errors": (1, 15), "right: 11 errors": (4, 10)}
    n_rows, values = 16, []
    for name, relevant in lists.items():
        y = np.array([place in relevant for place in range(1, n_rows + 1)], float)
        scores = -np.arange(n_rows, dtype=float)
        result = evaluate(y, scores, group=[n_rows], measures=["ndcg@10", "mrr"], n_resamples=0)
        title = f"{name}, NDCG@10 {result['ndcg@10']:.2f}, RR {result['mrr']:.2f}"
        print(title)
        values += [{"list": title, "place": place + 1, "relevant": bool(y[place])} for place in range(n_rows)]
    drawn = (
        alt.Chart(alt.Data(values=values), width=260, height=260)
        .mark_bar(height=11)
        .encode(
            y=alt.Y("place:O", title="place"),
            color=alt.Color("relevant:N", title="relevant", scale=alt.Scale(range=["#c9c9c9", "#2b6cb0"])),
            column=alt.Column("list:N", title="Pairwise errors against what users feel (LM Figure 1)"),
        )
    )
    if chart is not None:
        drawn.save(chart, ppi=120)


def main():
    """Run a part."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=("choose", "quality", "optimality", "optimality_made", "figure"))
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--chart", type=Path)
    given = parser.parse_args()
    if given.part == "figure":
        return figure(given.chart)
    if given.part == "choose":
        found = choose(given.folder, given.folds, given.seeds)
    elif given.part == "quality":
        found = quality(given.folder, given.seeds, given.folds, given.epochs, given.trees)
        print_quality(found)
    elif given.part == "optimality":
        found = optimality(given.folder, given.chart)
    else:
        found = optimality_made()
    if given.json is not None:
        kept = json.loads(given.json.read_text()) if given.json.exists() else {}
        given.json.write_text(json.dumps({**kept, given.part: found}, indent=1) + "\n")
    return None


if __name__ == "__main__":
    main()
