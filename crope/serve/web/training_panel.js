"use strict";
// The losses of the run behind the model, while it runs.

const kPollMilliseconds = 2000;
const kSmoothed = 20;  // updates in the mean that stands for "the loss now"

class TrainingPanel {
  constructor(model) {
    this.model = model;
    this.lastStep = 0;
    this.timer = null;
    this.chart = new LineChart(byId("loss-chart"), (text) => { byId("chart-reading").textContent = text; });
    const kinds = [["linear", "linear"], ["log", "log"]];
    this.chart.lossAxis = recall("loss-axis", "linear");
    this.chart.stepAxis = recall("step-axis", "linear");
    for (const [id, field] of [["loss-axis", "lossAxis"], ["step-axis", "stepAxis"]]) {
      radioChoice(byId(id), id, kinds, this.chart[field], (value) => {
        this.chart[field] = value;
        remember(id, value);
        this.chart.draw();
      });
    }
  }

  // While the view is open.
  open() {
    this.poll();
    this.timer ??= setInterval(() => { if (!document.hidden) this.poll(); }, kPollMilliseconds);
  }

  close() {
    clearInterval(this.timer);
    this.timer = null;
  }

  async poll() {
    if (this.polling) return;
    this.polling = true;
    try {
      let news = await getJson(`/api/run?after=${this.lastStep}`);
      if (news.last_step < this.lastStep) {  // the run was set back
        this.chart.train = [];
        this.chart.val = [];
        this.lastStep = 0;
        news = await getJson("/api/run?after=0");
      }
      showTrouble(null);
      this.take(news);
    } catch (error) {
      showTrouble(error);
    } finally {
      this.polling = false;
    }
  }

  take(news) {
    const changed = news.train.length + news.val.length > 0 || this.lastStep === 0;
    this.chart.train.push(...news.train);
    this.chart.val.push(...news.val);
    this.lastStep = news.last_step;
    const { train, val } = this.chart;
    const empty = train.length + val.length === 0;
    for (const id of ["loss-axis", "step-axis", "loss-chart", "run-facts"]) byId(id).hidden = empty;
    byId("run-note").textContent = !news.run ? "This is a model directory. Serve a run directory to see its losses here, also while it trains."
      : empty ? "The run has no steps yet." : "";
    if (empty || !changed) return;
    this.showFacts(news, train, val);
    byId("loss-chart").setAttribute("aria-label", `Loss over ${grouped(news.last_step)} steps. The arrow keys read values.`);
    this.chart.draw();
  }

  showFacts(news, train, val) {
    const latest = news.latest ?? {};
    const recent = train.slice(-kSmoothed), mean = recent.reduce((sum, [, loss]) => sum + loss, 0) / recent.length;
    const facts = [["step", grouped(news.last_step), news.steps ? element("small", {}, ` of ${grouped(news.steps)}`) : null]];
    if (recent.length) facts.push(["training loss", mean.toFixed(4), element("small", { title: `mean of the last ${recent.length} points` }, ` last ${recent.length}`)]);
    if (val.length) facts.push(["validation loss", val.at(-1)[1].toFixed(4)]);
    if (latest.tokens) facts.push(["tokens seen", compactNumber(latest.tokens)]);
    if (latest.tokens_per_second) facts.push(["tokens per second", grouped(Math.round(latest.tokens_per_second))]);
    if (latest.lr !== undefined) facts.push(["learning rate", latest.lr.toPrecision(3)]);
    byId("run-facts").replaceChildren(...definitions(facts));
  }
}

const compactNumber = (n) => (n >= 1e9 ? (n / 1e9).toFixed(1) + " G" : n >= 1e6 ? (n / 1e6).toFixed(1) + " M" : grouped(n));
