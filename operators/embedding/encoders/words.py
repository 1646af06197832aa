"""Vectors of single words from contextual encoders: BERT, RoBERTa, GPT-2, the encoder of T5, and their like.

As in Azarpanah and Farhadloo 2021, *Measuring Biases of Word Embeddings*, section 4, a word is given to the model
alone, as a text of its own. What the model makes of its tokens is summed over layers and pooled over tokens (in that
paper, for BERT, the last four layers at [CLS], table 2; for GPT and GPT-2 the last layer):

v(w) = pool_{t in T(w)} sum_{l in L} h_l(t).

A word with no token that the model knows has no vector.

A batch holds words of one length in tokens, so that nothing is padded, and has always the same number of rows, the last
batch of a length being filled up with copies. A matrix product of another shape may add up in another order, and then a
word's last bits would depend on which other words were asked for.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

VERSION = "encoders/1"

_SPACES = "Ġ▁"
"""How byte-level BPE and SentencePiece write a space within a token."""


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class EncoderConfig:
    """How the hidden states of a word's tokens become its vector.

    Attributes:
        layers: hidden states that are summed, numbered as the model returns them: 0 is what goes into the first layer,
            -1 what comes out of the last. (-4, -3, -2, -1) is the sum of the last four layers.
        pooling: the first of the tokens, the last, or the mean of all; or as the model's own files state.
        pool_special: whether the tokens that the model wants around any text count among them. If so, the first token
            is [CLS] in BERT and <s> in RoBERTa, and the last is [SEP] or </s>. If not, only the word's own count. The
            model is given both in either case. GPT-2 has none.
        batch_size: words that the model is given at a time. Another one may change the last bits of vectors.
    """

    layers: Annotated[tuple[int, ...], Field(min_length=1)] = (-1,)
    pooling: Literal["first", "last", "mean", "stated"] = "mean"
    pool_special: bool = False
    batch_size: Annotated[int, Field(ge=1)] = 32


def encode_words(
    model: "PreTrainedModel", tokenizer: "PreTrainedTokenizerBase", words: Sequence[str], config: EncoderConfig
) -> NDArray[np.float32]:
    """The vector of each word, given to the model without any context.

    Where the tokenizer tells the beginning of a word from its middle by the space before it (byte-level BPE: RoBERTa,
    GPT-2), the word gets one, and is read as it would be within a text.

    Args:
        model: an encoder, or a decoder, in which each token sees those before it; of a model that is both, the encoder.
            It runs on the device where it lies, and is left in evaluation mode.
        tokenizer: the model's.
        words: in any order; a word that comes twice gets the same vector twice.

    Returns:
        ``[words, dims]``; NaN for a word that has no vector: all its tokens are unknown, or it has none or more than
        the model takes. On one type of processor a vector does not depend, to the last bit, on the other words.

    Raises:
        ValueError: if the model lacks a layer, a layer is named twice, or hidden states are not finite.

    >>> from transformers import BertConfig, BertModel, BertTokenizer
    >>> tokenizer = BertTokenizer(vocab={"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, "nur": 4, "##se": 5})
    >>> model = BertModel(BertConfig(vocab_size=6, hidden_size=12, num_hidden_layers=1))
    >>> vectors = encode_words(model, tokenizer, ["nurse", "nur", "doctor"], EncoderConfig(layers=(0, 1)))
    >>> vectors.shape, np.isnan(vectors).all(axis=1).tolist()
    ((3, 12), [False, False, True])
    """
    model.train(False)
    texts = _tokenised(model, tokenizer, words, pool_special=config.pool_special)
    return encoded(model, texts, words, config)


def encoded(
    model: "PreTrainedModel",
    texts: "Sequence[Tokens]",
    names: Sequence[str],
    config: EncoderConfig,
    modes: Sequence[str] = (),
) -> NDArray[np.float32]:
    """The vector of each text.

    Args:
        model: as of :func:`encode_words`.
        texts: those that have a vector, as the model takes them.
        names: of all texts, for messages.
        config: how their tokens become a vector.
        modes: of :func:`pooled_as_stated`, in place of the config's own pooling; several: one behind the other.

    Returns:
        ``[names, dims]``; NaN for one that is none of the texts.

    Raises:
        ValueError: as of :func:`encode_words`.
    """
    width = model.config.hidden_size * max(len(modes), 1)
    vectors = np.full((len(names), width), np.nan, dtype=np.float32)
    for batch in _batches(texts, config.batch_size):
        summed = _summed_layers(model, [text.inputs for text in batch], config.layers)
        counts = np.array([text.counts for text in batch])
        pooled = pooled_as_stated(summed, modes) if modes else _pooled(summed, counts, config.pooling)
        _check_finite(pooled, [names[text.row] for text in batch])
        vectors[[text.row for text in batch]] = pooled
    return vectors


def pooled_as_stated(states: NDArray[np.float32], modes: Sequence[str]) -> NDArray[np.floating]:
    """``[texts, modes * dims]`` of ``[texts, tokens, dims]``: pooling as the files of sentence-transformers name it.

    >>> states = np.array([[[1.0, 4.0], [3.0, 2.0], [2.0, 0.0]]])
    >>> pooled_as_stated(states, ["cls", "max", "mean", "weightedmean", "lasttoken"]).round(2).tolist()
    [[1.0, 4.0, 3.0, 4.0, 2.0, 2.0, 2.17, 1.33, 2.0, 0.0]]
    """
    num = states.shape[1]
    places = np.arange(1, num + 1, dtype=states.dtype)[:, None]
    total = states.sum(axis=1)
    ways = {
        "cls": states[:, 0],
        "max": states.max(axis=1),
        "mean": total / num,
        "mean_sqrt_len_tokens": total / np.sqrt(num),
        "weightedmean": (states * places).sum(axis=1) / places.sum(),
        "lasttoken": states[:, -1],
    }
    return np.concatenate([ways[mode] for mode in modes], axis=1)


class Tokens(NamedTuple):
    """A text with a vector as the model takes it.

    Attributes:
        row: of the text.
        inputs: what the model is given for each token, by the names of its arguments.
        counts: whether a token counts among those that are pooled.
    """

    row: int
    inputs: Mapping[str, Sequence[int]]
    counts: NDArray[np.bool_]


def _tokenised(
    model: "PreTrainedModel", tokenizer: "PreTrainedTokenizerBase", words: Sequence[str], *, pool_special: bool
) -> list[Tokens]:
    space, limit = _space_before(tokenizer), longest(model, tokenizer)
    texts = []
    for row, word in enumerate(words):
        encoded = tokenizer(space + word, return_special_tokens_mask=True, verbose=False)
        is_own = np.array(encoded.pop("special_tokens_mask"), dtype=bool) == 0
        pieces = np.array(encoded["input_ids"], dtype=np.int64)[is_own].tolist()
        if is_own.size <= limit and has_known(tokenizer, pieces):
            texts.append(Tokens(row, dict(encoded), is_own | pool_special))
    return texts


def _space_before(tokenizer: "PreTrainedTokenizerBase") -> str:
    return " " if "".join(tokenizer.tokenize(" a")).startswith("Ġ") else ""


def longest(model: "PreTrainedModel", tokenizer: "PreTrainedTokenizerBase") -> int:
    """Tokens that the model takes; models with relative positions give no limit, or -1."""
    positions = getattr(model.config, "max_position_embeddings", None) or -1
    return min(tokenizer.model_max_length, positions) if positions > 0 else tokenizer.model_max_length


def has_known(tokenizer: "PreTrainedTokenizerBase", ids: list[int]) -> bool:
    """Whether a token stands for characters of the word: SentencePiece puts a space even before what it can't read."""
    known = tokenizer.convert_ids_to_tokens([token for token in ids if token != tokenizer.unk_token_id])
    return any(token.strip(_SPACES) for token in known)


def _batches(texts: Sequence[Tokens], batch_size: int) -> Iterator[list[Tokens]]:
    def length(text: Tokens) -> int:
        return text.counts.size

    for _, group in groupby(sorted(texts, key=length), key=length):
        alike = list(group)
        for start in range(0, len(alike), batch_size):
            yield [
                alike[place] for place in np.resize(np.arange(start, min(start + batch_size, len(alike))), batch_size)
            ]


def _summed_layers(
    model: "PreTrainedModel", inputs: Sequence[Mapping[str, Sequence[int]]], layers: Sequence[int]
) -> NDArray[np.float32]:
    """``[words, tokens, dims]``."""
    import torch  # takes seconds

    tensors = {name: torch.tensor([text[name] for text in inputs], device=model.device) for name in inputs[0]}
    with torch.inference_mode():
        hidden = model(**tensors, output_hidden_states=True, return_dict=True).hidden_states
        _check_layers(layers, len(hidden))
        summed = torch.stack([hidden[layer] for layer in layers]).sum(dim=0)
    return summed.float().cpu().numpy()


def _check_layers(layers: Sequence[int], num_states: int) -> None:
    allowed = f"set embedding.encoder.layers to numbers from {-num_states} to {num_states - 1}, each state named once"
    model = f"the model has {num_states - 1} layers, that is {num_states} hidden states with the one before the first"
    if wrong := [layer for layer in layers if not -num_states <= layer < num_states]:
        raise ValueError(f"layers={tuple(layers)}: {model}, and none is {wrong[0]}; {allowed}")
    if len({layer % num_states for layer in layers}) < len(layers):
        raise ValueError(f"layers={tuple(layers)}: names one state twice; {model}; {allowed}")


def _pooled(states: NDArray[np.float32], counts: NDArray[np.bool_], pooling: str) -> NDArray[np.floating]:
    """``[words, dims]``, over the tokens that count."""
    if pooling == "mean":
        return np.asarray((states * counts[:, :, None]).sum(axis=1) / counts.sum(axis=1)[:, None])
    chosen = counts.argmax(axis=1) if pooling == "first" else counts.shape[1] - 1 - counts[:, ::-1].argmax(axis=1)
    return np.asarray(states[np.arange(len(states)), chosen])


def _check_finite(vectors: NDArray[np.floating], words: Sequence[str]) -> None:
    finite = np.isfinite(vectors).all(axis=1)
    if not finite.all():
        raise ValueError(
            f"the model's hidden states for {words[int(finite.argmin())]!r} are not finite: its weights are damaged or "
            "overflow; set embedding.model to another checkpoint, or embedding.encoder.layers to other layers"
        )
