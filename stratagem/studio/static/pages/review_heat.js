// Heat maps in a review of Generals: where the enemy general could be, as far as the seat could know, and where a network looked.
import { get } from "../api.js";
import { h, put, SEATS, toast } from "../dom.js";

const short = (name) => name.replace(/\/weights\.safetensors$/, "");

export class Heat {
  // `changed` is called when another map is wanted; `seat` is whose knowledge is shown.
  constructor(facts, seat, changed) {
    Object.assign(this, { facts, seat, changed, kind: "", network: facts.networks[0] || "", layer: 0, head: -1, depth: 1, heads: 1, known: new Map() });
    this.controls = h("div", { id: "heat" });
    this.legend = h("p", { class: "small soft", id: "legend", "aria-live": "polite", style: "min-height:1.4rem; margin:.4rem 0 0" });
    this.draw();
  }

  draw() {
    const kinds = [["", "No map"], ["belief", "Belief"], ...(this.facts.networks.length ? [["attention", "Attention"]] : [])];
    const pick = (name, label, values, text) => h("label", { class: "small" }, `${label} `, h("select", { "data-heat": name, style: "width:auto", onchange: (event) => { this[name] = name === "network" ? event.target.value : Number(event.target.value); this.changed(); } },
      values.map((value) => h("option", { value, selected: value === this[name] }, text(value)))));
    put(this.controls, h("div", { class: "row" }, h("div", { class: "seg", role: "group", "aria-label": "Heat map" }, kinds.map(([kind, label]) => h("button", { type: "button", class: kind === this.kind ? "on" : "", "aria-pressed": String(kind === this.kind), "data-map": kind || "none", onclick: () => { this.kind = kind; this.draw(); this.changed(); } }, label))),
      this.kind === "attention" ? [this.facts.networks.length > 1 ? pick("network", "Network", this.facts.networks, short) : null,
        pick("layer", "Layer", [...Array(this.depth).keys()], (value) => String(value + 1)), pick("head", "Head", [-1, ...Array(this.heads).keys()], (value) => (value < 0 ? "all, mean" : String(value + 1)))] : null));
  }

  async fetch(turn) {
    const name = `${turn}:${this.kind === "attention" ? this.network : ""}`;
    if (!this.known.has(name)) {
      const network = this.kind === "attention" ? `&network=${encodeURIComponent(this.network)}` : "";
      this.known.set(name, await get(`/api/replays/${this.facts.id}/sight?turn=${turn}&seat=${this.seat}${network}`));
    }
    return this.known.get(name);
  }

  // The map of a turn as a board draws it, or null.
  async at(turn) {
    this.latest = turn;
    if (!this.kind) { this.legend.textContent = ""; return null; }
    try {
      const found = await this.fetch(turn);
      if (turn !== this.latest) return null; // somebody has stepped on
      const cells = this.kind === "belief" ? found.belief : this.spread(found.attention);
      const most = Math.max(...cells.flat(), 1e-9);
      this.tell(cells, most);
      return { cells, most };
    } catch (error) { toast(error.message); return null; }
  }

  // Patches as cells: each cell has the share of the patch that it is in.
  spread({ patch, maps }) {
    if (maps.length !== this.depth || maps[0].length !== this.heads) { [this.depth, this.heads] = [maps.length, maps[0].length]; this.draw(); }
    const layer = maps[Math.min(this.layer, maps.length - 1)];
    const share = (row, column) => (this.head < 0 ? layer.reduce((sum, one) => sum + one[row][column], 0) / layer.length : layer[this.head][row][column]);
    const { width, height } = this.facts.parameters;
    return Array.from({ length: height }, (_, row) => Array.from({ length: width }, (_, column) => share(Math.floor(row / patch), Math.floor(column / patch))));
  }

  tell(cells, most) {
    const row = cells.findIndex((one) => one.includes(most)), column = cells[row]?.indexOf(most);
    const where = `row ${row + 1}, column ${column + 1} (${Math.round(100 * most)} %)`;
    const told = this.kind === "belief" ? (most > 0.999 ? `${SEATS[this.seat]} knows where the enemy general is: row ${row + 1}, column ${column + 1}.` : `Where ${SEATS[this.seat]} could believe the enemy general to be, from its own views. Likeliest: ${where}.`)
      : `What the value of ${this.network === "shipped" ? "the shipped network" : short(this.network)} listens to, patch by patch. Most: ${where}.`;
    this.legend.textContent = told;
  }
}
