"""The command that says what a model file holds: info."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from podium._types import Json
from podium._validation import PodiumError
from podium.cli.run_settings import read_run, to_toml
from podium.export import Linear, NetScore, TreeSum
from podium.model_file import read_model
from podium.rankers import Estimator, load
from podium.report import evaluated, shown_name, stopped_early, watched

MAX_NAMES = 12
"""Features that are named before the rest is only counted."""


def show_info(path: Path, as_json: bool, as_toml: bool) -> None:
    """Print what a model file holds: for people, as JSON, or as a TOML file that `podium train --config` takes."""
    if as_json and as_toml:
        raise PodiumError("Give --toml or --json, not both.")
    model, content, run = load(path), read_model(path), read_run(path)
    if as_toml:
        command = None if run is None else run["command"]
        print(to_toml(type(model).__name__, model.get_params(deep=False), command), end="")
        return
    facts = {
        "file": str(path), "bytes": path.stat().st_size, "protocol": content["protocol"], "podium": content["podium"],
        "ranker": type(model).__name__, "parameters": _plain(model.get_params(deep=False)), "run": run,
        **(_facts_of(model) if isinstance(model, Estimator) else {}),
    }  # fmt: skip
    print(json.dumps(facts, indent=2, default=str) if as_json else "\n".join(_lines(facts)))


def _facts_of(model: Estimator) -> dict[str, Json]:
    """Return what is known of the columns, the training and the size of a model."""
    return {
        "features": list(model._names() or (f"f{j}" for j in range(model.n_features_in_))),
        "training": getattr(model, "training_summary_", {}),
        "rounds": len(model.rounds_) if hasattr(model, "rounds_") else None,
        "best_round": getattr(model, "best_iteration_", None),
        "early_stopping": watched(model),
        "ended_because": getattr(model, "stop_reason_", None),
        "measured": evaluated(model),
        "size": _size(model),
    }


def _size(model: Estimator) -> str | None:
    """Say how large what predictions use is: trees and leaves, or weights; None of what is neither."""
    try:
        record = model._export_record()
    except PodiumError:
        return None
    if isinstance(record, TreeSum):
        leaves = sum(tree.n_leaves for tree in record.trees)
        return f"{len(record.trees):,} trees, {leaves:,} leaves"
    if isinstance(record, Linear):
        return f"{int((record.weights != 0).sum()):,} weights that are not 0"
    if isinstance(record, NetScore):
        return f"a net of {len(record.net.weights):,} weights"
    return f"{len(record.steps)} sums for {len(record.classes)} grades"


def _lines(facts: dict[str, Any]) -> list[str]:
    """Return the facts as lines for people."""
    rows = {
        "file": f"{facts['file']}, {facts['bytes']:,} bytes, protocol {facts['protocol']} (Podium {facts['podium']})",
        "ranker": facts["ranker"], "trained by": (facts["run"] or {}).get("command"),
        "trained on": _training_text(facts.get("training") or {}), "features": _names_text(facts.get("features") or []),
        "rounds": _rounds_text(facts), "early stopping": facts.get("early_stopping"),
        "ended because": None if stopped_early(facts.get("early_stopping")) else facts.get("ended_because"),
        "size": facts.get("size"),
        **{name: f"{value:.4f}" for name, value in (facts.get("measured") or {}).items()},
    }  # fmt: skip
    known = {name: str(text) for name, text in rows.items() if text}
    width = max(map(len, known))
    lines = [f"{name:{width}}  {text}" for name, text in known.items()]
    return [*lines, "parameters", *(f"  {name} = {value}" for name, value in facts["parameters"].items())]


def _training_text(counts: dict[str, int]) -> str:
    """Return the counts of the training data, those that say something."""
    return ", ".join(f"{number:,} {name}" for name, number in counts.items() if number or name == "missing")


def _names_text(names: list[str]) -> str:
    """Return the number of features and the first names."""
    if not names:
        return ""
    rest = ", …" if len(names) > MAX_NAMES else ""
    return f"{len(names)}: {', '.join(map(shown_name, names[:MAX_NAMES]))}{rest}"


def _rounds_text(facts: dict[str, Any]) -> str:
    """Return how many rounds there are and are used."""
    if facts.get("rounds") is None:
        return ""
    return f"{facts['rounds']:,} in the file; predictions use the first {facts['best_round']:,}"


def _plain(parameters: dict[str, Any]) -> dict[str, Json]:
    """Return parameters as JSON can say them."""
    return {
        name: value if value is None or isinstance(value, bool | int | float | str | list) else str(value)
        for name, value in parameters.items()
    }
