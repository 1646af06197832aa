"""The config of `sentiment_posterior`: texts, vectors, classifiers, priors, samplers, and the words asked about."""

from collections import Counter
from typing import Annotated, Any, Literal, Self

import pydantic
from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field

from tiltmeter.jobs.classifiers.labelled_data import LabelledData
from tiltmeter.jobs.runtime.config import CommonConfig, each_once
from tiltmeter.operators.embedding.word2vec import Word2VecConfig
from tiltmeter.operators.sentiment.posterior.distances import Distance
from tiltmeter.operators.sentiment.posterior.priors import Name
from tiltmeter.operators.sentiment.posterior.samplers.nuts import NutsConfig
from tiltmeter.operators.sentiment.posterior.training import ClassifierConfig
from tiltmeter.operators.text.normalisation import as_labels
from tiltmeter.storage.vectors.files import ExportFormat

_CONFIG = ConfigDict(extra="forbid")
_Text = Annotated[str, Field(min_length=1)]
_Count = Annotated[int, Field(ge=1)]

Sampler = Literal["exact", "nuts"]


@pydantic.dataclasses.dataclass(frozen=True, config=_CONFIG)
class SentimentPosteriorJob:
    """``job=sentiment_posterior``

    Attributes:
        level: of intervals.
    """

    name: Literal["sentiment_posterior"] = "sentiment_posterior"
    level: Annotated[float, Field(gt=0, lt=1)] = 0.95


@pydantic.dataclasses.dataclass(frozen=True, config=_CONFIG)
class Reviews:
    """Texts with two labels.

    Attributes:
        path: CSV, TSV or Parquet; None: reviews are made up.
        header: whether the first line of CSV and TSV has names.
        text, label: columns.
        positive: the label of positive texts; None: the one that says so, such as ``positive``, ``pos`` or ``1``.
        limit: rows that are taken at most, drawn by their content; None: all.
        made_up: reviews that are made up without a path.
    """

    path: _Text | None = None
    header: bool = True
    text: _Text = "text"
    label: _Text = "label"
    positive: Annotated[_Text | None, BeforeValidator(as_labels)] = None
    limit: _Count | None = None
    made_up: Annotated[int, Field(ge=40)] = 600

    def labelled(self, path: str) -> LabelledData:
        """The same for what reads files."""
        return LabelledData(path=path, header=self.header, text=self.text, label=self.label, limit=self.limit)


@pydantic.dataclasses.dataclass(frozen=True, kw_only=True, config=_CONFIG)
class Vectors:
    """Word vectors.

    Attributes:
        path: file of vectors; None: they are trained on the texts.
        format: of the file; ``auto`` looks at the content.
        allow_pickle: whether gensim's own format may be read.
        min_count: occurrences below which a word of the texts gets no vector.
        trainer: word2vec, where they are trained.
        leak: whether the vectors of a fold may have seen its texts, as in the paper; False: each fold trains its own.
    """

    path: _Text | None = None
    format: Literal["auto", ExportFormat] = "auto"
    allow_pickle: bool = False
    min_count: _Count = 5
    trainer: Word2VecConfig
    leak: bool = False


@pydantic.dataclasses.dataclass(frozen=True, kw_only=True, config=_CONFIG)
class Classifiers(ClassifierConfig):
    """Attributes:
    seeds: classifiers, each with a start of its own.
    folds: of cross-validation, by text.
    calibrated: whether f is divided by the temperature that held-out texts ask for.
    """

    seeds: _Count = 5
    folds: Annotated[int, Field(ge=2)] = 5
    calibrated: bool = True


@pydantic.dataclasses.dataclass(frozen=True, config=_CONFIG)
class Exact:
    """Attributes:
    draws: independent ones, of each classifier, prior and label.
    proposals: draws of the prior that the evidence is the mean of.
    """

    draws: Annotated[int, Field(ge=100)] = 10_000
    proposals: Annotated[int, Field(ge=100)] = 50_000


@pydantic.dataclasses.dataclass(frozen=True, config=_CONFIG)
class Lexicon:
    """Words with a polarity.

    Attributes:
        path: CSV, TSV or Parquet; None: the words that made-up reviews are made of.
        word, polarity: columns; the polarity is ``positive`` or ``negative``.
    """

    path: _Text | None = None
    word: _Text = "word"
    polarity: _Text = "polarity"


@pydantic.dataclasses.dataclass(frozen=True, config=_CONFIG)
class Words:
    """Which words are asked about, beside those of the lexicon and of groups.

    Attributes:
        min_count: occurrences that make a word one of them.
        most: of them, the most frequent.
    """

    min_count: _Count = 50
    most: Annotated[int, Field(ge=0)] = 10_000


@pydantic.dataclasses.dataclass(frozen=True, config=_CONFIG)
class Cues:
    """Pairs of cues that texts near the border are given.

    Attributes:
        pairs: a woman's and a man's.
        texts: of each classifier, half on each side of the border.
    """

    pairs: tuple[tuple[_Text, _Text], ...] = ()
    texts: Annotated[int, Field(ge=2)] = 200


_Groups = Annotated[dict[_Text, Annotated[tuple[_Text, ...], Field(min_length=1)]], Field(min_length=2, max_length=2)]


@pydantic.dataclasses.dataclass(frozen=True, kw_only=True, config=_CONFIG)
class SentimentPosteriorRun(CommonConfig):
    """A run of ``sentiment_posterior``.

    Attributes:
        priors: that posteriors are drawn under.
        samplers: that draw.
        power: k of p(y | s)^k.
        distance: of words to draws.
        chain_classifiers: classifiers that chains are run for, the first; exact draws are made for all.
        groups: words of two groups each, by the name of the comparison.
        lemmas: by word, another word that it is a form of where their stems do not tell, such as ``women: woman``; all
            forms of one lemma are one unit.
    """

    job: SentimentPosteriorJob
    data: Reviews
    vectors: Vectors
    classifier: Classifiers
    priors: Annotated[tuple[Name, ...], Field(min_length=1), AfterValidator(each_once)] = ("standard", "texts", "bag")
    samplers: Annotated[tuple[Sampler, ...], Field(min_length=1), AfterValidator(each_once)] = ("exact", "nuts")
    power: Annotated[float, Field(ge=1, allow_inf_nan=False)] = 1.0
    distance: Distance = "angle"
    exact: Exact
    nuts: NutsConfig
    chain_classifiers: _Count = 1
    lexicon: Lexicon
    words: Words
    groups: dict[_Text, _Groups]
    lemmas: dict[_Text, _Text] = Field(default_factory=dict)
    cues: Cues

    @pydantic.field_validator("lemmas", mode="before")
    @classmethod
    def _none(cls, value: Any) -> Any:
        return {} if value is None else value

    @pydantic.model_validator(mode="after")
    def _has_a_lexicon(self) -> Self:
        if self.data.path is not None and self.lexicon.path is None:
            raise ValueError(
                "lexicon.path: texts of your own need a lexicon, as the words of made-up reviews say nothing of them; "
                "name a file with the columns word and polarity (positive or negative)"
            )
        return self

    @pydantic.model_validator(mode="after")
    def _exact_draws_are_there(self) -> Self:
        if "exact" not in self.samplers:
            raise ValueError(
                f"samplers={list(self.samplers)}: exact draws are what chains are held against, and cost next to "
                "nothing; add exact"
            )
        return self

    @pydantic.model_validator(mode="after")
    def _words_are_of_one_group(self) -> Self:
        for name, groups in self.groups.items():
            (first, words), (second, others) = ((side, [*map(str.lower, listed)]) for side, listed in groups.items())
            if both := sorted(set(words) & set(others)):
                raise ValueError(f"groups.{name}: {both[0]!r} is in {first} and in {second}; leave it out of one")
            if twice := sorted(word for word, number in Counter(words + others).items() if number > 1):
                raise ValueError(f"groups.{name}: {twice[0]!r} is there twice, and words are counted; leave one out")
        return self
