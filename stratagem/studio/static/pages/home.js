// The first page: every game, one click from a running one.
import { catalogue, get } from "../api.js";
import { h, put, s } from "../dom.js";
import { seats } from "../store.js";
import { defaults, enter, nameOf } from "./start.js";

const ORDER = ["corso", "generals", "general", "generala", "hispania", "yatzy", "yacht", "crag"];

export async function show(main) {
  const { games } = await catalogue();
  const sorted = [...games].sort((a, b) => ORDER.indexOf(a.name) - ORDER.indexOf(b.name));
  const recent = h("section", { "aria-label": "Your games", style: "min-height:4rem; margin-top:2rem" });
  put(main, h("h1", {}, "Play"), h("p", { class: "lead" }, "Strategy games against agents that calculate, search and learn, or against each other. Choose a game; it starts at once."),
    h("div", { class: "cards" }, sorted.map(card)), recent);
  const mine = new Set(seats.games());
  const all = await get("/api/games").catch(() => []);
  const own = all.filter((one) => mine.has(one.id)).slice(0, 8);
  if (own.length) put(recent, h("h2", {}, "Your games"), h("div", { class: "scroll" }, h("table", { class: "plain" }, h("tbody", {}, own.map(line)))));
}

function line(game) {
  return h("tr", {}, h("td", {}, h("a", { href: `#/play/${game.id}` }, nameOf(game.game))), h("td", { class: "soft" }, game.players.map((one) => (one === "human" ? "you" : one)).join(" – ")),
    h("td", { class: "n soft" }, `${game.turns} turns`), h("td", {}, game.over ? "finished" : "running"));
}

function card(game) {
  const start = async (event) => {
    const button = event.currentTarget;
    button.disabled = true;
    await enter(defaults(game)).catch(() => { button.disabled = false; });
  };
  return h("article", { class: "card game" }, art(game.name),
    h("div", { class: "words" }, h("h2", {}, game.title), h("p", {}, `${game.summary[0].toUpperCase()}${game.summary.slice(1)}.`),
      h("div", { class: "row" }, h("button", { class: "main", type: "button", "data-play": game.name, "aria-label": `Play ${game.title}`, onclick: start }, "Play"), h("a", { class: "button", href: `#/new/${game.name}`, "aria-label": `Options for ${game.title}` }, "Options"))));
}

// Little pictures, one a game.
function art(name) {
  const box = (...content) => s("svg", { class: "art", viewBox: "0 0 100 60", "aria-hidden": "true", preserveAspectRatio: "xMidYMid slice" }, content);
  const square = (x, y, size, fill, extra) => s("rect", { x, y, width: size, height: size, rx: size * 0.15, style: `fill:var(--${fill})`, ...extra });
  if (name === "corso") {
    const plan = ["..a..", ".aaa.", "B.ab.", "..bbA", ".b..."];
    return box(plan.flatMap((row, y) => [...row].flatMap((sign, x) => {
      const at = [20 + x * 12.4, -1 + y * 12.4];
      const tile = square(at[0], at[1], 11.4, sign === "a" ? "dye-0" : sign === "b" ? "dye-1" : "cell");
      return sign === "A" || sign === "B" ? [tile, s("circle", { cx: at[0] + 5.7, cy: at[1] + 5.7, r: 4, style: `fill:var(--seat-${sign === "A" ? 0 : 1})` })] : [tile];
    })));
  }
  if (name === "generals") {
    const plan = ["....#112", "..#00122", "a.0000#.", "a000#00.", "#a00000."];
    const fills = { ".": "fog", "#": "hill", 0: "plain", 1: "castle", 2: "seat-1", a: "seat-0" };
    return box(plan.flatMap((row, y) => [...row].map((sign, x) => s("rect", { x: x * 12.5 + 0.4, y: y * 12 + 0.4, width: 11.7, height: 11.2, style: `fill:var(--${fills[sign]})` }))),
      s("path", { d: "M13 31h26m-4 -4l4 4l-4 4M45 31v-14m-4 4l4 -4l4 4", style: "fill:none;stroke:var(--ink);stroke-width:1.6" }));
  }
  if (name === "general") {
    return box([0, 1, 2, 3, 4, 5, 6, 7].flatMap((x) => [0, 1, 2, 3, 4].map((y) => square(2 + x * 12.2, 0.5 + y * 12, 11, x > 2 && x < 5 && y > 1 && y < 4 ? "tower" : x > 1 && x < 6 && y > 0 ? "water" : "cell"))),
      [[20, 6], [44, 18], [68, 18]].map(([x, y]) => s("circle", { cx: x, cy: y, r: 4.2, style: "fill:var(--seat-0)" })), [[32, 54], [68, 42], [81, 30]].map(([x, y]) => s("rect", { x: x - 3.9, y: y - 3.9, width: 7.8, height: 7.8, rx: 1.5, style: "fill:var(--seat-1)" })));
  }
  if (name === "hispania") {
    const dots = [[20, 14, 0], [42, 10, 1], [66, 16, 1], [80, 32, 1], [54, 30, 0], [30, 34, 0], [46, 48, 0], [70, 48, 2]];
    return box([[0, 1], [1, 2], [2, 3], [1, 4], [4, 5], [0, 5], [5, 6], [4, 6], [6, 7], [3, 7], [2, 4]].map(([a, b]) => s("line", { x1: dots[a][0], y1: dots[a][1], x2: dots[b][0], y2: dots[b][1], style: "stroke:var(--soft);stroke-width:.7;opacity:.6" })),
      dots.map(([x, y, seat]) => s("circle", { cx: x, cy: y, r: 5, style: `fill:var(--dye-${seat});stroke:var(--seat-${seat});stroke-width:1` })));
  }
  const pips = { generala: [5, 5, 5], yatzy: [1, 6, 6], yacht: [2, 3, 4], crag: [6, 6, 1] }[name] || [1, 2, 3];
  const spots = { 1: [[0, 0]], 2: [[-4, -4], [4, 4]], 3: [[-4, -4], [0, 0], [4, 4]], 4: [[-4, -4], [4, -4], [-4, 4], [4, 4]], 5: [[-4, -4], [4, -4], [0, 0], [-4, 4], [4, 4]], 6: [[-4, -5], [4, -5], [-4, 0], [4, 0], [-4, 5], [4, 5]] };
  return box(pips.map((face, place) => s("g", { transform: `translate(${26 + place * 24} ${30 + (place % 2 ? -4 : 3)}) rotate(${[-9, 5, 12][place]})` },
    s("rect", { x: -9.5, y: -9.5, width: 19, height: 19, rx: 4, style: "fill:var(--card);stroke:var(--soft);stroke-width:.6" }), spots[face].map(([x, y]) => s("circle", { cx: x, cy: y, r: 1.7, style: "fill:var(--ink)" })))));
}
