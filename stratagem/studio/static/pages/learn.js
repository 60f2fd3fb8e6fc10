// Learn: games to review, and the drill of one's own mistakes.
import { get } from "../api.js";
import { makeBoard } from "../boards/index.js";
import { cap, h, put } from "../dom.js";
import { cards, seats } from "../store.js";
import { nameOf } from "./start.js";

export async function show(main, [kind]) {
  return kind === "drill" ? drill(main) : overview(main);
}

async function overview(main) {
  const mine = new Set(seats.games());
  const finished = (await get("/api/games")).filter((one) => one.over);
  const own = [...finished.filter((one) => mine.has(one.id)), ...finished.filter((one) => !mine.has(one.id))].slice(0, 20);
  const due = cards.due().length, all = cards.all().length;
  put(main, h("h1", {}, "Learn"), h("p", { class: "lead" }, "Every finished game can be reviewed: what each move was worth, and where it slipped. Your mistakes come back until you know better."),
    h("div", { class: "two" },
      h("section", { class: "card" }, h("h2", {}, "Your mistakes"), h("p", {}, all ? `${due} of ${all} positions are due.` : "None yet. Review a game and keep its mistakes."), h("a", { class: `button ${due ? "main" : ""}`, href: "#/learn/drill", id: "drill" }, "Practise")),
      h("section", { class: "card" }, h("h2", {}, "Review a game"), own.length ? h("ul", { style: "padding-left:1.1rem; margin:0", id: "reviewable" }, own.map((one) => h("li", {}, h("a", { href: `#/review/${one.id}` }, nameOf(one.game)), h("span", { class: "soft" }, ` ${one.players.map((each) => (each === "human" ? (mine.has(one.id) ? "you" : "a person") : each)).join(" – ")}, ${one.turns} turns`)))) : h("p", { class: "soft" }, "No game has been finished yet."))));
}

function drill(main) {
  let board = null;
  const next = async () => {
    board?.destroy();
    const card = cards.due().sort((a, b) => a.due - b.due)[0];
    if (!card) {
      put(main, h("h1", {}, "Practise"), h("p", { class: "lead", id: "nothing" }, "Nothing is due. What you knew comes back in some days; review another game meanwhile."), h("a", { class: "button main", href: "#/learn" }, "Back"));
      return;
    }
    const place = h("div", { class: "board", id: "board" });
    const words = h("div", { class: "status", role: "status", "aria-live": "polite", id: "status" }, h("strong", {}, "Find a better move."), `In the game ${card.played} was played; it cost ${Math.round(50 * card.loss)} % of the win.`);
    const buttons = h("div", { class: "buttons" });
    let tried = false;
    const answer = (action) => {
      if (tried) return;
      tried = true;
      const loss = card.losses[action] ?? 1;
      const right = loss < 0.05;
      cards.answer(card.id, right);
      put(words, h("strong", {}, right ? "Right." : "Not the best."), right ? "It will come back later." : `Better was ${card.best}. It will come back soon.`);
      board.show({ drawing: card.drawing, legal: null, seat: card.seat, last: [{ seat: card.seat, action }], candidates: card.losses });
      put(buttons, h("button", { class: "main", type: "button", id: "next", onclick: next }, "Next"), h("button", { type: "button", onclick: () => { cards.remove(card.id); next(); } }, "Forget it"));
    };
    put(main, h("div", { class: "table" }, h("section", {}, h("h1", { style: "font-size:1.3rem" }, `Practise: ${nameOf(card.title)}`), place), h("aside", { class: "side" }, words, buttons)));
    put(buttons, h("button", { type: "button", id: "give-up", onclick: () => answer(-1) }, "Show me"));
    board = await makeBoard(card.drawing.kind, place, { facts: { parameters: card.parameters }, names: card.names.map(cap), act: answer, actWords: (text) => answer(Number(Object.keys(card.words).find((action) => card.words[action] === text) ?? -1)), say: (text) => put(words, text), queue() {} });
    board.show({ drawing: card.drawing, legal: card.legal, seat: card.seat, last: [] });
  };
  next();
  return () => board?.destroy();
}
