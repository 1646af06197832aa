"""The config of `association`: which tests, with which measures of similarity and statistics."""

from typing import Annotated, ClassVar, Literal

import pydantic
from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field

from tiltmeter.jobs.embedding.config import EmbeddingsJob, EmbeddingsRun
from tiltmeter.jobs.runtime.config import each_once
from tiltmeter.operators.association.covariance import Estimator
from tiltmeter.operators.association.scores import Statistic
from tiltmeter.operators.embedding.similarity import Measure
from tiltmeter.operators.statistics.permutation import Alternative
from tiltmeter.operators.text.wordsets import WordSets


def _renamed(statistic: object) -> object:
    if statistic == "discrete_min":
        raise ValueError(
            "discrete_min is no statistic any more: it was the sign of the difference of minima, and not equation 2 of "
            "Azarpanah and Farhadloo 2021, which is smallest_gap"
        )
    return statistic


NEEDED_LISTS = (("associations",), ("wefats",))


@pydantic.dataclasses.dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class AssociationConfig:
    """How association tests are made.

    Attributes:
        similarities: measures between words.
        statistics: what is taken over the words of an attribute set.
        ddof: 1 for the sample standard deviation in effect sizes (as published), 0 for the population's.
        level: coverage of the intervals over replicas.
        significance: p-values below it count as significant in summaries.
        alternative: what p-values speak for: ``greater``, X go with A and Y with B; ``less``, the reverse;
            ``two-sided``, either, as Azarpanah and Farhadloo 2021 have it.
        p_value: ``certified`` counts partitions and gives bounds that hold; ``monte_carlo`` draws some.
        relative_width: of certified bounds, as far as memory allows.
        num_draws: of a Monte Carlo p-value.
        min_words: a word set with fewer words left is too small for a test.
        min_share: a word set of which a smaller share is left is too small for a test.
        covariance: how that of an attribute set is estimated for the Mahalanobis distance; ``graphical_lasso`` is
            sparse, with an l1 penalty chosen by 3-fold cross-validation, as in the paper.
        enlargement: by what an attribute set is enlarged for that: the nearest ``neighbours`` of its words in the
            embedding, or their ``synonyms`` in the word lists, as in the paper.
        num_neighbours: nearest neighbours of each attribute word.
    """

    similarities: Annotated[tuple[Measure, ...], Field(min_length=1), AfterValidator(each_once)] = ("cosine",)
    statistics: Annotated[
        tuple[Annotated[Statistic, BeforeValidator(_renamed)], ...], Field(min_length=1), AfterValidator(each_once)
    ] = ("mean",)
    ddof: Annotated[int, Field(ge=0, le=1)] = 1
    level: Annotated[float, Field(gt=0, lt=1)] = 0.95
    significance: Annotated[float, Field(gt=0, lt=1)] = 0.05
    alternative: Alternative = "greater"
    p_value: Literal["certified", "monte_carlo"] = "certified"
    relative_width: Annotated[float, Field(gt=0, lt=1)] = 0.005
    num_draws: Annotated[int, Field(ge=1)] = 10_000
    min_words: Annotated[int, Field(ge=1)] = 2
    min_share: Annotated[float, Field(ge=0, le=1)] = 0.0
    covariance: Estimator = "shrinkage"
    enlargement: Literal["neighbours", "synonyms"] = "neighbours"
    num_neighbours: Annotated[int, Field(ge=1)] = 20

    def check_synonyms(self, wordset: WordSets | None, language: str) -> None:
        """Refuse an enlargement by synonyms without any.

        Raises:
            ValueError: saying what to choose.
        """
        if self.enlargement == "synonyms" and not (wordset and wordset.synonyms):
            raise ValueError(
                f"wordset.{language}.synonyms: job.enlargement=synonyms needs a list of them; choose one "
                "(wordset=[english,english_synonyms]), or set job.enlargement=neighbours"
            )


@pydantic.dataclasses.dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class AssociationJob(AssociationConfig, EmbeddingsJob):
    """``job=association``"""

    name: Literal["association"] = "association"
    needed_lists: ClassVar = NEEDED_LISTS

    def check_words(self, wordset: WordSets | None, language: str) -> None:
        """Refuse a language without the word lists of the job."""
        super().check_words(wordset, language)
        self.check_synonyms(wordset, language)


@pydantic.dataclasses.dataclass(frozen=True, kw_only=True, config=ConfigDict(extra="forbid"))
class AssociationRun(EmbeddingsRun):
    """A run of ``association``."""

    job: AssociationJob
