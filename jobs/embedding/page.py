"""The page of a job on embeddings: what they are, and what was measured on them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import cast

import polars as pl

from tiltmeter.jobs.embedding.config import Embedding, EmbeddingConfig, EmbeddingsRun, FileEmbedding, has_replicas
from tiltmeter.jobs.embedding.encoders.settings import ContextEmbedding, TemplateEmbedding
from tiltmeter.jobs.embedding.sections import (
    Compared,
    contexts,
    corpora,
    doubts,
    in_sentences,
    left_out,
    slice_sections,
    trained,
    training,
    word_lists,
)
from tiltmeter.jobs.embedding.slice_differences.tables import slice_difference_sections, slice_sentences
from tiltmeter.jobs.embedding.sources import Sources
from tiltmeter.jobs.report.html.elements import Block, Bullets, Paragraph, Section
from tiltmeter.jobs.report.intervals import TRAINED_AGAIN, NamedSides, on_intervals, on_shifts
from tiltmeter.jobs.report.lead import Lead
from tiltmeter.jobs.report.page import Body, MakePage
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.published import Frames
from tiltmeter.operators.statistics.intervals import IntervalSettings

_MOST_NAMED = 12
_NO_REPLICAS = "they have no bootstrap replicas, so the numbers have no intervals"


@dataclass(frozen=True)
class Measure:
    """What a measure of embeddings adds to their page.

    Attributes:
        rows: of its main table.
        findings: what stands out.
        sections: one per question.
        sides: whose intervals name a side.
        terms: what has to be explained before the findings can be read.
        doubts: what to take with care.
        compared: what slices and corpora of one language are held against each other by.
    """

    rows: pl.DataFrame
    findings: Sequence[Block]
    sections: Sequence[Section]
    sides: NamedSides
    terms: Sequence[Block] = field(default_factory=list)
    doubts: Sequence[Block] = field(default_factory=list)
    compared: Sequence[Compared] = field(default_factory=list)


def page_of(title: str, question: str, *parts: Callable[[Frames], Sequence[Measure]]) -> MakePage:
    """Makes the page of embeddings and of what was measured on them.

    Args:
        title: the names of what was measured come behind it.
        question: that the job answers.
        parts: measures of the tables of a run, in the order in which the page tells of them.
    """

    def page(run: Run[EmbeddingsRun, Sources], frames: Frames) -> Body:
        config, measures = run.config, [measure for part in parts for measure in part(frames)]
        terms = chain.from_iterable(measure.terms for measure in measures)
        findings = chain.from_iterable(measure.findings for measure in measures)
        sections = chain.from_iterable(measure.sections for measure in measures)
        compared = [numbers for measure in measures for numbers in measure.compared]
        asked = [Paragraph(question), Paragraph(_origin(config.embedding, frames)), *terms]
        on_slices = [Bullets(sentences)] if (sentences := slice_sentences(frames)) else []
        return Body(
            f"{title}: {_named(_models(config, frames, measures))}",
            _facts(config),
            Lead(asked, [*findings, *on_slices], _doubts(config, frames, measures)),
            [
                *slice_sections(frames, compared),
                *slice_difference_sections(frames),
                *sections,
                *_corpus_sections(config, frames),
            ],
        )

    return page


page = page_of(
    "Bootstrapped word vectors",
    "Which vectors do the words of a corpus have, and how far would each of them move if the corpus had been drawn "
    "again?",
)
"""Of `bootstrap`."""


def _named(models: Sequence[str]) -> str:
    more = f" and {len(models) - _MOST_NAMED} more" if len(models) > _MOST_NAMED else ""
    return ", ".join(models[: _MOST_NAMED if more else None]) + more


def _models(config: EmbeddingsRun, frames: Frames, measures: Sequence[Measure]) -> list[str]:
    """What was measured: the corpora, or the models that a measure names."""
    if "corpora" in frames:
        return frames["corpora"]["corpus"].to_list()
    names = next((measure.rows["model"] for measure in measures), pl.Series(config.languages))
    return names.unique(maintain_order=True).to_list()


def _origin(embedding: Embedding, frames: Frames) -> str:
    """Where the vectors come from."""
    if isinstance(embedding, EmbeddingConfig):
        return trained(frames["corpora"], embedding)
    if isinstance(embedding, FileEmbedding):
        replicas = "the files are the original embedding and its bootstrap replicas"
        return f"The word vectors come from files; {replicas if embedding.replicas else _NO_REPLICAS}."
    if isinstance(embedding, TemplateEmbedding | ContextEmbedding):
        return in_sentences(embedding)
    layers, pooling = ", ".join(map(str, embedding.encoder.layers)), embedding.encoder.pooling
    encoding = f"layers {layers}; {pooling} over the tokens"
    return f"The word vectors come from encoders that were given single words ({encoding}); {_NO_REPLICAS}."


def _doubts(config: EmbeddingsRun, frames: Frames, measures: Sequence[Measure]) -> list[Block]:
    """What to take with care, and what intervals say."""
    blocks = left_out(frames.get("corpus_slices"))
    blocks += doubts(frames["corpora"], config.embedding) if isinstance(config.embedding, EmbeddingConfig) else []
    blocks += [block for measure in measures for block in measure.doubts]
    drawn = _DRAWN.get(config.embedding.kind, TRAINED_AGAIN)
    if measures and (has_replicas(config.embedding) or config.embedding.kind in _DRAWN):
        num_replicas = max(cast(int, measure.rows["num_replicas"].max() or 0) for measure in measures)
        asked = config.embedding.num_replicas if isinstance(config.embedding, EmbeddingConfig) else num_replicas
        settings = cast(IntervalSettings, config.job)
        blocks += on_shifts(frames, settings.level, asked)
        blocks += on_intervals(settings, asked, [measure.sides for measure in measures], drawn)
    return blocks


_DRAWN = {"templates": "other templates of this kind", "contexts": "this corpus drawn again"}
"""What intervals are for where words stand in sentences, by the kind of embedding."""


def _corpus_sections(config: EmbeddingsRun, frames: Frames) -> list[Section]:
    """What was read and trained, for embeddings of corpora."""
    if isinstance(config.embedding, ContextEmbedding):
        return contexts(frames)
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
