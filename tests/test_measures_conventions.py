"""`convention=` against the tools themselves; each comparison skips where its tool is not installed."""

import math
from itertools import pairwise

import numpy as np
import pytest

from peers import peer
from podium._validation import PodiumError
from podium.measures import measure_queries
from reference import measures as twin


@pytest.fixture(scope="module")
def search():
    """Forty queries of 2 to 14 rows, tied scores (4-byte numbers); two queries have nothing relevant."""
    rng = np.random.default_rng(3)
    sizes = rng.integers(2, 15, 40)
    offsets = np.r_[0, np.cumsum(sizes)]
    labels = rng.choice(4, offsets[-1], p=[0.6, 0.2, 0.1, 0.1]).astype(float)
    for query in (3, 7):
        labels[offsets[query] : offsets[query + 1]] = 0.0
    scores = np.round(rng.normal(size=len(labels)), 1).astype(np.float32).astype(float)
    return labels, scores, offsets


def values(name, search, convention, **options):
    return measure_queries(name, *search, convention=convention, **options).values


def queries(search):
    labels, scores, offsets = search
    return [(labels[a:b], scores[a:b]) for a, b in pairwise(offsets)]


@pytest.mark.parametrize("k", [None, 1, 3, 10])
def test_sklearn_convention_is_sklearns_ndcg_and_dcg(search, k):
    from sklearn.metrics import dcg_score, ndcg_score

    suffix = "" if k is None else f"@{k}"
    for name, score in (("ndcg", ndcg_score), ("dcg", dcg_score)):
        expected = [score([y], [s], k=k) for y, s in queries(search)]
        np.testing.assert_allclose(values(name + suffix, search, "sklearn"), expected, atol=1e-12)


def test_auc_is_sklearns(search):
    from sklearn.metrics import roc_auc_score

    for (y, s), value in zip(queries(search), values("auc", search, "podium"), strict=True):
        if 0 < (y > 0).sum() < len(y):
            assert math.isclose(value, roc_auc_score(y > 0, s), rel_tol=1e-12)
        else:
            assert math.isnan(value)


def test_map_without_ties_is_sklearns_label_ranking_average_precision(search):
    from sklearn.metrics import label_ranking_average_precision_score as precision

    labels, _, offsets = search
    scores = np.random.default_rng(0).normal(size=len(labels))
    for (y, s), value in zip(
        queries((labels, scores, offsets)), values("map", (labels, scores, offsets), "podium"), strict=True
    ):
        if (y > 0).any():
            assert math.isclose(value, precision([y > 0], [s]), rel_tol=1e-12)


TREC = {"ndcg": "ndcg", "ndcg@3": "ndcg_cut_3", "map": "map", "map@3": "map_cut_3", "mrr": "recip_rank"} | {
    "p@5": "P_5",
    "p@20": "P_20",
    "recall@5": "recall_5",
}


@pytest.mark.parametrize("name", TREC)
def test_trec_convention_is_trec_evals_with_rows_by_falling_name(search, name):
    pytrec_eval = peer("pytrec_eval")
    qrels, run = {}, {}
    for query, (y, s) in enumerate(queries(search)):
        names = [f"d{len(y) - row:03d}" for row in range(len(y))]
        qrels[str(query)] = dict(zip(names, y.astype(int).tolist(), strict=True))
        run[str(query)] = dict(zip(names, s.tolist(), strict=True))
    measure = TREC[name].replace("_cut_", "_cut.") if "cut" in TREC[name] else TREC[name].replace("_", ".")
    measure = "recip_rank" if name == "mrr" else measure
    result = pytrec_eval.RelevanceEvaluator(qrels, {measure}).evaluate(run)
    expected = [result[str(query)][TREC[name]] for query in range(len(qrels))]
    np.testing.assert_allclose(values(name, search, "trec"), expected, atol=1e-12)


def test_trec_convention_counts_relevant_rows_below_the_depth_as_missed(search):
    pytrec_eval = peer("pytrec_eval")
    labels, _, offsets = search
    scores = np.concatenate([-np.arange(b - a, dtype=float) for a, b in pairwise(offsets)])
    depths = np.maximum(1, np.diff(offsets) // 2)
    qrels, run = {}, {}
    for query, (y, s) in enumerate(queries((labels, scores, offsets))):
        qrels[str(query)] = {str(row): int(grade) for row, grade in enumerate(y)}
        run[str(query)] = {str(row): float(s[row]) for row in range(depths[query])}
    names = {"map": "map", "ndcg": "ndcg", "mrr": "recip_rank", "ndcg@5": "ndcg_cut_5", "p@5": "P_5"}
    result = pytrec_eval.RelevanceEvaluator(qrels, {"map", "ndcg", "recip_rank", "ndcg_cut.5", "P.5"}).evaluate(run)
    for name, theirs in names.items():
        expected = [result[str(query)][theirs] for query in range(len(qrels))]
        ours = values(name, (labels, scores, offsets), "trec", depths=depths)
        np.testing.assert_allclose(ours, expected, atol=1e-12, err_msg=name)


@pytest.mark.parametrize("k", [1, 3, 5, 20])
def test_lightgbm_convention_is_lightgbms_ndcg_and_map(search, k):
    lightgbm = peer("lightgbm")
    labels, scores, offsets = search
    data = lightgbm.Dataset(scores[:, None], labels, group=np.diff(offsets), init_score=scores)
    settings = {"objective": "lambdarank", "metric": ["ndcg", "map"], "eval_at": [k], "verbosity": -1}
    for _, name, expected, _ in lightgbm.Booster(settings, data).eval_train():
        assert math.isclose(values(name, search, "lightgbm").mean(), expected, rel_tol=1e-12), name


def xgboost_values(search, metrics, objective):
    xgboost = peer("xgboost")
    labels, scores, offsets = search
    data = xgboost.DMatrix(scores[:, None], labels, group=np.diff(offsets), base_margin=scores)
    booster = xgboost.Booster({"objective": objective, "eval_metric": metrics}, [data])
    pairs = [field.removeprefix("eval-").split(":") for field in booster.eval(data).split("\t")[1:]]
    return {name: float(value) for name, value in pairs}


def test_xgboost_convention_is_xgboosts_ndcg(search):
    theirs = xgboost_values(search, ["ndcg", "ndcg@1", "ndcg@3", "ndcg@20", "ndcg@3-"], "rank:ndcg")
    for name, expected in theirs.items():
        options = {"empty": 0} if name.endswith("-") else {}
        ours = values(name.removesuffix("-"), search, "xgboost", **options).mean()
        assert math.isclose(ours, expected, rel_tol=1e-6), name


def test_xgboost_convention_is_xgboosts_map_and_precision(search):
    labels, scores, offsets = search
    binary = (labels > 0).astype(float), scores, offsets
    theirs = xgboost_values(binary, ["map", "map@1", "map@3", "map@3-", "pre@1", "pre@3", "pre@20"], "rank:map")
    for name, expected in theirs.items():
        options = {"empty": 0} if name.endswith("-") else {}
        ours = values(name.removesuffix("-").replace("pre", "p"), binary, "xgboost", **options).mean()
        assert math.isclose(ours, expected, rel_tol=1e-6), name


CATBOOST = {
    "NDCG:top=3": "ndcg@3",
    "NDCG": "ndcg",
    "DCG:top=3": "dcg@3",
    "MRR": "mrr",
    "MRR:top=3": "mrr@3",
    "MAP": "map",
    "MAP:top=3": "map@3",
    "PrecisionAt:top=3": "p@3",
    "PrecisionAt:top=20": "p@20",
    "RecallAt:top=3": "recall@3",
}


@pytest.mark.parametrize("metric", CATBOOST)
def test_catboost_convention_is_catboosts(search, metric):
    catboost_utils = peer("catboost.utils")
    labels, scores, offsets = search
    group = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    expected = catboost_utils.eval_metric(labels, scores, metric, group_id=group)[0]
    assert math.isclose(values(CATBOOST[metric], search, "catboost").mean(), expected, rel_tol=1e-12)


@pytest.mark.plain
def test_letor_convention_has_no_ndcg_at_more_places_than_rows():
    search = np.array([1.0, 0.0, 2.0]), np.array([3.0, 2.0, 1.0]), np.array([0, 3])
    assert values("ndcg@4", search, "letor")[0] == 0.0
    assert values("map@2", search, "letor")[0] == 0.5


@pytest.mark.plain
def test_letor_convention_discounts_from_the_third_place_as_its_script_does():
    """Eval-Score-4.0.pl adds the gains of places 1 and 2, and from place i = 3 on gain · log 2/log i."""
    search = np.array([1.0, 0.0, 2.0]), np.array([3.0, 2.0, 1.0]), np.array([0, 3])
    assert values("ndcg@2", search, "letor")[0] == 1 / (3 + 1)
    assert math.isclose(values("dcg@3", search, "letor")[0], 1 + 3 * math.log(2) / math.log(3))
    assert math.isclose(values("ndcg@3", search, "letor")[0], (1 + 3 * math.log(2) / math.log(3)) / 4)


@pytest.mark.plain
def test_ranklib_convention_divides_map_by_all_relevant_and_precision_by_rows():
    search = np.array([1.0, 0.0, 2.0]), np.array([3.0, 2.0, 1.0]), np.array([0, 3])
    assert values("map@2", search, "ranklib")[0] == 0.5
    assert math.isclose(values("p@10", search, "ranklib")[0], 2 / 3)
    assert values("ndcg@4", search, "ranklib")[0] == values("ndcg", search, "podium")[0]


def by_rules(name, labels, scores, rules):
    """A measure of one query by the rules of a tool, from the formulas; NaN where nothing is relevant."""
    base, _, k = name.partition("@")
    k = int(k) if k else len(labels)
    orders = (
        list(twin.orders(labels, scores))
        if rules["ties"] == "expected"
        else [twin.ordered(labels, scores, rules["ties"])]
    )
    return math.fsum(by_order(base, order, k, rules) for order in orders) / len(orders)


def by_order(base, order, k, rules):
    found = [place for place, label in enumerate(order, 1) if rules["relevant"](label)]
    if base == "ndcg":
        short = "short" in rules and len(order) < k
        gains = [rules["gain"](label) for label in order]
        whole = letor_ndcg(gains, k) if "short" in rules else twin.ndcg_of_gains(gains, k)
        return 0.0 if short and not math.isnan(whole) else whole
    if not found:
        return math.nan
    seen = [place for place in found if place <= k]
    over = len(found) if rules["map"] == "relevant" else min(len(found), k)
    return {
        "map": sum((j + 1) / place for j, place in enumerate(seen)) / over,
        "mrr": 1 / seen[0] if seen else 0.0,
        "p": len(seen) / (min(k, len(order)) if rules["p"] == "rows" else k),
        "recall": len(seen) / len(found),
    }[base]


def letor_ndcg(gains, k):
    """Places 1 and 2 count alike, place i from 3 on 1/log2(i)."""
    whole, best = (
        sum(gain / math.log2(max(place, 2)) for place, gain in enumerate(own[:k], 1))
        for own in (gains, sorted(gains, reverse=True))
    )
    return whole / best if best else math.nan


def exp2(label):
    return 2.0**label - 1


def linear(label):
    return label


def positive(label):
    return label > 0


def half(label):
    return label > 0.5


TOOLS = {
    "podium": ("expected", math.nan, exp2, positive, "reachable", "k"),
    "trec": ("stable", 0, linear, lambda label: label >= 1, "relevant", "k"),
    "sklearn": ("expected", 0, linear, positive, "reachable", "k"),
    "lightgbm": ("stable", 1, exp2, half, "reachable", "k"),
    "xgboost": ("stable", 1, exp2, positive, "reachable", "rows"),
    "catboost": ("pessimistic", 0, linear, half, "reachable", "rows"),
    "ranklib": ("stable", 0, exp2, positive, "relevant", "rows"),
    "letor": ("stable", 0, exp2, positive, "relevant", "k"),
}
EMPTY_OF = {("xgboost", "p"): 0, ("catboost", "ndcg"): 1, ("catboost", "recall"): 1}


@pytest.mark.plain
@pytest.mark.parametrize("convention", TOOLS)
@pytest.mark.parametrize("name", ["ndcg", "ndcg@2", "ndcg@5", "map", "map@2", "mrr@2", "p@2", "p@5", "recall@2"])
def test_conventions_have_the_rules_of_their_tools(convention, name):
    """Tied rows, a label of 0.5, a query of fewer rows than k, and one with nothing relevant."""
    queries = [
        ([0.5, 0.0, 2.0, 0.0], [1.0, 1.0, 1.0, 0.0]),
        ([0.5, 1.0, 0.0, 0.0, 2.0], [2.0, 1.0, 1.0, 1.0, 0.0]),
        ([0.0, 1.0, 0.5], [1.0, 1.0, 2.0]),
        ([0.0, 0.0], [1.0, 1.0]),
    ]
    keys = ("ties", "empty", "gain", "relevant", "map", "p")
    rules = dict(zip(keys, TOOLS[convention], strict=True), **({"short": True} if convention == "letor" else {}))
    expected = np.array([by_rules(name, y, s, rules) for y, s in queries])
    offsets = np.r_[0, np.cumsum([len(y) for y, _ in queries])]
    data = np.concatenate([y for y, _ in queries]), np.concatenate([s for _, s in queries]), offsets
    empty = EMPTY_OF.get((convention, name.partition("@")[0]), rules["empty"])
    np.testing.assert_allclose(
        values(name, data, convention), np.where(np.isnan(expected), empty, expected), atol=1e-12
    )
    for asked in (0, 1, "skip"):
        filled = np.where(np.isnan(expected), np.nan if asked == "skip" else asked, expected)
        np.testing.assert_allclose(values(name, data, convention, empty=asked), filled, atol=1e-12)


@pytest.mark.plain
def test_unknown_convention_is_refused_with_the_near_one():
    search = np.zeros(2), np.zeros(2), np.array([0, 2])
    with pytest.raises(PodiumError, match=r"convention must be one of podium, trec.*\(did you mean xgboost"):
        values("ndcg", search, "XGBosst")
    with pytest.raises(PodiumError, match=r"got 'gboost' \(did you mean xgboost or catboost\?\)\.$"):
        values("ndcg", search, "gboost")
