"""The monitor alone, with rounds, measures and an evaluation set that are not the library's own."""

import io
from dataclasses import dataclass

import pytest
from rich.console import Console

from podium import PodiumError
from podium.boosting.monitor import Monitor, _progress_bar


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
    bar = _progress_bar()
    bar.live.console = Console(file=text, width=120, force_terminal=True)
    monkeypatch.setattr("podium.boosting.monitor._progress_bar", lambda: bar)
    with Monitor(1, evals, [Cost()] if evals else [], verbose=1) as monitor:
        monitor.observe(OwnRound(0.25))
    assert shown in text.getvalue()
