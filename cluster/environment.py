"""What a process computes with: versions of Python, of packages and of Tiltmeter's own code, and the processor."""

import functools
import hashlib
import importlib.metadata
import os
import platform
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

from tiltmeter.storage.store.scratch import temporary_folder

PACKAGES = ("cluster", "conf", "jobs", "operators", "storage")
"""Tiltmeter's own."""

_SETTINGS = "conf"
_DIGEST_BYTES = 8
_ABSENT = "not there"
_CACHE = "NUMBA_CACHE_DIR"
_CODE = "code of "


@dataclass(frozen=True)
class Environment:
    """Attributes:
    versions: of Python and packages, and a digest of the sources of each of Tiltmeter's own.
    processor: as it calls itself.
    """

    versions: Mapping[str, str]
    processor: str

    @property
    def code(self) -> dict[str, str]:
        """The digests of Tiltmeter's own packages."""
        return {package: self.versions[_CODE + package] for package in PACKAGES}


def environment(packages: Sequence[str]) -> Environment:
    """That of this process; nothing is imported for it.

    Args:
        packages: distributions whose versions matter.
    """
    versions = {"Python": platform.python_version()}
    versions |= {package: _version(package) for package in packages}
    return Environment(versions | {_CODE + package: _code(package) for package in PACKAGES}, processor())


def differences(environments: Mapping[str, Environment]) -> list[str]:
    """A sentence for everything that does not have the same version everywhere.

    Args:
        environments: by the name of the node.

    >>> old, new = (Environment({"numpy": version, "ray": "2.60.0"}, "") for version in ("2.3.0", "2.4.1"))
    >>> differences({"here": new, "node a": old, "node b": new})
    ['numpy: 2.4.1 here, node b; 2.3.0 node a']
    """
    names = dict.fromkeys(name for environment in environments.values() for name in environment.versions)
    sentences = []
    for name in names:
        groups: dict[str, list[str]] = {}
        for node, environment in environments.items():
            groups.setdefault(environment.versions.get(name, _ABSENT), []).append(node)
        if len(groups) > 1:
            versions = (f"{version} {', '.join(nodes)}" for version, nodes in groups.items())
            sentences.append(f"{name}: {'; '.join(versions)}")
    return sentences


@contextmanager
def kernels_kept() -> Iterator[None]:
    """Let numba keep what it compiles where it can write neither beside our code nor in the user's home, and would
    refuse to compile anything: for this process and those that it starts, in a folder that is gone after the block.

    Raises:
        StorageError: if there is no folder for temporary files.
    """
    home = Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~"))
    places = [Path(__file__).parents[1] / "operators", home]
    if os.environ.get(_CACHE) or any(os.access(place, os.W_OK) for place in places):
        yield
        return
    with TemporaryDirectory(prefix="tm-", dir=temporary_folder(), ignore_cleanup_errors=True) as folder:
        os.environ[_CACHE] = folder
        yield


def processor() -> str:
    """Of this machine."""
    for line in Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []:
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


@functools.cache
def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return _ABSENT


def _code(package: str) -> str:
    """Digest of a package's Python sources, and of ``conf`` its settings, wherever it would be imported from."""
    spec = find_spec(f"tiltmeter.{package}")
    if spec is None or spec.origin is None:
        return _ABSENT
    folder, hasher = Path(spec.origin).parent, hashlib.blake2b(digest_size=_DIGEST_BYTES)
    kinds = (".py", ".yaml") if package == _SETTINGS else (".py",)
    for file in sorted(path for path in folder.rglob("*") if path.suffix in kinds):
        content = file.read_bytes()
        hasher.update(f"{file.relative_to(folder).as_posix()}\n{len(content)}\n".encode() + content)
    return hasher.hexdigest()
