"""Made data: what the descriptions promise of it."""

import numpy as np
import pytest

from podium import PodiumError, load_continuous, make_preferences, make_search
from podium.data import generators

pytestmark = pytest.mark.plain


@pytest.fixture(scope="module")
def search():
    return make_search(n_queries=100, docs_per_query=60, n_features=40)


def columns(table, kind):
    return table.X[:, [name.startswith(kind) for name in table.feature_names]]


def test_one_seed_makes_one_set(search):
    again = make_search(n_queries=100, docs_per_query=60, n_features=40)
    for one, two in zip(search[:3], again[:3], strict=True):
        np.testing.assert_array_equal(one, two)
    other = make_search(n_queries=100, docs_per_query=60, n_features=40, random_state=1)
    assert other.X[0, 0] != search.X[0, 0] or other.X[0, 2] != search.X[0, 2]


def test_queries_and_features_are_as_many_as_asked_for(search):
    sizes = np.bincount(search.qid)
    assert len(sizes) == 100
    assert 30 <= sizes.min() < sizes.max() <= 90
    assert search.X.shape == (len(search.y), 40) == (len(search.qid), len(search.feature_names))
    assert search.X.flags.c_contiguous


@pytest.mark.parametrize(
    ("docs_per_query", "sizes"), [(1, [1]), (2, [1, 2, 3]), (4, [2, 3, 4, 5, 6]), (5, [2, 3, 4, 5, 6, 7, 8])]
)
def test_queries_have_from_half_the_documents_to_half_more(docs_per_query, sizes):
    table = make_search(n_queries=300, docs_per_query=docs_per_query, n_features=1)
    assert np.unique(np.bincount(table.qid)).tolist() == sizes


def test_queries_differ_in_quality_beyond_their_rows():
    """The noise of a query moves all its grades: means of queries spread more than those of rows drawn at random."""
    table = make_search(n_queries=150, docs_per_query=40, n_features=10)
    sizes = np.bincount(table.qid)
    means = np.bincount(table.qid, table.y) / sizes
    assert np.mean(sizes * (means - table.y.mean()) ** 2) > 3 * table.y.var()


def test_limits_of_the_grades_hang_on_the_rule_alone(monkeypatch):
    """Rows of the same qualities get the same grades whatever the seed of the rows."""
    sample, spread = generators._sample, np.linspace(-8.0, 8.0, 400)

    def same_qualities(hidden, rng, *size):
        made = sample(hidden, rng, *size)
        return made if size == generators._CALIBRATION else (made[0][:400], spread, made[2][:400])

    monkeypatch.setattr(generators, "_sample", same_qualities)
    one, two, other = (make_search(20, 60, 9, random_state=i, rule=j).y for i, j in [(0, 0), (5, 0), (0, 1)])
    np.testing.assert_array_equal(one, two)
    assert one.tolist() != other.tolist()


def test_grades_are_0_to_4_in_falling_shares(search):
    assert np.unique(search.y).tolist() == [0, 1, 2, 3, 4]
    shares = np.bincount(search.y.astype(int)) / len(search.y)
    np.testing.assert_allclose(shares, [0.52, 0.32, 0.13, 0.02, 0.01], atol=0.05)


def test_counts_are_heavy_tailed(search):
    counts = columns(search, "count")
    assert (counts == np.floor(counts)).all()
    assert counts.min() == 0
    assert (counts.max(axis=0) > 20 * counts.mean(axis=0)).mean() > 0.5


def test_sparse_features_are_zero_in_seven_rows_of_ten(search):
    np.testing.assert_allclose((columns(search, "sparse") == 0).mean(axis=0), 0.7, atol=0.05)


def test_query_features_are_constant_within_a_query(search):
    features = columns(search, "query")
    first = np.unique(search.qid, return_index=True)[1]
    assert features.shape[1] == 2
    np.testing.assert_array_equal(features, features[first][search.qid])
    assert len(np.unique(features[:, 0])) == 100


def test_features_of_a_family_are_correlated_and_others_not(search):
    correlation = np.corrcoef(search.X[:, [2, 4, 5, 8, 10]].T)
    assert (correlation[:3, :3] > 0.5).all()
    assert (np.abs(correlation[:3, 3:]) < 0.1).all()
    scores = columns(search, "score")[:, :3]
    np.testing.assert_allclose(scores.std(axis=0), 1.0, atol=0.05)
    np.testing.assert_allclose(np.corrcoef(search.X[:, [2, 5]].T)[0, 1], 0.8**2, atol=0.05)


def test_sets_of_one_rule_share_it_and_those_of_another_do_not():
    """A linear fit to one set carries over to a second seed, and less to a second rule."""
    train, test, other = (make_search(n_features=24, random_state=i, rule=j) for i, j in [(0, 0), (1, 0), (1, 1)])
    fit = np.linalg.lstsq(np.tanh(train.X), train.y - train.y.mean(), rcond=None)[0]
    same = np.corrcoef(np.tanh(test.X) @ fit, test.y)[0, 1]
    different = np.corrcoef(np.tanh(other.X) @ fit, other.y)[0, 1]
    assert same > 0.3
    assert different < 0.8 * same


@pytest.mark.parametrize("n_features", [1, 2, 9])
def test_few_features_are_enough(n_features):
    table = make_search(n_queries=1, docs_per_query=1, n_features=n_features)
    assert table.X.shape == (len(table.y), n_features)


def test_preferences_agree_with_the_ratings_behind_them():
    made = make_preferences(n_items=80, n_raters=30, n_pairs=500, missing=0.7)
    better, worse, weight = made.pairs
    assert made.X.shape == (80, 30)
    assert len(better) == 500
    assert (weight > 0).all()
    np.testing.assert_array_equal(weight, made.y[better] - made.y[worse])
    assert np.isnan(made.X).mean() == pytest.approx(0.7, abs=0.05)
    assert set(np.unique(made.y)) <= set(np.arange(2, 11) / 2)
    assert set(np.unique(made.X[~np.isnan(made.X)])) <= set(np.arange(2, 11) / 2)


def test_raters_say_something_of_the_persons_ratings():
    made = make_preferences(missing=0.0)
    assert abs(np.corrcoef(made.X.mean(axis=1), made.y)[0, 1]) > 0.3


def test_two_items_make_a_pair_of_ratings():
    for seed in range(300):
        made = make_preferences(n_items=2, n_raters=1, n_pairs=3, random_state=seed)
        assert (made.y[made.pairs.better] > made.y[made.pairs.worse]).all()
        assert set(made.y.tolist()) <= set((np.arange(2, 11) / 2).tolist())


def test_every_pair_of_different_ratings_is_drawn():
    made = make_preferences(n_items=6, n_raters=1, n_pairs=3000)
    drawn = set(zip(made.pairs.better.tolist(), made.pairs.worse.tolist(), strict=True))
    assert drawn == {(i, j) for i in range(6) for j in range(6) if made.y[i] > made.y[j]}
    assert len(np.unique(made.y)) < 6  # some ratings are equal


def test_diabetes_is_one_query_of_real_labels():
    table = load_continuous()
    assert table.X.shape == (442, 10)
    assert table.feature_names[:3] == ["age", "sex", "bmi"]
    assert len(np.unique(table.y)) > 200
    assert (table.X[:, 0].min(), table.X[:, 0].max()) == (19.0, 79.0)  # years, not scaled
    assert np.unique(table.qid).tolist() == [0]


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: make_search(n_queries=0), "n_queries must be an integer from 1; got 0."),
        (lambda: make_search(n_features=2.5), "n_features must be an integer from 1; got 2.5."),
        (lambda: make_search(rule=-1), "rule must be an integer from 0; got -1."),
        (lambda: make_preferences(n_items=1), "n_items must be an integer from 2; got 1."),
        (lambda: make_preferences(missing=1.0), "missing must be a share from 0 to below 1; got 1.0."),
        (
            lambda: load_continuous("diabetis"),
            "name must be one of diabetes; got 'diabetis' (did you mean diabetes?).",
        ),
    ],
)
def test_what_cannot_be_made_is_refused(make, sentence):
    with pytest.raises(PodiumError) as caught:
        make()
    assert str(caught.value) == sentence
