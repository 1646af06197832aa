"""Instances as a network reads them: by its vocabulary, or by the tokenizer of a transformer beside it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.relations.instances import Instance
from tiltmeter.operators.relations.learning.examples import Example
from tiltmeter.operators.relations.learning.vocabularies import HIDDEN, Vocabulary, masked_words

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


@dataclass(frozen=True)
class InstanceReader:
    """Attributes:
    vocabulary: of words, annotations, relations and symbols.
    prune: how far from the path between the arguments a token may be, for the tree to keep it; None: any way.
    tokenizer: of the transformer that reads instead of words; None: words have vectors.
    most_pieces: that it reads; what is beyond has the state of the last one.
    """

    vocabulary: Vocabulary
    prune: int | None = None
    tokenizer: "PreTrainedTokenizerBase | None" = None
    most_pieces: int = 512

    def example(self, instance: Instance, hidden: Iterable[int] = ()) -> Example:
        """An instance as numbers, its arguments masked by their types.

        Args:
            hidden: tokens that are taken for unknown words.
        """
        places = tuple(hidden)
        example = self.vocabulary.example(instance, self.prune, places)
        if self.tokenizer is None:
            return example
        keeps = self.vocabulary.reads_untyped
        unknown = self.tokenizer.mask_token or self.tokenizer.unk_token or HIDDEN
        words = [unknown if word == HIDDEN else word for word in masked_words(instance, places, keeps_untyped=keeps)]
        pieces, first = _pieces(self.tokenizer, words, self.most_pieces)
        return replace(example, pieces=pieces, first_pieces=first)


def _pieces(
    tokenizer: "PreTrainedTokenizerBase", words: Sequence[str], most: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Numbers of the pieces, with those that the tokenizer puts around them, and where each word's first one is; of a
    word without a piece, that of the last word before it that has one."""
    encoded: Any = tokenizer(list(words), is_split_into_words=True, truncation=True, max_length=most)
    starts: dict[int, int] = {}
    for place, word in enumerate(encoded.word_ids(0)):
        if word is not None:
            starts.setdefault(word, place)
    first = [0] * len(words)
    for word in range(len(words)):
        first[word] = starts.get(word, first[word - 1] if word else 0)
    return np.array(encoded["input_ids"], dtype=np.int64), np.array(first, dtype=np.int64)
