"use strict";
// A conversation, in the words of the model's own chat template.

class ChatPanel {
  // `sampling` is shared with the first view.
  constructor(model, sampling) {
    this.model = model;
    this.sampling = sampling;
    this.messages = [];  // {role, content}, without the system message
    this.abort = null;   // of the answer under way
    this.list = byId("messages");
    this.field = byId("message");
    this.system = byId("system");
    this.system.value = recall("system", "");
    this.system.addEventListener("input", () => remember("system", this.system.value));
    byId("send").addEventListener("click", () => this.send());
    byId("chat-stop").addEventListener("click", () => this.abort?.abort());
    byId("again").addEventListener("click", () => this.again());
    byId("clear").addEventListener("click", () => this.clear());
    this.field.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      this.send();
    });
    byId("panel-chat").addEventListener("keydown", (event) => { if (event.key === "Escape") this.abort?.abort(); });
    this.clear();
    if (!model.chat) {
      this.field.disabled = this.system.disabled = true;
      this.setStatus(model.tokenizer ? "This model's chat template is not known: start the server with --chat-template."
        : "This model has no tokenizer.json: text cannot become tokens.");
    }
    this.setBusy(false);
  }

  setStatus(text) { byId("chat-status").textContent = text || "\u00a0"; }

  setBusy(busy) {
    const last = this.messages.at(-1)?.role;
    byId("send").disabled = busy || !this.model.chat;
    byId("again").disabled = busy || last === undefined;
    byId("clear").disabled = busy || last === undefined;
    byId("chat-stop").disabled = !busy;
  }

  clear() {
    this.messages = [];
    this.list.replaceChildren(element("p", { class: "empty" }, "The conversation appears here. Each answer takes all earlier messages into account."));
    this.setStatus("");
    this.setBusy(false);
  }

  // The element that holds a message's text.
  show({ role, content }) {
    if (this.messages.length === 0) this.list.replaceChildren();
    const text = element("p", {}, content);
    this.list.append(element("div", { class: "message " + role }, element("h3", { class: "caption" }, role === "user" ? "You" : "Model"), text));
    text.scrollIntoView({ block: "nearest" });
    return text;
  }

  async send() {
    const content = this.field.value;
    if (this.abort || !this.model.chat) return;
    if (content.trim() === "") {
      this.setStatus("Write a message first.");
      this.field.focus();
      return;
    }
    this.field.value = "";
    this.show({ role: "user", content });
    this.messages.push({ role: "user", content });
    await this.answer();
    this.field.focus();
  }

  // Another answer to the last message.
  async again() {
    if (this.abort || this.messages.length === 0) return;
    if (this.messages.at(-1).role === "assistant") {
      this.messages.pop();
      this.list.lastElementChild.remove();
    }
    await this.answer();
  }

  // What was written before a stop stays, as it would in the model's memory of the conversation.
  async answer() {
    this.abort = new AbortController();
    this.setBusy(true);
    this.setStatus("Reading\u2026");
    showTrouble(null);
    const system = this.system.value.trim() === "" ? [] : [{ role: "system", content: this.system.value }];
    const { max_tokens, ...settings } = this.sampling.request();
    const place = this.show({ role: "assistant", content: "" });
    place.classList.add("caret");
    const began = performance.now();
    let content = "", finish = "", usage = null, stopped = false;
    try {
      await postStream("/v1/chat/completions", { model: this.model.name, messages: [...system, ...this.messages], ...settings,
        max_completion_tokens: max_tokens, stream: true, stream_options: { include_usage: true } }, this.abort.signal, (event) => {
        usage = event.usage ?? usage;
        const choice = event.choices?.[0];
        if (!choice) return;
        content += choice.delta.content ?? "";
        place.textContent = content;
        finish = choice.finish_reason ?? finish;
        this.setStatus("Writing\u2026");
      });
    } catch (error) {
      stopped = error.name === "AbortError";
      if (!stopped) showTrouble(error);
    }
    place.classList.remove("caret");
    if (content === "" && finish === "") place.parentElement.remove();
    else this.messages.push({ role: "assistant", content });
    const seconds = ((performance.now() - began) / 1000).toFixed(1);
    const reason = finish === "length" ? ", cut at Max tokens" : "";
    this.setStatus(stopped ? "Stopped." : usage ? `${grouped(usage.prompt_tokens)} tokens read, ${grouped(usage.completion_tokens)} written in ${seconds} s${reason}; seed ${settings.seed}.` : "");
    this.abort = null;
    this.setBusy(false);
  }
}
