// Charts in SVG, painted for the width they have and painted again when it changes.

function chart(title, label, height, paint) {
  const picture = draw("svg", { role: "img", "aria-label": label, height });
  const figure = make("figure", {}, title ? make("figcaption", {}, title) : null, picture);
  let width = 0;
  new ResizeObserver(() => {
    const now = Math.round(figure.clientWidth);
    if (now === width || now === 0) return;
    width = now;
    picture.setAttribute("viewBox", `0 0 ${width} ${height}`);
    picture.replaceChildren(...paint(width, height));
  }).observe(figure);
  return figure;
}

function ticks(low, high, most) {
  const rough = (high - low) / Math.max(most, 1), power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= rough) || rough;
  const found = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; i++) found.push(Number((i * step).toPrecision(12)));
  return found;
}

function span(values, padding) {
  let low = Math.min(...values), high = Math.max(...values);
  if (!(low < high)) { const half = Math.abs(low) * 0.05 || 0.5; low -= half; high += half; }
  const more = padding * (high - low);
  return [low - more, high + more];
}

function brief(value) {
  const size = Math.abs(value);
  return (size >= 1e6 || (size > 0 && size < 1e-4) ? value.toExponential(0) : String(Number(value.toPrecision(4)))).replace("-", "−");
}

function axes(width, height, x, y, xTitle) {
  const left = 8 + 7 * Math.max(...ticks(y[0], y[1], 5).map((one) => brief(one).length)), bottom = xTitle ? 38 : 22;
  const box = { left, right: width - 12, top: 8, bottom: height - bottom };
  const place = {
    x: (value) => box.left + (value - x[0]) / (x[1] - x[0]) * (box.right - box.left),
    y: (value) => box.bottom - (value - y[0]) / (y[1] - y[0]) * (box.bottom - box.top),
  };
  const parts = [];
  for (const value of ticks(y[0], y[1], 5)) {
    parts.push(draw("line", { class: "grid", x1: box.left, x2: box.right, y1: place.y(value), y2: place.y(value) }));
    parts.push(draw("text", { x: box.left - 6, y: place.y(value) + 4, "text-anchor": "end" }, brief(value)));
  }
  for (const value of ticks(x[0], x[1], Math.max(3, Math.floor(width / 80)))) {
    parts.push(draw("text", { x: place.x(value), y: box.bottom + 16, "text-anchor": "middle" }, brief(value)));
  }
  if (xTitle) parts.push(draw("text", { x: (box.left + box.right) / 2, y: height - 4, "text-anchor": "middle" }, xTitle));
  return { box, place, parts };
}

function path(points) {
  return points.map(([x, y], i) => `${i ? "L" : "M"}${x.toFixed(2)} ${y.toFixed(2)}`).join("");
}

// series: [{name, x, y, low, high}]; used: where a vertical line stands
function lineChart(title, label, series, xTitle, used, height) {
  const all = series.flatMap((one) => [...one.y, ...(one.low || []), ...(one.high || [])]).filter((one) => one !== null);
  const xs = series.flatMap((one) => one.x);
  return chart(title, label, height || 240, (width, tall) => {
    const { box, place, parts } = axes(width, tall, span(xs, 0), span(all, 0.05), xTitle);
    if (used) parts.push(draw("line", { class: "used", x1: place.x(used), x2: place.x(used), y1: box.top, y2: box.bottom },
      draw("title", {}, `predictions use ${used} rounds`)));
    series.forEach((one, i) => {
      const known = one.x.map((x, at) => at).filter((at) => one.y[at] !== null);
      const kind = `s${i % 5}`;
      if (one.low) {
        const banded = known.filter((at) => one.low[at] !== null);
        const ring = [...banded.map((at) => [place.x(one.x[at]), place.y(one.high[at])]),
          ...banded.slice().reverse().map((at) => [place.x(one.x[at]), place.y(one.low[at])])];
        if (ring.length) parts.push(draw("path", { class: `area ${kind}`, d: `${path(ring)}Z` }));
      }
      parts.push(draw("path", { class: `line ${kind}`, d: path(known.map((at) => [place.x(one.x[at]), place.y(one.y[at])])) }));
      if (known.length <= 40) {
        for (const at of known) {
          parts.push(draw("circle", { class: `dot ${kind}`, cx: place.x(one.x[at]), cy: place.y(one.y[at]), r: 3.5 },
            draw("title", {}, `${one.name}, ${xTitle} ${one.x[at]}: ${fixed(one.y[at])}`)));
        }
      }
    });
    return parts;
  });
}

function legend(names) {
  return make("ul", { class: "legend" }, names.map((name, i) => make("li", { class: `s${i % 5}` }, make("i", {}), named(name))));
}

// bins: [[low, high, count]]
function histogram(title, label, bins, xTitle) {
  const most = Math.max(...bins.map((one) => one[2]));
  return chart(title, label, 200, (width, tall) => {
    const { place, parts } = axes(width, tall, [bins[0][0], bins[bins.length - 1][1]], [0, most * 1.05], xTitle);
    for (const [low, high, count] of bins) {
      const left = place.x(low) + 1, top = place.y(count);
      parts.push(draw("rect", { class: "bar", x: left, width: Math.max(1, place.x(high) - 1 - left), y: top, height: place.y(0) - top },
        draw("title", {}, `${brief(low)} to ${brief(high)}: ${whole(count)}`)));
    }
    return parts;
  });
}

// items: [[name, value]]: a table with a bar beside each number
function barTable(caption, heads, items, text, top) {
  const most = top || Math.max(...items.map((one) => one[1])) || 1;
  return table([{ text: heads[0] }, { text: heads[1], kind: "n" }, { text: "", kind: "bars" }], items.map(([name, value]) =>
    make("tr", {}, make("th", { scope: "row" }, named(name)), make("td", { class: "n" }, text(value)),
      make("td", { class: "bars" }, draw("svg", { "aria-hidden": "true" },
        draw("rect", { class: "bar", x: "0", width: `${100 * value / most}%`, y: "15%", height: "70%" }))))), caption);
}

function functionChart(one) {
  if (one.categories.length) {
    return make("figure", {}, make("figcaption", {}, named(one.name)),
      table([{ text: "category" }, { text: "adds", kind: "n" }], one.y.map((value, i) =>
        make("tr", {}, make("th", { scope: "row" }, named(one.categories[i])), make("td", { class: "n" }, signed(value))))));
  }
  const ends = [Math.min(...one.y), Math.max(...one.y)];
  const label = `${one.name}: moves a score between ${signed(ends[0])} and ${signed(ends[1])}, for values from ${brief(one.x[0])} to ${brief(one.x[one.x.length - 1])}`;
  const heights = one.missing === null ? one.y : [...one.y, one.missing];
  const figure = chart(null, label, 150, (width, tall) => {
    const { box, place, parts } = axes(width, tall, span(one.x, 0), span(heights, 0.06), "");
    if (one.missing !== null) parts.push(draw("line", { class: "missing", x1: box.left, x2: box.right, y1: place.y(one.missing), y2: place.y(one.missing) },
      draw("title", {}, `missing: ${signed(one.missing)}`)));
    parts.push(draw("path", { class: "line", d: path(one.x.map((x, i) => [place.x(x), place.y(one.y[i])])) }));
    return parts;
  });
  figure.prepend(make("figcaption", {}, named(one.name)));
  return figure;
}
