"""The monitor alone, with rounds, measures and an evaluation set that are not the library's own."""

import io
from dataclasses import dataclass

import pytest
from rich.console import Console

from podium import PodiumError
from podium.boosting.monitor import Monitor
from podium.boosting.round_progress import ProgressBar, ProgressLines, round_progress


@dataclass
class Cost:
    name: str = "cost"
    higher_is_better: bool = False

    def __str__(self):
        return self.name


@dataclass
class OwnRound:
    epsilon: float

    @property
    def progress_text(self):
        return f"epsilon {self.epsilon:.2f}"


class OwnSet:
    name = "validation_0"

    def add(self, done):
        return {"cost": done.epsilon}


def watched(costs, **options):
    monitor = Monitor(len(costs), [OwnSet()], [Cost()], **options)
    for cost in costs:
        monitor.observe(OwnRound(cost))
        if monitor.stopped:
            break
    return monitor


@pytest.mark.plain
def test_the_lowest_cost_is_best_and_is_waited_for():
    monitor = watched([3.0, 1.0, 2.0, 1.0, 0.5], patience=2)
    assert monitor.history == {"validation_0": {"cost": [3.0, 1.0, 2.0, 1.0]}}
    assert monitor.best_round == 2
    assert monitor.reason == "cost of validation_0 was lowest after round 2"


@pytest.mark.plain
def test_without_a_value_the_measure_and_the_set_are_named():
    with pytest.raises(PodiumError, match="cost is not defined on validation_0"):
        watched([float("nan")])


@pytest.mark.plain
@pytest.mark.parametrize(("evals", "shown"), [([], "epsilon 0.25"), ([OwnSet()], "validation_0 cost 0.2500")])
def test_the_progress_bar_shows_the_last_value_or_the_line_of_the_round(evals, shown, monkeypatch):
    text = io.StringIO()
    console = Console(file=text, width=120, force_terminal=True)
    monkeypatch.setattr("podium.boosting.monitor.round_progress", lambda n_rounds: ProgressBar(n_rounds, console))
    with Monitor(1, evals, [Cost()] if evals else [], verbose=1) as monitor:
        monitor.observe(OwnRound(0.25))
    assert shown in text.getvalue()


@pytest.mark.plain
def test_a_terminal_gets_a_bar_and_everything_else_lines(monkeypatch):
    assert isinstance(round_progress(5), ProgressLines)
    monkeypatch.setenv("FORCE_COLOR", "1")  # rich then takes everything for a terminal
    assert isinstance(round_progress(5), ProgressBar)


@pytest.mark.plain
@pytest.mark.parametrize(
    ("n_rounds", "before", "n_done", "shown"),
    [
        (3, 0, 3, [1, 2, 3]),
        (95, 0, 95, [1, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95]),
        (100, 0, 37, [1, 10, 20, 30, 37]),
        (100, 25, 43, [1, 10, 20, 25, 30, 40, 43]),
        (100, 0, 0, []),
    ],
)
def test_lines_of_progress_are_few_and_end_with_the_last_round(capsys, n_rounds, before, n_done, shown):
    lines = ProgressLines(n_rounds)
    for number in range(1, before + 1):
        lines.update(number, f"cost {number}")
    lines.start()
    for number in range(before + 1, n_done + 1):
        lines.update(number, f"cost {number}")
    lines.stop()
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == [f"{number}/{n_rounds}  cost {number}" for number in shown]
