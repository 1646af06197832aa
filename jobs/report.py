"""The report of a run: one page that says what was measured, shows it, and keeps the account."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl
import pyarrow as pa

from cluster.stages import StageRecord
from jobs import figures, tables
from jobs.config import RunConfig
from jobs.context import Run
from jobs.embedding import EmbeddingConfig
from jobs.measuring import SurveyConfig
from jobs.survey_sections import Frames, main_findings, survey_sections
from storage.html import Block, Chart, Details, Grid, Listing, Page, Paragraph, Section, render
from storage.runs import read_run_table
from storage.tables import documentation

_MEBIBYTE = 2**20
_MEASURES = (
    "Measured on these vectors: how occupations lean when they have to be matched with a female or a male word, which "
    "groups of words go together, and how far professions lie along the direction from male to female words."
)


def write_report(run: Run) -> None:
    """Write ``report.html`` into the run directory, from the tables that the run has published."""
    directory = run.directory
    published = {name: read_run_table(directory.path, name) for name in directory.tables if name != "embeddings"}
    configuration = (directory.path / "config.yaml").read_text(encoding="utf-8")
    directory.write_text("report.html", render(compose(run.config, published, run.runner.records, configuration)))


def compose(
    config: RunConfig, published: Mapping[str, pa.Table], stages: Sequence[StageRecord], configuration: str
) -> Page:
    """The page for a job's tables, all but ``embeddings``; the tables of a survey are optional.

    Args:
        config: what the run was asked to do.
        published: the tables by name; ``corpora``, ``vocabulary`` and ``training`` at least.
        stages: what the run did so far.
        configuration: the resolved config as text.
    """
    frames = {name: pl.DataFrame(table) for name, table in published.items()}
    survey = config.job if isinstance(config.job, SurveyConfig) else None
    schemas = {name: table.schema for name, table in published.items()}
    schemas["embeddings"] = tables.embeddings(config.embedding.glove.dimensions)
    findings: list[Block] = []
    sections = [_training(frames["training"])]
    if survey:
        findings = main_findings(survey.level, config.embedding.num_replicas, frames)
        sections = [*survey_sections(frames), *sections, _missing(frames)]
    title = "How far the words lean" if survey else "Bootstrapped word vectors"
    lead = [Paragraph(_lead(row, config.embedding)) for row in frames["corpora"].to_dicts()]
    measures = [Paragraph(_MEASURES)] if survey else []
    return Page(
        f"{title}: {config.corpus.name}",
        _facts(config),
        [*lead, *measures, *findings],
        [*sections, _account(stages, configuration, schemas)],
    )


def _facts(config: RunConfig) -> dict[str, str]:
    counts = {"replicas": str(config.embedding.num_replicas), "seed": str(config.seed)}
    return {"job": config.job.name, "language": config.corpus.language} | counts


def _lead(row: Mapping[str, Any], embedding: EmbeddingConfig) -> str:
    return (
        f"The corpus {row['corpus']} has {row['num_articles']:,} articles with {row['num_tokens']:,} running words; "
        f"{row['num_words']:,} different words occur at least {embedding.min_count} times. Word vectors of "
        f"{embedding.glove.dimensions} dimensions were trained on it and on {embedding.num_replicas} bootstrap "
        "replicas of it, in which every line occurs a random number of times, once on average. How much the replicas "
        "differ shows how far a result hangs on the lines that happen to be in the corpus, and on the random vectors "
        "that each training starts from."
    )


def _training(losses: pl.DataFrame) -> Section:
    chart = Chart(
        "Line chart: the training loss falls from epoch to epoch, for the original corpus and for the replicas.",
        "Mean over the replicas with the range from the lowest to the highest of them; dashed: the original corpus, "
        "whose counts are not those of a resampled one.",
        {"loss": figures.training(losses)},
    )
    text = "Loss of the word vectors (GloVe, Pennington et al. 2014) in each pass over the co-occurrence counts."
    return Section("training", "Training", [Paragraph(text), chart])


def _missing(frames: Frames) -> Section:
    """Which rows have no result, and which words the corpus does not have."""
    counted = {name: frame for name, frame in frames.items() if "status" in frame.columns}
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
    words = [
        Details(f"{title}: {len(missing):,} not in the vocabulary", [Listing(", ".join(missing))])
        for title, missing in _missing_words(frames).items()
        if missing
    ]
    text = (
        "Rows without a result stay in the tables with their reason. A word is missing if it is too rare in the "
        "corpus, or if it is an expression of several words, for which there is no vector."
    )
    return Section("missing", "What is missing, and why", [Paragraph(text), grid, *words])


def _ok_first(status: str) -> tuple[bool, str]:
    return status != "ok", status


def _count(frame: pl.DataFrame, status: str) -> str:
    return f"{frame.filter(pl.col('status') == status).height:,}"


def _missing_words(frames: Frames) -> dict[str, list[str]]:
    known = set(frames["vocabulary"]["word"])
    rows = frames["psychometrics"]
    words = {
        "Occupations": rows["word"],
        "Cues": pl.concat([rows["cue_1"], rows["cue_2"]]),
        "Words of association tests": frames["associations"]["missing_words"].explode(),
        "Definitional words": frames["gender_languages"]["missing_words"].explode(),
        "Professions": frames["gender_professions"]["profession"],
    }
    return {title: sorted(set(column.drop_nulls()) - known) for title, column in words.items()}


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
