"""The config of `psychophysics`: how occupations are measured between two cues."""

from typing import Annotated, Any, ClassVar, Literal

import pydantic
from pydantic import ConfigDict, Field

from tiltmeter.jobs.embedding.config import EmbeddingsJob, EmbeddingsRun, has_replicas
from tiltmeter.operators.psychophysics.forced_choice import Width
from tiltmeter.operators.statistics.intervals import IntervalSettings

NEEDED_LISTS = (("cue_pairs", "occupations"),)


@pydantic.dataclasses.dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class PsychophysicsConfig(IntervalSettings):
    """How occupations are measured by forced choice.

    Attributes:
        width: what the JND of the step curve is: the width of the ``window`` around the PSE in which half of the
            replicas flip, or the distance between its ``quartiles``.
        num_resamples: resamples of the replicas behind the intervals of PSE and JND.
        combinations: which gender cues are held against each other: the ``listed`` pairs, or ``all`` of a female and a
            male cue, which Liang and Acuna 2020 consider (section 6).
        ddof: 1 for the sample standard deviation in the WEFAT and WEAT effect sizes that PSE is compared with, 0 for
            the population's.
    """

    width: Width = "window"
    num_resamples: Annotated[int, Field(ge=10)] = 1000
    combinations: Literal["listed", "all"] = "listed"
    ddof: Annotated[int, Field(ge=0, le=1)] = 1


@pydantic.dataclasses.dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class PsychophysicsJob(PsychophysicsConfig, EmbeddingsJob):
    """``job=psychophysics``"""

    name: Literal["psychophysics"] = "psychophysics"
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


@pydantic.dataclasses.dataclass(frozen=True, kw_only=True, config=ConfigDict(extra="forbid"))
class PsychophysicsRun(EmbeddingsRun):
    """A run of ``psychophysics``."""

    job: PsychophysicsJob
