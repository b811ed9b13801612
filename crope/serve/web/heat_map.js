"use strict";
// A causal matrix as a picture: rows are queries, columns are keys, the upper triangle is empty.

class HeatMap {
  // move(query, key) is called while the pointer or the arrow keys go over the cells, choose(query, key) on a click or
  // Enter, leave() when the pointer has gone.
  constructor(canvas, { move, choose, leave }) {
    this.canvas = canvas;
    this.tokens = [];
    this.colourOf = () => [0, 0, 0];
    this.query = 0;
    this.key = 0;
    new ResizeObserver(() => this.draw()).observe(canvas.parentElement);
    canvas.addEventListener("pointermove", (event) => { const cell = this.cellAt(event); if (cell) move(...cell); });
    canvas.addEventListener("pointerleave", leave);
    canvas.addEventListener("click", (event) => { const cell = this.cellAt(event); if (cell) choose(...cell); });
    canvas.addEventListener("keydown", (event) => {
      const step = event.shiftKey ? 10 : 1, last = this.tokens.length - 1;
      const [down, right] = { ArrowDown: [step, 0], ArrowUp: [-step, 0], ArrowRight: [0, step], ArrowLeft: [0, -step] }[event.key] ?? [null];
      if (event.key === "Enter" || event.key === " ") choose(this.query, this.key);
      else if (down !== null && last >= 0) {
        const query = Math.min(last, Math.max(0, this.query + down));
        move(query, Math.min(query, Math.max(0, this.key + right)));
      } else return;
      event.preventDefault();
    });
  }

  // colourOf(query, key) gives [r, g, b].
  show(tokens, colourOf) {
    this.tokens = tokens;
    this.colourOf = colourOf;
    const T = tokens.length;
    const pixels = new ImageData(Math.max(1, T), Math.max(1, T));
    for (let m = 0; m < T; ++m) {
      for (let n = 0; n <= m; ++n) pixels.data.set([...colourOf(m, n), 255], 4 * (m * T + n));
    }
    this.picture = new OffscreenCanvas(pixels.width, pixels.height);
    this.picture.getContext("2d").putImageData(pixels, 0, 0);
    this.query = Math.min(this.query, Math.max(0, T - 1));
    this.key = Math.min(this.key, this.query);
    this.draw();
  }

  select(query, key) {
    this.query = query;
    this.key = key;
    this.draw();
  }

  // Room for labels: of tokens where cells are as high as a line, of positions where not.
  layout() {
    const width = this.canvas.parentElement.clientWidth, T = this.tokens.length;
    const font = `11px ${getComputedStyle(document.body).fontFamily}`;
    const context = this.canvas.getContext("2d");
    context.font = font;
    const shown = this.tokens.map((token) => shortened(visible(token), 9));
    const widest = Math.ceil(Math.max(...shown.map((text) => context.measureText(text).width)));
    let named = true, gutter = widest + 8;
    let cell = (width - gutter - 1) / T;
    if (cell < 12) {
      named = false;
      gutter = Math.ceil(context.measureText("000").width) + 8;
      cell = (width - gutter - 1) / T;
    }
    cell = Math.min(cell, 34);
    // Whole device pixels, so that no cell is wider than another.
    const ratio = devicePixelRatio || 1;
    cell = Math.max(1, Math.floor(cell * ratio)) / ratio;
    return { width, font, shown, named, gutter, cell, side: cell * T };
  }

  draw() {
    const T = this.tokens.length;
    if (T === 0 || !this.picture || this.canvas.parentElement.clientWidth === 0) return;
    const ratio = devicePixelRatio || 1, canvas = this.canvas, layout = this.layout();
    const { width, font, shown, named, gutter, cell, side } = layout;
    this.place = layout;
    const height = gutter + side + 1;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.height = height + "px";
    const style = getComputedStyle(canvas), context = canvas.getContext("2d");
    context.scale(ratio, ratio);
    context.imageSmoothingEnabled = false;
    context.drawImage(this.picture, gutter, gutter, side, side);
    context.strokeStyle = context.fillStyle = mutedColour();
    context.lineWidth = 1;
    context.globalAlpha = 0.45;
    context.beginPath();
    context.moveTo(gutter - 0.5, gutter);
    context.lineTo(gutter - 0.5, gutter + side + 0.5);
    context.lineTo(gutter + side, gutter + side + 0.5);
    context.stroke();
    context.globalAlpha = 1;
    context.font = font;
    context.textBaseline = "middle";
    const every = named ? 1 : [5, 10, 20, 25, 50, 100].find((n) => n * cell >= 24) ?? 100;
    for (let i = 0; i < T; i += every) {
      const text = named ? shown[i] : String(i), middle = gutter + (i + 0.5) * cell;
      context.fillStyle = i === this.query ? style.color : mutedColour();
      context.textAlign = "right";
      context.fillText(text, gutter - 6, middle);
      context.fillStyle = i === this.key ? style.color : mutedColour();
      context.save();
      if (named) {
        context.translate(middle, gutter - 6);
        context.rotate(-Math.PI / 2);
        context.textAlign = "left";
        context.fillText(text, 0, 0);
      } else {
        context.textAlign = "center";
        context.fillText(text, middle, gutter - 10);
      }
      context.restore();
    }
    this.drawSelection(context, style.color);
  }

  drawSelection(context, ink) {
    const { gutter, cell } = this.place;
    context.strokeStyle = ink;
    context.globalAlpha = 0.5;
    context.strokeRect(gutter - 0.5, gutter + this.query * cell - 0.5, (this.query + 1) * cell + 1, cell + 1);
    context.globalAlpha = 1;
    context.lineWidth = 2;
    context.strokeRect(gutter + this.key * cell - 1, gutter + this.query * cell - 1, cell + 2, cell + 2);
  }

  // [query, key] under the pointer; a key that the query does not see counts as the query itself. Null beside the cells.
  cellAt(event) {
    if (!this.place) return null;
    const { gutter, cell, side } = this.place;
    const box = this.canvas.getBoundingClientRect();
    const x = event.clientX - box.left - gutter, y = event.clientY - box.top - gutter;
    if (y < 0 || y >= side || x < -gutter || x >= side) return null;
    const query = Math.min(this.tokens.length - 1, Math.floor(y / cell));
    return [query, Math.max(0, Math.min(query, Math.floor(x / cell)))];
  }
}

const shortened = (text, length) => (text.length > length ? text.slice(0, length - 1) + "\u2026" : text);
const mutedColour = () => (isDark() ? "#9aa1ad" : "#5d6470");
