"""Changed texts to train on: how far each lies from its source, a balanced sample, and texts to compare them with."""

import unicodedata
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

import numpy as np
import regex

from tiltmeter.operators.classifiers.adversary.victims import Space
from tiltmeter.operators.classifiers.adversary.words import replaced
from tiltmeter.operators.compute.arrays import FloatArray
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.text.pronouns import token_parts

VERSION = "augmentation/1"

_IGNORABLE = regex.compile(r"\p{Default_Ignorable_Code_Point}+")


class Variant(NamedTuple):
    """A changed text.

    Attributes:
        source: number of the text that it was made of.
        label: class of that text.
        text: as it reads.
    """

    source: int
    label: str
    text: str


def change_norm(pairs: Sequence[tuple[str, str]], vectors: Mapping[str, FloatArray]) -> float:
    """sqrt(sum_i |v(c_i) - v(w_i)|^2) over the replaced words w_i and their replacements c_i.

    Returns:
        In the unit of the vectors; NaN if a word has none.

    >>> change_norm([("man", "boy"), ("he", "it")], {"man": 3.0, "boy": 0.0, "he": 4.0, "it": 0.0})
    5.0
    """
    if any(word not in vectors for pair in pairs for word in pair):
        return float("nan")
    squares = (np.square(vectors[second] - vectors[first]).sum() for first, second in pairs)
    return float(np.sqrt(sum(float(square) for square in squares)))


def normal_form(text: str) -> str:
    """What texts that read alike have in common: NFKC, small letters, one blank between words, nothing invisible.

    >>> normal_form("The  ﬁlm\u200b of A MAN ")
    'the film of a man'
    """
    return " ".join(_IGNORABLE.sub("", unicodedata.normalize("NFKC", text)).casefold().split())


def balanced_sample(variants: Sequence[Variant], sources: Sequence[str], per_source: int, seed: int) -> list[int]:
    """Which variants make a sample: each normal form once, as many of every class, few of a source.

    A form that a source has, or that variants of two classes have, is left out. Of a form the first variant is taken,
    of a source the first ``per_source`` in an order that a key of seed and form says, and of each class as many as the
    rarest has, those with the fewest siblings before them first.

    Args:
        variants: in the order in which the first of a form is taken.
        sources: texts that were changed, whichever they are.
        per_source: variants of a source at most.
        seed: of the run.

    Returns:
        Their numbers, rising.

    >>> variants = [Variant(0, "a", "x y"), Variant(0, "a", "X Y"), Variant(1, "b", "z"), Variant(2, "a", "q")]
    >>> len(balanced_sample(variants, ["x z"], 1, 0)), balanced_sample(variants[:3], ["Z"], 1, 0)
    (2, [0])
    """
    forms = [normal_form(variant.text) for variant in variants]
    labels: dict[str, set[str]] = {}
    for form, variant in zip(forms, variants, strict=True):
        labels.setdefault(form, set()).add(variant.label)
    barred = {form for form, names in labels.items() if len(names) > 1} | {normal_form(text) for text in sources}
    first: dict[str, int] = {}
    for number, form in enumerate(forms):
        if form not in barred:
            first.setdefault(form, number)
    drawn = [(variants[number], document_key(f"{seed}\n{form}"), number) for form, number in first.items()]
    by_label: dict[str, list[tuple[int, int, int]]] = {}
    drawn.sort(key=lambda one: (one[0].source, one[1]))
    for _, group in groupby(drawn, key=lambda one: one[0].source):
        for place, (variant, key, number) in enumerate(group):
            if place < per_source:
                by_label.setdefault(variant.label, []).append((place, key, number))
    num = min(map(len, by_label.values()), default=0)
    return sorted(number for rows in by_label.values() for _, _, number in sorted(rows)[:num])


def random_swaps(tokens: Sequence[str], space: Space, num_changes: int, draws: np.random.Generator) -> str:
    """A text with as many changes as are asked for, at places that are drawn from those of its candidates, to
    candidates that are drawn from the lists of these places.

    >>> random_swaps(["a", "b"], {1: ["c"]}, 2, np.random.default_rng(0))
    'a c'
    """
    changed, places = list(tokens), np.array(sorted(space))
    for place in draws.choice(places, min(num_changes, places.size), replace=False).tolist():
        changed[place] = space[place][int(draws.integers(len(space[place])))]
    return " ".join(changed)


def random_positions(tokens: Sequence[str], words: Sequence[str], num_changes: int, draws: np.random.Generator) -> str:
    """The same at places that are drawn from all words of the text, to any of some words.

    >>> random_positions(["Old", "-"], ["new"], 2, np.random.default_rng(0))
    'New -'
    """
    changed, places = list(tokens), np.array([place for place, token in enumerate(tokens) if token_parts(token).word])
    for place in draws.choice(places, min(num_changes, places.size), replace=False).tolist():
        changed[place] = replaced(tokens[place], words[int(draws.integers(len(words)))])
    return " ".join(changed)
