"""Damaged and hostile model files: each must load, or be a FormatError, quickly and without much memory.

    python benchmarks/fuzz_models.py                  # 10,000 files, about two minutes
    python benchmarks/fuzz_models.py --files 500 --seed 7

Takes the sample files of every protocol and ranker (tests/data/models) and changes each at random: bits, bytes, length;
members of the archive, with checksums that are right again; values of the JSON document; headers and numbers of arrays.
What still loads must score rows. Prints how many did what; ends with 1 if one crashed, took over a second of the
processor, or took more than 100 MB beyond twenty times its own size.
"""

from __future__ import annotations

import argparse
import io
import json
import re
import tempfile
import time
import tracemalloc
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from copy import deepcopy
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

from podium import FormatError, PodiumError, load

SAMPLES = Path(__file__).resolve().parents[1] / "tests" / "data" / "models"
MOST_SECONDS, MOST_BYTES, BYTES_PER_BYTE = 1.0, 100 * 2**20, 20
VALUES: tuple[Any, ...] = (
    None, True, -1, 0, 1, 2, 7, 1.5, -0.0, 1e308, float("nan"), 2**31 - 1, 2**63, 10**30, 10**400, "", "x", "nan",
    "inf", "Ω" * 2000, [], {}, [[]], [1, "a"], [None] * 500, {"$array": "x.npy"}, {"$float": "nan"}, {"$float": 1},
    {"$tuple": 3}, {"$map": [[[], 1]]}, {"$map": [[1, 2]]}, {"$ranker": "MART", "parameters": {}},
    {"$ranker": 0, "parameters": {}}, {"$ranker": "ORStump", "parameters": {}}, {"$new": 0}, "RankBoost", "LambdaMART",
    "NearestNeighbor", "ORStump", "SVOR", "ImportedTrees", "number", "linear", "objects",
)  # fmt: skip
NUMBERS = (0.0, -1.0, 1.0, 2.0, 5.0, -7.0, 1e6, 1e308, np.inf, -np.inf, np.nan)
KINDS = ("?", "i1", "i4", "i8", "u1", "u8", "f4", "f8", ">f8", "c16", "U3", "O")
HEADERS = ("(10000000000,)", "(3, 1000000)", "()", "(-1,)", "(0, 999999999, 999999999)", "(1,)*9", "'3'")


class Outcome(NamedTuple):
    """What one file did."""

    result: str
    seconds: float
    peak: int


def flip_bits(data: bytes, rng: np.random.Generator) -> bytes:
    """Turn one to eight bits round."""
    out = bytearray(data)
    for place in rng.integers(0, len(out), rng.integers(1, 9)):
        out[place] ^= 1 << int(rng.integers(8))
    return bytes(out)


def change_bytes(data: bytes, rng: np.random.Generator) -> bytes:
    """Put bytes in, take bytes out, or write over some."""
    start, length = int(rng.integers(len(data))), int(rng.integers(1, 40))
    new = rng.integers(0, 256, length * int(rng.integers(2)), np.uint8).tobytes()
    return data[:start] + new + data[start + length * int(rng.integers(2)) :]


def truncate(data: bytes, rng: np.random.Generator) -> bytes:
    """Cut the end off, or the start."""
    cut = int(rng.integers(len(data)))
    return data[:cut] if rng.integers(4) else data[cut:]


def change_document(data: bytes, rng: np.random.Generator) -> bytes:
    """Change, drop or exchange values anywhere in the JSON document."""
    held = members(data)
    document = json.loads(held["model.json"])
    for _ in range(int(rng.integers(1, 4))):
        places = list(containers(document))
        where, other = (places[int(rng.integers(len(places)))] for _ in range(2))
        key, other_key = random_key(where, rng), random_key(other, rng)
        action = int(rng.integers(4))
        if action == 0 and isinstance(where, dict):
            del where[key]
        elif action == 1:
            where[key] = deepcopy(other[other_key])
        else:
            where[key] = deepcopy(VALUES[int(rng.integers(len(VALUES)))])
    return repacked({**held, "model.json": json.dumps(document).encode()})


def containers(document: Any) -> Any:
    """Yield every list and dict that is not empty."""
    if isinstance(document, dict | list) and document:
        yield document
        for one in document.values() if isinstance(document, dict) else document:
            yield from containers(one)


def random_key(container: Any, rng: np.random.Generator) -> Any:
    """Return a key of a dict or a place in a list."""
    keys = list(container) if isinstance(container, dict) else range(len(container))
    return keys[int(rng.integers(len(keys)))]


def change_member(data: bytes, rng: np.random.Generator) -> bytes:
    """Damage one member inside an archive whose checksums are right."""
    held = members(data)
    name = random_key(held, rng)
    damage = (flip_bits, change_bytes, truncate)[int(rng.integers(3))]
    return repacked({**held, name: damage(held[name], rng)})


def change_members(data: bytes, rng: np.random.Generator) -> bytes:
    """Drop, rename, exchange, add, repeat, compress or mark a member."""
    held = members(data)
    name, other = random_key(held, rng), random_key(held, rng)
    changes: tuple[Callable[[], bytes], ...] = (
        lambda: repacked({key: value for key, value in held.items() if key != name}),
        lambda: repacked(
            {("../" * int(rng.integers(3)) + key + "x" if key == name else key): held[key] for key in held}
        ),
        lambda: repacked({**held, name: held[other], other: held[name]}),
        lambda: repacked({**held, "more.npy": bytes(int(rng.integers(2000)))}),
        lambda: repacked(held, again=name),
        lambda: repacked({**held, name: bytes(10**6)}, zipfile.ZIP_DEFLATED),
        lambda: marked(repacked(held), rng),
    )
    return changes[int(rng.integers(len(changes)))]()


def change_array(data: bytes, rng: np.random.Generator) -> bytes:
    """Give an array another header, kind or shape, or numbers that are not sound."""
    held = members(data)
    arrays = [name for name in held if name.endswith(".npy")]
    if not arrays:  # of a ranker that keeps numbers alone
        return change_document(data, rng)
    name = arrays[int(rng.integers(len(arrays)))]
    change = (other_header, other_kind, other_number)[int(rng.integers(3))]
    return repacked({**held, name: change(held[name], rng)})


def other_header(data: bytes, rng: np.random.Generator) -> bytes:
    """Declare another shape, order or kind than the bytes have."""
    shape, kind = HEADERS[int(rng.integers(len(HEADERS)))], KINDS[int(rng.integers(len(KINDS)))]
    if rng.integers(2):
        return re.sub(rb"'shape': \(.*?\)", b"'shape': " + shape.encode(), data, count=1)
    return re.sub(rb"'descr': '...'", b"'descr': '" + np.dtype(kind).str.encode() + b"'", data, count=1)


def other_kind(data: bytes, rng: np.random.Generator) -> bytes:
    """Keep the numbers as another kind, in another shape or order."""
    array, kind = np.load(io.BytesIO(data)), KINDS[int(rng.integers(len(KINDS)))]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        array = array.astype(kind).reshape(((-1,), (1, -1), (-1, 1))[int(rng.integers(3))])
    return npy(np.asfortranarray(array) if rng.integers(2) else array)


def other_number(data: bytes, rng: np.random.Generator) -> bytes:
    """Change, repeat or exchange some numbers."""
    array = np.load(io.BytesIO(data))
    if array.size == 0:
        return npy(np.ones(3, array.dtype))
    for _ in range(int(rng.integers(1, 4))):
        place, other = rng.integers(0, array.size, 2)
        new = NUMBERS[int(rng.integers(len(NUMBERS)))] if rng.integers(2) else array.flat[other]
        array.flat[place] = (
            new if array.dtype.kind == "f" else np.nan_to_num(np.clip(new, -100, 100)).astype(array.dtype)
        )
    return npy(array[: int(rng.integers(array.size + 1))] if rng.integers(4) == 0 and array.ndim else array)


def npy(array: Any) -> bytes:
    """Return an array as .npy."""
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def members(data: bytes) -> dict[str, bytes]:
    """Return the members of an archive."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def repacked(held: dict[str, bytes], kind: int = zipfile.ZIP_STORED, again: str | None = None) -> bytes:
    """Return an archive of members, one of them twice if named."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", kind) as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in [*held, *([again] if again else [])]:
            archive.writestr(zipfile.ZipInfo(name), held[name], kind)
    return buffer.getvalue()


def marked(data: bytes, rng: np.random.Generator) -> bytes:
    """Change a byte of the archive's directory: flags, sizes, offsets, names."""
    start = data.index(b"PK\x01\x02")
    out = bytearray(data)
    out[int(rng.integers(start, len(out)))] = int(rng.integers(256))
    return bytes(out)


CHANGES = (
    flip_bits, change_bytes, truncate, change_document, change_document, change_member, change_members, change_array,
    change_array,
)  # fmt: skip


def fuzzed(samples: Sequence[Path], seed: int, number: int) -> tuple[str, bytes]:
    """Return file `number` of a seed, and what was done to it."""
    rng = np.random.default_rng([seed, number])
    sample = samples[int(rng.integers(len(samples)))]
    data = sample.read_bytes()
    change = CHANGES[int(rng.integers(len(CHANGES)))]
    return f"{change.__name__} of {sample.parent.name}/{sample.name}", change(data, rng)


def score_rows(model: Any) -> None:
    """Score rows; a coefficient of 1e308 is sound, its scores are not, and a ranker may refuse to grade by them."""
    rows = np.array([[0.5], [np.nan], [np.inf], [-1.0]]).repeat(model.n_features_in_, axis=1)
    with np.errstate(over="ignore", invalid="ignore"), suppress(PodiumError):
        model.predict(rows)
        getattr(model, "predict_rank", model.predict)(rows)


def try_file(path: Path) -> Outcome:
    """Load a file and, where that goes well, score rows with it."""
    tracemalloc.reset_peak()
    before, start = tracemalloc.get_traced_memory()[0], time.process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model = load(path)
        if model.n_features_in_ < 1000:
            score_rows(model)
        result = "loaded"
    except FormatError:
        result = "refused"
    except Exception as error:
        result = f"{type(error).__name__}: {error}"
    return Outcome(result, time.process_time() - start, tracemalloc.get_traced_memory()[1] - before)


def verdict(outcome: Outcome, size: int) -> str:
    """Return "refused", "loaded", or what must not happen."""
    if outcome.seconds > MOST_SECONDS:
        return "took over a second"
    if outcome.peak > MOST_BYTES + BYTES_PER_BYTE * size:
        return "took over 100 MB"
    return outcome.result if outcome.result in ("refused", "loaded") else "crashed"


def run(n_files: int, seed: int) -> tuple[Counter[str], list[str], Outcome]:
    """Try files; return counts of what they did, the ones that must not happen, and the worst time and memory."""
    samples = sorted(SAMPLES.glob("protocol-*/*.podium"))
    counts: Counter[str] = Counter()
    bad, slowest, largest = [], 0.0, 0
    tracemalloc.start()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        for sample in samples:  # compiles the kernels
            path.write_bytes(sample.read_bytes())
            try_file(path)
        for number in range(n_files):
            change, data = fuzzed(samples, seed, number)
            path.write_bytes(data)
            outcome = try_file(path)
            kind = verdict(outcome, len(data))
            counts[kind] += 1
            slowest, largest = max(slowest, outcome.seconds), max(largest, outcome.peak)
            if kind not in ("refused", "loaded"):
                bad.append(f"file {number} of seed {seed} ({change}) {kind}: {outcome}")
    tracemalloc.stop()
    return counts, bad, Outcome("worst", slowest, largest)


def main(argv: Sequence[str] | None = None) -> int:
    """Print what the files did."""
    parser = argparse.ArgumentParser(description="Fuzz model files.")
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(argv)
    counts, bad, worst = run(given.files, given.seed)
    table = Table("outcome", "files", title=f"{given.files} changed files, seed {given.seed}", title_justify="left")
    for kind in ("refused", "loaded", "crashed", "took over a second", "took over 100 MB"):
        table.add_row(kind, str(counts[kind]))
    Console().print(table)
    Console().print(f"slowest {worst.seconds:.3f} s, most memory {worst.peak / 2**20:.1f} MB")
    for line in bad[:20]:
        print(line)
    return 1 if bad else 0


if __name__ == "__main__":
    raise SystemExit(main())
