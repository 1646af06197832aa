"""The page of `error_characterisation`."""

from typing import Any

from tiltmeter.jobs.classifiers.errors.config import ErrorCharacterisationRun
from tiltmeter.jobs.classifiers.errors.page.findings import lead
from tiltmeter.jobs.classifiers.errors.page.sections import sections
from tiltmeter.jobs.report.findings import measured
from tiltmeter.jobs.report.page import Body
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.published import Frames
from tiltmeter.storage.files.redaction import redacted


def page(run: Run[ErrorCharacterisationRun, Any], frames: Frames) -> Body:
    """What the page of a run shows of its tables."""
    config, predictions = run.config, frames["predictions"]
    facts = {
        "job": config.job.name,
        "from": redacted(str(config.data.path)).rsplit("/", 1)[-1],
        "predicted by": _model(config),
        "texts": f"{measured(predictions).height:,} of {predictions.height:,}",
        "splits": f"{config.splits.number}{', balanced' if config.splits.balance else ''}",
        "seed": str(config.seed),
    }
    return Body("Where the model goes wrong", facts, lead(frames, config), list(sections(frames)))


def _model(config: ErrorCharacterisationRun) -> str:
    if config.base.path is None:
        return f"column {config.data.prediction}"
    name = redacted(config.base.path).rsplit("/", 1)[-1]
    encoder = "words" if config.base.model == "words" else config.models.checkpoint or "small encoder"
    return f"{encoder}, trained on {name}"
