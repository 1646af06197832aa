"""The page of `privacy_metrics`."""

from collections.abc import Callable
from typing import Any

import polars as pl

from tiltmeter.jobs.classifiers.privacy.config import PrivacyMetricsRun
from tiltmeter.jobs.classifiers.privacy.page.findings import findings
from tiltmeter.jobs.classifiers.privacy.page.sections import sections
from tiltmeter.jobs.report.findings import Frames
from tiltmeter.jobs.report.page import Body, write_report
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.storage.files.redaction import redacted


def write_privacy_report(run: Run[PrivacyMetricsRun, Any]) -> None:
    """Write ``report.html`` into the run directory, from the tables that the run has published.

    Of the attributions, only those of the first seed are read.
    """
    first = {"attributions": pl.col("model").str.ends_with(", seed 0"), "samples": pl.col("seed") == 0}
    write_report(run, privacy_body(run.config), rows=first)


def privacy_body(config: PrivacyMetricsRun) -> Callable[[Frames], Body]:
    """What the page of a run shows of its tables."""

    def body(frames: Frames) -> Body:
        facts = _facts(config, frames["texts"])
        return Body("What models give away of who speaks", facts, findings(frames, config), sections(frames, config))

    return body


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
