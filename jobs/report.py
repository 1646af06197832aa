"""The report of a run: one page that says what was measured, shows it, and keeps the account."""

from collections.abc import Mapping, Sequence
from typing import cast

import polars as pl
import pyarrow as pa

from cluster.stages import StageRecord
from cluster.workers import Failure
from jobs import tables
from jobs.config import BootstrapJob, Embedding, RunConfig, has_replicas
from jobs.context import Run
from jobs.embedding import EmbeddingConfig
from jobs.reports import association_sections, gender_sections, psychophysics_sections
from jobs.reports.corpus_sections import corpora_lead, training, word_lists
from jobs.reports.coverage import on_intervals
from jobs.vector_files import FileEmbedding
from storage.html import Block, Bullets, Details, Grid, Listing, Page, Paragraph, Section, render
from storage.runs import read_run_table
from storage.tables import documentation

Frames = Mapping[str, pl.DataFrame]

_MEBIBYTE = 2**20
_TITLES = {
    "association": "Which words go with which",
    "bootstrap": "Bootstrapped word vectors",
    "gender_survey": "Gender along a direction, language by language",
    "psychophysics": "Occupations between two cues",
    "survey": "How far the words lean",
}


def write_report(run: Run) -> None:
    """Write ``report.html`` into the run directory, from the tables that the run has published."""
    directory = run.directory
    names = [name for name, entry in directory.tables.items() if entry and name != "embeddings"]
    published = {name: read_run_table(directory.path, name) for name in names}
    configuration = (directory.path / "config.yaml").read_text(encoding="utf-8")
    failures = [failure for group in run.runner.failures.values() for failure in group]
    page = compose(run.config, published, run.runner.records, configuration, failures)
    directory.write_text("report.html", render(page))


def compose(
    config: RunConfig,
    published: Mapping[str, pa.Table],
    stages: Sequence[StageRecord],
    configuration: str,
    failures: Sequence[Failure] = (),
) -> Page:
    """The page for a job's tables, all but ``embeddings``.

    Args:
        config: what the run was asked to do.
        published: the tables by name, those that there are.
        stages: what the run did so far.
        configuration: the resolved config as text.
        failures: units that could not be done; the page says what is missing for them.
    """
    frames = {name: pl.DataFrame(table) for name, table in published.items()}
    schemas = {name: table.schema for name, table in published.items()}
    lead, of_corpora = _of_embeddings(config, frames)
    if isinstance(config.embedding, EmbeddingConfig):
        schemas["embeddings"] = tables.embeddings(config.embedding.trainer.dimensions)
    return Page(
        f"{_TITLES[config.job.name]}: {', '.join(_models(config, frames))}",
        _facts(config),
        [*_failed(failures), *lead, *_findings(config, frames)],
        [*_measured(frames), *of_corpora, *_missing(frames), _account(stages, configuration, schemas)],
    )


def _models(config: RunConfig, frames: Frames) -> list[str]:
    """What was measured: the models of the first table that has any, or the corpora."""
    if "corpora" in frames:
        return frames["corpora"]["corpus"].to_list()
    measured = (frame["model"] for frame in frames.values() if "model" in frame.columns)
    return next(measured, pl.Series(config.languages)).unique(maintain_order=True).to_list()


def _of_embeddings(config: RunConfig, frames: Frames) -> tuple[list[Block], list[Section]]:
    """What the embeddings are: a lead, and sections for those that were trained."""
    embedding = config.embedding
    if isinstance(embedding, EmbeddingConfig):
        words = word_lists(frames["vocabulary"])
        sections = [*([words] if words else []), training(frames["training"], embedding)]
        return corpora_lead(frames["corpora"], embedding), sections
    if isinstance(embedding, FileEmbedding):
        basis = (
            "the files are the original embedding and its bootstrap replicas" if embedding.replicas else _NO_REPLICAS
        )
        return [Paragraph(f"The word vectors come from files; {basis}.")], []
    layers, how = ", ".join(map(str, embedding.encoder.layers)), embedding.encoder.pooling
    text = f"The word vectors come from encoders that were given single words (layers {layers}; {how} over the tokens)"
    return [Paragraph(f"{text}; {_NO_REPLICAS}.")], []


_NO_REPLICAS = "they have no bootstrap replicas, so the numbers have no intervals"


def _findings(config: RunConfig, frames: Frames) -> list[Block]:
    blocks: list[Block] = []
    if "psychometrics" in frames:
        blocks += psychophysics_sections.findings(frames)
    if "associations" in frames:
        blocks += association_sections.findings(frames)
    if "gender_languages" in frames:
        blocks += gender_sections.findings(frames)
    if blocks and has_replicas(config.embedding) and not isinstance(config.job, BootstrapJob):
        blocks.append(on_intervals(config.job.level, _num_replicas(config.embedding, frames), frames))
    return blocks


def _num_replicas(embedding: Embedding, frames: Frames) -> int:
    if isinstance(embedding, EmbeddingConfig):
        return embedding.num_replicas
    found = (cast(int, frame["num_replicas"].max()) for frame in frames.values() if "num_replicas" in frame.columns)
    return max(found, default=0)


def _measured(frames: Frames) -> list[Section]:
    """One section per question, of the measures that there are."""
    psychometrics = psychophysics_sections.sections(frames) if "psychometrics" in frames else []
    associations = association_sections.sections(frames) if "associations" in frames else []
    genders = gender_sections.sections(frames) if "gender_languages" in frames else []
    return [*psychometrics, *associations, *genders]


def _facts(config: RunConfig) -> dict[str, str]:
    heading = "languages" if len(config.languages) > 1 else "language"
    facts = {"job": config.job.name, heading: ", ".join(config.languages)}
    if isinstance(config.embedding, EmbeddingConfig):
        facts["replicas"] = str(config.embedding.num_replicas)
    return facts | {"seed": str(config.seed)}


def _failed(failures: Sequence[Failure]) -> list[Block]:
    if not failures:
        return []
    text = "Units failed, and with them what needs them: the corpora that they belong to are missing from this page."
    return [Paragraph(text, "warning"), Bullets([f"{failure.unit.name}: {failure.error}" for failure in failures])]


def _missing(frames: Frames) -> list[Section]:
    """Which rows have no result."""
    counted = {name: frame for name, frame in frames.items() if "reason" in frame.columns}
    if not counted:
        return []
    statuses = sorted({status for frame in counted.values() for status in frame["status"]} | {"ok"}, key=_ok_first)
    grid = Grid(
        "Rows by status.",
        ["table", "rows", *statuses],
        [
            [name, f"{frame.height:,}", *(_count(frame, status) for status in statuses)]
            for name, frame in counted.items()
        ],
        numeric=["rows", *statuses],
    )
    text = "Rows without a result stay in the tables with their reason."
    return [Section("missing", "What is missing", [Paragraph(text), grid])]


def _ok_first(status: str) -> tuple[bool, str]:
    return status != "ok", status


def _count(frame: pl.DataFrame, status: str) -> str:
    return f"{frame.filter(pl.col('status') == status).height:,}"


def _account(stages: Sequence[StageRecord], configuration: str, schemas: Mapping[str, pa.Schema]) -> Section:
    numeric = ["units done", "reused", "seconds", "worker seconds", "worker peak so far (MiB)"]
    grid = Grid(
        "Stages in the order in which they ran. A reused unit was done by an earlier run and found again. Worker peak "
        "so far: the most memory that one process had held since it started, in earlier stages too.",
        ["stage", *numeric],
        [_stage(record) for record in stages],
        numeric=numeric,
    )
    columns = [Details(name, [_columns(schema)]) for name, schema in schemas.items()]
    details = [Details("Configuration", [Listing(configuration)]), Details("Tables and their columns", columns)]
    return Section("account", "How it was run", [grid, *details])


def _stage(record: StageRecord) -> list[str]:
    peak = f"{record.peak_worker_memory_bytes / _MEBIBYTE:,.0f}" if record.num_done else "–"
    times = [f"{seconds:,.1f}" for seconds in (record.seconds, record.worker_seconds)]
    return [record.name, f"{record.num_done:,}", f"{record.num_reused:,}", *times, peak]


def _columns(schema: pa.Schema) -> Grid:
    keys = ["name", "type", "unit", "description"]
    rows = [[column.get(key, "") for key in keys] for column in documentation(schema)]
    return Grid("", ["column", "type", "unit", "meaning"], rows)
