"""What missing units would take: seconds of workers, hours and memory of the cluster, and bytes of the store."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tiltmeter.cluster.scheduling import share_on_threads, threads_per_unit
from tiltmeter.cluster.start import Prospect
from tiltmeter.jobs.runtime.wording import listed
from tiltmeter.jobs.upkeep.plan.counting import Counted, CountedStage
from tiltmeter.jobs.upkeep.plan.rates import EarlierRun, Rate
from tiltmeter.jobs.upkeep.plan.tables import Plan

EARLIER, FIRST = "earlier runs in this store", "rates for a first run"
_DIGITS = {EARLIER: 2, FIRST: 1}
"""Of seconds and bytes, which are no surer than that."""

LATER = "all that comes after these"
"""Stages, and units of the others, that read what is missing."""


@dataclass(frozen=True)
class Known:
    """What seconds and bytes of a job can be told from: earlier runs, the nearest first; what whole stages take before
    a first run; and how much of the inputs some groups of units are, such as corpora."""

    job: str
    runs: Sequence[EarlierRun]
    first: Mapping[str, Rate]
    share: Callable[[Collection[str]], float]

    def unit(self, stage: CountedStage) -> tuple[Rate | None, str, str]:
        """What a unit of a stage takes, where that comes from, and what is to be known of it."""
        runs = [one for one in self.runs if stage.name in one.stages]
        alike = [one for one in runs if one.is_alike]
        if not alike and (whole := self.first.get(stage.name)):
            return whole.times((1 - self.share(stage.without)) / stage.num_units), FIRST, ""
        for one in alike or runs:
            return one.stages[stage.name][1], EARLIER, one.unlike
        return None, "", "no earlier run in this store did such a unit"

    def later(self, counted: Counted) -> tuple[Rate | None, str, str] | None:
        """The same of all units that could not be counted; None if there are none by an earlier run of the job."""
        runs = [one for one in self.runs if one.is_alike] or ([] if self.first else self.runs)
        names, wholes, basis, remark = list(self.first), self.first, FIRST, "seconds up to training alone"
        if runs:
            names, basis, remark = runs[0].names, EARLIER, f"seconds by the run of {runs[0].moment}"
            wholes = {name: one.whole(name) for one in reversed(runs) for name in one.stages}
        without = {stage.name: stage.without for stage in counted.stages}
        shares = {name: self.share(without.get(name, counted.groups)) for name in names}
        if runs and runs[0].run.job == self.job and not any(shares.values()):
            return None
        rates = [wholes[name].times(share) for name, share in shares.items() if share and name in wholes]
        if not rates:
            return None, "", "nothing is known of them"
        total = Rate(*(sum(amounts) for amounts in zip(*rates, strict=True)))
        return total, basis, f"{remark}, as if none of them was done"


def stage_rows(counted: Counted, known: Known, cluster: Prospect) -> Iterator[Plan]:
    """Rows of the table `plan`.

    Args:
        counted: units of the stages, as far as they could be counted.
        known: what their seconds and bytes can be told from.
        cluster: that would do them.

    Raises:
        ClusterError: if units are missing and the cluster has no room for a worker, or can't be reached.
    """
    yield from (_row(stage, known, cluster) for stage in counted.stages if stage.num_units)
    if counted.reason and (later := known.later(counted)):
        rate, basis, remark = later
        row = Plan(stage=LATER, num_workers=cluster.num_workers, memory_bytes=cluster.found.worker_bytes)
        row.fail("unknown", f"could not be counted: {counted.reason}; {remark}")
        yield _with_amounts(row, rate, 1 / cluster.num_workers, basis)


def _row(stage: CountedStage, known: Known, cluster: Prospect) -> Plan:
    num = stage.num_missing
    row = Plan(stage=stage.name, num_done=stage.num_done, num_missing=num, basis="")
    if stage.without:
        row.fail("at_least", f"without units of {listed([*stage.without])}")
    if not num:
        row.worker_seconds = row.seconds = row.stored_bytes = 0.0
        return row
    row.num_threads, row.num_workers, row.memory_bytes = 1, cluster.num_workers, cluster.found.worker_bytes
    if stage.on_gpu:
        row.num_workers = max(1, min(row.num_workers, cluster.found.num_gpus))
        row.memory_bytes = cluster.found.gpu_worker_bytes
    else:
        row.num_threads = threads_per_unit(num, cluster.num_wide_workers, stage.most_threads)
        row.num_workers = cluster.num_wide_workers(row.num_threads)
    rate, basis, remark = known.unit(stage)
    row.reason = "; ".join(filter(None, [row.reason, remark]))
    total = rate and Rate(rate.worker_seconds * share_on_threads(row.num_threads), rate.num_bytes).times(num)
    # Units are taken to be alike, and each worker does one after the other.
    return _with_amounts(row, total, -(-num // row.num_workers) / num, basis)


def _with_amounts(row: Plan, rate: Rate | None, share: float, basis: str) -> Plan:
    """What units take, all together, rounded; a worker takes its share of the seconds."""
    if rate:
        amounts = (rate.worker_seconds, share * rate.worker_seconds, rate.num_bytes)
        rounded = (float(f"{value:.{_DIGITS[basis]}g}") for value in amounts)
        row.worker_seconds, row.seconds, row.stored_bytes = rounded
        row.basis = basis
    return row
