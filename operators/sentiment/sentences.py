"""Sentences about persons and emotions, made from templates as in the Equity Evaluation Corpus.

Kiritchenko and Mohammad 2018, *Examining Gender and Race Bias in Two Hundred Sentiment Analysis Systems*, put persons
and emotion words into templates, so that sentences differ in the person alone. Lakkaraju, Srivastava and Valtorta 2023,
*Rating Sentiment Analysis Systems for Bias through a Causal Lens*, make four groups of data of them. In two groups
every person feels every emotion, so that the emotion says nothing about gender or race. In the other two a positive
word falls to a person with a probability that depends on gender or race, which confounds the emotion with them.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from tiltmeter.operators.compute.generators import keyed_bits
from tiltmeter.operators.compute.philox import Stream
from tiltmeter.operators.sentiment.templates import Persons, Polarity, SyntheticSentences, Words, forms

VERSION = "sentences/1"

NEUTRAL = "neutral"
"""The gender, and the race, of a sentence that tells neither."""


class Sentence(NamedTuple):
    """One sentence of a data set.

    Attributes:
        group, dataset: their names.
        text: the sentence.
        gender: of the person, or neutral.
        race: likewise; None in groups that do not tell persons apart by it.
        emotion: the emotion word; in confounded groups ``positive`` or ``negative``.
        emotion_word: the emotion word.
        template: what the sentence is made from.
        person: as a subject; None in neutral sentences.
        protected_words: the word that tells the gender or race: the last word of the person, which in English is the
            head of a noun phrase. Empty in neutral sentences.
    """

    group: str
    dataset: str
    text: str
    gender: str
    race: str | None
    emotion: str
    emotion_word: str
    template: str
    person: str | None
    protected_words: list[str]


def make_sentences(config: SyntheticSentences, seed: int) -> list[Sentence]:
    """The sentences of all groups and data sets.

    A data set of W emotion words in a group with P persons, T templates and N neutral templates has (T P + N) W
    sentences, or (T P + N) ``repeats`` if the group is confounded. Then the emotion of each is drawn, positive with the
    person's probability, and after it one of the data set's words of that emotion, each as probable as the others.
    Draws are keyed by (seed, group, data set, template, person) and nothing else, so that another template, person or
    repeat changes none of the other draws.

    The generator that was published with the paper had at first paired the i-th positive with the i-th negative word,
    which drops the surplus of the longer list, and draws the word since then. The published scores are of drawn words.

    Args:
        seed: the run's seed, 0 <= seed < 2^64.

    >>> from tiltmeter.operators.sentiment.templates import Emotions, Group
    >>> emotions, she = Emotions(("glad",), ("sad",)), Persons(("she/her",), "female")
    >>> config = SyntheticSentences(
    ...     "synthetic", ("I made {object} feel {emotion}.",), emotions, {"E1": ("sad", "glad")},
    ...     {"pronouns": {"she": she}}, {"gender": Group("pronouns", ("E1",))},
    ... )
    >>> [(made.text, made.gender, made.emotion, made.protected_words) for made in make_sentences(config, seed=0)]
    [('I made her feel sad.', 'female', 'sad', ['her']), ('I made her feel glad.', 'female', 'glad', ['her'])]
    """
    return [
        sentence
        for name, group in config.groups.items()
        for dataset in group.datasets
        for frame in _frames(config, group.persons)
        for sentence in _sentences(config, name, dataset, frame, seed)
    ]


class _Frame(NamedTuple):
    """A :class:`Sentence` without its emotion word, and the probability that a positive one falls to it."""

    text: str
    gender: str
    race: str | None
    template: str
    person: str | None
    protected_words: list[str]
    positive: float


def _frames(config: SyntheticSentences, name: str) -> Iterator[_Frame]:
    persons = config.persons[name].values()
    for template in config.templates:
        for these in persons:
            for word in these.words:
                yield _frame(template, these, word)
    if config.neutral:
        race = NEUTRAL if any(these.race for these in persons) else None
        for template in config.neutral.templates:
            yield _Frame(template, NEUTRAL, race, template, None, [], config.neutral.positive)


def _frame(template: str, persons: Persons, word: str) -> _Frame:
    subject, object_ = forms(word)
    called = object_ if "{object}" in template else subject
    text = template.replace("{subject}", called).replace("{object}", called)
    return _Frame(text, persons.gender, persons.race, template, subject, [called.split()[-1]], persons.positive)


def _sentences(config: SyntheticSentences, group: str, dataset: str, frame: _Frame, seed: int) -> Iterator[Sentence]:
    words = config.datasets[dataset]
    if config.groups[group].confounded:
        uniform = _uniform(seed, [group, dataset, frame.template, frame.person], config.repeats)
        felt = _drawn_emotions(frame.positive, config.emotions.by_polarity(words), uniform)
    else:
        felt = [(word, word) for word in words]
    for emotion, word in felt:
        text = frame.text.replace("{emotion}", word)
        yield Sentence(
            group, dataset, text[0].upper() + text[1:], frame.gender, frame.race, emotion, word, frame.template,
            frame.person, list(frame.protected_words),
        )  # fmt: skip


def _drawn_emotions(
    positive: float, polarities: Mapping[Polarity, Words], uniform: list[list[float]]
) -> list[tuple[str, str]]:
    """A polarity and a word for each pair of numbers in [0, 1)."""
    drawn: list[tuple[str, str]] = []
    for for_polarity, for_word in uniform:
        polarity: Polarity = "positive" if for_polarity < positive else "negative"
        words = polarities[polarity]
        drawn.append((polarity, words[int(for_word * len(words))]))
    return drawn


def _uniform(seed: int, about: list[str | None], num_pairs: int) -> list[list[float]]:
    """``[num_pairs][2]`` numbers in [0, 1), the first ones the same whatever their number."""
    digest = hashlib.blake2b(json.dumps(about).encode(), digest_size=32).digest()
    bits = keyed_bits(seed, Stream.EMOTION, np.frombuffer(digest, dtype="<u8").tolist())
    pairs: list[list[float]] = np.random.Generator(bits).random((num_pairs, 2)).tolist()
    return pairs
