"""One program over several devices and processes: games are spread over them, weights are everywhere.

Nothing in a learner knows of it but two places: where its state lives, and that a batch is spread while it is learned
from. XLA splits the rest and averages the gradients. Random numbers do not depend on the number of devices, so a run on
four is the run on one, up to the order in which floats are added.
"""

import re
from typing import Any

import jax
import numpy as np
from jax import Array
from jax.experimental import multihost_utils
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from stratagem.core.errors import BadOption

GAMES = "games"  # the axis of the mesh


def mesh_of(count: int = 0) -> Mesh | None:
    """All devices of all processes in a row, or the first so many; None for a single one."""
    devices = jax.devices()
    if count > len(devices):
        raise BadOption(f"there are {len(devices)} devices ({devices[0].platform}), not {count}")
    devices = devices[: count or len(devices)]
    return Mesh(np.array(devices), (GAMES,)) if len(devices) > 1 else None


def join(address: str, processes: int, process: int) -> None:
    """Become one of several processes. `auto` asks the cluster (SLURM, Open MPI) for all three."""
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    if address == "auto":
        jax.distributed.initialize()
        return
    if not 0 <= process < processes:
        raise BadOption(f"--process counts from 0 to {processes - 1}, not {process}")
    jax.distributed.initialize(address, processes, process, heartbeat_timeout_seconds=20)


def everywhere(mesh: Mesh) -> NamedSharding:
    return NamedSharding(mesh, PartitionSpec())


def by_games(mesh: Mesh) -> NamedSharding:
    return NamedSharding(mesh, PartitionSpec(GAMES))


def divided(mesh: Mesh, **counts: int) -> None:
    """Refuse numbers that do not go round."""
    for name, count in counts.items():
        if count % mesh.size:
            raise BadOption(f"{name} must be a multiple of the {mesh.size} devices, not {count}")


def spread_rows(tree: Any, mesh: Mesh | None) -> Any:
    """Traced: the rows of these arrays belong to the devices in turn."""
    return tree if mesh is None else jax.lax.with_sharding_constraint(tree, by_games(mesh))


def whole(tree: Any) -> Any:
    """The tree on the host, in every process; all of them must ask."""
    if jax.process_count() == 1:
        return tree

    def gathered(leaf: Array) -> Any:
        if jax.numpy.issubdtype(leaf.dtype, jax.dtypes.prng_key):
            return jax.random.wrap_key_data(
                multihost_utils.process_allgather(jax.random.key_data(leaf), tiled=True)
            )
        return multihost_utils.process_allgather(leaf, tiled=True)

    return jax.tree.map(gathered, tree)


def any_process(flag: bool) -> bool:
    """Whether one of the processes says so; all of them must ask."""
    if jax.process_count() == 1:
        return flag
    return bool(np.any(multihost_utils.process_allgather(np.array(flag))))


def lost(error: Exception) -> bool:
    """Whether this says that another process is gone. XLA's status comes as either type, depending on where it hits."""
    status = isinstance(error, jax.errors.JaxRuntimeError) or re.match(r"[A-Z_]+: ", str(error)) is not None
    return jax.process_count() > 1 and status


def writes() -> bool:
    """Whether this is the process that writes files."""
    return jax.process_index() == 0
