// A game under way: the board, who sits there, and what one can ask for.
import { Connection } from "../api.js";
import { cap, h, put, SEATS, toast } from "../dom.js";
import { makeBoard } from "../boards/index.js";
import { prefs, seats as kept } from "../store.js";
import { nameOf } from "./start.js";

export async function show(main, [id, invitation]) {
  if (invitation) {
    kept.keep(id, [...new Set([...kept.of(id), invitation])]);
    history.replaceState(null, "", `#/play/${id}`);
  }
  const page = new Page(main, id);
  return () => page.close();
}

class Page {
  constructor(main, id) {
    Object.assign(this, { main, id, facts: null, board: null, state: null, moves: [], building: null });
    this.title = h("h1", { style: "font-size:1.3rem; min-height:1.6rem" }, " ");
    this.boardPlace = h("div", { class: "board", id: "board" });
    this.status = h("div", { class: "status", role: "status", "aria-live": "polite", id: "status" }, "Connecting …");
    this.players = h("ul", { class: "players", "aria-label": "Players" });
    this.note = h("div", { class: "note", id: "note", "aria-live": "polite" });
    this.buttons = h("div", { class: "buttons" });
    this.list = h("ol", { class: "moves", id: "moves", "aria-label": "Moves", tabindex: 0 });
    this.extra = h("div", { class: "stack" });
    put(main, h("div", { class: "table" }, h("section", {}, this.title, this.boardPlace), h("aside", { class: "side" }, this.status, this.players, this.note, this.buttons, this.extra, this.list)));
    this.onkey = (event) => this.key(event);
    addEventListener("keydown", this.onkey);
    this.link = new Connection(id, kept.of(id), (message) => this.hear(message));
  }

  hear(message) {
    const work = { joined: () => this.joined(message), state: () => this.position(message), error: () => this.wrong(message), hint: () => this.hinted(message),
      rematch: () => { kept.keep(message.game, message.tokens); location.hash = `#/play/${message.game}`; }, lost: () => put(this.status, h("strong", {}, "The connection was lost."), "Trying again …") }[message.type];
    if (work) work();
  }

  joined(facts) {
    this.facts = facts;
    this.moves = facts.moves;
    this.names = facts.players.map((player, seat) => (player !== "human" ? player : facts.seats.includes(seat) ? (facts.seats.length > 1 ? `you (${SEATS[seat].toLowerCase()})` : "you") : "guest"));
    this.title.textContent = nameOf(facts.title);
    document.title = `${nameOf(facts.title)} · Stratagem`;
    this.invite();
    if (facts.commitment && !this.committed) {
      this.committed = true;
      this.extra.append(h("details", { class: "small soft", id: "dice" }, h("summary", {}, "Honest luck"), h("p", { style: "margin-top:.4rem" }, "All luck of this game was fixed before its first move. This is its seal; at the end the secret is revealed in the saved game, and ", h("code", {}, "stratagem verify"), " checks every roll."), h("code", { style: "overflow-wrap:anywhere" }, facts.commitment)));
    }
  }

  async position(state) {
    if (!this.facts) return;
    const fresh = this.state && state.turn === this.state.turn + 1;
    if (fresh && state.last.length) this.moves.push(state.last.map((one) => [one.seat, one.words]));
    this.state = state;
    if (!this.board) {
      this.building ??= makeBoard(state.drawing.kind, this.boardPlace, {
        facts: this.facts, names: this.names, say: (text) => { this.note.textContent = text; },
        act: (action) => this.act({ action }), actWords: (words) => this.act({ words }), queue: (moves) => this.link.say({ type: "queue", seat: this.facts.seats[0], moves }),
      });
      this.board = await this.building;
    }
    state = this.state;
    const mover = state.movers.find((seat) => this.facts.seats.includes(seat));
    this.mover = mover === undefined ? null : mover;
    this.board.show({
      turn: state.turn, drawing: state.drawing, legal: this.mover === null || this.facts.simultaneous ? null : state.legal[this.mover], seat: this.mover ?? state.seat ?? this.facts.seats[0],
      last: state.last, over: state.over, playing: this.facts.simultaneous && !state.over && this.facts.seats.length > 0, done: state.done?.[this.facts.seats[0]],
    });
    this.note.textContent = state.trouble || "";
    this.draw();
  }

  act(what) {
    if (this.mover === null) return;
    this.note.textContent = "";
    if (!this.link.say({ type: "move", turn: this.state.turn, seat: this.mover, ...what })) toast("Not connected; trying again.");
  }

  wrong(message) {
    if (message.code === "no-such-game" || (message.code === "not-your-seat" && !this.facts)) {
      this.link.close();
      put(this.main, h("h1", {}, "This game cannot be opened"), h("p", { role: "alert" }, message.message), h("a", { href: "#/" }, "To the games"));
      return;
    }
    if (message.code !== "stale") this.note.textContent = cap(message.message);
    if (this.board && this.state) this.position(this.state);
    if (message.code !== "stale") this.note.textContent = cap(message.message);
  }

  hinted(message) {
    if (message.turn !== this.state.turn && !this.facts.simultaneous) return;
    this.board.hint(message.action, message.words);
    this.note.textContent = `Hint: ${message.words}`;
    this.hintButton && (this.hintButton.disabled = false);
  }

  key(event) {
    if (event.target.closest("input, select, textarea") || event.ctrlKey || event.metaKey || event.altKey || this.facts?.simultaneous) return;
    const name = { u: "undo", h: "hint", n: "rematch" }[event.key];
    const button = name && this.buttons.querySelector(`[data-do="${name}"]`);
    if (button && !button.disabled) button.click();
  }

  draw() {
    const { state, facts } = this;
    const scores = this.board.scores(state.drawing);
    put(this.players, facts.players.map((_, seat) => h("li", { class: `s${seat % 4} ${state.movers.includes(seat) && !facts.simultaneous ? "turn" : ""}` },
      h("span", { class: `chip s${seat % 4}`, "aria-hidden": "true" }), h("span", { class: "name" }, this.names[seat]), h("span", { class: "score" }, scores[seat] || ""))));
    put(this.status, ...this.words());
    put(this.list, this.moves.map((row) => h("li", {}, row.map(([seat, words]) => (facts.simultaneous ? `${SEATS[seat]} ${words}` : words)).join(", "))));
    this.list.setAttribute("start", facts.first + 1);
    this.list.scrollTop = this.list.scrollHeight;
    this.list.hidden = facts.simultaneous;
    this.drawButtons();
  }

  words() {
    const { state, facts } = this;
    if (state.over) {
      const best = Math.max(...state.returns), winners = state.returns.flatMap((value, seat) => (value === best ? [seat] : []));
      const how = state.resigned.length ? " by resignation" : "";
      const who = winners.length > 1 ? "A draw." : facts.seats.includes(winners[0]) && facts.seats.length === 1 ? `You win${how}.` : facts.seats.length === 1 ? `${cap(this.names[winners[0]])} wins${how}.` : `${SEATS[winners[0]]} wins${how}.`;
      return [h("strong", {}, who), "The game is kept; watch or review it."];
    }
    if (state.paused) return [h("strong", {}, "Paused."), " "];
    if (facts.simultaneous) return [h("strong", {}, `Turn ${state.turn}`), facts.seats.length ? (state.turn ? "" : "The game starts when your opponent is ready.") : "Watching."];
    if (this.mover !== null) return [h("strong", {}, facts.seats.length > 1 ? `${SEATS[this.mover]} to move.` : "Your turn."), this.board.prompt(state.drawing)];
    const mover = state.movers[0];
    return [h("strong", {}, `${cap(this.names[mover])} ${facts.players[mover] === "human" ? "is to move." : "is thinking …"}`), " "];
  }

  drawButtons() {
    const { state, facts } = this;
    const ask = (name, label, message, disabled, extra = {}) => h("button", { type: "button", "data-do": name, disabled, onclick: (event) => { event.currentTarget.disabled = name === "hint" || name === "rematch"; this.link.say(message); }, ...extra }, label);
    const own = facts.seats.length > 0, seat = this.mover ?? facts.seats[0];
    const found = [];
    if (state.over) {
      if (own || !facts.players.includes("human")) found.push(ask("rematch", own ? "Rematch, seats swapped" : "Again", { type: "rematch" }, false, { class: "main" }));
      found.push(h("a", { class: "button", href: `#/watch/game/${this.id}` }, "Watch it"), h("a", { class: "button", href: `#/review/${this.id}` }, "Review it"), h("a", { class: "button", href: "#/" }, "Other games"));
    } else if (own) {
      if (!facts.simultaneous) found.push(ask("undo", "Undo", { type: "undo", seat }, !state.undo));
      found.push(ask("hint", "Hint", { type: "hint", seat }, !state.movers.includes(seat)));
      found.push(h("button", { type: "button", "data-do": "resign", onclick: (event) => this.resign(event.currentTarget, seat) }, "Resign"));
    }
    if (!state.over && (facts.simultaneous || !facts.players.includes("human"))) found.push(ask("pause", state.paused ? "Go on" : "Pause", { type: "pause", paused: !state.paused }, false));
    const focused = document.activeElement?.dataset?.do;
    put(this.buttons, found);
    if (focused) this.buttons.querySelector(`[data-do="${focused}"]`)?.focus();
    this.hintButton = this.buttons.querySelector('[data-do="hint"]');
    if (!this.extraMade && (facts.simultaneous || !facts.players.includes("human"))) {
      this.extraMade = true;
      this.speed = h("input", { type: "range", min: 1, max: 10, step: 1, value: state.pace, "aria-label": "Moves a second", onchange: (event) => { prefs.set("pace", Number(event.target.value)); this.link.say({ type: "pace", pace: Number(event.target.value) }); } });
      this.speedWords = h("span", {});
      this.extra.append(h("label", { class: "field" }, this.speedWords, this.speed));
      if (this.board.keyList && own) this.extra.append(h("details", {}, h("summary", {}, "Keys"), this.board.keyList()));
    }
    if (this.speedWords) this.speedWords.textContent = `Speed: ${state.pace} moves a second`;
  }

  resign(button, seat) {
    if (button.dataset.sure) { this.link.say({ type: "resign", seat }); return; }
    button.dataset.sure = "yes";
    button.textContent = "Really resign?";
    setTimeout(() => { delete button.dataset.sure; button.textContent = "Resign"; }, 3000);
  }

  invite() {
    const others = JSON.parse(sessionStorage.getItem(`invite.${this.id}`) || "[]");
    if (!others.length || this.invited) return;
    this.invited = true;
    this.extra.append(...others.map(({ seat, link }) => h("div", { class: "note", style: "display:block" }, h("p", {}, `The link for seat ${seat + 1}, ${SEATS[seat]}:`),
      h("div", { class: "linkline" }, h("input", { type: "text", readonly: true, value: link, "aria-label": "Invitation link" }), h("button", { type: "button", onclick: () => navigator.clipboard?.writeText(link).then(() => toast("Copied.")) }, "Copy")))));
  }

  close() {
    removeEventListener("keydown", this.onkey);
    this.link.close();
    this.board?.destroy();
    document.title = "Stratagem";
  }
}
