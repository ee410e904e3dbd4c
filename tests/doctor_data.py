"""Data on which the doctor finds nothing, and the one finding of data made to have it."""

import numpy as np

from podium import doctor

N_QUERIES, N_DOCS, N_FEATURES = 30, 8, 5


def clean(seed=0, first_query=0):
    """Rows of which each feature says a little."""
    rng = np.random.default_rng(seed)
    n_rows = N_QUERIES * N_DOCS
    y = np.tile(np.arange(N_DOCS) % 3.0, N_QUERIES)
    X = 0.3 * y[:, None] + rng.normal(size=(n_rows, N_FEATURES))
    return X, y, np.repeat(np.arange(N_QUERIES), N_DOCS) + first_query


def found(code, X, y, qid=None, **options):
    """The finding of a code, after all others were found to be absent."""
    diagnosis = doctor(X, y, qid=qid, **options)
    assert diagnosis.codes == (code,)
    return diagnosis[code]
