"""What a relation is read from: a sentence with its annotations, and the places of its two arguments."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple, get_args

Role = Literal["subject", "object"]
ROLES: tuple[Role, ...] = get_args(Role)

Field = Literal["word", "lemma", "pos", "ner"]
FIELDS: tuple[Field, ...] = get_args(Field)

NO_RELATION = "no_relation"
"""The relation of a pair of which nothing is known, as TACRED calls it."""

ROOT = -1
"""The head of a word that has none."""


class InstanceError(ValueError):
    """A sentence or an instance can't be: the message names what is wrong with it."""


class Span(NamedTuple):
    """Tokens start to end - 1 of a sentence, counted from 0."""

    start: int
    end: int

    def overlaps(self, other: "Span") -> bool:
        """Whether a token lies in both.

        >>> Span(0, 2).overlaps(Span(1, 3)), Span(0, 2).overlaps(Span(2, 3))
        (True, False)
        """
        return self.start < other.end and other.start < self.end


@dataclass(frozen=True)
class Sentence:
    """Tokens with their annotations, of which each is one value a token, or None where there is none.

    Attributes:
        tokens, lemmas, pos, ner: text.
        heads: of each token the place of its syntactic head, counted from 0; -1 of roots.
        deprels: the name of the dependency between a token and its head.

    Raises:
        InstanceError: if there is no token, an annotation has another length, a head lies outside of the sentence, or
            only one of ``heads`` and ``deprels`` is given.
    """

    tokens: tuple[str, ...]
    lemmas: tuple[str, ...] | None = None
    pos: tuple[str, ...] | None = None
    ner: tuple[str, ...] | None = None
    heads: tuple[int, ...] | None = None
    deprels: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if not self.tokens:
            raise InstanceError("the sentence has no tokens")
        for name in ("lemmas", "pos", "ner", "heads", "deprels"):
            values = getattr(self, name)
            if values is not None and len(values) != len(self.tokens):
                raise InstanceError(f"{name} has {len(values)} values for {len(self.tokens)} tokens")
        if (self.heads is None) != (self.deprels is None):
            raise InstanceError("heads and deprels come together: one of them is missing")
        self._check_heads()

    def _check_heads(self) -> None:
        for position, head in enumerate(self.heads or ()):
            if not ROOT <= head < len(self.tokens) or head == position:
                raise InstanceError(
                    f"the head of token {position} is {head}: must be another token, 0 to {len(self.tokens) - 1}, or -1"
                )


@dataclass(frozen=True)
class Instance:
    """An ordered pair of arguments in a sentence.

    Attributes:
        subject, object: where they are; they don't overlap.
        relation: what holds between them, ``no_relation`` included; None: it isn't known.
        subject_type, object_type: of which kind they are, such as PERSON; None: it isn't known.
        document: what the sentence is part of; rules are mined and re-estimated on different documents.
        row: where it stands in its file, from 0.

    Raises:
        InstanceError: if a span is empty, lies outside of the sentence, or both overlap.
    """

    sentence: Sentence
    subject: Span
    object: Span
    relation: str | None = None
    subject_type: str | None = None
    object_type: str | None = None
    document: str = ""
    row: int = 0

    def __post_init__(self) -> None:
        length = len(self.sentence.tokens)
        for role in ROLES:
            start, end = self.span(role)
            if not 0 <= start < end <= length:
                raise InstanceError(
                    f"the {role} is tokens {start} to {end - 1}: must be one at least, inside of 0 to {length - 1}"
                )
        if self.subject.overlaps(self.object):
            raise InstanceError(f"subject {tuple(self.subject)} and object {tuple(self.object)} overlap")

    def span(self, role: Role) -> Span:
        return self.subject if role == "subject" else self.object

    def text(self, role: Role) -> str:
        """The tokens of an argument."""
        return " ".join(self.sentence.tokens[slice(*self.span(role))])

    @property
    def is_subject_first(self) -> bool:
        return self.subject.start < self.object.start

    @property
    def between(self) -> Span:
        """What lies between the arguments, which may be nothing."""
        first, second = sorted([self.subject, self.object])
        return Span(first.end, second.start)

    @cached_property
    def values(self) -> dict[Field, Sequence[str] | None]:
        """What rules test, by the field: as annotated, but the NER of an argument's tokens is the argument's type,
        where it is known."""
        sentence = self.sentence
        return {"word": sentence.tokens, "lemma": sentence.lemmas, "pos": sentence.pos, "ner": self._entity_types()}

    def _entity_types(self) -> Sequence[str] | None:
        types = {"subject": self.subject_type, "object": self.object_type}
        if self.sentence.ner is None and not any(types.values()):
            return None
        values = list(self.sentence.ner or [""] * len(self.sentence.tokens))
        for role in ROLES:
            start, end = self.span(role)
            if (kind := types[role]) is not None:
                values[start:end] = [kind] * (end - start)
        return tuple(values)
