"""The terminal board of GENERAL."""

from pathlib import Path
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
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
from stratagem.games.general import General
from stratagem.games.general.board import CELLS, GARRISONS, GENERAL, MOAT, SIDE
from stratagem.games.general.state import OFFENSIVE_FROM, PASS
from stratagem.games.general.text import COLUMNS, ROLES, name, on_board, signs

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


class GeneralBoard(BoardView):
    """The cells, the cursor, the chosen unit and where it may go."""

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
        self.state.point(event.y // CELL_HEIGHT, (event.x - MARGIN) // CELL_WIDTH)


class GeneralApp(BoardApp):
    """A game of GENERAL."""

    TITLE = "GENERAL"
    CSS = BoardApp.CSS + "#column, #scores, #status { width: 76; } #status { height: 2; }"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter,space", "act", "choose, go"),
        Binding("escape", "drop", "let go"),
        *BoardApp.KEYS,
    ]
    TAKEN_BACK = "Taken back; the same dice will fall again."
    RENEWED = "New game, seats swapped; the toss decides who attacks."

    selected: reactive[int] = reactive(-1)

    def __init__(self, session: Session, names: list[str], adviser: Agent, save: Path):
        assert isinstance(session.game, General)
        super().__init__(session, names, adviser, save, SIDE, SIDE)
        self.game: General = session.game
        self.last_cells: set[int] = set()
        self._legal = jax.jit(self.game.legal)
        self.legal: set[int] = set()  # the actions of the person to move
        self.normal: set[int] = set()  # those of them that are no garrisoning
        self.set_reactive(GeneralApp.cursor, 74)

    def board(self) -> BoardView:
        return GeneralBoard(self)

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

    def action_drop(self) -> None:
        self.selected = -1
        self.refresh_all()

    def action_act(self) -> None:
        seat = self.human_to_move()
        if seat is None:
            return
        if self.legal == {PASS}:
            self.human_acts(seat, PASS)
        elif int(self.session.state.converting):
            self.human_acts(seat, self.cursor * CELLS + self.cursor)
        elif self._start_here() in self.starts() and self._start_here() != self.selected:
            self.selected = self._start_here()
            self.refresh_all(self._choice_note())
        elif self.selected == self._start_here():
            self.action_drop()
        elif self.selected >= 0:
            self.human_acts(seat, self.selected * CELLS + self.cursor)
        else:
            die = int(self.session.state.die)
            self.status = f"Nothing on {name(self.cursor)} can move with a {die}; what can is underlined."

    def _start_here(self) -> int:
        """What the cursor takes hold of: any General cell stands for the General, unless it is a target."""
        if self.cursor in GENERAL_CELLS and self.selected in (-1, OFFENSIVE_FROM):
            return OFFENSIVE_FROM
        return self.cursor

    def forget_marks(self) -> None:
        self.hinted = self.selected = -1
        self.last_cells = set()

    def acted(self, before: Any, action: int) -> None:
        self.forget_marks()
        self.last_cells = set(divmod(action, CELLS)) if action < PASS else set()
        self.refresh_all(f"{what_happened(before, self.session.state, action)} ")

    def show_hint(self, action: int) -> None:
        if action < PASS:
            start, end = divmod(action, CELLS)
            self.selected = start if start != end else -1
            self.hinted = self.cursor = end
        self.refresh_all(f"Hint: {self.game.write_action(action)}")

    def _choice_note(self) -> str:
        if self.selected == OFFENSIVE_FROM:
            return "Offensive of the General: choose the Attacker unit of the moat that goes."
        garrisoning = "; ◇ would be your garrisoning" if self.targets()[1] else ""
        return f"{name(self.selected)}: ● where it may go, ✕ what it may hit{garrisoning}."

    def refresh_all(self, note: str = "") -> None:
        session, state = self.session, self.session.state
        seat = self.human_to_move()
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

    watch_selected = BoardApp.watch_cursor


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
