"""How fast each engine solved Generala, from the benchmark's lines."""

from __future__ import annotations

import json

from generala_page.page import FOLDER, Page


def engines(page: Page) -> None:
    rows = []
    for path in sorted(FOLDER.glob("benchmark-*.json")):
        for one in (json.loads(line) for line in path.read_text().splitlines() if line):
            compared = f"{one['largest_difference']:.1e}" if "largest_difference" in one else ""
            rows.append([
                one["engine"], f"{one['device']}, {one['machine']}", f"{one['seconds']:.2f} s",
                f"{one['first_run_with_compilation']:.1f} s", f"{one['positions_per_second'] / 1e6:.1f} M/s", compared,
            ])  # fmt: skip
    if rows:
        page.say(
            "## Speed",
            "`benchmarks/dice.py`, all of Generala; the numba engine writes its table to disk as it goes. "
            "Both engines sum in the same order, in pairs, so they agree to the last bit.",
        )
        page.table(
            ["engine", "machine", "time", "with compilation", "speed", "largest difference to numba"], rows
        )
