// Replays, step by step; and games of agents against each other.
import { catalogue, get, post } from "../api.js";
import { h, icon, put, SEATS, toast } from "../dom.js";
import { seats } from "../store.js";
import { agentField, fields, meet } from "./opponents.js";
import { enter, nameOf } from "./start.js";
import { Viewer } from "./viewer.js";

let dropped = null; // a replay on its way to the page

export async function openFile(file) {
  try {
    if (file.size > 4e6) throw new Error("That file is too large for a replay.");
    let content;
    try { content = JSON.parse(await file.text()); } catch { throw new Error(`${file.name} is not a replay.`); }
    dropped = await post("/api/replays", content);
    if (location.hash === "#/watch/open") dispatchEvent(new HashChangeEvent("hashchange"));
    location.hash = "#/watch/open";
  } catch (error) { toast(error.message); }
}

const people = (game) => game.players.map((name) => (name !== "human" ? name : seats.of(game.id).length ? "you" : "a person")).join(" – ");

export async function show(main, [kind, id]) {
  if (kind === "game") return player(main, await post("/api/replays", await get(`/api/games/${encodeURIComponent(id)}/replay`)), id);
  if (kind === "open" && dropped) return player(main, dropped, null);
  return lists(main);
}

async function lists(main) {
  const [{ games }, all] = await Promise.all([catalogue(), get("/api/games")]);
  const input = h("input", { type: "file", accept: ".json,application/json", id: "file", style: "display:none", onchange: (event) => event.target.files[0] && openFile(event.target.files[0]) });
  const finished = all.filter((one) => one.over);
  const running = all.filter((one) => !one.over && !one.players.includes("human"));
  let game, agents, one, other;
  const form = fields({ style: "min-height:21rem" });
  const choose = async (chosen) => {
    agents = await meet(form, chosen.boards[0].game);
    game = chosen;
    one = agents[1].agent;
    other = game.against;
    draw();
  };
  const draw = () => put(form, h("label", { class: "field" }, h("span", {}, "Game"), h("select", { id: "live-game", onchange: (event) => choose(games[event.target.selectedIndex]).catch((problem) => { draw(); toast(problem.message); }) }, games.map((each) => h("option", { selected: each === game }, each.title)))),
    agentField("First", agents, one, (value) => { one = value; }), agentField("Against", agents, other, (value) => { other = value; }),
    h("button", { class: "main", type: "button", id: "live", onclick: () => enter({ game: game.boards[0].game, players: Array.from({ length: game.boards[0].seats }, (_, seat) => (seat % 2 ? other : one)), pace: 2 }) }, "Watch them play"));
  await choose(games[0]);
  put(main, h("h1", {}, "Watch"),
    h("div", { class: "two", style: "align-items:stretch" },
      h("section", { class: "card", style: "display:flex; flex-direction:column" }, h("h2", {}, "A replay"), h("label", { class: "drop", for: "file", tabindex: 0, style: "flex:1; display:grid; place-content:center; cursor:pointer" }, "Drop a replay file anywhere on the page, or choose one", input)),
      h("section", { class: "card" }, h("h2", {}, "Two agents, live"), form)),
    h("section", { style: "margin-top:2rem" }, h("h2", {}, "Finished games"), finished.length ? h("div", { class: "scroll" }, h("table", { class: "plain", id: "finished" }, h("tbody", {}, finished.slice(0, 30).map((each) => h("tr", {}, h("td", {}, h("a", { href: `#/watch/game/${each.id}` }, nameOf(each.game))), h("td", {}, people(each)), h("td", { class: "n soft wide" }, `${each.turns} turns`), h("td", { class: "n" }, each.returns.map((value) => (value > 0 ? "won" : value < 0 ? "lost" : "drew")).join(" – "))))))) : h("p", { class: "soft" }, "None yet. Play one; it is kept.")),
    running.length ? h("section", { style: "margin-top:1.5rem" }, h("h2", {}, "Agents at play"), h("ul", {}, running.slice(0, 10).map((each) => h("li", {}, h("a", { href: `#/play/${each.id}` }, `${nameOf(each.game)}: ${each.players.join(" – ")}`))))) : null);
}

function player(main, facts, id) {
  const place = h("div", { class: "board tall", id: "board" });
  const viewer = new Viewer(facts, place);
  const where = h("span", { class: "nums", id: "where", style: "min-width:7rem" });
  const slider = h("input", { type: "range", min: 0, max: facts.turns, value: 0, "aria-label": "Turn", oninput: (event) => go(Number(event.target.value)) });
  const players = h("ul", { class: "players", "aria-label": "Players" });
  const list = h("ol", { class: "moves steps", "aria-label": "Moves", style: "max-height:20rem", id: "moves" }, facts.moves.map((row, turn) => h("li", {}, h("button", { type: "button", onclick: () => go(turn + 1) }, row.map(([, words]) => words).join(", ")))));
  const button = (name, label, text, work) => h("button", { type: "button", "data-do": name, "aria-label": label, onclick: work }, text);
  let speed = 2, timer = 0;
  const playing = button("play", "Play", icon("play"), () => (timer ? stop() : play()));
  const stop = () => { clearInterval(timer); timer = 0; put(playing, icon("play")); playing.setAttribute("aria-label", "Play"); };
  const play = () => {
    if (viewer.wanted >= facts.turns) viewer.wanted = -1;
    put(playing, icon("pause"));
    playing.setAttribute("aria-label", "Pause");
    timer = setInterval(() => (viewer.wanted >= facts.turns ? stop() : go(viewer.wanted + 1)), 1000 / speed);
  };
  const go = async (turn) => {
    const frame = await viewer.go(turn);
    if (!frame) return;
    slider.value = frame.turn;
    where.textContent = `${frame.turn} of ${facts.turns}`;
    const scores = viewer.board.scores(frame.drawing);
    put(players, facts.players.map((name, seat) => h("li", { class: `s${seat % 4} ${frame.movers.includes(seat) && frame.movers.length === 1 ? "turn" : ""}` }, h("span", { class: `chip s${seat % 4}` }), h("span", { class: "name" }, name === "human" ? SEATS[seat] : name), h("span", { class: "score" }, scores[seat] || ""))));
    [...list.children].forEach((line, number) => line.classList.toggle("now", number + 1 === frame.turn));
    const now = list.children[frame.turn - 1];
    if (now) list.scrollTop = now.offsetTop - list.offsetTop - 60;
  };
  const eyes = facts.fog ? h("div", { class: "seg", role: "group", "aria-label": "Whose eyes" }, [null, ...facts.players.keys()].map((seat) => h("button", { type: "button", class: seat === null ? "on" : "", "data-eyes": String(seat), onclick: (event) => {
    viewer.seat = seat;
    for (const one of eyes.children) one.classList.toggle("on", one === event.currentTarget);
    go(viewer.turn);
  } }, seat === null ? "Everything" : `${SEATS[seat]}’s view`))) : null;
  const best = Math.max(...facts.returns), winners = facts.returns.flatMap((value, seat) => (value === best ? [seat] : []));
  put(main, h("div", { class: "table" },
    h("section", {}, h("h1", { style: "font-size:1.3rem" }, `Replay: ${nameOf(facts.title)}`), place,
      h("div", { class: "scrub" }, button("first", "To the start", icon("first"), () => { stop(); go(0); }), button("back", "One back", icon("back"), () => { stop(); go(viewer.wanted - 1); }), playing, button("next", "One on", icon("next"), () => { stop(); go(viewer.wanted + 1); }), button("last", "To the end", icon("last"), () => { stop(); go(facts.turns); }), slider, where),
      h("div", { class: "row", style: "margin-top:.6rem" }, h("label", { class: "row small" }, "Speed", h("select", { "aria-label": "Turns a second", style: "width:auto", onchange: (event) => { speed = Number(event.target.value); if (timer) { stop(); play(); } } }, [0.5, 1, 2, 5, 10, 20].map((value) => h("option", { value, selected: value === speed }, `${value} a second`)))), eyes)),
    h("aside", { class: "side" }, players, h("p", { class: "status", style: "min-height:0" }, winners.length > 1 ? "A draw." : `${SEATS[winners[0]]}${facts.players[winners[0]] === "human" ? "" : ` (${facts.players[winners[0]]})`} won${facts.resigned.length ? " by resignation" : ""}.`),
      id ? h("div", { class: "buttons" }, h("a", { class: "button main", href: `#/review/${id}` }, "Review it"), h("a", { class: "button", href: `/api/games/${id}/replay`, download: `${facts.name}-${id}.json` }, "Save the file")) : null, list)));
  const key = (event) => {
    if (event.target.closest("input, select, textarea") || event.ctrlKey || event.metaKey) return;
    const work = { ArrowLeft: () => { stop(); go(viewer.wanted - 1); }, ArrowRight: () => { stop(); go(viewer.wanted + 1); }, Home: () => go(0), End: () => go(facts.turns), " ": () => (timer ? stop() : play()) }[event.key];
    if (work && !(event.key === " " && event.target.closest("button, a"))) { event.preventDefault(); work(); }
  };
  addEventListener("keydown", key);
  go(0);
  return () => { stop(); removeEventListener("keydown", key); viewer.close(); };
}
