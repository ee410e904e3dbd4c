"""The command that makes one TREC run of several: fuse."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from podium.cli.output import show
from podium.fusion import fuse
from podium.model_file import check_writable
from podium.readers import read_qrels, read_run


def fuse_files(runs: Sequence[Path], qrels: Path | None, output: Path, options: dict[str, Any], as_json: bool) -> None:
    """Fuse the runs of some files, write the fused one, and say how good it is; `options` are those of `fuse`."""
    check_writable(output)
    judgements = None if qrels is None else read_qrels(qrels)
    fused = fuse([read_run(path) for path in runs], judgements, n_jobs=-1, **options)
    fused.save(output)
    show(fused, as_json)
