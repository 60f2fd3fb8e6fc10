// Choosing an agent: its strength in plain words, what it does, and what it lacks if it cannot play yet.
import { get } from "../api.js";
import { cap, h, put } from "../dom.js";

const asked = new Map();
// Who plays a game; asked again after a minute, because tables are solved and networks trained meanwhile.
function opponents(game) {
  const known = asked.get(game);
  if (known && Date.now() - known.at < 60e3) return known.answer;
  const answer = get(`/api/opponents?game=${encodeURIComponent(game)}`).catch((error) => { asked.delete(game); throw error; });
  asked.set(game, { at: Date.now(), answer });
  return answer;
}

// The fields of a page that asks who plays, and asks again when another game is chosen.
export const fields = (attributes = {}) => h("fieldset", { class: "fields", ...attributes });

// Who plays another game. Until that is known the fields take no input: it would be lost when they are drawn anew.
export async function meet(form, game) {
  form.disabled = true;
  try { return await opponents(game); } finally { form.disabled = false; }
}

// A select with the chosen agent's words under it. `first` are options before the agents: [{ value, label, words }].
export function agentField(title, all, chosen, change, attributes = {}, first = []) {
  const words = h("span", { class: "small soft", style: "display:block; min-height:1.4rem; margin-top:.2rem" });
  const tell = (value) => put(words, cap([...all, ...first].find((one) => (one.agent ?? one.value) === value)?.words || ""));
  const select = h("select", { ...attributes, onchange: (event) => { tell(event.target.value); change(event.target.value); } },
    first.map(({ value, label }) => h("option", { value, selected: value === chosen }, label)),
    all.map((one) => h("option", { value: one.agent, selected: one.agent === chosen, disabled: !one.ready }, `${cap(one.label)}: ${one.agent.replace(/\/weights\.safetensors$/, "")}${one.ready ? "" : " (not ready)"}`)));
  tell(chosen);
  return h("label", { class: "field" }, h("span", {}, title), select, words);
}

export const lacking = (all) => all.filter((one) => !one.ready).map((one) => h("p", { class: "small note", "data-lacking": one.agent }, h("strong", {}, `${cap(one.label)}, ${one.agent}: `), one.why.split("`").map((part, place) => (place % 2 ? h("code", {}, part) : part)), "."));
