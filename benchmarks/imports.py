"""Time to import a model of 1,000 trees of 64 leaves from each format that Podium also writes; one thread.

python benchmarks/imports.py [--trees 1000] [--leaves 64]
"""

import tempfile
import time
from pathlib import Path

from exports import arguments, models

from podium import import_model
from podium.export import export_model

OPTIONS = {"lightgbm": {}, "xgboost-json": {}, "ranklib": {"missing": "absent"}}


def main():
    args = arguments(__doc__)
    _, trees, _ = models(args.trees, args.leaves, args.rows)
    with tempfile.TemporaryDirectory() as folder:
        for name, options in OPTIONS.items():
            path = Path(folder) / name
            export_model(trees, path, name, **options)
            times = []
            for _ in range(3):
                start = time.process_time()
                import_model(path)
                times.append(time.process_time() - start)
            print(f"{name:14}{path.stat().st_size / 1e6:6.1f} MB{min(times):7.2f} s")


if __name__ == "__main__":
    main()
