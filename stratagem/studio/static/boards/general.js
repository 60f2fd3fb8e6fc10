// GENERAL: choose a unit, then where it goes. The die says how far.
import { die, h, put, s } from "../dom.js";
import { Grid } from "./grid.js";
import { grade, sameTurn } from "./index.js";

const SIDE = 10, CELLS = 100, PASS = 10000, OFFENSIVE = 44;
const TOWER = [44, 45, 54, 55];
const garrison = (cell) => {
  const row = Math.min(Math.floor(cell / SIDE), 9 - Math.floor(cell / SIDE)), column = Math.min(cell % SIDE, 9 - (cell % SIDE));
  return row + column < 3;
};

export class Board {
  constructor(root, context) {
    this.context = context;
    root.classList.add("tall");
    this.picked = -1;
    this.hinted = -1;
    this.pass = h("button", { class: "main", type: "button", onclick: () => context.act(PASS) }, "Pass: nothing is possible");
    this.pass.hidden = true;
    this.tray = h("div", { class: "row", style: "justify-content:center; min-height:4rem; margin-bottom:.3rem" });
    root.append(this.tray);
    this.grid = new Grid(root, SIDE, SIDE, "GENERAL board, 10 by 10", (cell) => this.press(cell));
    root.addEventListener("keydown", (event) => { if (event.key === "Escape") { this.picked = -1; this.draw(); } });
  }

  show(view) {
    if (!sameTurn(this.view, view)) this.picked = this.hinted = -1;
    this.view = view;
    this.signs = view.drawing.rows.join("");
    this.draw();
  }

  hint(action) {
    if (action === PASS) return;
    const from = Math.floor(action / CELLS);
    this.picked = from === action % CELLS ? -1 : from;
    this.hinted = action % CELLS;
    this.draw();
  }

  press(cell) {
    const legal = this.view.legal;
    if (!legal) { this.context.say("It is not your turn."); return; }
    const starts = new Set(legal.filter((a) => a < PASS).map((a) => Math.floor(a / CELLS)));
    if (legal.includes(cell * CELLS + cell)) { this.context.act(cell * CELLS + cell); return; }
    if (this.picked >= 0 && legal.includes(this.picked * CELLS + cell)) { this.context.act(this.picked * CELLS + cell); return; }
    const from = TOWER.includes(cell) && starts.has(OFFENSIVE) ? OFFENSIVE : cell;
    if (starts.has(from) && from !== this.picked) this.picked = from;
    else {
      this.picked = -1;
      if (!starts.has(from)) this.context.say(legal.includes(PASS) ? "Nothing is possible: pass." : "That cannot move with this die. What can is ringed.");
    }
    this.draw();
  }

  draw() {
    const { legal, last, drawing, candidates } = this.view;
    const able = (legal || []).filter((action) => action < PASS);
    const starts = new Set(able.map((action) => Math.floor(action / CELLS)));
    const targets = new Set(able.filter((action) => Math.floor(action / CELLS) === this.picked).map((action) => action % CELLS));
    const recent = new Set((last || []).flatMap((one) => (one.action < PASS ? [Math.floor(one.action / CELLS), one.action % CELLS] : [])));
    const moat = new Set(drawing.moat);
    const judged = {};
    for (const [action, loss] of Object.entries(candidates || {})) {
      const to = action % CELLS;
      if (this.picked < 0 ? true : Math.floor(action / CELLS) === this.picked) judged[to] = Math.min(judged[to] ?? 9, loss);
    }
    [...this.signs].forEach((sign, cell) => {
      const ground = sign === "G" ? "tower" : moat.has(this.grid.name(cell)) ? "moat" : garrison(cell) ? "garrison" : "";
      const content = [s("rect", { x: 0.03, y: 0.03, width: 0.94, height: 0.94, rx: sign === "G" ? 0.04 : 0.1, class: `sq ${ground}` })];
      const role = "AD".indexOf(sign);
      const seat = role < 0 ? -1 : drawing.attacker ^ role;
      const converts = drawing.converting && able.includes(cell * CELLS + cell);
      const starting = starts.has(cell) || (TOWER.includes(cell) && starts.has(OFFENSIVE));
      if (role >= 0) content.push(s("g", { class: `s${seat}` },
        role ? s("path", { d: "M.5 .14L.82 .26V.52Q.8 .76 .5 .88Q.2 .76 .18 .52V.26Z", class: "unit" }) : s("circle", { cx: 0.5, cy: 0.5, r: 0.33, class: "unit" }),
        s("text", { x: 0.5, y: 0.52, class: "unit-mark" }, role ? "D" : "A")));
      if (sign === "G") content.push(s("path", { d: "M.25 .78V.34H.37V.44H.44V.34H.56V.44H.63V.34H.75V.78Z", fill: "var(--card)", opacity: 0.85 }));
      if (targets.has(cell)) content.push(role >= 0 || sign === "G" ? s("rect", { x: 0.09, y: 0.09, width: 0.82, height: 0.82, rx: 0.1, class: "target" }) : s("circle", { cx: 0.5, cy: 0.5, r: 0.15, class: "target-dot" }));
      else if ((starting && this.picked < 0) || converts) content.push(s("circle", { cx: 0.5, cy: 0.5, r: 0.42, class: "target", "stroke-dasharray": ".12 .08", opacity: 0.8 }));
      if (cell in judged) content.push(s("circle", { cx: 0.8, cy: 0.2, r: 0.17, class: `grade g${grade(judged[cell])}` }));
      const what = sign === "G" ? "the General" : role >= 0 ? `${role ? "Defender" : "Attacker"} unit` : ground === "moat" ? "moat" : ground === "garrison" ? "garrison" : "empty";
      const picked = cell === this.picked || (this.picked === OFFENSIVE && sign === "G");
      this.grid.fill(cell, content, [(starting || targets.has(cell)) && "can", picked && "picked", recent.has(cell) && "last", cell === this.hinted && "hinted"],
        what + (targets.has(cell) ? ", can be reached" : starting ? ", can move" : ""));
    });
    this.pass.hidden = !(legal && legal.includes(PASS));
    put(this.tray, h("span", { class: "die" }, die(drawing.die, 52)),
      h("span", { class: "nums" }, `Hits ${drawing.hits} of 3 · turn ${drawing.turn} of ${drawing.turns}`), this.pass);
  }

  scores(drawing) {
    const units = ["A", "D"].map((sign) => [...drawing.rows.join("")].filter((one) => one === sign).length);
    return [0, 1].map((seat) => { const role = seat ^ drawing.attacker; return `${role ? "Defender" : "Attacker"}, ${units[role]} units`; });
  }
  prompt(drawing) {
    if (drawing.converting) return "Choose the unit that changes sides.";
    return `You are the ${drawing.role}. Choose a ringed unit, then where it goes: ${drawing.die} cell${drawing.die === 1 ? "" : "s"}.`;
  }
  destroy() {}
}
