"use strict";
// How the next token is chosen. The fields have the names of the API's.

const kSamplingFields = [
  { name: "temperature", label: "Temperature", value: 0.8, min: 0, max: 2, step: 0.05, hint: "0 takes the most likely token" },
  { name: "top_p", label: "Top-p", value: 0.95, min: 0.01, max: 1, step: 0.01, hint: "the fewest tokens whose probabilities reach p" },
  { name: "top_k", label: "Top-k", value: 0, min: 0, max: 200, step: 1, hint: "only the k most likely; 0: all" },
  { name: "min_p", label: "Min-p", value: 0, min: 0, max: 1, step: 0.01, hint: "at least this share of the largest probability" },
  { name: "repetition_penalty", label: "Repetition", value: 1, min: 1, max: 2, step: 0.01, hint: "divides the logits of tokens that have appeared" },
  { name: "max_tokens", label: "Max tokens", value: 64, min: 1, max: 512, step: 1, hint: "largest number of new tokens" },
];

class Sampling {
  constructor(form) {
    this.form = form;
    const kept = recall("sampling", {});
    form.append(element("h2", { class: "caption" }, "Sampling"));
    for (const field of kSamplingFields) form.append(...this.row(field, Number(kept[field.name] ?? field.value)));
    this.seed = element("input", { type: "number", id: "seed", min: 0, max: Number.MAX_SAFE_INTEGER, step: 1, placeholder: "random", value: kept.seed ?? "" });
    form.append(element("label", { for: "seed" }, "Seed"), element("span"), this.seed,
      element("div", { class: "wide" }, element("span", {}, "Without a seed every answer differs."),
        element("button", { type: "button", class: "quiet", onclick: () => this.reset() }, "Reset")));
    form.addEventListener("input", () => remember("sampling", { ...this.values(), seed: this.seed.value }));
    form.addEventListener("submit", (event) => event.preventDefault());
  }

  row({ name, label, min, max, step, hint }, value) {
    const number = element("input", { type: "number", id: name, min, max: name === "max_tokens" || name === "top_k" ? 100000 : max, step: "any", value, title: hint });
    const range = element("input", { type: "range", min, max, step, value, "aria-label": `${label}: ${hint}` });
    range.addEventListener("input", () => { number.value = range.value; });
    number.addEventListener("input", () => { range.value = number.value; });
    return [element("label", { for: name, title: hint }, label), range, number];
  }

  // Fields that hold no number, or one out of bounds, count as what they were at first.
  values() {
    return Object.fromEntries(kSamplingFields.map(({ name, value }) => {
      const field = byId(name);
      return [name, field.value !== "" && field.checkValidity() ? Number(field.value) : value];
    }));
  }

  // What a request says. A seed is drawn where none is given, so that the answer can be had again.
  request() {
    const whole = (x) => Math.round(x);
    const values = this.values();
    const given = this.seed.value !== "" && this.seed.checkValidity();
    return { ...values, top_k: whole(values.top_k), max_tokens: whole(values.max_tokens),
      seed: given ? whole(Number(this.seed.value)) : Math.floor(Math.random() * 1e9) };
  }

  reset() {
    for (const { name, value } of kSamplingFields) {
      byId(name).value = value;
      byId(name).dispatchEvent(new Event("input", { bubbles: true }));
    }
    this.seed.value = "";
    this.seed.dispatchEvent(new Event("input", { bubbles: true }));
  }
}
