"""The library's messages in the words of the command line: options in the place of Python's parameters."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from podium._errors import PodiumError

WORDS: tuple[tuple[str, str], ...] = (
    (r'so missing="(\w+)" was taken', r"so --set missing=\1 was taken"),
    (r'say missing="(\w+)"', r"give --set missing=\1"),
    (r"beside feature_names; got (\w+)='?(.*?)'?\.$", r"beside --feature-names; got --set \1=\2."),
    (r"give other names in feature_names", "give other names by --feature-names"),
    (r"^feature_names must", "--feature-names must"),
    (r"needs an eval_set to measure each round on", "needs data to measure each round on: give --eval"),
    (r"give other data in eval_set or another eval_metric", "give another --eval, or another --set eval_metric"),
    (r": give eval_qid or eval_group \(.*\)", ": give --eval-query-sizes, or a file with queries"),
    (r": give qid or group \(.*\)", ": give --query-sizes, or a file with queries"),
    (
        r"because neither qid nor group was given; .*$",
        "because the file names no queries: give them, or --query-sizes; if one query is meant, --qid '' says so.",
    ),
    (r"such as \[\(X_valid, y_valid\)\]", "such as --eval valid.txt"),
    (r"The '(\w+)' parameter of (\w+) must be", r"--set \1 of \2 must be"),
    (r"consider sparse=True, or dtype='float32'", "consider a machine with more memory"),
    (r"(, but \w+ is expecting \d+) features as input", r"\1 as the model has"),
    (r"X has (\d+) features", r"The data has \1 features"),
    (r"The feature names should match those that were passed during fit", "The columns must be those of the model"),
    (r"init_model has (\d+) rounds already; n_estimators", r"The model has \1 rounds already; --set n_estimators"),
    (
        r"column '(.+?)' (must hold numbers .*); ignore it, or leave it out of features",
        r"column '\1' \2; if it names the rows, give --item \1, else --ignore \1",
    ),
    (r"(feature number \d+ is larger than \d+)(?=:)", r"\1, the last one of the training data"),
    (
        r"(The columns must be those of the model: .* is not known .*)\.$",
        r"\1: name the column of labels by --label and that of queries by --qid, or leave it out by --ignore.",
    ),
    (
        r"(there is no column '(?:label|qid)'.* among .*?)\.?$",
        r"\1; --label and --qid name those of labels and queries.",
    ),
    (r"^n_trials must", "--trials must"),
    (r"^n_folds must", "--folds must"),
    (r"^n_jobs must be None or", "--set n_jobs must be null or"),
    (r"^ties, for pairs, must", "--ties, beside --pairs, must"),
    (r"give labels y in the place of pairs for others", "leave out --pairs for others"),
    (r"^random_state must", "--seed must"),
    (r"consider RankBoost, or max_leaves=2", "train a RankBoost, or train with --set max_leaves=2"),
    (
        r"""^(\w+=?)"?(\w*)"? goes with (.+); leave it out with weak='(\w+)'""",
        r"--set \1\2 goes with \3; leave it out with --set weak=\4",
    ),
    (r'kernel="linear" is one', "--set kernel=linear makes one"),
)
"""What is looked for in a message, and what stands there instead."""


def in_options(message: str, eval_files: Sequence[Path] = (), names: Sequence[str] = ()) -> str:
    """Return a message with options in the place of parameters, evaluation sets by their files, features by names.

    Parameters
    ----------
    message : str
    eval_files : sequence of path
        Those of --eval, in their order.
    names : sequence of str
        Of the features, which the message counts from 0.
    """
    for pattern, words in WORDS:
        message = re.sub(pattern, words, message)
    message = re.sub(r"eval_set\[(\d+)\]", _file_of(eval_files), message)
    if names:
        message = re.sub(r"\bfeature (\d+)\b", lambda found: f"feature {names[int(found[1])]}", message)
    return message.replace("eval_set", "--eval")


@contextmanager
def features_named(names: Sequence[str], eval_files: Sequence[Path] = ()) -> Iterator[None]:
    """Let errors and warnings name features as the file has them, and evaluation sets by their files."""
    show = warnings.showwarning

    def show_named(message: Warning | str, *rest: object, **more: object) -> None:
        """Show a warning in these words."""
        show(in_options(str(message), eval_files, names), *rest, **more)  # type: ignore[arg-type]

    with warnings.catch_warnings():
        warnings.showwarning = show_named
        try:
            yield
        except PodiumError as error:
            raise PodiumError(in_options(str(error), eval_files, names)) from error


def _file_of(eval_files: Sequence[Path]) -> Callable[[re.Match[str]], str]:
    """Return what names the file of a numbered evaluation set."""

    def name(found: re.Match[str]) -> str:
        """Return the file, or its option where the number is beyond them."""
        number = int(found[1])
        return str(eval_files[number]) if number < len(eval_files) else f"--eval {number + 1}"

    return name
