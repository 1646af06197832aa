"""The processes that use a store, on this machine or another, and whether they still run."""

import os
import re
import socket
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import psutil

ABANDONED = timedelta(hours=48)
"""A process on another machine of which nothing was seen for so long is taken for dead."""

NAME = r"\d+-\d+\.\d+@[^/@]+"
"""Pattern of names of processes."""


@dataclass(frozen=True)
class Process:
    """The process that runs something; its moment of creation tells it from a later one of the same number."""

    host: str
    number: int
    created: float

    @classmethod
    def current(cls) -> "Process":
        """This process."""
        return cls.of(os.getpid())

    @classmethod
    def of(cls, number: int) -> "Process":
        """The process of this machine that has a number."""
        return cls(socket.gethostname(), number, psutil.Process(number).create_time())

    @classmethod
    def named(cls, name: str) -> "Process":
        """The process of a name.

        >>> process = Process("host.example.org", 7, 1732312345.67)
        >>> process.name, Process.named(process.name) == process
        ('7-1732312345.67@host.example.org', True)

        Raises:
            ValueError: if it is none.
        """
        if not re.fullmatch(NAME, name):
            raise ValueError(f"{name!r}: not the name of a process")
        numbers, _, host = name.partition("@")
        number, _, created = numbers.partition("-")
        return cls(host, int(number), float(created))

    @property
    def name(self) -> str:
        """All of it, as a part of the names of files."""
        return f"{self.number}-{self.created}@{self.host}"

    @property
    def is_here(self) -> bool:
        """Whether it is, or was, a process of this machine."""
        return self.host == socket.gethostname()

    def is_alive(self, seen: datetime) -> bool:
        """Whether it still runs; of one on another machine, whether it was last seen less than ``ABANDONED`` ago."""
        if not self.is_here:
            return datetime.now(UTC) - seen < ABANDONED
        try:
            process = psutil.Process(self.number)
            # One whose end nobody has asked for yet keeps its number, and nothing else.
            return process.create_time() == self.created and process.status() != psutil.STATUS_ZOMBIE
        except psutil.NoSuchProcess:
            return False
