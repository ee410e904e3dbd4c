"""RankBoost against AdaBoost on two grades, which section 7 of the RankBoost paper (Freund et al. 2003, "RB") proposes.

    python experiments/two_grades.py PATH/ordinal [--sets boston …] [--splits 10] [--rounds 1000]

Sets and splits of experiments/ordinal.py (the sets of Chu and Keerthi), ranks above 5 against the others: one list.
RankBoost has stumps by the exact criterion z, AdaBoost the same stumps: scikit-learn's, and ORBoost, which for two
grades is AdaBoost with a threshold at the lowest loss after each round, as if a constant were a weak classifier. `auc`
is the share of test pairs in order after all rounds.

The equivalence (Rudin and Schapire 2009): with F₊ = Σ exp(-f) over the upper rows and F₋ = Σ exp(f) over the lower
ones, AdaBoost lowers F₊ + F₋ and RankBoost F₊ F₋, the exponential loss of pairs. Where a constant is among the weak
classifiers, F₊ = F₋ at AdaBoost's optimum and both have the same one. `losses` are means of F₊ F₋ over pairs after some
rounds, on the training rows of the first split, whose features are cut at their quartiles: three stumps a feature, so
that there is an optimum to reach. Results are kept in results/two_grades.json (`--folder`).
"""

import argparse
from pathlib import Path

import numpy as np
from ordinal import SIZES, read_set, splits
from paper_tables import RESULTS, keep, markdown
from sklearn.ensemble import AdaBoostClassifier
from sklearn.tree import DecisionTreeClassifier

from podium import ORBoost, RankBoost, evaluate

SETS = ("machinecpu", "boston", "abalone", "bank")
STAGES = (1, 10, 100, 1000, 10000)
NAMES = ("RankBoost", "AdaBoost, with a constant", "AdaBoost, scikit-learn")


def rankers(n_rounds):
    """Return the three rankers."""
    stump = DecisionTreeClassifier(max_depth=1)
    return (
        RankBoost(n_rounds, criterion="z", alpha="z", n_jobs=1),
        ORBoost(n_rounds, n_jobs=1),
        AdaBoostClassifier(stump, n_estimators=n_rounds, random_state=0),
    )


def scores_of(model, X):
    """Return what rows are ordered by."""
    if isinstance(model, AdaBoostClassifier):
        return model.decision_function(X)
    return model.predict_rank(X) if isinstance(model, ORBoost) else model.predict(X)


def auc(y, scores):
    """Return the share of pairs in order, a tie counting half."""
    return evaluate(y, scores, group=[len(y)], measures="auc", n_resamples=0, n_jobs=1)["auc"]


def staged_scores(model, X):
    """Yield the sum of weighted stumps after each round: answers 0 and 1 for both."""
    total = np.zeros(len(X))
    for one in model.rounds_:
        stump = one.ranking if isinstance(model, ORBoost) else one
        answers = stump.predict(X) if isinstance(model, ORBoost) else stump_answers(stump, X)
        total = total + one.alpha * answers
        yield total


def stump_answers(stump, X):
    """Return 1 where the feature is above the threshold."""
    return (X[:, stump.feature] > stump.threshold).astype(float)


def pair_loss(y, scores):
    """Return the mean of exp(f⁻ - f⁺) over pairs, as a product of sums."""
    upper, lower = scores[y == 1], scores[y == 0]
    return float(np.exp(-upper).mean() * np.exp(lower).mean())


def run_set(name, options):
    """Return means of test AUC, errors of the differences from RankBoost, and losses by rounds."""
    X, ranks = read_set(options.data, name)
    y, found = (ranks > 5).astype(float), []
    for train, test in splits(len(X), SIZES[name], options.splits):
        models = [model.fit(X[train], y[train]) for model in rankers(options.rounds)]
        found.append([auc(y[test], scores_of(model, X[test])) for model in models])
    values = np.array(found)
    apart = values - values[:, :1]
    errors = apart.std(axis=0, ddof=1) / np.sqrt(len(apart)) if len(apart) > 1 else np.zeros(3)
    train, _ = next(splits(len(X), SIZES[name], 1))
    losses = curves(X[train], y[train], options.rounds)
    return {"auc": values.mean(axis=0).tolist(), "errors": errors.tolist(), "losses": losses}


def curves(X, y, n_rounds):
    """Return the exponential loss of pairs after some rounds of RankBoost and AdaBoost, features cut at quartiles."""
    cut = np.transpose([np.digitize(column, np.quantile(column, [0.25, 0.5, 0.75])) for column in X.T]).astype(float)
    found = {}
    for name, model in zip(NAMES, rankers(n_rounds)[:2], strict=False):
        values = [pair_loss(y, scores) for scores in staged_scores(model.fit(cut, y), cut)]
        found[name] = {at: values[min(at, len(values)) - 1] for at in STAGES if at <= n_rounds}  # ended: the last
    return found


def tables(results):
    """Return the tables of the page."""
    sets, quality, losses = results["sets"], [], []
    for name, own in sets.items():
        first, *others = zip(own["auc"], own["errors"], strict=True)
        apart = (f"{100 * value:.2f} ({100 * (value - first[0]):+.2f} ± {100 * e:.2f})" for value, e in others)
        quality.append([name, f"{100 * first[0]:.2f}", *apart])
        for ranker, curve in own["losses"].items():
            losses.append([f"{name}, {ranker}", *(f"{value:.3g}" for value in curve.values())])
    stages = next(iter(next(iter(sets.values()))["losses"].values()))
    return {
        "two-grades-auc": markdown(["test AUC, % (less RankBoost's)", *NAMES], quality),
        "two-grades-losses": markdown(["exponential loss of training pairs, rounds", *map(str, stages)], losses),
    }


def main():
    """Run the sets, print and keep them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--sets", nargs="+", choices=SIZES, default=SETS)
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=1000)
    parser.add_argument("--folder", type=Path, default=RESULTS)
    options = parser.parse_args()
    results = {"rounds": options.rounds, "sets": {name: run_set(name, options) for name in options.sets}}
    keep("two_grades", results, options.folder)
    print("\n\n".join(tables(results).values()))


if __name__ == "__main__":
    main()
