"""Effects of features and their importance by permutation, against predictions of changed rows, in any row order."""

from functools import partial

import numpy as np
import pandas as pd
import pytest

import podium
from explained_rows import fit_trees, random_rows
from podium import (
    AdaBoostOR,
    GradientFreeBoost,
    NearestNeighbor,
    PodiumError,
    PreferenceRegression,
    RankBoost,
    evaluate,
    make_search,
    permutation_importance,
)

pytestmark = [
    pytest.mark.plain,
    pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning"),  # random bits, in plain kernels
]


rows_of = partial(random_rows, n_rows=60, n_features=4)
trees = partial(fit_trees, n_estimators=5, max_leaves=7)


def value_at(curve, x):
    """The effect of a value, by the definition of steps."""
    if x != x:
        return curve.missing
    return curve.effect[sum(x > t for t in curve.points)]


def dependence(model, X, feature, x):
    """Partial dependence by its definition: the mean score of rows that all have one value."""
    changed = X.copy()
    changed[:, feature] = x
    return model.predict(changed).mean()


def test_missing_values_have_an_effect_where_no_number_goes_their_way(read):
    """Below 1 a second split at 2 sends all numbers to the left and what is missing to the right."""
    ends = [{"nodeid": 3, "leaf": 1.0}, {"nodeid": 4, "leaf": 5.0}]
    below = {"nodeid": 1, "split": "f0", "split_condition": 2, "yes": 3, "no": 4, "missing": 4, "children": ends}
    above = {"nodeid": 2, "leaf": 3.0}
    root = {"nodeid": 0, "split": "f0", "split_condition": 1, "yes": 1, "no": 2, "missing": 1}
    model = read([{**root, "children": [below, above]}])
    (curve,) = model.effects(np.array([[0.0], [np.nan]]))
    assert curve.missing - curve.effect[0] == 5.0 - 1.0


@pytest.mark.parametrize(("seed", "dtype"), [(0, np.float64), (1, np.float32), (2, np.float64)])
def test_effects_of_trees_are_partial_dependence(seed, dtype):
    X, y = rows_of(seed, dtype=dtype)
    model = trees(X, y)
    effects = model.effects(X)
    assert [curve.spread for curve in effects] == sorted((curve.spread for curve in effects), reverse=True)
    for curve in effects:
        assert curve.kind == "steps"
        own = X[:, curve.feature]
        points = [*np.unique(own[~np.isnan(own)])[::4], *curve.points[:3], -50.0, 50.0, np.nan]
        expected = np.array([dependence(model, X, curve.feature, dtype(x)) for x in points])
        found = np.array([value_at(curve, dtype(x)) for x in points])
        np.testing.assert_allclose(found - found[0], expected - expected[0], atol=1e-12)
        of_rows = np.array([value_at(curve, x) for x in own])
        assert of_rows.mean() == pytest.approx(0.0, abs=1e-12)
        assert of_rows.std() == pytest.approx(curve.spread, abs=1e-12)


def test_effects_of_stumps_and_sums_are_what_features_add():
    X, y = rows_of(4)
    model = RankBoost(25).fit(X, y, group=[len(y)])
    for curve in model.effects(X):
        for a, b in ((0, 7), (3, 21), (50, 5)):
            parts = model.explain(X, a, b).contributions[curve.feature]
            found = value_at(curve, X[a, curve.feature]) - value_at(curve, X[b, curve.feature])
            assert found == pytest.approx(parts, abs=1e-12)
    linear = PreferenceRegression().fit(X, y)
    for curve in linear.effects(X):
        assert curve.kind == "line"
        slope = (curve.effect[1] - curve.effect[0]) / (curve.points[1] - curve.points[0])
        assert slope == pytest.approx(linear.coef_[curve.feature])
        own = X[:, curve.feature]
        assert curve.points.tolist() == [np.nanmin(own), np.nanmax(own)]
        filled = np.where(np.isnan(own), linear.averages_[curve.feature], own)
        assert curve.effect[0] == pytest.approx(slope * (curve.points[0] - filled.mean()))
        assert curve.missing == pytest.approx(slope * (linear.averages_[curve.feature] - filled.mean()))
        assert curve.spread == pytest.approx(abs(slope) * filled.std())


def test_effects_of_categories():
    X, y = rows_of(1, n_features=4)
    site = np.random.default_rng(2).integers(0, 5, len(y))
    frame = pd.DataFrame(X, columns=list("wxyz"))
    frame["site"] = pd.Categorical(np.array(list("abcde"))[site])
    frame.loc[::7, "site"] = None
    model = trees(frame, y + 2 * (site == 2), cat_smooth=0.0)
    curve = model.effects(frame)["site"]
    assert curve.kind == "categories"
    assert curve.points.tolist() == list("abcde")
    expected = []
    for value in [*"abcde", None]:
        changed = frame.copy()
        changed["site"] = pd.Categorical([value] * len(y), categories=list("abcde"))
        expected.append(model.predict(changed).mean())
    found = np.array([*curve.effect, curve.missing])
    np.testing.assert_allclose(found - found[0], np.array(expected) - expected[0], atol=1e-12)
    places = np.array([*curve.effect, curve.missing])[np.where(frame["site"].isna(), 5, site)]
    assert places.mean() == pytest.approx(0.0, abs=1e-12)


def test_effects_do_not_hang_on_the_order_of_rows_and_survive_a_file(tmp_path):
    X, y = rows_of(5)
    model = trees(X, y)
    model.save(tmp_path / "m.podium")
    order = np.random.default_rng(0).permutation(len(y))
    again = podium.load(tmp_path / "m.podium").effects(X[order])
    for one, other in zip(model.effects(X), again, strict=True):
        assert one.to_dict() == other.to_dict()


def test_effects_as_frames_text_and_by_name():
    X, y = rows_of(6)
    model = trees(pd.DataFrame(X, columns=list("wxyz")), y)
    effects = model.effects(pd.DataFrame(X, columns=list("wxyz")), features=["x", 0])
    assert sorted(curve.name for curve in effects) == ["w", "x"]
    frame = effects.to_pandas()
    assert frame.columns.tolist() == ["feature", "above", "up_to", "effect"]
    assert len(frame) == sum(len(curve.effect) + 1 for curve in effects)
    assert effects["x"].rows()[0]["above"] == -np.inf
    assert effects["x"].rows()[-1] == {"feature": "x", "above": None, "up_to": None, "effect": effects["x"].missing}
    assert str(effects).splitlines()[0].split() == ["feature", "spread", "lowest", "highest", "missing"]
    assert len(str(effects).splitlines()) == 3
    assert effects.to_dict()[0]["kind"] == "steps"
    with pytest.raises(PodiumError, match=r"There is no effect of 'xx' \(did you mean x\?\); there are"):
        effects["xx"]
    for wrong in ("q", 4, -1, True):
        with pytest.raises(PodiumError, match="features must be names or numbers of features, from 0 to 3"):
            model.effects(pd.DataFrame(X, columns=list("wxyz")), features=[wrong])
    with pytest.raises(PodiumError, match="cannot be explained feature by feature"):
        AdaBoostOR(n_estimators=3).fit(X, y).effects(X)


def test_a_new_fit_is_explained_anew():
    X, y = rows_of(7)
    model = trees(X, y)
    before = model.explain(X, 0, 1).contributions
    np.testing.assert_array_equal(model.explain(X, 0, 1).contributions, before)
    model.fit(X, 3 - y, group=[len(y)])
    after = model.explain(X, 0, 1)
    assert after.contributions.sum() == pytest.approx(after.difference, abs=1e-12)
    model.refit(X, y, group=[len(y)], decay=0.0)
    again = model.explain(X, 0, 1)
    assert again.contributions.sum() == pytest.approx(again.difference, abs=1e-12)


DATA = make_search(15, docs_per_query=8, n_features=5, random_state=0)


@pytest.mark.parametrize("measure", ["ndcg@5", "pair_loss"])
def test_drops_are_losses_of_the_measure_on_shuffled_rows(measure):
    model = RankBoost(20).fit(DATA.X, DATA.y, qid=DATA.qid)
    found = permutation_importance(model, DATA.X, DATA.y, qid=DATA.qid, measure=measure, n_repeats=15)
    assert found.value == evaluate(DATA.y, model.predict(DATA.X), qid=DATA.qid, measures=measure)[measure]
    rng = np.random.default_rng(1)
    for one in found.drops:
        feature = int(one.name[1:])
        lost = []
        for _ in range(15):
            changed = DATA.X.copy()
            for query in np.unique(DATA.qid):
                rows = np.flatnonzero(DATA.qid == query)
                changed[rows, feature] = changed[rng.permutation(rows), feature]
            value = evaluate(DATA.y, model.predict(changed), qid=DATA.qid, measures=measure)[measure]
            lost.append((found.value - value) * (-1 if measure == "pair_loss" else 1))
        assert one.drop == pytest.approx(np.mean(lost), abs=4 * np.std(lost) / np.sqrt(7.5) + 1e-12)
        assert one.low <= one.drop <= one.high
    assert found.drops[0].drop > 0
    assert [one.drop for one in found.drops] == sorted((one.drop for one in found.drops), reverse=True)


def test_drops_do_not_hang_on_order_or_on_other_features():
    model = RankBoost(10).fit(DATA.X, DATA.y, qid=DATA.qid)
    found = permutation_importance(model, DATA.X, DATA.y, qid=DATA.qid)
    order = np.random.default_rng(0).permutation(len(DATA.y))
    again = permutation_importance(model, DATA.X[order], DATA.y[order], qid=DATA.qid[order] * -1)
    assert found.drops == again.drops
    alone = permutation_importance(model, DATA.X, DATA.y, qid=DATA.qid, features=["f2", 0])
    assert {one.name: one for one in alone.drops} == {name: found[name] for name in ("f0", "f2")}
    other = permutation_importance(model, DATA.X, DATA.y, qid=DATA.qid, random_state=1)
    assert [one.drop for one in other.drops] != [one.drop for one in found.drops]


def test_queries_of_a_permutation_may_be_given_by_their_sizes():
    model = RankBoost(10).fit(DATA.X, DATA.y, qid=DATA.qid)
    sizes = np.unique(DATA.qid, return_counts=True)[1]
    found = permutation_importance(model, DATA.X, DATA.y, group=sizes)
    assert found.drops == permutation_importance(model, DATA.X, DATA.y, qid=DATA.qid).drops


def test_intervals_of_drops_are_of_the_confidence_and_resamples_that_are_asked_for():
    model = RankBoost(10).fit(DATA.X, DATA.y, qid=DATA.qid)
    given = {"qid": DATA.qid, "features": [0], "n_repeats": 2}

    def interval(**options):
        [one] = permutation_importance(model, DATA.X, DATA.y, **given, **options).drops
        return one.low, one.high

    narrow, usual, wide = (interval(confidence=confidence) for confidence in (0.5, 0.95, 0.99))
    assert wide[0] < usual[0] < narrow[0] < narrow[1] < usual[1] < wide[1]
    assert interval() == interval(n_resamples=1000) == usual != interval(n_resamples=999)
    assert np.isnan(interval(n_resamples=0)).all()


def test_what_tells_queries_apart_but_not_their_rows_loses_nothing():
    X = np.column_stack([DATA.X[:, 0], DATA.qid])
    model = PreferenceRegression().fit(X, DATA.y + DATA.qid, qid=DATA.qid)
    assert abs(model.coef_[1]) > 0
    found = permutation_importance(model, X, DATA.y, qid=DATA.qid, features=[1])
    assert found.drops[0].drop == pytest.approx(0.0, abs=1e-12)


def test_unused_features_lose_nothing_and_rankers_of_no_sum_are_measured_too():
    X = np.column_stack([DATA.X[:, 0], np.zeros(len(DATA.y)), DATA.X[:, 1]])
    model = RankBoost(10).fit(X, DATA.y, qid=DATA.qid)
    assert permutation_importance(model, X, DATA.y, qid=DATA.qid)["f1"].drop == 0.0
    neighbor = NearestNeighbor().fit(X, DATA.y, qid=DATA.qid)
    found = permutation_importance(neighbor, X, DATA.y, qid=DATA.qid, n_repeats=2)
    assert found["f1"].drop == 0.0
    assert len(found.drops) == 3


def test_importance_as_frame_text_and_json():
    model = GradientFreeBoost().fit(DATA.X, DATA.y, qid=DATA.qid)
    found = permutation_importance(model, DATA.X, DATA.y, qid=DATA.qid, n_repeats=2)
    assert found.to_pandas().columns.tolist() == ["name", "drop", "low", "high"]
    assert "shuffled within queries" in str(found)
    assert found.to_dict()["features"][0]["name"] == found.drops[0].name
    assert found.settings["n_repeats"] == 2
    with pytest.raises(PodiumError, match="A feature must be one of"):
        permutation_importance(model, DATA.X, DATA.y, qid=DATA.qid, features=["f9"])
    with pytest.raises(PodiumError, match="n_repeats"):
        permutation_importance(model, DATA.X, DATA.y, qid=DATA.qid, n_repeats=0)
    with pytest.raises(PodiumError, match="y must be given"):
        permutation_importance(model, DATA.X, None, qid=DATA.qid)
