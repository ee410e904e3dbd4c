"""The command that makes one TREC run of several: fuse."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from podium.cli.output import STANDARD_OUTPUT, check_output, show
from podium.cli.standard_input import read_from
from podium.fusion import fuse
from podium.readers import read_qrels, read_run


def fuse_files(runs: Sequence[Path], qrels: Path | None, output: Path, options: dict[str, Any], as_json: bool) -> None:
    """Fuse the runs of some files, write the fused one, and say how good it is; `options` are those of `fuse`."""
    to_output = str(output) == "-"
    target = STANDARD_OUTPUT if to_output else output
    check_output(target, qrels, *runs)
    judgements = None if qrels is None else read_from(qrels, read_qrels)
    fused = fuse([read_from(path, read_run) for path in runs], judgements, n_jobs=-1, **options)
    fused.save(target)
    show(fused, as_json, to_stderr=to_output)
