"""Trials of Optuna, in memory or in a journal file that a later run goes on from: lines of JSON, no pickles."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike, fspath
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np

from podium._validation import PodiumError
from podium.model_file import check_writable

if TYPE_CHECKING:
    from optuna import Study
    from optuna.trial import FrozenTrial

STUDY = "podium"
SETTINGS = "settings"
"""Where a study keeps what it was made with."""
STARTUP_TRIALS, WARMUP_ROUNDS, PRUNE_EVERY = 5, 30, 5
"""No trial is pruned before so many are done, nor before so many rounds; then it is asked every so many."""


@contextmanager
def quiet_optuna() -> Iterator[ModuleType]:
    """Import Optuna, or say how to get it; without its messages until the end."""
    try:
        import optuna
    except ModuleNotFoundError as error:
        if error.name != "optuna":
            raise
        raise ImportError('Tuning needs Optuna: install it with pip install "podium[tune]".') from None
    level = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        yield optuna
    finally:
        optuna.logging.set_verbosity(level)


def open_study(optuna: ModuleType, storage: str | PathLike[str] | None, settings: dict[str, str]) -> Study:
    """Return a study, that of the file if there is one; refuse one of other settings.

    Parameters
    ----------
    optuna : module
    storage : path or None
        File to keep the trials in; None keeps them in memory.
    settings : dict of str to str
        What a study must have been made with to be gone on with.
    """
    pruner = optuna.pruners.MedianPruner(
        n_startup_trials=STARTUP_TRIALS, n_warmup_steps=WARMUP_ROUNDS, interval_steps=PRUNE_EVERY
    )
    try:
        place = None if storage is None else _journal(optuna, storage)
        study: Study = optuna.create_study(
            storage=place, study_name=STUDY, direction="maximize", pruner=pruner, load_if_exists=True
        )
        known = study.user_attrs.get(SETTINGS)
    except (PodiumError, OSError):
        raise
    except Exception as error:  # what Optuna raises on lines that it does not know is of any kind
        raise PodiumError(f"{storage} is no storage file of `tune`, or is damaged: {error!r}.") from None
    if known is None:
        study.set_user_attr(SETTINGS, settings)
    elif known != settings:
        differ = [name for name in settings if known.get(name) != settings[name]]
        raise PodiumError(
            f"{storage} holds trials with another {' and '.join(differ)}; give the same again, or another storage file."
        )
    return study


def _journal(optuna: ModuleType, storage: str | PathLike[str]) -> object:
    """Return the storage of a file, after a look at its first line."""
    check_writable(storage)
    path = fspath(storage)
    try:
        with open(path, "rb") as file:
            first = file.readline(10_000)
        known = not first or "op_code" in dict(json.loads(first))
    except FileNotFoundError:
        known = True
    except (ValueError, TypeError):
        known = False
    if not known:
        raise PodiumError(f"{storage} is no storage file of `tune`; name a new file, or one that `tune` wrote.")
    journal = optuna.storages.journal
    return optuna.storages.JournalStorage(journal.JournalFileBackend(path, journal.JournalFileOpenLock(path)))


def finished_trials(study: Study) -> list[FrozenTrial]:
    """Return the trials that came to an end, in their order; not those that were interrupted."""
    return [one for one in study.get_trials(deepcopy=False) if one.state.name in ("COMPLETE", "PRUNED")]


def seeded_sampler(optuna: ModuleType, random_state: int, number: int) -> object:
    """Return the sampler of a trial, whose draws hang on the seed and the trials before it.

    A sampler of its own for each trial: a search that was interrupted and gone on with tries what it would have tried.
    """
    [seed] = np.random.SeedSequence([random_state, number]).generate_state(1)
    return optuna.samplers.TPESampler(seed=int(seed))
