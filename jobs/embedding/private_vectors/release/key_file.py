"""The secret of a release: where it may lie, who may read it, and whether every node has it."""

import secrets
import stat
from dataclasses import dataclass
from pathlib import Path

from tiltmeter.cluster.stages import Runner
from tiltmeter.jobs.embedding.private_vectors.config import PrivateVectorsRun
from tiltmeter.operators.embedding.private_release.secrets import KEY_BYTES, keyed_digest
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.store.ledger import Store

_SETTING = "release.key_file"
_FEWEST_DIFFERENT = 8
"""Of 32 random bytes fewer are different with a chance below 1e-30."""


def check_key_file(config: PrivateVectorsRun) -> None:
    """Refuse a key that others may read, that lies where results do, or that is none.

    Raises:
        InputError: saying what to change.
    """
    path = key_path(config)
    _check_mode(path)
    folders = {"store": Store(config.store).local_path, "run_dir": config.run_dir and Path(config.run_dir).expanduser()}
    for setting, folder in folders.items():
        if folder and path.resolve().is_relative_to(Path(folder).resolve()):
            raise InputError(f"{_SETTING}={path}: lies inside {setting}={folder}, where results are; move it elsewhere")
    read_key(path)


def _check_mode(path: Path) -> None:
    if not path.is_file():
        raise InputError(
            f"{_SETTING}={path}: there is no such file; make one: head -c {KEY_BYTES} /dev/urandom > {path}"
        )
    if path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise InputError(f"{_SETTING}={path}: may be read or written by others; run chmod 600 {path}")


@dataclass(frozen=True)
class _Proof:
    """That a node has the key: what nobody can compute without it, and else what is wrong there."""

    path: Path
    challenge: str

    def __call__(self) -> str:
        try:
            _check_mode(self.path)
            return keyed_digest(read_key(self.path), {"challenge": self.challenge}).hex()
        except (InputError, OSError) as error:
            return str(error)


def check_key_everywhere(runner: Runner, path: Path, key: bytes) -> None:
    """Refuse a cluster of which a node lacks the key, before anything is spent.

    Raises:
        InputError: naming the nodes, and what is wrong there.
    """
    proof = _Proof(path, secrets.token_hex(16))
    expected = keyed_digest(key, {"challenge": proof.challenge}).hex()
    wrong = {node: answer for node, answer in runner.pool.ask_nodes(proof).items() if answer != expected}
    if wrong:
        answers = "".join(
            f"\n  node {node}: {'has another key there' if len(answer) == len(expected) else answer}"
            for node, answer in wrong.items()
        )
        raise InputError(
            f"{_SETTING}={path}: every node must have the same key at the same place, and nothing was spent:{answers}"
        )


def key_path(config: PrivateVectorsRun) -> Path:
    """Absolute, as workers have working directories of their own."""
    return Path(str(config.release.key_file)).expanduser().absolute()


def read_key(path: Path) -> bytes:
    """The secret bytes.

    Raises:
        InputError: if there are not as many as there must be, or they can't have been drawn.
    """
    key = path.read_bytes()
    if len(key) != KEY_BYTES:
        raise InputError(f"{_SETTING}={path}: has {len(key)} bytes, and must have {KEY_BYTES} random ones")
    if len(set(key)) < _FEWEST_DIFFERENT:
        raise InputError(f"{_SETTING}={path}: has the same few bytes again and again, which are not random")
    return key
