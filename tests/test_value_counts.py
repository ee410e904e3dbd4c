"""Values of a feature counted, on both sides of what chooses counting."""

import numpy as np
import pytest

from podium.binning import bin_features, cuts, radix_sort, value_counts
from podium.binning.value_counts import MOST_COUNTED, count_values

pytestmark = [
    pytest.mark.plain,
    pytest.mark.filterwarnings("ignore:overflow encountered in scalar"),  # hashes wrap around on purpose
]

SPECIAL = np.array([np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-45, -1e-45, 3e38, -3e38, 1.0, -1.0], np.float32)


@pytest.fixture
def counts_few(monkeypatch):
    """Let few values be counted too."""
    monkeypatch.setattr(radix_sort, "MIN_ROWS_BY_BITS", 0)


@pytest.mark.usefixtures("counts_few")
@pytest.mark.parametrize("seed", range(3))
def test_counts_are_those_of_numpy(seed):
    rng = np.random.default_rng(seed)
    values = rng.choice(np.append(SPECIAL, np.arange(-300, 300, dtype=np.float32) / 8), 2000)
    expected, counts = np.unique(values[~np.isnan(values)] + np.float32(0), return_counts=True)
    found, times = count_values(np.repeat(values, 2)[::2])  # not side by side in memory
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(times, counts)
    assert not np.signbit(found[found == 0]).any()


@pytest.mark.usefixtures("counts_few")
def test_values_with_the_same_place_are_told_apart():
    values = np.arange(MOST_COUNTED, dtype=np.uint32).view(np.float32)[::-1].repeat(3)  # 1024 of 2048 places: many meet
    found, times = count_values(values)
    np.testing.assert_array_equal(found, np.unique(values))
    np.testing.assert_array_equal(times, 3.0)


@pytest.mark.usefixtures("counts_few")
def test_more_values_than_the_table_is_filled_up_to_are_sorted():
    values = np.arange(MOST_COUNTED, dtype=np.float32)
    assert count_values(values) is not None
    more = np.append(values, np.float32(-1))
    assert count_values(more) is None
    np.testing.assert_array_equal(cuts.runs_of_values(more)[0], np.sort(more))


def test_other_types_and_few_rows_are_sorted():
    assert count_values(np.zeros(20_000)) is None
    assert count_values(np.zeros(radix_sort.MIN_ROWS_BY_BITS - 1, np.float32)) is None
    assert count_values(np.zeros(radix_sort.MIN_ROWS_BY_BITS, np.float32)) is not None


@pytest.mark.usefixtures("counts_few")
def test_bins_of_counted_values_are_those_of_sorted_ones(monkeypatch):
    rng = np.random.default_rng(0)
    X = np.floor(np.exp(2 * rng.normal(size=(700, 3)))).astype(np.float32)
    X[rng.random(X.shape) < 0.1] = np.nan
    counted = bin_features(X, max_bins=12)
    monkeypatch.setattr(cuts, "count_values", lambda values: None)
    ordered = bin_features(X, max_bins=12)
    np.testing.assert_array_equal(counted.codes, ordered.codes)
    np.testing.assert_array_equal(counted.cuts.thresholds, ordered.cuts.thresholds)
    assert value_counts.count_values(X[:, 0]) is not None
