"""The terminal board of GENERAL."""

import random
from pathlib import Path
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
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
from stratagem.games.general import General
from stratagem.games.general.board import CELLS, GARRISONS, GENERAL, MOAT, SIDE
from stratagem.games.general.rules import OFFENSIVE_FROM, PASS
from stratagem.games.general.text import COLUMNS, ROLES, name, on_board, signs
from stratagem.protocols.replay import Replay

CELL_WIDTH, CELL_HEIGHT, MARGIN = 5, 2, 3
# Orange and blue: told apart by people with any colour vision, and by their letter.
UNIT = {"A": "#f2a541", "D": "#4c9be8"}
GROUND = ("#2b2f36", "#30353d")
GROUND_OF = ((GENERAL, "#6b5d1c"), (MOAT, "#23404a"), (GARRISONS[0], "#4a3820"), (GARRISONS[1], "#1f3552"))
FACES = " ⚀⚁⚂⚃⚄⚅"
GENERAL_CELLS = set(np.flatnonzero(on_board(GENERAL)).tolist())


def play(session: Session, names: list[str], adviser: Agent, save: Path) -> str:
    """Run the board until it is left; the result is what to print then."""
    board = GeneralApp(session, names, adviser, save)
    board.run()
    return board.last_words


def ground(cell: int) -> str:
    """The colour of a cell."""
    for rows, colour in GROUND_OF:
        if on_board(rows)[cell]:
            return colour
    return GROUND[(cell // SIDE + cell % SIDE) % 2]


COLOURS = [ground(cell) for cell in range(CELLS)]


class BoardView(Static):
    """The cells, the cursor, the chosen unit and where it may go."""

    can_focus = True

    def __init__(self, app_state: "GeneralApp") -> None:
        super().__init__()
        self.state = app_state

    def render(self) -> Text:
        rows = signs(self.state.session.state)
        targets, garrisonings = self.state.targets()
        text = Text()
        for row in range(SIDE):
            for line in range(CELL_HEIGHT):
                text.append(f"{row + 1 if line == 0 else '':>{MARGIN - 1}} ", "dim")
                for column in range(SIDE):
                    cell = row * SIDE + column
                    text.append_text(self._cell(rows[row][column], cell, line, targets, garrisonings))
                text.append("\n")
        letters = "".join(f"{letter:^{CELL_WIDTH}}" for letter in COLUMNS)
        text.append(" " * MARGIN + letters + " " * MARGIN, "dim")
        return text

    def _cell(self, sign: str, cell: int, line: int, targets: set[int], garrisonings: set[int]) -> Text:
        state = self.state
        style = Style(bgcolor=COLOURS[cell])
        content = " " * CELL_WIDTH
        if line == 0:
            if sign in UNIT:
                content = f"{sign:^{CELL_WIDTH}}"
                style += Style(color=UNIT[sign], bold=True, underline=cell in state.starts())
            elif sign == "G":
                content = f"{'♜':^{CELL_WIDTH}}"
                style += Style(color="#ffe08a", underline=OFFENSIVE_FROM in state.starts())
            if cell in targets:
                mark = "◇" if cell in garrisonings else "✕" if sign != "." else "●"
                content = f"{mark if sign == '.' else sign + mark:^{CELL_WIDTH}}"
                style += Style(color="#8fe388", bold=True)
            if cell == state.selected or (state.selected == OFFENSIVE_FROM and sign == "G"):
                style += Style(reverse=True)
            if cell == state.cursor:
                content = f"[{content[1:-1]}]"
                style += Style(color="#ffffff", bold=True)
        elif cell in state.last_cells:
            content, style = f"{'·':^{CELL_WIDTH}}", style + Style(color="#cccccc")
        elif cell == state.hinted:
            content, style = f"{'★':^{CELL_WIDTH}}", style + Style(color="#ffe08a", bold=True)
        return Text(content, style)

    def on_click(self, event: Click) -> None:
        column, row = (event.x - MARGIN) // CELL_WIDTH, event.y // CELL_HEIGHT
        if 0 <= column < SIDE and 0 <= row < SIDE:
            self.state.cursor = row * SIDE + column
            self.state.action_act()


class GeneralApp(App[None]):
    """A game of GENERAL, again and again until somebody has enough."""

    TITLE = "GENERAL"
    CSS = """
    Screen { align: center middle; }
    #column { width: 76; height: auto; }
    BoardView { width: auto; height: auto; }
    #scores { width: 76; height: auto; text-align: center; }
    #status { width: 76; height: 2; text-align: center; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "go(-1, 0)", "move", show=False),
        Binding("down,j", "go(1, 0)", "move", show=False),
        Binding("left", "go(0, -1)", "move", show=False),
        Binding("right,l", "go(0, 1)", "move", show=False),
        Binding("enter,space", "act", "choose, go"),
        Binding("escape", "drop", "let go"),
        Binding("u", "undo", "undo"),
        Binding("h", "hint", "hint"),
        Binding("r", "resign", "resign"),
        Binding("n", "again", "new game"),
        Binding("s", "save", "save"),
        Binding("q", "quit", "quit"),
    ]

    cursor: reactive[int] = reactive(74)
    selected: reactive[int] = reactive(-1)
    hinted: reactive[int] = reactive(-1)
    status: reactive[str] = reactive("")
    thinking: reactive[bool] = reactive(False)

    def __init__(self, session: Session, names: list[str], adviser: Agent, save: Path):
        super().__init__()
        assert isinstance(session.game, General)
        self.game: General = session.game
        self.session, self.names, self.adviser, self.folder = session, names, adviser, save
        self.last_words = ""
        self.last_cells: set[int] = set()
        self._legal = jax.jit(self.game.legal)
        self.legal: set[int] = set()  # the actions of the person to move
        self.normal: set[int] = set()  # those of them that are no garrisoning

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

    # What is possible now.

    def starts(self) -> set[int]:
        """The cells of which something can be done: units, the General for its offensive, units to convert."""
        return {action // CELLS for action in self.legal if action < PASS}

    def targets(self) -> tuple[set[int], set[int]]:
        """(Where the chosen unit may go, which of it is a garrisoning); or the units to choose from."""
        if int(self.session.state.converting):
            return self.starts(), set()
        chosen = {action for action in self.legal if action < PASS and action // CELLS == self.selected}
        return {action % CELLS for action in chosen}, {action % CELLS for action in chosen - self.normal}

    # What the keys do.

    def action_go(self, down: int, right: int) -> None:
        row, column = divmod(self.cursor, SIDE)
        self.cursor = (row + down) % SIDE * SIDE + (column + right) % SIDE

    def action_drop(self) -> None:
        self.selected = -1
        self._refresh()

    def action_act(self) -> None:
        seat = self._human_to_move()
        if seat is None:
            return
        if self.legal == {PASS}:
            self._act(seat, PASS)
        elif int(self.session.state.converting):
            self._act(seat, self.cursor * CELLS + self.cursor)
        elif self._start_here() in self.starts() and self._start_here() != self.selected:
            self.selected = self._start_here()
            self._refresh(self._choice_note())
        elif self.selected == self._start_here():
            self.action_drop()
        elif self.selected >= 0:
            self._act(seat, self.selected * CELLS + self.cursor)
        else:
            die = int(self.session.state.die)
            self.status = f"Nothing on {name(self.cursor)} can move with a {die}; what can is underlined."

    def _start_here(self) -> int:
        """What the cursor takes hold of: any General cell stands for the General, unless it is a target."""
        if self.cursor in GENERAL_CELLS and self.selected in (-1, OFFENSIVE_FROM):
            return OFFENSIVE_FROM
        return self.cursor

    def _act(self, seat: int, action: int) -> None:
        before = self.session.state
        try:
            self.session.act({seat: action})
        except StratagemError as error:
            self.status = str(error).partition(": ")[2] or str(error)
            return
        self._acted(before, action)

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
        self._forget_marks()
        self._refresh("Taken back; the same dice will fall again.")
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
        self.session = Session(self.game, players, random.Random(self.session.seed).randrange(2**31))
        self._forget_marks()
        self._refresh("New game, seats swapped; the toss decides who attacks.")
        self._let_agents_move()

    def action_save(self) -> None:
        if not self.session.over:
            self.status = "Only a finished game can be saved; resign first if you have had enough."
            return
        spec = self.game.spec
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

    def _forget_marks(self) -> None:
        self.hinted = self.selected = -1
        self.last_cells = set()

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
        before = self.session.state
        self.session.act({seat: action})
        self._acted(before, action)

    def _acted(self, before: Any, action: int) -> None:
        self._forget_marks()
        self.last_cells = set(divmod(action, CELLS)) if action < PASS else set()
        self._refresh(f"{what_happened(before, self.session.state, action)} ")
        self._let_agents_move()

    def _show_hint(self, action: int) -> None:
        self.thinking = False
        if action < PASS:
            start, end = divmod(action, CELLS)
            self.selected = start if start != end else -1
            self.hinted = self.cursor = end
        self._refresh(f"Hint: {self.game.write_action(action)}")

    def _choice_note(self) -> str:
        if self.selected == OFFENSIVE_FROM:
            return "Offensive of the General: choose the Attacker unit of the moat that goes."
        garrisoning = "; ◇ would be your garrisoning" if self.targets()[1] else ""
        return f"{name(self.selected)}: ● where it may go, ✕ what it may hit{garrisoning}."

    def _refresh(self, note: str = "") -> None:
        """Bring everything shown up to date."""
        session, state = self.session, self.session.state
        seat = self._human_to_move()
        self.legal, self.normal = set(), set()
        if seat is not None:
            moved = state._replace(garrisoned=jnp.ones_like(state.garrisoned))
            self.legal, self.normal = (
                set(np.flatnonzero(np.asarray(self._legal(one))[seat]).tolist()) for one in (state, moved)
            )
        self.query_one("#scores", Static).update(self._scores())
        if session.over:
            note = self._verdict()
        elif self.thinking:
            note = note or "thinking …"
        elif note.endswith(" ") or not note:
            note += self._prompt()
        self.status = note
        self.query_one(BoardView).refresh()

    def _scores(self) -> Text:
        session, state = self.session, self.session.state
        line = Text(justify="center")
        for role in (0, 1):
            seat = int(state.attacker) ^ role
            to_move = not session.over and seat in session.movers
            number = int(on_board(state.units[role]).sum())
            label = f"{'▶ ' if to_move else '  '}{ROLES[role]} ({self.names[seat]}) {number} units"
            line.append(label, Style(color=UNIT["AD"[role]], bold=to_move)).append("   ")
        die = int(state.die)
        line.append(f"\nhits {int(state.hits)}/3   turn {int(state.turn)}/{self.game.turns}   ")
        line.append(f"die {FACES[die]} {die}" if die else "no die", "bold")
        left = [f"{ROLES[role]}'s garrisoning" for role in (0, 1) if not bool(state.garrisoned[role])]
        left += [] if bool(state.stormed) else ["offensive"]
        return line.append(f"\nleft: {', '.join(left) or 'no special right'}", "dim")

    def _prompt(self) -> str:
        state = self.session.state
        if int(state.converting):
            return "Conversion: choose the unit that changes sides."
        if self.legal == {PASS}:
            return "No value of the die allows anything; Enter passes."
        special = " 1: the General may strike, choose it." if OFFENSIVE_FROM in self.starts() else ""
        if self.legal - self.normal:
            special = " 6: a unit in your garrison may go anywhere."
        return f"Your turn, {ROLES[int(state.turn) % 2]}.{special}"

    def _verdict(self) -> str:
        best = max(self.session.returns)
        if best == 0:
            return "A draw. n plays again with seats swapped, s saves."
        seat = self.session.returns.index(best)
        role = ROLES[seat ^ int(self.session.state.attacker)]
        how = " by resignation" if self.session.resigned else ""
        return f"The {role} ({self.names[seat]}) wins{how}. n plays again with seats swapped, s saves."

    def watch_status(self, status: str) -> None:
        for line in self.query("#status").results(Static):  # none before the screen is composed
            line.update(status)

    def watch_cursor(self) -> None:
        self.query(BoardView).refresh()

    watch_hinted = watch_cursor
    watch_selected = watch_cursor


def what_happened(before: Any, after: Any, action: int) -> str:
    """An action and what came of it, in words."""
    role = int(before.turn) % 2
    lost = [
        int(on_board(before.units[side]).sum()) - int(on_board(after.units[side]).sum()) for side in (0, 1)
    ]
    if action == PASS:
        return f"The {ROLES[role]} passes."
    start, end = divmod(action, CELLS)
    if start == end:
        return f"The unit on {name(end)} changes sides."
    if start == OFFENSIVE_FROM:
        return f"The General strikes {name(end)}."
    text = f"{ROLES[role]} {name(start)}-{name(end)}"
    if int(after.hits) > int(before.hits):
        return f"{text}: the General is hit."
    if end in GENERAL_CELLS:
        gone = on_board(before.units[1]) & ~on_board(after.units[1])
        return f"{text}: intercepted by the guard on {', '.join(map(name, np.flatnonzero(gone)))}."
    if lost[1] < 0:
        return f"{text}: a unit changes sides."
    if lost[1 - role] > 0:
        return f"{text} takes a unit."
    if bool(after.garrisoned[role]) != bool(before.garrisoned[role]):
        return f"{text} by garrisoning."
    return f"{text}."
