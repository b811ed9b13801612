"use strict";
// Making and finding elements.

const byId = (id) => document.getElementById(id);

// element("a", {href: "#", class: "x", onclick: f, hidden: false}, "text", child...): a property that begins with "on" is
// a listener, one that is undefined, null or false is left out.
function element(tag, properties = {}, ...children) {
  return fill(document.createElement(tag), properties, children);
}

function svg(tag, properties = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), properties, children);
}

function fill(node, properties, children) {
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return node;
}

// [[term, description]...] as rows of a <dl>.
const definitions = (rows) => rows.map(([term, ...value]) => element("div", {}, element("dt", {}, term), element("dd", {}, ...value)));

// Radio buttons in a row. `options` is [[value, label]...]; calls choose(value).
function radioChoice(fieldset, name, options, chosen, choose) {
  const legend = fieldset.querySelector("legend");
  fieldset.replaceChildren(legend, ...options.map(([value, label]) => element("label", {},
    element("input", { type: "radio", name, value, checked: value === chosen, onchange: () => choose(value) }), label)));
}

// Text in which a token's spaces and line ends can be seen.
const visible = (text) => text.replace(/ /g, "\u00b7").replace(/\n/g, "\u21b5").replace(/\t/g, "\u2192") || "\u2205";

// The server calls a token by its text, or by "bytes:\xe2\x82" where that is a part of a character. `decoder` keeps what
// is still to be completed: the last part of a character shows it, those before a dotted circle.
function tokenText(name, decoder) {
  if (!/^bytes:(\\x[0-9a-f]{2})+$/.test(name)) {
    decoder.decode();
    return name;
  }
  const bytes = Uint8Array.from(name.slice(8).split("\\x"), (hex) => parseInt(hex, 16));
  return decoder.decode(bytes, { stream: true }) || "\u25cc";
}

const grouped = (number) => number.toLocaleString("en-US");

function percent(p) {
  if (p < 0.0001) return "<0.01%";
  return (100 * p).toFixed(p < 0.01 ? 2 : 1) + "%";
}

// With a true minus sign; what rounds to zero has none.
const minus = (x, digits) => (Number(x.toFixed(digits)) < 0 ? "\u2212" : "") + Math.abs(x).toFixed(digits);
const signed = (x, digits) => (Number(x.toFixed(digits)) > 0 ? "+" : "") + minus(x, digits);

// What the browser remembers of this page. It may be switched off there.
function remember(name, value) {
  try { localStorage.setItem("crope." + name, JSON.stringify(value)); } catch { /* not kept */ }
}
function recall(name, otherwise) {
  try { return JSON.parse(localStorage.getItem("crope." + name)) ?? otherwise; } catch { return otherwise; }
}

function bars(rows) {
  const most = Math.max(...rows.map((row) => row.value), 1e-12);
  return element("div", { class: "bars" }, rows.flatMap(({ text, value, number, chosen }) => {
    const fillBar = element("i");
    fillBar.style.width = 100 * value / most + "%";
    const mark = chosen ? "chosen" : "";
    return [element("code", { class: mark }, visible(text.replace(/^bytes:(?=\\x)/, ""))), element("span", { class: "bar-track " + mark }, fillBar),
      element("span", { class: "number " + mark }, number)];
  }));
}
