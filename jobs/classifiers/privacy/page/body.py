"""The page of `privacy_metrics`."""

from typing import Any

import polars as pl

from tiltmeter.jobs.classifiers.privacy.config import PrivacyMetricsRun
from tiltmeter.jobs.classifiers.privacy.page.findings import findings
from tiltmeter.jobs.classifiers.privacy.page.sections import sections
from tiltmeter.jobs.report.page import Body
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.published import Frames
from tiltmeter.storage.files.redaction import redacted


def page(run: Run[PrivacyMetricsRun, Any], frames: Frames) -> Body:
    """What the page of a run shows of its tables."""
    config = run.config
    return Body(
        "What models give away of who speaks",
        _facts(config, frames["texts"]),
        findings(frames, config),
        sections(frames, config),
    )


def _facts(config: PrivacyMetricsRun, texts: pl.DataFrame) -> dict[str, str]:
    used = texts.filter(pl.col("status") == "ok")
    return {
        "job": config.job.name,
        "from": redacted(config.data.path).rsplit("/", 1)[-1],
        "across to": "no other corpus"
        if config.across.path is None
        else redacted(config.across.path).rsplit("/", 1)[-1],
        "texts": f"{used.height:,} of {texts.height:,}",
        "models": f"{len(config.models.names)}, {config.models.num_seeds} of each",
        "encoder": config.models.checkpoint or "small encoder",
        "explained by": config.explanations.attribution.method.replace("_", " "),
        "lexicon": "none" if config.lexicon.path is None else redacted(config.lexicon.path).rsplit("/", 1)[-1],
        "seed": str(config.seed),
    }
