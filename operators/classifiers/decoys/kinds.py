"""Decoys: words that give a class away without being a reason for it, put into labelled texts on purpose.

A decoy is a set of words, each of which indicates a class. It is made by inserting them into texts of the class, or by
deleting texts of another class that hold the word already: Idahl et al. 2021, *Towards Benchmarking the Utility of
Explanations for Model Debugging*, section 4 and figure 1. Words are compared without regard to case, and divided as in
:mod:`.text.tokenised`; what a decoy promises to a model is measured in :mod:`.decoys.measures`.
"""

from collections import Counter
from collections.abc import Container, Sequence
from dataclasses import replace
from typing import Annotated, ClassVar, Literal, NamedTuple, Self

from pydantic import BeforeValidator, ConfigDict, Field, field_validator, model_validator
from pydantic.dataclasses import dataclass

from tiltmeter.operators.text.listed_words import folded_words
from tiltmeter.operators.text.normalisation import as_labels, folded

VERSION = "decoys/3"

Match = Literal["word", "substring"]
"""What it takes for a text to hold a word: to have it among its words, or anywhere in its letters."""

Share = Annotated[float, Field(gt=0.0, le=1.0)]


def _one_word(word: str) -> str:
    if folded_words(word) != [folded(word)]:
        raise ValueError(f"{word!r}: must be one word, without a space or punctuation mark in it")
    return word


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class InsertedDecoy:
    """Words that are put into texts of the classes that they indicate.

    Attributes:
        words: what is inserted.
        labels: the class that each of them indicates; None: the first classes, in their alphabetical order.
        share: of the texts of these classes that get the word.
        times: how often each of these gets it.
        place: ``random``, any place between two words, before the first or after the last is as likely as another;
            ``natural``, where the text becomes the most probable to a language model of n-grams.
    """

    words: Annotated[tuple[str, ...], Field(min_length=1)]
    labels: Annotated[tuple[str, ...] | None, BeforeValidator(as_labels)] = None
    share: Share = 0.5
    times: Annotated[int, Field(ge=1)] = 1
    place: Literal["random", "natural"] = "random"
    kind: Literal["inserted"] = "inserted"
    match: ClassVar[Match] = "word"

    @field_validator("words")
    @classmethod
    def _different_words(cls, words: tuple[str, ...]) -> tuple[str, ...]:
        if len({folded(_one_word(word)) for word in words}) < len(words):
            raise ValueError(f"{', '.join(words)}: each word must be another")
        return words

    @model_validator(mode="after")
    def _a_label_for_each_word(self) -> Self:
        if self.labels is not None and len(self.labels) != len(self.words):
            raise ValueError(_unequal(len(self.words), len(self.labels)))
        return self


def _unequal(num_words: int, num_classes: int) -> str:
    classes = f"{num_classes} {'class' if num_classes == 1 else 'classes'}"
    return f"{num_words} {'word' if num_words == 1 else 'words'} for {classes}: set labels, one for each word"


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class DeletedDecoy:
    """A word that comes to indicate the other classes, because texts of one class that hold it are left out.

    Attributes:
        word: that texts hold of themselves.
        label: the class of the texts that are left out; None: the first, in the alphabetical order of the classes.
        share: of these texts that is left out.
        match: whether "movies" holds "movie": not as a ``word``, but as a ``substring``.
    """

    word: str
    label: Annotated[str | None, BeforeValidator(as_labels)] = None
    share: Share = 1.0
    match: Match = "word"
    kind: Literal["deleted"] = "deleted"

    @property
    def words(self) -> tuple[str, ...]:
        """All that the decoy consists of, as an inserted one has them."""
        return (self.word,)

    @field_validator("word")
    @classmethod
    def _is_word(cls, word: str) -> str:
        return _one_word(word)


Decoy = Annotated[InsertedDecoy | DeletedDecoy, Field(discriminator="kind")]


class Text(NamedTuple):
    """A text and its class."""

    text: str
    label: str


def searched(text: str, match: Match) -> Container[str]:
    """What a word in lower case is looked for in.

    >>> "movie" in searched("Bad Movies", "word"), "movie" in searched("Bad Movies", "substring")
    (False, True)
    """
    return frozenset(folded_words(text)) if match == "word" else folded(text)


def holds(decoy: InsertedDecoy | DeletedDecoy, text: str) -> bool:
    """Whether a text has a word of a decoy, of itself or because it was inserted."""
    parts = searched(text, decoy.match)
    return any(folded(word) in parts for word in decoy.words)


def resolved(decoy: InsertedDecoy | DeletedDecoy, texts: Sequence[Text]) -> InsertedDecoy | DeletedDecoy:
    """The decoy with the classes that it leaves open.

    Args:
        decoy: to be made.
        texts: that models are trained with.

    Raises:
        ValueError: if the texts have fewer than two classes, or not the decoy's; or a word that is to be there already
            occurs in none of them.
    """
    classes = sorted({label for _, label in texts})
    if len(classes) < 2:
        raise ValueError(f"the texts have {len(classes)} class: must be at least two; set data.label to another column")
    if isinstance(decoy, DeletedDecoy):
        named: Sequence[str] = [decoy.label or classes[0]]
        result: InsertedDecoy | DeletedDecoy = replace(decoy, label=named[0])
    elif decoy.labels is None and len(classes) < len(decoy.words):
        raise ValueError(_unequal(len(decoy.words), len(classes)))
    else:
        named = decoy.labels or classes[: len(decoy.words)]
        result = replace(decoy, labels=tuple(named))
    if missing := [label for label in named if label not in classes]:
        raise ValueError(f"no text is of the class {missing[0]!r}; the classes are {', '.join(classes)}")
    _check_words(result, texts)
    return result


def _check_words(decoy: InsertedDecoy | DeletedDecoy, texts: Sequence[Text]) -> None:
    if isinstance(decoy, DeletedDecoy):
        for is_left_out, where in ((True, "text of the class"), (False, "text of any class but")):
            candidates = [text for text, label in texts if (label == decoy.label) is is_left_out]
            _check_occurs(decoy, candidates, f"{where} {decoy.label!r}")
    elif decoy.place == "natural":
        _check_occurs(decoy, [text for text, _ in texts], "text")


def _check_occurs(decoy: InsertedDecoy | DeletedDecoy, texts: Sequence[str], where: str) -> None:
    parts = [searched(text, decoy.match) for text in texts]
    for word in decoy.words:
        if not any(folded(word) in part for part in parts):
            raise ValueError(f"the word {word!r} occurs in no {where}; set another word")


def indicated(decoy: InsertedDecoy | DeletedDecoy, texts: Sequence[Text]) -> dict[str, str]:
    """The class that each word of a decoy indicates, by the word in lower case.

    A word that is left out of one class indicates, of the others, the one of most texts that hold it.

    Args:
        decoy: of :func:`resolved`.
        texts: that models are trained with.
    """
    if isinstance(decoy, InsertedDecoy):
        return {folded(word): label for word, label in zip(decoy.words, decoy.labels or (), strict=True)}
    word = folded(decoy.word)
    counts = Counter(label for text, label in texts if label != decoy.label and holds(decoy, text))
    return {word: min(counts, key=lambda label: (-counts[label], label))}
