"""Settings of `private_vectors`; what each means, and usually is, stands in ``conf/job/private_vectors.yaml``."""

import sys
from dataclasses import fields
from typing import Annotated, Any, Literal, Self, cast

import pydantic
from pydantic import AfterValidator, Field

from tiltmeter.jobs.embedding.config import FileEmbedding
from tiltmeter.jobs.embedding.encoders.settings import EncoderEmbedding
from tiltmeter.jobs.runtime.config import CommonConfig, each_once
from tiltmeter.jobs.runtime.settings.fields import Count, Least0, Least2, Text, settings
from tiltmeter.operators.embedding.private_release.bounds import CHOOSING
from tiltmeter.operators.embedding.private_release.mechanisms import Name
from tiltmeter.operators.statistics.intervals import IntervalSettings

_Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
_Normal = Annotated[float, Field(ge=sys.float_info.min, allow_inf_nan=False)]
_Share = Annotated[float, Field(gt=0, lt=1)]
_Shares = Annotated[tuple[_Share, ...], AfterValidator(each_once)]
_Epsilons = Annotated[tuple[_Positive, ...], AfterValidator(each_once)]
_Plain = Annotated[str, Field(pattern=r"^\w[\w.-]*$")]

_MOST_NOMINAL = 10.0
"""Nominal epsilon of a release that sets no limit to the exact one: the largest of the paper."""

RELEASABLE: tuple[Name, ...] = ("M1", "M2 spectral", "haar", "gaussian")
"""What needs no public vocabulary that the vectors are in."""


@settings
class PrivateVectorsJob(IntervalSettings):
    """Intervals of errors are over runs with noise of their own."""

    name: Literal["private_vectors"]


@settings
class Vocabulary:
    words: Annotated[int, Field(ge=3)] | None
    word_file: Text | None
    tile_words: Annotated[int, Field(ge=2, le=8192)]


@settings
class Audit:
    epsilon: _Positive
    pairs: Least0
    draws: Annotated[int, Field(ge=400)]
    batch: Annotated[int, Field(ge=100)]
    level: _Share

    @pydantic.model_validator(mode="after")
    def _has_batches_to_choose_with(self) -> Self:
        if self.draws < CHOOSING * self.batch:
            raise ValueError(
                f"audit.draws={self.draws}: must be at least {CHOOSING} times audit.batch={self.batch}, as one "
                f"batch in {CHOOSING} chooses thresholds; raise it or lower audit.batch"
            )
        return self


@settings
class Distances:
    epsilons: _Epsilons
    betas: _Shares
    words: Count
    runs: Least2


@settings
class Task:
    path: Text
    test: Text | None = None
    text: str = "text"
    label: str = "label"
    kind: Literal["texts", "words"] = "texts"


@settings
class Utility:
    tasks: dict[_Plain, Task]
    runs: Count
    penalties: Annotated[tuple[_Positive, ...], Field(min_length=1)]
    folds: Least2
    noise_per: Annotated[tuple[Literal["occurrence", "word"], ...], Field(min_length=1)]
    limit: Annotated[int, Field(ge=10)] | None


@settings
class Deniability:
    words: Least0
    draws: Count


@settings
class Release:
    """Defaults stand here too, as a study may say nothing else."""

    key_file: Text | None = None
    name: _Plain = "release"
    input: _Plain = "vectors"
    words: Text | None = None
    texts: Text | None = None
    text_column: Text = "text"
    unknown: Text = "_"
    mechanism: Name | Literal["exponential"] = "M1"
    gamma: _Positive | None = None
    vickrey: _Share | None = None
    epsilon: _Positive | None = None
    exact_loss: _Positive | None = None
    max_epsilon: _Positive = 10.0
    max_delta: Annotated[float, Field(ge=0, lt=1)] = 1e-5
    max_exact_epsilon: _Positive | None = None
    radius: _Normal | None = None

    @property
    def of_vectors(self) -> Name:
        """The mechanism, where it gives vectors."""
        return cast(Name, self.mechanism)

    @pydantic.model_validator(mode="after")
    def _can_be_released(self) -> Self:
        private = "words" if self.words else "texts"
        if (self.words or self.texts) and self.radius is not None:
            raise ValueError(
                f"release.radius={self.radius:g}: is for private vectors; those of words are public, and so are their "
                f"norms: leave it out, or release.{private}"
            )
        if self.words and self.texts:
            raise ValueError(f"release.texts={self.texts}: is released, or release.words, not both; leave one out")
        self._check_words()
        if not (self.words or self.texts):
            self._check_private_vectors()
        if self.key_file:
            self._check_epsilon()
        else:
            self._check_unused()
        return self

    def _check_words(self) -> None:
        if self.mechanism == "exponential" and not self.texts:
            raise ValueError(
                "release.mechanism=exponential: gives words and no vectors; name private texts in release.texts, or "
                "choose another mechanism"
            )
        for name, value in {"gamma": self.gamma, "exact_loss": self.exact_loss}.items():
            if value is not None and self.mechanism != "exponential":
                raise ValueError(
                    f"release.{name}={value:g}: is of the exponential mechanism alone; leave it out, or set "
                    "release.mechanism=exponential"
                )
        if self.vickrey is not None and (self.mechanism == "exponential" or not self.texts):
            raise ValueError(
                f"release.vickrey={self.vickrey:g}: chooses of the two words that a noisy vector is nearest to, in "
                "private texts; leave it out, or name them in release.texts, with another mechanism than exponential"
            )

    def _check_epsilon(self) -> None:
        if self.exact_loss is not None:
            if self.epsilon is not None:
                raise ValueError(
                    f"release.epsilon={self.epsilon:g}: follows from release.exact_loss={self.exact_loss:g}; leave one "
                    "of them out"
                )
            return
        if self.epsilon is None:
            raise ValueError(
                "release.epsilon: is missing, and has no usual value: by what is given away, whoever wants to tell two "
                "vectors at a distance r apart gains odds of up to exp(epsilon r), so that epsilon = 1 / r allows a "
                "factor of 2.7, and 10 / r one of 22,026; set it by the distances of your vectors, which a study "
                "(without release.key_file) has in its table profiles"
            )
        if self.epsilon > self.max_epsilon:
            raise ValueError(
                f"release.epsilon={self.epsilon:g}: is more than release.max_epsilon={self.max_epsilon:g}, which all "
                "releases of an input may spend together; lower it or raise the other"
            )
        if self.epsilon > _MOST_NOMINAL and self.max_exact_epsilon is None:
            raise ValueError(
                f"release.epsilon={self.epsilon:g}: is more than {_MOST_NOMINAL:g}; say in "
                "release.max_exact_epsilon how large the exact epsilon of near vectors may be, or lower it"
            )

    def _check_unused(self) -> None:
        """Whoever describes a release and forgets the key would have private vectors studied, words and all."""
        chosen = [(field.name, getattr(self, field.name), field.default) for field in fields(cast(Any, self))]
        for name, value, default in chosen:
            if value != default:
                raise ValueError(
                    f"release.{name}={value}: says how to release, and nothing is released without a key; set "
                    "release.key_file, or leave it out"
                )

    def _check_private_vectors(self) -> None:
        if self.mechanism not in RELEASABLE:
            raise ValueError(
                f"release.mechanism={self.mechanism}: holds for a public vocabulary, and private vectors are in none; "
                f"choose one of {', '.join(RELEASABLE)}, or name the words of a public vocabulary in release.words"
            )
        if self.mechanism == "gaussian" and self.radius is None:
            raise ValueError(
                "release.mechanism=gaussian: promises nothing for vectors of any length; set release.radius"
            )


@settings
class PrivateVectorsRun(CommonConfig):
    job: PrivateVectorsJob
    embedding: Annotated[FileEmbedding | EncoderEmbedding, Field(discriminator="kind")]
    vocabulary: Vocabulary
    mechanisms: Annotated[tuple[Name, ...], Field(min_length=1), AfterValidator(each_once)]
    epsilons: Annotated[_Epsilons, Field(min_length=1)]
    exact_epsilons: _Epsilons
    deltas: Annotated[_Shares, Field(min_length=1)]
    beta: _Share
    covariance_weight: _Share
    dimensions: Count | None
    audit: Audit
    distances: Distances
    utility: Utility
    deniability: Deniability
    release: Release

    @pydantic.model_validator(mode="after")
    def _encoder_has_words(self) -> Self:
        if isinstance(self.embedding, EncoderEmbedding) and not self.vocabulary.word_file:
            raise ValueError(
                "vocabulary.word_file: an encoder needs the words to encode; name a file with one in each line"
            )
        if isinstance(self.embedding, FileEmbedding) and self.vocabulary.word_file:
            raise ValueError(
                f"vocabulary.word_file={self.vocabulary.word_file}: is for an encoder, and a file of vectors has words "
                "of its own; leave it out, or set embedding=encoder"
            )
        return self

    @pydantic.model_validator(mode="after")
    def _release_is_of_all_rows(self) -> Self:
        is_private = not (self.release.words or self.release.texts)
        if self.release.key_file and is_private and self.vocabulary.words is not None:
            raise ValueError(
                f"vocabulary.words={self.vocabulary.words}: all vectors of embedding.path are released, not its first "
                "alone; make a file of these, or leave it out"
            )
        return self
