"""Other programs that are started: what of the environment they get, and where they are looked for."""

import os
import shutil

_PASSED_ON = ("HOME", "TMPDIR", "LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "LD_LIBRARY_PATH", "APERTIUM_DATADIR")


def environment() -> dict[str, str]:
    """What they need of the environment, and no credentials. They are looked for in absolute folders alone: the working
    directory may hold anything.
    """
    folders = [folder for folder in os.environ.get("PATH", "").split(os.pathsep) if os.path.isabs(folder)]
    path = os.pathsep.join(folders) or os.defpath
    return {name: os.environ[name] for name in _PASSED_ON if name in os.environ} | {"PATH": path}


def find(name: str) -> str | None:
    """Where a program is; None if it is not installed."""
    return shutil.which(name, path=environment()["PATH"])
