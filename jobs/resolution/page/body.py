"""The page of `entity_resolution`."""

from typing import Any

import polars as pl

from tiltmeter.jobs.report.page import Body
from tiltmeter.jobs.report.wording import phrase
from tiltmeter.jobs.resolution.config import ResolutionRun
from tiltmeter.jobs.resolution.page.extracts import Extracts
from tiltmeter.jobs.resolution.page.findings import findings, lead
from tiltmeter.jobs.resolution.page.sections import sections
from tiltmeter.jobs.resolution.page.study import by_graph, study_findings, study_sections
from tiltmeter.jobs.resolution.page.words import MISSING, threshold_name
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.published import Frames
from tiltmeter.storage.files.redaction import redacted


def page(run: Run[ResolutionRun, Any], frames: Frames) -> Body:
    """What the page of a run shows of its tables: one graph in detail, or many by their threshold.

    Tables with a row for each record, component or explanation may have millions of rows. They are left where they
    are: of their files, only the columns and rows are read that the page shows or sums up.
    """
    config, extracts = run.config, Extracts(frames)
    facts, title = _facts(config, extracts.counts), "Which records are one entity"
    if extracts.is_study:
        graphs = by_graph(extracts)
        summary = lead(extracts, study_findings(graphs, extracts))
        return Body(f"{title}: a study", facts, summary, study_sections(graphs, extracts))
    summary = lead(extracts, findings(extracts))
    return Body(title, facts, summary, sections(extracts, config.drawn, config.seed))


def _facts(config: ResolutionRun, counts: pl.DataFrame) -> dict[str, str]:
    other = config.records or config.mentions
    source = config.pairs or (other.path if other else "")
    thresholds = counts["threshold"].unique().sort(nulls_last=False)
    return {
        "job": config.job.name,
        "from": redacted(source).rsplit("/", 1)[-1],
        **({"graphs": f"{counts.height:,}"} if counts.height > 1 else {}),
        "records": f"{counts['num_records'].sum():,}",
        "pairs": f"{counts['num_pairs'].sum():,}",
        "pairs without a score": MISSING[config.missing],
        "threshold" if thresholds.len() == 1 else "thresholds": ", ".join(map(threshold_name, thresholds)),
        "solver": phrase(config.solver),
        "time limit": f"{config.time_limit:g} s",
        "seed": str(config.seed),
    }
