"""Connecting to Ray: a cluster of this process's own, or one that is there."""

import logging
import os
import socket
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from typing import Any

import ray
from ray._private import ray_constants
from ray._private import utils as ray_utils
from ray._private.authentication.authentication_token_setup import maybe_enable_token_auth_if_token_available
from ray._private.state import available_resources_per_node
from ray._private.utils import GcsClient, read_ray_address
from ray.exceptions import AuthenticationError, RayError

from tiltmeter.cluster import interrupts
from tiltmeter.cluster.authentication import require_token
from tiltmeter.cluster.capacity import BYTES_PER_MEGABYTE, Node
from tiltmeter.cluster.config import ClusterConfig, ClusterError, host_and_port

__all__ = ["ClusterConfig", "ClusterError", "connected", "nodes"]

_SECONDS_TO_ANSWER = 10.0
_SHORT = "/tmp"  # noqa: S108
_MOST_BYTES = 26
"""Of 107 that the path of a socket may have, Ray and we take 81 for the rest."""
_ADDRESS = "RAY_ADDRESS"


@contextmanager
def connected(config: ClusterConfig) -> Iterator[None]:
    """Connect to the cluster for the length of a ``with`` block.

    Raises:
        ClusterError: if the cluster can't be reached.
    """
    if ray.is_initialized():
        yield
        return
    logging.getLogger("ray").setLevel(logging.ERROR)  # its notices would stand in the middle of the progress display
    with _session_folder() if config.kind == "local" else nullcontext("") as folder:
        try:
            _start(config, folder) if config.kind == "local" else _connect(config)
            yield
        finally:
            ray.shutdown()


def nodes() -> list[Node]:
    """The nodes that are alive, by name."""
    free = available_resources_per_node()
    alive = [node for node in ray.nodes() if node["Alive"]]
    hosts = Counter(node["NodeManagerHostname"] for node in alive)
    return sorted(
        (_node(node, free.get(node["NodeID"], node["Resources"]), hosts) for node in alive), key=lambda node: node.name
    )


def _node(node: Mapping[str, Any], free: Mapping[str, float], hosts: Mapping[str, int]) -> Node:
    host, identity = node["NodeManagerHostname"], node["NodeID"]
    name = f"{host}-{identity[:6]}" if hosts[host] > 1 else host
    total = node["Resources"]
    return Node(
        id=identity,
        name=name,
        num_cpus=int(total.get("CPU", 0)),
        free_cpus=int(free.get("CPU", 0)),
        num_gpus=int(total.get("GPU", 0)),
        free_gpus=int(free.get("GPU", 0)),
        megabytes=int(total.get("memory", 0)) // BYTES_PER_MEGABYTE,
        free_megabytes=int(free.get("memory", 0)) // BYTES_PER_MEGABYTE,
    )


def _start(config: ClusterConfig, folder: str) -> None:
    require_token()
    memory = None if config.memory_megabytes is None else config.memory_megabytes * BYTES_PER_MEGABYTE
    try:
        with _on_loopback():
            # Without the explicit address a stale address file of another cluster here would be picked up.
            _init(
                address="local",
                num_cpus=config.num_cpus or os.cpu_count(),
                object_store_memory=config.object_store_megabytes * 2**20,
                include_dashboard=False,
                _memory=memory,
                _temp_dir=folder,
            )
    except ValueError as error:  # Ray found hardly any memory
        raise ClusterError(f"cluster=local: {error}; end other programs, or set cluster.memory_megabytes") from error


@contextmanager
def _session_folder() -> Iterator[str]:
    """Where Ray keeps sockets and logs, open to everybody: in a new folder that its owner alone can enter."""
    parents = [os.environ.get("RAY_TMPDIR") or tempfile.gettempdir(), _SHORT]
    parent = next((place for place in parents if len(os.fsencode(place)) <= _MOST_BYTES), _SHORT)
    try:
        # Workers on their way out may write a last line.
        folder = tempfile.TemporaryDirectory(prefix="tm-", dir=parent, ignore_cleanup_errors=True)
    except OSError as error:
        raise ClusterError(
            f"cluster=local: Ray's session can't lie in {parent} ({error.strerror}); set TMPDIR to a short path"
        ) from error
    with folder as place:
        yield f"{place}/ray"


def _init(**options: Any) -> None:
    """Join a cluster; of what it starts, Ray leaves a part behind where a signal breaks it off. It would answer SIGTERM
    itself from now on, and end the process without a word, whatever it is at.
    """
    setting, ray_utils.set_sigterm_handler = ray_utils.set_sigterm_handler, lambda _: None
    try:
        with interrupts.kept_waiting():
            ray.init(configure_logging=False, log_to_driver=False, **options)
    finally:
        ray_utils.set_sigterm_handler = setting


@contextmanager
def _on_loopback() -> Iterator[None]:
    """Ray listens on all network interfaces, and on the loopback alone where it was built for one machine."""
    for_many = ray_constants.ENABLE_RAY_CLUSTER
    ray_constants.ENABLE_RAY_CLUSTER = False
    try:
        yield
    finally:
        ray_constants.ENABLE_RAY_CLUSTER = for_many


def _connect(config: ClusterConfig) -> None:
    address, setting = _address(config)
    try:
        _ping(address)
        _init(address=address)
    except AuthenticationError as error:
        raise ClusterError(
            f"{setting}: the cluster has token authentication, and this process not its token: set RAY_AUTH_MODE=token "
            "and RAY_AUTH_TOKEN=<token>, or RAY_AUTH_TOKEN_PATH=<its file>, as on the cluster's nodes"
        ) from error
    except (OSError, RayError) as error:
        raise ClusterError(
            f"{setting}: no Ray cluster there ({error}); start one with `ray start --head`, name its address, or run "
            "on this machine with cluster=local"
        ) from error
    except RuntimeError as error:  # other versions of Python or Ray
        raise ClusterError(f"{setting}: {error}; run the command in the cluster's own environment") from error


def _address(config: ClusterConfig) -> tuple[str, str]:
    """Where the cluster is, and the setting that says so."""
    if config.address != "auto":
        return config.address, f"cluster.address={config.address}"
    if (value := os.environ.get(_ADDRESS, "auto")) not in ("", "auto"):
        try:
            return host_and_port(value), f"{_ADDRESS}={value}"
        except ValueError as error:
            raise ClusterError(f"{_ADDRESS}={value}: {error}; set it, or cluster.address=<host>:<port>") from error
    if written := read_ray_address():
        return written, f"cluster.address=auto (this machine's is {written})"
    raise ClusterError(
        f"cluster.address=auto: {_ADDRESS} is not set, and no `ray start` made this machine a part of a cluster; set "
        "cluster.address=<host>:<port>, or run on this machine with cluster=local"
    )


def _ping(address: str) -> None:
    """Fail at once where nobody listens or the token is wrong; Ray itself would try for long.

    A token goes to clusters that ask for one only: the workers of others have none to answer a driver with.
    """
    host, _, port = address.rpartition(":")
    socket.create_connection((host.strip("[]"), int(port)), timeout=_SECONDS_TO_ANSWER).close()
    try:
        GcsClient(address=address)
    except AuthenticationError:
        if not maybe_enable_token_auth_if_token_available(warn_if_disabled=False):
            raise
        GcsClient(address=address)
