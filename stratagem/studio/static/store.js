// What the browser keeps: seats, preferences, and the positions to learn from. Nothing of it leaves this machine.
const read = (name, otherwise) => {
  try { return JSON.parse(localStorage.getItem(`stratagem.${name}`)) ?? otherwise; } catch { return otherwise; }
};
const write = (name, value) => {
  try { localStorage.setItem(`stratagem.${name}`, JSON.stringify(value)); } catch { /* private mode: forget it */ }
};

const MOST_SEATS = 200, MOST_CARDS = 500;

export const seats = {
  of: (game) => read("seats", {})[game] || [],
  keep(game, tokens) {
    const all = read("seats", {});
    delete all[game];
    all[game] = tokens;
    const names = Object.keys(all);
    for (const name of names.slice(0, Math.max(0, names.length - MOST_SEATS))) delete all[name];
    write("seats", all);
  },
  games: () => Object.keys(read("seats", {})),
};

const DEFAULT_KEYS = { up: "KeyW", down: "KeyS", left: "KeyA", right: "KeyD", undo: "KeyE", clear: "KeyQ", half: "KeyZ", deselect: "Space" };
export const keys = {
  all: () => ({ ...DEFAULT_KEYS, ...read("keys", {}) }),
  set: (name, code) => write("keys", { ...read("keys", {}), [name]: code }),
  reset: () => write("keys", {}),
};

export const prefs = { get: (name, otherwise) => read("prefs", {})[name] ?? otherwise, set: (name, value) => write("prefs", { ...read("prefs", {}), [name]: value }) };

// Cards: positions in which a mistake was made. A card that was failed comes back at once, one that was known later and later.
const DAY = 86400e3;
export const cards = {
  all: () => read("cards", []),
  due: (now = Date.now()) => read("cards", []).filter((card) => card.due <= now),
  add(fresh) {
    const known = read("cards", []);
    const ids = new Set(known.map((card) => card.id));
    const added = fresh.filter((card) => !ids.has(card.id)).map((card) => ({ ...card, step: 0, due: 0 }));
    write("cards", [...known, ...added].slice(-MOST_CARDS));
    return added.length;
  },
  answer(id, right, now = Date.now()) {
    write("cards", read("cards", []).map((card) => {
      if (card.id !== id) return card;
      const step = right ? card.step + 1 : 0;
      return { ...card, step, due: right ? now + DAY * 2 ** (step - 1) : now + 60e3 };
    }));
  },
  remove: (id) => write("cards", read("cards", []).filter((card) => card.id !== id)),
};
