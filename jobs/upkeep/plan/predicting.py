"""What missing units would take: seconds of workers, hours of the cluster, and bytes of the store."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tiltmeter.cluster.dealing import Deck, longest_first, share_on_threads, simulate, threads_per_unit
from tiltmeter.jobs.runtime.rows import OK, Row, failed
from tiltmeter.jobs.runtime.wording import listed
from tiltmeter.jobs.upkeep.plan.counting import Counted, CountedStage
from tiltmeter.jobs.upkeep.plan.earlier import EarlierRun, Rate
from tiltmeter.jobs.upkeep.plan.scale import START_SECONDS, Modelled
from tiltmeter.jobs.upkeep.plan.workers import Cluster
from tiltmeter.storage.store.ledger import Unit

EARLIER, MODEL = "earlier runs in this store", "docs/scale.md"

START = "start and report"
"""What a run takes beside its units."""

LATER = "later stages"
"""Those of which nothing is known."""


@dataclass(frozen=True)
class Known:
    """What seconds and bytes can be told from.

    Attributes:
        runs: earlier ones, the nearest first.
        model: stages of docs/scale.md.
        is_whole: whether these are all of the job's.
        rest_bytes: of the corpora whose units could not be counted, where those of others could; None: of all.
        remark: what the model does not know.
    """

    runs: Sequence[EarlierRun]
    model: Mapping[str, Modelled]
    is_whole: bool
    rest_bytes: int | None = None
    remark: str = ""

    @property
    def nearest(self) -> EarlierRun | None:
        """The run that later stages are taken from: that of an input which is about as large, before any other."""
        alike = [one for one in self.runs if one.is_alike]
        return next(iter(alike or ([] if self.model else self.runs)), None)

    def rate(self, stage: str) -> tuple[Rate | None, str, str]:
        """What a unit of a stage takes, where that comes from, and what is to be known of it."""
        for one in self.runs:
            if one.is_alike and (rate := one.rate(stage)):
                return rate, EARLIER, one.unlike
        if (modelled := self.model.get(stage)) and modelled.worker_seconds is not None:
            num = modelled.num_units
            return Rate(modelled.worker_seconds / num, (modelled.num_bytes or 0.0) / num), MODEL, ""
        for one in self.runs:
            if rate := one.rate(stage):
                return rate, EARLIER, "inputs of another size"
        return None, "", f"no earlier run in this store did such a unit, and {MODEL} has no figures of it"


Unshared = Callable[[CountedStage, bool], CountedStage]
"""A stage, and whether its units were counted, to the same without what an earlier job of the night will have done."""


def _as_it_is(stage: CountedStage, _is_counted: bool) -> CountedStage:
    return stage


def stage_rows(counted: Counted, known: Known, cluster: Cluster, unshared: Unshared = _as_it_is) -> Iterator[Row]:
    """Rows of the table `plan`.

    Args:
        counted: units of the stages, as far as they could be counted.
        known: what their seconds and bytes can be told from.
        cluster: that would do them.
        unshared: takes out of a stage what an earlier job of the night will have done.

    Raises:
        ClusterError: if units are missing and the cluster has no room for a worker, or can't be reached.
    """
    later, reason = _later(counted, known)
    is_missing = bool(counted.reason)
    for stage in counted.stages:
        # Corpora that are yet to be read have units beside those that were counted.
        more = unshared(CountedStage(stage.name, num_missing=later.pop(stage.name, 0)), False)
        left = unshared(stage, True)
        doubt = "; ".join(filter(None, [_expected(left, known), reason if more.num_missing else ""]))
        yield _row(left.plus(more), known, cluster, doubt, is_counted=not more.num_missing)
        is_missing |= left.num_missing > 0
    for name, num in later.items():
        stage = unshared(CountedStage(name, num_missing=num), False)
        yield _row(stage, known, cluster, reason, is_counted=False)
    if counted.reason and known.nearest is None and not known.is_whole:
        yield {"stage": LATER, **failed("unknown", f"{reason}; more may follow, of which nothing is known")}
    if is_missing:
        yield _start(known)


def _expected(stage: CountedStage, known: Known) -> str:
    """Why the missing units of a stage are not sure to be these; empty if they are."""
    if not stage.num_expected:
        return ""
    twin = next((one for one in known.runs if one.has_twins), None)
    like = f", which are taken to come out as in the run of {twin.moment}" if twin else ""
    them = "they" if stage.num_expected == stage.num_missing else f"{stage.num_expected:,} of them"
    return f"{them} read tables that are not there yet{like}"


def _later(counted: Counted, known: Known) -> tuple[dict[str, int], str]:
    """Units that could not be counted, by stage, as an earlier run or the model has them, and why they are not sure."""
    if not counted.reason:
        return {}, ""
    last = counted.stages[-1].name if counted.stages else "the start"
    reason = f"could not be counted after {last}: {counted.reason}"
    if counted.uncounted:
        reason = f"units of {listed(counted.uncounted)} could not be counted: {counted.reason}"
    whole = {stage.name for stage in counted.stages} - counted.partly
    units, remark = _units(known)
    return {name: num for name, num in units.items() if name not in whole}, "; ".join(filter(None, [reason, remark]))


def _units(known: Known) -> tuple[dict[str, int], str]:
    """Units of all stages on the corpora that could not be counted, and where they come from."""
    if nearest := known.nearest:
        part = 1.0 if known.rest_bytes is None else known.rest_bytes / (nearest.num_bytes or 1)
        units = {name: round(part * (row["done"] + row["reused"])) for name, row in nearest.stages.items()}
        share = "" if known.rest_bytes is None else ", by the size of their files"
        return units, f"as many as in the run of {nearest.moment}{share}"
    if known.model:
        remark = f"; {known.remark}" if known.remark else ""
        return {name: stage.num_units for name, stage in known.model.items()}, f"as many as {MODEL} expects{remark}"
    return {}, ""


def _row(stage: CountedStage, known: Known, cluster: Cluster, doubt: str, *, is_counted: bool = True) -> Row:
    row: Row = {"stage": stage.name, "num_missing": stage.num_missing, "basis": "", **OK}
    row |= {"num_shared": stage.num_shared, "shared_with": ", ".join(stage.shared_with)}
    if (num_done := stage.num_done + stage.num_shared) or is_counted:
        row["num_done"] = num_done
    if not stage.num_missing:
        verdict = OK if is_counted else failed("estimated", doubt)
        return row | {"worker_seconds": 0.0, "seconds": 0.0, "stored_bytes": 0.0, **verdict}
    rate, basis, remark = known.rate(stage.name)
    reason = "; ".join(filter(None, [doubt, remark]))
    row |= _workers(stage, cluster) | {"basis": basis}
    if rate is None:
        return row | failed("unknown", reason)
    num, share = stage.num_missing, share_on_threads(row["num_threads"])
    row["worker_seconds"] = num * rate.worker_seconds * share
    row["seconds"] = dealt_seconds(stage, rate.worker_seconds * share, row["num_workers"])
    row["stored_bytes"] = num * rate.num_bytes
    status = "estimated" if not is_counted else "expected" if doubt else "ok"
    return row | {"status": status, "reason": reason}


def _workers(stage: CountedStage, cluster: Cluster) -> Row:
    """How many would do a stage, of how many threads, and what each of them asks for."""
    threads = 1 if stage.on_gpu else threads_per_unit(stage.num_missing, cluster.num_wide, stage.most_threads)
    workers = cluster.num_wide(threads)
    if stage.on_gpu:
        workers = max(1, min(workers, cluster.workers.num_gpus))
    asked = cluster.worker_bytes(on_gpu=stage.on_gpu)
    return {"num_workers": workers, "num_threads": threads, "memory_bytes": asked}


def dealt_seconds(stage: CountedStage, unit_seconds: float, num_workers: int) -> float:
    """How long the missing units of a stage take, which are taken to be alike, dealt as a run deals them.

    >>> dealt_seconds(CountedStage("train", num_missing=33), 10.0, 16)
    30.0
    """
    units = [Unit("plan/1", str(number), number) for number in range(stage.num_missing)]
    deck = Deck(longest_first([units], stage.batch_size or 1), joins=stage.batch_size is None)
    return simulate(deck, num_workers, lambda _: unit_seconds).seconds


def _start(known: Known) -> Row:
    """What a run takes beside its units: starting workers, looking for units, publishing, the report."""
    nothing = {"num_done": 0, "num_missing": 0, "num_shared": 0, "shared_with": ""}
    row = {"stage": START, "worker_seconds": 0.0, "stored_bytes": 0.0, **nothing, **OK}
    for one in known.runs:
        if one.is_alike and any(stage["done"] for stage in one.stages.values()):
            return row | {"seconds": one.other_seconds, "basis": EARLIER}
    return row | {"seconds": START_SECONDS, "basis": MODEL}
