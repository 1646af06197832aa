"""The page of a job on embeddings: what they are, and what was measured on them."""

from collections.abc import Callable
from typing import cast

import polars as pl
import pyarrow as pa

from tiltmeter.jobs.association import sections as association_sections
from tiltmeter.jobs.embedding import tables
from tiltmeter.jobs.embedding.config import BootstrapJob, Embedding, EmbeddingsRun, has_replicas
from tiltmeter.jobs.embedding.corpus_sections import corpora, doubts, trained, training, word_lists
from tiltmeter.jobs.embedding.embed import EmbeddingConfig
from tiltmeter.jobs.embedding.sources import Sources
from tiltmeter.jobs.embedding.vectors.vector_files import FileEmbedding
from tiltmeter.jobs.gender import sections as gender_sections
from tiltmeter.jobs.psychophysics import sections as psychophysics_sections
from tiltmeter.jobs.report.findings import Frames
from tiltmeter.jobs.report.html.elements import Block, Paragraph, Section
from tiltmeter.jobs.report.intervals import on_intervals
from tiltmeter.jobs.report.lead import lead
from tiltmeter.jobs.report.page import Body, write_report
from tiltmeter.jobs.runtime.context import Run

_TITLES = {
    "association": "Which words go with which",
    "bootstrap": "Bootstrapped word vectors",
    "gender_survey": "Gender along a direction, language by language",
    "psychophysics": "Occupations between two cues",
    "survey": "How far the words lean",
}


_QUESTIONS = {
    "association": "Do groups of words, such as flowers and insects, go with other words, such as pleasant and "
    "unpleasant ones, more than chance explains?",
    "bootstrap": "Which vectors do the words of a corpus have, and how far would each of them move if the corpus had "
    "been drawn again?",
    "gender_survey": "Where do professions lie between female and male words, in each language, and which languages "
    "agree on it?",
    "psychophysics": "To which of two cues, such as “woman” and “man”, does each occupation lean in the word vectors, "
    "and how firmly?",
    "survey": "How far do word vectors lean: occupations to female or to male words, groups of words to pleasant or to "
    "unpleasant ones, professions along the direction of gender?",
}


_PSE = (
    "PSE, the point of subjective equality of an occupation: how much of the second cue, such as “man”, a mixture with "
    "the first, such as “woman”, must have until the occupation leans to neither. Above 0.5 it leans to the first one."
)


def write_embeddings_report(run: Run[EmbeddingsRun, Sources]) -> None:
    """Write ``report.html`` into the run directory, from the tables that the run has published."""
    listed = pl.col("lists").list.len() > 0
    write_report(run, embeddings_body(run.config), large_tables=["embeddings"], rows={"vocabulary": listed})


def embeddings_body(config: EmbeddingsRun) -> Callable[[Frames], Body]:
    """What the page of a run shows of its tables, all but ``embeddings``."""

    def body(frames: Frames) -> Body:
        meaning = [Paragraph(_PSE, "note")] if "psychometrics" in frames else []
        asked = [Paragraph(_QUESTIONS[config.job.name]), _of_embeddings(config, frames), *meaning]
        return Body(
            f"{_TITLES[config.job.name]}: {', '.join(_models(config, frames))}",
            _facts(config),
            lead(asked, _findings(frames), _doubts(config, frames)),
            [*_measured(frames), *_of_corpora(config, frames)],
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


def _of_embeddings(config: EmbeddingsRun, frames: Frames) -> Paragraph:
    """Where the vectors come from."""
    embedding = config.embedding
    if isinstance(embedding, EmbeddingConfig):
        return Paragraph(trained(frames["corpora"], embedding))
    if isinstance(embedding, FileEmbedding):
        basis = (
            "the files are the original embedding and its bootstrap replicas" if embedding.replicas else _NO_REPLICAS
        )
        return Paragraph(f"The word vectors come from files; {basis}.")
    layers, how = ", ".join(map(str, embedding.encoder.layers)), embedding.encoder.pooling
    text = f"The word vectors come from encoders that were given single words (layers {layers}; {how} over the tokens)"
    return Paragraph(f"{text}; {_NO_REPLICAS}.")


_NO_REPLICAS = "they have no bootstrap replicas, so the numbers have no intervals"


def _findings(frames: Frames) -> list[Block]:
    blocks: list[Block] = []
    if "psychometrics" in frames:
        blocks += psychophysics_sections.findings(frames)
    if "associations" in frames:
        blocks += association_sections.findings(frames)
    if "gender_languages" in frames:
        blocks += gender_sections.findings(frames)
    return blocks


def _doubts(config: EmbeddingsRun, frames: Frames) -> list[Block]:
    """What to take with care, and what intervals say."""
    embedding = config.embedding
    blocks = doubts(frames["corpora"]) if "corpora" in frames else []
    if "gender_languages" in frames:
        blocks += gender_sections.doubtful_directions(frames)
    if has_replicas(embedding) and not isinstance(config.job, BootstrapJob):
        blocks += on_intervals(config.job.level, _num_replicas(embedding, frames), frames)
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


def _of_corpora(config: EmbeddingsRun, frames: Frames) -> list[Section]:
    """What was read and trained, for embeddings of corpora."""
    if not isinstance(config.embedding, EmbeddingConfig):
        return []
    words = word_lists(frames["vocabulary"])
    return [*corpora(frames["corpora"]), *([words] if words else []), training(frames["training"], config.embedding)]


def _facts(config: EmbeddingsRun) -> dict[str, str]:
    heading = "languages" if len(config.languages) > 1 else "language"
    facts = {"job": config.job.name, heading: ", ".join(config.languages)}
    if isinstance(config.embedding, EmbeddingConfig):
        facts["replicas"] = str(config.embedding.num_replicas)
    return facts | {"seed": str(config.seed)}
