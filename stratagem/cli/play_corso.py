"""The terminal board of Corso."""

from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from rich.style import Style
from rich.text import Text
from textual.binding import Binding, BindingType
from textual.events import Click
from textual.reactive import reactive
from textual.widgets import Static

from stratagem.agents.agent import Agent
from stratagem.arena.session import Session
from stratagem.cli.board_app import BoardApp, BoardView
from stratagem.games.corso import Corso

CELL_WIDTH, CELL_HEIGHT, MARGIN = 7, 3, 3
# Blue, orange, green and rose: told apart by people with any colour vision, and marbles also by their letter.
MARBLE = ("#4c9be8", "#f2a541", "#5cc28a", "#e07a9b")
DYED = ("#1f4e79", "#8a5a14", "#256b46", "#7d3450")
EMPTY = ("#2b2f36", "#30353d")
NAMES = ("blue", "orange", "green", "rose")


def play(session: Session, names: list[str], adviser: Agent, save: Path) -> str:
    """Run the board until it is left; the result is what to print then."""
    board = CorsoApp(session, names, adviser, save)
    board.run()
    return board.last_words


class CorsoBoard(BoardView):
    """The cells, the cursor and the hint."""

    def __init__(self, app_state: "CorsoApp") -> None:
        super().__init__()
        self.state = app_state

    def render(self) -> Text:
        state = self.state
        game: Any = state.session.game
        rows = game.draw(state.session.state, None)["rows"]
        text = Text()
        for row in range(game.height):
            for line in range(CELL_HEIGHT):
                text.append(f"{row + 1 if line == 1 else '':>{MARGIN - 1}} ", "dim")
                for column in range(game.width):
                    text.append_text(self._cell(rows[row][column], row, column, line))
                text.append("\n")
        letters = "".join(f"{letter:^{CELL_WIDTH}}" for letter in "abcdefgh"[: game.width])
        text.append(" " * MARGIN + letters + " " * MARGIN, "dim")
        return text

    def _cell(self, sign: str, row: int, column: int, line: int) -> Text:
        state = self.state
        cell = row * state.width + column
        owner = "ABCD".find(sign.upper()) if sign != "O" else -1
        ground = EMPTY[(row + column) % 2] if owner < 0 or sign.isupper() else DYED[owner]
        content = " " * CELL_WIDTH
        style = Style(bgcolor=ground)
        if line == 1 and sign != "O" and sign.isupper():
            content = f"{'(' + sign + ')':^{CELL_WIDTH}}"
            style = Style(bgcolor=ground, color=MARBLE[owner], bold=True)
        elif line == 1 and cell == state.hinted:
            content, style = f"{'★':^{CELL_WIDTH}}", Style(bgcolor=ground, color="#ffe08a", bold=True)
        elif line == 2 and cell == state.last_cell:
            content, style = f"{'·':^{CELL_WIDTH}}", Style(bgcolor=ground, color="#cccccc")
        if cell == state.cursor:
            style += Style(color="#ffffff", bold=True)
            if line == 0:
                content = "┏" + " " * (CELL_WIDTH - 2) + "┓"
            elif line == CELL_HEIGHT - 1:
                content = "┗" + content[1:-1] + "┛"
        return Text(content, style)

    def on_click(self, event: Click) -> None:
        self.state.point(event.y // CELL_HEIGHT, (event.x - MARGIN) // CELL_WIDTH)


class CorsoApp(BoardApp):
    """A game of Corso."""

    TITLE = "Corso"
    CSS = (
        BoardApp.CSS
        + "#column, #scores, #status { width: 68; } #scores { margin-bottom: 1; } #status { height: 3; margin-top: 1; }"
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter,space", "act", "place or expand"),
        *BoardApp.KEYS,
    ]

    last_cell: reactive[int] = reactive(-1)

    def __init__(self, session: Session, names: list[str], adviser: Agent, save: Path):
        game = session.game
        assert isinstance(game, Corso)
        super().__init__(session, names, adviser, save, game.width, game.height)
        self.set_reactive(CorsoApp.cursor, game.height // 2 * game.width + game.width // 2)

    def board(self) -> BoardView:
        return CorsoBoard(self)

    def action_act(self) -> None:
        seat = self.human_to_move()
        if seat is not None:
            self.human_acts(seat, self.cursor)

    def forget_marks(self) -> None:
        self.hinted = self.last_cell = -1

    def acted(self, before: Any, action: int) -> None:
        self.last_cell, self.hinted = action, -1
        self.refresh_all()

    def show_hint(self, action: int) -> None:
        self.hinted = self.cursor = action
        game: Any = self.session.game
        self.refresh_all(f"Hint: {game.write_action(action)}")

    def refresh_all(self, note: str = "") -> None:
        session, game = self.session, self.session.game
        scores = np.asarray(game.scores(session.state)).tolist()  # type: ignore[attr-defined]
        line = Text(justify="center")
        for seat, name in enumerate(self.names):
            to_move = not session.over and seat in session.movers
            mark = "▶ " if to_move else "  "
            label = f"{mark}{'ABCD'[seat]} {NAMES[seat]} ({name}) {scores[seat]}"
            line.append(label, Style(color=MARBLE[seat], bold=to_move)).append("    ")
        self.query_one("#scores", Static).update(line)
        if session.over:
            note = self._verdict()
        elif not note:
            note = "thinking …" if self.thinking else "Your turn."
        self.status = note
        self.query_one(BoardView).refresh()

    def _verdict(self) -> str:
        best = max(self.session.returns)
        winners = [seat for seat, value in enumerate(self.session.returns) if value == best]
        how = " by resignation" if self.session.resigned else ""
        if len(winners) == len(self.names):
            return "A draw. n plays again with seats swapped."
        who = " and ".join(f"{'ABCD'[seat]} ({self.names[seat]})" for seat in winners)
        return f"{who} wins{how}. n plays again with seats swapped, s saves."

    watch_last_cell = BoardApp.watch_cursor
