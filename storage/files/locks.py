"""Locks of files and folders that the kernel holds for a process, and drops when it ends, however that comes about.

They say who is alive whatever the clock does, and to processes of other PID namespaces too.
"""

import errno
import fcntl
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NO_LOCKS = {errno.EBADF, errno.EINVAL, errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP}
"""What file systems answer that lock no files, or no folders."""


def lock(descriptor: int) -> None:
    """Lock an open file or folder until it is closed, where the file system can; waits for those who look at it."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise


@contextmanager
def locked_folder(path: Path) -> Iterator[None]:
    """Make a folder and keep it locked for the ``with`` block.

    It is made again where somebody takes it for abandoned before it is locked.
    """
    while True:
        path.mkdir(parents=True, exist_ok=True)
        with suppress(FileNotFoundError):
            descriptor = os.open(path, _READ | os.O_DIRECTORY)
            lock(descriptor)
            if path.exists() and os.path.samestat(os.fstat(descriptor), os.lstat(path)):
                break
            os.close(descriptor)
    try:
        yield
    finally:
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
    if os.major(device):
        return True
    # File systems of servers and programs have no disk, and neither have memory and the layers of a container.
    mounts = Path("/proc/self/mountinfo")
    lines = mounts.read_text(errors="replace").splitlines() if mounts.exists() else []
    return any(re.search(rf" 0:{os.minor(device)} .* - (overlay|tmpfs) ", line) for line in lines)
