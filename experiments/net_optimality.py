"""How near nets come to an optimum of NDCG (LM 4.2) on MQ2008 and on made data, and LM Figure 1; LM is Burges 2010.

    python experiments/net_optimality.py optimality PATH/mq2008 [--json FILE] [--chart FILE]
    python experiments/net_optimality.py optimality_made [--json FILE]
    python experiments/net_optimality.py figure [--chart FILE]

`optimality`: 459 random directions and one weight at a time, on the training part of fold 1, for LambdaRank as it comes
and for linear nets that are trained long; a direction is better beyond chance where the mean change is above 2.33 of
its standard errors over queries. `optimality_made`: the same on made data of 1,000 and 4,000 queries. `figure`: fewer
pairwise errors, and yet worse for who looks at the top.
"""

import argparse
import json
from pathlib import Path

import numpy as np
from lambdamart import read_fold
from sklearn.base import clone

from podium import LambdaRank, RankNet, evaluate, local_optimality, make_search, weight_curves

TO_THE_END = [(LambdaRank, 600, 0.02, 0.99), (LambdaRank, 2000, 0.05, 0.997), (RankNet, 600, 0.02, 0.99)]
"""Nets of the optimality test: epochs, rate and its decay."""
ONE_IN_A_HUNDRED = 2.33
"""Standard errors that a normal variable exceeds once in a hundred times."""


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
    drawn = [np.random.default_rng([0, number]).standard_normal(len(weights)) for number in range(n_directions)]
    units = [one / np.linalg.norm(one) for one in drawn]  # the directions of `local_optimality`
    return np.array([[values(weights + length * r * unit) - base for r in radii] for unit in units])


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
    parser.add_argument("part", choices=("optimality", "optimality_made", "figure"))
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--chart", type=Path)
    given = parser.parse_args()
    if given.part == "figure":
        return figure(given.chart)
    found = optimality(given.folder, given.chart) if given.part == "optimality" else optimality_made()
    if given.json is not None:
        kept = json.loads(given.json.read_text()) if given.json.exists() else {}
        given.json.write_text(json.dumps({**kept, given.part: found}, indent=1) + "\n")
    return None


if __name__ == "__main__":
    main()
