"""Training from Parquet files larger than a limit of memory, beside the fit in memory: seconds, and the same model.

    python benchmarks/out_of_core.py [--rows 3000000] [--features 136] [--trees 10] [--times 4] [--threads 2]

The file holds `times` as much as the limit, as float64. The limit is the kernel's (RLIMIT_DATA: all memory of the
process that is not a mapped file), set before anything is imported. Each fit has its own process; the command fails
where the models differ.
"""

import argparse
import hashlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

THRIFTY = {
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    "MALLOC_MMAP_THRESHOLD_": "1000000",
    "MALLOC_ARENA_MAX": "2",
    "OPENBLAS_NUM_THREADS": "1",
}
"""Settings for little memory: Arrow's own allocator reserves a gigabyte at once, the C library keeps freed arrays of up
to 32 MB, and each thread of OpenBLAS, which trees do not use, has a buffer."""
STACK_BYTES = 2**21
"""Of each thread: the limit counts stacks whole, and Arrow starts ten threads."""
ROWS_PER_GROUP = 50_000
"""Rows of a row group of the file."""


def write_file(path, rows, features):
    """Write made search rows, queries of 100, to a Parquet file, group by group."""
    import numpy as np
    import pyarrow as pa
    from pyarrow import parquet

    rule = np.random.default_rng(1).standard_normal(features) * (np.random.default_rng(2).random(features) < 0.3)
    schema = pa.schema([(f"f{one}", pa.float64()) for one in range(features)] + [("y", pa.int8()), ("qid", pa.int64())])
    with parquet.ParquetWriter(path, schema, compression="zstd", use_dictionary=False) as writer:
        for start in range(0, rows, ROWS_PER_GROUP):
            rng = np.random.default_rng([3, start])
            X = rng.standard_normal((min(ROWS_PER_GROUP, rows - start), features)).astype(np.float32).astype(np.float64)
            X[:, ::3] = np.floor(np.exp(X[:, ::3]))
            score = np.tanh(X) @ rule + 2 * rng.standard_normal(len(X))
            columns = [*X.T, np.digitize(score, [0.5, 2.0, 4.0]).astype(np.int8), (start + np.arange(len(X))) // 100]
            writer.write_table(pa.table([pa.array(one) for one in columns], schema=schema))


def train(args):
    """Fit in this process and print seconds, peaks of memory and a digest of the model as JSON."""
    if args.limit:
        resource.setrlimit(resource.RLIMIT_DATA, (args.limit, args.limit))
    from podium import LambdaMART

    ranker, features = LambdaMART(args.trees, n_jobs=args.threads), [f"f{one}" for one in range(args.features)]
    start = time.perf_counter()
    if args.limit:
        from podium.out_of_core import fit

        fit(ranker, args.file, "y", qid="qid", folder=str(Path(args.file).parent))
    else:
        from pyarrow import parquet

        table = parquet.read_table(args.file)
        ranker.fit(table.select(features), table["y"].to_numpy(), qid=table["qid"].to_numpy())
    seconds = time.perf_counter() - start
    content = json.dumps(ranker.content()["learned"], default=lambda one: one.tolist(), sort_keys=True)
    peaks = {
        line.split(":")[0]: int(line.split()[1]) // 1024
        for line in Path("/proc/self/status").read_text().splitlines()
        if line.startswith(("VmHWM", "VmData"))
    }
    print(json.dumps({"seconds": seconds, "model": hashlib.sha256(content.encode()).hexdigest(), **peaks}))


def run(args, path, limit):
    """Return what a process of its own prints."""
    given = ("rows", "features", "trees", "threads")
    options = [text for name in given for text in (f"--{name}", str(getattr(args, name)))]
    command = [sys.executable, __file__, *options, "--file", str(path), "--limit", str(limit)]
    ended = subprocess.run(
        command, stdout=subprocess.PIPE, text=True, check=True, env={**os.environ, **(THRIFTY if limit else {})},
        preexec_fn=partial(resource.setrlimit, resource.RLIMIT_STACK, (STACK_BYTES, resource.RLIM_INFINITY)),
    )  # fmt: skip
    return json.loads(ended.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=3_000_000)
    parser.add_argument("--features", type=int, default=136)
    parser.add_argument("--trees", type=int, default=10)
    parser.add_argument("--times", type=float, default=4.0)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--file", help=argparse.SUPPRESS)
    parser.add_argument("--limit", type=int, default=0, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.file:
        train(args)
        return 0
    n_bytes = 8 * args.rows * args.features
    limit = int(n_bytes / args.times)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        write_file(path, args.rows, args.features)
        on_disk = path.stat().st_size / 1e9
        print(f"{args.rows} x {args.features}: {n_bytes / 1e9:.2f} GB of values, {on_disk:.2f} GB on disk")
        memory, files = run(args, path, 0), run(args, path, limit)
    print(f"in memory    {memory['seconds']:7.1f} s, {memory['VmHWM']} MB at most")
    print(f"out of core  {files['seconds']:7.1f} s, within {limit / 2**20:.0f} MB beside mapped files")
    same = memory["model"] == files["model"]
    print(f"ratio {files['seconds'] / memory['seconds']:.2f}, same model: {same}")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
