"""Private texts, written anew word by word with words of a public vocabulary.

As with vectors, units are named by digests under the key, and what is private is read where it is written anew. A text
before it was written is in no table; of the texts together it is said how many words stayed, which is for their owner.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np

from tiltmeter.cluster.work import Tables
from tiltmeter.jobs.embedding.private_vectors.mechanisms import Noise
from tiltmeter.jobs.embedding.private_vectors.release import check_grid, mechanism_of, of_words, privacy_of, spend
from tiltmeter.jobs.embedding.private_vectors.sources import (
    PrivateSources,
    Texts,
    check_key_everywhere,
    key_path,
    read_key,
    read_texts,
)
from tiltmeter.jobs.embedding.private_vectors.tables import PrivateTexts, Rewritten, TextReleases, WordPrivacy
from tiltmeter.jobs.embedding.private_vectors.vocabulary import PrivateRun, vectors_of
from tiltmeter.jobs.embedding.private_vectors.word_privacy import exact_privacy, guessed_privacy, undone
from tiltmeter.jobs.runtime.config import ConfigError
from tiltmeter.jobs.runtime.rows import Row
from tiltmeter.jobs.runtime.table import tables_of
from tiltmeter.jobs.runtime.work import Work, aside
from tiltmeter.operators.compute.arrays import FloatArray, IntArray
from tiltmeter.operators.embedding.private_release import secrets, word_laws
from tiltmeter.operators.embedding.private_release.composition import Promise
from tiltmeter.operators.embedding.private_release.deniability import written_rows
from tiltmeter.operators.embedding.private_release.noise import draw_noise
from tiltmeter.operators.embedding.private_release.secrets import Rows
from tiltmeter.operators.embedding.private_release.word_laws import Law
from tiltmeter.operators.embedding.similarity import cosine
from tiltmeter.storage.store.ledger import Store, TableRef

_TEXTS = 200
_EXPONENTIAL = "The loss of a word is at most epsilon times min(distance, gamma), for any two words of the vocabulary."
_MOST_LOSS, _MOST_NAMED = 1.0, 0.5
_VERSION = "private_texts/1"


class _Words(NamedTuple):
    """How words give way to words.

    Attributes:
        about: what defines it.
        promise, guarantee: of a word.
        privacy: of a word, exactly or by draws.
        map: of a noisy vector.
        rounding: chance at most that rounding changes a word.
    """

    about: Row
    promise: Promise
    guarantee: str
    privacy: WordPrivacy
    map: TableRef | None = None
    rounding: float | None = None


def release_texts(run: PrivateRun) -> None:
    """Write the texts anew, once every node has the key and the account allows it."""
    config, store = run.config, run.runner.store
    path, chosen = key_path(config), config.release
    key = read_key(path)
    check_key_everywhere(run.runner, path, key)
    column, language = chosen.text_column, config.embedding.language
    texts = read_texts(run.sources, column, language)
    words = _drawn(run, texts) if chosen.mechanism == "exponential" else _noisy(run, texts)
    promise, privacy = words.promise, words.privacy
    about: Row = {"texts": "words", "name": chosen.name, "input": chosen.input, "mechanism": chosen.mechanism}
    about |= {"version": _VERSION, "generators": secrets.generator_versions(), "content": texts.digest(key)}
    about |= {"epsilon": promise.epsilon} | words.about
    name = secrets.keyed_digest(key, about).hex()
    account = spend(config, store, name, promise)
    secret = TextSecret(path, run.sources, column, language, about, words.map)
    common: Row = {"group": "texts", "release": name, "secret": secret}
    word = privacy.loss, privacy.nominal
    done = run.do(
        RewriteTexts(label=f"texts from {start}", start=start, unknown=chosen.unknown, word=word, **common)
        for start in range(0, len(texts.rows), _TEXTS)
    )
    known = account | {"release": chosen.name, "input": chosen.input, "mechanism": chosen.mechanism}
    known |= {"epsilon": promise.epsilon, "gamma": chosen.gamma, "guarantee": words.guarantee}
    known |= {"rounding_delta": words.rounding, "warning": _warning(privacy)}
    refs = done.refs(Rewritten)
    run.do([DescribeTexts(label="what was written", known=known, rewritten=refs, **common)])


def _drawn(run: PrivateRun, texts: Texts) -> _Words:
    """By the exponential mechanism."""
    privacy = exact_privacy(run)
    about = {"law": "exponential", "gamma": run.config.release.gamma}
    rounding = word_laws.rounding_chance(sum(map(len, texts.rows)), len(texts.vectors))
    return _Words(about, Promise(privacy.epsilon, 0.0), _EXPONENTIAL, privacy, rounding=rounding)


def _noisy(run: PrivateRun, texts: Texts) -> _Words:
    """By the nearest word of a noisy vector, or one of the two nearest; what the vector promises holds for the word."""
    config, stretch = run.config, of_words(run)
    mechanism, vickrey = mechanism_of(config, texts.vectors.shape[1], stretch), config.release.vickrey
    check_grid(config, mechanism, texts.vectors)
    exact = privacy_of(config, Rows(texts.vectors, np.arange(len(texts.vectors))), mechanism)
    made, projection, promise = mechanism.made, mechanism.projection, mechanism.promise
    about: Row = {"law": made.law, "scale": made.scale, "step": secrets.grid_step(made.deviation)}
    about |= {"map": "" if projection is None else secrets.content_digest(bytes(32), projection)}
    about |= {} if vickrey is None else {"vickrey": vickrey}
    known: Row = {
        "mechanism": config.release.mechanism,
        "epsilon": promise.epsilon,
        "near_loss": exact["exact_nearest"],
    }
    known |= {"nominal": promise.epsilon * stretch.reach if made.law == "norm" else None}
    privacy = guessed_privacy(run, cast(TableRef, stretch.vocabulary), Noise(made, mechanism.map), known)
    guarantee = mechanism.guarantee
    if config.release.mechanism == "mahalanobis":
        guarantee += (
            f" It is at most {1 / made.scale:.3g} times the distance in the metric of the noise, for any two vectors."
        )
    if vickrey is not None:
        guarantee += " That the second nearest word may be written adds nothing to it."
    return _Words(about, promise, guarantee, privacy, mechanism.map)


def _warning(privacy: WordPrivacy) -> str:
    """What stands in the way of giving it away; empty if nothing does."""
    near, named, sentences = privacy.near_loss, privacy.named, []
    if near is not None and near > _MOST_LOSS:
        exactly = "an exact loss" if privacy.loss is not None else "vectors with an exact epsilon"
        sentences.append(f"a word and its nearest other have {exactly} of {near:.3g}, which is hardly privacy")
    if named is not None and named.value is not None and named.value > _MOST_NAMED:
        sentences.append("an attacker who knows how frequent words are names more than half of them")
    return "; ".join(sentences)


@dataclass(frozen=True)
class TextSecret:
    """What workers are given: neither the key nor a word is in it.

    Attributes:
        key_file, sources, column, language: where the key is, and how the texts are read.
        about: what defines the release, and so its noise.
        map: of a mechanism of vectors.
    """

    key_file: Path
    sources: PrivateSources
    column: str
    language: str
    about: Mapping[str, Any]
    map: TableRef | None

    def read(self) -> tuple[bytes, Texts]:
        """The key, and the texts as the release began with them.

        Raises:
            ConfigError: if they have changed since.
        """
        key, texts = read_key(self.key_file), read_texts(self.sources, self.column, self.language)
        if texts.digest(key) != self.about["content"]:
            raise ConfigError("what is released has changed since the run began; start it again")
        return key, texts

    def written(self, key: bytes, texts: Texts, projection: FloatArray | None, start: int, end: int) -> list[IntArray]:
        """Words for those of some texts; each text has a stream of its own, and -1 stays for what has no vector."""
        parts, about = texts.rows[start:end], self.about
        known = [rows[rows >= 0] for rows in parts]
        streams = [secrets.secret_generator(key, about, start + number) for number in range(len(parts))]
        flat = np.concatenate(known)
        if about["law"] == "exponential":
            uniforms = np.concatenate([stream.random(len(rows)) for stream, rows in zip(streams, known, strict=True)])
            drawn = word_laws.draw_words(flat, uniforms, texts.vectors, Law(about["epsilon"], about["gamma"] or inf))
        else:
            images, inverse = texts.vectors, None
            if projection is not None:
                images, inverse = images @ projection.T, undone(about["mechanism"], projection)
            pairs, law, scale = list(zip(streams, known, strict=True)), about["law"], about["scale"]
            noise = [draw_noise(stream, law, (len(rows), images.shape[1]), scale) for stream, rows in pairs]
            uniforms = np.concatenate([stream.random(len(rows)) for stream, rows in pairs])
            noisy = secrets.on_grid(images[flat] + np.concatenate(noise), about["step"])
            drawn = written_rows(noisy, images, inverse, about.get("vickrey"), uniforms)
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
        secret = works[0].secret
        key, texts = secret.read()
        projection = vectors_of(store, secret.map) if secret.map else None
        for work in works:
            written = secret.written(key, texts, projection, work.start, work.start + _TEXTS)
            yield tables_of(work._rows(texts, written), cls.makes)

    def _rows(self, texts: Texts, written: Sequence[IntArray]) -> Iterator[PrivateTexts | Rewritten]:
        for number, places in enumerate(written, self.start):
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
        yield row


def _means(texts: Sequence[IntArray], vectors: FloatArray) -> FloatArray:
    """Mean vector of the known words of each text."""
    known = [rows[rows >= 0] for rows in texts]
    return np.array([vectors[rows].mean(axis=0) if len(rows) else np.full(vectors.shape[1], np.nan) for rows in known])
