"""Word lists for the measurements of one language, as typed records that check themselves when built.

The lists are data (``conf/wordset/``); ``pydantic.TypeAdapter(WordSets).validate_python`` builds them from the plain
dictionary that a YAML file gives. A wrong list is refused with its key, its value and what is allowed.
:func:`.spelling.normalised` spells them as the text is spelled, so that they can be looked up in a vocabulary.
"""

import dataclasses
from collections import Counter
from collections.abc import Iterable
from itertools import chain
from typing import Annotated

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

from tiltmeter.operators.text.word_checks import check_pairs, check_repetition, check_words

_CONFIG = ConfigDict(extra="forbid")
_TARGETS, _ATTRIBUTES = ("target_x", "target_y"), ("attribute_a", "attribute_b")

Words = tuple[str, ...]
Pairs = tuple[tuple[str, str], ...]
Percent = Annotated[float, Field(strict=True, allow_inf_nan=False)]
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
        check_words("wordset.occupations.percent_women", list(self.percent_women))
        for word, percent in self.percent_women.items():
            if not 0 <= percent <= 100:
                raise ValueError(f"wordset.occupations.percent_women: {word}: {percent} must lie in 0..100 percent")


@dataclass(frozen=True, config=_CONFIG)
class NamedWords:
    """A word set of an association test or a WEFAT and what it stands for."""

    name: str
    words: Words

    def __post_init__(self) -> None:
        check_words(f"words of {self.name!r} in wordset", self.words)


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
    effect_size: Annotated[float, Field(allow_inf_nan=False)]
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
        _check_disjoint("targets", self.target_x, self.target_y)
        _check_disjoint("attributes", self.attribute_a, self.attribute_b)


@dataclass(frozen=True, config=_CONFIG)
class Wefat:
    """The attribute sets of a word embedding factual association test, whose targets are the occupations.

    Is an occupation the closer to attributes A than to B, the more women work in it?

    Attributes:
        source: where the word sets come from.
        attribute_a, attribute_b: the attribute sets, A the female one if the occupations' shares are those of women.
    """

    source: str
    attribute_a: NamedWords
    attribute_b: NamedWords


@dataclass(frozen=True, config=_CONFIG)
class Synonyms:
    """Words that mean nearly the same, to enlarge attribute sets by.

    Attributes:
        source: where they come from.
        words: synonyms of each word.
    """

    source: str
    words: dict[str, Words]

    def __post_init__(self) -> None:
        for word, synonyms in self.words.items():
            check_words(f"wordset.synonyms.words.{word}", synonyms)

    def added_to(self, words: Iterable[str]) -> Words:
        """Words together with their synonyms, sorted, each once.

        >>> Synonyms("made up", {"joy": ("glee",), "war": ("fight",)}).added_to(["peace", "joy"])
        ('glee', 'joy', 'peace')
        """
        return tuple(sorted({form for word in words for form in (word, *self.words.get(word, ()))}))


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
        check_pairs("wordset.gender.definitional_pairs", self.definitional_pairs)
        check_repetition("wordset.gender.professions", self.professions)


@dataclass(frozen=True, config=_CONFIG)
class DefiningPair:
    """Two words that differ in gender; ``note`` says what is doubtful about them."""

    feminine: str
    masculine: str
    note: str = ""

    @property
    def words(self) -> tuple[str, str]:
        """The feminine and the masculine word."""
        return self.feminine, self.masculine


@dataclass(frozen=True, config=_CONFIG)
class WordForms:
    """The forms of one profession.

    Attributes:
        feminine, masculine: forms for a woman or a man alone, spellings and synonyms included.
        neutral: forms for both.
        note: what is doubtful or borrowed; why there is no form.

    >>> WordForms(feminine=("Ärztin",), masculine=("Arzt",)).words
    ('Ärztin', 'Arzt')
    """

    feminine: Words = ()
    masculine: Words = ()
    neutral: Words = ()
    note: str = ""

    @property
    def words(self) -> Words:
        """The feminine, then the masculine, then the neutral forms."""
        return (*self.feminine, *self.masculine, *self.neutral)


@dataclass(frozen=True, config=_CONFIG)
class GenderSurvey:
    """Words of one language for the comparison of gender bias across languages.

    Matthews et al. 2021, *Gender bias in natural language processing across human languages*.

    Attributes:
        script: ISO 15924 code of the script that the words are written in.
        source: where the words come from.
        defining: defining pairs by the English pair that they translate, so that languages can be held side by side.
        professions: forms of each profession by its English name.
    """

    script: Annotated[str, Field(pattern=r"^[A-Z][a-z]{3}$")]
    source: str
    defining: dict[str, DefiningPair]
    professions: dict[str, WordForms]

    def __post_init__(self) -> None:
        if not self.defining:
            raise ValueError("wordset.gender_survey.defining is empty: give at least one pair")
        for name, pair in self.defining.items():
            check_pairs(f"wordset.gender_survey.defining.{name}", (pair.words,))
        for name, forms in self.professions.items():
            _check_forms(f"wordset.gender_survey.professions.{name}", forms)


@dataclass(frozen=True, config=_CONFIG)
class WordSets:
    """All word lists of one language; each measurement needs its own, and at least one must be there.

    Attributes:
        language: language code, as Wikipedia's.
        cue_pairs: (female, male) cues of the forced choice task.
        other_cue_pairs: cues of the task that are no gender pairs.
        occupations: the words that the task asks about, and the targets of the WEFATs.
        associations: association tests by name.
        wefats: WEFATs by name.
        synonyms: of attributes, to estimate the covariance of a set from.
        gender: words for the gender direction.
        gender_survey: words for the comparison across languages.

    >>> GenderWords((("she", "he"),), ("nurse", "nurse"))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    pydantic_core._pydantic_core.ValidationError: 1 validation error for GenderWords
      Value error, wordset.gender.professions: ['nurse'] listed more than once: list each word once [type=...
    """

    language: str
    cue_pairs: Pairs = ()
    other_cue_pairs: Pairs = ()
    occupations: Occupations | None = None
    associations: dict[str, Association] = Field(default_factory=dict)
    wefats: dict[str, Wefat] = Field(default_factory=dict)
    synonyms: Synonyms | None = None
    gender: GenderWords | None = None
    gender_survey: GenderSurvey | None = None

    def __post_init__(self) -> None:
        if not self.language.strip():
            raise ValueError(f"wordset.language={self.language!r}: must be a language code, for example en")
        if self.cue_pairs:
            check_pairs("wordset.cue_pairs", self.cue_pairs)
        if self.other_cue_pairs:
            check_pairs("wordset.other_cue_pairs", self.other_cue_pairs)
        if both := [list(pair) for pair in self.other_cue_pairs if pair in self.cue_pairs]:
            raise ValueError(f"wordset.other_cue_pairs: {both} are among wordset.cue_pairs: list each pair once")
        if self.wefats and not self.occupations:
            raise ValueError(f"wordset.wefats: {list(self.wefats)} have no targets: give wordset.occupations")
        lists = [field.name for field in dataclasses.fields(self) if field.name != "language"]
        if not any(getattr(self, name) for name in lists):
            raise ValueError(
                f"wordset of language {self.language} holds no list: give at least one of {', '.join(lists)}"
            )


def word_lists(wordset: WordSets) -> dict[str, tuple[str, ...]]:
    """Every list that is there, by a readable name; pairs are flat, the female word first.

    >>> word_lists(WordSets("wo", gender=GenderWords((("Jigéen", "Góor"), ("Yaay", "Baay")))))
    {'gender.definitional_pairs': ('Jigéen', 'Góor', 'Yaay', 'Baay')}
    """
    lists: dict[str, Iterable[str]] = {
        "cue_pairs": chain.from_iterable(wordset.cue_pairs),
        "other_cue_pairs": chain.from_iterable(wordset.other_cue_pairs),
        "occupations": wordset.occupations.percent_women if wordset.occupations else (),
    }
    for name, test in wordset.associations.items():
        lists |= {f"associations.{name}.{side}": getattr(test, side).words for side in (*_TARGETS, *_ATTRIBUTES)}
    for name, wefat in wordset.wefats.items():
        lists |= {f"wefats.{name}.{side}": getattr(wefat, side).words for side in _ATTRIBUTES}
    if wordset.synonyms:
        lists["synonyms"] = wordset.synonyms.added_to(wordset.synonyms.words)
    if wordset.gender:
        lists["gender.definitional_pairs"] = chain.from_iterable(wordset.gender.definitional_pairs)
        lists["gender.professions"] = wordset.gender.professions
    if survey := wordset.gender_survey:
        lists["gender_survey.defining"] = chain.from_iterable(pair.words for pair in survey.defining.values())
        lists["gender_survey.professions"] = chain.from_iterable(forms.words for forms in survey.professions.values())
    return {name: entries for name, words in lists.items() if (entries := tuple(words))}


def neutral_survey(gender: GenderWords, script: str = "Latn") -> GenderSurvey:
    """Words for the gender direction in the form of a survey: every profession is one neutral form.

    Args:
        gender: the pairs, and professions of a language without grammatical gender.
        script: ISO 15924 code of the script that they are written in.

    >>> neutral_survey(GenderWords((("woman", "man"),), ("nurse",))).professions["nurse"].neutral
    ('nurse',)
    """
    return GenderSurvey(
        script,
        "wordset.gender",
        {f"{female}-{male}": DefiningPair(female, male) for female, male in gender.definitional_pairs},
        {word: WordForms(neutral=(word,)) for word in gender.professions},
    )


def _check_disjoint(what: str, one: NamedWords, other: NamedWords) -> None:
    if shared := sorted(set(one.words) & set(other.words)):
        raise ValueError(
            f"wordset.associations: {shared} in both {what} {one.name!r} and {other.name!r}: they must be disjoint"
        )


def _check_forms(key: str, forms: WordForms) -> None:
    for gender in (forms.feminine, forms.masculine, forms.neutral):
        check_repetition(key, gender)
    shared = [word for word, count in Counter(forms.words).items() if count > 1]
    if shared:
        raise ValueError(f"{key}: {shared} under several genders: list a form for both under neutral alone")
    if not (forms.words or forms.note.strip()):
        raise ValueError(f"{key}: no form; give one, or a note that says why there is none")
