"""What word2vec and fastText share: negative sampling (Mikolov et al. 2013b), its settings and its epochs.

Mikolov et al. 2013b, *Distributed representations of words and phrases and their compositionality*, equation 4: with a
vector w per word and an output vector c per word, every word o in the window around a word i is a step up

    log s(c_o . w_i) + sum over ``negative`` noise words n, drawn with p(n) ~ count(n)^0.75, of log s(-c_n . w_i)

where s is the logistic function. The window of each word has a length drawn from 1 to ``window``.

The steps are gensim's compiled ones, on one thread. The loop over batches is ours, with the batches and the learning
rates of gensim's ``train`` and so with its bits. gensim's own loop reads the corpus in a second thread, waits for ever
when reading fails there, and sums the loss of an epoch in 32 bits.

Every draw is Philox, keyed by (seed, replica). gensim 4 hashes no word to seed its vector, and n-grams go through the
FNV hash of the authors' program, so nothing follows Python's hash. BLAS adds up scalar products in an order that
depends on the CPU type.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from enum import IntEnum
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict, Field, model_validator
from pydantic.dataclasses import dataclass

from tiltmeter.operators.compute.generators import keyed_bits
from tiltmeter.operators.compute.philox import Stream
from tiltmeter.operators.embedding.bootstrap import replica_name
from tiltmeter.operators.embedding.training import State, TrainedReplica

Lines = Callable[[], Iterable[NDArray[np.int32]]]
"""Starts a pass over the corpus: one line after the other, as vocabulary indices."""

BATCH_WORDS = 10_000
"""The words that gensim's compiled steps take at once; they drop what is beyond."""

_CHECKED_WORDS = 100
_DIVERGED = 20.0
"""No step is made where the scalar product of a step is beyond 6 (fastText: 8). The median over the most frequent words
is 0.5 to 4 in sound training; steps that overshoot bring it above 50 within an epoch."""


class Draw(IntEnum):
    """What is drawn, the last word of the counter; 0 and 1 are the two sides of GloVe."""

    WORD_VECTORS = 2
    NGRAM_VECTORS = 3
    STEPS = 4


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class NegativeSamplingConfig:
    """Settings of both models; the defaults are those of Mikolov's program for skip-gram.

    Attributes:
        dimensions: length of a vector.
        epochs: passes over the corpus.
        window: the greatest distance between two words of a step.
        negative: noise words of a step, the paper's k.
        skip_gram: a step is one word of the window; otherwise the whole window, by the mean of its vectors, with the
            word in its middle as o (continuous bag of words, Mikolov et al. 2013a).
        learning_rate, min_learning_rate: the rate falls linearly with the words read, from the first to the second at
            the end of the last epoch. Above 0.25 training diverges on real text within an epoch.
        sample: the paper's t of equation 5: an occurrence of a word with the share f of all occurrences is passed over
            with the probability ``1 - sqrt(t / f) - t / f``, as in its program (the paper lacks the last term); 0
            passes over none.
    """

    dimensions: Annotated[int, Field(ge=1)] = 100
    epochs: Annotated[int, Field(ge=1)] = 5
    window: Annotated[int, Field(ge=1)] = 5
    negative: Annotated[int, Field(ge=1)] = 5
    skip_gram: bool = True
    learning_rate: Annotated[float, Field(gt=0, le=0.25)] = 0.025
    min_learning_rate: Annotated[float, Field(gt=0, le=0.25)] = 1e-4
    sample: Annotated[float, Field(ge=0, lt=1)] = 1e-3

    @model_validator(mode="after")
    def _the_rate_falls(self) -> Self:
        if self.min_learning_rate > self.learning_rate:
            raise ValueError(
                f"embedding.trainer.min_learning_rate={self.min_learning_rate} must not be above "
                f"embedding.trainer.learning_rate={self.learning_rate}, from which the rate falls"
            )
        return self


class NegativeSamplingTraining(ABC):
    """The training of one replica, epoch by epoch. In memory are the model and one batch.

    Args:
        model: from gensim, without a vocabulary.
        tokens: ``[words]`` what gensim is to call them.
        counts: ``[words]`` int64, how often a word comes in this replica; 0: it does not, and its vector is NaN.
        lines: each pass gives the lines of this replica in the order of the corpus, a line as often as it was drawn.
            What is beyond 10,000 words of a line is a line of its own.
        replica: its number; a negative one is a further random start of the original corpus.
        seed: of initial vectors, noise words, window lengths and passed-over occurrences.
    """

    def __init__(
        self,
        model: Any,
        tokens: NDArray[Any],
        counts: NDArray[np.int64],
        lines: Lines,
        replica: int,
        seed: int,
        config: NegativeSamplingConfig,
    ) -> None:
        self._model, self._counts, self._lines = model, counts, lines
        self._replica, self._seed, self._config = replica, seed, config
        self._order = np.argsort(-counts, kind="stable")[: np.count_nonzero(counts)]
        if not self._order.size:
            raise ValueError(f"{replica_name(replica)} has no word: lower embedding.min_count or take a larger corpus")
        frequencies = zip(tokens[self._order].tolist(), counts[self._order].tolist(), strict=True)
        model.build_vocab_from_freq(dict(frequencies))
        self._bits = _generator_bits(seed, replica, Draw.STEPS)
        model.random = np.random.RandomState(self._bits)
        self._losses = np.empty(0)

    @property
    def epochs_done(self) -> int:
        """Passes over the corpus so far."""
        return self._losses.size

    def advance(self) -> None:
        """One more epoch.

        Raises:
            ValueError: if training diverges, which a smaller learning rate prevents, or if the lines do not hold
                as many words as the counts say.
        """
        loss, num_trained, num_read, num_words = 0.0, 0, 0, int(self._counts.sum())
        for batch in batches(self._lines()):
            batch_loss, batch_trained = self._train(batch, self._rate(num_read / num_words))
            self._refuse_divergence()
            loss, num_trained = loss + batch_loss, num_trained + batch_trained
            num_read += sum(line.size for line in batch)
        if num_read != num_words:
            raise ValueError(f"{replica_name(self._replica)}: its lines hold {num_read} words, its counts {num_words}")
        self._losses = np.append(self._losses, loss / max(1, num_trained))

    def state(self) -> State:
        """All that :meth:`restore` needs to go on with the same bits; the arrays of the model are no copies."""
        return {**self._weights(), "losses": self._losses, "random": _as_array(self._bits)}

    def restore(self, state: State) -> None:
        """Go on from a state of the same replica.

        Raises:
            ValueError: if an array has another shape or type, so belongs to another vocabulary or other settings, or
                is one of a training that diverged.
        """
        for name, weights in self._weights().items():
            saved = state[name]
            if (saved.shape, saved.dtype) != (weights.shape, weights.dtype):
                raise ValueError(
                    f"{replica_name(self._replica)}: the saved {name} are {saved.dtype}{list(saved.shape)}, and not "
                    f"{weights.dtype}{list(weights.shape)}: they belong to another vocabulary or other settings"
                )
            weights[:] = saved
        self._refuse_divergence()
        self._losses = state["losses"].copy()
        _set_from_array(self._bits, state["random"])

    def result(self) -> TrainedReplica:
        """What has been learnt so far."""
        vectors = np.full((self._counts.size, self._config.dimensions), np.nan, dtype=np.float32)
        vectors[self._order] = self._word_vectors()
        return TrainedReplica(vectors, self._losses)

    @abstractmethod
    def _train(self, batch: list[NDArray[np.int32]], rate: float) -> tuple[float, int]:
        """One step per word; returns the summed loss and the number of words that were not passed over."""

    @abstractmethod
    def _weights(self) -> dict[str, NDArray[np.float32]]:
        """The arrays that training changes."""

    @abstractmethod
    def _word_vectors(self) -> NDArray[np.float32]:
        """``[present words, dimensions]`` in gensim's order."""

    def _refuse_divergence(self) -> None:
        """After each batch, because the compiled steps look a NaN up beyond their tables, which ends the process."""
        weights = self._weights()
        products = weights["vectors"][:_CHECKED_WORDS] @ weights["outputs"][:_CHECKED_WORDS].T
        if not np.median(np.abs(products)) < _DIVERGED:
            raise ValueError(
                f"{replica_name(self._replica)} diverged in epoch {self.epochs_done + 1}: "
                f"set embedding.trainer.learning_rate below {self._config.learning_rate}"
            )

    def _rate(self, share_of_epoch: float) -> float:
        start, end = self._config.learning_rate, self._config.min_learning_rate
        progress = (self.epochs_done + share_of_epoch) / self._config.epochs
        return max(end, start - (start - end) * progress)

    def _initial(self, num_rows: int, what: Draw) -> NDArray[np.float32]:
        """Uniform in +-1 / dimensions, as gensim has it; rows are keyed, so a word's do not follow its frequency."""
        generator = np.random.Generator(_generator_bits(self._seed, self._replica, what))
        drawn = generator.random((num_rows, self._config.dimensions), dtype=np.float32)
        return (2 * drawn - 1) / np.float32(self._config.dimensions)


def settings(config: NegativeSamplingConfig) -> dict[str, Any]:
    """What gensim calls the settings of :class:`NegativeSamplingConfig`."""
    return {
        "vector_size": config.dimensions,
        "epochs": config.epochs,
        "window": config.window,
        "negative": config.negative,
        "sg": int(config.skip_gram),
        "alpha": config.learning_rate,
        "min_alpha": config.min_learning_rate,
        "sample": config.sample,
        "min_count": 1,
        "sorted_vocab": 0,
        "workers": 1,
    }


def batches(lines: Iterable[NDArray[np.int32]]) -> Iterator[list[NDArray[np.int32]]]:
    """Lines in their order, as many at a time as have 10,000 words together; longer ones are cut."""
    batch: list[NDArray[np.int32]] = []
    num_words = 0
    for line in lines:
        for start in range(0, line.size, BATCH_WORDS):
            piece = line[start : start + BATCH_WORDS]
            if num_words + piece.size > BATCH_WORDS:
                yield batch
                batch, num_words = [], 0
            batch.append(piece)
            num_words += piece.size
    if batch:
        yield batch


def _generator_bits(seed: int, replica: int, what: Draw) -> np.random.Philox:
    return keyed_bits(seed, Stream.INITIAL_VECTORS, (0, 0, replica % 2**64, what))


def _as_array(bits: np.random.Philox) -> NDArray[np.uint64]:
    """``[15]`` counter, key, buffer, position in the buffer, and half a word that is left."""
    state = bits.state
    rest = np.array([state["buffer_pos"], state["has_uint32"], state["uinteger"]], dtype=np.uint64)
    return np.concatenate([state["state"]["counter"], state["state"]["key"], state["buffer"], rest])


def _set_from_array(bits: np.random.Philox, array: NDArray[np.uint64]) -> None:
    position, has_uint32, uinteger = array[10:].tolist()
    bits.state = {
        "bit_generator": "Philox",
        "state": {"counter": array[:4], "key": array[4:6]},
        "buffer": array[6:10],
        "buffer_pos": position,
        "has_uint32": has_uint32,
        "uinteger": uinteger,
    }
