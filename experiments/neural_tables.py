"""Tables of docs/neural.md from results/neural.json, which neural.py, net_optimality.py and neural_peers.py keep.

    python experiments/neural_tables.py [--json FILE]

Values are NDCG@10 in percent. The test of LM 4.2 is drawn in docs/papers.md, by lambda_family.py.
"""

import argparse
import json
from pathlib import Path

import numpy as np
from paper_tables import RESULTS, markdown

NAMES = {
    "RankNet": "RankNet",
    "LambdaRank": "LambdaRank",
    "LambdaMART": "LambdaMART",
    "RankSVM": "RankSVM, linear",
    "blend": "blend of LambdaMART and LambdaRank",
    "blend of three": "blend of these two and RankSVM",
    "stack": "stack: linear LambdaRank on the three scores",
    "stack with a hidden layer": "stack: LambdaRank with a hidden layer of 8",
    "distilled": "RankNet distilled from LambdaMART",
}
PEERS = {
    "RankNet": "RankNet",
    "plain, the same draws": "plain loop that begins with RankNet's weights and draws its batches and units",
    "plain, its own draws": "plain loop with draws of its own",
}


def tables(results):
    """Return the tables of the page, of the parts that were run."""
    drawn = {
        "quality": quality_tables,
        "choose": choice_table,
        "peers_quality": peer_table,
        "peers_times": time_table,
    }
    return {
        name: table for part, draw in drawn.items() if part in results for name, table in draw(results[part]).items()
    }


def percent(value):
    """Return a mean in percent."""
    return f"{100 * value:.2f}"


def apart(row):
    """Return a difference with its standard error, in percent."""
    return f"{100 * row['difference']:+z.2f} ± {100 * row['error']:.2f}"


def quality_tables(found):
    """Return means with the range of the seeds, and differences."""
    rows = []
    for name, shown in NAMES.items():
        lowest, highest = (percent(of(found["by_seed"][name])) for of in (min, max))
        spread = lowest if lowest == highest else f"{lowest} to {highest}"
        rows.append([shown, percent(found["ndcg"][name]), spread])
    differences = [[row["of"], row["against"], apart(row)] for row in found["differences"]]
    return {
        "neural-quality": markdown(["ranker", "NDCG@10", "lowest and highest seed, mean of folds"], rows),
        "neural-differences": markdown(["", "against", "difference"], differences),
    }


def setting_name(setting):
    """Return a setting as one writes it."""
    words = ["no dropout"] if setting.get("dropout") == 0.0 else []
    given = [f"{name}={json.dumps(value)}" for name, value in setting.items() if name not in ("dropout", "hidden")]
    given += [f"hidden={tuple(setting['hidden'])}"] if "hidden" in setting else []
    return ", ".join(words + ([f"`{', '.join(given)}`"] if given else [])) or "default"


def choice_table(found):
    """Return the value of each setting of both nets."""
    rows = {}
    for row in found:
        rows.setdefault(setting_name(row["setting"]), {})[row["ranker"]] = percent(row["ndcg"])
    nets = ("RankNet", "LambdaRank")
    lines = [[name, *(own.get(net, "") for net in nets)] for name, own in rows.items()]
    return {"neural-choice": markdown(["setting", *nets], lines)}


def peer_table(found):
    """Return the value of each loop, and what RankNet has more."""
    less = {row["against"]: apart(row) for row in found["differences"]}
    rows = [[shown, percent(np.mean(found["ndcg"][name])), less.get(name, "")] for name, shown in PEERS.items()]
    return {"neural-peers": markdown(["", "NDCG@10", "RankNet less it"], rows)}


def time_table(found):
    """Return seconds of an epoch of each loop."""
    header = ["an epoch over the training part of MQ2008's first fold (9,630 rows, 471 queries)", "seconds"]
    return {"neural-times": markdown(header, [[name, f"{value:.3f}"] for name, value in found.items()])}


def main():
    """Print the tables of what was kept."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, default=RESULTS / "neural.json")
    print(*tables(json.loads(parser.parse_args().json.read_text())).values(), sep="\n\n")


if __name__ == "__main__":
    main()
