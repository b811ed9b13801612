"use strict";
// Views, theme, and the start.

function tabs(openers) {
  const names = Object.keys(openers);
  const open = (name, focus) => {
    for (const other of names) {
      const tab = byId("tab-" + other), selected = other === name;
      tab.setAttribute("aria-selected", selected);
      tab.tabIndex = selected ? 0 : -1;
      byId("panel-" + other).hidden = !selected;
      if (!selected) openers[other].close?.();
    }
    if (focus) byId("tab-" + name).focus();
    hideAlternatives();
    history.replaceState(null, "", "#" + name);
    openers[name].open?.();
  };
  names.forEach((name, i) => {
    const tab = byId("tab-" + name);
    tab.addEventListener("click", () => open(name, false));
    tab.addEventListener("keydown", (event) => {
      const to = { ArrowRight: i + 1, ArrowLeft: i - 1, Home: 0, End: names.length - 1 }[event.key];
      if (to === undefined) return;
      event.preventDefault();
      open(names[(to + names.length) % names.length], true);
    });
  });
  const asked = location.hash.slice(1);
  open(names.includes(asked) ? asked : names[0], false);
}

async function start() {
  setTheme(recall("theme", null));
  prefersDark.addEventListener("change", () => setTheme(recall("theme", null)));
  byId("theme").addEventListener("click", () => {
    const theme = isDark() ? "light" : "dark";
    // What the system has anyway need not be remembered: the page goes on following it.
    remember("theme", (theme === "dark") === prefersDark.matches ? null : theme);
    setTheme(recall("theme", null));
  });
  let model;
  try {
    model = await getJson("/api/model");
  } catch (error) {
    showTrouble(error);
    return;
  }
  showModel(model);
  const write = new WritePanel(model);
  new ChatPanel(model, write.sampling);
  const attention = new AttentionPanel(model, () => write.current());
  const training = new TrainingPanel(model);
  tabs({
    write: {},
    chat: {},
    attention: { open: () => attention.refresh() },
    training: { open: () => training.open(), close: () => training.close() },
    model: {},
  });
}

start();
