"""Job `compare`: what changed from one run to another, and which numbers moved beyond their interval."""

from dataclasses import dataclass
from typing import Any

from tiltmeter.jobs.changes.comparing import Comparison
from tiltmeter.jobs.changes.differences import corrected
from tiltmeter.jobs.changes.past_runs import PastRun, past_run
from tiltmeter.jobs.changes.tables import Changes, Differences
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.job import Job
from tiltmeter.jobs.runtime.table import schemas
from tiltmeter.jobs.upkeep.compare.config import ComparisonRun
from tiltmeter.jobs.upkeep.compare.gates import Gates
from tiltmeter.jobs.upkeep.compare.logs import TwoLogs, find_logs
from tiltmeter.jobs.upkeep.compare.logs_table import LogScores, logs_table
from tiltmeter.jobs.upkeep.compare.systems import Systems, systems_table
from tiltmeter.jobs.upkeep.compare.verdicts import conclude, judge_gates


@dataclass(frozen=True)
class TwoRuns:
    """The runs to compare."""

    before: PastRun
    after: PastRun

    def record(self) -> dict[str, Any]:
        """Which runs they are, for ``run.json``."""
        runs = {"before": self.before, "after": self.after}
        return {
            side: {"name": run.name, "job": run.job, "started": run.record.get("started")} for side, run in runs.items()
        }


def find_sources(config: ComparisonRun) -> TwoRuns | TwoLogs:
    """The runs, or the logs."""
    return find_logs(config.logs) if config.logs.is_set else find_runs(config)


def find_runs(config: ComparisonRun) -> TwoRuns:
    """Read what the runs recorded.

    Raises:
        ConfigError: for a directory that is not of a run, or of one that did not succeed.
    """
    before, after = (past_run(place, allow_failed=config.job.allow_failed) for place in config.places)
    return TwoRuns(before, after)


def run(run: Run[ComparisonRun, TwoRuns | TwoLogs]) -> None:
    """Compare settings, inputs, versions and tables, or two systems; publish what differs."""
    if isinstance(run.sources, TwoLogs):
        logs = run.config.logs
        pairs = run.sources.pairs
        if run.config.gates:
            judge_gates(run, pairs)
        run.directory.write_table("systems", systems_table(pairs, logs))
        run.directory.write_table("logs", logs_table(run.sources.systems, pairs))
        return
    comparison = Comparison(run.sources.before, run.sources.after, run.config.job)
    run.directory.write_table("changes", comparison.changes())
    run.directory.write_table("differences", corrected(comparison.differences()))


JOB = Job(
    ComparisonRun,
    find_sources,
    run,
    schemas(Changes, Differences, Systems, LogScores, Gates),
    "tiltmeter.jobs.upkeep.compare.page:page",
    check=conclude,
    has_units=False,
)
