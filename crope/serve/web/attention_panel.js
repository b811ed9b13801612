"use strict";
// One head over the text: all pairs as a picture, one query's row on the text itself, one pair in numbers.

const kColourSteps = 256;

class AttentionPanel {
  // current() gives {ids} or {text}.
  constructor(model, current) {
    this.model = model;
    this.current = current;
    this.view = null;     // the server's answer
    this.shown = "";      // which text, layer and head it is of
    this.pinned = null;   // [query, key] chosen by a click
    this.colour = "weight";
    this.map = new HeatMap(byId("heat-map"), {
      move: (query, key) => this.select(query, key),
      choose: (query, key) => { this.pinned = [query, key]; this.select(query, key); },
      leave: () => { if (this.pinned) this.select(...this.pinned); },
    });
    this.strip = new TokenList(byId("strip"), {
      enter: (index) => this.selectQuery(index),
      choose: (index) => { this.selectQuery(index); this.pinned = [this.query, this.key]; },
      leave: () => { if (this.pinned) this.select(...this.pinned); },
    });
    this.layer = this.picker(byId("layer-picker"), "Layer", model.config.num_layers);
    this.head = this.picker(byId("head-picker"), "Head", model.config.num_heads);
    themeListeners.push(() => { if (this.view) this.recolour(); });
  }

  picker(place, name, count) {
    const id = name.toLowerCase();
    const select = element("select", { id, onchange: () => this.refresh() },
      Array.from({ length: count }, (_, i) => element("option", { value: i }, String(i))));
    const step = (by) => {
      select.value = (Number(select.value) + by + count) % count;
      this.refresh();
    };
    place.append(element("label", { for: id }, name),
      element("button", { type: "button", "aria-label": `previous ${id}`, onclick: () => step(-1) }, "\u2039"), select,
      element("button", { type: "button", "aria-label": `next ${id}`, onclick: () => step(1) }, "\u203a"));
    return select;
  }

  // Called when the view is opened, and when layer or head change.
  async refresh() {
    const source = this.current(), layer = Number(this.layer.value), head = Number(this.head.value);
    const wanted = JSON.stringify([source, layer, head]);
    if (wanted === this.shown) return;
    if (!this.model.tokenizer || source.text === "") {
      byId("attention-note").textContent = source.text === "" ? "Write a prompt first, in the view Text." : "This model has no tokenizer.json: text cannot become tokens.";
      return;
    }
    this.shown = wanted;
    try {
      const view = await postJson("/api/attention", { ...source, layer, head });
      if (this.shown !== wanted) return;  // another was asked for meanwhile
      showTrouble(null);
      this.take(view);
    } catch (error) {
      this.shown = "";
      showTrouble(error);
    }
  }

  take(view) {
    const sameText = this.view && JSON.stringify(this.view.ids) === JSON.stringify(view.ids);
    this.view = view;
    const decoder = new TextDecoder();
    this.tokens = view.tokens?.map((name) => tokenText(name, decoder)) ?? view.ids.map(String);
    byId("attention-body").hidden = false;
    const cut = view.text_tokens > this.tokens.length ? `The first ${this.tokens.length} of ${grouped(view.text_tokens)} tokens. ` : "";
    byId("attention-note").textContent = cut + (view.complex ? "" : "Q and K are dense in this variant: the phase of a pair does not follow the phases of its tokens, so only weights are shown.");
    const options = [["weight", "Weight"], ["phase", "Phase"], ["content", "Phase of content"]];
    if (!view.complex) this.colour = "weight";
    radioChoice(byId("attention-colour"), "colour", view.complex ? options : options.slice(0, 1), this.colour, (value) => {
      this.colour = value;
      this.recolour();
    });
    byId("attention-colour").hidden = !view.complex;
    if (!sameText) {
      this.strip.clear();
      this.tokens.forEach((token) => this.strip.add(token, { label: visible(token) }));
      this.pinned = null;
      this.query = this.tokens.length - 1;
      this.key = this.strongestKey(this.query);
    }
    this.recolour();
  }

  strongestKey(query) {
    const row = this.view.weights[query];
    return row.indexOf(Math.max(...row));
  }

  // The picture's colours, and the strip's.
  recolour() {
    const amounts = amountColours(kColourSteps), phases = phaseColours(kColourSteps), white = paper();
    const index = (share) => Math.min(kColourSteps - 1, Math.max(0, Math.floor(share * kColourSteps)));
    if (this.colour === "weight") {
      this.colourOf = (m, n) => amounts[index(Math.sqrt(this.view.weights[m][n]))];
    } else {
      const [phase, size] = this.colour === "phase" ? [this.view.phase, this.view.magnitude] : [this.view.content_phase, this.view.content_magnitude];
      const most = Math.max(1e-9, ...size.map((row) => Math.max(...row)));
      this.colourOf = (m, n) => mix(white, phases[index(phase[m][n] / (2 * Math.PI) + 0.5) % kColourSteps], size[m][n] / most);
    }
    this.map.show(this.tokens, this.colourOf);
    byId("heat-map").setAttribute("aria-label", `Attention of layer ${this.view.layer}, head ${this.view.head}, ${this.tokens.length} tokens: rows are queries, columns are keys. Arrow keys move.`);
    this.showLegend(amounts, phases);
    this.select(this.query, this.key);
  }

  showLegend(amounts, phases) {
    const weight = this.colour === "weight";
    const strip = element("canvas", { width: kColourSteps, height: 1, "aria-hidden": "true" });
    const context = strip.getContext("2d");
    (weight ? amounts : phases).forEach((colour, i) => { context.fillStyle = rgb(colour); context.fillRect(i, 0, 1, 1); });
    const ticks = weight ? ["0", "0.06", "0.25", "0.56", "1"] : ["\u2212180\u00b0", "\u221290\u00b0", "0\u00b0", "90\u00b0", "180\u00b0"];
    byId("attention-legend").replaceChildren(
      element("span", {}, weight ? "weight" : "phase"), strip,
      element("div", { class: "ticks" }, ticks.map((tick) => element("span", {}, tick))));
    byId("attention-reading").textContent = weight ? "Rows are queries, columns are keys; each row adds up to 1."
      : (this.colour === "phase" ? "Score = magnitude \u00d7 cos(phase): 0\u00b0 attracts, 180\u00b0 repels. " : "As if both tokens had the same position. ")
        + (isDark() ? "Dark" : "Pale") + " where the magnitude is small.";
  }

  selectQuery(query) { this.select(query, this.strongestKey(query)); }

  select(query, key) {
    if (!this.view || query >= this.tokens.length) return;
    this.query = query;
    this.key = key;
    this.map.select(query, key);
    byId("strip-caption").textContent = `Attention of token ${query}, \u201c${visible(this.tokens[query])}\u201d`;
    this.strip.nodes.forEach((node, n) => {
      node.className = n === query ? "query" : n > query ? "unseen" : "";
      node.style.backgroundColor = n > query ? "transparent" : rgb(mix(paper(), this.colourOf(query, n), 0.62));
    });
    this.showPair(query, key);
    this.showStrongest(query);
  }

  showPair(query, key) {
    const view = this.view, at = (matrix) => matrix[query][key];
    const name = (index) => element("code", {}, `${visible(this.tokens[index])}  ${index}`);
    const rows = [["query", name(query)], ["key", name(key)], ["weight", at(view.weights).toFixed(4)], ["score", minus(at(view.scores), 3)]];
    if (view.complex) {
      const turns = wrapped(at(view.phase) - at(view.content_phase));
      rows.push(["magnitude", at(view.magnitude).toFixed(3)], ["phase", angle(at(view.phase))],
        ["of the content", angle(at(view.content_phase))], ["added by positions", angle(turns)]);
    }
    byId("pair").replaceChildren(element("dl", { class: "numbers" }, rows.flatMap(([term, value]) => [element("dt", {}, term), element("dd", {}, value)])));
    byId("dial").replaceChildren(...(view.complex ? [this.dial(query, key)] : []));
  }

  // The pair's complex number, with its shadow on the real axis: the score.
  dial(query, key) {
    const size = this.view.magnitude[query][key], most = Math.max(1e-9, ...this.view.magnitude[query]);
    const phase = this.view.phase[query][key], R = 44;
    const x = R * size / most * Math.cos(phase), y = -R * size / most * Math.sin(phase);
    const colour = rgb(phaseColours(kColourSteps)[Math.floor((phase / (2 * Math.PI) + 0.5) * kColourSteps) % kColourSteps]);
    const line = (x1, y1, x2, y2, stroke, width) => svg("line", { x1, y1, x2, y2, stroke, "stroke-width": width, "stroke-linecap": "round" });
    return svg("svg", { viewBox: "-52 -52 104 104", width: 120, height: 120, role: "img", "aria-label": `phase ${angle(phase)}` },
      svg("circle", { r: R, fill: "none", stroke: "var(--line)" }), line(-R, 0, R, 0, "var(--line)", 1), line(0, -R, 0, R, "var(--line)", 1),
      line(x, y, x, 0, "var(--muted)", 0.8), line(0, 0, x, 0, "var(--ink)", 2.5), line(0, 0, x, y, colour, 3.5), svg("circle", { cx: x, cy: y, r: 3.5, fill: colour }));
  }

  showStrongest(query) {
    const best = this.view.weights[query].map((weight, n) => [weight, n]).sort((x, y) => y[0] - x[0]).slice(0, 5);
    byId("strongest").replaceChildren(element("h2", { class: "caption" }, "Strongest keys"),
      bars(best.map(([weight, n]) => ({ text: this.tokens[n], value: weight, number: weight.toFixed(3), chosen: n === this.key }))));
  }
}

const wrapped = (phase) => Math.atan2(Math.sin(phase), Math.cos(phase));
const angle = (phase) => `${signed(phase * 180 / Math.PI, 1)}\u00b0`;
