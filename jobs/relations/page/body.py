"""The page of `relation_rules`."""

from typing import Any

from tiltmeter.jobs.relations.config import RelationRulesRun
from tiltmeter.jobs.relations.page.findings import doubts, findings
from tiltmeter.jobs.relations.page.sections import sections
from tiltmeter.jobs.report.findings import measured
from tiltmeter.jobs.report.html.elements import Bullets, Paragraph
from tiltmeter.jobs.report.lead import Lead
from tiltmeter.jobs.report.page import Body
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.published import Frames
from tiltmeter.storage.files.redaction import redacted

_ASKED = (
    "A model says which relation holds between two arguments of a sentence, and writes a rule for it. How good is it "
    "beside the rules that it learns from, do its rules run, and do they say why it decides as it does?"
)


def page(run: Run[RelationRulesRun, Any], frames: Frames) -> Body:
    """What the page of a run shows of its tables."""
    config, instances = run.config, frames["instances"]
    path = config.data.path
    facts = {
        "job": config.job.name,
        "from": "made-up sentences" if path is None else redacted(path).rsplit("/", 1)[-1],
        "learnt from": config.data.mode,
        "instances": f"{measured(instances).height:,} of {instances.height:,}",
        "seeds": str(config.seeds),
        "seed": str(config.seed),
    }
    lead = Lead([Paragraph(_ASKED)], [Bullets(list(findings(frames)))], [Bullets(list(doubts(frames)))])
    return Body("Relations, with rules that run", facts, lead, list(sections(frames)))
