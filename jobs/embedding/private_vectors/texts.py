"""Private texts, written anew word by word with words of a public vocabulary.

As with vectors, units are named by digests under the key, and what is private is read where it is written anew. A text
before it was written is in no table; of the texts together it is said how many words stayed, which is for their owner.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any, cast

import numpy as np

from tiltmeter.cluster.work import Tables
from tiltmeter.jobs.embedding.private_vectors.release import check_grid, mechanism_of, of_words, privacy_of, spend
from tiltmeter.jobs.embedding.private_vectors.sources import (
    PrivateSources,
    Texts,
    check_key_everywhere,
    key_path,
    read_key,
    read_texts,
)
from tiltmeter.jobs.embedding.private_vectors.tables import (
    LossesOfBlock,
    Normalisers,
    PrivateTexts,
    Rewritten,
    TextReleases,
    WordPrivacy,
)
from tiltmeter.jobs.embedding.private_vectors.vocabulary import (
    PrivateRun,
    read_vocabulary,
    vectors_of,
    words_and_vectors,
)
from tiltmeter.jobs.runtime.config import ConfigError
from tiltmeter.jobs.runtime.rows import Row
from tiltmeter.jobs.runtime.table import tables_of
from tiltmeter.jobs.runtime.work import Work, aside
from tiltmeter.operators.compute.arrays import FloatArray, IntArray
from tiltmeter.operators.embedding.private_release import secrets, word_laws
from tiltmeter.operators.embedding.private_release.composition import Promise
from tiltmeter.operators.embedding.private_release.deniability import nearest_rows
from tiltmeter.operators.embedding.private_release.noise import draw_noise
from tiltmeter.operators.embedding.private_release.secrets import Rows
from tiltmeter.operators.embedding.private_release.word_laws import Law
from tiltmeter.operators.embedding.similarity import cosine
from tiltmeter.storage.store.ledger import Store, TableRef

_TEXTS, _WORDS = 200, 1024
_PRIORS = ("uniform", "zipf")
_EXPONENTIAL = "The loss of a word is at most epsilon times min(distance, gamma), for any two words of the vocabulary."
_MOST_LOSS, _MOST_NAMED = 1.0, 0.5


def release_texts(run: PrivateRun) -> None:
    """Write the texts anew, once every node has the key and the account allows it."""
    config, store = run.config, run.runner.store
    path, chosen = key_path(config), config.release
    key = read_key(path)
    check_key_everywhere(run.runner, path, key)
    column, language = chosen.text_column, config.embedding.language
    texts = read_texts(run.sources, column, language)
    about: Row = {"texts": "words", "name": chosen.name, "input": chosen.input, "mechanism": chosen.mechanism}
    about |= {"version": _VERSION, "generators": secrets.generator_versions(), "content": texts.digest(key)}
    about |= {"epsilon": cast(float, chosen.epsilon)}
    losses: tuple[float | None, float | None] = (None, None)
    rounding = None
    if chosen.mechanism == "exponential":
        privacy = _exact(run)
        about |= {"law": "exponential", "gamma": chosen.gamma}
        promise, guarantee, projection = Promise(about["epsilon"], 0.0), _EXPONENTIAL, None
        word: Sequence[float | None] = (privacy.loss, privacy.nominal)
        losses = (privacy.near_loss, privacy.named)
        rounding = word_laws.rounding_chance(sum(map(len, texts.rows)), len(texts.vectors))
    else:
        stretch = of_words(run)
        mechanism = mechanism_of(config, texts.vectors.shape[1], stretch)
        check_grid(config, mechanism, texts.vectors)
        privacy_of(config, Rows(texts.vectors, np.arange(len(texts.vectors))), mechanism)
        made, projection = mechanism.made, mechanism.projection
        about |= {"law": made.law, "scale": made.scale, "step": secrets.grid_step(made.deviation)}
        about |= {"map": "" if projection is None else secrets.content_digest(bytes(32), projection)}
        promise, guarantee = mechanism.promise, mechanism.guarantee
        bound = about["epsilon"] * stretch.reach if made.law == "norm" else None
        word = (bound, bound)
    name = secrets.keyed_digest(key, about).hex()
    account = spend(config, store, name, promise)
    secret = TextSecret(path, run.sources, column, language, about, projection)
    common: Row = {"group": "texts", "release": name, "secret": secret}
    done = run.do(
        RewriteTexts(label=f"texts from {start}", start=start, unknown=chosen.unknown, word=word, **common)
        for start in range(0, len(texts.rows), _TEXTS)
    )
    known = account | {"release": chosen.name, "input": chosen.input, "mechanism": chosen.mechanism}
    known |= {"epsilon": about["epsilon"], "gamma": chosen.gamma, "guarantee": guarantee, "rounding_delta": rounding}
    refs = done.refs(Rewritten)
    run.do([DescribeTexts(label="what was written", known=known, losses=losses, rewritten=refs, **common)])


_VERSION = "private_texts/1"


@dataclass(frozen=True)
class TextSecret:
    """What workers are given: neither the key nor a word is in it.

    Attributes:
        key_file, sources, column, language: where the key is, and how the texts are read.
        about: what defines the release, and so its noise.
        projection: of a mechanism of vectors.
    """

    key_file: Path
    sources: PrivateSources
    column: str
    language: str
    about: Mapping[str, Any]
    projection: FloatArray | None

    def read(self) -> tuple[bytes, Texts]:
        """The key, and the texts as the release began with them.

        Raises:
            ConfigError: if they have changed since.
        """
        key, texts = read_key(self.key_file), read_texts(self.sources, self.column, self.language)
        if texts.digest(key) != self.about["content"]:
            raise ConfigError("what is released has changed since the run began; start it again")
        return key, texts

    def written(self, key: bytes, texts: Texts, start: int, end: int) -> list[IntArray]:
        """Words for those of some texts; each text has a stream of its own, and -1 stays for what has no vector."""
        parts, about = texts.rows[start:end], self.about
        known = [rows[rows >= 0] for rows in parts]
        streams = [secrets.secret_generator(key, about, start + number) for number in range(len(parts))]
        flat = np.concatenate(known)
        if about["law"] == "exponential":
            uniforms = np.concatenate([stream.random(len(rows)) for stream, rows in zip(streams, known, strict=True)])
            drawn = word_laws.draw_words(flat, uniforms, texts.vectors, Law(about["epsilon"], about["gamma"] or inf))
        else:
            images = texts.vectors if self.projection is None else texts.vectors @ self.projection.T
            shape = images.shape[1]
            noise = [
                draw_noise(stream, about["law"], (len(rows), shape), about["scale"])
                for stream, rows in zip(streams, known, strict=True)
            ]
            noisy = secrets.on_grid(images[flat] + np.concatenate(noise), about["step"])
            drawn = nearest_rows(noisy, images)
        out = np.full(sum(map(len, parts)), -1)
        out[np.concatenate(parts) >= 0] = drawn
        return np.split(out, np.cumsum([len(rows) for rows in parts])[:-1])


class RewriteTexts(Work, unit=_VERSION, stage="write texts", makes=[PrivateTexts, Rewritten]):
    """Some texts; ``word`` is the largest loss of a word, exact where it is known, and its bound."""

    release: str
    start: int
    unknown: str
    word: Sequence[float | None]
    secret: TextSecret = aside(default=None)

    @classmethod
    def batch(cls, store: Store, works: "Sequence[RewriteTexts]", num_threads: int) -> Iterator[Tables]:  # noqa: ARG003
        key, texts = works[0].secret.read()
        for work in works:
            yield tables_of(work._rows(key, texts), cls.makes)

    def _rows(self, key: bytes, texts: Texts) -> Iterator[PrivateTexts | Rewritten]:
        for number, places in enumerate(self.secret.written(key, texts, self.start, self.start + _TEXTS), self.start):
            num_unknown = int((places < 0).sum())
            num = len(places) - num_unknown
            words = [texts.public[place] if place >= 0 else self.unknown for place in places.tolist()]
            row = PrivateTexts(row=number, num_words=len(places), num_unknown=num_unknown, text=" ".join(words))
            row.epsilon, row.nominal_epsilon = (None if loss is None else num * loss for loss in self.word)
            yield row
            yield Rewritten(places=places.tolist())


class DescribeTexts(Work, unit="private_texts_described/1", stage="compare texts", makes=[TextReleases]):
    """What of all texts together stayed as it was; one row, for their owner."""

    release: str
    known: Row
    losses: Sequence[float | None]
    rewritten: Sequence[TableRef]
    secret: TextSecret = aside(default=None)

    def rows(self, store: Store) -> Iterator[TextReleases]:
        _, texts = self.secret.read()
        before = texts.rows
        after = [np.array(row.places) for ref in self.rewritten for row in Rewritten.read(store, ref)]
        flat, written = np.concatenate(before), np.concatenate(after)
        row = TextReleases(**self.known, num_texts=len(before), num_words=len(flat))
        is_known = flat >= 0
        row.num_unknown = int((~is_known).sum())
        row.kept = float((flat == written)[is_known].mean()) if is_known.any() else None
        means = [_means(part, texts.vectors) for part in (before, after)]
        for name, other in {"similarity": means[1], "similarity_other": np.roll(means[1], -1, axis=0)}.items():
            values = cosine(means[0], other)
            setattr(row, name, float(np.nanmean(values)) if np.isfinite(values).any() else None)
        near, named = self.losses
        warnings = []
        if near is not None and near > _MOST_LOSS:
            warnings.append(f"a word and its nearest other have an exact loss of {near:.3g}, which is hardly privacy")
        if named is not None and named > _MOST_NAMED:
            warnings.append("an attacker who knows how frequent words are names more than half of them")
        row.warning = "; ".join(warnings)
        yield row


def _means(texts: Sequence[IntArray], vectors: FloatArray) -> FloatArray:
    """Mean vector of the known words of each text."""
    known = [rows[rows >= 0] for rows in texts]
    return np.array([vectors[rows].mean(axis=0) if len(rows) else np.full(vectors.shape[1], np.nan) for rows in known])


# --- exact losses of the exponential mechanism ------------------------------------------------------------------------


class SumWeights(Work, unit=word_laws.VERSION, stage="sum weights", makes=[Normalisers]):
    """Normalisers of some words."""

    epsilon: float
    gamma: float | None
    start: int
    vocabulary: TableRef

    def rows(self, store: Store) -> Iterator[Normalisers]:
        vectors, law = vectors_of(store, self.vocabulary), Law(self.epsilon, self.gamma or inf)
        for value in word_laws.log_normalisers(vectors[self.start : self.start + _WORDS], vectors, law).tolist():
            yield Normalisers(log_z=value)


class CompareLosses(Work, unit="word_losses/1", stage="compare losses", makes=[LossesOfBlock]):
    """Losses of some words against all."""

    epsilon: float
    gamma: float | None
    start: int
    versions: str = word_laws.VERSION
    vocabulary: TableRef
    normalisers: Sequence[TableRef]

    def rows(self, store: Store) -> Iterator[LossesOfBlock]:
        vectors, law = vectors_of(store, self.vocabulary), Law(self.epsilon, self.gamma or inf)
        log_z, end = _log_z(store, self.normalisers), min(self.start + _WORDS, len(vectors))
        priors = np.log([_prior(name, len(vectors)) for name in _PRIORS])
        worst = word_laws.losses(vectors, self.start, end, law, log_z, priors)
        first, second = worst.pair
        row = LossesOfBlock(loss=worst.loss, first=first, second=second, ratio=worst.ratio, reach=worst.reach)
        row.near, row.named = worst.near.tolist(), worst.named.tolist()
        yield row


class TellPrivacy(Work, unit="word_privacy/1", stage="tell privacy", makes=[WordPrivacy]):
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
                kept=float((prior * np.exp(-log_z)).sum()),
                named=sum(row.named[number] for row in blocks),
                prior_rate=float(prior.max()),
            )


def _log_z(store: Store, refs: Sequence[TableRef]) -> FloatArray:
    return np.concatenate([store.read(ref)["log_z"].to_numpy() for ref in refs])


def _prior(name: str, num: int) -> FloatArray:
    """Of the words of a file that has the most frequent first."""
    weights = np.ones(num) if name == "uniform" else 1 / np.arange(1, num + 1)
    return np.asarray(weights / weights.sum())


def _exact(run: PrivateRun) -> WordPrivacy:
    """Exact losses over the public vocabulary, before anything is spent; of the corpus' prior.

    Raises:
        ConfigError: if near words are told apart more easily than ``release.max_exact_epsilon`` allows.
    """
    chosen, vocabulary = run.config.release, read_vocabulary(run).one("vocabulary")
    epsilon, most = cast(float, chosen.epsilon), chosen.max_exact_epsilon
    vectors, starts = vocabulary.select("vector"), range(0, vocabulary.num_rows, _WORDS)
    parts: list[Row] = [{"label": f"words from {start}", "start": start, "vocabulary": vectors} for start in starts]
    common: Row = {"group": "words", "epsilon": epsilon}
    refs = run.do(SumWeights(gamma=chosen.gamma, **part, **common) for part in parts).refs(Normalisers)
    compared = run.do(CompareLosses(gamma=chosen.gamma, normalisers=refs, **part, **common) for part in parts)
    common |= {"vocabulary": vocabulary, "normalisers": refs, "losses": compared.refs(LossesOfBlock)}
    tell = TellPrivacy(label="privacy of words", **common)
    rows = WordPrivacy.read(run.runner.store, run.do([tell]).one(WordPrivacy))
    row = rows[_PRIORS.index("zipf")]
    if most is not None and row.near_loss > most:
        raise ConfigError(
            f"release.epsilon={epsilon:g}: between a word and its nearest other the loss is exactly "
            f"{row.near_loss:.3g}, more than release.max_exact_epsilon={most:g}; lower it, or raise "
            "release.max_exact_epsilon"
        )
    return row
