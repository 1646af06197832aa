"""Settings of `vector_quality`; what each means, and usually is, stands in ``conf/job/vector_quality.yaml``."""

from typing import Any, Literal, Self

import pydantic

from tiltmeter.jobs.embedding.config import EmbeddingsJob, EmbeddingsRun
from tiltmeter.jobs.embedding.encoders.settings import ContextEmbedding, TemplateEmbedding
from tiltmeter.jobs.runtime.settings.fields import Count, Text, settings
from tiltmeter.operators.statistics.intervals import IntervalSettings


@settings
class VectorQualityJob(IntervalSettings, EmbeddingsJob):
    """``job=vector_quality``"""

    name: Literal["vector_quality"]

    def check_embedding(self, embedding: Any) -> None:
        """Refuse words in sentences, of which pairs of words were not judged.

        Raises:
            ValueError: saying what to choose.
        """
        if isinstance(embedding, TemplateEmbedding | ContextEmbedding):
            raise ValueError(
                f"embedding.kind={embedding.kind}: is of words in sentences, and people judged words alone; choose "
                "embedding=encoder, or vectors of words (embedding=glove, embedding=file)"
            )


@settings
class VectorQualityRun(EmbeddingsRun):
    """A run of ``vector_quality``."""

    job: VectorQualityJob
    similarity: dict[str, Text]
    analogies: dict[str, Text]
    most_words: Count | None
    fold_case: bool

    @pydantic.model_validator(mode="after")
    def _sets_can_be_told_apart(self) -> Self:
        if twice := self.similarity.keys() & self.analogies.keys():
            raise ValueError(f"analogies.{min(twice)}: similarity has a set of this name; give it another")
        if not (self.similarity or self.analogies):
            raise ValueError("similarity: there is neither a set of pairs nor one of analogies; give one")
        return self
