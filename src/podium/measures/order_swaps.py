"""What losses of order gain when two rows change places: the share of pairs in order (AUC), and the localized loss.

The kernels have the form of those in `podium.measures.swaps`, and see labels as *levels*: 1 for the lowest label of a
query, 2 for the next. When the rows at places i < j change places, each row k between passes both, so that with
sgn the sign, the pairs in order grow by

    sgn(y_j - y_i) + Σ_{i<k<j} (sgn(y_j - y_k) + sgn(y_k - y_i)),

j - i for a better row of two grades. The first sum is counted in a Fenwick tree over the levels of the rows between,
so that each change costs O(log levels), for two grades as for continuous labels.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from podium._compiled import SCORE, compiled_argument, compiled_part
from podium._validation import Array
from podium.measures.conventions import Rules
from podium.measures.measure import Rows, values_alone
from podium.measures.swaps import Swap
from podium.measures.ties import Ranking


def label_levels(ranking: Ranking, rules: Rules) -> Rows:
    """Levels of the labels of each query: 1 for its lowest, 2 for the next."""
    query = np.repeat(np.arange(len(ranking.sizes)), ranking.sizes)
    order = np.lexsort((ranking.labels, query))
    labels, query = ranking.labels[order], query[order]
    rises = np.cumsum(np.append(False, (labels[1:] != labels[:-1]) & (query[1:] == query[:-1])))
    levels = np.empty(len(labels), SCORE)
    levels[order] = 1.0 + rises - rises[ranking.offsets[query]]
    return values_alone(ranking, levels)


@compiled_part
def add_to_tree(tree: Array, level: int, n: int) -> None:
    """Count one more row of a level."""
    while level <= n:
        tree[level] += 1.0
        level += level & -level


@compiled_part
def count_up_to(tree: Array, level: int) -> float:
    """Return how many rows of a level or a lower one were counted."""
    count = 0.0
    while level > 0:
        count += tree[level]
        level -= level & -level
    return count


@compiled_argument
def pairs_state(n: int, values: Array, units: Array, k: int, state_out: Array) -> float:
    """Return 1 over the number of pairs of different levels, 0 for none; the first row of the state is scratch."""
    state_out[0, : n + 1] = 0.0
    pairs = 0.0
    for i in range(n):
        pairs += i - state_out[0, int(values[i])]
        state_out[0, int(values[i])] += 1.0
    return 1.0 / pairs if pairs > 0.0 else 0.0


@compiled_argument
def pairs_rows(
    n: int, first: int, stop: int, values: Array, units: Array, state: Array, scale: float, deltas_out: Array
) -> None:
    """Change of the share of pairs in order."""
    for i in range(first, stop):
        fill_pair_row(i, n, n, values, state[0], scale, deltas_out[i - first])


@compiled_part
def fill_pair_row(i: int, stop: int, n: int, values: Array, tree: Array, scale: float, deltas_out: Array) -> None:
    """Fill the changes of pairs in order for place i and the places j from i + 1 until `stop`.

    The tree has the rows between i and `stop` afterwards.
    """
    tree[: n + 1] = 0.0
    here, lean = values[i], 0.0
    for j in range(i + 1, stop):
        level, sign = int(values[j]), np.sign(values[j] - here)
        lower, as_high = count_up_to(tree, level - 1), count_up_to(tree, level)
        deltas_out[j] = scale * (sign + lean + lower - (j - i - 1 - as_high))
        lean += sign
        add_to_tree(tree, level, n)


@compiled_argument
def localized_state(n: int, values: Array, units: Array, k: int, state_out: Array) -> float:
    """Return 2/(n (n - 1)); rows 0 and 1 are scratch, then come the K-th level and its places, its rows seen, and K.

    "Its places" are those of the first K that rows above that level leave, "seen" its rows among the first K.
    """
    k = min(k, n)
    levels = np.sort(values[:n])
    cut, above, seen = levels[n - k], 0.0, 0.0
    for i in range(n):
        above += values[i] > cut
        seen += i < k and values[i] == cut
    state_out[2, 0], state_out[2, 1] = cut, k - above
    state_out[3, 0], state_out[3, 1] = seen, k
    return 2.0 / (n * (n - 1.0)) if n > 1 else 0.0


@compiled_argument
def localized_rows(
    n: int, first: int, stop: int, values: Array, units: Array, state: Array, scale: float, deltas_out: Array
) -> None:
    """Fall of the localized loss@K (CR Eq. 2.5), K being the truncation.

    Two rows of the first K places change the misordered pairs among them. A row from beyond, at j, takes the place and
    the pairs of the one at i: it is misordered with the lower rows above and the higher rows below it; and the first K
    rows may miss one row more, or less, of the true ones.
    """
    k, between, before = int(state[3, 1]), state[0], state[1]
    missed = 2.0 * (n - k) / (n * float(n))
    for i in range(first, stop):
        out = deltas_out[i - first]
        out[i + 1 : n] = 0.0
        if i < k:
            fill_pair_row(i, k, n, values, between, scale, out)
            before[: n + 1] = 0.0
            for place in range(i):
                add_to_tree(before, int(values[place]), n)
            own = misordered_at(int(values[i]), between, before)
            for j in range(k, n):
                others = misordered_at(int(values[j]), between, before)
                out[j] = missed * found_more(values[i], values[j], state) - scale * (others - own)


@compiled_part
def misordered_at(level: int, below: Array, above: Array) -> float:
    """Rows of a higher level below a place, less those that do not depend on the level, and of a lower one above it."""
    return float(count_up_to(above, level - 1)) - float(count_up_to(below, level))


@compiled_part
def found_more(leaving: float, entering: float, state: Array) -> float:
    """Return how many rows more of the true first K are among the first K places when one row takes another's place."""
    cut, places, seen = state[2, 0], state[2, 1], state[3, 0]
    higher = 1.0 * (entering > cut) - 1.0 * (leaving > cut)
    then = seen + 1.0 * (entering == cut) - 1.0 * (leaving == cut)
    return float(higher + min(then, places) - min(seen, places))


ORDER_SWAPS: Mapping[str, Swap] = {
    "auc": Swap(label_levels, pairs_state, pairs_rows),
    "localized": Swap(label_levels, localized_state, localized_rows),
}
"""Measures of order that LambdaMART can follow; the localized loss is turned round, so that more is better."""
