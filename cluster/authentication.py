"""Ray's token authentication: without the token of a cluster, nobody who reaches its ports gets anything done there."""

import os
import secrets
import tempfile
from contextlib import suppress
from pathlib import Path

from tiltmeter.cluster.config import ClusterError

_MODE = "RAY_AUTH_MODE"
_SOURCES = ("RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH")
_OWNER_ONLY = 0o600
_OTHERS = 0o077


def require_token() -> None:
    """Make sure of a token that its owner alone can read, for the cluster that is about to be started.

    Ray turns token authentication on by itself, and would make a token, too, but in a file that everyone can read.
    Where the user has no home that can be written, the token is this cluster's alone, and in no file.

    Raises:
        ClusterError: if the environment switches authentication off.
    """
    mode = os.environ.get(_MODE, "token")
    if mode.lower() != "token":
        raise ClusterError(
            f"{_MODE}={mode}: on a cluster without token authentication, whoever reaches its ports can run programs as "
            f"you: unset {_MODE}, or set it to token"
        )
    if not any(os.environ.get(name) for name in _SOURCES):
        try:
            _keep_token(Path.home())
        except (OSError, RuntimeError):  # no home, or none that can be written
            os.environ[_SOURCES[0]] = secrets.token_hex(32)


def _keep_token(home: Path) -> None:
    path = home / ".ray" / "auth_token"
    if not path.exists():
        path.parent.mkdir(mode=0o700, exist_ok=True)
        # A file that is linked into its place is never seen without its content.
        with tempfile.NamedTemporaryFile("w", dir=path.parent) as file:
            file.write(secrets.token_hex(32))
            file.flush()
            with suppress(FileExistsError):
                os.link(file.name, path)
    if path.stat().st_mode & _OTHERS:
        path.chmod(_OWNER_ONLY)
