"""The report of a run: one page that says what was measured, shows it, and keeps the account."""

from collections.abc import Mapping, Sequence

import polars as pl
import pyarrow as pa

from cluster.stages import StageRecord
from cluster.workers import Failure
from jobs import tables
from jobs.config import RunConfig
from jobs.context import Run
from jobs.corpus_sections import corpora_lead, training, word_lists
from jobs.measuring import SurveyConfig
from jobs.survey_sections import Frames, main_findings, survey_sections
from storage.html import Block, Bullets, Details, Grid, Listing, Page, Paragraph, Section, render
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
    """The page for a job's tables, all but ``embeddings``; the tables of a survey are optional.

    Args:
        config: what the run was asked to do.
        published: the tables by name; ``corpora``, ``vocabulary`` and ``training`` at least.
        stages: what the run did so far.
        configuration: the resolved config as text.
        failures: units that could not be done; the page says what is missing for them.
    """
    frames = {name: pl.DataFrame(table) for name, table in published.items()}
    survey = config.job if isinstance(config.job, SurveyConfig) else None
    schemas = {name: table.schema for name, table in published.items()}
    schemas["embeddings"] = tables.embeddings(config.embedding.trainer.dimensions)
    findings: list[Block] = []
    words = word_lists(frames["vocabulary"])
    sections = [*([words] if words else []), training(frames["training"], config.embedding)]
    if survey:
        findings = main_findings(survey.level, config.embedding.num_replicas, frames)
        sections = [*survey_sections(frames), *sections, _missing(frames)]
    title = "How far the words lean" if survey else "Bootstrapped word vectors"
    lead = corpora_lead(frames["corpora"], config.embedding)
    measures = [Paragraph(_MEASURES)] if survey else []
    return Page(
        f"{title}: {', '.join(frames['corpora']['corpus'])}",
        _facts(config, frames["corpora"]["language"].to_list()),
        [*_failed(failures), *lead, *measures, *findings],
        [*sections, _account(stages, configuration, schemas)],
    )


def _facts(config: RunConfig, languages: Sequence[str]) -> dict[str, str]:
    counts = {"replicas": str(config.embedding.num_replicas), "seed": str(config.seed)}
    heading = "languages" if len(languages) > 1 else "language"
    return {"job": config.job.name, heading: ", ".join(languages)} | counts


def _failed(failures: Sequence[Failure]) -> list[Block]:
    if not failures:
        return []
    text = "Units failed, and with them what needs them: the corpora that they belong to are missing from this page."
    return [Paragraph(text, "warning"), Bullets([f"{failure.unit.name}: {failure.error}" for failure in failures])]


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
        "Rows without a result stay in the tables with their reason. A word is missing if it is too rare in the corpus."
    )
    return Section("missing", "What is missing, and why", [Paragraph(text), grid, *words])


def _ok_first(status: str) -> tuple[bool, str]:
    return status != "ok", status


def _count(frame: pl.DataFrame, status: str) -> str:
    return f"{frame.filter(pl.col('status') == status).height:,}"


def _missing_words(frames: Frames) -> dict[str, list[str]]:
    known = set(frames["vocabulary"].filter(pl.col("status") == "ok")["word"])
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
