// The coach: what every move was worth, where it slipped, and what else could have been played.
import { get, post } from "../api.js";
import { plot } from "../chart.js";
import { cap, h, icon, put, SEATS, toast } from "../dom.js";
import { cards, seats as kept } from "../store.js";
import { Heat } from "./review_heat.js";
import { balance, luckOf, rollTable } from "./review_rolls.js";
import { nameOf } from "./start.js";
import { Viewer } from "./viewer.js";

const EVERY = 700;
const kindOf = (loss) => (loss >= 0.3 ? "blunder" : loss >= 0.15 ? "error" : loss >= 0.05 ? "inaccuracy" : "");
const SIGNS = { blunder: "??", error: "?", inaccuracy: "?!", "": "" };
const TRUST = { exact: "proved", search: "by tree search with a network", rollouts: "from games played on", heuristic: "by a rule of thumb" };
const percent = (value) => `${Math.round(50 + 50 * value)} %`;

export async function show(main, [id]) {
  const replay = await get(`/api/games/${encodeURIComponent(id)}/replay`);
  const facts = await post("/api/replays", replay);
  const page = new Page(main, id, replay, facts);
  await page.begin();
  return () => page.close();
}

class Page {
  constructor(main, id, replay, facts) {
    Object.assign(this, { id, replay, facts, judged: new Map(), line: [], left: false, told: 0 });
    this.own = replay.seats.flatMap((name, seat) => (name === "human" && kept.of(id).length ? [seat] : []));
    this.place = h("div", { class: "board tall", id: "board" });
    this.graph = h("div", { class: "card", id: "graph", style: "min-height:13rem" });
    this.words = h("div", { class: "status", role: "status", "aria-live": "polite", id: "status" });
    this.progress = h("p", { class: "small soft", id: "progress", style: "min-height:1.4rem; margin:0" });
    this.table = h("div", { class: "falls", id: "candidates", tabindex: 0, role: "region", "aria-label": "Candidates", style: "min-height:9rem; max-height:17rem" });
    this.summary = h("div", {});
    this.roll = h("div", { id: "roll", style: "min-height:15rem" });
    this.balance = h("div", {});
    this.eyes = this.own[0] ?? 0;
    this.heat = facts.name === "generals" ? new Heat(facts, this.eyes, () => this.go(this.viewer.wanted)) : null;
    this.where = h("span", { class: "nums", id: "where-turn" });
    this.viewer = new Viewer(facts, this.place, { act: (action) => this.attempt(action), actWords: (text) => this.attemptWords(text), say: (text) => toast(text) });
    const button = (name, label, text, work) => h("button", { type: "button", "data-do": name, "aria-label": label, onclick: work }, text);
    put(main, h("div", { class: "table" },
      h("section", {}, h("h1", { style: "font-size:1.3rem" }, `Review: ${nameOf(facts.title)}`), this.place,
        h("div", { class: "scrub" }, button("back", "One back", icon("back"), () => this.go(this.viewer.wanted - 1)), button("next", "One on", icon("next"), () => this.go(this.viewer.wanted + 1)), button("mistake", "Next mistake", "Next mistake (n)", () => this.mistake()), this.where),
        this.heat ? h("div", { style: "margin-top:.8rem" }, h("div", { class: "row" }, this.view(), this.heat.controls), this.heat.legend) : null),
      h("aside", { class: "side" }, this.words, this.progress, this.graph, this.table, this.summary,
        h("div", { class: "buttons" }, facts.fog ? null : button("keep", "Keep the mistakes for practice", "Practise", () => this.keep()), h("a", { class: "button", href: "#/learn" }, "Learn"))),
      facts.dice ? h("div", { class: "below two" }, this.roll, this.balance) : null));
    this.onkey = (event) => this.key(event);
    addEventListener("keydown", this.onkey);
  }

  async begin() {
    await this.go(0);
    const seat = this.facts.fog ? this.eyes : null;
    const review = await post("/api/reviews", { replay: this.replay, seat, visits: 60 });
    this.hear(review);
    const poll = async () => {
      if (this.left) return;
      try {
        const news = await get(`/api/reviews/${review.id}?after=${this.told}`);
        this.hear(news);
        if (!news.done && !this.left) this.timer = setTimeout(poll, EVERY);
      } catch (error) { this.progress.textContent = error.message; }
    };
    if (!review.done) this.timer = setTimeout(poll, EVERY);
  }

  hear(news) {
    for (const one of news.turns) this.judged.set(one.turn, one);
    this.told += news.turns.length;
    this.wanted = news.wanted;
    this.progress.textContent = news.error ? news.error : news.done ? `${news.wanted < this.facts.turns ? `${news.judged} of ${this.facts.turns} turns` : `All ${news.judged} decisions`} judged, ${TRUST[news.kind] || ""} (${news.evaluator || ""}).` : `Judging: ${news.judged} of ${news.wanted} …`;
    if (news.turns.length || news.done) this.draw();
  }

  async go(turn) {
    const wanted = this.viewer.aim(turn), number = (this.step = (this.step || 0) + 1);
    this.line = [];
    const [legal, heat] = await Promise.all([this.facts.fog ? null : this.branch(wanted, []), this.heat ? this.heat.at(wanted) : null]);
    if (number !== this.step) return;
    const frame = await this.viewer.go(wanted, { legal: legal && !legal.over ? legal.legal : null, heat });
    if (frame) { this.here = legal; this.map = heat; this.draw(); }
  }

  // Under fog: everything, or only what the seat under review saw.
  view() {
    const buttons = [[null, "Everything"], [this.eyes, `${SEATS[this.eyes]}’s view`]].map(([seat, label]) => h("button", { type: "button", class: seat === null ? "on" : "", "data-eyes": String(seat), onclick: (event) => {
      this.viewer.seat = seat;
      for (const one of buttons) one.classList.toggle("on", one === event.currentTarget);
      this.go(this.viewer.wanted);
    } }, label));
    return h("div", { class: "seg", role: "group", "aria-label": "Whose eyes" }, buttons);
  }

  branch(turn, actions, words = "") { return post(`/api/replays/${this.facts.id}/try`, { turn, actions, words }); }

  // Another move: see where it leads, and what the engine answers.
  async attempt(action) { await this.explore([...this.line, action], ""); }
  async attemptWords(text) { await this.explore(this.line, text); }

  // The moves instead of those that were played: `line`, and then one more in words, if any.
  async explore(given, text) {
    if (this.facts.fog) return;
    try {
      const there = await this.branch(this.viewer.turn, given, text);
      const line = (this.line = there.actions);
      const turn = `${this.viewer.turn} and then ${line.join()}`;
      this.viewer.show(there, { turn, legal: there.over ? null : there.legal });
      put(this.words, h("strong", {}, `Instead: ${there.last[0].words}.`), there.over ? "The game would be over." : "The engine looks at it …");
      if (there.over) return;
      const judged = await post("/api/analyse", { game: this.facts.title, position: there.position, visits: 60 });
      if (this.line.join() !== line.join() || this.left) return;
      const best = judged.moves[0];
      this.viewer.show(there, { turn, legal: there.legal, candidates: judged.losses });
      put(this.words, h("strong", {}, `Instead: ${there.last[0].words}.`), `${SEATS[judged.seat]} would answer ${best.move} and then have ${percent(best.value)} of the win. Play on, or step to return.`);
    } catch (error) { toast(error.message); }
  }
  mistakes() { return [...this.judged.values()].filter((one) => one.loss !== null && kindOf(one.loss) && (!this.own.length || this.own.includes(one.seat))).sort((a, b) => a.turn - b.turn); }

  mistake() {
    const all = this.mistakes();
    const next = all.find((one) => one.turn > this.viewer.wanted) || all[0];
    if (next) this.go(next.turn); else toast("No mistakes found so far.");
  }

  key(event) {
    if (event.target.closest("input, select, textarea") || event.ctrlKey || event.metaKey) return;
    const work = { n: () => this.mistake(), ArrowLeft: () => this.go(this.viewer.wanted - 1), ArrowRight: () => this.go(this.viewer.wanted + 1) }[event.key];
    if (work && !event.target.closest("[role=gridcell]")) { event.preventDefault(); work(); }
  }

  draw() {
    const { facts, judged } = this;
    const turn = this.viewer.turn, one = judged.get(turn);
    const sorted = [...judged.values()].sort((a, b) => a.turn - b.turn);
    const first = (each) => (each.values ? each.values[0] : each.seat === 0 ? each.value : -each.value);
    const curve = (seat) => sorted.map((each) => [each.turn, each.values ? each.values[seat] : each.seat === seat ? each.value : -each.value]);
    const many = facts.seats > 2;
    const curves = many ? facts.players.map((name, seat) => ({ name, colour: `var(--seat-${seat})`, points: curve(seat) })) : [{ name: facts.players[0], colour: "var(--seat-0)", points: [...curve(0), ...(judged.size ? [[facts.turns, facts.returns[0]]] : [])] }];
    put(this.graph, h("h3", {}, many ? "Value for each" : `Chances of ${SEATS[0]}`), plot(curves, { height: 170, width: 300, low: -1, high: 1, first: 0, last: facts.turns, now: turn, shown: percent, label: "Value of the game by turn", press: (at) => this.go(at),
      marks: sorted.filter((each) => each.loss !== null && kindOf(each.loss)).map((each) => ({ x: each.turn, y: many ? curve(each.seat).find(([x]) => x === each.turn)[1] : first(each), kind: kindOf(each.loss), title: `turn ${each.turn + 1}: ${kindOf(each.loss)}`, press: (event) => { event.stopPropagation(); this.go(each.turn); } })) }));
    this.where.textContent = `turn ${turn} of ${facts.turns}`;
    if (this.line.length) return;
    const words = facts.moves[turn]?.find(([seat]) => !one || seat === one.seat)?.[1];
    if (turn >= facts.turns) put(this.words, h("strong", {}, "The end."), " ");
    else if (!one) put(this.words, h("strong", {}, words ? `${words} was played.` : ""), this.told < this.wanted ? "Not judged yet." : "Of a long game not every turn is judged.");
    else {
      const kind = one.loss === null ? "" : kindOf(one.loss), best = one.moves[0];
      put(this.words, h("strong", {}, `${SEATS[one.seat]} played ${words}${SIGNS[kind]}`), kind ? `${cap(kind === "inaccuracy" ? "an inaccuracy" : kind === "error" ? "an error" : "a blunder")}: it cost ${Math.round(50 * one.loss)} % of the win. Better was ${best.move}.` : one.loss === null ? "The engine did not look at it." : "As good as any.");
    }
    const frame = this.viewer.frames.get(`${this.viewer.seat}:${turn}`);
    if (frame && one) this.viewer.show({ ...frame, last: [{ seat: one.seat, action: one.played }] }, { legal: this.here && !this.here.over ? this.here.legal : null, candidates: one.losses, heat: this.map });
    if (facts.dice && this.rolled !== one?.roll) put(this.roll, rollTable((this.rolled = one?.roll)));
    put(this.table, one ? h("table", { class: "plain small" }, h("thead", {}, h("tr", {}, ["move", "win", "loss", "visits", "prior"].map((text, place) => h("th", { class: place ? "n" : "" }, text)))),
      h("tbody", {}, one.moves.map((move) => {
        const loss = one.moves[0].value - move.value, known = move.visits > 0 || move.action === one.played;
        return h("tr", {}, h("td", {}, h("span", { class: "swatch", style: `background:var(--${!known ? "line" : loss < 0.05 ? "good" : loss < 0.3 ? "warn" : "bad"})` }), move.action === one.played ? h("strong", {}, `${move.move} (played)`) : move.move), h("td", { class: "n" }, known ? percent(move.value) : "?"), h("td", { class: "n" }, !known ? "?" : loss < 0.005 ? "–" : `${Math.round(50 * loss)} %`), h("td", { class: "n" }, String(move.visits)), h("td", { class: "n" }, `${Math.round(100 * move.prior)} %`));
      }))) : "");
    const counts = facts.players.map((_, seat) => { const own = sorted.filter((each) => each.seat === seat && each.loss !== null); return { whole: own.length === sorted.filter((each) => each.seat === seat).length, lost: own.reduce((sum, each) => sum + each.loss, 0), blunders: own.filter((each) => each.loss >= 0.3).length, errors: own.filter((each) => each.loss >= 0.15 && each.loss < 0.3).length, small: own.filter((each) => each.loss >= 0.05 && each.loss < 0.15).length }; });
    const luck = facts.players.map((_, seat) => luckOf(sorted, seat, facts.seats));
    const own = this.own[0] ?? 0, whole = facts.dice && facts.seats === 2 && sorted.length === facts.turns && counts.every((count) => count.whole);
    const lucky = facts.dice && sorted.some((each) => each.roll);
    put(this.summary, h("table", { class: "plain small", id: "summary" }, h("thead", {}, h("tr", {}, ["player", "??", "?", "?!", "given away", ...(lucky ? ["luck"] : [])].map((text, place) => h("th", { class: place ? "n" : "" }, text)))), h("tbody", {}, counts.map((count, seat) => h("tr", {}, h("td", {}, `${SEATS[seat]} (${facts.players[seat] === "human" ? "you" : facts.players[seat]})`), [count.blunders, count.errors, count.small].map((number) => h("td", { class: "n" }, String(number))), h("td", { class: "n" }, `${Math.round(50 * count.lost)} %`), lucky ? h("td", { class: "n" }, `${luck[seat] >= 0 ? "+" : "−"}${Math.round(50 * Math.abs(luck[seat]))} %`) : null)))));
    put(this.balance, whole ? balance(own, (own ? -1 : 1) * first(sorted[0]) - (sorted[0].roll ? (sorted[0].roll.seat === own ? 1 : -1) * sorted[0].roll.luck : 0), facts.returns[own], luck[own], counts[own].lost, counts[1 - own].lost) : null);
  }

  async keep() {
    const fresh = [];
    for (const one of this.mistakes().slice(0, 20)) {
      if (this.facts.fog) break;
      const there = await this.branch(one.turn, []);
      fresh.push({ id: `${this.id}:${one.turn}`, title: this.facts.title, parameters: this.facts.parameters, names: this.facts.players, drawing: there.drawing, legal: there.legal, seat: one.seat, losses: one.losses, words: Object.fromEntries(one.moves.map((move) => [move.action, move.move])), loss: one.loss, played: this.facts.moves[one.turn][0][1], best: one.moves[0].move });
    }
    const added = cards.add(fresh);
    toast(added ? `${added} position${added > 1 ? "s" : ""} to practise.` : "Nothing new to practise here.");
  }

  close() {
    this.left = true;
    clearTimeout(this.timer);
    removeEventListener("keydown", this.onkey);
    this.viewer.close();
  }
}
