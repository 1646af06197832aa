"""Connecting to Ray: a cluster of this process's own, or one that is there."""

import logging
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

import pydantic
import ray
from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

_SECONDS_TO_ANSWER = 10.0

_PACKAGES = ("cluster", "conf", "jobs", "operators", "storage")

_WORKER_ITSELF_MEGABYTES = 400
"""Python with the libraries that a worker imports and the functions that it compiles."""


class ClusterError(ValueError):
    """The cluster can't be reached, or is too small for the work; the message says which setting mends it."""


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class ClusterConfig:
    """Where units run.

    Attributes:
        kind: ``local`` starts Ray here and stops it at the end; ``existing`` connects to a running cluster.
        address: of an existing cluster; ``auto`` finds the one that this machine belongs to.
        num_cpus: worker processes of a local cluster, one unit at a time each; None: one per core. On an existing
            cluster, the most CPUs to take; None: all that are free when the run starts.
        max_retries: how often a unit is tried again after its worker died (not after an error of its own).
        worker_megabytes: memory that a worker keeps to while corpora are read, counted, merged and trained on: work is
            cut accordingly, whatever the size of the corpus. Training takes the vectors of a replica beside it.
        scratch: folder on a fast local disk of each node, absolute, for the pairs of a training that are more than a
            worker's memory; None: the system's folder for temporary files.
        object_store_megabytes: shared memory of a local cluster; units pass tables through the store, not through Ray.
    """

    kind: Literal["local", "existing"] = "local"
    address: str = "auto"
    num_cpus: Annotated[int, Field(ge=1)] | None = None
    max_retries: Annotated[int, Field(ge=0)] = 3
    worker_megabytes: Annotated[int, Field(ge=500)] = 1500
    scratch: Annotated[str, Field(min_length=1)] | None = None
    object_store_megabytes: Annotated[int, Field(ge=80)] = 128

    @pydantic.field_validator("scratch")
    @classmethod
    def _absolute(cls, value: str | None) -> str | None:
        if value is not None and not Path(value).is_absolute():
            raise ValueError("must be an absolute path, as every node has a folder of its own there")
        return value

    @property
    def worker_data_bytes(self) -> int:
        """What is left of a worker's memory for its data."""
        return (self.worker_megabytes - _WORKER_ITSELF_MEGABYTES) * 1_000_000


class Workers(NamedTuple):
    """How many workers the cluster has room for, and how many GPUs it has."""

    num_workers: int
    num_gpus: int


@contextmanager
def connected(config: ClusterConfig) -> Iterator[Workers]:
    """Connect to the cluster for the length of a ``with`` block, which receives the workers to start.

    Raises:
        ClusterError: if the cluster can't be reached or has no free CPU, or if the working directory has modules that
            workers would take for ours.
    """
    _refuse_namesakes(Path.cwd())
    if ray.is_initialized():
        yield _workers(config)
        return
    logging.getLogger("ray").setLevel(logging.ERROR)  # its notices would stand in the middle of the progress display
    try:
        _start(config) if config.kind == "local" else _connect(config)
        yield _workers(config)
    finally:
        ray.shutdown()


def _refuse_namesakes(folder: Path) -> None:
    """Ray's workers import from the driver's working directory first."""
    ours = Path(__file__).parents[1]
    for package in _PACKAGES:
        found = PathFinder.find_spec(package, [str(folder)])
        if found and found.origin and Path(found.origin).parent != ours / package:
            raise ClusterError(
                f"{found.origin}: workers would import this and not Tiltmeter's own package {package}: rename it, or "
                "run in another folder"
            )


def _start(config: ClusterConfig) -> None:
    # Without the explicit address a stale address file of another cluster on this machine would be picked up.
    ray.init(
        address="local",
        num_cpus=config.num_cpus or os.cpu_count(),
        object_store_memory=config.object_store_megabytes * 2**20,
        include_dashboard=False,
        configure_logging=False,
        log_to_driver=False,
    )


def _connect(config: ClusterConfig) -> None:
    try:
        _knock(config.address)
        ray.init(address=config.address, configure_logging=False, log_to_driver=False)
    except OSError as error:
        raise ClusterError(
            f"cluster.address={config.address}: no Ray cluster there ({error}); start one with `ray start --head`, "
            "name its address, or run on this machine with cluster=local"
        ) from error


def _knock(address: str) -> None:
    """Fail at once where nobody listens; Ray itself would try for minutes."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if colon and port.isdigit():
        socket.create_connection((host, int(port)), timeout=_SECONDS_TO_ANSWER).close()


def _workers(config: ClusterConfig) -> Workers:
    available = ray.available_resources()
    free = int(available.get("CPU", 0))
    if free < 1:
        total = int(ray.cluster_resources().get("CPU", 0))
        raise ClusterError(
            f"the cluster has {free} of {total} CPUs free, a worker needs 1: wait for the other jobs, add nodes, or "
            "use cluster=local"
        )
    return Workers(min(free, config.num_cpus or free), int(available.get("GPU", 0)))
