"""What a preset of PPO is: a recipe, and what it is measured on."""

from dataclasses import dataclass

from stratagem.learners.ppo import PPOConfig


@dataclass(frozen=True)
class Preset:
    """A recipe, and what it is measured on."""

    board: str
    """Options of the game, unless the user gives some."""
    config: PPOConfig
    rivals: tuple[str, ...]
    """Who it plays while it learns."""
    games: int = 64
    """Games against each of them."""
    evaluate: int = 50
    """Iterations between those matches."""
    teachers: tuple[str, ...] = ()
    """Whose moves it learns first, before it plays against itself."""
    lessons: int = 0
    """Iterations of that."""
