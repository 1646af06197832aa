"""How private a word of a text is, before anything is spent: all of this is of the public vocabulary alone.

By the exponential mechanism it is known exactly, over all pairs of words. Of a noisy vector it is known how private the
vector is, and so what its word is at least; how often attackers are right is counted in words that a prior draws.
"""

from collections.abc import Iterator, Sequence
from math import inf
from typing import cast

import numpy as np

from tiltmeter.jobs.embedding.private_vectors.mechanisms import Noise
from tiltmeter.jobs.embedding.private_vectors.tables import LossesOfBlock, Normalisers, WordPrivacy
from tiltmeter.jobs.embedding.private_vectors.vocabulary import (
    PrivateRun,
    map_of,
    read_vocabulary,
    vectors_of,
    words_and_vectors,
)
from tiltmeter.jobs.runtime.config import ConfigError
from tiltmeter.jobs.runtime.rows import Row
from tiltmeter.jobs.runtime.table import Estimate
from tiltmeter.jobs.runtime.work import Work
from tiltmeter.operators.compute.arrays import BoolArray, FloatArray
from tiltmeter.operators.compute.generators import keyed_generator
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.compute.philox import Stream
from tiltmeter.operators.embedding.private_release import deniability, noise, word_laws
from tiltmeter.operators.embedding.private_release.deniability import likeliest_rows, written_rows
from tiltmeter.operators.embedding.private_release.secrets import grid_step, on_grid
from tiltmeter.operators.embedding.private_release.word_laws import Law
from tiltmeter.operators.statistics.means import share
from tiltmeter.operators.statistics.units import each
from tiltmeter.storage.store.ledger import Store, TableRef

_WORDS = 1024
_PRIORS = ("uniform", "zipf")


def _prior(name: str, num: int) -> FloatArray:
    """Of the words of a file that has the most frequent first."""
    weights = np.ones(num) if name == "uniform" else 1 / np.arange(1, num + 1)
    return np.asarray(weights / weights.sum())


def _by_frequency(store: Store, ref: TableRef) -> WordPrivacy:
    return next(row for row in WordPrivacy.read(store, ref) if row.prior == "zipf")


# --- the exponential mechanism, exactly -------------------------------------------------------------------------------


class OfLaw(Work):
    """Some words of the vocabulary, by the exponential mechanism."""

    epsilon: float
    gamma: float | None
    start: int
    vocabulary: TableRef

    def read(self, store: Store) -> tuple[FloatArray, int, Law]:
        """All vectors, where those of these words end, and the law."""
        vectors = vectors_of(store, self.vocabulary)
        return vectors, min(self.start + _WORDS, len(vectors)), Law(self.epsilon, self.gamma or inf)


class SumWeights(OfLaw, unit=word_laws.VERSION, stage="sum weights", makes=[Normalisers]):
    """Normalisers of some words."""

    def rows(self, store: Store) -> Iterator[Normalisers]:
        vectors, end, law = self.read(store)
        for value in word_laws.log_normalisers(vectors[self.start : end], vectors, law).tolist():
            yield Normalisers(log_z=value)


class CompareLosses(OfLaw, unit="word_losses/1", stage="compare losses", makes=[LossesOfBlock]):
    """Losses of some words against all."""

    versions: str = word_laws.VERSION
    normalisers: Sequence[TableRef]

    def rows(self, store: Store) -> Iterator[LossesOfBlock]:
        vectors, end, law = self.read(store)
        log_z, priors = _log_z(store, self.normalisers), np.log([_prior(name, len(vectors)) for name in _PRIORS])
        worst = word_laws.losses(vectors, self.start, end, law, log_z, priors)
        first, second = worst.pair
        row = LossesOfBlock(loss=worst.loss, first=first, second=second, ratio=worst.ratio, reach=worst.reach)
        row.near, row.named = worst.near.tolist(), worst.named.tolist()
        yield row


class TellPrivacy(Work, unit="word_privacy/2", stage="tell privacy", makes=[WordPrivacy]):
    """What all blocks say together, by each prior."""

    epsilon: float
    vocabulary: TableRef
    normalisers: Sequence[TableRef]
    losses: Sequence[TableRef]

    def rows(self, store: Store) -> Iterator[WordPrivacy]:
        words, _ = words_and_vectors(store, self.vocabulary)
        blocks = [row for ref in self.losses for row in LossesOfBlock.read(store, ref)]
        most, log_z = max(blocks, key=lambda row: row.loss), _log_z(store, self.normalisers)
        for number, name in enumerate(_PRIORS):
            prior = _prior(name, len(words))
            yield WordPrivacy(
                mechanism="exponential",
                prior=name,
                epsilon=self.epsilon,
                num_words=len(words),
                nominal=self.epsilon * max(row.reach for row in blocks),
                loss=most.loss,
                first=words[most.first],
                second=words[most.second],
                ratio=max(row.ratio for row in blocks),
                near_loss=float(np.median(np.concatenate([row.near for row in blocks]))),
                kept=Estimate(float((prior * np.exp(-log_z)).sum())),
                named=Estimate(sum(row.named[number] for row in blocks)),
                prior_rate=float(prior.max()),
            )


def _log_z(store: Store, refs: Sequence[TableRef]) -> FloatArray:
    return np.concatenate([store.read(ref)["log_z"].to_numpy() for ref in refs])


def exact_privacy(run: PrivateRun) -> WordPrivacy:
    """Exact losses over the public vocabulary, at the epsilon of the settings or at that which they ask a loss of.

    Raises:
        ConfigError: if near words are told apart more easily than ``release.max_exact_epsilon`` allows.
    """
    chosen, store, vocabulary = run.config.release, run.runner.store, read_vocabulary(run).one("vocabulary")
    most = chosen.max_exact_epsilon
    vectors, starts = vocabulary.select("vector"), range(0, vocabulary.num_rows, _WORDS)
    parts: list[Row] = [{"label": f"words from {start}", "start": start, "vocabulary": vectors} for start in starts]

    def compared(epsilon: float) -> tuple[list[TableRef], list[TableRef]]:
        common: Row = {"group": "words", "epsilon": epsilon, "gamma": chosen.gamma}
        refs = run.do(SumWeights(**part, **common) for part in parts).refs(Normalisers)
        return refs, run.do(CompareLosses(normalisers=refs, **part, **common) for part in parts).refs(LossesOfBlock)

    def largest(epsilon: float, column: str = "loss") -> float:
        return max(float(store.read(ref)[column][0].as_py()) for ref in compared(epsilon)[1])

    epsilon, loss = chosen.epsilon, chosen.exact_loss
    if loss is not None:
        epsilon = word_laws.epsilon_of_loss(loss, largest(1.0, "reach"), largest)
    epsilon = cast(float, epsilon)
    refs, losses = compared(epsilon)
    tell = TellPrivacy(
        label="privacy of words", group="words", epsilon=epsilon, vocabulary=vocabulary, normalisers=refs, losses=losses
    )
    row = _by_frequency(store, run.do([tell]).one(WordPrivacy))
    near = cast(float, row.near_loss)
    if most is not None and near > most:
        raise ConfigError(
            f"release.epsilon={epsilon:g}: between a word and its nearest other the loss is exactly {near:.3g}, more "
            f"than release.max_exact_epsilon={most:g}; lower it, or raise release.max_exact_epsilon"
        )
    return row


# --- a noisy vector, as attackers see it ------------------------------------------------------------------------------


def undone(mechanism: str, projection: FloatArray) -> FloatArray | None:
    """Inverse of a map that is undone before the nearest word is looked for, as Xu et al. 2020 do; None of others."""
    return np.asarray(np.linalg.inv(projection), np.float64) if mechanism == "mahalanobis" else None


class GuessTexts(Work, unit=deniability.VERSION, stage="guess texts", makes=[WordPrivacy]):
    """Words that each prior draws, each with noise of its own: how often they are written again, and named.

    ``known`` are columns of the rows, with the mechanism among them.
    """

    known: Row
    mechanism: Noise
    vickrey: float | None
    noise: str = noise.VERSION
    draws: int
    level: float
    seed: int
    vocabulary: TableRef

    def rows(self, store: Store) -> Iterator[WordPrivacy]:
        vectors, made = vectors_of(store, self.vocabulary), self.mechanism.specification
        projection = map_of(store, self.mechanism.map, vectors.shape[1])
        images, inverse, num = vectors @ projection.T, undone(self.known["mechanism"], projection), self.draws
        for name in _PRIORS:
            prior = _prior(name, len(vectors))
            row = WordPrivacy(prior=name, num_words=len(vectors), prior_rate=float(prior.max()), **self.known)
            if num:
                generator = keyed_generator(self.seed, Stream.PRIVATE_NOISE, document_key(f"guess texts/{name}"))
                words = generator.choice(len(vectors), num, p=prior)
                drawn = noise.draw_noise(generator, made.law, (num, made.num_dimensions), made.scale)
                noisy = on_grid(images[words] + drawn, grid_step(made.deviation))
                written = written_rows(noisy, images, inverse, self.vickrey, generator.random(num))
                guesses = likeliest_rows(noisy, images, prior, made.law, made.scale)
                row.kept, row.named, row.num_draws = self._share(written == words), self._share(guesses == words), num
            yield row

    def _share(self, hits: BoolArray) -> Estimate:
        rate = share(hits, each(len(hits), "word"), level=self.level)
        return Estimate(rate.value, rate.low, rate.high)


def guessed_privacy(run: PrivateRun, vocabulary: TableRef, mechanism: Noise, known: Row) -> WordPrivacy:
    """What attackers name of words that priors draw, and how often these stay; publishes ``word_privacy``."""
    config, public = run.config, vocabulary.select("vector")
    common: Row = {"draws": config.deniability.words * config.deniability.draws, "vickrey": config.release.vickrey}
    common |= {"level": config.job.level, "seed": config.seed, "vocabulary": public}
    work = GuessTexts(group="words", label="guesses", known=known, mechanism=mechanism, **common)
    return _by_frequency(run.runner.store, run.do([work]).one(WordPrivacy))
