"""Numbers for words, annotations, relations and symbols of rules, from the training part alone."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.relations.instances import NO_RELATION, ROOT, Instance, Span
from tiltmeter.operators.relations.learning.examples import Example, Sizes

_UNTYPED = "?"
_NO_VALUE = ""
HIDDEN = "<unknown>"
"""What stands for a word that training has not seen, or that is hidden."""


@dataclass(frozen=True)
class Vocabulary:
    """Attributes:
    words, pos, ner: by their numbers; the first two stand for padding and what is unknown.
    relations: by their numbers, ``no_relation`` first.
    symbols: of rules; the first four stand for padding, what is unknown, the start and the end.
    folds_case: whether a word that is unknown is looked for in lower case, as vectors in files often are.
    reads_untyped: whether an argument without a type keeps its words, with its role in place of their named entities.
    """

    words: tuple[str, ...]
    pos: tuple[str, ...]
    ner: tuple[str, ...]
    relations: tuple[str, ...]
    symbols: tuple[str, ...]
    folds_case: bool = False
    reads_untyped: bool = False

    @cached_property
    def numbers(self) -> Mapping[str, Mapping[str, int]]:
        """Of each entry, by the name of the list."""
        lists = {name: getattr(self, name) for name in ("words", "pos", "ner", "relations", "symbols")}
        return {name: {entry: number for number, entry in enumerate(entries)} for name, entries in lists.items()}

    @property
    def sizes(self) -> Sizes:
        """Of the network that reads and writes with these numbers."""
        return Sizes(*(len(self.numbers[name]) for name in Sizes._fields))

    def example(self, instance: Instance, prune: int | None = None, hidden: Iterable[int] = ()) -> Example:
        """An instance as numbers, its arguments masked by their types.

        Args:
            prune: how far from the path between the arguments a token may be, for the tree to keep it; None: any way.
            hidden: tokens that are taken for unknown words.
        """
        sentence, types = instance.sentence, instance.values
        words, tags = masked_words(instance, hidden, keeps_untyped=self.reads_untyped), list(types["ner"] or [])
        neighbours, kept = _tree(instance, prune)
        return Example(
            self._coded("words", words),
            self._coded("ner", self._with_roles(instance, tags or [_NO_VALUE] * len(words))),
            self._coded("pos", sentence.pos or [_NO_VALUE] * len(words)),
            (instance.subject.start, instance.subject.end),
            (instance.object.start, instance.object.end),
            neighbours,
            kept,
        )

    def rule(self, symbols: Sequence[str]) -> list[int]:
        """Numbers of the symbols of a rule."""
        return [int(number) for number in self._coded("symbols", symbols)]

    def _with_roles(self, instance: Instance, tags: list[str]) -> list[str]:
        for (role, kind), span in _arguments(instance):
            if self.reads_untyped and kind is None:
                tags[span.start : span.end] = [f"{role}-{_UNTYPED}"] * (span.end - span.start)
        return tags

    def _coded(self, name: str, entries: Iterable[str]) -> NDArray[np.int64]:
        numbers = self.numbers[name]
        if name == "words" and self.folds_case:
            return np.array([numbers.get(entry, numbers.get(entry.lower(), 1)) for entry in entries], dtype=np.int64)
        return np.array([numbers.get(entry, 1) for entry in entries], dtype=np.int64)


def vocabulary_of(
    instances: Sequence[Instance],
    labels: Sequence[str],
    rules: Iterable[Sequence[str]],
    min_count: int,
    vectors: Collection[str] = (),
    *,
    reads_untyped: bool = False,
) -> Vocabulary:
    """What occurs in training.

    Args:
        instances: of the training part; several may be of one sentence, which counts once.
        labels: their relations.
        rules: symbols of the rules that match one.
        min_count: of a word, for it to have a number.
        vectors: words that have vectors, which have numbers too, whether they occur or not.
        reads_untyped: as in :class:`Vocabulary`.
    """
    sentences = {id(instance.sentence): instance.sentence for instance in instances}.values()
    counts = Counter(word for sentence in sentences for word in sentence.tokens)
    masks = {f"{role}-{kind or _UNTYPED}" for one in instances for role, kind in _roles(one)}
    tags = {tag for one in instances for tag in one.values["ner"] or [_NO_VALUE]}
    tags |= {f"{role}-{_UNTYPED}" for role in ("SUBJ", "OBJ")} if reads_untyped else set()
    pos = {tag for sentence in sentences for tag in sentence.pos or [_NO_VALUE]}
    symbols = {symbol for rule in rules for symbol in rule}
    frequent = {word for word, count in counts.items() if count >= min_count} | {*vectors}
    return Vocabulary(
        ("<padding>", HIDDEN, *sorted(masks), *sorted(frequent - masks - {"<padding>", HIDDEN})),
        ("<padding>", "<unknown>", *sorted(pos)),
        ("<padding>", "<unknown>", *sorted(tags)),
        (NO_RELATION, *sorted({*labels} - {NO_RELATION})),
        ("<padding>", "<unknown>", "<start>", "<end>", *sorted(symbols)),
        folds_case=bool(vectors),
        reads_untyped=reads_untyped,
    )


def _roles(instance: Instance) -> tuple[tuple[str, str | None], tuple[str, str | None]]:
    return ("SUBJ", instance.subject_type), ("OBJ", instance.object_type)


def _arguments(instance: Instance) -> Iterator[tuple[tuple[str, str | None], Span]]:
    return zip(_roles(instance), (instance.subject, instance.object), strict=True)


def masked_words(instance: Instance, hidden: Iterable[int] = (), *, keeps_untyped: bool = False) -> list[str]:
    """The tokens, those of the arguments as their types, such as ``SUBJ-PERSON``, and hidden ones as ``<unknown>``.

    Args:
        hidden: places of these.
        keeps_untyped: an argument without a type has its own words.
    """
    words = list(instance.sentence.tokens)
    for (role, kind), span in _arguments(instance):
        if keeps_untyped and kind is None:
            continue
        words[span.start : span.end] = [f"{role}-{kind or _UNTYPED}"] * (span.end - span.start)
    for place in hidden:
        words[place] = HIDDEN
    return words


def _tree(instance: Instance, prune: int | None) -> tuple[NDArray[np.int64] | None, NDArray[np.bool_]]:
    """Arcs between tokens that are kept, and which are."""
    heads = instance.sentence.heads
    size = len(instance.sentence.tokens)
    if heads is None:
        return None, np.ones(size, dtype=np.bool_)
    kept = np.ones(size, dtype=np.bool_) if prune is None else _near_path(heads, instance, prune)
    arcs = [(place, head) for place, head in enumerate(heads) if head != ROOT and kept[place] and kept[head]]
    return np.array(arcs, dtype=np.int64).reshape(-1, 2), kept


def _near_path(heads: Sequence[int], instance: Instance, prune: int) -> NDArray[np.bool_]:
    """Tokens at most so many arcs below the path between the arguments (Zhang et al. 2018, section 3.2), or part of
    an argument; all, where the arguments are in different trees."""
    arguments = [range(*span) for span in (instance.subject, instance.object)]
    chains = [_chain(heads, place) for argument in arguments for place in argument]
    common = set(chains[0]).intersection(*chains[1:])
    kept = np.zeros(len(heads), dtype=np.bool_)
    if not common:
        return ~kept
    lowest = next(place for place in chains[0] if place in common)
    path = {lowest, *(place for chain in chains for place in chain if place not in common)}
    for place in range(len(heads)):
        steps = next((steps for steps, above in enumerate(_chain(heads, place)) if above in path), None)
        kept[place] = steps is not None and steps <= prune
    for argument in arguments:
        kept[list(argument)] = True
    return kept


def _chain(heads: Sequence[int], place: int) -> list[int]:
    """A token, its head, that one's head and so on, up to the root; circles end where they close."""
    chain = [place]
    while heads[chain[-1]] != ROOT and heads[chain[-1]] not in chain:
        chain.append(heads[chain[-1]])
    return chain
