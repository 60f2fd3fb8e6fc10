// Small helpers to build elements. Text is always set as text, never as markup.
const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value") element.value = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(9).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

export const h = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
export const s = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

export function put(element, ...children) {
  element.replaceChildren(...children.flat(9).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

let fading = 0;
export function toast(text) {
  const place = document.getElementById("toast");
  place.textContent = text;
  place.classList.add("shown");
  clearTimeout(fading);
  fading = setTimeout(() => place.classList.remove("shown"), 4000);
}

export const cap = (text) => text.charAt(0).toUpperCase() + text.slice(1);
export const SEATS = ["Blue", "Orange", "Green", "Purple", "Fifth", "Sixth", "Seventh", "Eighth"];

const FACES = { 1: [[2, 2]], 2: [[1, 1], [3, 3]], 3: [[1, 1], [2, 2], [3, 3]], 4: [[1, 1], [1, 3], [3, 1], [3, 3]],
  5: [[1, 1], [1, 3], [2, 2], [3, 1], [3, 3]], 6: [[1, 1], [1, 3], [2, 1], [2, 3], [3, 1], [3, 3]] };

export function die(face, size = 64) {
  return s("svg", { viewBox: "0 0 64 64", width: size, height: size, role: "img", "aria-label": face ? `a ${face}` : "no die" },
    s("rect", { x: 3, y: 3, width: 58, height: 58, rx: 13, class: "die-face" }),
    (FACES[face] || []).map(([row, column]) => s("circle", { cx: column * 16, cy: row * 16, r: 5.6, class: "pip" })));
}
