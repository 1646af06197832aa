"""Jobs: what the command ``tiltmeter`` runs, and what a notebook runs with the same settings.

- ``run(job, settings)`` runs a job and gives its tables.
- ``read_run(path)`` opens the directory of a run.
- ``lookup(run, record)`` asks a run of ``entity_resolution`` for one record.

A job of another package is a :class:`.runtime.job.Job` behind an entry point of the group ``tiltmeter.jobs``.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tiltmeter.jobs.library import FinishedRun, lookup, read_run, run

__all__ = ["FinishedRun", "lookup", "read_run", "run"]


def __getattr__(name: str) -> Any:
    """What a notebook needs, loaded when it is asked for: every module of jobs imports this package first."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from tiltmeter.jobs import library

    return getattr(library, name)
