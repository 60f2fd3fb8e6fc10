// Hispania: the map, and for the chosen region what can be done there.
import { cap, h, put, s } from "../dom.js";
import { sameTurn } from "./index.js";

const MASKS = 64, SLOTS = 6;
const BORDERS = ["land", "river", "strait", "sea"];
const NOTHING = { grow: "Buy nothing more", pick: "No more marches", defend: "Stand and fight", attack: "Fight on" };
const ASKS = {
  grow: "Choose a region to buy something there.", pick: "Choose a region, then the group that marches.", go: "Choose where the group goes.",
  choose: "Choose the battle to fight.", defend: "Stand, or choose where to retreat.", attack: "Fight on, or choose where to retreat.",
  remove: "Too many units: choose a region and what leaves.", done: "",
};

export class Board {
  constructor(root, context) {
    this.context = context;
    root.classList.add("tall");
    this.chosen = -1;
    this.hinted = -1;
    this.headline = h("p", { class: "soft", style: "min-height:3rem" });
    this.svg = s("svg", { viewBox: "0 0 150 104", role: "group", "aria-label": "Map" });
    this.panel = h("div", { class: "options", style: "margin-top:.8rem; min-height:5rem" });
    root.append(this.headline, this.svg, this.panel);
  }

  show(view) {
    if (!sameTurn(this.view, view)) this.chosen = this.hinted = -1;
    this.view = view;
    this.draw();
  }

  hint(action) {
    this.hinted = Math.floor(action / MASKS);
    this.wanted = action;
    if (this.hinted < this.view.drawing.regions.length) this.chosen = this.hinted;
    this.draw();
  }

  places(regions) {
    const inner = regions.filter((one) => one.onMap), all = inner.length ? inner : regions;
    const x = all.map((one) => one.pos[0]), y = all.map((one) => one.pos[1]);
    const [left, right, bottom, top] = [Math.min(...x), Math.max(...x), Math.min(...y), Math.max(...y)];
    const scale = Math.min(122 / Math.max(1e-6, (right - left) * 0.76), 76 / Math.max(1e-6, top - bottom));
    const found = regions.map((one) => [
      Math.min(143, Math.max(7, 75 + (one.pos[0] - (left + right) / 2) * 0.76 * scale)),
      Math.min(92, Math.max(7, 48 - (one.pos[1] - (top + bottom) / 2) * scale)),
    ]);
    for (let round = 0; round < 60; round++) { // labels need room
      for (let a = 0; a < found.length; a++) for (let b = a + 1; b < found.length; b++) {
        const dx = found[b][0] - found[a][0], dy = found[b][1] - found[a][1], far = Math.hypot(dx, dy) || 1, need = Math.min(17, 90 / Math.sqrt(found.length));
        if (far < need) { const push = (need - far) / 2 / far; found[a][0] -= dx * push; found[a][1] -= dy * push; found[b][0] += dx * push; found[b][1] += dy * push; }
      }
      for (const place of found) { place[0] = Math.min(141, Math.max(9, place[0])); place[1] = Math.min(91, Math.max(8, place[1])); }
    }
    return found;
  }

  draw() {
    const { drawing, legal, last } = this.view;
    const places = (this.spots ??= this.places(drawing.regions));
    const nations = Object.fromEntries(drawing.nations.map((one) => [one.id, one]));
    const tiles = new Set((legal || []).map((action) => Math.floor(action / MASKS)));
    const recent = new Set((last || []).map((one) => Math.floor(one.action / MASKS)));
    this.headline.textContent = drawing.headline;
    const index = Object.fromEntries(drawing.regions.map((one, place) => [one.id, place]));
    put(this.svg,
      drawing.edges.map(([a, b, kind]) => s("line", { x1: places[a][0], y1: places[a][1], x2: places[b][0], y2: places[b][1], class: `edge ${BORDERS[kind]}` })),
      drawing.regions.map((region, place) => {
        const [x, y] = places[place];
        const holder = region.holder >= 0 ? drawing.nations[region.holder] : null;
        const armies = Object.entries(region.stacks);
        const can = tiles.has(place);
        const classes = ["region", holder ? `held s${holder.player % 4}` : "", can ? "can" : "", place === this.chosen ? "chosen" : "", recent.has(place) ? "last" : "", region.id === drawing.battle ? "battle" : "", place === this.hinted ? "hinted" : ""];
        const words = armies.map(([nation, what]) => `${nations[nation].name} ${what}`).join(" against ");
        return s("g", { class: classes.filter(Boolean).join(" "), tabindex: can ? 0 : -1, role: "button", "data-region": region.id, "aria-label": `${region.name}, ${region.terrain}, ${holder ? `held by ${holder.name}` : "free"}${words ? `, ${words}` : ""}${region.building !== "none" ? `, ${region.building}` : ""}${can ? ", you can act here" : ""}`,
          style: holder ? `--dye: var(--dye-${holder.player % 4})` : "", onclick: () => this.press(place), onkeydown: (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); this.press(place); } } },
          s("circle", { cx: x, cy: y, r: 6.7, class: "halo" }), s("circle", { cx: x, cy: y, r: 5.6, class: "land", "stroke-dasharray": region.onMap ? null : "1.5 1" }),
          region.building !== "none" ? s("text", { x: x + 5, y: y - 3.6, class: "army" }, { fort: "▲", castle: "♜", city: "■" }[region.building]) : null,
          s("text", { x, y: y + (armies.length > 1 ? -0.4 : 1.1), class: "army" }, armies[0]?.[1] || ""),
          armies[1] ? s("text", { x, y: y + 3.1, class: "mini" }, `⚔ ${armies[1][1]}`) : null,
          s("text", { x, y: y + 9.1 }, region.name));
      }));
    this.offer(index);
  }

  press(place) {
    const here = (this.view.legal || []).filter((action) => Math.floor(action / MASKS) === place);
    if (!this.view.legal) { this.context.say("It is not your turn."); return; }
    if (!here.length) { this.context.say("Nothing can be done there now."); return; }
    if (here.length === 1 && !["grow", "remove"].includes(this.view.drawing.phase)) { this.context.act(here[0]); return; }
    this.chosen = place;
    this.draw();
    this.panel.querySelector("button")?.focus();
  }

  words(action) {
    const { drawing } = this.view;
    const tile = Math.floor(action / MASKS), mask = action % MASKS;
    if (tile >= drawing.regions.length) return NOTHING[drawing.phase] || "Go on";
    const region = drawing.regions[tile];
    const slots = [...Array(SLOTS).keys()].filter((slot) => mask >> slot & 1);
    if (!slots.length) return region.id === drawing.battle && drawing.phase === "defend" ? `Submit at ${region.name}` : region.name;
    if (drawing.phase === "grow") return `Buy ${drawing.menu[slots[0]]}`;
    const counted = {};
    for (const slot of slots) { const name = (region.slots[slot] || "unit").replace(", moved", ""); counted[name] = (counted[name] || 0) + 1; }
    return cap(`${drawing.phase === "remove" ? "remove " : ""}${Object.entries(counted).map(([name, count]) => (count > 1 ? `${count} × ${name}` : name)).join(" and ")}`);
  }

  offer() {
    const { drawing, legal } = this.view;
    if (!legal) { put(this.panel); return; }
    const none = legal.filter((action) => Math.floor(action / MASKS) >= drawing.regions.length);
    const here = legal.filter((action) => Math.floor(action / MASKS) === this.chosen).sort((a, b) => bits(b % MASKS) - bits(a % MASKS) || a - b);
    const button = (action, kind) => h("button", { type: "button", class: `${kind} ${this.wanted === action && this.hinted >= 0 ? "on" : ""}`, "data-action": action, onclick: () => this.context.act(action) }, this.words(action));
    put(this.panel,
      this.chosen >= 0 ? h("h3", {}, drawing.regions[this.chosen].name) : h("p", { class: "soft small", style: "margin:0" }, `${ASKS[drawing.phase]}${drawing.phase === "grow" ? ` ${drawing.points} points to spend.` : ""}`),
      here.map((action) => button(action, "")), none.map((action) => button(action, "main")));
  }

  scores(drawing) {
    return drawing.players.map((name, player) => `${name}, ${drawing.nations.reduce((sum, one, number) => sum + (one.player === player ? drawing.vp[number] : 0), 0)} VP`);
  }
  prompt(drawing) { return ASKS[drawing.phase]; }
  destroy() {}
}

const bits = (mask) => [...Array(SLOTS).keys()].filter((slot) => mask >> slot & 1).length;
