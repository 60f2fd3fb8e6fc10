"""What learners have in common whose whole state is one tree of arrays, and whose moving average plays."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import jax
from jax import Array

from stratagem.learners.mesh import whole, writes
from stratagem.networks.tensors import read_tree, write_tree


class WholeState:
    """A learner's state has `iteration` and `average`; its config has `iterations` and `network`."""

    config: Any
    _start: Callable[[Array], Any]  # traced: the state before the first iteration

    @property
    def iterations(self) -> int:
        return self.config.iterations

    def iteration(self, state: Any) -> int:
        return int(state.iteration)

    def network(self, state: Any) -> Any:
        """The network that plays."""
        return state.average

    def save(self, state: Any, folder: Path) -> None:
        facts = {"kind": "checkpoint", "iteration": self.iteration(state), "network": self.config.network}
        state = whole(state)
        if writes():
            write_tree(folder / "checkpoint.safetensors", state, facts)

    def load(self, folder: Path) -> Any:
        """What `save` wrote, bit for bit."""
        like = jax.eval_shape(self._start, jax.random.key(0))
        return self.placed(read_tree(folder / "checkpoint.safetensors", like))

    def placed(self, state: Any) -> Any:
        """The state on the devices where its parts belong."""
        return state


def numbers(metrics: Mapping[str, Array]) -> dict[str, float]:
    """Metrics on the host."""
    return {name: float(value) for name, value in jax.device_get(metrics).items()}
