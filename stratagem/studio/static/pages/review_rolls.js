// Luck in a review: what each roll could have brought, and how luck and skill add up to the result.
import { h, SEATS } from "../dom.js";

const signed = (value) => `${value >= 0 ? "+" : "−"}${Math.abs(Math.round(50 * value))} %`;
const percent = (value) => `${Math.round(50 + 50 * value)} %`;
const rare = (chance) => (chance >= 0.0995 ? `${Math.round(100 * chance)} %` : `${(100 * chance).toFixed(1)} %`);

// All that could have fallen before a decision, the best first; the one that fell is marked and in sight.
export function rollTable(roll) {
  if (!roll) return "";
  const [words, , value] = roll.falls[roll.fell];
  const worse = roll.falls.reduce((sum, [, chance, other]) => sum + (other < value - 1e-9 ? chance : other < value + 1e-9 ? chance / 2 : 0), 0);
  const row = ([name, chance, worth], place) => h("tr", { class: place === roll.fell ? "fell" : "", "aria-current": place === roll.fell ? "true" : null },
    h("td", {}, h("span", { class: "swatch", style: `background:var(--${worth > roll.expected + 0.02 ? "good" : worth < roll.expected - 0.02 ? "bad" : "warn"})` }), place === roll.fell ? h("strong", {}, `${name} (fell)`) : name),
    h("td", { class: "n" }, rare(chance)), h("td", { class: "n" }, percent(worth)), h("td", { class: "n" }, signed(worth - roll.expected)));
  const box = h("div", { class: "falls", tabindex: 0, role: "region", "aria-label": "What could have fallen" }, h("table", { class: "plain small" },
    h("thead", {}, h("tr", {}, ["outcome", "chance", "win", "luck"].map((text, place) => h("th", { class: place ? "n" : "" }, text)))), h("tbody", {}, roll.falls.map(row))));
  requestAnimationFrame(() => { const fell = box.querySelector(".fell"); if (fell) box.scrollTop = fell.offsetTop - box.clientHeight / 2; });
  return [h("h3", {}, `The roll before it: ${words}`), h("p", { class: "small soft", style: "margin:0 0 .4rem" }, `For ${SEATS[roll.seat]} ${signed(roll.luck)} of the win; luckier than ${Math.round(100 * worse)} % of what could have fallen.`), box];
}

// What all rolls so far brought a seat; with two seats the other's luck is one's own misfortune.
export const luckOf = (judged, seat, seats) => judged.reduce((sum, one) => sum + (!one.roll ? 0 : one.roll.seat === seat ? one.roll.luck : seats === 2 ? -one.roll.luck : 0), 0);

// From the first value to the result, for one of two seats: every step is luck, a mistake, or what the engine did not foresee.
export function balance(seat, start, result, luck, own, other) {
  const rest = result - start - luck + own - other;
  const line = (name, value, extra = {}) => h("tr", extra, h("td", {}, name), h("td", { class: "n" }, value));
  return h("table", { class: "plain small", id: "balance" }, h("caption", {}, `Luck and skill of ${SEATS[seat]}`), h("tbody", {},
    line("at the start", percent(start)), line("luck", signed(luck), { class: "luck" }), line("own mistakes", signed(-own)), line(`mistakes of ${SEATS[1 - seat]}`, signed(other)),
    Math.abs(rest) >= 0.01 ? line("what the engine did not foresee", signed(rest), { class: "rest" }) : null, line(h("strong", {}, "the result"), h("strong", {}, percent(result)))));
}
