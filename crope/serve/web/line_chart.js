"use strict";
// Two curves over steps, on linear or logarithmic axes.

// About `count` round numbers within [low, high].
function roundTicks(low, high, count) {
  if (!(high > low)) return [low];
  const rough = (high - low) / count, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= rough);
  const ticks = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; ++i) ticks.push(Number((i * step).toPrecision(12)));
  return ticks;
}

// 1, 2, 5, 10, ... within [low, high], or round numbers where that would be too few.
function logTicks(low, high, count) {
  const ticks = [];
  const decades = Math.log10(high / low);
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); ++power) {
    for (const n of decades > 3 ? [1] : decades > 1.2 ? [1, 2, 5] : [1, 1.5, 2, 3, 4, 5, 6, 8]) {
      const tick = Number((n * 10 ** power).toPrecision(12));
      if (tick >= low * 0.999 && tick <= high * 1.001) ticks.push(tick);
    }
  }
  return ticks.length >= 3 ? ticks : roundTicks(low, high, count);
}

// {at(value) -> pixel, ticks}
function axis(low, high, from, to, kind, count) {
  const f = kind === "log" ? Math.log : (x) => x;
  const span = f(high) - f(low) || 1;
  return { at: (x) => from + (to - from) * (f(x) - f(low)) / span,
    ticks: kind === "log" ? logTicks(low, high, count) : roundTicks(low, high, count) };
}

class LineChart {
  // reading(text) says what stands under the pointer, or at the place that the arrow keys have reached.
  constructor(place, reading) {
    this.place = place;
    this.reading = reading;
    this.train = [];
    this.val = [];
    this.lossAxis = this.stepAxis = "linear";
    this.cursor = null;  // a step
    new ResizeObserver(() => this.draw()).observe(place);
    place.addEventListener("pointermove", (event) => this.pointAt(event.clientX - place.getBoundingClientRect().left));
    place.addEventListener("pointerleave", () => this.setCursor(null));
    place.addEventListener("keydown", (event) => {
      const by = { ArrowRight: 1, ArrowLeft: -1, Home: -Infinity, End: Infinity }[event.key];
      const steps = (this.train.length ? this.train : this.val).map(([step]) => step);
      if (by === undefined || steps.length === 0) return;
      const stride = Math.max(1, Math.round(steps.length / (event.shiftKey ? 10 : 100)));
      const now = this.cursor === null ? steps.length - 1 : nearest(steps, this.cursor);
      this.setCursor(steps[Math.min(steps.length - 1, Math.max(0, now + by * stride))]);
      event.preventDefault();
    });
  }

  setCursor(step) {
    this.cursor = step;
    this.draw();
  }

  pointAt(x) {
    const points = this.train.length ? this.train : this.val;
    if (!this.x || points.length === 0) return;
    let best = points[0];
    for (const point of points) if (Math.abs(this.x.at(point[0]) - x) < Math.abs(this.x.at(best[0]) - x)) best = point;
    this.setCursor(best[0]);
  }

  draw() {
    const width = this.place.clientWidth, height = this.place.clientHeight;
    const all = [...this.train, ...this.val];
    if (width === 0 || all.length === 0) { this.place.replaceChildren(); return; }
    const losses = all.map(([, loss]) => loss).filter((loss) => this.lossAxis === "linear" || loss > 0);
    const low = Math.min(...losses), high = Math.max(...losses), room = 0.04 * (high - low || Math.abs(high) || 1);
    const bottom = this.lossAxis === "log" ? low / 1.03 : low - room, top = this.lossAxis === "log" ? high * 1.03 : high + room;
    const steps = all.map(([step]) => step);
    const first = this.stepAxis === "log" ? Math.max(1, Math.min(...steps)) : 0;
    const last = Math.max(first + 1, ...steps);
    const box = { left: 44, right: width - 76, top: 12, bottom: height - 38 };
    const x = this.x = axis(first, last, box.left, box.right, this.stepAxis, width < 500 ? 4 : 8);
    const y = axis(bottom, top, box.bottom, box.top, this.lossAxis, 6);
    const digits = y.ticks.length > 1 && y.ticks[1] - y.ticks[0] < 0.095 ? 2 : y.ticks.every(Number.isInteger) ? 0 : 1;
    const text = (x1, y1, anchor, content, className) => svg("text", { x: x1, y: y1, "text-anchor": anchor, class: className }, content);
    const path = (points, className) => svg("path", { class: className,
      d: points.filter(([step, loss]) => step >= first && (this.lossAxis === "linear" || loss > 0)).map(([step, loss], i) => `${i ? "L" : "M"}${x.at(step).toFixed(1)} ${y.at(loss).toFixed(1)}`).join("") });
    const parts = [
      ...y.ticks.flatMap((tick) => [svg("line", { class: "grid", x1: box.left, x2: box.right, y1: y.at(tick), y2: y.at(tick) }),
        text(box.left - 8, y.at(tick) + 4, "end", tick.toFixed(digits))]),
      ...apart(x.ticks, x, width < 500 ? 44 : 56).map((tick) => text(x.at(tick), box.bottom + 18, "middle", compact(tick))),
      text(box.right, height - 4, "end", "step"),
      path(this.train, "train"), path(this.val, "val"),
      ...(this.val.length < 80 ? this.val.filter(([step]) => step >= first).map(([step, loss]) => svg("circle", { class: "dot", cx: x.at(step), cy: y.at(loss), r: 2.5 })) : []),
      ...this.endLabels(y, box, text),
      ...this.cursorParts(x, y, box),
    ];
    this.place.replaceChildren(svg("svg", { viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" }, parts));
  }

  // Names of the curves at their ends, moved apart where they would touch.
  endLabels(y, box, text) {
    const labels = [[this.train, "training", "train-label"], [this.val, "validation", "val-label"]].filter(([points]) => points.length)
      .map(([points, name, className]) => ({ name, className, y: y.at(points.at(-1)[1]) + 4 })).sort((a, b) => a.y - b.y);
    if (labels.length === 2 && labels[1].y - labels[0].y < 15) {
      const middle = Math.min(box.bottom - 8, Math.max(box.top + 8, (labels[0].y + labels[1].y) / 2));
      labels[0].y = middle - 7.5;
      labels[1].y = middle + 7.5;
    }
    return labels.map((label) => text(box.right + 6, label.y, "start", label.name, label.className));
  }

  cursorParts(x, y, box) {
    if (this.cursor === null) { this.reading("\u00a0"); return []; }
    const at = (points) => points.length ? points[nearest(points.map(([step]) => step), this.cursor)] : null;
    const train = at(this.train), val = at(this.val);
    const said = [train && `step ${grouped(train[0])}: training ${train[1].toFixed(4)}`, val && `validation ${val[1].toFixed(4)} at step ${grouped(val[0])}`];
    this.reading(said.filter(Boolean).join(", "));
    const place = x.at(this.cursor);
    return [svg("line", { class: "cross", x1: place, x2: place, y1: box.top, y2: box.bottom }),
      ...(train && train[0] === this.cursor ? [svg("circle", { class: "dot-train", cx: place, cy: y.at(train[1]), r: 3.5 })] : [])];
  }
}

function nearest(steps, step) {
  let best = 0;
  for (let i = 0; i < steps.length; ++i) if (Math.abs(steps[i] - step) < Math.abs(steps[best] - step)) best = i;
  return best;
}

// The ticks that have `room` pixels each.
function apart(ticks, scale, room) {
  const kept = [];
  for (const tick of ticks) if (kept.length === 0 || scale.at(tick) - scale.at(kept.at(-1)) >= room) kept.push(tick);
  return kept;
}

const compact = (n) => (n >= 1e6 ? `${n / 1e6}M` : n >= 10000 ? `${n / 1000}k` : grouped(n));
