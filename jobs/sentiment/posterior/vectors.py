"""Word vectors, trained on the texts or brought, and the mean vectors of texts."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Tables, each
from tiltmeter.jobs.embedding.pages import left_out_table, read_whole_files
from tiltmeter.jobs.embedding.vectors import matrix, vector_column
from tiltmeter.jobs.runtime.files import Files
from tiltmeter.jobs.sentiment.posterior.config import SentimentPosteriorRun
from tiltmeter.jobs.sentiment.posterior.texts import Texts, Tokens, tokens_of
from tiltmeter.operators.compute.arrays import BoolArray, FloatArray, IntArray
from tiltmeter.operators.embedding import word2vec
from tiltmeter.operators.embedding.bootstrap import ORIGINAL
from tiltmeter.operators.embedding.word2vec import Word2VecConfig, Word2VecTraining
from tiltmeter.storage.bad_records import BadRecords
from tiltmeter.storage.files.redaction import redacted
from tiltmeter.storage.store.ledger import Store, TableRef, Unit
from tiltmeter.storage.vectors.files import read_embedding

WHOLE = -1
"""In the place of a fold: all texts."""


class Vectors(NamedTuple):
    """Attributes:
    words: by fold, the table ``vector`` of the vocabulary, null for a word without one; :data:`WHOLE` of all texts.
    texts: by fold, the tables ``row``, ``vector`` and ``num_words`` of all texts.
    """

    words: Mapping[int, TableRef]
    texts: Mapping[int, TableRef]


def make_vectors(runner: Runner, config: SentimentPosteriorRun, sources: Files, texts: Texts) -> Vectors:
    """Vectors of words and texts.

    Raises:
        UnitsFailed: if vectors can't be trained or read.
    """
    if config.vectors.path is None:
        words = _trained(runner, config, texts)
    else:
        words = dict.fromkeys(_folds(config), _read(runner, config, sources, texts))
    units = [
        Unit(
            "posterior_text_vectors/1",
            _name(fold),
            {},
            {"texts": [texts.rows.select("tokens", "is_positive", "fold")], "words": [ref]},
        )
        for fold, ref in words.items()
    ]
    done = runner.run_whole(Stage("mean vectors", each(_average), {"texts": units}))["texts"]
    return Vectors(words, {fold: unit.tables["texts"] for fold, unit in zip(words, done, strict=True)})


def word_vectors(store: Store, ref: TableRef) -> FloatArray:
    """``[words, dimensions]``; NaN for a word without a vector."""
    return matrix(store.read(ref.select("vector"))["vector"]).astype(np.float64)


def _folds(config: SentimentPosteriorRun) -> list[int]:
    """That have vectors of their own, or share those of all texts."""
    return [WHOLE, *range(config.classifier.folds)]


def _name(fold: int) -> str:
    return "all texts" if fold == WHOLE else f"without fold {fold}"


def _trained(runner: Runner, config: SentimentPosteriorRun, texts: Texts) -> dict[int, TableRef]:
    needed = [WHOLE] if config.vectors.leak else _folds(config)
    inputs = {"texts": [texts.rows.select("tokens", "is_positive", "fold")], "vocabulary": [texts.vocabulary]}
    settings = {"operator": word2vec.VERSION, "trainer": config.vectors.trainer, "seed": config.seed}
    units = [Unit("posterior_vectors/2", _name(fold), settings | {"fold": fold}, inputs) for fold in needed]
    done = runner.run_whole(Stage("train vectors", each(_train), {"texts": units}))["texts"]
    refs = {fold: unit.tables["vectors"] for fold, unit in zip(needed, done, strict=True)}
    return {fold: refs.get(fold, refs[WHOLE]) for fold in _folds(config)}


def _train(store: Store, unit: Unit) -> Tables:
    config, tokens = unit.config, tokens_of(store, unit.input("texts"))
    words = store.read(unit.input("vocabulary").select("word"))["word"].to_pylist()
    vectors = fold_vectors(tokens, words, config["fold"], config["seed"], config["trainer"])
    yield "vectors", pa.table({"vector": _nullable(vectors)})


def fold_vectors(
    tokens: Tokens, words: Sequence[str], fold: int, seed: int, trainer: Word2VecConfig
) -> NDArray[np.floating]:
    """``[words, dimensions]`` of the texts outside of a fold; NaN for a word that none of these has.

    Raises:
        ValueError: if they have no word of the vocabulary.
    """
    lines = [
        tokens.words[start:end].astype(np.int32)
        for start, end, held_out in zip(tokens.starts, tokens.starts[1:], tokens.folds, strict=False)
        if held_out != fold and end > start
    ]
    if not lines:
        raise ValueError(
            "vectors.min_count: no text has a word that comes so often, so there is nothing to train vectors on; lower "
            "it, or bring more texts"
        )
    counts = np.bincount(np.concatenate(lines), minlength=len(words)).astype(np.int64)
    training = Word2VecTraining(words, counts, lambda: lines, ORIGINAL, seed, trainer)
    while training.epochs_done < trainer.epochs:
        training.advance()
    vectors: NDArray[np.floating] = np.where(counts[:, np.newaxis] > 0, training.result().vectors, np.nan)
    return vectors.astype(np.float32)


def _nullable(vectors: NDArray[np.floating]) -> pa.Array:
    """Vectors as a column, null where they are not finite."""
    known: BoolArray = np.isfinite(vectors).all(axis=1)
    column = vector_column(vectors[known])
    places = np.cumsum(known) - 1
    return column.take(pa.array(places, mask=~known))


def _read(runner: Runner, config: SentimentPosteriorRun, sources: Files, texts: Texts) -> TableRef:
    file, settings = sources.files["vectors"], config.vectors
    identity = {"file": file.identity, "format": settings.format, "allow_pickle": settings.allow_pickle}
    inputs = {"vocabulary": [texts.vocabulary.select("word")]}
    unit = Unit("posterior_vector_file/1", redacted(file.uri), identity, inputs)
    stage = Stage("read vectors", each(_select), {"vectors": [unit]})
    [done] = read_whole_files(runner, stage, config.reading.max_bad_share)["vectors"]
    return done.tables["vectors"]


def _select(store: Store, unit: Unit) -> Tables:
    config, bad = unit.config, BadRecords()
    listed, vectors = read_embedding(config["file"]["uri"], config["format"], config["allow_pickle"], bad)
    yield from left_out_table(bad)
    rows = {word: row for row, word in enumerate(listed)}
    words = store.read(unit.input("vocabulary"))["word"].to_pylist()
    places: IntArray = np.array([rows.get(word, -1) for word in words], dtype=np.int64)
    is_known: BoolArray = places >= 0
    if not is_known.any():
        raise ValueError(
            "vectors.path: none of the words of the texts is in the file; take vectors of the language of the texts"
        )
    chosen = np.where(is_known[:, np.newaxis], vectors[places], np.nan)
    yield "vectors", pa.table({"vector": _nullable(chosen.astype(np.float32))})


def _average(store: Store, unit: Unit) -> Tables:
    tokens, vectors = tokens_of(store, unit.input("texts")), word_vectors(store, unit.input("words"))
    means, num_words = mean_vectors(tokens, vectors)
    yield "texts", pa.table({"vector": _nullable(means), "num_words": num_words})


def mean_vectors(tokens: Tokens, vectors: FloatArray) -> tuple[FloatArray, IntArray]:
    """The mean vector of each text's words, NaN for a text without one, and how many words have a vector."""
    from scipy.sparse import csr_array

    known: BoolArray = np.asarray(np.isfinite(vectors).all(axis=1))
    shape = len(tokens.starts) - 1, len(vectors)
    counts = csr_array((known[tokens.words].astype(np.float64), tokens.words, tokens.starts), shape=shape)
    num_words: FloatArray = np.asarray(counts.sum(axis=1))
    sums: FloatArray = np.asarray(counts @ np.where(known[:, np.newaxis], vectors, 0.0), dtype=np.float64)
    means = sums / np.where(num_words > 0, num_words, np.nan).reshape(-1, 1)
    return means, num_words.astype(np.int64)
