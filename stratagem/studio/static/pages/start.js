// Beginning a game, from the first page or from its options.
import { post } from "../api.js";
import { toast } from "../dom.js";
import { seats } from "../store.js";

export const defaults = (game) => ({
  game: game.boards[0].game,
  players: ["human", ...Array(game.boards[0].seats - 1).fill(game.against)],
  pace: 2,
});

// Begins it, keeps the secrets of the own seats (all of them unless told which), makes links of the others, and goes there.
export async function enter(wish, own = null) {
  try {
    const game = await post("/api/games", wish);
    const mine = ([seat]) => own === null || own.includes(Number(seat));
    const all = Object.entries(game.tokens);
    seats.keep(game.id, all.filter(mine).map(([, token]) => token));
    const links = all.filter((one) => !mine(one)).map(([seat, token]) => ({ seat: Number(seat), link: `${location.origin}/#/play/${game.id}/${token}` }));
    if (links.length) sessionStorage.setItem(`invite.${game.id}`, JSON.stringify(links));
    location.hash = `#/play/${game.id}`;
  } catch (error) {
    toast(error.message);
    throw error;
  }
}

const TITLES = { corso: "Corso", general: "GENERAL", generals: "Generals", hispania: "Hispania", generala: "Generala", yacht: "Yacht", crag: "Crag", yatzy: "Yatzy" };
export function nameOf(title) {
  const [name, rest] = title.split(":");
  const options = Object.fromEntries((rest || "").split(",").map((part) => part.split("=")));
  const size = options.width ? ` ${options.width} × ${options.height}` : options.scenario ? ` (${options.scenario})` : "";
  return (TITLES[name] || name) + size;
}
