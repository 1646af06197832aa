"""The config of `psychophysics`: how occupations are measured between two cues."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from tiltmeter.jobs.embedding.config import EmbeddingsJob, EmbeddingsRun, has_replicas
from tiltmeter.jobs.runtime.settings.fields import settings
from tiltmeter.operators.psychophysics.forced_choice import Width
from tiltmeter.operators.statistics.intervals import IntervalSettings

NEEDED_LISTS = (("cue_pairs", "occupations"),)


@settings
class PsychophysicsConfig(IntervalSettings):
    """Forced choice as Liang and Acuna 2020 have it; all combinations of cues are of their section 6."""

    width: Width
    num_resamples: Annotated[int, Field(ge=10)]
    combinations: Literal["listed", "all"]
    ddof: Annotated[int, Field(ge=0, le=1)]


@settings
class PsychophysicsJob(PsychophysicsConfig, EmbeddingsJob):
    """``job=psychophysics``"""

    name: Literal["psychophysics"]
    needed_lists: ClassVar = NEEDED_LISTS

    def check_embedding(self, embedding: Any) -> None:
        """Refuse embeddings without replicas.

        Raises:
            ValueError: saying what to choose.
        """
        if not has_replicas(embedding):
            raise ValueError(
                f"job={self.name}: its observers are bootstrap replicas, which embedding={embedding.kind} has not; "
                "train some (embedding=glove), or give the files of one model's replicas, the original's first "
                "(embedding=file embedding.replicas=true)"
            )


@settings
class PsychophysicsRun(EmbeddingsRun):
    """A run of ``psychophysics``."""

    job: PsychophysicsJob
