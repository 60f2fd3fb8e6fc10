"""Weight files of agents: where the shipped ones are, and each file read once."""

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import jax

from stratagem.core.errors import DamagedFile
from stratagem.networks.weights import weight_facts

SHIPPED = Path(__file__).parent.parent / "weights"


def loaded(load: Callable[[str, Any], Any], path: Path, subject: Any) -> Any:
    """What `load(path, subject)` makes of the file; kept until the file changes."""
    if not path.is_file():
        raise DamagedFile(f"{path}: no such weight file")
    return _loaded(load, str(path), path.stat().st_mtime_ns, subject)


@lru_cache(maxsize=16)
def _loaded(load: Callable[[str, Any], Any], path: str, changed: int, subject: Any) -> Any:
    """Arrays, never tracers: loading may be asked for in the middle of a trace."""
    with jax.ensure_compile_time_eval():
        return load(path, subject)


def card(path: Path) -> dict[str, Any]:
    """What a weight file says of itself: game, rulesets, network, and whether it is a policy."""
    return weight_facts(path)
