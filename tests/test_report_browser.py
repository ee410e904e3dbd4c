"""The page of a report in a headless browser: numbers, picker, keyboard, widths, colors, and hostile names."""

import re
import runpy
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import podium
from browser import Opened, find_browser, open_browser
from podium import LambdaMART, PreferenceRegression, RankBoost, RankSVM, evaluate, make_search
from podium.plots import plot_importance, save_chart
from podium.report import query_details, shipped_model

DOCS = Path(__file__).resolve().parents[1] / "docs"
HOSTILE = [
    "</script><script>window.hacked=1</script>",
    "<img src=x onerror=alert(1)>",
    '"><svg onload=alert(2)>',
    "&lt;b&gt; & <b>bold</b>",
    "\u202eright to left\u2028",
    "${7*7} {{7*7}} javascript:alert(3)",
    "\ud800 alone",
    "<!--<script>",
]


class Made:
    """A model, the rows that it ranked, and the file of their page."""

    def __init__(self, folder, model, table, features, **options):
        self.model, self.table, self.X = model, table, features
        self.report = podium.report(model, features, table.y, qid=table.qid, **options)
        self.file = folder / "report.html"
        self.report.save(self.file)
        self.queries = self.report.content["queries"]

    def row(self, query, place):
        """Return the row of X that stands at a place of a query of the page."""
        rows = np.flatnonzero(self.table.qid == int(self.queries["queries"][query]["id"]))
        return int(rows[int(self.queries["queries"][query]["names"][place].removeprefix("document ")) - 1])


def frame_of(table):
    return pd.DataFrame(table.X, columns=table.feature_names)


@pytest.fixture(scope="module")
def tables():
    return [make_search(n_queries=24, docs_per_query=12, n_features=9, random_state=seed) for seed in (0, 1)]


@pytest.fixture(scope="module")
def made(tables, tmp_path_factory):
    train, test = tables
    model = LambdaMART(n_estimators=12, min_child_samples=4, eval_metric="ndcg@10")
    model.fit(frame_of(train), train.y, qid=train.qid, eval_set=[(frame_of(test), test.y)], eval_qid=[test.qid])
    return Made(tmp_path_factory.mktemp("page"), model, test, frame_of(test))


@pytest.fixture(scope="module")
def browser():
    with open_browser() as started:
        yield started


@pytest.fixture(scope="module")
def opened(browser, made):
    return Opened(browser, made.file)


MINUS = "\N{MINUS SIGN}"


def signed(text):
    return float(text.replace(MINUS, "-"))


def test_the_page_opens_without_complaint_and_fetches_nothing(opened, made):
    assert opened.complaints == []
    assert opened.fetched == [made.file.as_uri()]


def test_numbers_of_the_page_are_those_of_evaluate(opened, made):
    measures = ["ndcg@10", "map", "mrr", "pair_loss"]
    result = evaluate(made.table.y, made.model.predict(made.X), qid=made.table.qid, measures=measures)
    assert opened.texts("#quality tr[data-measure] th") == measures
    assert opened.texts("#quality td.mean") == [f"{result[name]:.4f}" for name in measures]
    intervals = [result.interval(name) for name in measures]
    assert opened.texts("#quality td.interval") == [f"{low:.4f} … {high:.4f}" for low, high in intervals]
    assert opened.texts("#quality td.empty") == [str(result.n_empty(name)) for name in measures]
    assert opened.texts("#tiles b")[:3] == [f"{result['ndcg@10']:.4f}", "24", f"{len(made.table.y)}"]
    values = result.per_query("ndcg@10")
    shown = dict(zip(opened.texts("#extremes tbody th"), opened.texts("#extremes tbody td.n"), strict=True))
    assert shown == {query: f"{values[int(query)]:.4f}" for query in shown}
    order = sorted(values.values())
    assert [float(text) for text in list(shown.values())[:10]] == pytest.approx(order[:10], abs=1e-4)
    assert [float(text) for text in list(shown.values())[10:]] == pytest.approx(order[:-11:-1], abs=1e-4)


def test_the_picker_shows_what_explain_says(browser, made):
    opened = Opened(browser, made.file)
    query = 7
    opened.page.select_option("#query", str(query))
    names = made.queries["queries"][query]["names"]
    assert opened.texts("#explorer .tall tbody th") == names
    opened.page.check('input[name="first"][value="5"]')
    opened.page.check('input[name="second"][value="2"]')
    why = made.model.explain(made.X, made.row(query, 5), made.row(query, 2))
    verdict = opened.texts("#verdict")[0]
    assert verdict.startswith(f"{names[5]} stands below {names[2]}: ")
    moved = [j for j in why.order.tolist() if why.contributions[j] != 0]
    assert [text.split("\n")[0] for text in opened.texts("#reasons tbody th")] == [
        *(why.feature_names[j] for j in moved), "difference"
    ]  # fmt: skip
    expected = [*why.contributions[moved], why.difference]
    assert [signed(text) for text in opened.texts("#reasons td.part")] == pytest.approx(expected, rel=1e-3)
    one, two = why.values[:, moved[0]]  # noqa: PD011 (no frame)
    assert opened.texts("#reasons .values")[0] == f"{one:.6g} against {two:.6g}".replace("-", MINUS)
    opened.page.check('input[name="second"][value="5"]')
    assert opened.texts("#verdict") == ["Pick two different documents."]
    assert opened.complaints == []


def test_of_many_features_the_largest_are_shown_and_all_on_demand(browser, tmp_path):
    table = make_search(n_queries=20, docs_per_query=20, n_features=30)
    model = LambdaMART(n_estimators=30, min_child_samples=3).fit(frame_of(table), table.y, qid=table.qid)
    made = Made(tmp_path, model, table, frame_of(table))
    opened = Opened(browser, made.file)
    opened.page.select_option("#query", "1")
    last = len(made.queries["queries"][1]["names"]) - 1
    opened.page.check('input[name="first"][value="0"]')
    opened.page.check(f'input[name="second"][value="{last}"]')
    parts = made.model.explain(made.X, made.row(1, 0), made.row(1, last)).contributions
    moved = sorted(parts[parts != 0], key=abs, reverse=True)
    assert len(moved) > 13
    shown = [signed(text) for text in opened.texts("#reasons td.part")]
    assert shown == pytest.approx([*moved[:12], sum(moved[12:]), sum(parts)], rel=1e-3)
    assert opened.texts("#reasons tbody th")[12] == f"{len(moved) - 12} other features"
    for _ in range(2):
        opened.page.click("#everything")
        now = [signed(text) for text in opened.texts("#reasons td.part")]
        pressed = opened.page.get_attribute("#everything", "aria-pressed") == "true"
        assert now == (pytest.approx([*moved, sum(parts)], rel=1e-3) if pressed else shown)


WALK = """([pairs, width]) => {
  const all = JSON.parse(document.getElementById("content").textContent).queries;
  const values = unpacked(all.feature_values, all.value_kind), walk = startWalker(all.model);
  const row = (i) => values.subarray(i * width, (i + 1) * width);
  return pairs.map(([a, b]) => Array.from(walk(row(a), row(b))));
}"""


def with_holes(table, rng):
    X = table.X.copy()
    X[rng.random(X.shape) < 0.2] = np.nan
    frame = pd.DataFrame(X, columns=table.feature_names)
    frame[table.feature_names[0]] = pd.Categorical.from_codes(rng.integers(0, 7, len(X)), list("abcdefg"))
    return frame


@pytest.mark.parametrize("kind", ["trees", "stumps", "weights", "categories"])
def test_any_two_documents_have_the_contributions_of_explain(kind, browser, tables, tmp_path):
    train, test = tables
    if kind == "categories":
        X, T = (with_holes(table, np.random.default_rng(seed)) for seed, table in enumerate(tables))
    else:
        X, T = frame_of(train), frame_of(test)
    rankers = {
        "trees": LambdaMART(n_estimators=15, min_child_samples=3),
        "stumps": RankBoost(n_estimators=25),
        "weights": PreferenceRegression(),
        "categories": LambdaMART(n_estimators=15, min_child_samples=3),
    }
    y = train.y + (2.0 * X.iloc[:, 0].isin(list("aceg")) if kind == "categories" else 0.0)
    made = Made(tmp_path, rankers[kind].fit(X, y, qid=train.qid), test, T)
    opened = Opened(browser, made.file)
    starts = np.cumsum([0] + [len(query["names"]) for query in made.queries["queries"]])
    pairs = [(query, query % 4, 5 + query % 3) for query in range(0, 24, 3)]
    asked = [[int(starts[query] + one), int(starts[query] + two)] for query, one, two in pairs]
    found = opened.ask(WALK, [asked, len(made.queries["features"])])
    names = list(T.columns)
    for (query, one, two), parts in zip(pairs, found, strict=True):
        why = made.model.explain(T, made.row(query, one), made.row(query, two))
        expected = [why.contributions[names.index(name)] for name in made.queries["features"]]
        assert parts == pytest.approx(expected, abs=1e-12)
        assert sum(parts) == pytest.approx(why.difference, abs=1e-9)
    if kind == "categories":
        shown = []
        for query in range(6):
            opened.page.select_option("#query", str(query))
            shown += opened.texts("#reasons tbody th")
        assert re.search(r"\b[a-g] against [a-g]\b", "\n".join(shown))
    assert opened.complaints == []


def test_a_model_too_large_for_the_page_has_contributions_computed_ahead(browser, made, tmp_path, monkeypatch):
    monkeypatch.setattr(shipped_model, "MAX_SPLITS", 3)
    monkeypatch.setattr(query_details, "MAX_FEATURES", 4)
    large = Made(tmp_path, made.model, made.table, made.X)
    assert large.queries["model"] is None
    assert (large.queries["method"], len(large.queries["features"])) == ("path", 4)
    opened = Opened(browser, large.file)
    opened.page.select_option("#query", "2")
    opened.page.check('input[name="first"][value="0"]')
    opened.page.check('input[name="second"][value="4"]')
    why = made.model.explain(made.X, large.row(2, 0), large.row(2, 4), method="path")
    names = large.queries["features"]
    expected = {name: why.contributions[why.feature_names.index(name)] for name in names}
    expected["features not listed here"] = why.difference - sum(expected.values())
    shown = zip(opened.texts("#reasons tbody th"), opened.texts("#reasons td.part"), strict=True)
    found = {name.split("\n")[0]: signed(text) for name, text in shown}
    assert found.pop("difference") == pytest.approx(why.difference, rel=1e-3)
    assert found == {name: pytest.approx(expected[name], rel=1e-3, abs=1e-6) for name in found}


def test_a_ranker_that_cannot_be_explained_says_so_and_shows_values(browser, tables, tmp_path):
    train, test = tables
    model = RankSVM(kernel="rbf").fit(train.X[:120], train.y[:120], qid=train.qid[:120])
    opened = Opened(browser, Made(tmp_path, model, test, test.X).file)
    assert "cannot be explained feature by feature" in opened.texts("#reasons .note")[0]
    assert len(opened.texts("#reasons tbody tr")) == 9
    assert opened.complaints == []


def test_everything_can_be_done_by_keyboard(browser, made):
    opened = Opened(browser, made.file)
    keyboard = opened.page.keyboard
    keyboard.press("Tab")
    assert opened.ask("document.activeElement.textContent") == "Skip to the rankings"
    keyboard.press("Enter")
    keyboard.press("Tab")
    assert opened.ask("document.activeElement.id") == "query"
    before = opened.texts("#verdict")
    keyboard.press("ArrowDown")
    assert opened.texts("#verdict") != before
    for _ in range(5):
        keyboard.press("Tab")
        if opened.ask("document.activeElement.name") == "first":
            break
    assert opened.ask("document.activeElement.name") == "first"
    place = int(opened.ask("document.activeElement.value"))
    keyboard.press("ArrowDown")
    assert int(opened.ask("document.activeElement.value")) == place + 1
    assert opened.ask("[...document.querySelectorAll('tr')].findIndex((row) => row.classList.contains('first')) >= 0")
    keyboard.press("Tab")
    assert opened.ask("document.activeElement.name") == "second"
    outline = opened.ask("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"
    opened.page.locator("#extremes button").nth(3).focus()
    wanted = opened.ask("document.activeElement.textContent")
    keyboard.press("Enter")
    assert opened.ask("document.activeElement.id") == "query"
    assert opened.ask("document.getElementById('query').selectedOptions[0].textContent").startswith(f"{wanted} · ")


UNNAMED = """() => {
  const all = [...document.querySelectorAll("input, select, button, a, [role=region], svg[role=img]")];
  const named = (one) => one.getAttribute("aria-label") || one.textContent.trim() || (one.labels || []).length;
  return all.filter((one) => !named(one)).length;
}"""


def test_a_screen_reader_has_names_headings_and_tables(opened):
    assert opened.ask(UNNAMED) == 0
    assert opened.ask("document.documentElement.lang") == "en"
    assert opened.ask("document.querySelectorAll('h1').length") == 1
    sections = "[...document.querySelectorAll('main > section:not([hidden])')]"
    assert opened.ask(f"{sections}.every((one) => document.getElementById(one.getAttribute('aria-labelledby')))")
    assert opened.ask("[...document.querySelectorAll('thead th')].every((one) => one.scope === 'col')")
    assert opened.ask(
        "[...document.querySelectorAll('tbody tr')].every((row) => row.querySelector('th[scope=row], td'))"
    )
    assert opened.ask("document.getElementById('verdict').getAttribute('aria-live')") == "polite"


CONTRAST = """() => { // the least contrast of a text with what lies behind it, as WCAG 2 defines it
  const parse = (text) => text.match(/[\\d.]+/g).map(Number);
  const behind = (one) => {
    for (; one; one = one.parentElement) {
      const color = parse(getComputedStyle(one).backgroundColor);
      if (color.length < 4 || color[3] === 1) return color;
    }
    return [255, 255, 255];
  };
  const linear = (v) => v / 255 <= 0.03928 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4;
  const light = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  const ratio = (one) => {
    const both = [light(parse(getComputedStyle(one).color)), light(behind(one))].sort((x, y) => y - x);
    return (both[0] + 0.05) / (both[1] + 0.05);
  };
  const kinds = "p, h1, h2, a, td, th, .grade, .tile span, button:not(:disabled), label, code";
  const shown = [...document.querySelectorAll(kinds)].filter((one) => one.textContent.trim() && one.offsetWidth);
  return Math.min(...shown.map(ratio));
}"""


@pytest.mark.parametrize("width", [360, 1400])
@pytest.mark.parametrize("dark", [False, True])
def test_light_and_dark_fit_the_screen_and_can_be_read(width, dark, browser, made):
    opened = Opened(browser, made.file, width, dark)
    assert opened.ask("document.documentElement.scrollWidth") <= width
    brightness = opened.ask("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)")
    assert (max(brightness) < 64) == dark
    assert opened.ask(CONTRAST) >= 4.5
    for name in ("first", "second"):
        box = opened.page.locator(f'input[name="{name}"]').first.bounding_box()
        assert 0 <= box["x"] <= width - box["width"]
        assert min(box["width"], box["height"]) >= 16
    opened.page.select_option("#query", "4")
    assert opened.ask("document.documentElement.scrollWidth") <= width
    assert opened.complaints == []


def test_names_cannot_become_markup(browser, tables, tmp_path):
    train, test = tables
    names = [HOSTILE[j % 8] + str(j) for j in range(9)]
    model = RankBoost(n_estimators=25).fit(train.X, train.y, qid=train.qid)
    documents = [f"{HOSTILE[i % 8]} {i}" for i in range(len(test.y))]
    queries = np.array([HOSTILE[q % 8] + str(q) for q in test.qid], object)
    texts = {"feature_names": names, "title": HOSTILE[0] + HOSTILE[6], "findings": HOSTILE, "commands": HOSTILE}
    page = podium.report(model, test.X, test.y, qid=queries, docid=documents, **texts)
    page.save(tmp_path / "report.html")
    opened = Opened(browser, tmp_path / "report.html", 360)
    assert opened.complaints == []
    assert opened.fetched == [(tmp_path / "report.html").as_uri()]
    assert opened.ask("window.hacked") is None
    assert opened.ask("document.querySelectorAll('script').length") == 2
    assert opened.ask("document.querySelectorAll('img, iframe, object, [onerror], [onload]').length") == 0
    assert opened.ask("document.documentElement.scrollWidth") <= 360
    shown = opened.ask("[...document.querySelectorAll('#data .findings li')].map((one) => one.textContent)")
    assert shown[:6] == HOSTILE[:6]
    assert opened.ask("document.querySelector('h1').textContent").startswith(HOSTILE[0])
    ids = opened.ask("[...document.querySelectorAll('#explorer .tall tbody th')].map((one) => one.textContent)")
    assert set(ids) <= set(documents) | {text.replace("\ud800", "\ufffd") for text in documents}
    assert opened.complaints == []


def test_a_chart_draws_itself_without_a_network_and_names_are_text_in_it_too(browser, tmp_path):
    file = tmp_path / "chart.html"
    save_chart(plot_importance({HOSTILE[0]: 0.75, HOSTILE[1]: 0.25}), file)
    context = browser.new_context()
    page, fetched, complaints = context.new_page(), [], []
    page.on("request", lambda request: fetched.append(request.url))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(file.as_uri())
    page.wait_for_selector("#vis canvas, #vis svg")
    assert (fetched, complaints) == ([file.as_uri()], [])
    assert page.evaluate("window.hacked") is None


def test_the_pictures_of_the_documents_are_of_this_page(browser, tmp_path):
    runpy.run_path(str(DOCS / "report_picture.py"))["take_pictures"](browser, tmp_path, 12)
    for name in ("report.png", "report-why.png"):
        taken, kept = ((folder / name).read_bytes() for folder in (tmp_path, DOCS))
        assert taken.startswith(b"\x89PNG")
        assert taken[16:20] == kept[16:20]  # as wide
        assert len(kept) < 300_000


def test_without_a_browser_the_tests_say_why_they_are_skipped(monkeypatch):
    monkeypatch.delenv("PODIUM_BROWSER", raising=False)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(pytest.skip.Exception, match=r"no browser: none of chromium, .* is installed"):
        find_browser()


def test_a_script_that_is_not_the_pages_own_does_not_run(browser, made, tmp_path):
    text = made.file.read_text("utf-8").replace("<noscript>", "<script>window.hacked=1</script><noscript>", 1)
    (tmp_path / "changed.html").write_text(text, "utf-8")
    opened = Opened(browser, tmp_path / "changed.html")
    assert opened.ask("window.hacked") is None
    assert any("Content Security Policy" in one for one in opened.complaints)
