"""A recurrent sentiment system: word vectors, two layers of gated recurrent units, softmax over classes of sentiment.

One of the systems that Lakkaraju, Srivastava and Valtorta 2023 rate for bias; the units are those of Cho et al. 2014,
*Learning phrase representations using RNN encoder-decoder for statistical machine translation*. With h the last state
of the upper layer, when a text has been read to its end, and v_k in [-1, 1] the value of class k,

    p = softmax(W h + b),    score = sum_k p_k v_k.

In the program that was published with the paper the score is the value of the most probable of seven classes, v_k =
(k - 3) / 3 for k from 0 to 6.

:mod:`.sentiment.gru_training` trains it. All runs in one thread: several would divide sums among them, and last bits
would depend on their number.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

from tiltmeter.operators.text.tokens import Tokenizer

if TYPE_CHECKING:
    from torch import Tensor, nn

VERSION = "gru/1"

GRUScore = Literal["expected", "top"]
"""The expected value of a text's class, or the value of its most probable class."""

LANGUAGE = "en"

_UNKNOWN = 0
"""Stands for every word that has no vector of its own; those of the vocabulary are numbered from 1."""

_INITIAL_SPREAD = 0.1
"""Standard deviation of word vectors before training. With 1, as torch has it, what is learnt drowns in it."""


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class GRUConfig:
    """The size of the network, and how it is trained.

    Attributes:
        dimensions: of the word vectors, which are learnt with the rest.
        hidden: units in each of the two layers.
        min_count: how often the training texts must use a word for it to have a vector; the others share one.
        max_vocabulary: words that have a vector at most: the most frequent ones.
        dropout: share of the word vectors' components and of each layer's outputs that training leaves out.
        learning_rate: of Adam (Kingma and Ba 2015).
        max_epochs: passes over the training texts at most.
        patience: epochs without a new smallest loss on the development texts after which training ends.
        max_tokens: words in a batch at most, each text counted as long as the longest; a longer text is a batch alone.
            Another number may change the last bits of scores.
    """

    dimensions: Annotated[int, Field(ge=1)] = 100
    hidden: Annotated[int, Field(ge=1)] = 64
    min_count: Annotated[int, Field(ge=1)] = 2
    max_vocabulary: Annotated[int, Field(ge=1)] = 20_000
    dropout: Annotated[float, Field(ge=0.0, lt=1.0)] = 0.5
    learning_rate: Annotated[float, Field(gt=0.0, le=1.0)] = 1e-3
    max_epochs: Annotated[int, Field(ge=1)] = 20
    patience: Annotated[int, Field(ge=1)] = 3
    max_tokens: Annotated[int, Field(ge=1)] = 1024


class Epoch(NamedTuple):
    """One pass over the training texts.

    Attributes:
        loss: mean cross entropy of the training texts during the pass, in nats.
        development_loss: that of the development texts after it.
        development_accuracy: share of the development texts whose class has the largest p_k.
    """

    loss: float
    development_loss: float
    development_accuracy: float


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class GRUDescription:
    """What a trained network is, less its weights.

    ``dataclasses.asdict`` makes plain data of it that JSON can hold, and ``GRUDescription(**plain)`` checks and undoes
    that.

    Attributes:
        config: it was trained with.
        vocabulary: the words that have a vector, the most frequent first.
        values: v_k of each class k, in the order of the network's outputs.
        history: of its training; the weights are those after the epoch with the smallest development loss.
    """

    config: GRUConfig
    vocabulary: tuple[str, ...]
    values: Annotated[dict[str, Annotated[float, Field(ge=-1.0, le=1.0)]], Field(min_length=2)]
    history: tuple[Epoch, ...]


class TrainedGRU(NamedTuple):
    """Attributes:
    description: all but the weights.
    weights: by their names in torch; row 0 of ``embedding.weight`` is the vector of unknown words.
    """

    description: GRUDescription
    weights: Mapping[str, NDArray[np.float32]]


def score(trained: TrainedGRU, texts: Sequence[str], kind: GRUScore = "expected") -> NDArray[np.float64]:
    """The value of each text.

    Args:
        trained: of :func:`.gru_training.train`, or what was stored of it.
        texts: in English; one without any word is read as a single unknown word.
        kind: ``expected`` for sum_k p_k v_k, ``top`` for v_k of the largest p_k, the first of them in a tie.

    Returns:
        ``[texts]`` in [-1, 1]. On one type of processor a score does not depend, to the last bit, on the other texts,
        and texts that differ in nothing but unknown words have one score.
    """
    import torch  # takes seconds

    about = trained.description
    with reproducible(seed=0):
        network = new_network(about)
        network.load_state_dict({name: torch.tensor(weight) for name, weight in trained.weights.items()})
        logits = evaluated(network, word_numbers(texts, about.vocabulary), about.config.max_tokens)
        probabilities = logits.softmax(dim=1).numpy()
    values = np.array(list(about.values.values()))
    if kind == "top":
        return np.asarray(values[probabilities.argmax(axis=1)])
    return np.asarray((probabilities * values).sum(axis=1).clip(-1.0, 1.0))


@contextmanager
def reproducible(seed: int) -> Iterator[None]:
    """One thread, and torch's random numbers from a seed; afterwards all is as it was before."""
    import torch

    num_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.random.fork_rng(devices=()):
            torch.default_generator.manual_seed(seed)  # torch.manual_seed would seed every GPU as well
            yield
    finally:
        torch.set_num_threads(num_threads)


def new_network(description: GRUDescription) -> "nn.ModuleDict":
    """The parts of an untrained network, with weights drawn by torch's generator."""
    from torch import nn

    config = description.config
    embedding = nn.Embedding(1 + len(description.vocabulary), config.dimensions)
    nn.init.normal_(embedding.weight, std=_INITIAL_SPREAD)
    return nn.ModuleDict(
        {
            "embedding": embedding,
            "gru": nn.GRU(config.dimensions, config.hidden, num_layers=2, dropout=config.dropout),
            "output": nn.Linear(config.hidden, len(description.values)),
            "dropout": nn.Dropout(config.dropout),
        }
    )


def word_numbers(texts: Sequence[str], vocabulary: Sequence[str]) -> "list[Tensor]":
    """The number of each word, as the embedding counts its rows; at least one for each text."""
    import torch

    tokenize = Tokenizer(LANGUAGE)
    numbers = {word: number for number, word in enumerate(vocabulary, start=_UNKNOWN + 1)}
    return [torch.tensor([numbers.get(word, _UNKNOWN) for word in tokenize(text)] or [_UNKNOWN]) for text in texts]


def logits(network: "nn.ModuleDict", texts: "Sequence[Tensor]") -> "Tensor":
    """W h + b: ``[texts, classes]`` float32. Texts of different lengths are packed, so that nothing is padded."""
    from torch.nn.utils.rnn import pack_sequence

    packed = pack_sequence(list(texts), enforce_sorted=False)
    vectors = network["dropout"](network["embedding"](packed.data))
    _, states = network["gru"](packed._replace(data=vectors))
    outputs: Tensor = network["output"](network["dropout"](states[-1]))
    return outputs


def evaluated(network: "nn.ModuleDict", texts: "Sequence[Tensor]", max_tokens: int) -> "Tensor":
    """The logits of any number of texts, without dropout: ``[texts, classes]`` float64."""
    import torch

    network.train(False)
    num_classes = network.get_parameter("output.bias").numel()
    results = torch.empty(len(texts), num_classes, dtype=torch.float64)
    with torch.inference_mode():
        for rows in _even_batches(np.array([len(text) for text in texts]), max_tokens):
            results[rows] = logits(network, [texts[row] for row in rows]).double()
    return results


def _even_batches(lengths: NDArray[np.int64], max_tokens: int) -> Iterator[NDArray[np.int64]]:
    """Rows of texts of one length, always as many for that length; the last batch is filled up with copies.

    A matrix product of another shape may add up in another order, and then a text's last bits would depend on which
    other texts were scored.
    """
    for length in np.unique(lengths):
        alike, size = np.flatnonzero(lengths == length), max(1, max_tokens // length)
        for start in range(0, alike.size, size):
            yield np.resize(alike[start : start + size], size)
