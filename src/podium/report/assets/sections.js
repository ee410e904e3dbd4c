// The parts of the page that only show: tiles, quality, extremes, features, curves, data, model, reproduction.

function section(name, ...children) {
  document.getElementById(name).append(...children.flat().filter((one) => one !== null && one !== undefined));
}

function level(label, labels) { // a color from the lowest to the highest label
  const place = labels.indexOf(label);
  return `grade g${labels.length > 1 ? Math.round(4 * place / (labels.length - 1)) : 0}`;
}

function labelText(label) { // labels may be any real numbers
  return short(Number(label.toPrecision(4)));
}

function showTiles(content) {
  const first = content.quality.rows[0], percent = `${Math.round(100 * content.quality.confidence)} %`;
  const facts = [
    [fixed(first.mean), `${first.name}, ${percent} interval ${fixed(first.low)}\u00a0…\u00a0${fixed(first.high)}`],
    [whole(content.summary.queries), content.summary.queries === 1 ? "query" : "queries"],
    [whole(content.summary.rows), "documents"],
    [whole(content.summary.features), "features"],
    [content.summary.model, "ranker"],
  ];
  document.getElementById("tiles").append(...facts.map(([value, text]) => make("div", { class: "tile" }, make("b", {}, value), make("span", {}, text))));
  document.getElementById("about").append(content.model.about);
}

function whiskers(row) { // a mean with its interval, on a scale from 0 to 1
  if (row.mean === null || row.low === null || row.low < 0 || row.high > 1) return null;
  return draw("svg", { "aria-hidden": "true" },
    draw("line", { class: "grid", x1: "0", x2: "100%", y1: "50%", y2: "50%" }),
    draw("line", { class: "whisker", x1: `${100 * row.low}%`, x2: `${100 * row.high}%`, y1: "50%", y2: "50%" }),
    draw("circle", { class: "dot", cx: `${100 * row.mean}%`, cy: "50%", r: 4.5 }));
}

function showQuality(content) {
  const found = content.quality, percent = `${Math.round(100 * found.confidence)} % interval`;
  const rows = found.rows.map((row) => make("tr", { "data-measure": row.name },
    make("th", { scope: "row", title: row.about }, row.name), make("td", { class: "n mean" }, fixed(row.mean)),
    make("td", { class: "n interval" }, row.low === null ? "" : `${fixed(row.low)} … ${fixed(row.high)}`),
    make("td", { class: "bars" }, whiskers(row)), make("td", { class: "n empty" }, whole(row.empty)),
    make("td", {}, row.higher_is_better ? "higher" : "lower")));
  const heads = [{ text: "measure" }, { text: "mean", kind: "n" }, { text: percent, kind: "n" }, { text: "", kind: "bars" },
    { text: "empty queries", kind: "n" }, { text: "better is" }];
  const depth = { name: "ndcg", x: found.at_k.map((one) => one.k), y: found.at_k.map((one) => one.mean),
    low: found.at_k.map((one) => one.low), high: found.at_k.map((one) => one.high) };
  const first = found.rows[0].name;
  section("quality", wide("Measures", table(heads, rows)),
    make("p", { class: "note" }, `Means over queries, by the convention ${found.convention}; equal scores count as the mean over all their orders. Intervals are bootstrap intervals over queries.`),
    make("div", { class: "columns" },
      depth.y.some((one) => one !== null) ? lineChart("NDCG at k, with its interval", `NDCG at k: ${found.at_k.map((one) => `${one.k}: ${fixed(one.mean)}`).join(", ")}`, [depth], "k", null, 220) : null,
      content.summary.queries > 1 && found.histogram.length ? histogram(`Queries by ${first}`, `How many queries have which ${first}: ${found.histogram.filter((one) => one[2]).map((one) => `${brief(one[0])} to ${brief(one[1])}: ${one[2]}`).join(", ")}`, found.histogram, first) : null));
}

function showGrades(found) {
  if (!found) return;
  document.getElementById("grades").hidden = false;
  const heads = [{ text: "true grade" }, ...found.labels.map((label) => ({ text: label, kind: "n" }))];
  const rows = found.counts.map((line, i) => {
    const most = Math.max(...line) || 1;
    return make("tr", {}, make("th", { scope: "row" }, named(found.labels[i])),
      line.map((count) => make("td", { class: `n g${Math.round(4 * count / most)}` }, whole(count))));
  });
  section("grades", make("p", {}, `The mean cost of a predicted grade is ${fixed(found.mean_cost)}.`),
    wide("Predicted grades", make("div", { class: "heat" }, table(heads, rows, "Rows of each true grade, by the grade predicted"))));
}

function strip(query, labels) {
  const shown = query.labels.slice(0, 10);
  return make("span", { class: "strip", role: "img", "aria-label": `labels from the top: ${shown.map(short).join(", ")}` },
    shown.map((label) => make("span", { class: level(label, labels), "aria-hidden": "true" }, labelText(label))));
}

function showExtremes(content, labels, open) {
  const { queries, measures, worst, best } = content.queries;
  const list = (caption, places) => wide(caption, table(
    [{ text: "query" }, { text: measures[0], kind: "n" }, { text: "labels from the top" }],
    places.map((place) => make("tr", {},
      make("th", { scope: "row" }, openButton(queries[place].id, () => open(place))),
      make("td", { class: "n" }, fixed(queries[place].values[0])), make("td", {}, strip(queries[place], labels)))), caption));
  const rest = content.queries.total - queries.length;
  const note = content.queries.total === 1 ? "There is one query." : rest === 0 ? `All ${whole(content.queries.total)} queries are on this page.`
    : `This page shows ${whole(queries.length)} of ${whole(content.queries.total)} queries: the worst, the best, and others drawn at random. Measures above are of all queries.`;
  section("extremes", make("p", { class: "note", id: "sampled" }, note), make("div", { class: "columns" }, list("Worst", worst), best.length ? list("Best", best) : null));
}

function openButton(text, act) {
  const button = make("button", { type: "button", class: "link" }, named(text));
  button.addEventListener("click", act);
  return button;
}

function showFunctions(content) {
  const important = content.model.importance, found = content.functions;
  const said = { steps: "What each feature adds to a score by its value, exactly: the sum of its stumps.", line: "What each feature adds to a score by its value, exactly.",
    mean: "How much the mean score of some documents changes if all of them have this value of the feature. Features act together in trees, so that this is a mean, not a rule." };
  const half = Math.ceil(important.length / 2), percent = (value) => `${(100 * value).toFixed(1)} %`, most = important.length ? important[0][1] : 1;
  const bars = (part, caption) => wide(caption, barTable(caption, ["feature", "share"], part, percent, most));
  section("functions", important.length ? make("div", { class: "columns" }, bars(important.slice(0, half), "The most important features"), important.length > 1 ? bars(important.slice(half), "The next ones") : null) : null,
    found.length ? [make("h3", {}, "Functions of features"), make("p", { class: "note" }, `${said[found[0].kind]} A dashed line is what a missing value does.`),
      make("div", { class: "multiples" }, found.map(functionChart))]
      : make("p", { class: "note" }, content.queries.refusal || "No feature moves a score."));
}

function showCurves(content) {
  if (!content.curves.length) {
    section("curves", make("p", { class: "note" }, "This ranker was not learned in rounds that could be measured."));
    return;
  }
  section("curves", make("div", { class: "columns" }, content.curves.map((panel) => {
    const series = panel.series.map((one) => ({ name: one.name, x: one.rounds, y: one.values }));
    const last = series.map((one) => `${one.name} ends at ${fixed(one.y[one.y.length - 1])} after ${one.x[one.x.length - 1]} rounds`).join("; ");
    return make("div", {}, lineChart(panel.measure, `${panel.measure} by round: ${last}`, series, "round", panel.used), legend(series.map((one) => one.name)));
  })), make("p", { class: "note" }, "The dashed line marks the rounds that predictions use. Do not choose rounds by the rows of this page: their measures would then flatter the model."));
}

function showData(content) {
  const found = content.data;
  section("data", found.findings.length ? make("ul", { class: "findings" }, found.findings.map((one) => make("li", {}, one))) : null,
    make("div", { class: "columns" }, wide("Data", lines(found.lines)),
      found.grades.length ? wide("Labels", barTable("Documents of each label", ["label", "documents"], found.grades.map(([label, count]) => [short(label), count]), whole)) : null),
    found.sizes.length && content.summary.queries > 1 ? histogram("Queries by their documents", `How many queries have how many documents: ${found.sizes.filter((one) => one[2]).map((one) => `${brief(Math.ceil(one[0]))} to ${brief(Math.floor(one[1]))}: ${one[2]}`).join(", ")}`, found.sizes, "documents") : null);
}

function showModel(found) {
  const listed = (changed, caption) => table([{ text: "parameter" }, { text: "value" }], found.parameters.filter((one) => one[2] === changed).map(([name, text]) =>
    make("tr", {}, make("th", { scope: "row" }, name), make("td", {}, make("code", {}, text)))), caption);
  const changed = found.parameters.filter((one) => one[2]).length, rest = found.parameters.length - changed;
  section("model", make("p", {}, make("b", {}, found.name), `: ${found.about}`),
    make("div", { class: "columns" }, make("div", {}, changed ? wide("Parameters", listed(true, "Parameters that are not the defaults")) : null,
      rest ? make("details", {}, make("summary", {}, `${rest} parameters at their defaults`), wide("Parameters at their defaults", listed(false))) : null),
      found.training.length ? wide("Training", make("div", {}, make("h3", {}, "Training"), lines(found.training))) : null));
}

function showReproduction(found) {
  const block = (text, label) => make("pre", { tabindex: "0", role: "region", "aria-label": label }, make("code", {}, text));
  section("reproduction", found.commands.length ? [make("h3", {}, "On the command line"), block(found.commands.join("\n"), "Commands")] : null,
    make("h3", {}, "In Python"), block(found.code, "Python"),
    found.files.length ? [make("h3", {}, "Files"), wide("Files", table([{ text: "file" }, { text: "size", kind: "n" }, { text: "SHA-256" }],
      found.files.map(([name, size, digest]) => make("tr", {}, make("th", { scope: "row" }, named(name)), make("td", { class: "n" }, size), make("td", { class: "digest" }, digest)))))] : null,
    make("h3", {}, "Versions"), make("p", { class: "note" }, `${found.versions.map((one) => one.join(" ")).join(", ")}.`));
  document.getElementById("made").append(`Made by Podium ${found.versions[0][1]}. This page holds all it shows and fetches nothing.`);
}
