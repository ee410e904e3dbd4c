"""Plots of docs/papers.md, drawn from the results that the experiments keep, as images that need no network.

python experiments/paper_plots.py [--folder experiments/results]
"""

import argparse
import json
from pathlib import Path

import altair
from movie_ratings import RANKERS as MOVIE_RANKERS
from paper_tables import RESULTS
from rankboost_plus import NAMES, SHOWN, critical_difference

PARTS = {"features": "viewers", "densities": "ratings of a viewer", "feedback": "ratings of the target"}


def lines(rows, x, y, color, facet, columns=2, order=None, zero=False):
    """Return panels of lines, one for each value of `facet`."""
    scale = altair.Scale(zero=zero)
    x_axis = altair.X(x, sort=order, title=None if x.endswith(":N") else x[:-2])
    encoding = {"x": x_axis, "y": altair.Y(y, scale=scale, title=None), "color": altair.Color(color, title=None)}
    base = altair.Chart(altair.Data(values=rows)).mark_line(point=len(rows) < 200).encode(**encoding)
    return (
        base.properties(width=260, height=180)
        .facet(facet=altair.Facet(facet, title=None, sort=None), columns=columns)
        .resolve_scale(y="independent")
    )


def convergence(kept):
    """RB+ Figure 2: test measures by rounds."""
    rows = [
        {"round": at, "value": value, "ranker": name, "measure": measure}
        for name, curve in zip(NAMES, kept["movielens"]["curves"], strict=True)
        for at, values in enumerate(curve, 1)
        for measure, value in zip(SHOWN, values, strict=True)
        if measure in ("R̂1", "R̂2", "NDCG@5")
    ]
    return lines(rows, "round:Q", "value:Q", "ranker:N", "measure:N", columns=3)


def rank_diagram(kept):
    """RB+ Figure 3: mean ranks with half the critical difference to both sides: bars that do not meet differ."""
    own = kept["movielens"]
    half = critical_difference(own["tasks"]) / 2
    rows = [
        {"measure": measure, "ranker": name, "rank": rank, "low": rank - half, "high": rank + half}
        for measure, ranks in zip(SHOWN, own["ranks"], strict=True)
        for name, rank in zip(NAMES, ranks, strict=True)
    ]
    base = altair.Chart(altair.Data(values=rows)).encode(y=altair.Y("ranker:N", title=None))
    bars = base.mark_rule(size=4, opacity=0.4).encode(
        x=altair.X("low:Q", title="mean rank", scale={"domain": [1, 3]}), x2="high:Q"
    )
    points = base.mark_point(filled=True, size=60).encode(x="rank:Q", color=altair.Color("ranker:N", legend=None))
    return altair.layer(bars, points).properties(width=420, height=50).facet(row=altair.Row("measure:N", title=None))


def training_losses(kept):
    """RB+ Figure 2, its training part, and Figure 4: losses by rounds."""
    rows = [
        {"round": at, "value": value, "ranker": name, "loss": f"{loss}, mean over tasks, up to 1.5"}
        for name, curve in zip(NAMES, kept["training"], strict=True)
        for at, values in enumerate(curve, 1)
        for loss, value in zip(("Ê1", "Ê2"), values, strict=True)
        if value <= 1.5
    ]
    rows += [
        {"round": at, "value": value, "ranker": name, "loss": "Ê1 where RB-D stops"}
        for name, curve in (kept["stopped"] or {}).items()
        for at, value in enumerate(curve, 1)
    ]
    return lines(rows, "round:Q", "value:Q", "ranker:N", "loss:N", columns=3)


def speed(kept):
    """RB+ Figure 1: milliseconds of a fit by rounds."""
    rows = [
        {"rounds": int(n), "milliseconds": 1e3 * seconds, "ranker": name}
        for name, own in kept["speed"].items()
        for n, seconds in own.items()
    ]
    encoding = {"x": "rounds:Q", "y": "milliseconds:Q", "color": altair.Color("ranker:N", title=None)}
    return altair.Chart(altair.Data(values=rows), width=360, height=200).mark_line(point=True).encode(**encoding)


def metasearch(kept):
    """RB Figure 4: training and test loss of the four weak learners."""
    stages = [1, 10, 30, 50, 100, 200]
    rows = [
        {"rounds": at, "loss": value, "weak learner": name, "part": part}
        for name, curve in kept["curves"].items()
        for at, values in zip(stages, curve, strict=False)
        for part, value in zip(("training", "test"), values, strict=True)
        if at > 1
    ]
    return lines(rows, "rounds:Q", "loss:Q", "weak learner:N", "part:N")


def movies(kept, part):
    """RB Figures 5 to 7: four measures by what is varied."""
    rows = [
        {PARTS[part]: setting.rsplit(" ", 1)[0], "value": values[i], "ranker": ranker, "measure": measure}
        for setting, own in kept[part].items()
        for ranker, values in zip(MOVIE_RANKERS, own["means"], strict=True)
        for i, measure in enumerate(("disagreement", "AP", "PROT", "coverage"))
    ]
    order = [setting.rsplit(" ", 1)[0] for setting in kept[part]]
    return lines(rows, f"{PARTS[part]}:N", "value:Q", "ranker:N", "measure:N", order=order)


def guessing(kept):
    """RB Figure 8: what a random order gives."""
    rows = []
    for setting, values in kept["guessing"].items():
        n_movies, share = setting.split(" movies, ")
        for measure, value in zip(("AP", "PROT", "coverage"), values[1:], strict=True):
            panel = "60 movies, by the share of good ones" if n_movies == "60" else "a quarter good, by movies"
            x = float(share.split()[0]) if n_movies == "60" else float(n_movies)
            rows.append({"x": x, "value": value, "measure": measure, "panel": panel})
    return lines(rows, "x:Q", "value:Q", "measure:N", "panel:N", zero=True).resolve_scale(x="independent")


def leaderboard(kept):
    """Test NDCG@10 and MAP of each ranking with their intervals, the best on top."""
    found = sorted(kept["mq2008"]["rankings"].items(), key=lambda item: -item[1]["ndcg@10"])
    peers = ("LightGBM", "XGBoost", "CatBoost", "scikit-learn")
    rows = [
        {"ranking": name, "value": own[measure], "low": own["intervals"][measure][0], "measure": measure.upper(),
         "high": own["intervals"][measure][1], "whose": "peer" if name.startswith(peers) else "ours"}
        for name, own in found for measure in ("ndcg@10", "map")
    ]  # fmt: skip
    order = [name for name, _ in found]
    base = altair.Chart(altair.Data(values=rows)).encode(y=altair.Y("ranking:N", sort=order, title=None))
    value = altair.X("low:Q", title=None, scale=altair.Scale(zero=False))
    points = base.mark_point(filled=True).encode(x="value:Q", color=altair.Color("whose:N", title=None))
    panels = altair.layer(base.mark_rule().encode(x=value, x2="high:Q"), points).properties(width=260)
    return panels.facet(column=altair.Column("measure:N", title=None)).resolve_scale(x="independent")


PLOTS = {
    "rankboost_plus_convergence": ("rankboost_plus", convergence),
    "rankboost_plus_ranks": ("rankboost_plus", rank_diagram),
    "metasearch_losses": ("metasearch_runs", metasearch),
    **{f"movies_{part}": ("movie_ratings", lambda kept, part=part: movies(kept, part)) for part in PARTS},
    "rankboost_plus_training": ("rankboost_plus_figures", training_losses),
    "rankboost_plus_speed": ("rankboost_plus_figures", speed),
    "movies_guessing": ("movie_ratings", guessing),
    "leaderboard": ("leaderboard", leaderboard),
}


def main():
    """Draw all plots."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=RESULTS)
    folder = parser.parse_args().folder
    for name, (experiment, plot) in PLOTS.items():
        kept = RESULTS / f"{experiment}.json"
        if kept.exists():
            plot(json.loads(kept.read_text())).save(folder / f"{name}.svg")
            print(f"{name}.svg")


if __name__ == "__main__":
    main()
