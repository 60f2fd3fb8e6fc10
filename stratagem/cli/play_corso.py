"""The terminal board of Corso."""

import random
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from rich.style import Style
from rich.text import Text
from textual import work
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Center, Vertical
from textual.events import Click
from textual.reactive import reactive
from textual.widgets import Footer, Header, Static

from stratagem.agents.agent import Agent
from stratagem.arena.session import Session
from stratagem.core.errors import StratagemError
from stratagem.games.corso import Corso
from stratagem.protocols.replay import Replay

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


class BoardView(Static):
    """The cells, the cursor and the hint."""

    can_focus = True

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
        column, row = (event.x - MARGIN) // CELL_WIDTH, event.y // CELL_HEIGHT
        if 0 <= column < self.state.width and 0 <= row < self.state.height:
            self.state.cursor = row * self.state.width + column
            self.state.action_act()


class CorsoApp(App[None]):
    """A game of Corso, again and again until somebody has enough."""

    TITLE = "Corso"
    CSS = """
    Screen { align: center middle; }
    #column { width: 68; height: auto; }
    BoardView { width: auto; height: auto; }
    #scores { width: 68; height: auto; margin-bottom: 1; text-align: center; }
    #status { width: 68; height: 3; margin-top: 1; text-align: center; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "go(-1, 0)", "move", show=False),
        Binding("down,j", "go(1, 0)", "move", show=False),
        Binding("left", "go(0, -1)", "move", show=False),
        Binding("right,l", "go(0, 1)", "move", show=False),
        Binding("enter,space", "act", "place or expand"),
        Binding("u", "undo", "undo"),
        Binding("h", "hint", "hint"),
        Binding("r", "resign", "resign"),
        Binding("n", "again", "new game"),
        Binding("s", "save", "save"),
        Binding("q", "quit", "quit"),
    ]

    cursor: reactive[int] = reactive(0)
    hinted: reactive[int] = reactive(-1)
    last_cell: reactive[int] = reactive(-1)
    status: reactive[str] = reactive("")
    thinking: reactive[bool] = reactive(False)

    def __init__(self, session: Session, names: list[str], adviser: Agent, save: Path):
        super().__init__()
        self.session, self.names, self.adviser, self.folder = session, names, adviser, save
        game = session.game
        assert isinstance(game, Corso)
        self.width, self.height = game.width, game.height
        self.last_words = ""
        self.games = 0
        self.set_reactive(CorsoApp.cursor, game.height // 2 * game.width + game.width // 2)

    def compose(self) -> ComposeResult:
        yield Header()
        with Center(), Vertical(id="column"):
            yield Static(id="scores")
            with Center():
                yield BoardView(self)
            yield Static(id="status")
        yield Footer()

    def on_mount(self) -> None:
        self.query_one(BoardView).focus()
        self._refresh()
        self._let_agents_move()

    # What the keys do.

    def action_go(self, down: int, right: int) -> None:
        row, column = divmod(self.cursor, self.width)
        self.cursor = (row + down) % self.height * self.width + (column + right) % self.width

    def action_act(self) -> None:
        seat = self._human_to_move()
        if seat is None:
            return
        try:
            self.session.act({seat: self.cursor})
        except StratagemError as error:
            self.status = str(error).partition(": ")[2] or str(error)
            return
        self.last_cell, self.hinted = self.cursor, -1
        self._refresh()
        self._let_agents_move()

    def action_undo(self) -> None:
        if self.thinking:
            return
        if not self.session.actions and not self.session.resigned:
            self.status = "Nothing to take back."
            return
        self.session.undo()
        # Back to a person's turn, if a person has one.
        while self.session.actions and self._human_to_move() is None and not self.session.over:
            self.session.undo()
        self.hinted = self.last_cell = -1
        self._refresh("Taken back.")
        self._let_agents_move()

    def action_hint(self) -> None:
        seat = self._human_to_move()
        if seat is not None:
            self._find_hint(seat)

    def action_resign(self) -> None:
        seat = self._human_to_move()
        if seat is not None:
            self.session.resign(seat)
            self._refresh()

    def action_again(self) -> None:
        if self.thinking:
            return
        players = self.session.players[1:] + self.session.players[:1]
        self.names = self.names[1:] + self.names[:1]
        self.session = Session(self.session.game, players, random.Random(self.session.seed).randrange(2**31))
        self.hinted = self.last_cell = -1
        self._refresh("New game, seats swapped.")
        self._let_agents_move()

    def action_save(self) -> None:
        if not self.session.over:
            self.status = "Only a finished game can be saved; resign first if you have had enough."
            return
        spec = self.session.game.spec
        path = self.folder / f"{spec.name}-{self.session.seed}.json"
        Replay(
            game=spec.name,
            parameters=dict(spec.parameters),
            ruleset=spec.ruleset,
            seats=self.names,
            actions=self.session.actions,
            returns=self.session.returns,
            seed=self.session.seed,
            resigned=self.session.resigned,
        ).save(path)
        self.last_words = f"Saved: {path}"
        self.status = self.last_words

    # What happens in between.

    def _human_to_move(self) -> int | None:
        if self.thinking or self.session.over:
            return None
        (seat,) = self.session.movers
        return seat if self.session.players[seat] is None else None

    def _let_agents_move(self) -> None:
        if not self.session.over and self._human_to_move() is None:
            self._agent_turn()

    @work(thread=True, exclusive=True)
    def _agent_turn(self) -> None:
        (seat,) = self.session.movers
        self.call_from_thread(self._think, True)
        action = self.session.think(seat)
        self.call_from_thread(self._agent_acted, seat, action)

    @work(thread=True, exclusive=True)
    def _find_hint(self, seat: int) -> None:
        self.call_from_thread(self._think, True)
        action = self.session.think(seat, self.adviser)
        self.call_from_thread(self._show_hint, action)

    def _think(self, on: bool) -> None:
        self.thinking = on
        self._refresh()

    def _agent_acted(self, seat: int, action: int) -> None:
        self.thinking = False
        self.session.act({seat: action})
        self.last_cell = action
        self._refresh()
        self._let_agents_move()

    def _show_hint(self, action: int) -> None:
        self.thinking = False
        self.hinted = self.cursor = action
        game: Any = self.session.game
        self._refresh(f"Hint: {game.write_action(action)}")

    def _refresh(self, note: str = "") -> None:
        """Bring everything shown up to date."""
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

    def watch_status(self, status: str) -> None:
        for line in self.query("#status").results(Static):  # none before the screen is composed
            line.update(status)

    def watch_cursor(self) -> None:
        self.query(BoardView).refresh()

    watch_hinted = watch_cursor
    watch_last_cell = watch_cursor
