"use strict";
// Prompt and answer, each token on the shade of its probability.

const kAlternatives = 5;

class WritePanel {
  constructor(model) {
    this.model = model;
    this.sampling = new Sampling(byId("sampling"));
    this.tokens = [];   // {name, logprob, top}
    this.ids = [];      // of all of them, as the model has read and written them
    this.abort = null;  // of the request under way
    this.list = new TokenList(byId("text"), {
      enter: (index) => showAlternatives(this.list.nodes[index], this.tokens[index]),
      leave: hideAlternatives,
    });
    this.list.clear("The text appears here. Each token is shaded by its probability.");
    this.prompt = byId("prompt");
    this.prompt.value = recall("prompt", "The ");
    this.prompt.addEventListener("input", () => remember("prompt", this.prompt.value));
    byId("generate").addEventListener("click", () => this.run(true));
    byId("score").addEventListener("click", () => this.run(false));
    byId("stop").addEventListener("click", () => this.abort?.abort());
    document.addEventListener("keydown", (event) => {
      if (byId("panel-write").hidden) return;
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && !this.abort) this.run(true);
      if (event.key === "Escape") { hideAlternatives(); this.abort?.abort(); }
    });
    addEventListener("scroll", hideAlternatives, { passive: true });
    if (!model.tokenizer) {
      byId("status").textContent = "This model has no tokenizer.json: text cannot become tokens.";
      for (const id of ["generate", "score"]) byId(id).disabled = true;
    }
  }

  // What other views should look at: the last answer, or the prompt if there is none. Ids and not the answer's text: encoded
  // again, it may become other tokens.
  current() { return this.ids.length > 0 ? { ids: this.ids } : { text: this.prompt.value }; }

  async run(generates) {
    if (this.abort || byId("generate").disabled) return;
    const prompt = this.prompt.value;
    if (prompt === "") {
      byId("status").textContent = "Write a prompt first.";
      this.prompt.focus();
      return;
    }
    this.abort = new AbortController();
    this.setBusy(true);
    showTrouble(null);
    this.tokens = [];
    this.ids = [];
    this.decoder = new TextDecoder();
    this.list.clear();
    byId("facts").replaceChildren();
    byId("status").textContent = generates ? "Reading the prompt\u2026" : "Scoring\u2026";
    try {
      this.ids = (await postJson("/tokenize", { prompt, add_special_tokens: false }, this.abort.signal)).tokens;
      await this.scorePrompt(prompt);
      if (generates) await this.generate(prompt);
      else this.showFacts([["tokens", grouped(this.tokens.length)]]);
    } catch (error) {
      if (error.name !== "AbortError") {
        showTrouble(error);
        byId("status").textContent = "";
      } else {
        byId("status").textContent = "Stopped.";
      }
    } finally {
      this.abort = null;
      this.setBusy(false);
    }
  }

  setBusy(busy) {
    byId("generate").disabled = byId("score").disabled = busy;
    byId("stop").disabled = !busy;
    byId("text").classList.toggle("caret", busy);
    if (!busy && document.activeElement === document.body) byId("generate").focus();
  }

  async scorePrompt(prompt) {
    const answer = await postJson("/v1/completions", { model: this.model.name, prompt, echo: true, max_tokens: 0,
      logprobs: kAlternatives, temperature: 0 }, this.abort.signal);
    this.addTokens(answer.choices[0].logprobs, "");
    byId("status").textContent = `${grouped(this.tokens.length)} tokens scored.`;
  }

  async generate(prompt) {
    const settings = this.sampling.request();
    const began = performance.now();
    let first = null, finish = "", usage = null, written = 0;
    const facts = () => {
      const seconds = (performance.now() - first) / 1000;
      return [["tokens", grouped(written)], ["tokens/s", written > 1 ? ((written - 1) / seconds).toFixed(1) : "\u2013"],
        ["first token", `${Math.round(first - began)} ms`], ["seed", String(settings.seed)]];
    };
    try {
      await postStream("/v1/completions", { model: this.model.name, prompt, ...settings, logprobs: kAlternatives, return_token_ids: true, stream: true,
        stream_options: { include_usage: true } }, this.abort.signal, (event) => {
        usage = event.usage ?? usage;
        const choice = event.choices?.[0];
        if (!choice) return;
        first ??= performance.now();
        const count = this.addTokens(choice.logprobs, written === 0 ? "begin" : "");
        written += count;
        this.ids.push(...choice.token_ids);
        finish = choice.finish_reason ?? finish;
        if (count > 0) this.showFacts(facts());
        byId("status").textContent = `Writing\u2026 ${written} tokens`;
      });
    } finally {
      if (first !== null) this.showFacts(facts());
    }
    const reasons = { length: "stopped at the maximum", stop: "ended by itself" };
    byId("status").textContent = `Wrote ${grouped(usage?.completion_tokens ?? written)} tokens; ${reasons[finish] ?? finish}.`;
  }

  // Adds the tokens of one "logprobs" object, the first in `className`, and returns how many there were.
  addTokens(logprobs, className) {
    const texts = logprobs?.tokens ?? [];
    texts.forEach((name, i) => {
      const text = tokenText(name, this.decoder);
      const logprob = logprobs.token_logprobs[i];
      const token = { name, logprob, top: Object.entries(logprobs.top_logprobs?.[i] ?? {}) };
      this.tokens.push(token);
      this.list.add(text, {
        shade: logprob === null ? 0 : surpriseShade(logprob),
        label: logprob === null ? visible(text) : `${visible(text)}, ${percent(Math.exp(logprob))}`,
        className: i === 0 ? className : "",
      });
    });
    return texts.length;
  }

  showFacts(facts) {
    const known = this.tokens.filter((token) => token.logprob !== null);
    const mean = known.reduce((sum, token) => sum - token.logprob, 0) / known.length;
    const loss = known.length ? [["nats per token", mean.toFixed(2)], ["perplexity", Math.exp(mean).toFixed(1)]] : [];
    byId("facts").replaceChildren(...definitions([...facts, ...loss]));
  }
}
