"""Locks of files and folders that the kernel holds for a process, and drops when it ends, however that comes about.

They say who is alive whatever the clock does, and to processes of other PID namespaces too.
"""

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NO_LOCKS = {errno.EBADF, errno.EINVAL, errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP}
"""What file systems answer that lock no files, or no folders."""

_OF_THIS_MACHINE = ("overlay", "tmpfs")
"""File systems without a disk that no other machine reaches."""


def lock(descriptor: int) -> None:
    """Lock an open file or folder until it is closed, where the file system can; waits for those who look at it."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise


def locked_folder(path: Path) -> int:
    """Make a folder and lock it; returns its descriptor, which is to be closed.

    It is made again where somebody takes it for abandoned before it is locked.
    """
    while True:
        path.mkdir(parents=True, exist_ok=True)
        with suppress(FileNotFoundError):
            descriptor = os.open(path, _READ | os.O_DIRECTORY)
            lock(descriptor)
            if path.exists() and os.path.samestat(os.fstat(descriptor), os.lstat(path)):
                return descriptor
            os.close(descriptor)


@contextmanager
def examined(path: str | os.PathLike[str]) -> Iterator[bool | None]:
    """Whether a process has a file or folder locked; if none has, none gets it before the ``with`` block ends.

    None where that can't be told: it is not there, is a link, or is free where other machines have locks of their own.
    """
    try:
        descriptor = os.open(path, _READ)
    except OSError:
        yield None
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        is_held = False if _is_of_this_machine(descriptor) else None
    except OSError as error:
        is_held = None if error.errno in _NO_LOCKS else True
    try:
        yield is_held
    finally:
        os.close(descriptor)


def _is_of_this_machine(descriptor: int) -> bool:
    device = os.fstat(descriptor).st_dev
    # File systems of a server, and those that a program makes, have no device, which is then number 0.
    return os.major(device) > 0 or _kind(f"0:{os.minor(device)}") in _OF_THIS_MACHINE


def _kind(device: str) -> str | None:
    """Of the file system on a device, such as ``tmpfs``."""
    mounts = Path("/proc/self/mountinfo")
    lines = mounts.read_text(encoding="utf-8", errors="replace").splitlines() if mounts.exists() else []
    # Optional fields end with a hyphen, behind which the kind stands.
    return {line.split()[2]: line.partition(" - ")[2].split()[0] for line in lines}.get(device)
