"""Whether an agent could play at once, asked before anything slow is done for it."""

from typing import Any

from stratagem.agents import make_agent
from stratagem.agents.network import shipped
from stratagem.agents.policy import shipped_policy
from stratagem.core.errors import BadOption
from stratagem.core.registry import split_choice
from stratagem.solvers.dice_layers import layout
from stratagem.solvers.dice_table import solve_command, table_path

POSITIONS_A_SECOND = 1.2e6  # that `stratagem solve` works off on two cores; measured with Yacht


class Unsolved(BadOption):
    """A perfect player whose game is not solved on this machine yet."""


def check_ready(choice: str, game: Any) -> None:
    """A StratagemError unless the agent can play at once; Unsolved says how long it takes to make it so."""
    name, options = split_choice(choice)
    if name == "malina":
        if not table_path(game.family).is_file():
            command, minutes = solve_command(game.family), minutes_to_solve(game)
            raise Unsolved(
                f"{game.spec.name} is not solved on this machine yet. `{command}` does it, "
                f"in about {minutes} on two cores; then this player is perfect"
            )
    elif "weights" in options:
        return  # whoever names a file has looked at it
    elif name in ("net", "az"):
        shipped(game)
    elif name == "policy":
        shipped_policy(game)
    else:
        make_agent(choice, game)


def minutes_to_solve(game: Any) -> str:
    minutes = max(1, round(layout(game.family).positions / POSITIONS_A_SECOND / 60))
    return (
        "a minute"
        if minutes == 1
        else f"{minutes} minutes"
        if minutes < 120
        else f"{round(minutes / 60)} hours"
    )
