// A board of cells in SVG: drawing order, keyboard cursor and labels, shared by Corso and GENERAL.
import { s } from "../dom.js";

export class Grid {
  // `press(cell)` is called on click and on Enter; cells are numbered row by row.
  constructor(root, rows, columns, name, press, label) {
    Object.assign(this, { rows, columns, cursor: 0, press, label });
    this.svg = s("svg", { viewBox: `-0.55 -0.1 ${columns + 0.65} ${rows + 0.65}`, role: "grid", "aria-label": name });
    this.under = s("g", { "aria-hidden": "true" });
    this.cells = [];
    const layer = s("g", {});
    for (let row = 0; row < rows; row++) {
      const line = s("g", { role: "row" });
      for (let column = 0; column < columns; column++) {
        const cell = row * columns + column;
        const box = s("g", {
          class: "cellbox", role: "gridcell", tabindex: cell ? -1 : 0, transform: `translate(${column} ${row})`, "data-cell": cell,
          onclick: () => { this.focus(cell, false); press(cell); }, onkeydown: (event) => this.key(event, cell),
        });
        this.cells.push(box);
        line.append(box);
      }
      layer.append(line);
    }
    const marks = [];
    for (let column = 0; column < columns; column++) marks.push(s("text", { x: column + 0.5, y: rows + 0.25, class: "coord" }, "abcdefghij"[column]));
    for (let row = 0; row < rows; row++) marks.push(s("text", { x: -0.28, y: row + 0.5, class: "coord" }, String(row + 1)));
    this.svg.append(s("g", { "aria-hidden": "true" }, marks), this.under, layer);
    root.append(this.svg);
  }

  name(cell) { return "abcdefghij"[cell % this.columns] + (Math.floor(cell / this.columns) + 1); }

  focus(cell, really = true) {
    this.cells[this.cursor].setAttribute("tabindex", -1);
    this.cursor = cell;
    this.cells[cell].setAttribute("tabindex", 0);
    if (really) this.cells[cell].focus();
  }

  key(event, cell) {
    const row = Math.floor(cell / this.columns), column = cell % this.columns;
    const to = { ArrowUp: [row - 1, column], ArrowDown: [row + 1, column], ArrowLeft: [row, column - 1], ArrowRight: [row, column + 1] }[event.key];
    if (to) {
      event.preventDefault();
      if (to[0] >= 0 && to[0] < this.rows && to[1] >= 0 && to[1] < this.columns) this.focus(to[0] * this.columns + to[1]);
    } else if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      this.press(cell);
    }
  }

  // Draw a cell anew: what is in it, its classes, and what a screen reader says.
  fill(cell, content, classes, words) {
    const box = this.cells[cell];
    box.setAttribute("class", ["cellbox", ...classes.filter(Boolean)].join(" "));
    box.setAttribute("aria-label", `${this.name(cell)}, ${words}`);
    box.replaceChildren(...content.flat(3).filter(Boolean), s("rect", { x: 0.06, y: 0.06, width: 0.88, height: 0.88, rx: 0.12, class: "ring" }));
  }
}
