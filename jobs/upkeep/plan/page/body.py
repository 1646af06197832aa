"""The page of `plan`."""

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from tiltmeter.jobs.report.html.elements import Bullets, Paragraph, Section
from tiltmeter.jobs.report.lead import Lead
from tiltmeter.jobs.report.page import Body
from tiltmeter.jobs.report.wording import plural, verb
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.published import Frames
from tiltmeter.jobs.upkeep.plan.config import NIGHT
from tiltmeter.jobs.upkeep.plan.page import night
from tiltmeter.jobs.upkeep.plan.page.amounts import duration, memory, room, smallest, total
from tiltmeter.jobs.upkeep.plan.page.sections import DEALT, about_the_disk, about_the_stages, differences_of, stages_of
from tiltmeter.jobs.upkeep.plan.predicting import LATER


def page(run: Run[Any, Any], frames: Frames) -> Body:
    """Hours, memory, disk and missing units, then each stage, then what the replicas can show."""
    record = run.directory.record
    facts = {"job": "plan", "of": record["planned"], "store": run.runner.store.name}
    if record["planned"] == NIGHT:
        return night.page(frames, facts, record["disk"])
    plan, differences = frames["plan"], frames["plan_differences"]
    return Body(
        f"What job={record['planned']} would take",
        facts,
        Lead(
            [Paragraph(f"What would job={record['planned']} take here, and what could it show? No unit was done.")],
            [Bullets([*_amounts(plan, record["disk"]), *smallest(differences)])],
            [*about_the_disk(plan, record["disk"]), *about_the_stages(plan)],
        ),
        [Section("stages", "Stages", [DEALT, *stages_of(plan)]), differences_of(differences)],
    )


def _amounts(plan: pl.DataFrame, disk: Mapping[str, Any]) -> Iterator[str]:
    missing = int(total(plan, "num_missing"))
    units = f"{missing:,} of {plural(missing + int(total(plan, 'num_done')), 'unit')} {verb(missing, 'be')} missing"
    if not missing and LATER not in plan["stage"]:
        yield f"{units}: all are in the store, and no worker is started."
        return
    prefix = "At least" if plan["seconds"].null_count() else "About"
    worked = duration(total(plan, "worker_seconds"))
    yield f"{prefix} {duration(total(plan, 'seconds'))}: {units}, for {worked} of workers' time."
    yield from memory(plan)
    yield room(plan, disk)
