"""What sentences about persons and emotions are made of, as typed records that check themselves when built.

The choices are data (``conf/sentences/``); ``pydantic.TypeAdapter(SyntheticSentences).validate_python`` builds them
from the plain dictionary that a YAML file gives. A wrong one is refused with its key, its value and what is allowed.
"""

import re
from collections.abc import Mapping
from itertools import chain
from typing import Annotated, Literal

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

from tiltmeter.operators.text.word_checks import check_repetition, check_words

_CONFIG = ConfigDict(extra="forbid")
_SLOT = re.compile(r"\{(.*?)\}")
_ONE_OR_TWO_FORMS = re.compile(r"[^/\s][^/]*(/[^/\s][^/]*)?")

Polarity = Literal["positive", "negative"]
Words = tuple[str, ...]
Probability = Annotated[float, Field(ge=0.0, le=1.0, strict=True)]
"""Strict, so that a YAML ``yes`` does not become 1."""


@dataclass(frozen=True, config=_CONFIG)
class Emotions:
    """Emotion words by what they say.

    Attributes:
        positive, negative: no word is in both.
    """

    positive: Words
    negative: Words

    def __post_init__(self) -> None:
        check_repetition("sentences.emotions", (*self.positive, *self.negative))

    def by_polarity(self, words: Words) -> dict[Polarity, Words]:
        """Which of the words are positive, and which negative.

        >>> Emotions(("glad",), ("sad", "grim")).by_polarity(("grim", "glad"))
        {'positive': ('glad',), 'negative': ('grim',)}
        """
        return {
            "positive": tuple(word for word in words if word in self.positive),
            "negative": tuple(word for word in words if word in self.negative),
        }


@dataclass(frozen=True, config=_CONFIG)
class Persons:
    """Persons of one gender, or of one gender and race.

    Attributes:
        words: how sentences call them; she/her where subject and object differ.
        gender: for example male.
        race: None where the persons are not told apart by it.
        positive: probability of a positive word in confounded groups; that of a negative one is the rest.
    """

    words: Words
    gender: Annotated[str, Field(min_length=1)]
    race: Annotated[str, Field(min_length=1)] | None = None
    positive: Probability = 0.5


@dataclass(frozen=True, config=_CONFIG)
class Neutral:
    """Sentences that tell neither gender nor race.

    Attributes:
        templates: with {emotion}, where the emotion word goes.
        positive: probability of a positive word in confounded groups.
    """

    templates: Words
    positive: Probability = 0.5

    def __post_init__(self) -> None:
        _check_templates("sentences.neutral.templates", self.templates, "{emotion} once", [["emotion"]])


@dataclass(frozen=True, config=_CONFIG)
class Group:
    """A data group: its persons with the emotion words of each of its data sets.

    Attributes:
        persons: key in ``sentences.persons``.
        datasets: keys in ``sentences.datasets``.
        confounded: whether a person's emotion is drawn with the person's probability. If not, every person feels all.
    """

    persons: str
    datasets: Annotated[tuple[str, ...], Field(min_length=1)]
    confounded: bool = False


@dataclass(frozen=True, config=_CONFIG)
class SyntheticSentences:
    """Which sentences to make.

    Attributes:
        templates: with {emotion}, where the emotion word goes, and {subject} or {object}, where the person does.
        emotions: every emotion word.
        datasets: the emotion words of each data set, by its name.
        persons: who a group's sentences are about, by a name that groups give and a name of their own.
        groups: by name.
        neutral: None for groups without neutral sentences.
        repeats: how often a confounded group draws an emotion for each template and person. More than one draw makes
            the data set's emotions nearer to their probabilities; it has no more different sentences to score.

    >>> SyntheticSentences(
    ...     "synthetic", ("{subject} feels.",), Emotions(("glad",), ("sad",)), {"E": ("sad",)}, {}, {}
    ... )  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    pydantic_core._pydantic_core.ValidationError: 1 validation error for SyntheticSentences
      Value error, sentences.templates: '{subject} feels.' must hold {emotion} once and {subject} or {object} once [...
    """

    kind: Literal["synthetic"]
    templates: Words
    emotions: Emotions
    datasets: dict[str, Words]
    persons: dict[str, dict[str, Persons]]
    groups: dict[str, Group]
    neutral: Neutral | None = None
    repeats: Annotated[int, Field(ge=1)] = 1

    def __post_init__(self) -> None:
        slots = "{emotion} once and {subject} or {object} once"
        _check_templates("sentences.templates", self.templates, slots, [["emotion", "subject"], ["emotion", "object"]])
        for name, words in self.datasets.items():
            _check_dataset(f"sentences.datasets.{name}", words, self.emotions)
        for name, persons in self.persons.items():
            _check_persons(f"sentences.persons.{name}", persons)
        if not self.groups:
            raise ValueError("sentences.groups is empty: give at least one group")
        for name, group in self.groups.items():
            _check_group(f"sentences.groups.{name}", group, self)


def forms(word: str) -> tuple[str, str]:
    """How a person is called as a subject and as an object.

    >>> forms("she/her"), forms("my aunt")
    (('she', 'her'), ('my aunt', 'my aunt'))
    """
    subject, _, object_ = word.partition("/")
    return subject, object_ or subject


def _check_templates(key: str, templates: Words, slots: str, allowed: list[list[str]]) -> None:
    check_words(key, templates)
    for template in templates:
        if sorted(_SLOT.findall(template)) not in allowed:
            raise ValueError(f"{key}: {template!r} must hold {slots}")


def _check_dataset(key: str, words: Words, emotions: Emotions) -> None:
    check_words(key, words)
    known = (*emotions.positive, *emotions.negative)
    if unknown := [word for word in words if word not in known]:
        raise ValueError(f"{key}: {unknown} must be among the words of sentences.emotions: {', '.join(known)}")


def _check_persons(key: str, persons: Mapping[str, Persons]) -> None:
    if not persons:
        raise ValueError(f"{key} is empty: give at least one person")
    for name, these in persons.items():
        check_words(f"{key}.{name}.words", these.words)
        if wrong := [word for word in these.words if not _ONE_OR_TWO_FORMS.fullmatch(word)]:
            raise ValueError(f"{key}.{name}.words: {wrong} must be one form, or a subject and an object as in she/her")
    check_repetition(key, [forms(word)[0] for word in chain.from_iterable(these.words for these in persons.values())])
    if len({these.race is None for these in persons.values()}) > 1:
        without = [name for name, these in persons.items() if these.race is None]
        raise ValueError(f"{key}: {without} have no race but the others do: give all of them one, or none")


def _check_group(key: str, group: Group, config: SyntheticSentences) -> None:
    if group.persons not in config.persons:
        raise ValueError(
            f"{key}.persons={group.persons}: must be one of sentences.persons: {', '.join(config.persons)}"
        )
    check_repetition(f"{key}.datasets", group.datasets)
    for name in group.datasets:
        if name not in config.datasets:
            raise ValueError(f"{key}.datasets: {name} must be one of sentences.datasets: {', '.join(config.datasets)}")
        words = config.emotions.by_polarity(config.datasets[name])
        missing = [polarity for polarity in words if not words[polarity]]
        if group.confounded and missing:
            raise ValueError(f"{key}.datasets: {name} has no {missing[0]} word, which a confounded group draws")
