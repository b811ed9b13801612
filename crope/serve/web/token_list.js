"use strict";
// A text as tokens that can be pointed at. One of them is where the Tab key goes; arrow keys, Home and End move on.
class TokenList {
  // handlers: enter(index) by pointer or focus, leave(), choose(index) by click or Enter. Any may be missing.
  constructor(container, handlers = {}) {
    this.container = container;
    this.nodes = [];
    this.current = 0;
    const at = (event) => {
      const node = event.target.closest("[role=option]");
      return node ? Number(node.dataset.index) : -1;
    };
    const tell = (name, index) => { if (index >= 0) handlers[name]?.(index); };
    container.addEventListener("pointerover", (event) => tell("enter", at(event)));
    container.addEventListener("pointerleave", () => handlers.leave?.());
    container.addEventListener("focusin", (event) => { this.setCurrent(at(event)); tell("enter", at(event)); });
    container.addEventListener("focusout", () => handlers.leave?.());
    container.addEventListener("click", (event) => { this.focus(at(event)); tell("choose", at(event)); });
    container.addEventListener("keydown", (event) => {
      const last = this.nodes.length - 1;
      const target = { ArrowRight: this.current + 1, ArrowDown: this.current + 1, ArrowLeft: this.current - 1,
        ArrowUp: this.current - 1, Home: 0, End: last }[event.key];
      if (event.key === "Enter" || event.key === " ") tell("choose", this.current);
      else if (target !== undefined) this.focus(Math.min(last, Math.max(0, target)));
      else return;
      event.preventDefault();
    });
  }

  get length() { return this.nodes.length; }

  clear(message = "") {
    this.nodes = [];
    this.current = 0;
    this.container.replaceChildren(...(message ? [element("span", { class: "empty" }, message)] : []));
  }

  // Adds a token; `label` is what a screen reader says of it.
  add(text, { label = text, shade = 0, className = "" } = {}) {
    if (this.nodes.length === 0) this.container.replaceChildren();
    const node = element("span", { role: "option", class: className, "aria-label": label, "aria-selected": "false",
      tabindex: this.nodes.length === 0 ? 0 : -1, "data-index": this.nodes.length });
    text.split("\n").forEach((part, i) => {
      if (i > 0) node.append(element("span", { class: "return", "aria-hidden": "true" }), "\n");
      node.append(part);
    });
    node.style.setProperty("--shade", shade.toFixed(1));
    this.nodes.push(node);
    this.container.append(node);
    return node;
  }

  setCurrent(index) {
    if (index < 0 || index >= this.nodes.length) return;
    for (const [i, selected] of [[this.current, "false"], [index, "true"]]) {
      this.nodes[i].tabIndex = selected === "true" ? 0 : -1;
      this.nodes[i].setAttribute("aria-selected", selected);
    }
    this.current = index;
  }

  focus(index) { this.nodes[index]?.focus(); }
}
