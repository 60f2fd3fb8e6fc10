// Which board draws which game. A board has `show(view)`, `hint(action, words)` and `destroy()`.
// A view of the same turn as before leaves alone what was chosen.
//   view: { turn, drawing, legal: [actions] or null, seat, last: [{seat, action}], candidates: {action: loss} or null }
//   context: { facts, act(action), actWords(words), say(text), queue(moves) }
const MODULES = {
  corso: () => import("./corso.js"), general: () => import("./general.js"), dice: () => import("./dice.js"),
  hispania: () => import("./hispania.js"), generals: () => import("./generals.js"),
};

export async function makeBoard(kind, root, context) {
  const module = await MODULES[kind]();
  return new module.Board(root, context);
}

export const sameTurn = (one, other) => one !== undefined && one.turn !== undefined && one.turn === other.turn;
export const grade = (loss) => (loss < 0.05 ? 0 : loss < 0.15 ? 1 : loss < 0.3 ? 2 : 3);
