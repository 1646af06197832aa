"""Word lists for the measurements of one language, as typed records that check themselves when built.

The lists are data (``conf/wordset/<name>.yaml``); ``pydantic.TypeAdapter(WordSets).validate_python`` builds them from
the plain dictionary that a YAML file gives. A wrong list is refused with its key, its value and what is allowed.
"""

from collections import Counter
from collections.abc import Collection
from typing import Annotated

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

_CONFIG = ConfigDict(extra="forbid")

Words = tuple[str, ...]
Pairs = tuple[tuple[str, str], ...]
Percent = Annotated[float, Field(strict=True)]
"""Strict, so that a YAML ``yes`` does not become 1 %."""


@dataclass(frozen=True, config=_CONFIG)
class Occupations:
    """Occupations with the share of women who work in them, to hold measured biases against.

    Attributes:
        source: where the shares come from.
        year: the year they describe.
        percent_women: share of women by occupation, in percent.
    """

    source: str
    year: int
    percent_women: dict[str, Percent]

    def __post_init__(self) -> None:
        _check_words("wordset.occupations.percent_women", list(self.percent_women))
        for word, percent in self.percent_women.items():
            if not 0 <= percent <= 100:
                raise ValueError(f"wordset.occupations.percent_women: {word}: {percent} must lie in 0..100 percent")


@dataclass(frozen=True, config=_CONFIG)
class NamedWords:
    """A word set of an association test and what it stands for."""

    name: str
    words: Words

    def __post_init__(self) -> None:
        _check_words(f"words of {self.name!r} in wordset.associations", self.words)


@dataclass(frozen=True, config=_CONFIG)
class HumanFinding:
    """What the implicit association test found in people.

    Attributes:
        source: the study.
        num_people: participants, as rounded in the source.
        effect_size: Cohen's d, no unit.
        p_value: as printed, bounds included.
    """

    source: str
    num_people: int
    effect_size: float
    p_value: str


@dataclass(frozen=True, config=_CONFIG)
class Association:
    """The word sets of one association test: do targets X go with attributes A, and targets Y with B?

    Attributes:
        source: where the word sets come from.
        target_x, target_y: the target sets; no word is in both.
        attribute_a, attribute_b: the attribute sets.
        published: the finding in people that the test mirrors, if there is one.
    """

    source: str
    target_x: NamedWords
    target_y: NamedWords
    attribute_a: NamedWords
    attribute_b: NamedWords
    published: HumanFinding | None = None

    def __post_init__(self) -> None:
        shared = sorted(set(self.target_x.words) & set(self.target_y.words))
        if shared:
            x, y = self.target_x.name, self.target_y.name
            raise ValueError(f"wordset.associations: {shared} in both targets {x!r} and {y!r}: they must be disjoint")


@dataclass(frozen=True, config=_CONFIG)
class GenderWords:
    """Words for the gender direction and the bias along it.

    Attributes:
        definitional_pairs: (female, male) pairs that differ in gender alone.
        professions: words whose bias is measured.
    """

    definitional_pairs: Pairs
    professions: Words

    def __post_init__(self) -> None:
        _check_pairs("wordset.gender.definitional_pairs", self.definitional_pairs)
        _check_words("wordset.gender.professions", self.professions)


@dataclass(frozen=True, config=_CONFIG)
class WordSets:
    """All word lists of one language.

    Attributes:
        language: language code, as Wikipedia's.
        cue_pairs: (female, male) cues of the forced choice task.
        occupations: the words that the task asks about.
        associations: association tests by name.
        gender: words for the gender direction.

    >>> GenderWords((("she", "he"),), ("nurse", "nurse"))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    pydantic_core._pydantic_core.ValidationError: 1 validation error for GenderWords
      Value error, wordset.gender.professions: ['nurse'] listed more than once: list each word once [type=...
    """

    language: str
    cue_pairs: Pairs
    occupations: Occupations
    associations: dict[str, Association]
    gender: GenderWords

    def __post_init__(self) -> None:
        if not self.language.strip():
            raise ValueError(f"wordset.language={self.language!r}: must be a language code, for example en")
        _check_pairs("wordset.cue_pairs", self.cue_pairs)
        if not self.associations:
            raise ValueError("wordset.associations is empty: give at least one test")


def _check_words(key: str, words: Collection[str]) -> None:
    if not words:
        raise ValueError(f"{key} is empty: give at least one word")
    blank = [word for word in words if not word or word != word.strip()]
    if blank:
        raise ValueError(f"{key}: {blank} must be words without spaces at their ends")
    repeated = [word for word, count in Counter(words).items() if count > 1]
    if repeated:
        raise ValueError(f"{key}: {repeated} listed more than once: list each word once")


def _check_pairs(key: str, pairs: Pairs) -> None:
    if not pairs:
        raise ValueError(f"{key} is empty: give at least one (female, male) pair")
    for pair in pairs:
        if pair[0] == pair[1]:
            raise ValueError(f"{key}: {list(pair)} must be two different words, the female one first")
        _check_words(key, pair)
    repeated = [list(pair) for pair, count in Counter(pairs).items() if count > 1]
    if repeated:
        raise ValueError(f"{key}: {repeated} listed more than once: list each pair once")
