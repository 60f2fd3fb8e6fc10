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

// Little signs for buttons, drawn so that no font has to have them.
const ICONS = { first: "M5 4v12M16 4L8 10L16 16Z", back: "M14 4L6 10L14 16Z", play: "M6 3L16 10L6 17Z", pause: "M6 4h3v12h-3ZM12 4h3v12h-3Z", next: "M6 4L14 10L6 16Z", last: "M15 4v12M4 4L12 10L4 16Z", light: "M10 6a4 4 0 1 0 .01 0ZM10 1v2.5M10 16.5v2.5M1 10h2.5M16.5 10h2.5M3.6 3.6l1.8 1.8M14.6 14.6l1.8 1.8M16.4 3.6l-1.8 1.8M5.4 14.6l-1.8 1.8", dark: "M16 12.5A7 7 0 0 1 8 3.8A7 7 0 1 0 16 12.5Z" };
export const icon = (name) => s("svg", { viewBox: "0 0 20 20", width: 18, height: 18, "aria-hidden": "true", class: "sign" }, s("path", { d: ICONS[name] }));

const FACES = { 1: [[2, 2]], 2: [[1, 1], [3, 3]], 3: [[1, 1], [2, 2], [3, 3]], 4: [[1, 1], [1, 3], [3, 1], [3, 3]],
  5: [[1, 1], [1, 3], [2, 2], [3, 1], [3, 3]], 6: [[1, 1], [1, 3], [2, 1], [2, 3], [3, 1], [3, 3]] };

export function die(face, size = 64) {
  return s("svg", { viewBox: "0 0 64 64", width: size, height: size, role: "img", "aria-label": face ? `a ${face}` : "no die" },
    s("rect", { x: 3, y: 3, width: 58, height: 58, rx: 13, class: "die-face" }),
    (FACES[face] || []).map(([row, column]) => s("circle", { cx: column * 16, cy: row * 16, r: 5.6, class: "pip" })));
}
