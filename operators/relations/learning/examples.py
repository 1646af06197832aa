"""Instances as numbers: words with masked arguments, named entities, parts of speech and trees."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from torch import Tensor

PADDING, UNKNOWN = 0, 1
"""Numbers of words, tags and symbols that stand for nothing, and for what training has not seen."""
START, END = 2, 3
"""Numbers of the symbols before the first of a rule, and after its last."""


class Sizes(NamedTuple):
    """How many words, parts of speech, named entities, relations and symbols there are."""

    words: int
    pos: int
    ner: int
    relations: int
    symbols: int


@dataclass(frozen=True)
class Example:
    """Attributes:
    words, ner, pos: ``[tokens]``, numbers of a vocabulary, the arguments masked.
    subject, object: first token and the one behind the last.
    neighbours: ``[arcs, 2]``, tokens that the graph connects, in one direction; None: without a tree.
    kept: ``[tokens]``, whether the pruned tree has the token; all without a tree.
    pieces: ``[pieces]``, numbers of the pieces of words that a transformer reads; None: it reads words.
    first_pieces: ``[tokens]``, where each token's first piece is.
    """

    words: NDArray[np.int64]
    ner: NDArray[np.int64]
    pos: NDArray[np.int64]
    subject: tuple[int, int]
    object: tuple[int, int]
    neighbours: NDArray[np.int64] | None
    kept: NDArray[np.bool_]
    pieces: NDArray[np.int64] | None = None
    first_pieces: NDArray[np.int64] | None = None


class Batch(NamedTuple):
    """Examples side by side, padded to the longest.

    Attributes:
        words, ner, pos: ``[examples, tokens]``.
        reversed_places: ``[examples, tokens]``, the token that each reads when a sentence is read backwards.
        subject, object, kept: ``[examples, tokens]``, booleans.
        adjacency: ``[examples, tokens, tokens]``, A + I divided by its sums over rows; None if no example has a tree.
    pieces, are_pieces: ``[examples, pieces]``, numbers and whether there is one; None where words are read.
    first_pieces: ``[examples, tokens]``.
    """

    words: "Tensor"
    ner: "Tensor"
    pos: "Tensor"
    reversed_places: "Tensor"
    subject: "Tensor"
    object: "Tensor"
    kept: "Tensor"
    adjacency: "Tensor | None"
    pieces: "Tensor | None" = None
    are_pieces: "Tensor | None" = None
    first_pieces: "Tensor | None" = None


def batch_of(examples: Sequence[Example]) -> Batch:
    """Put examples side by side.

    Raises:
        ValueError: if there are none, or one has no token.
    """
    import torch

    lengths = [example.words.size for example in examples]
    if not lengths or not min(lengths):
        raise ValueError("a batch must have examples, each of a token at least")
    places = np.arange(max(lengths))[None, :]
    sizes = np.array(lengths)[:, None]
    columns = {
        name: _padded([getattr(example, name) for example in examples]) for name in ("words", "ner", "pos", "kept")
    }
    arguments = {
        name: _within(places, np.array([getattr(example, name) for example in examples]))
        for name in ("subject", "object")
    }
    backwards = np.where(places < sizes, sizes - 1 - places, places)
    tensors = {name: torch.from_numpy(values) for name, values in {**columns, **arguments}.items()}
    tensors |= {name: torch.from_numpy(values) for name, values in _pieces(examples).items()}
    return Batch(reversed_places=torch.from_numpy(backwards), adjacency=_adjacency(examples), **tensors)


def _pieces(examples: Sequence[Example]) -> dict[str, NDArray[np.generic]]:
    pieces = [example.pieces for example in examples if example.pieces is not None]
    first = [example.first_pieces for example in examples if example.first_pieces is not None]
    if not pieces:
        return {}
    are_pieces = _padded([np.ones_like(row) for row in pieces])
    return {"pieces": _padded(pieces), "are_pieces": are_pieces, "first_pieces": _padded(first)}


def _padded(rows: Sequence[NDArray[np.generic]]) -> NDArray[np.generic]:
    table = np.zeros((len(rows), max(row.size for row in rows)), dtype=rows[0].dtype)
    for number, row in enumerate(rows):
        table[number, : row.size] = row
    return table


def _within(places: NDArray[np.int64], spans: NDArray[np.int64]) -> NDArray[np.bool_]:
    return np.asarray((places >= spans[:, :1]) & (places < spans[:, 1:]))


def _adjacency(examples: Sequence[Example]) -> "Tensor | None":
    import torch

    if all(example.neighbours is None for example in examples):
        return None
    size = max(example.words.size for example in examples)
    graph = np.broadcast_to(np.eye(size, dtype=np.float32), (len(examples), size, size)).copy()
    for number, example in enumerate(examples):
        if example.neighbours is not None:
            left, right = example.neighbours.T
            graph[number, left, right] = graph[number, right, left] = 1.0
    return torch.from_numpy(graph / graph.sum(axis=2, keepdims=True))
