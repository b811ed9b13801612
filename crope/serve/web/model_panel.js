"use strict";
// What is being served, in numbers.

const kComponents = [["embedding", "Embedding"], ["attention", "Attention"], ["feed_forward", "Feed-forward"], ["norm", "Norms"]];
const kTiedWords = { q: "Q", k: "K", v: "V", o: "output" };

function describe(model) {
  const tied = model.tied.map((name) => kTiedWords[name]);
  if (tied.length > 0) {
    const list = tied.length === 1 ? tied[0] : tied.slice(0, -1).join(", ") + " and " + tied.at(-1);
    return `${list} are complex-linear: every 2\u00d72 block of these matrices is [[a,\u00a0b],\u00a0[\u2212b,\u00a0a]], half the parameters of a dense one.`;
  }
  return model.variant === "rope" ? "Every projection is dense: the baseline of the other variants."
    : "Every projection is dense; heads are half as wide.";
}

function showModel(model) {
  const { config, parameters, rope_parameters: rope } = model;
  byId("model-line").textContent = `${model.variant} \u00b7 ${compactNumber(parameters.total)} parameters \u00b7 ${config.num_layers} layers \u00b7 ${config.num_heads} heads`;
  document.title = `${model.variant} \u00b7 crope`;
  const saving = (mine, its) => (its === 0 || mine === its ? "\u2013" : `\u2212${(100 * (1 - mine / its)).toFixed(1)}%`);
  const row = (key, label, className = "") => element("tr", { class: className }, element("th", { scope: "row" }, label),
    ...[grouped(parameters[key]), grouped(rope[key]), saving(parameters[key], rope[key])].map((text) => element("td", {}, text)));
  const table = element("table", {}, element("thead", {}, element("tr", {},
    ...["Parameters", model.variant, "rope", "saving"].map((text) => element("th", { scope: "col" }, text)))),
    element("tbody", {}, ...kComponents.map(([key, label]) => row(key, label)), row("total", "Total", "total")));
  const lead = model.attention_saving > 0
    ? `${model.variant} has ${(100 * model.attention_saving).toFixed(1)}% fewer attention parameters than rope at the same width. ` : "";
  const facts = [["Layers", config.num_layers], ["Heads", config.num_heads], ["Width", grouped(config.d_model)],
    ["Feed-forward width", grouped(config.d_ff)], ["Vocabulary", grouped(config.vocab_size)], ["Window", `${grouped(config.max_seq_len)} tokens`],
    ["Rotary base", grouped(config.rope_theta)], ["Weights", model.precision], ["Served as", model.name]];
  const body = element("tbody", {}, ...facts.map(([name, value]) => element("tr", {}, element("th", { scope: "row" }, name), element("td", {}, String(value)))));
  byId("card").replaceChildren(element("p", { class: "lead" }, lead + describe(model)),
    element("div", {}, table, splitRow(model.variant, parameters, rope.total), splitRow("rope", rope, rope.total), splitKey()),
    element("table", { "aria-label": "Configuration" }, body));
}

// Attention in the accent, the rest in greys.
const kSplitColours = { embedding: "color-mix(in oklab, var(--muted) 35%, transparent)", attention: "var(--accent)",
  feed_forward: "color-mix(in oklab, var(--muted) 65%, transparent)", norm: "var(--muted)" };

function splitRow(name, counts, most) {
  const parts = kComponents.map(([key]) => {
    const part = element("i");
    part.style.width = 100 * counts[key] / most + "%";
    part.style.background = kSplitColours[key];
    return part;
  });
  return element("div", { class: "split-row", "aria-hidden": "true" }, element("span", {}, name), element("div", { class: "split" }, parts));
}

function splitKey() {
  return element("div", { class: "split-row", "aria-hidden": "true" }, element("span"), element("div", { class: "split-key" },
    kComponents.filter(([key]) => key !== "norm").map(([key, label]) => {
      const swatch = element("i");
      swatch.style.background = kSplitColours[key];
      return element("span", {}, swatch, label.toLowerCase());
    })));
}
