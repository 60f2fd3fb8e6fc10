// Corso: marbles, and cells dyed by chain reactions.
import { s, SEATS } from "../dom.js";
import { Grid } from "./grid.js";
import { grade, sameTurn } from "./index.js";

const PATTERNS = [
  "M.2 .8L.8 .2M.2 .45L.45 .2M.55 .8L.8 .55", "M.28 .28h.01M.72 .28h.01M.5 .5h.01M.28 .72h.01M.72 .72h.01",
  "M.2 .3h.6M.2 .5h.6M.2 .7h.6", "M.3 .2v.6M.5 .2v.6M.7 .2v.6",
];

export class Board {
  constructor(root, context) {
    this.context = context;
    const { width, height } = context.facts.parameters;
    this.columns = width;
    this.grid = new Grid(root, height, width, `Corso board, ${width} by ${height}`, (cell) => this.press(cell));
    this.before = null;
    this.hinted = -1;
  }

  press(cell) {
    if (!this.view.legal) { this.context.say("It is not your turn."); return; }
    if (this.view.legal.includes(cell)) this.context.act(cell);
    else this.context.say(this.why(cell));
  }

  why(cell) {
    const sign = this.signs[cell];
    return sign === sign.toLowerCase() ? "A dyed cell cannot be played." : "Only your own marbles can be expanded.";
  }

  show(view) {
    if (!sameTurn(this.view, view)) this.hinted = -1;
    this.view = view;
    this.signs = view.drawing.rows.join("");
    this.draw();
  }

  hint(action) { this.hinted = action; this.draw(); this.grid.focus(action, false); }

  draw() {
    const { legal, last, candidates } = this.view;
    const recent = new Set((last || []).map((one) => one.action));
    [...this.signs].forEach((sign, cell) => {
      const player = "ABCD".indexOf(sign.toUpperCase());
      const marble = player >= 0 && sign === sign.toUpperCase();
      const can = legal ? legal.includes(cell) : false;
      const fresh = this.before && this.before[cell] !== sign ? "pop" : "";
      const content = [s("rect", { x: 0.03, y: 0.03, width: 0.94, height: 0.94, rx: 0.14, class: `sq ${player >= 0 && !marble ? `dyed${player}` : ""}` })];
      if (marble) content.push(s("g", { class: `s${player} ${fresh}` }, s("circle", { cx: 0.5, cy: 0.5, r: 0.34, class: "marble" }), s("circle", { cx: 0.4, cy: 0.37, r: 0.09, class: "shine" }), player % 2 ? s("circle", { cx: 0.5, cy: 0.5, r: 0.13, fill: "none", stroke: "#fff", "stroke-width": 0.045, opacity: 0.8 }) : null));
      else if (player >= 0) content.push(s("g", { class: `s${player} ${fresh}` }, s("path", { d: PATTERNS[player], class: "pattern" })));
      else if (can && !candidates) content.push(s("circle", { cx: 0.5, cy: 0.5, r: 0.07, class: "dot" }));
      if (candidates && cell in candidates) {
        const loss = candidates[cell];
        content.push(s("circle", { cx: 0.5, cy: 0.5, r: 0.26, class: `grade g${grade(loss)}` }), s("text", { x: 0.5, y: 0.51, class: "loss" }, loss < 0.005 ? "best" : `−${Math.round(50 * loss)}`));
      }
      const what = marble ? `marble of ${SEATS[player]}` : player >= 0 ? `dyed ${SEATS[player]}` : "empty";
      this.grid.fill(cell, content, [can && "can", recent.has(cell) && "last", cell === this.hinted && "hinted"], what + (can ? (marble ? ", you can expand it" : ", you can place a marble") : ""));
    });
    this.before = this.signs;
  }

  scores(drawing) { return drawing.scores.map((cells) => `${cells} cell${cells === 1 ? "" : "s"}`); }
  prompt() { return "Place a marble on an empty cell, or expand one of your own."; }
  destroy() {}
}
