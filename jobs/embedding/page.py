"""The page of a job on embeddings: what they are, and what was measured on them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

import polars as pl

from tiltmeter.jobs.embedding.config import Embedding, EmbeddingsRun, has_replicas
from tiltmeter.jobs.embedding.corpus_sections import corpora, doubts, trained, training, word_lists
from tiltmeter.jobs.embedding.embed import EmbeddingConfig
from tiltmeter.jobs.embedding.sources import Sources
from tiltmeter.jobs.embedding.vectors.vector_files import FileEmbedding
from tiltmeter.jobs.report.html.elements import Block, Paragraph, Section
from tiltmeter.jobs.report.intervals import NamedSides, on_intervals
from tiltmeter.jobs.report.lead import Lead
from tiltmeter.jobs.report.page import Body
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.published import Frames

_QUESTION = (
    "Which vectors do the words of a corpus have, and how far would each of them move if the corpus had been drawn "
    "again?"
)
_NO_REPLICAS = "they have no bootstrap replicas, so the numbers have no intervals"


@dataclass(frozen=True)
class Measure:
    """What a measure of embeddings adds to their page.

    Attributes:
        rows: of its main table.
        level: coverage of its intervals.
        findings: what stands out.
        sections: one per question.
        sides: whose intervals name a side.
        terms: what has to be explained before the findings can be read.
        doubts: what to take with care.
    """

    rows: pl.DataFrame
    level: float
    findings: Sequence[Block]
    sections: Sequence[Section]
    sides: NamedSides
    terms: Sequence[Block] = field(default_factory=list)
    doubts: Sequence[Block] = field(default_factory=list)


def page(run: Run[EmbeddingsRun, Sources], frames: Frames) -> Body:
    """What the page of `bootstrap` shows."""
    return embeddings_page(run.config, frames, "Bootstrapped word vectors", _QUESTION)


def embeddings_page(
    config: EmbeddingsRun, frames: Frames, title: str, question: str, measures: Sequence[Measure] = ()
) -> Body:
    """What a page shows of embeddings and of what was measured on them.

    Args:
        config: of the run.
        frames: its tables.
        title: of the page; the names of what was measured come behind it.
        question: that the job answers.
        measures: in the order in which the page tells of them.
    """
    terms = [block for measure in measures for block in measure.terms]
    lead = Lead(
        [Paragraph(question), _origin(config, frames), *terms],
        [block for measure in measures for block in measure.findings],
        _doubts(config, frames, measures),
    )
    sections = [section for measure in measures for section in measure.sections]
    return Body(
        f"{title}: {', '.join(_models(config, frames, measures))}",
        _facts(config),
        lead,
        [*sections, *_corpus_sections(config, frames)],
    )


def _models(config: EmbeddingsRun, frames: Frames, measures: Sequence[Measure]) -> list[str]:
    """What was measured: the corpora, or the models that a measure names."""
    if "corpora" in frames:
        return frames["corpora"]["corpus"].to_list()
    names = next((measure.rows["model"] for measure in measures), pl.Series(config.languages))
    return names.unique(maintain_order=True).to_list()


def _origin(config: EmbeddingsRun, frames: Frames) -> Paragraph:
    """Where the vectors come from."""
    embedding = config.embedding
    if isinstance(embedding, EmbeddingConfig):
        return Paragraph(trained(frames["corpora"], embedding))
    if isinstance(embedding, FileEmbedding):
        basis = (
            "the files are the original embedding and its bootstrap replicas" if embedding.replicas else _NO_REPLICAS
        )
        return Paragraph(f"The word vectors come from files; {basis}.")
    layers, pooling = ", ".join(map(str, embedding.encoder.layers)), embedding.encoder.pooling
    layer = f"layers {layers}; {pooling} over the tokens"
    return Paragraph(f"The word vectors come from encoders that were given single words ({layer}); {_NO_REPLICAS}.")


def _doubts(config: EmbeddingsRun, frames: Frames, measures: Sequence[Measure]) -> list[Block]:
    """What to take with care, and what intervals say."""
    blocks = doubts(frames["corpora"]) if "corpora" in frames else []
    blocks += [block for measure in measures for block in measure.doubts]
    if measures and has_replicas(config.embedding):
        num_replicas = _num_replicas(config.embedding, measures)
        blocks += on_intervals(measures[0].level, num_replicas, [measure.sides for measure in measures])
    return blocks


def _num_replicas(embedding: Embedding, measures: Sequence[Measure]) -> int:
    if isinstance(embedding, EmbeddingConfig):
        return embedding.num_replicas
    counts = pl.concat([measure.rows["num_replicas"].cast(pl.Int64) for measure in measures])
    return cast(int, counts.max() or 0)


def _corpus_sections(config: EmbeddingsRun, frames: Frames) -> list[Section]:
    """What was read and trained, for embeddings of corpora."""
    if not isinstance(config.embedding, EmbeddingConfig):
        return []
    listed = frames.scan("vocabulary").filter(pl.col("lists").list.len() > 0).collect(engine="streaming")
    return [*corpora(frames["corpora"]), *word_lists(listed), training(frames["training"], config.embedding)]


def _facts(config: EmbeddingsRun) -> dict[str, str]:
    heading = "languages" if len(config.languages) > 1 else "language"
    facts = {"job": config.job.name, heading: ", ".join(config.languages)}
    if isinstance(config.embedding, EmbeddingConfig):
        facts["replicas"] = str(config.embedding.num_replicas)
    return facts | {"seed": str(config.seed)}
