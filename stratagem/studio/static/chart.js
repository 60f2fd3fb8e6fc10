// Curves in SVG, without a library.
import { s } from "./dom.js";

const LEFT = 46, RIGHT = 10, TOP = 10, BOTTOM = 24;
const round = (value) => (Math.abs(value) >= 1000 ? value.toFixed(0) : Number(value.toPrecision(3)).toString());

// curves: [{ name, colour, points: [[x, y], …] }]; options: width, height, low, high, label, marks: [{x, y, kind, title, press}], now
export function plot(curves, options = {}) {
  const height = options.height || 220, WIDTH = options.width || 560;
  const all = curves.flatMap((curve) => curve.points).filter(([, y]) => Number.isFinite(y));
  const xs = all.map(([x]) => x), ys = all.map(([, y]) => y);
  let [x0, x1] = [Math.min(...xs, options.first ?? Infinity), Math.max(...xs, options.last ?? -Infinity)];
  let [y0, y1] = [options.low ?? Math.min(...ys), options.high ?? Math.max(...ys)];
  if (!all.length) [x0, x1, y0, y1] = [options.first ?? 0, options.last ?? 1, options.low ?? 0, options.high ?? 1];
  if (x1 === x0) x1 = x0 + 1;
  if (y1 === y0) { y0 -= 0.5; y1 += 0.5; }
  const at = ([x, y]) => [LEFT + ((x - x0) / (x1 - x0)) * (WIDTH - LEFT - RIGHT), TOP + (1 - (y - y0) / (y1 - y0)) * (height - TOP - BOTTOM)];
  const svg = s("svg", { class: "plot", viewBox: `0 0 ${WIDTH} ${height}`, role: "img", "aria-label": options.label || "" });
  for (const share of [0, 0.5, 1]) {
    const value = y0 + share * (y1 - y0), y = at([x0, value])[1];
    svg.append(s("line", { x1: LEFT, x2: WIDTH - RIGHT, y1: y, y2: y, class: "axis" }), s("text", { x: LEFT - 6, y: y + 4, "text-anchor": "end" }, options.shown ? options.shown(value) : round(value)));
  }
  svg.append(s("text", { x: LEFT, y: height - 6 }, round(x0)), s("text", { x: WIDTH - RIGHT, y: height - 6, "text-anchor": "end" }, round(x1)));
  for (const curve of curves) {
    const points = curve.points.filter(([, y]) => Number.isFinite(y)).map((point) => at(point).map((one) => one.toFixed(1)).join(","));
    svg.append(s("polyline", { points: points.join(" "), class: "curve", style: `stroke:${curve.colour}`, "stroke-dasharray": curve.dash || null }, s("title", {}, curve.name)));
  }
  if (options.now !== undefined) { const x = at([options.now, y0])[0]; svg.append(s("line", { x1: x, x2: x, y1: TOP, y2: height - BOTTOM, class: "now" })); }
  for (const mark of options.marks || []) {
    const [x, y] = at([mark.x, mark.y]);
    svg.append(s("circle", { cx: x, cy: y, r: 5, class: mark.kind }), s("circle", { cx: x, cy: y, r: 12, class: "hit", onclick: mark.press }, s("title", {}, mark.title)));
  }
  if (options.press) svg.addEventListener("click", (event) => {
    const box = svg.getBoundingClientRect(), x = ((event.clientX - box.left) / box.width) * WIDTH;
    options.press(Math.round(x0 + ((x - LEFT) / (WIDTH - LEFT - RIGHT)) * (x1 - x0)));
  });
  return svg;
}
