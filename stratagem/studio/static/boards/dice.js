// The dice games: keep some dice, roll the others, score a category.
import { cap, die, h, put } from "../dom.js";
import { sameTurn } from "./index.js";

export class Board {
  constructor(root, context) {
    this.context = context;
    this.kept = new Set();
    this.after = null; // the category to score once all dice are kept
    this.hinted = "";
    this.dice = h("div", { class: "dice", role: "group", "aria-label": "Dice; choose those to keep" });
    this.roll = h("button", { class: "main", type: "button", onclick: () => this.rollAgain() }, "Roll");
    this.left = h("span", { class: "soft" });
    this.sheet = h("table", { class: "sheet" });
    root.append(this.dice, h("div", { class: "row", style: "justify-content:center; margin-bottom:1.1rem; min-height:2.6rem" }, this.roll, this.left), h("div", { class: "scroll" }, this.sheet));
    this.onkey = (event) => this.key(event);
    addEventListener("keydown", this.onkey);
  }

  key(event) {
    if (event.target.closest("input, select, textarea") || event.ctrlKey || event.metaKey) return;
    const number = Number(event.key);
    if (number >= 1 && number <= this.view.drawing.dice.length) this.toggle(number - 1);
    else if (event.key.toLowerCase() === "r") this.rollAgain();
  }

  show(view) {
    const same = sameTurn(this.view, view);
    this.view = view;
    const { drawing, legal } = view;
    if (this.after !== null && legal && drawing.left === 0) {
      const category = this.after;
      this.after = null;
      this.context.actWords(category);
      return;
    }
    if (!same) {
      this.after = null;
      this.kept.clear();
      this.hinted = "";
    }
    this.draw();
  }

  hint(action, words) {
    this.hinted = words;
    if (words.startsWith("keep")) {
      const wanted = words.slice(5) === "nothing" ? [] : words.slice(5).split("-").map(Number);
      this.kept.clear();
      this.view.drawing.dice.forEach((face, place) => {
        const index = wanted.indexOf(face);
        if (index >= 0) { wanted.splice(index, 1); this.kept.add(place); }
      });
    }
    this.draw();
  }

  get choosing() { return this.view.legal && this.view.drawing.left > 0; }

  toggle(place) {
    if (!this.choosing) return;
    if (!this.kept.delete(place)) this.kept.add(place);
    this.draw();
  }

  keep(places) {
    const faces = places.map((place) => this.view.drawing.dice[place]).sort();
    this.context.actWords(`keep ${faces.join("-") || "nothing"}`);
  }

  rollAgain() {
    if (!this.choosing) return;
    if (this.kept.size === this.view.drawing.dice.length) { this.context.say("You keep all dice: choose a category."); return; }
    this.keep([...this.kept]);
  }

  score(category) {
    if (!this.view.legal) { this.context.say("It is not your turn."); return; }
    if (this.view.drawing.left === 0) { this.context.actWords(category); return; }
    this.after = category;
    this.keep(this.view.drawing.dice.map((_, place) => place));
  }

  draw() {
    const { drawing, legal, seat } = this.view;
    const focused = document.activeElement && this.dice.contains(document.activeElement) ? [...this.dice.children].indexOf(document.activeElement) : -1;
    put(this.dice, drawing.dice.map((face, place) => {
      const on = this.kept.has(place);
      return h("button", { type: "button", class: on ? "on" : "", disabled: !this.choosing, "aria-pressed": String(on), "aria-label": `die ${place + 1}: ${face}${on ? ", kept" : ""}`, onclick: () => this.toggle(place) }, die(face), h("span", { class: "keep" }, on ? "keep" : ""));
    }));
    if (focused >= 0) this.dice.children[focused]?.focus();
    this.roll.disabled = !this.choosing;
    const others = drawing.dice.length - this.kept.size;
    this.roll.textContent = this.choosing && this.kept.size ? `Roll ${others} ${others === 1 ? "die" : "dice"}` : "Roll all dice";
    this.left.textContent = this.view.over ? "" : drawing.left ? `${drawing.left} re-roll${drawing.left > 1 ? "s" : ""} left` : "No re-roll left: choose a category";
    const names = this.context.names;
    const scoring = legal && (drawing.left > 0 || drawing.left === 0);
    put(this.sheet,
      h("thead", {}, h("tr", {}, h("th", {}, cap(drawing.game)), drawing.sheets.map((_, one) => h("th", { class: one === seat ? "mine" : "" }, h("span", { class: `chip s${one % 4}`, style: "display:inline-block;margin-right:.4rem;vertical-align:-2px" }), names[one])))),
      h("tbody", {}, drawing.categories.map((category, place) => h("tr", {}, h("th", { scope: "row", style: "font-weight:500" }, cap(category.replaceAll("_", " "))),
        drawing.sheets.map((sheet, one) => {
          const mine = one === drawing.mover && scoring;
          if (sheet[place] !== null) return h("td", { class: one === seat ? "mine" : "" }, String(sheet[place]));
          if (!mine) return h("td", { class: one === seat ? "mine" : "" }, "");
          return h("td", { class: `open ${drawing.worth[place] ? "can" : ""} ${one === seat ? "mine" : ""} ${this.hinted === category ? "hinted" : ""}` },
            h("button", { type: "button", "data-category": category, "aria-label": `score ${drawing.worth[place]} in ${category}`, onclick: () => this.score(category) }, String(drawing.worth[place])));
        })))),
      h("tfoot", {}, h("tr", {}, h("th", { scope: "row" }, "Total"), drawing.scores.map((score, one) => h("td", { class: one === seat ? "mine" : "" }, String(score))))));
  }

  scores(drawing) { return drawing.scores.map((points) => `${points} points`); }
  prompt(drawing) { return drawing.left ? "Choose the dice to keep, then roll; or score a category at once." : "Choose a category to score."; }
  destroy() { removeEventListener("keydown", this.onkey); }
}
