"""The page of a job on embeddings: what they are, and what was measured on them."""

from collections.abc import Callable
from typing import cast

import polars as pl
import pyarrow as pa

from jobs import tables
from jobs.context import Run
from jobs.embedding import EmbeddingConfig
from jobs.embeddings_config import BootstrapJob, Embedding, EmbeddingsRun, has_replicas
from jobs.report import Body, write_report
from jobs.reports import association_sections, gender_sections, psychophysics_sections
from jobs.reports.corpus_sections import corpora_lead, training, word_lists
from jobs.reports.coverage import on_intervals
from jobs.reports.findings import Frames
from jobs.sources import Sources
from jobs.vector_files import FileEmbedding
from storage.html import Block, Paragraph, Section

_TITLES = {
    "association": "Which words go with which",
    "bootstrap": "Bootstrapped word vectors",
    "gender_survey": "Gender along a direction, language by language",
    "psychophysics": "Occupations between two cues",
    "survey": "How far the words lean",
}


def write_embeddings_report(run: Run[EmbeddingsRun, Sources]) -> None:
    """Write ``report.html`` into the run directory, from the tables that the run has published."""
    write_report(run, embeddings_body(run.config), large_tables=["embeddings"])


def embeddings_body(config: EmbeddingsRun) -> Callable[[Frames], Body]:
    """What the page of a run shows of its tables, all but ``embeddings``."""

    def body(frames: Frames) -> Body:
        lead, of_corpora = _of_embeddings(config, frames)
        return Body(
            f"{_TITLES[config.job.name]}: {', '.join(_models(config, frames))}",
            _facts(config),
            [*lead, *_findings(config, frames)],
            [*_measured(frames), *of_corpora],
            _large_tables(config),
        )

    return body


def _large_tables(config: EmbeddingsRun) -> dict[str, pa.Schema]:
    if not isinstance(config.embedding, EmbeddingConfig):
        return {}
    return {"embeddings": tables.embeddings(config.embedding.trainer.dimensions)}


def _models(config: EmbeddingsRun, frames: Frames) -> list[str]:
    """What was measured: the models of the first table that has any, or the corpora."""
    if "corpora" in frames:
        return frames["corpora"]["corpus"].to_list()
    measured = (frame["model"] for frame in frames.values() if "model" in frame.columns)
    return next(measured, pl.Series(config.languages)).unique(maintain_order=True).to_list()


def _of_embeddings(config: EmbeddingsRun, frames: Frames) -> tuple[list[Block], list[Section]]:
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


def _findings(config: EmbeddingsRun, frames: Frames) -> list[Block]:
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


def _facts(config: EmbeddingsRun) -> dict[str, str]:
    heading = "languages" if len(config.languages) > 1 else "language"
    facts = {"job": config.job.name, heading: ", ".join(config.languages)}
    if isinstance(config.embedding, EmbeddingConfig):
        facts["replicas"] = str(config.embedding.num_replicas)
    return facts | {"seed": str(config.seed)}
