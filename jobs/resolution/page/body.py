"""The page of `entity_resolution`."""

from dataclasses import replace

import polars as pl

from tiltmeter.jobs.report.html.elements import Bullets, Paragraph
from tiltmeter.jobs.report.lead import Lead
from tiltmeter.jobs.report.page import Body
from tiltmeter.jobs.report.wording import phrase
from tiltmeter.jobs.resolution.config import ResolutionRun
from tiltmeter.jobs.resolution.page import study
from tiltmeter.jobs.resolution.page.extracts import Extracts
from tiltmeter.jobs.resolution.page.findings import doubts, findings
from tiltmeter.jobs.resolution.page.sections import sections
from tiltmeter.jobs.resolution.page.words import MISSING, threshold_name
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.files import Files
from tiltmeter.jobs.runtime.published import Frames
from tiltmeter.storage.files.redaction import redacted

_TITLE = "Which records are one entity"
_QUESTION = [
    Paragraph("Which records are the same entity?"),
    Paragraph(
        "A weight is a score for a pair: positive if it speaks for one entity, negative if against. Of all ways to put "
        "the records into clusters, the one is looked for whose pairs within clusters have the largest sum of weights, "
        "the objective. “Proven” means that none has more."
    ),
]


def page(run: Run[ResolutionRun, Files], frames: Frames) -> Body:
    """What the page of a run shows of its tables: one graph in detail, or many by their threshold.

    Tables with a row for each record, component or explanation may have millions of rows. They are left where they
    are: of their files, only the columns and rows are read that the page shows or sums up.
    """
    config = run.config
    scorer = config.records and replace(config.records, path=run.sources.files["records"].uri)
    extracts = Extracts(frames, scorer)
    facts = _facts(config, extracts.counts)
    if extracts.is_study:
        graphs = study.by_graph(extracts)
        lead = Lead(_QUESTION, [Bullets(study.findings(graphs, extracts))], doubts(extracts))
        return Body(f"{_TITLE}: a study", facts, lead, study.sections(graphs, extracts))
    lead = Lead(_QUESTION, [Bullets(findings(extracts))], doubts(extracts))
    return Body(_TITLE, facts, lead, sections(extracts, config.drawn, config.seed))


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
