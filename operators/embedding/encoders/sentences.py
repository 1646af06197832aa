"""Vectors of words from sentences: put into templates (SEAT), or found in a corpus (CEAT).

May, Wang, Bordia, Bowman and Rudinger 2019, *On measuring social biases in sentence encoders*, put words into sentences
that say nothing else; Guo and Caliskan 2021, *Detecting emergent intersectional biases*, draw sentences of a corpus. A
word's vector is the mean of the vectors of its sentences, each brought to length 1:

v(w) = sum_c g_c u(h(c, w)) / sum_c g_c,        u(x) = x / \\|x\\|,

with a weight g of 1, or that of the sentence's document or template in a bootstrap replica. The unit is the word: its
sentences say the same word again. A cosine of two such vectors is the mean cosine of their sentences over
\\|v(w)\\| \\|v(a)\\|, the root of how alike the sentences of each word are: a word whose contexts differ more is not
taken for one that is associated less.
"""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.compute.arrays import FloatArray
from tiltmeter.operators.compute.philox import Stream, philox
from tiltmeter.operators.embedding.encoders.words import EncoderConfig, Tokens, encoded, has_known, longest

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

VERSION = "sentences/1"

Pooled = Literal["word", "text"]
"""Over whose tokens a vector is pooled: those of the word, or of the whole sentence."""


class Sentence(NamedTuple):
    """A text with the place of a word in it, in characters."""

    text: str
    start: int
    end: int


def encode_sentences(
    model: "PreTrainedModel",
    tokenizer: "PreTrainedTokenizerBase",
    sentences: Sequence[Sentence],
    config: EncoderConfig,
    *,
    pooled: Pooled = "text",
    special: bool = True,
    modes: Sequence[str] = (),
    most_tokens: int | None = None,
) -> NDArray[np.float32]:
    """The vector of each sentence.

    Args:
        model, tokenizer: as of :func:`.words.encode_words`; the tokenizer must tell the places of its tokens.
        sentences: in any order.
        config: which layers are summed, and how tokens are pooled.
        pooled: whose tokens.
        special: whether the model is given [CLS] and the like. May et al.'s program gives it none, so that its first
            token is the first piece of the sentence.
        modes: of :func:`.words.pooled_as_stated`, over all tokens, in place of the config's pooling.
        most_tokens: that a sentence may have, where the model's files say so.

    Returns:
        ``[sentences, dims]``; NaN for one that has more tokens than the model takes, or where no token of its word is
        known. On one type of processor a vector does not depend, to the last bit, on the other sentences.

    Raises:
        ValueError: as of :func:`.words.encode_words`, or if the tokenizer doesn't tell places.
    """
    if not tokenizer.is_fast:
        raise ValueError(
            "the tokenizer does not say where in a text its tokens are, and so not which are a word's: bring along its "
            "tokenizer.json, as transformers saves it"
        )
    model.train(False)
    limit = min(longest(model, tokenizer), most_tokens or tokenizer.model_max_length)
    asked: dict[str, Any] = {"add_special_tokens": special, "verbose": False}
    asked |= {"return_special_tokens_mask": True, "return_offsets_mapping": True}
    texts = []
    for row, sentence in enumerate(sentences):
        tokens = tokenizer(sentence.text, **asked)
        is_own = np.array(tokens.pop("special_tokens_mask"), dtype=bool) == 0
        of_word = is_own & covered(tokens.pop("offset_mapping"), sentence)
        pieces = np.array(tokens["input_ids"], dtype=np.int64)[of_word].tolist()
        if is_own.size <= limit and has_known(tokenizer, pieces):
            counts = of_word if pooled == "word" else is_own | config.pool_special
            texts.append(Tokens(row, dict(tokens), counts))
    return encoded(model, texts, [sentence.text for sentence in sentences], config, modes)


def covered(offsets: Sequence[tuple[int, int]], sentence: Sentence) -> NDArray[np.bool_]:
    """``[tokens]``, whether each has a character of the sentence's word; offsets are where tokens begin and end.

    >>> covered([(0, 0), (0, 4), (5, 8), (8, 10)], Sentence("this nurse", 5, 10)).tolist()
    [False, False, True, True]
    """
    starts, ends = np.array(offsets, dtype=np.int64).reshape(-1, 2).T
    return np.asarray((starts < sentence.end) & (ends > sentence.start))


def mean_of_rows(
    vectors: NDArray[np.float32],
    tokenizer: Any,
    unknown: int | None,
    sentences: Sequence[Sentence],
    *,
    pooled: Pooled = "text",
    most_tokens: int | None = None,
) -> NDArray[np.float32]:
    """The same of a table with a vector for each token, as model2vec has: the mean over the tokens that are known.

    Args:
        vectors: ``[tokens, dims]``.
        tokenizer: of the package `tokenizers`.
        unknown: number of the token for what is not known.
        sentences, pooled, most_tokens: as of :func:`encode_sentences`.

    Returns:
        ``[sentences, dims]``; NaN as there.
    """
    means = np.full((len(sentences), vectors.shape[1]), np.nan, dtype=np.float32)
    for row, sentence in enumerate(sentences):
        tokens = tokenizer.encode(sentence.text, add_special_tokens=False)
        ids = np.array(tokens.ids, dtype=np.int64)
        known = ids != (-1 if unknown is None else unknown)
        of_word = known & covered(tokens.offsets, sentence)
        if of_word.any() and ids.size <= (most_tokens or ids.size):
            means[row] = vectors[ids[of_word if pooled == "word" else known]].mean(axis=0)
    return means


def unit_rows(vectors: NDArray[np.floating]) -> FloatArray:
    """Each row over its length; NaN where that is 0."""
    lengths = np.linalg.norm(vectors.astype(np.float64), axis=-1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > 0, lengths, np.nan))


def word_means(
    vectors: NDArray[np.floating], words: NDArray[np.integer], weights: NDArray[np.number], num_words: int
) -> FloatArray:
    """Each word's weighted mean of the unit vectors of its sentences.

    Args:
        vectors: ``[sentences, dims]``.
        words: ``[sentences]``, number of each one's word, rising.
        weights: ``[sentences]``, 0 or more.
        num_words: in all.

    Returns:
        ``[words, dims]``; NaN for a word without a sentence of any weight.

    >>> word_means(np.array([[2.0, 0.0], [0.0, 5.0]]), np.array([1, 1]), np.array([3.0, 1.0]), 2).tolist()
    [[nan, nan], [0.75, 0.25]]
    """
    means = np.full((num_words, vectors.shape[1]), np.nan)
    known, starts = np.unique(words, return_index=True)
    if known.size:
        totals = np.add.reduceat(weights.astype(np.float64), starts)[:, None]
        sums = np.add.reduceat(unit_rows(vectors) * weights[:, None], starts, axis=0)
        means[known] = sums / np.where(totals > 0, totals, np.nan)
    return means


def by_few_templates(means: FloatArray, drawn: FloatArray, num_templates: int) -> FloatArray:
    """A replica that weighs templates anew, brought as far from the original as few templates call for.

    Exponential weights give a mean of n templates (n - 1) / (n + 1) of its squared standard error, and Student's t with
    n - 1 degrees of freedom has a variance of (n - 1) / (n - 3): v + sqrt((n + 1) / (n - 3)) (v* - v).

    Args:
        means, drawn: ``[words, dims]``, v of the original and v* of the replica, all words with the same templates.
        num_templates: n, more than 3.

    >>> by_few_templates(np.array([[1.0]]), np.array([[1.5]]), 5)
    array([[1.8660254]])
    """
    return np.asarray(means + math.sqrt((num_templates + 1) / (num_templates - 3)) * (drawn - means))


def context_keys(
    seed: int,
    words: NDArray[np.uint64],
    documents: NDArray[np.uint64],
    lines: NDArray[np.int32],
    places: NDArray[np.int32],
) -> NDArray[np.uint64]:
    """``[contexts]``, a random number for each context of a word: those with the smallest are drawn.

    It depends on the word and its place alone, so that another word, another shard and a larger number move no draw.

    Args:
        seed: of the run, 0 <= seed < 2^64.
        words, documents: keys of each one's word and document.
        lines, places: number of the line in the document, and of the word in the line.

    >>> one = np.array([7], np.uint64), np.array([1], np.uint64), np.array([0], np.int32), np.array([3], np.int32)
    >>> context_keys(0, *one)
    array([11255942315686695366], dtype=uint64)
    """
    return np.asarray(_context_keys(np.uint64(seed), np.uint64(Stream.CONTEXTS), words, documents, lines, places))


@numba.njit(cache=True)
def _context_keys(
    seed: np.uint64,
    stream: np.uint64,
    words: NDArray[np.uint64],
    documents: NDArray[np.uint64],
    lines: NDArray[np.int32],
    places: NDArray[np.int32],
) -> NDArray[np.uint64]:
    keys = np.empty(words.size, dtype=np.uint64)
    for row in range(words.size):
        line, place = np.uint64(lines[row]), np.uint64(places[row])
        keys[row] = philox(seed, stream, words[row], documents[row], line, place)[0]
    return keys
