"""Codes of single-precision values by their bits."""

import numpy as np
import pytest

from podium.binning import bin_features, blocks, radix_sort
from podium.binning.cuts import sorted_uppers

pytestmark = [
    pytest.mark.plain,
    pytest.mark.filterwarnings("ignore:overflow encountered in scalar"),  # hashes wrap around on purpose
]

SPECIAL = np.array([np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-45, -1e-45, 3e38, -3e38], np.float32)
LOWEST = np.finfo(np.float32).min


def columns(n=300):
    """Values far apart, close together, of any bits, few, all missing, and of one kind of extreme each."""
    rng = np.random.default_rng(0)
    scattered = np.concatenate([rng.normal(size=n - 80), np.exp(5 * rng.normal(size=70)), SPECIAL])
    bits = rng.integers(0, 2**32, n, np.uint64).astype(np.uint32).view(np.float32)
    close = 1000 + np.round(rng.random(n), 2)
    made = [scattered, close, bits, rng.integers(-3, 3, n), np.full(n, np.nan), np.full(n, LOWEST)]
    return np.array(made, np.float32)


def codes_and_flags(values, max_bins):
    uppers = [sorted_uppers(column, None, max_bins)[0] for column in values]
    codes = np.zeros((values.shape[1], blocks.BLOCK), np.uint8)
    return codes, blocks.encode_block(values, uppers, codes)


@pytest.mark.parametrize("max_bins", [2, 16, 255])
def test_codes_and_flags_are_those_of_a_search_by_values(max_bins, monkeypatch):
    values = columns()
    expected = codes_and_flags(values, max_bins)
    monkeypatch.setattr(radix_sort, "MIN_ROWS_BY_BITS", 0)
    monkeypatch.setattr(blocks, "_encode", None)
    found = codes_and_flags(values, max_bins)
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_array_equal(found[1], expected[1])


def test_double_precision_is_searched_by_values(monkeypatch):
    monkeypatch.setattr(radix_sort, "MIN_ROWS_BY_BITS", 0)
    monkeypatch.setattr(blocks, "encode_by_bits", None)
    found = bin_features(np.random.default_rng(0).normal(size=(50, 2)))
    assert found.codes.max() > 1
