"use strict";
// Elements and numbers. Text from the content becomes text nodes only, so that it can never be markup.

const SVG = "http://www.w3.org/2000/svg";

function give(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children.flat()) {
    if (child !== null && child !== undefined) element.append(child);
  }
  return element;
}

function make(tag, attributes, ...children) {
  return give(document.createElement(tag), attributes, children);
}

function draw(tag, attributes, ...children) {
  return give(document.createElementNS(SVG, tag), attributes, children);
}

function named(text) { // a name from the content: it may be of any script and direction
  return make("bdi", {}, text);
}

function whole(value) {
  return value.toLocaleString("en-US");
}

function short(value) { // six digits, as the command line prints numbers
  return value === null || Number.isNaN(value) ? "missing" : String(Number(value.toPrecision(6))).replace("-", "−");
}

function fixed(value) {
  return value === null ? "undefined" : value.toFixed(4);
}

function signed(value) {
  const text = Number(value.toPrecision(4)).toString();
  return value > 0 ? `+${text}` : text.replace("-", "−");
}

function table(head, rows, caption) {
  const cells = head.map((one) => one.text ? make("th", { scope: "col", class: one.kind }, one.text) : make("td", { class: one.kind }));
  return make("table", {}, caption ? make("caption", {}, caption) : null,
    make("thead", {}, make("tr", {}, cells)), make("tbody", {}, rows));
}

function wide(label, content, kind) { // what is larger than its place scrolls by itself, by keyboard too
  const region = make("div", { class: kind || "scroll", role: "region", "aria-label": label }, content);
  new ResizeObserver(() => {
    const scrolls = region.scrollWidth > region.clientWidth || region.scrollHeight > region.clientHeight;
    if (scrolls) region.tabIndex = 0; else region.removeAttribute("tabindex");
  }).observe(region);
  return region;
}

function lines(pairs) {
  return make("table", {}, make("tbody", {}, pairs.map(([name, text]) =>
    make("tr", {}, make("th", { scope: "row" }, name), make("td", {}, text)))));
}

const READERS = { "<f4": ["getFloat32", 4], "<f8": ["getFloat64", 8], "<i4": ["getInt32", 4], "<u1": ["getUint8", 1] };

function unpacked(text, kind) { // numbers from base64 of their bytes
  const bytes = atob(text), view = new DataView(new ArrayBuffer(bytes.length)), [read, size] = READERS[kind];
  for (let i = 0; i < bytes.length; i++) view.setUint8(i, bytes.charCodeAt(i));
  const numbers = new Float64Array(bytes.length / size);
  for (let i = 0; i < numbers.length; i++) numbers[i] = view[read](size * i, true);
  return numbers;
}
