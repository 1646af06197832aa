"""The page of `entity_resolution`."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa

from tiltmeter.jobs.report.findings import Frames
from tiltmeter.jobs.report.page import Body, write_report
from tiltmeter.jobs.resolution import tables
from tiltmeter.jobs.resolution.config import ResolutionRun
from tiltmeter.jobs.resolution.page.extracts import LargeTables
from tiltmeter.jobs.resolution.page.findings import findings, study_findings
from tiltmeter.jobs.resolution.page.sections import sections
from tiltmeter.jobs.resolution.page.study_sections import by_graph, study_sections
from tiltmeter.jobs.resolution.page.words import MISSING, threshold_name
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.storage.files.redaction import redacted

_LARGE = {"clusters": tables.CLUSTERS, "components": tables.COMPONENTS, "explanations": tables.EXPLANATIONS}


def write_resolution_report(run: Run[ResolutionRun, Any]) -> None:
    """Write ``report.html`` into the run directory, from the tables that the run has published.

    Tables with a row for each record, component or explanation may have millions of rows. They are left where they
    are: of their files, only the columns and rows are read that the page shows or sums up.
    """
    path, published = run.directory.path, run.directory.tables
    large = LargeTables(
        **{name: _scanned(path, name) if published.get(name) else _empty(_LARGE[name]) for name in _LARGE}
    )
    write_report(run, resolution_body(run.config, large), large_tables=list(_LARGE))


def _scanned(path: Path, name: str) -> pl.LazyFrame:
    file = path / f"{name}.parquet"
    return pl.scan_parquet(file if file.exists() else path / name)


def _empty(schema: pa.Schema) -> pl.LazyFrame:
    return pl.LazyFrame(schema.empty_table())


def resolution_body(config: ResolutionRun, large: LargeTables) -> Callable[[Frames], Body]:
    """What the page of a run shows of its tables: one graph in detail, or many by their threshold.

    Args:
        large: the tables that are too large to be read.
    """

    def body(frames: Frames) -> Body:
        facts = _facts(config, frames["pair_counts"])
        if frames["pair_counts"].height == 1:
            lead, found = findings(frames, large), sections(frames, large, config.drawn, config.seed)
            return Body("Which records are one entity", facts, lead, found, _LARGE)
        graphs = by_graph(frames, large)
        lead, found = study_findings(graphs, large), study_sections(graphs, large)
        return Body("Which records are one entity: a study", facts, lead, found, _LARGE)

    return body


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
        "solver": config.solver.replace("_", " "),
        "time limit": f"{config.time_limit:g} s",
        "seed": str(config.seed),
    }
