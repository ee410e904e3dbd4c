"""Parameters that are set after a fit: what was learned is read as it was, or a sentence says what to do."""

import numpy as np
import pytest

from podium import SVOR, L1Boost, L2Boost, NearestNeighbor, PairBoost, PodiumError, RankBoost, RankSVM, load
from tables import small_table

pytestmark = [
    pytest.mark.plain,
    pytest.mark.filterwarnings("ignore:overflow encountered"),  # random bits, in plain kernels
]


@pytest.mark.parametrize(
    ("ranker", "name", "value"),
    [
        (PairBoost(2), "base", "stump"),
        (L2Boost(2), "base", "tree"),
        (L1Boost(2), "base", "stump"),
        (SVOR(), "kernel", "linear"),
        (SVOR(kernel="rbf"), "gamma", 3.0),
        (NearestNeighbor(2), "n_neighbors", 1),
        (RankSVM(kernel="rbf"), "kernel", "linear"),
    ],
    ids=lambda one: one if isinstance(one, str) else repr(one),
)
def test_what_was_learned_is_read_as_it_was_or_not_at_all(ranker, name, value, tmp_path):
    X, y, qid = small_table()
    given = {} if isinstance(ranker, SVOR) else {"qid": qid}
    before = getattr(ranker, name)
    predicted = ranker.fit(X, y, **given).predict(X)
    said = f"{name} must be {before!r}, as it was when .* fitted; got {value!r}: fit it again, or set it back"
    for model in (ranker, _saved(ranker, tmp_path)):
        model.set_params(**{name: value})
        for use, *arguments in ((model.predict, X), (model.save, tmp_path / "m"), (model.export, "m", "python")):
            with pytest.raises(PodiumError, match=said):
                use(*arguments)
        model.set_params(**{name: before})
        np.testing.assert_array_equal(model.predict(X), predicted)
    ranker.set_params(**{name: value}).fit(X, y, **given)
    np.testing.assert_array_equal(_saved(ranker, tmp_path).predict(X), ranker.predict(X))


def test_parameters_that_a_file_could_not_be_read_with_are_refused_when_it_is_written(tmp_path):
    X, y, qid = small_table()
    model = RankBoost(2, weak="feature").fit(X, y, qid=qid).set_params(max_bins=8)
    with pytest.raises(PodiumError, match="max_bins goes with stumps only"):
        model.save(tmp_path / "m")
    assert not (tmp_path / "m").exists()


def _saved(model, folder):
    model.save(folder / "model")
    return load(folder / "model")
