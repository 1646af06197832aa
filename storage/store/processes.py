"""The processes that use a store, on this machine or another, and whether they still run."""

import os
import re
import socket
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

ABANDONED = timedelta(hours=48)
"""A process that can't be asked, as on another machine, and of which nothing was seen for so long is taken for dead."""

NAME = r"\d+-\d+\.\d+(?:-[0-9a-f.]+)?@[^/@]+"
"""Pattern of names of processes."""

_BOOT = Path("/proc/sys/kernel/random/boot_id")
_BOOT_DIGITS = 12
_START = 18  # among the numbers of /proc/<number>/stat


@dataclass(frozen=True)
class Process:
    """The process that runs something; its moment of creation tells it from a later one of the same number.

    Attributes:
        host: the machine's name, for people: several may have one.
        number: of the process.
        created: in ticks since the kernel began, which no change of a clock moves.
        space: where number and moment hold: this kernel since it began, and namespaces; empty if that is not known, as
            of processes of earlier versions.
    """

    host: str
    number: int
    created: float
    space: str = ""

    @classmethod
    def current(cls) -> "Process":
        """This process."""
        return cls(socket.gethostname(), os.getpid(), _created("self") or 0.0, _space())

    @classmethod
    def named(cls, name: str) -> "Process":
        """The process of a name.

        >>> process = Process("host.example.org", 7, 12345.0, "0a1b2c3d4e5f.4026531836")
        >>> process.name, Process.named(process.name) == process
        ('7-12345.0-0a1b2c3d4e5f.4026531836@host.example.org', True)

        Raises:
            ValueError: if it is none.
        """
        if not re.fullmatch(NAME, name):
            raise ValueError(f"{name!r}: not the name of a process")
        numbers, _, host = name.partition("@")
        number, created, *space = numbers.split("-")
        return cls(host, int(number), float(created), *space)

    @property
    def name(self) -> str:
        """All of it, as a part of the names of files."""
        space = f"-{self.space}" if self.space else ""
        return f"{self.number}-{self.created}{space}@{self.host}"

    def is_alive(self, seen: datetime, is_locked: bool | None = None) -> bool:
        """Whether it still runs.

        Args:
            seen: when something was seen of it last, which decides where nothing else can: less than ``ABANDONED`` ago.
            is_locked: what it has locked while it runs, as :func:`.locks.examined` says it.
        """
        if is_locked:
            return True
        if self.space and self.space == _space():
            return _created(str(self.number)) == self.created
        # Those of earlier versions locked nothing.
        is_free = bool(self.space) and is_locked is False
        return not is_free and datetime.now(UTC) - seen < ABANDONED


def _created(number: str) -> float | None:
    """The moment of creation of a process that runs."""
    try:
        state, *numbers = Path("/proc", number, "stat").read_bytes().rpartition(b")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    # One whose end nobody has asked for yet keeps its number, and nothing else.
    return None if state in (b"Z", b"X") else float(numbers[_START])


def _space() -> str:
    """Empty where processes can't be looked up by their number."""
    if not _BOOT.exists() or os.readlink("/proc/self") != str(os.getpid()):
        return ""
    kinds = [Path("/proc/self/ns", kind) for kind in ("pid", "time")]
    namespaces = (str(kind.stat().st_ino) for kind in kinds if kind.exists())
    return ".".join([_BOOT.read_text().replace("-", "")[:_BOOT_DIGITS], *namespaces])
