"""Where units run: the settings of the cluster, and the error that says what is wrong with it."""

import re
from pathlib import Path
from typing import Annotated, Literal

import pydantic
from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

from tiltmeter.storage.errors import Refusal

WORKER_SETTING = "cluster.worker_megabytes"
LEAST_WORKER_MEGABYTES = 500

_WORKER_ITSELF_MEGABYTES = 400
"""Python with the libraries that a worker imports and the functions that it compiles."""

_HOST_AND_PORT = re.compile(r"(\[[0-9a-fA-F:.]+\]|[\w.-]+):(\d{1,5})")
_LAST_PORT = 65_535


class ClusterError(Refusal, ValueError):
    """The cluster can't be reached, or is not fit for the work; the message says which setting fixes it."""


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class ClusterConfig:
    """Where units run.

    Attributes:
        kind: ``local`` starts Ray here and stops it at the end; ``existing`` connects to a running cluster.
        address: ``<host>:<port>`` of an existing cluster; ``auto`` takes what the environment variable ``RAY_ADDRESS``
            says, or else the cluster that ``ray start`` made this machine a part of.
        num_cpus: worker processes of a local cluster, one unit at a time each; None: one per core. On an existing
            cluster, the most CPUs to take; None: all that are free when the run starts. There are fewer workers where
            memory is short.
        max_retries: how often a unit is tried again after its worker died (not after an error of its own).
        worker_megabytes: memory that a worker keeps to while corpora are read, counted, merged and trained on: work is
            cut accordingly, whatever the size of the corpus. Training takes the vectors of a replica beside it.
        memory_megabytes: of a local cluster, for all its workers together; None: what is free here at the start.
        scratch: folder on a fast local disk of each node, absolute, for the pairs of a training that are more than a
            worker's memory; None: the system's folder for temporary files.
        object_store_megabytes: shared memory of a local cluster; units pass tables through the store, not through Ray.
    """

    kind: Literal["local", "existing"] = "local"
    address: str = "auto"
    num_cpus: Annotated[int, Field(ge=1)] | None = None
    max_retries: Annotated[int, Field(ge=0)] = 3
    worker_megabytes: Annotated[int, Field(ge=LEAST_WORKER_MEGABYTES)] = 1500
    memory_megabytes: Annotated[int, Field(ge=LEAST_WORKER_MEGABYTES)] | None = None
    scratch: Annotated[str, Field(min_length=1)] | None = None
    object_store_megabytes: Annotated[int, Field(ge=80)] = 128

    @pydantic.field_validator("address")
    @classmethod
    def _auto_or_host(cls, value: str) -> str:
        return value if value == "auto" else host_and_port(value)

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


def host_and_port(address: str) -> str:
    """The address of a cluster, if it is one.

    >>> host_and_port("head.example.org:6379")
    'head.example.org:6379'

    Raises:
        ValueError: for anything else, such as the addresses of a dashboard or of Ray's client.
    """
    match = _HOST_AND_PORT.fullmatch(address)
    if not match or int(match[2]) > _LAST_PORT:
        raise ValueError(
            "must be <host>:<port>, as `ray start` prints it. An address that begins with http:// is for `ray job "
            "submit`, which starts the command within the cluster; ray:// is for Ray's client, which can't run units"
        )
    return address
