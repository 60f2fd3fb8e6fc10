// Ratings, crosstables and learning curves.
import { catalogue, get, post } from "../api.js";
import { h, put, toast } from "../dom.js";
import { plot } from "../chart.js";
import { fields, meet } from "./opponents.js";

const EVERY = 3000;

export async function show(main, [kind, name]) {
  if (kind === "tournament") return live(main, () => get(`/api/tournaments/${encodeURIComponent(name)}`), drawTournament);
  if (kind === "training") return training(main, name);
  return overview(main);
}

// Fetches again and again, and draws what is new.
function live(main, fetch, draw) {
  let timer = 0, shown = "", left = false;
  const once = async () => {
    try {
      const content = await fetch();
      const text = JSON.stringify(content);
      if (!left && text !== shown) { shown = text; draw(main, content); }
    } catch (error) { if (!shown) put(main, h("h1", {}, "That did not work"), h("p", { role: "alert" }, error.message)); }
    if (!left) timer = setTimeout(once, EVERY);
  };
  once();
  return () => { left = true; clearTimeout(timer); };
}

async function overview(main) {
  const [{ games }, runs] = await Promise.all([catalogue(), get("/api/runs")]);
  let game, agents;
  const form = fields();
  const choose = async (chosen) => {
    agents = (await meet(form, chosen.name)).filter((one) => one.ready);
    game = chosen;
    draw();
  };
  const change = (chosen) => choose(chosen).catch((problem) => { draw(); error.textContent = problem.message; });
  const error = h("p", { role: "alert", style: "color:var(--bad); min-height:1.5rem; margin:0" });
  const draw = () => put(form, h("label", { class: "field" }, h("span", {}, "Game"), h("select", { id: "game", onchange: (event) => change(games[event.target.selectedIndex]) }, games.map((one) => h("option", { selected: one === game }, one.title)))),
    h("fieldset", { style: "border:0; padding:0; margin:0 0 .9rem" }, h("legend", { class: "small soft" }, "Who plays"), agents.map(({ agent, words }, place) => h("label", { style: "display:inline-flex; gap:.3rem; margin:.2rem .9rem .2rem 0", title: words }, h("input", { type: "checkbox", name: "entrant", value: agent, checked: place < 3 }), agent.replace(/\/weights\.safetensors$/, "")))),
    h("label", { class: "field", style: "max-width:10rem" }, h("span", {}, "Games for each pair"), h("input", { type: "number", id: "games", min: 2, max: 1000, value: 20 })),
    h("button", { class: "main", type: "button", id: "begin", onclick: async () => {
      error.textContent = "";
      const entrants = [...form.querySelectorAll("[name=entrant]:checked")].map((one) => one.value);
      try {
        const begun = await post("/api/tournaments", { game: game.name, entrants, games: Number(form.querySelector("#games").value) });
        location.hash = `#/compare/tournament/${begun.name}`;
      } catch (problem) { error.textContent = problem.message; toast(problem.message); }
    } }, "Start a tournament"), error);
  await choose(games[0]);
  const listing = (title, rows, kind, empty) => h("section", { class: "card" }, h("h2", {}, title), rows.length ? h("ul", { style: "padding-left:1.1rem; margin:0" }, rows.map((one) => h("li", {}, h("a", { href: `#/compare/${kind}/${one.name}` }, one.name), one.playing ? " (being played)" : ""))) : h("p", { class: "soft" }, empty));
  put(main, h("h1", {}, "Compare"), h("p", { class: "lead" }, "Who is stronger, and by how much; and how training goes."),
    h("div", { class: "two" }, h("section", { class: "card" }, h("h2", {}, "A tournament"), form),
      h("div", { class: "stack" }, listing("Tournaments", runs.tournaments, "tournament", "None in the folder of runs yet."), listing("Training runs", runs.training, "training", ["None in the folder of runs yet. Try: ", h("code", {}, "stratagem train corso --preset quick")]))));
}

function drawTournament(main, found) {
  const rated = found.ratings.filter((one) => Number.isFinite(one.rating));
  const ends = rated.flatMap((one) => [one.low ?? one.rating, one.high ?? one.rating]);
  const [low, high] = [Math.min(...ends, 0), Math.max(...ends, 1)];
  const at = (value) => `${(4 + (92 * (value - low)) / (high - low || 1)).toFixed(1)}%`;
  const names = found.ratings.map((one) => one.name);
  put(main, h("p", {}, h("a", { href: "#/compare" }, "← Compare")), h("h1", {}, found.name), h("p", { class: "soft" }, `${found.game}; ${found.played} games played${found.playing ? ", more are coming" : ""}.`),
    found.ratings.length ? [
      h("div", { class: "card scroll" }, h("h2", {}, "Ratings"), h("table", { class: "plain", id: "ratings" }, h("thead", {}, h("tr", {}, ["", "player", "rating", "95 % interval", "", "score"].map((text, place) => h("th", { class: place === 2 || place === 5 ? "n" : "" }, text)))),
        h("tbody", {}, found.ratings.map((one, place) => h("tr", {}, h("td", { class: "soft" }, String(place + 1)), h("td", {}, h("strong", {}, one.name)), h("td", { class: "n" }, one.shown), h("td", { class: "soft" }, one.interval),
          h("td", {}, Number.isFinite(one.rating) ? h("div", { class: "bar", "aria-hidden": "true" }, h("i", { style: `left:${at(one.low ?? one.rating)}; right:calc(100% - ${at(one.high ?? one.rating)})` }), h("b", { style: `left:${at(one.rating)}` })) : ""),
          h("td", { class: "n" }, `${(100 * one.score).toFixed(1)} %`)))))),
      h("div", { class: "card scroll", style: "margin-top:1.2rem" }, h("h2", {}, "Score of row against column"), h("table", { class: "plain cross", id: "crosstable" }, h("thead", {}, h("tr", {}, h("th", {}, ""), names.map((name) => h("th", {}, name)))),
        h("tbody", {}, found.crosstable.map((row, place) => h("tr", {}, h("th", { scope: "row" }, names[place]), row.map((share, column) => h("td", { style: share === null ? "" : `background:color-mix(in srgb, var(--seat-${share >= 0.5 ? 0 : 1}) ${Math.round(Math.abs(share - 0.5) * 110)}%, transparent)`, title: share === null ? "" : `${found.counts[place][column]} games` }, share === null ? "·" : `${Math.round(100 * share)} %`)))))))] : h("p", {}, "No game has ended yet."));
}

function training(main, name) {
  const rows = [];
  let config = {};
  return live(main, async () => {
    const after = rows.length ? rows[rows.length - 1].iteration : 0;
    const found = await get(`/api/training/${encodeURIComponent(name)}?after=${after}`);
    rows.push(...found.rows);
    config = found.config;
    return { name, count: rows.length };
  }, () => {
    const measures = [...new Set(rows.flatMap((row) => Object.keys(row).filter((key) => typeof row[key] === "number")))].filter((key) => key !== "iteration");
    put(main, h("p", {}, h("a", { href: "#/compare" }, "← Compare")), h("h1", {}, name), h("p", { class: "soft" }, `${config.game || ""} ${rows.length} rows; new ones appear by themselves.`),
      h("div", { class: "two", id: "curves" }, measures.map((key) => h("section", { class: "card" }, h("h3", {}, key.replaceAll("_", " ")), plot([{ name: key, colour: "var(--accent)", points: rows.filter((row) => key in row).map((row) => [row.iteration, row[key]]) }], { height: 180, label: `${key} by iteration` })))));
  });
}
