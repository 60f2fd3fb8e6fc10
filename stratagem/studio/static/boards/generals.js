// Generals: a canvas with fog. Click selects, keys queue moves, the wheel zooms, dragging pans.
import { h, put } from "../dom.js";
import { keys } from "../store.js";
import { number, tint } from "./heat.js";

const FOG = 0, MOUNTAIN = 2, CASTLE = 3, GENERAL = 4, STRUCTURE = 5;
const WAYS = { up: 0, down: 1, left: 2, right: 3 };
const STEP = [[-1, 0], [1, 0], [0, -1], [0, 1]];
const ARROWS = { ArrowUp: "up", ArrowDown: "down", ArrowLeft: "left", ArrowRight: "right" };
const NAMES = { up: "Up", down: "Down", left: "Left", right: "Right", undo: "Undo the last queued move", clear: "Clear the queue", half: "Half of the army", deselect: "Deselect" };
const MOST = 200;

export class Board {
  constructor(root, context) {
    this.context = context;
    const { width, height, build } = context.facts.parameters;
    Object.assign(this, { columns: width, rows: height, perCell: build ? 10 : 9, selected: -1, half: false, queue: [], number: 0, zoom: 1, pan: [0, 0], drag: null });
    this.canvas = h("canvas", { class: "field", tabindex: 0, role: "application", "aria-label": "Map of Generals. Arrow keys queue moves from the selected cell; Enter selects your general." });
    this.mode = h("p", { class: "small soft", style: "min-height:1.5rem; margin:.4rem 0 0" });
    root.append(this.canvas, this.mode);
    this.canvas.addEventListener("pointerdown", (event) => this.down(event));
    this.canvas.addEventListener("pointermove", (event) => this.move(event));
    this.canvas.addEventListener("pointerup", (event) => this.up(event));
    this.canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    this.onkey = (event) => this.key(event);
    this.redraw = () => this.draw();
    addEventListener("keydown", this.onkey);
    addEventListener("dressed", this.redraw);
    this.watching = new ResizeObserver(this.redraw);
    this.watching.observe(this.canvas);
  }

  show(view) {
    this.view = view;
    if (view.done !== undefined) this.queue = this.queue.filter((one) => one.number > view.done);
    if (view.done !== undefined) this.number = Math.max(this.number, view.done);
    if (!view.playing) { this.queue = []; this.selected = -1; }
    this.draw();
  }

  hint(action) {
    const cell = Math.floor(action / this.perCell);
    this.hinted = { cell, way: action % this.perCell };
    this.draw();
    setTimeout(() => { this.hinted = null; this.draw(); }, 2500);
  }

  // What stands where, in the colours of the seats.
  seen(cell) { return this.view.drawing.seen[Math.floor(cell / this.columns)][cell % this.columns]; }
  army(cell) { return this.view.drawing.army[Math.floor(cell / this.columns)][cell % this.columns]; }
  owner(cell) {
    const one = this.view.drawing.owner[Math.floor(cell / this.columns)][cell % this.columns];
    if (!one) return -1;
    return this.view.drawing.seat === null ? one - 1 : one === 1 ? this.view.drawing.seat : 1 - this.view.drawing.seat;
  }

  // Keys.

  key(event) {
    if (event.target.closest("input, select, textarea, dialog") || event.ctrlKey || event.metaKey || event.altKey) return;
    if (!this.view?.playing) return;
    const bound = keys.all();
    const name = ARROWS[event.code] || Object.keys(bound).find((one) => bound[one] === event.code);
    if (event.code === "Enter" && document.activeElement === this.canvas) { this.select(this.home()); event.preventDefault(); return; }
    if (!name || (name === "deselect" && event.target.closest("button, a"))) return;
    event.preventDefault();
    if (name in WAYS) this.push(WAYS[name]);
    else if (name === "undo") this.pop();
    else if (name === "clear") { const first = this.queue[0]; this.queue = []; if (first) this.selected = first.cell; this.tell(); }
    else if (name === "half") { this.half = !this.half; this.draw(); }
    else { this.selected = -1; this.half = false; this.draw(); }
  }

  home() {
    for (let cell = 0; cell < this.rows * this.columns; cell++) if (this.seen(cell) === GENERAL && this.owner(cell) === this.view.seat) return cell;
    return -1;
  }

  select(cell) { this.selected = cell; this.half = false; this.draw(); }

  push(way) {
    if (this.selected < 0 || this.queue.length >= MOST) return;
    const row = Math.floor(this.selected / this.columns) + STEP[way][0], column = (this.selected % this.columns) + STEP[way][1];
    if (row < 0 || row >= this.rows || column < 0 || column >= this.columns) return;
    const target = row * this.columns + column;
    if (this.seen(target) === MOUNTAIN) return;
    this.queue.push({ number: ++this.number, cell: this.selected, way, half: this.half });
    this.selected = target;
    this.half = false;
    this.tell();
  }

  pop() {
    const last = this.queue.pop();
    if (!last) return;
    this.selected = last.cell;
    this.tell();
  }

  tell() {
    this.context.queue(this.queue.map((one) => [one.number, one.cell * this.perCell + one.way + (one.half ? 4 : 0)]));
    this.draw();
  }

  // Mouse and touch.

  down(event) {
    this.canvas.setPointerCapture(event.pointerId);
    this.drag = { at: [event.offsetX, event.offsetY], pan: [...this.pan], moved: false };
  }
  move(event) {
    if (!this.drag) return;
    const by = [event.offsetX - this.drag.at[0], event.offsetY - this.drag.at[1]];
    if (Math.hypot(...by) > 6) this.drag.moved = true;
    if (this.drag.moved) { this.pan = [this.drag.pan[0] + by[0], this.drag.pan[1] + by[1]]; this.draw(); }
  }
  up(event) {
    const drag = this.drag;
    this.drag = null;
    if (!drag || drag.moved || !this.view?.playing) return;
    const cell = this.cellAt(event.offsetX, event.offsetY);
    if (cell < 0) return;
    const near = STEP.findIndex(([down, right]) => this.selected >= 0 && cell === this.selected + down * this.columns + right && (down || Math.floor(cell / this.columns) === Math.floor(this.selected / this.columns)));
    if (near >= 0 && this.owner(cell) !== this.view.seat) { this.push(near); return; }
    if (near >= 0 && this.owner(this.selected) === this.view.seat && this.army(this.selected) > 1) { this.push(near); return; }
    if (cell === this.selected) this.half = !this.half;
    else { this.selected = this.owner(cell) === this.view.seat ? cell : -1; this.half = false; }
    this.draw();
  }
  wheel(event) {
    event.preventDefault();
    const factor = Math.exp(-event.deltaY / 500), zoom = Math.min(4, Math.max(0.5, this.zoom * factor));
    const by = zoom / this.zoom;
    const { x, y } = this.frame();
    const centre = [event.offsetX - (x - this.pan[0]), event.offsetY - (y - this.pan[1])];
    this.pan = [centre[0] - (centre[0] - this.pan[0]) * by, centre[1] - (centre[1] - this.pan[1]) * by];
    this.zoom = zoom;
    this.draw();
  }

  frame() {
    const width = this.canvas.clientWidth, height = this.canvas.clientHeight;
    const base = Math.min((width - 12) / this.columns, (height - 12) / this.rows);
    const size = base * this.zoom;
    return { size, x: width / 2 - (base * this.columns) / 2 + this.pan[0], y: height / 2 - (base * this.rows) / 2 + this.pan[1], width, height };
  }
  cellAt(px, py) {
    const { size, x, y } = this.frame();
    const column = Math.floor((px - x) / size), row = Math.floor((py - y) / size);
    return row >= 0 && row < this.rows && column >= 0 && column < this.columns ? row * this.columns + column : -1;
  }

  // Drawing.

  draw() {
    if (!this.view || !this.canvas.clientWidth) return;
    const { size, x, y, width, height } = this.frame();
    const scale = devicePixelRatio || 1;
    if (this.canvas.width !== Math.round(width * scale) || this.canvas.height !== Math.round(height * scale)) {
      this.canvas.width = Math.round(width * scale);
      this.canvas.height = Math.round(height * scale);
    }
    const pen = this.canvas.getContext("2d");
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue(`--${name}`).trim();
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.fillStyle = colour("sunk");
    pen.fillRect(0, 0, width, height);
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    for (let cell = 0; cell < this.rows * this.columns; cell++) {
      const left = x + (cell % this.columns) * size, top = y + Math.floor(cell / this.columns) * size;
      if (left > width || top > height || left + size < 0 || top + size < 0) continue;
      this.cell(pen, cell, left, top, size, colour);
    }
    this.arrows(pen, x, y, size, colour);
    this.ring(pen, x, y, size, colour);
    put(this.mode, this.view.playing ? `${this.selected < 0 ? "Select a cell of yours." : this.half ? "Half of the army will move." : "Direction keys queue moves."} Queue: ${this.queue.length}` : "");
  }

  cell(pen, cell, left, top, size, colour) {
    const seen = this.seen(cell), owner = this.owner(cell), army = this.army(cell);
    const hidden = seen === FOG || seen === STRUCTURE;
    const back = owner >= 0 ? colour(`seat-${owner}`) : hidden ? colour("fog") : seen === MOUNTAIN ? colour("hill") : seen === CASTLE ? colour("castle") : colour("plain");
    pen.fillStyle = back;
    pen.fillRect(left + 0.5, top + 0.5, size - 1, size - 1);
    const place = [this.view.heat, Math.floor(cell / this.columns), cell % this.columns, left, top, size];
    if (this.view.heat) tint(pen, ...place);
    if (owner === 1) { // a second sign beside colour: a corner
      pen.fillStyle = "rgb(255 255 255 / 35%)";
      pen.beginPath(); pen.moveTo(left + size, top); pen.lineTo(left + size, top + size * 0.28); pen.lineTo(left + size * 0.72, top); pen.fill();
    }
    const middle = [left + size / 2, top + size / 2];
    pen.fillStyle = pen.strokeStyle = hidden ? colour("soft") : owner >= 0 ? "rgb(255 255 255 / 80%)" : colour("soft");
    if (seen === MOUNTAIN || seen === STRUCTURE) {
      pen.globalAlpha = 0.55;
      pen.beginPath(); pen.moveTo(left + size * 0.16, top + size * 0.78); pen.lineTo(left + size * 0.42, top + size * 0.26); pen.lineTo(left + size * 0.56, top + size * 0.52); pen.lineTo(left + size * 0.66, top + size * 0.38); pen.lineTo(left + size * 0.86, top + size * 0.78); pen.closePath();
      if (seen === MOUNTAIN) { pen.fillStyle = colour("paper"); pen.fill(); } else { pen.lineWidth = 1; pen.stroke(); }
      pen.globalAlpha = 1;
    } else if (seen === CASTLE) {
      pen.globalAlpha = 0.35;
      pen.fillRect(left + size * 0.2, top + size * 0.3, size * 0.6, size * 0.5);
      for (const part of [0.2, 0.42, 0.64]) pen.fillRect(left + size * part, top + size * 0.18, size * 0.16, size * 0.14);
      pen.globalAlpha = 1;
    } else if (seen === GENERAL) {
      pen.globalAlpha = 0.55;
      pen.beginPath();
      pen.moveTo(left + size * 0.15, top + size * 0.72); pen.lineTo(left + size * 0.15, top + size * 0.3); pen.lineTo(left + size * 0.34, top + size * 0.5); pen.lineTo(left + size * 0.5, top + size * 0.18); pen.lineTo(left + size * 0.66, top + size * 0.5); pen.lineTo(left + size * 0.85, top + size * 0.3); pen.lineTo(left + size * 0.85, top + size * 0.72); pen.closePath(); pen.fill();
      pen.globalAlpha = 1;
    }
    if (army > 0) {
      const text = army > 9999 ? `${Math.round(army / 1000)}k` : String(army);
      pen.fillStyle = owner >= 0 ? "#fff" : colour("ink");
      pen.font = `650 ${Math.max(8, size * (text.length > 3 ? 0.3 : 0.4))}px system-ui, sans-serif`;
      if (owner >= 0) { pen.strokeStyle = "rgb(0 0 0 / 45%)"; pen.lineWidth = Math.max(1.5, size * 0.07); pen.lineJoin = "round"; pen.strokeText(text, ...middle); }
      pen.fillText(text, ...middle);
    } else if (this.view.heat) number(pen, ...place);
  }

  arrows(pen, x, y, size, colour) {
    const all = this.queue.map((one) => ({ ...one, tint: colour("ink") }));
    if (this.hinted && this.hinted.way < 8) all.push({ cell: this.hinted.cell, way: this.hinted.way % 4, tint: colour("warn") });
    for (const { cell, way, half, tint } of all) {
      const from = [x + ((cell % this.columns) + 0.5) * size, y + (Math.floor(cell / this.columns) + 0.5) * size];
      const to = [from[0] + STEP[way][1] * size * 0.72, from[1] + STEP[way][0] * size * 0.72];
      const angle = Math.atan2(to[1] - from[1], to[0] - from[0]);
      for (const [width, style] of [[Math.max(4, size * 0.16), "rgb(255 255 255 / 75%)"], [Math.max(2, size * 0.08), tint]]) {
        pen.strokeStyle = style; pen.lineWidth = width; pen.lineCap = "round";
        pen.setLineDash(half ? [size * 0.12, size * 0.12] : []);
        pen.beginPath(); pen.moveTo(from[0] + Math.cos(angle) * size * 0.2, from[1] + Math.sin(angle) * size * 0.2); pen.lineTo(...to); pen.stroke();
        pen.setLineDash([]);
        pen.beginPath();
        for (const turn of [2.5, -2.5]) { pen.moveTo(...to); pen.lineTo(to[0] + Math.cos(angle + turn) * size * 0.2, to[1] + Math.sin(angle + turn) * size * 0.2); }
        pen.stroke();
      }
    }
  }

  ring(pen, x, y, size, colour) {
    if (this.selected < 0) return;
    const left = x + (this.selected % this.columns) * size, top = y + Math.floor(this.selected / this.columns) * size;
    pen.lineWidth = Math.max(2.5, size * 0.09);
    pen.strokeStyle = "#fff"; pen.strokeRect(left + 1, top + 1, size - 2, size - 2);
    pen.lineWidth = Math.max(1.5, size * 0.05);
    pen.strokeStyle = colour("ink"); pen.strokeRect(left + 1, top + 1, size - 2, size - 2);
    if (this.half) { pen.fillStyle = "#fff"; pen.font = `700 ${size * 0.24}px system-ui`; pen.fillText("50%", left + size / 2, top + size * 0.82); }
  }

  scores(drawing) {
    const order = drawing.seat === 1 ? [1, 0] : [0, 1];
    return order.map((place) => `army ${drawing.total[place]} · land ${drawing.land[place]}`);
  }
  prompt() { return "Select a cell of yours; direction keys queue its moves."; }

  // The list of keys, each of which can be changed.
  keyList() {
    const list = h("div", { class: "keys" });
    const shown = (code) => code.replace(/^Key|^Digit/, "");
    const draw = () => put(list, Object.entries(keys.all()).map(([name, code]) => [h("span", {}, NAMES[name]), h("button", {
      type: "button", "aria-label": `Change the key for ${NAMES[name]}, now ${shown(code)}`, onclick: (event) => {
        const button = event.currentTarget;
        button.textContent = "press a key";
        button.addEventListener("keydown", (pressed) => {
          pressed.preventDefault(); pressed.stopPropagation();
          if (pressed.code !== "Escape") keys.set(name, pressed.code);
          draw();
        }, { once: true });
      },
    }, h("kbd", {}, shown(code)))]), h("span", { class: "soft small" }, "Arrow keys always work."), h("button", { type: "button", onclick: () => { keys.reset(); draw(); } }, "Reset"));
    draw();
    return list;
  }

  destroy() {
    removeEventListener("keydown", this.onkey);
    removeEventListener("dressed", this.redraw);
    this.watching.disconnect();
  }
}
