"""`stratagem games`"""

from dataclasses import dataclass
from typing import Any

from stratagem.agents import agents_for
from stratagem.cli.output import out, print_json
from stratagem.games import GAMES


@dataclass(frozen=True)
class Command:
    """List the games, their variants and the agents that play them."""

    json: bool = False
    """Print one JSON object instead of a table."""

    def run(self) -> int:
        rows: list[dict[str, Any]] = []
        for row in GAMES:
            game = row.load()()
            spec = game.spec
            rows.append(
                {
                    "name": row.name,
                    "summary": row.summary,
                    "default": spec.title,
                    "ruleset": spec.ruleset,
                    "seats": spec.seats,
                    "actions": spec.actions,
                    "dynamics": spec.dynamics,
                    "chance": spec.chance,
                    "information": spec.information,
                    "longest": spec.longest,
                    "variants": {name: dict(options) for name, options in row.variants.items()},
                    "agents": {agent.name: agent.summary for agent in agents_for(game)},
                }
            )
        if self.json:
            print_json({"games": rows})
            return 0
        for facts in rows:
            out.print(f"[bold cyan]{facts['name']}[/]  {facts['summary']}")
            out.print(
                f"  {facts['dynamics']}, {facts['information']} information, chance: {facts['chance']}, "
                f"{facts['seats']} seats, {facts['actions']} actions, at most {facts['longest']} turns"
            )
            out.print(f"  [dim]default[/] {facts['default']}  [dim]ruleset[/] {facts['ruleset']}")
            for name, options in facts["variants"].items():
                choice = ",".join(f"{key}={value}" for key, value in options.items())
                out.print(f"  [dim]variant[/] {facts['name']}:{choice}  [dim]({name})[/]")
            for name, summary in facts["agents"].items():
                out.print(f"  [dim]agent[/] [green]{name}[/]  {summary}")
            out.print()
        out.print(
            "Options follow a colon: `corso:width=7,height=7`, `mm:depth=4,temperature=0`.", style="dim"
        )
        return 0
