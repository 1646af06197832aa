"""The page of `privacy_metrics`."""

from typing import Any

from tiltmeter.jobs.classifiers.privacy.config import PrivacyMetricsRun
from tiltmeter.jobs.classifiers.privacy.page.findings import findings
from tiltmeter.jobs.classifiers.privacy.page.sections import sections
from tiltmeter.jobs.report.findings import measured
from tiltmeter.jobs.report.page import Body
from tiltmeter.jobs.report.wording import phrase
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.published import Frames
from tiltmeter.storage.files.redaction import redacted


def page(run: Run[PrivacyMetricsRun, Any], frames: Frames) -> Body:
    """What the page of a run shows of its tables."""
    config, texts = run.config, frames["texts"]
    facts = {
        "job": config.job.name,
        "from": _file_name(config.data.path, ""),
        "across to": _file_name(config.across.path, "no other corpus"),
        "texts": f"{measured(texts).height:,} of {texts.height:,}",
        "models": f"{len(config.models.names)}, {config.models.num_seeds} of each",
        "encoder": config.models.checkpoint or "small encoder",
        "explained by": phrase(config.explanations.attribution.method),
        "lexicon": _file_name(config.lexicon.path, "none"),
        "seed": str(config.seed),
    }
    return Body("What models give away of who speaks", facts, findings(frames, config), sections(frames, config))


def _file_name(path: str | None, otherwise: str) -> str:
    return otherwise if path is None else redacted(path).rsplit("/", 1)[-1]
