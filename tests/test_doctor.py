"""Every finding of the doctor on data made to have it, and none on clean data."""

import json

import numpy as np
import pytest
import scipy.sparse as sp

import podium
from doctor_data import N_DOCS, N_QUERIES, clean, found
from peers import peer
from podium import PodiumError, RankBoost, doctor
from podium.diagnosis import estimates, overview

pytestmark = pytest.mark.plain


def test_clean_data_have_no_findings():
    X, y, qid = clean()
    for features in (X, X.astype(np.float32), np.asfortranarray(X), sp.csc_array(X)):
        diagnosis = doctor(features, y, qid=qid, test=clean(1, N_QUERIES))
        assert diagnosis.findings == ()
        assert "Findings: none" in str(diagnosis)
    assert doctor(X, qid=qid, pairs=([1, 2, 3], [0, 1, 2])).findings == ()


def test_columns_of_categories_are_looked_at_by_their_codes():
    pandas = peer("pandas")
    X, y, qid = clean()
    frame = pandas.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    rng = np.random.default_rng(0)
    frame["site"] = pandas.Categorical(rng.choice(["shop", "forum", "news"], len(y)))
    frame["flat"] = pandas.Categorical(["shop"] * len(y))
    diagnosis = doctor(frame, y, qid=qid, test=(frame.iloc[:40], y[:40], None))
    assert diagnosis["constant-features"].features == ("flat",)
    report = podium.describe(frame, y, qid=qid)
    assert (report.n_features, report.constant_features) == (X.shape[1] + 2, ["flat"])


def test_one_query_of_many_rows_is_what_fit_warns_of():
    X, y, _ = (np.tile(part, (5,) + (1,) * (np.ndim(part) - 1)) for part in clean())
    X = X + np.random.default_rng(1).normal(size=X.shape)
    finding = found("one-query", X, y)
    with pytest.warns(UserWarning, match="are one query") as warned:
        RankBoost(1).fit(X, y)
    assert finding.sentence == str(warned[0].message)
    assert finding.severity == "warning"
    assert doctor(X, y, group=[len(y)]).findings == ()


@pytest.mark.parametrize("flat", ["labels", "queries", "missing"])
def test_nothing_to_rank_is_what_fit_refuses(flat):
    X, y, qid = clean()
    given = {"labels": (np.ones(len(y)), qid), "queries": (y, np.arange(len(y))), "missing": (None, qid)}[flat]
    finding = doctor(X, given[0], qid=given[1])["nothing-to-rank"]
    with pytest.raises(PodiumError) as refused:
        RankBoost(1).fit(X, given[0], qid=given[1])
    assert finding.sentence == str(refused.value)
    assert finding.severity == "error"


@pytest.mark.parametrize(("empty", "why"), [(True, "all 5 features are missing in every row"), (False, "constant")])
def test_no_usable_feature_is_what_fit_warns_of(empty, why):
    X, y, qid = clean()
    flat = np.full_like(X, np.nan if empty else 3.0)
    finding = doctor(flat, y, qid=qid)["no-usable-feature"]
    assert why in finding.sentence
    with pytest.warns(UserWarning, match=why):
        RankBoost(1).fit(flat, y, qid=qid)


def test_split_queries():
    X, y, qid = clean()
    order = np.r_[N_DOCS // 2 : len(y), : N_DOCS // 2]
    finding = found("split-queries", X[order], y[order], qid[order])
    assert finding.queries == (0,)
    shuffled = np.random.default_rng(0).permutation(len(y))
    assert len(found("split-queries", X[shuffled], y[shuffled], qid[shuffled]).queries) == N_QUERIES


def test_queries_of_one_row_and_of_one_grade():
    X, y, qid = clean()
    y[qid == 3] = 1.0
    assert found("one-grade-queries", X, y, qid).queries == (3,)
    X, y, qid = clean()
    qid[-1] = 99
    finding = found("single-row-queries", X, y, qid)
    assert (finding.queries, finding.severity) == ((99,), "note")
    y[qid > N_QUERIES // 2 - 3] = 1.0
    assert doctor(X, y, qid=qid)["one-grade-queries"].severity == "warning"


def test_a_query_that_outweighs_the_others():
    rng = np.random.default_rng(0)
    sizes = [200] + [5] * 20
    y = rng.integers(0, 3, sum(sizes)).astype(float)
    X = y[:, None] + 3 * rng.normal(size=(len(y), 2))
    finding = doctor(X, y, qid=np.repeat(np.arange(21), sizes))["dominant-query"]
    assert finding.queries == (0,)
    few = np.repeat([0, 1], [200, 100])
    assert "dominant-query" not in doctor(X, y, qid=few).codes


def test_rows_that_no_ranker_can_tell_apart():
    X, y, qid = clean()
    X[1] = X[0]
    X[3] = X[6]  # of the same label: 0
    X[N_DOCS] = X[0]  # of another query
    finding = found("contradictory-labels", X, y, qid)
    assert (finding.rows, finding.queries) == ((0, 1), (0,))


def test_repeated_queries_in_whatever_order():
    X, y, qid = clean()
    X[N_DOCS : 2 * N_DOCS] = X[:N_DOCS][::-1]
    y[N_DOCS : 2 * N_DOCS] = y[:N_DOCS][::-1]
    assert found("repeated-queries", X, y, qid).queries == (0, 1)


def test_labels_too_large_for_gains():
    X, y, qid = clean()
    assert found("large-labels", X, y * 20, qid).severity == "warning"
    assert doctor(X, y * 15.5, qid=qid).findings == ()


def test_contradictory_pairs_and_circles_are_told_apart():
    X, _, qid = clean()
    finding = found("contradictory-pairs", X, None, qid, pairs=([5, 7, 1], [7, 5, 2]))
    assert finding.rows == (5, 7)
    assert "1 of 2 compared pairs" in finding.sentence
    assert "rows 5 and 7" in finding.sentence
    finding = found("cyclic-pairs", X, None, qid, pairs=([1, 2, 3, 3, 7], [2, 3, 1, 4, 6]))
    assert finding.rows == (1, 2, 3)
    assert "3 rows" in finding.sentence
    assert "1 group of rows, the largest of 3" in finding.sentence


def test_the_heavier_of_two_opposite_pairs_may_close_a_circle():
    X, _, qid = clean()
    pairs = ([1, 2, 3, 2], [2, 3, 1, 1])
    assert doctor(X, qid=qid, pairs=pairs).codes == ("contradictory-pairs",)
    assert "cyclic-pairs" in doctor(X, qid=qid, pairs=(*pairs, [2.0, 1.0, 1.0, 1.0])).codes
    assert "cyclic-pairs" not in doctor(X, qid=qid, pairs=(*pairs, [1.0, 1.0, 1.0, 2.0])).codes


def test_pairs_that_repeat_cross_queries_or_oppose_labels():
    X, y, qid = clean()
    assert found("repeated-pairs", X, None, qid, pairs=([1, 1], [0, 0])).severity == "note"
    crossing = found("crossing-pairs", X, None, qid, pairs=([1, 2], [N_DOCS, 0]))
    assert crossing.rows == (1, N_DOCS)
    assert doctor(X, pairs=([1, 2], [N_DOCS, 0])).findings == ()
    opposed = found("pairs-against-labels", X, y, qid, pairs=([0, 2, 3], [1, 0, 0]))
    assert opposed.rows == (0, 1)


def test_test_data_that_share_queries_with_training_data():
    X, y, qid = clean()
    other, labels, ids = clean(1, N_QUERIES)
    other[:N_DOCS] = X[3 * N_DOCS : 4 * N_DOCS][::-1]
    finding = found("shared-queries", X, y, qid, test=(other, labels, ids))
    assert (finding.queries, finding.severity) == ((N_QUERIES,), "error")
    ids[:N_DOCS] = 3  # its id in the training data: said once
    assert found("shared-queries", X, y, qid, test=(other, labels, ids)).queries == (3,)
    other, labels, ids = clean(1, N_QUERIES)
    ids[:N_DOCS] = 7
    assert found("shared-ids", X, y, qid, test=(other, None, ids)).queries == (7,)


def test_test_data_with_other_columns():
    pandas = peer("pandas")
    X, y, qid = clean()
    other, labels, ids = clean(1, N_QUERIES)
    assert found("different-columns", X, y, qid, test=(other[:, 1:], labels, ids)).severity == "error"
    frame, turned = pandas.DataFrame(X, columns=list("abcde")), pandas.DataFrame(other, columns=list("abced"))
    assert found("different-columns", frame, y, qid, test=(turned, labels, ids)).features == ("d", "e")
    lost = np.c_[other[:, :4], np.full(len(other), np.nan)]
    assert found("lost-features", X, y, qid, test=(lost, labels, ids)).features == ("5",)
    zeros = np.c_[other[:, :4], np.zeros(len(other))]
    assert found("flat-features", X, y, qid, test=(zeros, labels, ids)).features == ("5",)
    assert found("flat-features", X, y, qid, test=(sp.csc_array(zeros + 1e-9), labels, ids)).features == ("5",)
    rare = X.copy()
    rare[:, 4] = np.arange(len(X)) < 15  # in as many test rows 15 would have another value
    assert doctor(rare, y, qid=qid, test=(zeros, labels, ids)).findings == ()
    rare[:, 4] = np.arange(len(X)) < 25
    assert found("flat-features", rare, y, qid, test=(zeros, labels, ids)).features == ("5",)
    X[:, 4] = np.nan
    assert doctor(X, y, qid=qid, test=(lost, labels, ids)).codes == ("empty-features",), (
        "nothing that there was is lost"
    )


def test_the_worst_findings_stand_first():
    X, y, qid = clean()
    X = np.c_[X, np.ones(len(y))]
    X[0, 0] = np.nan
    codes = doctor(X, y, qid=qid, test=(X, y, qid)).codes
    assert codes == ("shared-queries", "constant-features", "missing-values")


def test_too_little_memory(monkeypatch):
    monkeypatch.setattr(estimates, "machine_memory", lambda: 1000)
    assert found("too-large", *clean()).severity == "error"


def test_estimates_grow_with_the_data():
    small, large = (doctor(*[np.tile(part, (n,) + (1,) * (np.ndim(part) - 1)) for part in clean()[:2]],
                           group=[N_DOCS] * N_QUERIES * n).estimates for n in (1, 10))  # fmt: skip
    for one, other in zip(small, large, strict=True):
        assert other.seconds == pytest.approx(10 * one.seconds)
        assert other.n_bytes == pytest.approx(10 * one.n_bytes, rel=1e-6)


def test_findings_do_not_depend_on_the_order_of_rows_and_threads():
    X, y, qid = clean()
    X = np.c_[X, X[:, 1], y, qid]
    X[0:2, :5] = X[2:4, :5] = 1.0
    order = np.random.default_rng(0).permutation(len(y))
    order = order[np.argsort(qid[order], kind="stable")]
    one, other = doctor(X, y, qid=qid), doctor(X[order], y[order], qid=qid[order], n_jobs=2)
    assert one.codes == other.codes
    assert [f.sentence for f in one.findings] == [f.sentence for f in other.findings]
    assert one.overview == other.overview


def test_histograms():
    assert overview.grade_histogram(np.array([0.0, 2.0, 0.0, 1.0])) == {"2": 1, "1": 1, "0": 2}
    many = overview.grade_histogram(np.arange(21.0))
    assert list(many.values()) == [3, 2, 2, 2, 2, 2, 2, 2, 2, 2]
    assert next(iter(many)) == "18 to 20"
    assert overview.size_histogram(np.array([1, 2, 3, 4, 1, 130])) == {"1": 2, "2-3": 2, "4-7": 1, "128-255": 1}


def test_the_overview_counts():
    X, y, qid = clean()
    X[0, 0] = np.nan
    seen = doctor(X, y, qid=qid, pairs=([1], [0])).overview
    assert (seen.n_rows, seen.n_queries, seen.n_features) == (240, 30, 5)
    assert seen.missing_share == pytest.approx(1 / 1200)
    assert (seen.candidate_pairs, seen.label_pairs, seen.explicit_pairs) == (30 * 28, 30 * 21, 1)
    assert seen.query_sizes == {"8-15": 30}


def test_a_diagnosis_as_a_frame_and_as_plain_values():
    peer("pandas")
    X, y, qid = clean()
    diagnosis = doctor(np.c_[X, np.ones(len(y)), y], y, qid=np.array([f"q{q:02}" for q in qid]), pairs=([0, 2], [1, 0]))
    frame = diagnosis.to_pandas()
    assert frame["code"].tolist() == list(diagnosis.codes)
    assert frame.loc[frame["code"] == "pairs-against-labels", "rows"].item() == [0, 1]
    content = json.loads(json.dumps(diagnosis.to_dict()))
    assert [one["code"] for one in content["findings"]] == list(diagnosis.codes)
    assert [one.severity for one in diagnosis.findings] == sorted(
        (one.severity for one in diagnosis.findings), key=["error", "warning", "note"].index
    )
    with pytest.raises(PodiumError, match="did not find 'x'; found were"):
        diagnosis["x"]


def test_names_that_look_like_markup_are_shown_as_they_are():
    pandas = peer("pandas")
    X, y, qid = clean()
    frame = pandas.DataFrame(np.c_[X, np.ones(len(y))], columns=[*"abcde", "[red]f[/red]"])
    assert "([red]f[/red])" in str(doctor(frame, y, qid=qid))


@pytest.mark.parametrize("test", [(1, 2), "abc", 5])
def test_bad_test_data_are_refused(test):
    X, y, qid = clean()
    with pytest.raises(PodiumError, match="test must be"):
        doctor(X, y, qid=qid, test=test)
    with pytest.raises(PodiumError, match="test: y must have one value per row"):
        doctor(X, y, qid=qid, test=(X, y[1:], qid))


def test_the_command(command_line, tmp_path):
    lines = "".join(f"{i % 3} qid:{q} 1:{(7 * i + q) % 11} 2:5 3:{i % 4}\n" for q in range(4) for i in range(9))
    (tmp_path / "train.txt").write_text(lines)
    (tmp_path / "test.txt").write_text(lines.replace("qid:", "qid:9"))
    (tmp_path / "pairs").write_text("0 1\n1 0\n")
    code, out, _ = command_line("doctor", "train.txt", "test.txt", "--pairs", "pairs", "--json")
    content = json.loads(out)
    assert code == 0
    assert {"shared-queries", "constant-features", "contradictory-pairs"} <= {f["code"] for f in content["findings"]}
    assert content["overview"]["n_rows"] == 36
    code, out, _ = command_line("doctor", "train.txt")
    assert code == 0
    assert "one value in all rows" in out
    assert command_line("doctor", "nothing.txt")[0] == 2


def test_the_time_of_a_fit_grows_with_rounds_and_pairs():
    X = np.zeros((100, 5))
    assert estimates.fit_seconds("RankSVM", X, 10, 100) is None
    few, many = (estimates.fit_seconds("LambdaMART", X, 1000, n) for n in (100, 200))
    assert few < many < 2 * few
    assert estimates.fit_seconds("LambdaMART", X, 100_000, 100) > few
