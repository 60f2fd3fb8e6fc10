// Options of a game: board, who sits where, how strong.
import { catalogue } from "../api.js";
import { cap, h, put, SEATS } from "../dom.js";
import { agentField, fields, lacking, meet } from "./opponents.js";
import { enter } from "./start.js";

export async function show(main, [name]) {
  const { games } = await catalogue();
  const game = games.find((one) => one.name === name);
  if (!game) throw new Error(`There is no game ${name}.`);
  let board = game.boards[0], pace = 2, custom = "";
  let players = ["human", ...Array(board.seats - 1).fill(game.against)];
  const options = fields();
  let agents = await meet(options, board.game);
  const error = h("p", { role: "alert", style: "color:var(--bad); min-height:1.5rem" });

  const seatLine = (seat) => agentField(`Seat ${seat + 1}${seat === 0 && !game.simultaneous ? " (moves first)" : ""}, ${SEATS[seat]}`, agents, players[seat],
    (value) => { players[seat] = value; draw(); }, { "data-seat": seat }, [{ value: "human", label: "A person", words: players.filter((one) => one === "human").length > 1 ? "at this screen, or by a link" : "you" }]);

  // Who is there for another board; an agent that does not play it makes room for one that does.
  const change = async (title) => {
    error.textContent = "";
    try {
      agents = await meet(options, title);
    } catch (problem) { error.textContent = problem.message; return; }
    const able = agents.filter((one) => one.ready).map((one) => one.agent);
    const other = able.includes(game.against) ? game.against : able.at(-1);
    players = players.map((one) => (one === "human" || able.includes(one) ? one : other));
    draw();
  };

  const draw = () => {
    const people = players.filter((one) => one === "human").length;
    put(options,
      h("label", { class: "field" }, h("span", {}, "Board"), h("select", { id: "board", onchange: (event) => {
        board = game.boards[event.target.selectedIndex];
        players = Array.from({ length: board.seats }, (_, seat) => players[seat] || game.against);
        change(board.game);
      } }, game.boards.map((one) => h("option", { selected: one === board }, one.label)))),
      h("details", { style: "margin-bottom:.9rem", open: Boolean(custom) }, h("summary", {}, "Other options"), h("p", { class: "small soft", style: "margin-top:.5rem" }, `As on the command line. ${game.options.map((one) => one.name).join(", ")}.`),
        h("input", { type: "text", "aria-label": "The game with its options", placeholder: board.game, value: custom, onchange: (event) => { custom = event.target.value.trim(); change(custom || board.game); } })),
      players.map((_, seat) => seatLine(seat)), lacking(agents),
      game.simultaneous || !people ? h("label", { class: "field" }, h("span", {}, `Speed: ${pace} moves a second`), h("input", { type: "range", min: 1, max: 10, step: 1, value: pace, onchange: (event) => { pace = Number(event.target.value); draw(); } })) : null,
      people === 0 ? h("p", { class: "small soft" }, "Nobody plays: you watch.") : null,
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
