// A heat map over a board: how much of something each cell has. One hue that no seat has; the larger shares in numbers, too.
const HUE = "146 43 134"; // purple: told from blue and orange by everybody
const NUMBERED = 0.05;

// heat: { cells: rows of shares, most }. What is spread evenly stays pale.
export function tint(pen, heat, row, column, left, top, size) {
  const share = heat.cells[row][column];
  if (share <= 0) return;
  const full = Math.max(heat.most, 4 / heat.cells.flat().length);
  pen.fillStyle = `rgb(${HUE} / ${Math.round(10 + 72 * (share / full) ** 0.7)}%)`;
  pen.fillRect(left + 0.5, top + 0.5, size - 1, size - 1);
}

// The larger shares in numbers.
export function number(pen, heat, row, column, left, top, size) {
  const share = heat.cells[row][column];
  if (share < NUMBERED || size < 18) return;
  pen.font = `650 ${Math.max(8, size * 0.28)}px system-ui, sans-serif`;
  pen.lineWidth = 2;
  pen.strokeStyle = "rgb(0 0 0 / 45%)";
  pen.fillStyle = "#fff";
  pen.strokeText(`${Math.round(100 * share)}%`, left + size / 2, top + size * 0.8);
  pen.fillText(`${Math.round(100 * share)}%`, left + size / 2, top + size * 0.8);
}
