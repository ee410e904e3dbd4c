"""Parameters that several estimators share: rounds, stopping, threads, the bar, checkpoints."""

import numpy as np
import pytest

from parameters import changing, fitted, made, rounds_of, table
from podium import (
    MART,
    AdaBoostOR,
    BaggingOR,
    GradientFreeBoost,
    ImportedLinear,
    ImportedTrees,
    L1Boost,
    L2Boost,
    LambdaMART,
    LambdaRank,
    ORBoost,
    ORStump,
    PairBoost,
    PNormPush,
    RankBoost,
    RankBoostPlus,
    RankNet,
    RSRank,
    evaluate,
    import_model,
)

THREADED = (RankBoost, RankBoostPlus, LambdaMART, MART, PNormPush, AdaBoostOR, ORBoost)
BY_QUERY = (
    RankBoost,
    RankBoostPlus,
    LambdaMART,
    MART,
    PNormPush,
    GradientFreeBoost,
    PairBoost,
    L2Boost,
    L1Boost,
    RSRank,
)
NETS = (RankNet, LambdaRank)
BOOSTED = (*BY_QUERY, *NETS, AdaBoostOR, ORBoost)


@changing("n_estimators", *BOOSTED, BaggingOR)
def fewer_rounds_are_the_first_of_more(estimator):
    few, many = (rounds_of(fitted(estimator, n_estimators=n)) for n in (2, 5))
    assert (len(few), len(many)) == (2, 5)
    assert many[:2] == few


def stopped_fit(estimator, **changed):
    """A fit that is measured on labels of noise, so that its best round comes early."""
    X, y, qid = table()
    new, _, _ = table(seed=1)
    noise = np.random.default_rng(2).permutation(y)
    queries = {"qid": qid, "eval_qid": [qid]} if estimator in (*BY_QUERY, *NETS) else {}
    return made(estimator, **{"n_estimators": 16, **changed}).fit(X, y, eval_set=[(new, noise)], **queries)


@changing("early_stopping_rounds", *BOOSTED)
def the_fit_ends_so_many_rounds_after_its_best(estimator):
    free, stopped = stopped_fit(estimator), stopped_fit(estimator, early_stopping_rounds=3)
    ((name, values),) = stopped.evals_result_["validation_0"].items()
    best = 1 + int(np.argmax(values) if name == "ndcg@10" else np.argmin(values))
    assert stopped.best_iteration_ == best
    assert len(stopped.rounds_) == len(values) == best + 3 < len(free.rounds_) == free.best_iteration_ == 16
    assert rounds_of(free)[: best + 3] == rounds_of(stopped)
    assert f"after round {best}" in stopped.stop_reason_
    staged = list(stopped.staged_predict(table()[0]))
    np.testing.assert_allclose(stopped.predict(table()[0]), staged[best - 1], atol=1e-12)


@changing("eval_metric", *BY_QUERY)
def each_measure_has_a_history_and_the_first_decides(estimator):
    model = stopped_fit(estimator, eval_metric=["map", "pair_loss"], early_stopping_rounds=2, n_estimators=8)
    history = model.evals_result_["validation_0"]
    assert list(history) == ["map", "pair_loss"]
    assert model.best_iteration_ == 1 + np.argmax(history["map"])
    other = stopped_fit(estimator, eval_metric=["pair_loss", "map"], early_stopping_rounds=2, n_estimators=8)
    assert other.best_iteration_ == 1 + np.argmin(other.evals_result_["validation_0"]["pair_loss"])
    check_score(model, "map", +1)
    check_score(other, "pair_loss", -1)


def check_score(model, measure, sign):
    """`score` is the mean of a measure, losses negated."""
    X, y, qid = table()
    expected = evaluate(y, model.predict(X), qid=qid, measures=measure, n_resamples=0)[measure]
    assert model.score(X, y, qid=qid) == pytest.approx(sign * expected)


@changing("n_jobs", *THREADED, BaggingOR, ORStump)
def so_many_threads_give_the_same_bits(estimator, monkeypatch):
    monkeypatch.setattr("podium._compiled.CELLS_WORTH_THREADS", 0)
    used = spied_threads(monkeypatch)
    X, _, _ = table()
    one = fitted(estimator)
    expected = one.predict(X)
    assert used == set()
    three = fitted(estimator, n_jobs=3)
    assert used == (set() if estimator is BaggingOR else {3})  # whose threads are for votes alone
    used.clear()
    np.testing.assert_array_equal(three.predict(X), expected)
    assert used == (set() if estimator is ORStump else {3})  # which scores at once
    if estimator is not ORStump:
        assert rounds_of(three) == rounds_of(one)


def spied_threads(monkeypatch):
    """The numbers of threads that work was shared out to, from now on."""
    import sys

    import podium._compiled as compiled

    used, run_threads, run_beside = set(), compiled.run_threads, compiled.run_beside

    def note_threads(function, calls, n_threads):
        used.update({n_threads} - {1})
        return run_threads(function, calls, n_threads)

    def note_beside(function, helper, n_helpers, n_threads, at_end):
        used.update([n_threads] * (n_helpers > 0))
        return run_beside(function, helper, n_helpers, n_threads, at_end)

    for name, module in list(sys.modules.items()):
        for spied, note in ((run_threads, note_threads), (run_beside, note_beside)):
            if name.startswith("podium.") and getattr(module, spied.__name__, None) is spied:
                monkeypatch.setattr(module, spied.__name__, note)
    return used


@changing("verbose", *BOOSTED)
def a_bar_counts_the_rounds_on_standard_error(estimator, capsys):
    fitted(estimator)
    assert capsys.readouterr() == ("", "")
    fitted(estimator, verbose=1)
    out, err = capsys.readouterr()
    assert out == ""
    assert "4/4" in err


@changing("checkpoint", *BOOSTED)
def the_rounds_are_kept_in_a_file_and_taken_up_from_it(estimator, tmp_path):
    path = tmp_path / "rounds"
    whole = fitted(estimator, n_estimators=6)
    fitted(estimator, n_estimators=3, checkpoint=path)
    assert path.is_file()
    steps, resumed = [], made(estimator, n_estimators=6, checkpoint=path)
    boost = resumed._boost

    def counted(boosting, *others):
        step = boosting.step
        boosting.step = lambda number: steps.append(number) or step(number)
        return boost(boosting, *others)

    resumed._boost = counted
    X, y, qid = table()
    resumed.fit(X, y, **({} if estimator not in (*BY_QUERY, *NETS) else {"qid": qid}))
    assert steps == [4, 5, 6]
    assert rounds_of(resumed) == rounds_of(whole)


def imported(estimator, folder):
    """A small model of another program."""
    path = folder / "model.txt"
    if estimator is ImportedLinear:
        path.write_text("## Coordinate Ascent\n1:0.5 2:-0.25 3:0 4:0.125\n")
    else:
        fitted(MART).export(path, "ranklib", missing="absent")
    return import_model(path, "ranklib", n_features=4)


@changing("eval_metric", ImportedLinear, ImportedTrees)
def score_is_the_first_measure(estimator, tmp_path):
    model = imported(estimator, tmp_path)
    assert isinstance(model, estimator)
    check_score(model, "ndcg@10", +1)
    check_score(model.set_params(eval_metric=["pair_loss", "map"]), "pair_loss", -1)
    check_score(model.set_params(eval_metric="map"), "map", +1)


@changing("n_jobs", ImportedTrees)
def so_many_threads_score_alike(estimator, tmp_path, monkeypatch):
    model, X = imported(estimator, tmp_path), table()[0]
    expected, used = model.predict(X), spied_threads(monkeypatch)
    np.testing.assert_array_equal(model.set_params(n_jobs=3).predict(X), expected)
    assert used == {3}


@changing("n_jobs", ImportedLinear)
def a_product_of_matrices_needs_no_threads(estimator, tmp_path, monkeypatch):
    model, X = imported(estimator, tmp_path), table()[0]
    expected, used = model.predict(X), spied_threads(monkeypatch)
    np.testing.assert_array_equal(model.set_params(n_jobs=3).predict(X), expected)
    np.testing.assert_allclose(expected, X @ [0.5, -0.25, 0.0, 0.125], atol=1e-7)  # RankLib reads float32
    assert used == set()
