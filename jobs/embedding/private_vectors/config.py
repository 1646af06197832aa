"""The config of `private_vectors`: vectors, mechanisms, how they are audited and used, and what is released."""

import sys
from dataclasses import fields
from typing import Annotated, Literal, Self

import pydantic
from pydantic import AfterValidator, ConfigDict, Field

from tiltmeter.jobs.embedding.config import EncoderEmbedding, FileEmbedding
from tiltmeter.jobs.runtime.config import CommonConfig, each_once
from tiltmeter.operators.embedding.private_release.bounds import CHOOSING
from tiltmeter.operators.embedding.private_release.mechanisms import DESIGNS, Name
from tiltmeter.operators.statistics.intervals import IntervalSettings

_Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
_Normal = Annotated[float, Field(ge=sys.float_info.min, allow_inf_nan=False)]
_Share = Annotated[float, Field(gt=0, lt=1)]
_Count = Annotated[int, Field(ge=1)]
_Epsilons = Annotated[tuple[_Positive, ...], AfterValidator(each_once)]

_MOST_NOMINAL = 10.0
"""Nominal epsilon of a release that sets no limit to the exact one: the largest of the paper."""

RELEASABLE: tuple[Name, ...] = ("M1", "M2 spectral", "haar", "gaussian")
"""What needs no public vocabulary that the vectors are in."""


@pydantic.dataclasses.dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class PrivateVectorsJob(IntervalSettings):
    """``job=private_vectors``; intervals of errors are over runs with noise of their own."""

    name: Literal["private_vectors"] = "private_vectors"


@pydantic.dataclasses.dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class Vocabulary:
    """Public vectors that mechanisms are studied on.

    Attributes:
        words: that are taken of a file of public vectors or words, its first; None: all.
        word_file: file with a word in each line, which an encoder needs.
        tile_words: words of a block, of which sensitivity compares each with each.
    """

    words: Annotated[int, Field(ge=3)] | None = None
    word_file: Annotated[str, Field(min_length=1)] | None = None
    tile_words: Annotated[int, Field(ge=2, le=8192)] = 2048


@pydantic.dataclasses.dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class Audit:
    """How mechanisms are audited.

    Attributes:
        epsilon: nominal, of the mechanisms.
        pairs: of words: a nearest and a random one for each of so many words.
        draws: of each vector of a pair.
        batch: draws of a unit of work.
        level: chance at most that anything true is denied in the whole table.
    """

    epsilon: _Positive = 10.0
    pairs: Annotated[int, Field(ge=0)] = 2
    draws: Annotated[int, Field(ge=400)] = 40_000
    batch: Annotated[int, Field(ge=100)] = 5000
    level: _Share = 0.05

    @pydantic.model_validator(mode="after")
    def _has_batches_to_choose_with(self) -> Self:
        if self.draws < CHOOSING * self.batch:
            raise ValueError(
                f"audit.draws={self.draws}: must be at least {CHOOSING} times audit.batch={self.batch}, as one "
                f"batch in {CHOOSING} chooses thresholds; raise it or lower audit.batch"
            )
        return self


@pydantic.dataclasses.dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class Distances:
    """Experiments 1 and 2: distances and inner products of pairs of words.

    Attributes:
        epsilons: nominal.
        betas: of M2.
        words: on each side, so that there are ``words``^2 pairs.
        runs: with noise of their own.
    """

    epsilons: _Epsilons = (1.0, 2.0, 5.0)
    betas: Annotated[tuple[_Share, ...], AfterValidator(each_once)] = (0.5, 0.6, 0.7)
    words: _Count = 100
    runs: Annotated[int, Field(ge=2)] = 10


@pydantic.dataclasses.dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class Task:
    """Texts, or words, with classes.

    Attributes:
        path: CSV, TSV or Parquet.
        test: its like for the test; None: a random part.
        text: column of the text, or of the word.
        label: column of the class.
        kind: ``texts`` by the mean of their words' vectors, or single ``words`` by a linear SVM.
    """

    path: Annotated[str, Field(min_length=1)]
    test: Annotated[str, Field(min_length=1)] | None = None
    text: str = "text"
    label: str = "label"
    kind: Literal["texts", "words"] = "texts"


@pydantic.dataclasses.dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class Utility:
    """What private vectors are still good for.

    Attributes:
        tasks: by the names that the table gives them.
        runs: repetitions, with noise and, where it is random, a test part of their own.
        penalties: values of C that are chosen from.
        folds: of this choice.
        noise_per: draws noise for each ``occurrence`` of a word, as privacy wants it, or once for a ``word`` too.
        limit: rows that are taken of a file at most; None: all.
    """

    tasks: dict[Annotated[str, Field(pattern=r"^\w[\w.-]*$")], Task] = Field(default_factory=dict)
    runs: _Count = 2
    penalties: Annotated[tuple[_Positive, ...], Field(min_length=1)] = (0.01, 0.1, 1.0)
    folds: Annotated[int, Field(ge=2)] = 5
    noise_per: Annotated[tuple[Literal["occurrence", "word"], ...], Field(min_length=1)] = ("occurrence",)
    limit: Annotated[int, Field(ge=10)] | None = None


@pydantic.dataclasses.dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class Deniability:
    """Attributes:
    words: that are perturbed.
    draws: perturbations of each.
    """

    words: Annotated[int, Field(ge=0)] = 200
    draws: _Count = 50


@pydantic.dataclasses.dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class Release:
    """What is given away, with randomness that nobody else has.

    Attributes:
        key_file: 32 secret bytes, readable by their owner alone, outside of the store and the run directory; None:
            nothing is released.
        name: of the release; the same name, vectors and settings give the same bits.
        input: what the account calls the vectors that are released.
        words: file of private words, one in each line, of which the vectors of a public vocabulary are released;
            None: the vectors of ``embedding.path`` are private themselves.
        mechanism: any for words; for private vectors one that needs no public vocabulary.
        epsilon: nominal, per unit of distance; for ``gaussian`` up to the largest distance, and with the slack
            ``deltas[0]``. There is no usual one.
        max_epsilon: that may be spent on the input, over all its releases.
        max_delta: the same of slack.
        most_epsilon: that the exact epsilon may be between a vector and its nearest other, in the median; None: any,
            of a nominal epsilon up to 10.
        radius: public, that private vectors are shortened to; None: they are not.
    """

    key_file: Annotated[str, Field(min_length=1)] | None = None
    name: Annotated[str, Field(pattern=r"^\w[\w.-]*$")] = "release"
    input: Annotated[str, Field(pattern=r"^\w[\w.-]*$")] = "vectors"
    words: Annotated[str, Field(min_length=1)] | None = None
    mechanism: Name = "M1"
    epsilon: _Positive | None = None
    max_epsilon: _Positive = 10.0
    max_delta: Annotated[float, Field(ge=0, lt=1)] = 1e-5
    most_epsilon: _Positive | None = None
    radius: _Normal | None = None

    @pydantic.model_validator(mode="after")
    def _can_be_released(self) -> Self:
        if self.words and self.radius is not None:
            raise ValueError(
                f"release.radius={self.radius:g}: is for private vectors; those of words are public, and so are their "
                "norms: leave it out, or release.words"
            )
        if not self.words:
            self._check_private_vectors()
        if self.key_file:
            self._check_epsilon()
        else:
            self._check_unused()
        return self

    def _check_epsilon(self) -> None:
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
        if self.epsilon > _MOST_NOMINAL and self.most_epsilon is None:
            raise ValueError(
                f"release.epsilon={self.epsilon:g}: is more than {_MOST_NOMINAL:g}; say in release.most_epsilon how "
                "large the exact epsilon of near vectors may be, or lower it"
            )

    def _check_unused(self) -> None:
        """Whoever describes a release and forgets the key would have private vectors studied, words and all."""
        chosen = [(field.name, getattr(self, field.name), field.default) for field in fields(self)]
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


@pydantic.dataclasses.dataclass(frozen=True, kw_only=True, config=ConfigDict(extra="forbid"))
class PrivateVectorsRun(CommonConfig):
    """A run of ``private_vectors``.

    Attributes:
        embedding: files of vectors, or an encoder.
        mechanisms: by name.
        epsilons: nominal, per unit of distance.
        exact_epsilons: at ``deltas[0]`` and the median distance, at which mechanisms are compared alike.
        deltas: slacks of the exact profile.
        beta: distortion that M2 allows, of which its dimensions follow.
        dimensions: of all mechanisms with a map; None: as ``beta`` says.
    """

    job: PrivateVectorsJob
    embedding: Annotated[FileEmbedding | EncoderEmbedding, Field(discriminator="kind")]
    vocabulary: Vocabulary
    mechanisms: Annotated[tuple[Name, ...], Field(min_length=1), AfterValidator(each_once)] = tuple(DESIGNS)
    epsilons: Annotated[_Epsilons, Field(min_length=1)] = (1.0, 5.0, 10.0)
    exact_epsilons: _Epsilons = (8.0, 20.0)
    deltas: Annotated[tuple[_Share, ...], Field(min_length=1), AfterValidator(each_once)] = (1e-6,)
    beta: _Share = 0.9
    dimensions: _Count | None = None
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
        if self.release.key_file and not self.release.words and self.vocabulary.words is not None:
            raise ValueError(
                f"vocabulary.words={self.vocabulary.words}: all vectors of embedding.path are released, not its first "
                "alone; make a file of these, or leave it out"
            )
        return self
