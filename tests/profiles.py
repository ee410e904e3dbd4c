"""How many examples Hypothesis draws: as many as a test asks for, ten times as many at night."""

from __future__ import annotations

from typing import Any

from hypothesis import settings  # noqa: TID251
from numba import config

EXAMPLES = 100
"""Examples of a test that asks for no number."""
NIGHTLY_FACTOR = 10

settings.register_profile("steady", max_examples=EXAMPLES, deadline=None, derandomize=True)  # the same ones in each run
settings.register_profile(
    "nightly", max_examples=EXAMPLES * NIGHTLY_FACTOR, deadline=None, derandomize=False, print_blob=True
)


def examples(number: int, plain: int | None = None, **options: Any) -> settings:
    """Return the settings of a test that draws `number` examples; with `plain`, so many plain ones and half compiled.

    The number scales with the profile, which ``settings(max_examples=number)`` would override.
    """
    wanted = number if plain is None else plain if config.DISABLE_JIT else max(plain, number // 2)
    return settings(max_examples=wanted * settings.default.max_examples // EXAMPLES, **options)
