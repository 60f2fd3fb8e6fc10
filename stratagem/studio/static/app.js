// Finds the page that the address names, and keeps light and dark.
import { h, icon, put } from "./dom.js";
import { prefs } from "./store.js";

const PAGES = {
  "": () => import("./pages/home.js"),
  new: () => import("./pages/setup.js"),
  play: () => import("./pages/play.js"),
  watch: () => import("./pages/watch.js"),
  learn: () => import("./pages/learn.js"),
  review: () => import("./pages/review.js"),
  compare: () => import("./pages/compare.js"),
};
const SECTION = { "": "#/", new: "#/", play: "#/", watch: "#/watch", learn: "#/learn", review: "#/learn", compare: "#/compare" };

let leave = null;
let visit = 0;

async function show() {
  const number = ++visit;
  const [name, ...rest] = location.hash.replace(/^#\/?/, "").split("/");
  const main = document.getElementById("main");
  if (leave) leave();
  leave = null;
  for (const link of document.querySelectorAll(".top nav a")) {
    const here = link.getAttribute("href") === SECTION[name];
    if (here) link.setAttribute("aria-current", "page"); else link.removeAttribute("aria-current");
  }
  const page = PAGES[name];
  if (!page) {
    put(main, h("h1", {}, "There is no such page"), h("p", {}, h("a", { href: "#/" }, "Back to the games")));
    return;
  }
  put(main);
  const patience = setTimeout(() => main.children.length || put(main, h("p", { class: "soft", id: "patience" }, "One moment …")), 250);
  try {
    const module = await page();
    if (number !== visit) return;
    const left = await module.show(main, rest.map(decodeURIComponent));
    if (number !== visit) { if (left) left(); return; }
    leave = left || null;
  } catch (error) {
    if (number === visit) put(main, h("h1", {}, "That did not work"), h("p", { role: "alert" }, error.message), h("p", {}, h("a", { href: "#/" }, "Back to the games")));
  } finally { clearTimeout(patience); }
}

function dress(theme) {
  document.documentElement.dataset.theme = theme;
  put(document.getElementById("theme"), icon(theme));
  dispatchEvent(new Event("dressed"));
}
const system = matchMedia("(prefers-color-scheme: dark)");
dress(prefs.get("theme") || (system.matches ? "dark" : "light"));
system.addEventListener("change", () => prefs.get("theme") || dress(system.matches ? "dark" : "light"));
document.getElementById("theme").addEventListener("click", () => {
  const next = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
  prefs.set("theme", next);
  dress(next);
});

// A replay may be dropped anywhere.
addEventListener("dragover", (event) => { event.preventDefault(); document.body.classList.add("over"); });
addEventListener("dragleave", () => document.body.classList.remove("over"));
addEventListener("drop", async (event) => {
  event.preventDefault();
  document.body.classList.remove("over");
  const file = event.dataTransfer.files[0];
  if (file) (await import("./pages/watch.js")).openFile(file);
});

addEventListener("hashchange", show);
show();
