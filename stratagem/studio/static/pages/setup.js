// Options of a game: board, who sits where, how strong.
import { catalogue } from "../api.js";
import { cap, h, put, SEATS } from "../dom.js";
import { enter } from "./start.js";

export async function show(main, [name]) {
  const { games } = await catalogue();
  const game = games.find((one) => one.name === name);
  if (!game) throw new Error(`There is no game ${name}.`);
  let board = game.boards[0], pace = 2, custom = "";
  let players = ["human", ...Array(board.seats - 1).fill(game.against)];
  const options = h("div", {});
  const error = h("p", { role: "alert", style: "color:var(--bad); min-height:1.5rem" });

  const seatLine = (seat) => h("label", { class: "field" }, h("span", {}, `Seat ${seat + 1}${seat === 0 && !game.simultaneous ? " (moves first)" : ""}, ${SEATS[seat]}`),
    h("select", { "data-seat": seat, onchange: (event) => { players[seat] = event.target.value; draw(); } },
      h("option", { value: "human", selected: players[seat] === "human" }, "a person"),
      game.strengths.map(({ label, agent }) => h("option", { value: agent, selected: players[seat] === agent }, `${cap(label)}: ${agent}`))));

  const draw = () => {
    const people = players.filter((one) => one === "human").length;
    put(options,
      h("label", { class: "field" }, h("span", {}, "Board"), h("select", { id: "board", onchange: (event) => {
        board = game.boards[event.target.selectedIndex];
        players = Array.from({ length: board.seats }, (_, seat) => players[seat] || game.against);
        draw();
      } }, game.boards.map((one) => h("option", { selected: one === board }, one.label)))),
      h("details", { style: "margin-bottom:.9rem" }, h("summary", {}, "Other options"), h("p", { class: "small soft", style: "margin-top:.5rem" }, `As on the command line. ${game.options.map((one) => one.name).join(", ")}.`),
        h("input", { type: "text", "aria-label": "The game with its options", placeholder: board.game, value: custom, onchange: (event) => { custom = event.target.value.trim(); } })),
      players.map((_, seat) => seatLine(seat)),
      game.simultaneous || !people ? h("label", { class: "field" }, h("span", {}, `Speed: ${pace} moves a second`), h("input", { type: "range", min: 1, max: 10, step: 1, value: pace, onchange: (event) => { pace = Number(event.target.value); draw(); } })) : null,
      h("p", { class: "small soft" }, people === 0 ? "Nobody plays: you watch." : people > 1 ? "Several people: play at one screen, or send the link of the other seat." : ""),
      h("div", { class: "row" }, h("button", { class: "main", type: "button", id: "start", onclick: () => go(null) }, people ? "Start" : "Watch"),
        people > 1 ? h("button", { type: "button", id: "invite", onclick: () => go([players.indexOf("human")]) }, "Start, and invite by link") : null));
  };

  const go = async (own) => {
    error.textContent = "";
    try {
      await enter({ game: custom || board.game, players, pace }, own);
    } catch (problem) { error.textContent = problem.message; }
  };

  put(main, h("h1", {}, game.title), h("p", { class: "lead" }, `${cap(game.summary)}.`), h("div", { class: "card", style: "max-width:30rem" }, options, error));
  draw();
}
