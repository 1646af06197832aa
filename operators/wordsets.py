"""Word lists for the measurements of one language, as typed records that check themselves when built.

The lists are data (``conf/wordset/<name>.yaml``); ``pydantic.TypeAdapter(WordSets).validate_python`` builds them from
the plain dictionary that a YAML file gives. A wrong list is refused with its key, its value and what is allowed.
:func:`normalised` spells them as the text is spelled, so that they can be looked up in a vocabulary.
"""

import dataclasses
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from itertools import chain
from typing import Annotated

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

from operators.tokens import Tokenizer

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
        professions: words whose bias is measured; empty for a language that has no list yet.
    """

    definitional_pairs: Pairs
    professions: Words = ()

    def __post_init__(self) -> None:
        _check_pairs("wordset.gender.definitional_pairs", self.definitional_pairs)
        _check_repetition("wordset.gender.professions", self.professions)


@dataclass(frozen=True, config=_CONFIG)
class WordSets:
    """All word lists of one language; each measurement needs its own, and at least one must be there.

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
    cue_pairs: Pairs = ()
    occupations: Occupations | None = None
    associations: dict[str, Association] = Field(default_factory=dict)
    gender: GenderWords | None = None

    def __post_init__(self) -> None:
        if not self.language.strip():
            raise ValueError(f"wordset.language={self.language!r}: must be a language code, for example en")
        if self.cue_pairs:
            _check_pairs("wordset.cue_pairs", self.cue_pairs)
        if not (self.cue_pairs or self.occupations or self.associations or self.gender):
            raise ValueError(
                f"wordset of language {self.language} holds no list: give at least one of cue_pairs, occupations, "
                "associations, gender"
            )


def word_lists(wordset: WordSets) -> dict[str, tuple[str, ...]]:
    """Every list that is there, by a readable name; pairs are flat, the female word first.

    >>> word_lists(WordSets("wo", gender=GenderWords((("Jigéen", "Góor"), ("Yaay", "Baay")))))
    {'gender.definitional_pairs': ('Jigéen', 'Góor', 'Yaay', 'Baay')}
    """
    lists: dict[str, Iterable[str]] = {
        "cue_pairs": chain.from_iterable(wordset.cue_pairs),
        "occupations": wordset.occupations.percent_women if wordset.occupations else (),
    }
    for name, test in wordset.associations.items():
        lists |= {f"associations.{name}.{side}": getattr(test, side).words for side in _SIDES}
    if wordset.gender:
        lists["gender.definitional_pairs"] = chain.from_iterable(wordset.gender.definitional_pairs)
        lists["gender.professions"] = wordset.gender.professions
    return {name: entries for name, words in lists.items() if (entries := tuple(words))}


def phrases(wordset: WordSets, tokenizer: Tokenizer) -> tuple[str, ...]:
    """Entries that have several words once they are normalised, sorted, each once.

    >>> phrases(WordSets("en", cue_pairs=(("Queen  mother", "king"),)), Tokenizer("en"))
    ('queen mother',)

    Raises:
        ValueError: for an entry without any word.
    """
    return tuple(sorted({entry for entry in _spelling(wordset, tokenizer).values() if " " in entry}))


def normalised(wordset: WordSets, tokenizer: Tokenizer) -> WordSets:
    """The same lists with every entry as the vocabulary writes it.

    Entries of a list that become equal are one, at the place of the first.

    Raises:
        ValueError: for an entry without any word; for a pair whose two words become equal; for occupations that become
            equal but have different shares; for a word that comes into both targets of an association test.

    >>> german = WordSets("de", gender=GenderWords((("Frau", "Mann"),), ("Ärztin", "ÄRZTIN")))
    >>> normalised(german, Tokenizer("de")).gender
    GenderWords(definitional_pairs=(('frau', 'mann'),), professions=('ärztin',))
    """
    spell = _spelling(wordset, tokenizer).__getitem__
    gender = wordset.gender and GenderWords(
        _normalised_pairs("wordset.gender.definitional_pairs", wordset.gender.definitional_pairs, spell),
        _normalised_words(wordset.gender.professions, spell),
    )
    return WordSets(
        wordset.language,
        _normalised_pairs("wordset.cue_pairs", wordset.cue_pairs, spell),
        wordset.occupations and _normalised_occupations(wordset.occupations, spell),
        {name: _normalised_association(test, spell) for name, test in wordset.associations.items()},
        gender,
    )


_SIDES = ("target_x", "target_y", "attribute_a", "attribute_b")


def _spelling(wordset: WordSets, tokenizer: Tokenizer) -> dict[str, str]:
    spelling: dict[str, str] = {}
    for name, entries in word_lists(wordset).items():
        for entry in entries:
            try:
                spelling[entry] = tokenizer.entry(entry)
            except ValueError as error:
                raise ValueError(f"wordset.{name}: {error}") from error
    return spelling


def _normalised_words(words: Words, spell: Callable[[str], str]) -> Words:
    return tuple(dict.fromkeys(map(spell, words)))


def _normalised_pairs(key: str, pairs: Pairs, spell: Callable[[str], str]) -> Pairs:
    spelled = {(spell(female), spell(male)): (female, male) for female, male in pairs}
    for pair, published in spelled.items():
        if pair[0] == pair[1]:
            raise ValueError(
                f"{key}: {list(published)} are one word, {pair[0]!r}, once they are normalised as the text is: take "
                "the pair out, or keep what tells them apart in the text too"
            )
    return tuple(spelled)


def _normalised_occupations(occupations: Occupations, spell: Callable[[str], str]) -> Occupations:
    shares: dict[str, Percent] = {}
    for word, percent in occupations.percent_women.items():
        if shares.setdefault(spell(word), percent) != percent:
            raise ValueError(
                f"wordset.occupations.percent_women: {word}: {percent}, but the same word, normalised as the text is, "
                f"has {shares[spell(word)]} before it: keep one of them"
            )
    return dataclasses.replace(occupations, percent_women=shares)


def _normalised_association(test: Association, spell: Callable[[str], str]) -> Association:
    x, y, a, b = (
        NamedWords(named.name, _normalised_words(named.words, spell))
        for named in (test.target_x, test.target_y, test.attribute_a, test.attribute_b)
    )
    return dataclasses.replace(test, target_x=x, target_y=y, attribute_a=a, attribute_b=b)


def _check_words(key: str, words: Collection[str]) -> None:
    if not words:
        raise ValueError(f"{key} is empty: give at least one word")
    _check_repetition(key, words)


def _check_repetition(key: str, words: Collection[str]) -> None:
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
