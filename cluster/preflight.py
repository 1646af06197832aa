"""Before any work: has every stage room, does every node reach the store, and has every node the same code?

A local cluster is this process's own machine and environment, for which this process answers itself.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ray._private.authentication.authentication_utils import is_token_auth_enabled

from tiltmeter.cluster.capacity import (
    Node,
    ResourceRequest,
    Workers,
    memory_warning,
    num_workers_on,
    usual_request,
    workers_for,
)
from tiltmeter.cluster.config import ClusterConfig, ClusterError
from tiltmeter.cluster.connection import nodes
from tiltmeter.cluster.environment import Environment, differences, environment
from tiltmeter.cluster.node_checks import check_nodes
from tiltmeter.storage.store.ledger import Store
from tiltmeter.storage.store.probes import probe_in

ResourceRequests = Callable[[int], Sequence[ResourceRequest]]
"""What stages ask for beyond what is usual, in a cluster that has so many GPUs free."""


@dataclass(frozen=True)
class Preflight:
    """What was found.

    Attributes:
        nodes: that are alive.
        requests: of all stages, the usual one first.
        workers: to start.
        code: a digest of each of Tiltmeter's own packages, the same everywhere.
        warnings: what need not be fixed and should be known.
    """

    nodes: Sequence[Node]
    requests: Sequence[ResourceRequest]
    workers: Workers
    code: Mapping[str, str]
    warnings: Sequence[str]

    def record(self) -> dict[str, Any]:
        """The same for ``run.json``."""
        return {
            "nodes": [
                {"name": node.name, "cpus": node.num_cpus, "gpus": node.num_gpus, "memory_megabytes": node.megabytes}
                | {"workers": {request.stage: num_workers_on(node, request) for request in self.requests}}
                for node in self.nodes
            ],
            "asks": {request.stage: dict(request.parts) for request in self.requests},
            "workers": self.workers._asdict(),
            "code": dict(self.code),
            "warnings": list(self.warnings),
        }


def preflight(config: ClusterConfig, store: Store, requested: ResourceRequests, packages: Sequence[str]) -> Preflight:
    """Look at the connected cluster, for a run that is about to start on it.

    Args:
        config: of the cluster.
        store: that its nodes share.
        requested: what the stages ask for.
        packages: distributions that decide results.

    Raises:
        ClusterError: if no node has room for a worker, or if a node does not answer, does not reach the store, or has
            other versions.
        StorageError: if this process can't write into the store.
    """
    while True:
        alive = nodes()
        try:
            return _checked(alive, config, store, requested, packages)
        except ClusterError:
            # A node that was just lost counts as alive for a while.
            if {node.id for node in alive} <= {node.id for node in nodes()}:
                raise


def _checked(
    alive: Sequence[Node], config: ClusterConfig, store: Store, requested: ResourceRequests, packages: Sequence[str]
) -> Preflight:
    requests = [usual_request(config), *requested(sum(node.free_gpus for node in alive))]
    workers = workers_for(alive, requests, config)
    here, others = environment(packages), {}
    if config.kind == "existing" or len(alive) > 1:
        others = check_nodes([node for node in alive if node.num_cpus], store, packages)
        _refuse_differences({"here": here} | {f"on {name}": other for name, other in others.items()})
    else:
        with probe_in(store.filesystem, store.path):
            pass
    warnings = (memory_warning(alive, requests, workers, config), _without_token(), _many_processors(others))
    return Preflight(alive, requests, workers, here.code, [warning for warning in warnings if warning])


def _refuse_differences(environments: Mapping[str, Environment]) -> None:
    if unlike := differences(environments):
        raise ClusterError(
            "not all nodes have the same versions, and might compute something else:"
            + "".join(f"\n  {sentence}" for sentence in unlike)
            + "\ninstall the same on every node, or bring the checkout along with `ray job submit --working-dir src`"
        )


def _without_token() -> str | None:
    if is_token_auth_enabled():
        return None
    return (
        "the cluster has no token authentication: whoever reaches its ports can run programs there; start it with "
        "RAY_AUTH_MODE=token"
    )


def _many_processors(environments: Mapping[str, Environment]) -> str | None:
    names = sorted({environment.processor for environment in environments.values()})
    if len(names) < 2:
        return None
    return f"nodes have different processors ({'; '.join(names)}): the last digits of results may depend on the node"
