"""Values sorted by their bits."""

import numpy as np
import pytest

from podium.binning import radix_sort
from podium.binning.radix_sort import sort_values

pytestmark = pytest.mark.plain

SPECIAL = np.array([np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-45, -1e-45, 3e38, -3e38, 1.0, -1.0], np.float32)


@pytest.mark.parametrize("seed", range(3))
def test_values_are_sorted_as_numpy_sorts_them(seed, monkeypatch):
    monkeypatch.setattr(radix_sort, "MIN_ROWS_BY_BITS", 0)
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 2**32, 300, np.uint64).astype(np.uint32).view(np.float32)
    values = rng.permutation(np.concatenate([values, np.round(rng.normal(size=99), 1).astype(np.float32), SPECIAL]))
    np.testing.assert_array_equal(sort_values(values), np.sort(values))


@pytest.mark.parametrize(("dtype", "n"), [(np.float64, 12_000), (np.float32, 200)])
def test_other_values_are_left_to_numpy(dtype, n, monkeypatch):
    monkeypatch.setattr(radix_sort, "_sort_bits", None)
    values = np.random.default_rng(0).normal(size=n).astype(dtype)
    np.testing.assert_array_equal(sort_values(values[::2]), np.sort(values[::2]))
