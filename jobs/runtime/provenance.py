"""What a run's record says of where its numbers come from: versions, commit, machine, moment."""

import functools
import importlib.metadata
import platform
import re
import subprocess
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psutil

from tiltmeter.cluster.environment import processor
from tiltmeter.jobs.runtime.subprocesses import environment

RECORDED_PACKAGES = (
    *("captum", "gensim", "highspy", "mwparserfromhell", "networkx", "numba", "numpy", "opencc", "polars", "pyarrow"),
    *("ray", "regex", "rjieba", "scikit-learn", "scipy", "splink", "textblob", "torch", "transformers"),
    "vaderSentiment",
)
"""Packages on which results may depend."""


def provenance() -> dict[str, Any]:
    """What ``run.json`` says of this process, machine and moment."""
    return {
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "git_commit": _git_commit(),
        "versions": {"python": platform.python_version()} | _versions(),
        "machine": {"system": platform.platform(), "processor": processor()},
    }


@functools.cache
def _versions() -> dict[str, str]:
    """Of the packages that are installed; which extras there are is the user's choice."""
    installed = {}
    for package in RECORDED_PACKAGES:
        with suppress(importlib.metadata.PackageNotFoundError):
            installed[package] = importlib.metadata.version(package)
    return installed


def peak_memory_bytes() -> int:
    """The most memory that this process has held so far."""
    status = Path("/proc/self/status")
    # The usual ru_maxrss also counts what the process that started this one held.
    if status.exists() and (match := re.search(r"^VmHWM:\s+(\d+) kB", status.read_text(), re.MULTILINE)):
        return int(match[1]) * 1024
    return int(psutil.Process().memory_info().rss)


def _git_commit() -> str | None:
    """The commit of the checkout that runs, with ``+changes`` if it was edited; None outside a checkout."""
    here = Path(__file__).parent
    asked = [["git", "-C", str(here), *words] for words in (["rev-parse", "HEAD"], ["status", "--porcelain", "-uno"])]
    try:
        commit, changes = (
            subprocess.run(command, capture_output=True, text=True, check=True, env=environment()).stdout
            for command in asked
        )
    except (subprocess.CalledProcessError, FileNotFoundError):
        return None
    return commit.strip() + ("+changes" if changes.strip() else "")
