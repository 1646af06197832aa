"""The page of `error_characterisation`."""

from typing import Any

from tiltmeter.jobs.classifiers.errors.config import ErrorCharacterisationRun
from tiltmeter.jobs.classifiers.errors.page.findings import lead, scored_lead
from tiltmeter.jobs.classifiers.errors.page.sections import scored_sections, sections
from tiltmeter.jobs.report.findings import measured
from tiltmeter.jobs.report.html.elements import Paragraph
from tiltmeter.jobs.report.lead import Lead
from tiltmeter.jobs.report.page import Body
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.published import Frames
from tiltmeter.storage.files.redaction import redacted

_TITLE = "Where the model goes wrong"


def page(run: Run[ErrorCharacterisationRun, Any], frames: Frames) -> Body:
    """What the page of a run shows of its tables."""
    config, predictions = run.config, frames["predictions"]
    if config.data.scored_by is not None:
        return _scored(config, frames)
    if alike := predictions.filter(status="one_kind")["reason"].to_list():
        findings = [Paragraph(f"{alike[0][0].upper()}{alike[0][1:]}.")]
        return Body(_TITLE, _facts(config), Lead([Paragraph("Where does the model go wrong, and why?")], findings), [])
    facts = _facts(config) | {
        "texts": f"{measured(predictions).height:,} of {predictions.height:,}",
        "splits": f"{config.splits.number}{', balanced' if config.splits.balance else ''}",
        "seed": str(config.seed),
    }
    return Body(_TITLE, facts, lead(frames, config), list(sections(frames)))


def _facts(config: ErrorCharacterisationRun) -> dict[str, str]:
    source = redacted(str(config.data.path)).rsplit("/", 1)[-1]
    return {"job": config.job.name, "from": source, "predicted by": _model(config)}


def _scored(config: ErrorCharacterisationRun, frames: Frames) -> Body:
    """Of texts that an earlier run's forest scores."""
    predictions = frames["predictions"]
    num = predictions.drop_nulls("error_score").height
    scored_by = redacted(str(config.data.scored_by)).rstrip("/").rsplit("/", 1)[-1]
    facts = _facts(config) | {"scored by": scored_by, "texts": f"{num:,} of {predictions.height:,}"}
    return Body("Which texts the model gets wrong", facts, scored_lead(frames), list(scored_sections(frames)))


def _model(config: ErrorCharacterisationRun) -> str:
    if config.base.path is None:
        return f"column {config.data.prediction}"
    name = redacted(config.base.path).rsplit("/", 1)[-1]
    encoder = "words" if config.base.model == "words" else config.models.checkpoint or "small encoder"
    return f"{encoder}, trained on {name}"
