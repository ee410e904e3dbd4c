"""The page of all contests: tables and charts drawn from what the suites kept; no figure of it is typed."""

import json
from pathlib import Path
from statistics import median

from contests.turns import OURS, RESULTS, ratios

PAGE = Path(__file__).parents[2] / "docs" / "benchmarks.md"
START, END = "<!-- results -->\n", "<!-- end -->\n"
CLOCKS = {"wall": "Time by the clock", "cpu": "Time of the processor"}
NOTES = {
    "training": (
        "In brackets NDCG@10 on new queries; with few trees the default normalisation of λ, chosen on real data, takes "
        "smaller steps on these made data."
    ),
    "scoring": "All contestants hold the same trees, and give the same scores.",
    "reading": "XGBoost keeps numbers of 4 bytes, Podium and scikit-learn of 8.",
    "memory": "CatBoost grew 2 trees, the others 30.",
    "cold_start": "In a fresh install Podium compiles its kernels once; peers come compiled.",
}


GOALS = {"training": {"lightgbm": 0.3, "lightgbm, quantized": 0.45}, "scoring": {"xgboost": 0.8}}
"""The ratio that no case of a suite should exceed, by peer."""
PADDING = {"left": 60, "top": 5, "right": 60, "bottom": 5}
"""Points around a chart: texts are wider in the fonts of some browsers than where charts are drawn."""
KNOWN = {"lightgbm": "LightGBM", "xgboost": "XGBoost", "scikit-learn": "scikit-learn", "ranx": "ranx"}
SHORT = {
    "training": "a fit of boosted trees",
    "scoring": "scoring with the same trees",
    "reading": "reading LETOR files and TREC runs",
    "measuring": "NDCG and MAP",
    "memory": "memory of a fit",
    "cold_start": "first fit of a process (import; first fit of an install)",
}
"""Peers and suites of the short table, and their names there."""
GLANCE = (
    "Podium's figure over the peer's: the lowest, the median and the highest of all cases, and how many there are.\n"
)


def written(results):
    """Return the page's tables; `results` has the JSON of each suite by its name, with the suite's title and unit."""
    parts = [
        "## All ratios at a glance\n",
        GLANCE,
        _overview(results),
        "![All ratios](../benchmarks/results/glance.svg)\n",
    ]
    for name, (title, unit, found) in results.items():
        parts += [f"## {title}\n", f"{NOTES[name]}\n" if name in NOTES else "", _table(found["records"], unit)]
        parts += [f"{_goals(GOALS[name], _by_peer(found['records']))}\n" if name in GOALS else ""]
        parts += [f"![{title}](../benchmarks/results/{name}.svg)\n", f"{_machine(found['machine'])}\n"]
    return "\n".join(part for part in parts if part)


def _overview(results):
    """Return a table of all suites by all peers: lowest, median and highest ratio, and their number."""
    shares = {name: _by_peer(found["records"]) for name, (_, _, found) in results.items()}
    peers = list(dict.fromkeys(peer for own in shares.values() for peer in own))
    lines = [["suite", *(f"/ {peer}" for peer in peers)], ["---"] * (1 + len(peers))]
    for name, own in shares.items():
        lines.append([name.replace("_", " "), *(_spread(own[peer]) if peer in own else "" for peer in peers)])
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def short(results):
    """Return a table of all suites by the peers that most readers know: median ratio, lowest and highest."""
    lines = [["", *(f"/ {KNOWN[peer]}" for peer in KNOWN)], ["---"] * (1 + len(KNOWN))]
    for name, title in SHORT.items():
        own = _by_peer(results[name][2]["records"])
        lines.append([title, *(_middle(own[peer]) if peer in own else "" for peer in KNOWN)])
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _middle(values):
    """Return the median with the lowest and the highest; a single value alone."""
    ends = "" if len(values) == 1 else f" ({min(values):.2f} to {max(values):.2f})"
    return f"{median(values):.2f}{ends}"


def _goals(goals, shares):
    """Return in how many cases each goal is reached."""
    told = []
    for peer, goal in goals.items():
        own = shares.get(peer, [])
        told.append(f"at most {goal:g} of {peer}, reached in {sum(one <= goal for one in own)} of {len(own)} cases")
    return f"Goal: {'; '.join(told)}."


def _by_peer(found):
    """Return the ratios of all cases of a suite by peer."""
    of = {}
    for shares in ratios(found).values():
        for peer, share in shares.items():
            of.setdefault(peer, []).append(share)
    return of


def _spread(values):
    """Return lowest, median and highest with their number; a single value alone."""
    if len(values) == 1:
        return f"{values[0]:.2f}"
    return f"{min(values):.2f}, {median(values):.2f}, {max(values):.2f}; {len(values)}"


def _table(found, unit):
    """Return a table of one suite: Podium's value, and Podium's over each peer's."""
    peers = list(dict.fromkeys(one["contestant"] for one in found if one["contestant"] != OURS))
    own = {(one["case"], one["size"]): one for one in found if one["contestant"] == OURS}
    quality = {(one["case"], one["size"], one["contestant"]): one.get("ndcg") for one in found}
    shares = ratios(found)
    header = ["case", "size", f"Podium, {unit}", *(f"/ {peer}" for peer in peers)]
    lines = [header, ["---"] * len(header)]
    for (case, size), one in own.items():
        cells = [_with(f"{one['value']:#.3g}".rstrip("."), quality[case, size, OURS])]
        for peer in peers:
            share = shares[case, size].get(peer)
            cells.append("" if share is None else _with(f"{share:.2f}", quality[case, size, peer]))
        lines.append([case, f"{size:,}", *cells])
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def _with(text, quality):
    """Return a figure with the quality of the model in brackets, where it has one."""
    return text if quality is None else f"{text} ({quality:.3f})"


def _machine(machine):
    """Return the sentence on the machine and the versions."""
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
    return (
        f"Taken on {machine['cores']} cores of {machine['processor']}, {machine['memory']}, {machine['system']}, "
        f"Python {machine['python']}; {versions}. {CLOCKS[machine['clock']]}, load average {machine['load']}."
    )


def redrawn(page, results):
    """Return a page with its results drawn anew between the marks."""
    before, rest = page.split(START)
    return f"{before}{START}\n{written(results)}\n{END}{rest.split(END)[1]}"


def kept(suites, folder=RESULTS):
    """Return the results of all suites that have been run, each with its title and unit."""
    paths = {name: Path(folder) / f"{name}.json" for name in suites}
    return {
        name: (suite.TITLE, suite.UNIT, json.loads(paths[name].read_text()))
        for name, suite in suites.items()
        if paths[name].exists()
    }


def chart(title, unit, found):
    """Return the chart of a suite: ratios of all cases as points, and growth where a case has several sizes."""
    import altair

    shares = [
        {"case": f"{case}; {size:,}" if _n_sizes(found, case) > 1 else case, "peer": peer, "ratio": ratio}
        for (case, size), of in ratios(found).items()
        for peer, ratio in of.items()
    ]
    log = altair.Scale(type="log")
    names = dict.fromkeys([OURS, *(one["contestant"] for one in found)])
    colors = altair.Scale(domain=list(names))
    points = (
        altair.Chart(altair.Data(values=shares), width=360)
        .mark_point(filled=True, size=60)
        .encode(
            x=altair.X("ratio:Q", scale=log, title="Podium / peer, lower is better"),
            y=altair.Y("case:N", sort=None, title=None, axis=altair.Axis(labelLimit=360)),
            color=altair.Color("peer:N", title=None, scale=colors),
        )
    )
    even = altair.Chart(altair.Data(values=[{"one": 1}])).mark_rule(strokeDash=[4, 3]).encode(x="one:Q")
    parts = [altair.layer(even, points)]
    growing = [one for one in found if _n_sizes(found, one["case"]) > 1]
    if growing:
        lines = (
            altair.Chart(altair.Data(values=growing), width=220, height=170)
            .mark_line(point=True)
            .encode(
                x=altair.X("size:Q", scale=log, title="size"),
                y=altair.Y("value:Q", scale=log, title=unit),
                color=altair.Color("contestant:N", title=None, scale=colors),
            )
            .facet(facet=altair.Facet("case:N", title=None, sort=None), columns=2)
        )
        parts.append(lines)
    return altair.vconcat(*parts).properties(title=title, padding=PADDING)


def glance(results):
    """Return the chart of all ratios of all suites: a row for each peer of a suite."""
    import altair

    shares = [
        {"suite": name.replace("_", " "), "peer": peer, "ratio": share}
        for name, (_, _, found) in results.items()
        for peer, own in _by_peer(found["records"]).items()
        for share in own
    ]
    ratio = altair.X("ratio:Q", scale=altair.Scale(type="log"), title="Podium / peer, lower is better")
    points = (
        altair.Chart(width=420)
        .mark_point(filled=True, size=45, opacity=0.6)
        .encode(x=ratio, y=altair.Y("peer:N", title=None, sort=None), color=altair.Color("peer:N", legend=None))
    )
    even = altair.Chart(width=420).mark_rule(strokeDash=[4, 3]).encode(x=altair.datum(1.0))
    rows = altair.Row("suite:N", title=None, sort=None, header=altair.Header(labelAngle=0, labelAlign="left"))
    layers = altair.layer(even, points, data=altair.Data(values=shares))
    return (
        layers.facet(row=rows)
        .resolve_scale(y="independent")
        .properties(title="Podium beside its peers", padding=PADDING)
    )


def _n_sizes(found, case):
    """Return how many sizes a case has."""
    return len({one["size"] for one in found if one["case"] == case})
