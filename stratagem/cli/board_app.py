"""What the terminal boards have in common: whose turn it is, undo, hint, resign, new game, save."""

import random
from pathlib import Path
from typing import Any, ClassVar

from textual import work
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Center, Vertical
from textual.reactive import reactive
from textual.widgets import Footer, Header, Static

from stratagem.agents.agent import Agent
from stratagem.arena.session import Session
from stratagem.cli.typed import save_game
from stratagem.core.errors import StratagemError


class BoardView(Static):
    """The cells. It is drawn anew whenever something on it changes."""

    can_focus = True


class BoardApp(App[None]):
    """A game of alternating moves on a board of cells, again and again until somebody has enough.

    A game's own board says how it is drawn (`board`, `refresh_all`), what a key on a cell does (`action_act`), and
    how a hint looks (`show_hint`).
    """

    CSS = """
    Screen { align: center middle; }
    #column { height: auto; }
    BoardView { width: auto; height: auto; }
    #scores { height: auto; text-align: center; }
    #status { text-align: center; }
    """
    KEYS: ClassVar[list[BindingType]] = [
        Binding("up,k", "go(-1, 0)", "move", show=False),
        Binding("down,j", "go(1, 0)", "move", show=False),
        Binding("left", "go(0, -1)", "move", show=False),
        Binding("right,l", "go(0, 1)", "move", show=False),
        Binding("u", "undo", "undo"),
        Binding("h", "hint", "hint"),
        Binding("r", "resign", "resign"),
        Binding("n", "again", "new game"),
        Binding("s", "save", "save"),
        Binding("q", "quit", "quit"),
    ]
    TAKEN_BACK = "Taken back."
    RENEWED = "New game, seats swapped."

    cursor: reactive[int] = reactive(0)
    hinted: reactive[int] = reactive(-1)
    status: reactive[str] = reactive("")
    thinking: reactive[bool] = reactive(False)

    def __init__(
        self, session: Session, names: list[str], adviser: Agent, save: Path, width: int, height: int
    ):
        super().__init__()
        self.session, self.names, self.adviser, self.folder = session, names, adviser, save
        self.width, self.height = width, height
        self.last_words = ""

    # What each game says for itself.

    def board(self) -> BoardView:
        raise NotImplementedError

    def refresh_all(self, note: str = "") -> None:
        """Bring everything shown up to date."""
        raise NotImplementedError

    def action_act(self) -> None:
        """Enter, space, or a click on the cell under the cursor."""
        raise NotImplementedError

    def acted(self, before: Any, action: int) -> None:
        """Show what an action did."""
        raise NotImplementedError

    def show_hint(self, action: int) -> None:
        raise NotImplementedError

    def forget_marks(self) -> None:
        self.hinted = -1

    # The screen.

    def compose(self) -> ComposeResult:
        yield Header()
        with Center(), Vertical(id="column"):
            yield Static(id="scores")
            with Center():
                yield self.board()
            yield Static(id="status")
        yield Footer()

    def on_mount(self) -> None:
        self.query_one(BoardView).focus()
        self.refresh_all()
        self.let_agents_move()

    def watch_status(self, status: str) -> None:
        for line in self.query("#status").results(Static):  # none before the screen is composed
            line.update(status)

    def watch_cursor(self) -> None:
        boards: Any = self.query(BoardView)
        boards.refresh()

    watch_hinted = watch_cursor

    # What the keys do.

    def action_go(self, down: int, right: int) -> None:
        row, column = divmod(self.cursor, self.width)
        self.cursor = (row + down) % self.height * self.width + (column + right) % self.width

    def point(self, row: int, column: int) -> None:
        """A click on a cell, or beside all of them."""
        if 0 <= column < self.width and 0 <= row < self.height:
            self.cursor = row * self.width + column
            self.action_act()

    def action_undo(self) -> None:
        if self.thinking:
            return
        if not self.session.actions and not self.session.resigned:
            self.status = "Nothing to take back."
            return
        self.session.undo()
        # Back to a person's turn, if a person has one.
        while self.session.actions and self.human_to_move() is None and not self.session.over:
            self.session.undo()
        self.forget_marks()
        self.refresh_all(self.TAKEN_BACK)
        self.let_agents_move()

    def action_hint(self) -> None:
        seat = self.human_to_move()
        if seat is not None:
            self._find_hint(seat)

    def action_resign(self) -> None:
        seat = self.human_to_move()
        if seat is not None:
            self.session.resign(seat)
            self.refresh_all()

    def action_again(self) -> None:
        if self.thinking:
            return
        players = self.session.players[1:] + self.session.players[:1]
        self.names = self.names[1:] + self.names[:1]
        self.session = Session(self.session.game, players, random.Random(self.session.seed).randrange(2**31))
        self.forget_marks()
        self.refresh_all(self.RENEWED)
        self.let_agents_move()

    def action_save(self) -> None:
        if not self.session.over:
            self.status = "Only a finished game can be saved; resign first if you have had enough."
            return
        path = save_game(self.session, self.names, self.folder)
        self.last_words = f"Saved: {path}"
        self.status = self.last_words

    # What happens in between.

    def human_to_move(self) -> int | None:
        if self.thinking or self.session.over:
            return None
        (seat,) = self.session.movers
        return seat if self.session.players[seat] is None else None

    def human_acts(self, seat: int, action: int) -> None:
        """An action of a person; an illegal one is explained."""
        before = self.session.state
        try:
            self.session.act({seat: action})
        except StratagemError as error:
            self.status = str(error).partition(": ")[2] or str(error)
            return
        self.acted(before, action)
        self.let_agents_move()

    def let_agents_move(self) -> None:
        if not self.session.over and self.human_to_move() is None:
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
        self.call_from_thread(self._hint_found, action)

    def _think(self, on: bool) -> None:
        self.thinking = on
        self.refresh_all()

    def _agent_acted(self, seat: int, action: int) -> None:
        self.thinking = False
        before = self.session.state
        self.session.act({seat: action})
        self.acted(before, action)
        self.let_agents_move()

    def _hint_found(self, action: int) -> None:
        self.thinking = False
        self.show_hint(action)
