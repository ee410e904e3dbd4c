"""Our rankers in leaderboard_ordinal.py, and what is searched for each; ordinal_libraries.py has those of others.

python experiments/ordinal_contenders.py    # the spaces
"""

from leaderboard_peers import RATE, Contender, print_spaces
from ordinal_libraries import LEAST_ROWS, LEAVES, ROUNDS
from threadpoolctl import threadpool_limits

import podium
from podium.tuning import SPACES, Choice, Real, Whole

KERNELS = ("perceptron", "linear", "rbf 0.03", "rbf 0.1", "rbf 0.3", "rbf 1")
"""Of SVOR; a Gaussian one with its gamma times the number of features."""


def own(make, space, start):
    """Return one of our rankers, on one thread."""

    def fit(given, train, _):
        with threadpool_limits(1):
            return make(train, **given).fit(train.X, train.y).predict

    return Contender(space, start, fit)


def svor(train, C, kernel):
    """SVOR with the kernel of a trial."""
    name, _, width = kernel.partition(" ")
    gamma = {"gamma": float(width) / train.X.shape[1]} if width else {}
    return podium.SVOR(C, kernel=name, **gamma)


def cut_trees(_, **given):
    """MART on the ranks, cut into ranks."""
    return podium.OrdinalThresholds(podium.MART(n_jobs=1, **given), folds=3)


def extended(_, **given):
    """Trees of scikit-learn on the questions whether the rank is above k."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    return podium.ExtendedBinary(HistGradientBoostingClassifier(random_state=0, **given), encoding="number")


STUMPS = {"n_estimators": Whole(30, 1000, log=True)}
BINARY = {"max_iter": Whole(10, 60, log=True), "learning_rate": RATE, "max_leaf_nodes": LEAVES}
MART_SPACE = {**SPACES["MART"], "n_estimators": ROUNDS, "max_leaves": LEAVES, "min_child_samples": LEAST_ROWS}
MART_START = {name: podium.MART().get_params()[name] for name in MART_SPACE}
OURS = {
    "AdaBoostOR": own(lambda _, **given: podium.AdaBoostOR(**given), STUMPS, {"n_estimators": 100}),
    "ORBoost": own(
        lambda _, **given: podium.ORBoost(**given), {**SPACES["ORBoost"], **STUMPS},
        {"n_estimators": 100, "variant": "all-margins", "learning_rate": 1.0},
    ),
    "BaggingOR": own(
        lambda _, n_estimators: podium.BaggingOR(podium.AdaBoostOR(n_estimators=n_estimators), n_estimators=10),
        {"n_estimators": Whole(30, 200, log=True)}, {"n_estimators": 100},
    ),
    "ORStump": own(lambda _: podium.ORStump(), {}, {}),
    "PRank": own(lambda _, **given: podium.PRank(**given), SPACES["PRank"], {"variant": "siprank", "epochs": 2000}),
    "SVOR": own(
        svor, {"C": Real(0.01, 100.0, log=True), "kernel": Choice(KERNELS)}, {"C": 1.0, "kernel": "perceptron"}
    ),
    "ExtendedBinary, HistGB": own(extended, BINARY, {"max_iter": 50, "learning_rate": 0.1, "max_leaf_nodes": 31}),
    "OrdinalThresholds, MART": own(cut_trees, MART_SPACE, MART_START),
}  # fmt: skip


if __name__ == "__main__":
    print_spaces(OURS)
