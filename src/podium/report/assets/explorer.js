// The reader picks a query and two documents, and sees what each feature adds to the difference of their scores.

const LISTED = 12; // features named at first; the others are one line

function startExplorer(content, labels) {
  const all = content.queries, width = all.features.length, parts = width + (all.has_rest ? 1 : 0);
  const values = unpacked(all.feature_values, all.value_kind), ahead = all.contributions === null ? null : unpacked(all.contributions, "<f4");
  const walker = all.model === null ? null : startWalker(all.model);
  const adding = (a, b) => { // what each feature adds to the difference of two documents
    if (walker !== null) return walker(values.subarray(a * width, (a + 1) * width), values.subarray(b * width, (b + 1) * width));
    return ahead === null ? null : Array.from({ length: parts }, (_, j) => ahead[a * parts + j] - ahead[b * parts + j]);
  };
  let row = 0;
  const starts = all.queries.map((query) => { const start = row; row += query.names.length; return start; });
  const state = { query: 0, first: 0, second: 0, everything: false };

  const sign = content.quality.rows[0].higher_is_better ? 1 : -1;
  const rank = (i) => all.queries[i].values[0] === null ? Number.MAX_VALUE : sign * all.queries[i].values[0];
  const order = all.queries.map((_, i) => i).sort((a, b) => rank(a) - rank(b));

  const select = make("select", { id: "query" }, order.map((i) => make("option", { value: i },
    `${all.queries[i].id} · ${all.measures[0]} ${fixed(all.queries[i].values[0])}`)));
  const back = make("button", { type: "button" }, "← Previous"), on = make("button", { type: "button" }, "Next →");
  const ranking = make("div", {}), verdict = make("p", { class: "verdict", "aria-live": "polite", id: "verdict" });
  const reasons = make("div", { id: "reasons" });
  const more = make("button", { type: "button", id: "everything", "aria-pressed": "false" }, "Show all features");

  function open(query) {
    state.query = query;
    [state.first, state.second] = startingPair(all.queries[query]);
    select.value = String(query);
    const at = order.indexOf(query);
    back.disabled = at === 0;
    on.disabled = at === order.length - 1;
    ranking.replaceChildren(...rankingOf(all, query, labels, state, compare));
    compare();
  }

  function compare() {
    const query = all.queries[state.query], at = [starts[state.query] + state.first, starts[state.query] + state.second];
    ranking.querySelectorAll("tbody tr").forEach((line, i) => {
      line.classList.toggle("first", i === state.first);
      line.classList.toggle("second", i === state.second);
    });
    verdict.replaceChildren(...verdictOf(query, state));
    const adds = adding(...at), found = [];
    more.hidden = state.first === state.second || adds === null;
    if (state.first === state.second) { reasons.replaceChildren(); return; }
    for (let j = 0; j < parts; j++) {
      const name = j < width ? all.features[j] : "features not listed here";
      const texts = j < width ? at.map((line) => valueText(values[line * width + j], all.categories[j])) : null;
      found.push({ name, texts, part: adds === null ? null : adds[j] });
    }
    more.hidden = more.hidden || found.filter((one) => one.part !== 0).length <= LISTED + 1;
    reasons.replaceChildren(adds === null ? plainReasons(found, all.refusal) : waterfall(found, query, state));
  }

  select.addEventListener("change", () => open(Number(select.value)));
  back.addEventListener("click", () => open(order[order.indexOf(state.query) - 1]));
  on.addEventListener("click", () => open(order[order.indexOf(state.query) + 1]));
  more.addEventListener("click", () => {
    state.everything = !state.everything;
    more.setAttribute("aria-pressed", String(state.everything));
    more.textContent = state.everything ? "Show the largest only" : "Show all features";
    compare();
  });

  const how = { additive: "Each feature acts apart: the numbers are exactly what it adds.",
    path: "Features act together in trees: the numbers are Shapley values, whose missing features follow both sides of a split.",
    interventional: "Features act together in trees: the numbers are Shapley values. A feature that is left out has the value of the second document, so that features of equal values add nothing." };
  section("explorer",
    make("p", {}, "Pick a query, and two of its documents: a first and a second. The bars show what each feature adds to the difference of their scores."),
    make("div", { class: "picker" }, make("div", {}, make("label", { for: "query" }, `Query, the worst by ${all.measures[0]} first`), select), back, on),
    make("div", { class: "columns" }, ranking, make("div", {}, verdict, reasons, more, make("p", { class: "note" }, how[all.method] || ""))));
  open(all.worst[0] || 0);
  return (query) => {
    open(query);
    document.getElementById("explorer").scrollIntoView();
    select.focus({ preventScroll: true });
  };
}

function startingPair(query) { // the highest document that stands above a better one, and the best of those below it
  for (let i = 0; i < query.labels.length; i++) {
    let better = -1;
    for (let j = i + 1; j < query.labels.length; j++) {
      if (query.labels[j] > query.labels[i] && (better < 0 || query.labels[j] > query.labels[better])) better = j;
    }
    if (better >= 0) return [i, better];
  }
  return [0, Math.min(1, query.labels.length - 1)];
}

function rankingOf(all, number, labels, state, compare) {
  const query = all.queries[number];
  const radio = (group, text, i) => {
    const input = make("input", { type: "radio", name: group, value: i, "aria-label": `${query.names[i]} as the ${text}` });
    input.checked = state[group] === i;
    input.addEventListener("change", () => { state[group] = i; compare(); });
    return make("td", { class: "radio" }, input);
  };
  const rows = query.names.map((name, i) => make("tr", {}, make("td", { class: "n" }, whole(query.places[i])), make("th", { scope: "row" }, named(name)),
    make("td", {}, make("span", { class: level(query.labels[i], labels) }, labelText(query.labels[i]))),
    make("td", { class: "n score" }, short(Number(query.scores[i].toPrecision(4)))), radio("first", "first", i), radio("second", "second", i)));
  const heads = [{ text: "#", kind: "n" }, { text: "document" }, { text: "label" }, { text: "score", kind: "n" }, { text: "first", kind: "radio" }, { text: "second", kind: "radio" }];
  const left = query.size - query.names.length;
  const measured = all.measures.map((name, i) => `${name} ${fixed(query.values[i])}`).join(", ");
  return [make("p", { class: "note" }, "Query ", named(query.id), `: ${measured}.`, left ? ` ${whole(left)} of its ${whole(query.size)} documents, from below and with the lowest labels, are left out.` : ""),
    wide("Ranking of the query", table(heads, rows), "tall ranking")];
}

function verdictOf(query, state) {
  if (state.first === state.second) return ["Pick two different documents."];
  const [a, b] = [state.first, state.second].map((i) => ({ name: named(query.names[i]), score: query.scores[i], label: query.labels[i] }));
  const gap = a.score - b.score;
  const where = gap > 0 ? " stands above " : gap < 0 ? " stands below " : " stands level with ";
  const right = a.label === b.label || gap === 0 ? "" : (gap > 0) === (a.label > b.label) ? " The labels agree." : " The labels say the opposite.";
  return [make("b", {}, a.name), where, make("b", {}, b.name), `: ${short(a.score)} against ${short(b.score)}, a difference of ${signed(gap)}.${right}`];
}

function valueText(value, categories) {
  if (Number.isNaN(value)) return "missing";
  return categories && categories[value] !== undefined ? categories[value] : short(value);
}

function plainReasons(found, refusal) {
  return make("div", {}, make("p", { class: "note" }, refusal), wide("Values", table([{ text: "feature" }, { text: "first" }, { text: "second" }],
    found.map((one) => make("tr", {}, make("th", { scope: "row" }, named(one.name)), one.texts.map((text) => make("td", {}, named(text)))))), "tall"));
}

function waterfall(found, query, state) {
  const moved = found.filter((one) => one.part !== 0).sort((a, b) => Math.abs(b.part) - Math.abs(a.part));
  const listed = state.everything || moved.length <= LISTED + 1 ? moved : moved.slice(0, LISTED), rest = moved.slice(listed.length);
  const bars = listed.map((one) => ({ ...one, kind: one.part > 0 ? "raises" : "lowers" }));
  const sum = rest.reduce((total, one) => total + one.part, 0);
  if (rest.length) bars.push({ name: rest.length === 1 ? "1 other feature" : `${rest.length} other features`, texts: null, part: sum, kind: sum > 0 ? "raises" : "lowers" });
  let at = 0;
  for (const one of bars) { one.start = at; at += one.part; one.end = at; }
  const gap = query.scores[state.first] - query.scores[state.second];
  bars.push({ name: "difference", texts: null, part: gap, kind: "total", start: 0, end: gap });
  const [low, high] = span([0, ...bars.map((one) => one.end)], 0.02), x = (value) => 100 * (value - low) / (high - low);
  const rows = bars.map((one) => make("tr", { class: one.kind === "total" ? "sum" : null },
    make("th", { scope: "row" }, named(one.name), one.texts ? make("div", { class: "values" }, named(one.texts[0]), " against ", named(one.texts[1])) : null),
    make("td", { class: "n part" }, signed(one.part)),
    make("td", { class: "bars" }, draw("svg", { "aria-hidden": "true" }, draw("line", { class: "grid", x1: `${x(0)}%`, x2: `${x(0)}%`, y1: "-40%", y2: "140%" }),
      draw("rect", { class: one.kind, x: `${Math.min(x(one.start), x(one.end))}%`, width: `${Math.max(0.4, Math.abs(x(one.end) - x(one.start)))}%`, y: "10%", height: "80%" })))));
  return wide("Contributions", table([{ text: "feature, first against second" }, { text: "adds", kind: "n" }, { text: "", kind: "bars" }], rows), state.everything ? "tall" : "scroll");
}
