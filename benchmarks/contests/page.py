"""The page of all contests: tables and charts drawn from what the suites kept; no figure of it is typed."""

import json
from pathlib import Path

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
    "memory": "CatBoost grew 2 trees, the others 30.",
    "cold_start": "In a fresh install Podium compiles its kernels once; peers come compiled.",
}


def written(results):
    """Return the page's tables; `results` has the JSON of each suite by its name, with the suite's title and unit."""
    parts = []
    for name, (title, unit, found) in results.items():
        parts += [f"## {title}\n", f"{NOTES[name]}\n" if name in NOTES else "", _table(found["records"], unit)]
        parts += [f"![{title}](../benchmarks/results/{name}.svg)\n", f"{_machine(found['machine'])}\n"]
    return "\n".join(part for part in parts if part)


def _table(found, unit):
    """Return a table of one suite: Podium's value, and Podium's over each peer's."""
    peers = list(dict.fromkeys(one["contestant"] for one in found if one["contestant"] != OURS))
    own = {(one["case"], one["size"]): one for one in found if one["contestant"] == OURS}
    quality = {(one["case"], one["size"], one["contestant"]): one.get("ndcg") for one in found}
    shares = ratios(found)
    header = ["case", "size", f"Podium, {unit}", *(f"/ {peer}" for peer in peers)]
    lines = [header, ["---"] * len(header)]
    for (case, size), one in own.items():
        cells = [_with(f"{one['value']:.3g}", quality[case, size, OURS])]
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
    return altair.vconcat(*parts).properties(title=title)


def _n_sizes(found, case):
    """Return how many sizes a case has."""
    return len({one["size"] for one in found if one["case"] == case})
