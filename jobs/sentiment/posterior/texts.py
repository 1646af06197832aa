"""The texts of a run, cut into words and dealt to folds; vectors of the words, trained or given; and their means."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from tiltmeter.cluster.work import Tables
from tiltmeter.jobs.classifiers.labelled_data import read_labelled_data
from tiltmeter.jobs.classifiers.tables import Labelled
from tiltmeter.jobs.embedding.pages import left_out_table, without_bad_files
from tiltmeter.jobs.embedding.vectors import matrix, vector_column
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.files import Files
from tiltmeter.jobs.runtime.work import Done, Work
from tiltmeter.jobs.sentiment.posterior.config import SentimentPosteriorRun
from tiltmeter.operators.compute.arrays import BoolArray, FloatArray, IntArray
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.embedding import word2vec
from tiltmeter.operators.embedding.word2vec import Word2VecConfig
from tiltmeter.operators.sentiment.posterior import made_up
from tiltmeter.operators.sentiment.posterior.vectors import Tokens, fold_vectors, mean_vectors
from tiltmeter.operators.text.tokens import Tokenizer
from tiltmeter.storage.bad_records import BadRecords
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.files.redaction import redacted
from tiltmeter.storage.store.ledger import Store, TableRef
from tiltmeter.storage.vectors.files import ExportFormat, read_embedding

WHOLE = -1
"""In the place of a fold: all texts."""

_NUM_WORDS = 25
"""Of a review that is made up."""

_POSITIVE = ("positive", "pos", "+", "1", "true", "yes")
"""Labels that say which texts are the positive ones, in lower case."""

PosteriorRun = Run[SentimentPosteriorRun, Files]


@dataclass(frozen=True)
class Texts:
    """Tables of all texts.

    Attributes:
        rows: ``row``, ``text``, ``is_positive``, ``fold`` and ``tokens``, numbers of words.
        vocabulary: ``word`` and ``count``, the most frequent first.
        word_vectors: by fold, ``vector`` of the vocabulary, null for a word without one; :data:`WHOLE` of all texts.
        vectors: by fold, ``vector`` and ``num_words`` of all texts.
    """

    rows: TableRef
    vocabulary: TableRef
    word_vectors: Mapping[int, TableRef]
    vectors: Mapping[int, TableRef]


class MakeUpTexts(Work, unit=made_up.VERSION, stage="make up texts", makes=[Labelled]):
    """Reviews that are made up."""

    number: int
    words: int
    seed: int

    def rows(self, _: Store) -> Iterator[Labelled]:
        for row, review in enumerate(made_up.reviews(self.number, self.words, self.seed)):
            yield Labelled(part="training", row=row, text=review.text, label=review.label)


class CutTexts(Work, unit="posterior_texts/1", stage="cut texts"):
    """Tables ``vocabulary`` and ``rows`` of :class:`Texts`; equal texts belong to one fold."""

    tokens: Mapping[str, Any]
    min_count: int
    folds: int
    positive: str
    seed: int
    texts: TableRef

    def tables(self, store: Store) -> Tables:
        rows = [row for row in Labelled.read(store, self.texts) if row.status == "ok"]
        words = [tokenizer()(" ".join(row.text.splitlines())) for row in rows]
        counts = Counter(word for text in words for word in text)
        kept = sorted(
            (word for word in counts if counts[word] >= self.min_count), key=lambda word: (-counts[word], word)
        )
        yield "vocabulary", pa.table({"word": pa.array(kept, pa.string()), "count": [counts[word] for word in kept]})
        numbers = {word: number for number, word in enumerate(kept)}
        tokens = [[numbers[word] for word in text if word in numbers] for text in words]
        folds = [document_key(f"{self.seed}\n{row.text}") % self.folds for row in rows]
        columns = {
            "row": pa.array([row.row for row in rows], pa.int64()),
            "text": pa.array([row.text for row in rows], pa.string()),
            "is_positive": pa.array([row.label == self.positive for row in rows], pa.bool_()),
            "fold": pa.array(folds, pa.int32()),
            "tokens": pa.array(tokens, pa.list_(pa.int32())),
        }
        yield "rows", pa.table(columns)


def cut_texts(run: PosteriorRun) -> Done[CutTexts]:
    """Texts in words, and their vocabulary.

    Raises:
        InputError: unless there are two labels, one of which is positive.
    """
    config, texts = run.config, _read_texts(run)
    labels = pl.DataFrame(run.runner.store.read(texts.select("label", "status"))).filter(status="ok")["label"]
    work = CutTexts(
        group="texts",
        label="words of texts",
        tokens=tokenizer().identity,
        min_count=config.vectors.min_count,
        folds=config.classifier.folds,
        positive=positive_label(labels.unique(), config.data.positive),
        seed=config.seed,
        texts=texts,
    )
    return run.do([work])


def _read_texts(run: PosteriorRun) -> TableRef:
    """The rows of the file, or of reviews that are made up."""
    data, seed = run.config.data, run.config.seed
    if data.path is not None:
        files = Files({"training": run.sources.files["training"]})
        return read_labelled_data(run.runner, data.labelled(data.path), files, seed)
    work = MakeUpTexts(group="texts", label="reviews", number=data.made_up, words=_NUM_WORDS, seed=seed)
    return run.do([work], publish=False).one(Labelled)


def positive_label(given: Iterable[str], positive: str | None) -> str:
    """Of the labels of texts, of which empty ones are none, that of positive texts, which the settings may name.

    Raises:
        InputError: unless there are two, and one of them is positive.
    """
    labels = sorted({label for label in given if label})
    if len(labels) != 2:
        names = ", ".join(map(repr, labels[:5])) or "none"
        raise InputError(
            f"data.label: the texts have {len(labels)} labels ({names}), and must have two, positive and negative; "
            "choose another column, or leave out other rows"
        )
    known = [label for label in labels if label.lower() in _POSITIVE]
    if positive is None and len(known) != 1:
        raise InputError(
            f"data.positive: neither of the labels {labels[0]!r} and {labels[1]!r} says which texts are the positive "
            "ones; set it to one of them"
        )
    if positive is not None and positive not in labels:
        raise InputError(
            f"data.positive={positive}: is not a label of the texts, which are {labels[0]!r} and {labels[1]!r}"
        )
    return positive or known[0]


def tokens_of(store: Store, ref: TableRef) -> Tokens:
    """The texts of the table ``rows``."""
    table = store.read(ref.select("fold", "tokens"))
    lists = table["tokens"].combine_chunks()
    lengths = lists.value_lengths().to_numpy()
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    words = lists.flatten().to_numpy().astype(np.int64)
    return Tokens(words, starts, np.asarray(table["fold"], np.int64))


@cache
def tokenizer() -> Tokenizer:
    """What cuts texts into words."""
    return Tokenizer("en")


def entry_of(word: str) -> str:
    """As the vocabulary writes it; what has no letter as it is."""
    try:
        return tokenizer().entry(word)
    except ValueError:
        return word


class TrainVectors(Work, unit="posterior_vectors/2", stage="train vectors"):
    """The table ``vectors`` of the vocabulary, trained on the texts outside of a fold."""

    operator: str = word2vec.VERSION
    trainer: Word2VecConfig
    seed: int
    fold: int
    texts: TableRef
    vocabulary: TableRef

    def tables(self, store: Store) -> Tables:
        words = store.read(self.vocabulary.select("word"))["word"].to_pylist()
        vectors = fold_vectors(tokens_of(store, self.texts), words, self.fold, self.seed, self.trainer)
        yield "vectors", pa.table({"vector": _nullable(vectors)})


class ReadVectors(Work, unit="posterior_vector_file/1", stage="read vectors"):
    """The same, of a file that a user brings."""

    file: Mapping[str, Any]
    format: Literal["auto", ExportFormat]
    allow_pickle: bool
    vocabulary: TableRef

    def tables(self, store: Store) -> Tables:
        bad = BadRecords()
        listed, vectors = read_embedding(self.file["uri"], self.format, self.allow_pickle, bad)
        yield from left_out_table(bad)
        rows = {word: row for row, word in enumerate(listed)}
        words = store.read(self.vocabulary)["word"].to_pylist()
        places: IntArray = np.array([rows.get(word, -1) for word in words], dtype=np.int64)
        is_known: BoolArray = places >= 0
        if not is_known.any():
            raise ValueError(
                "vectors.path: none of the words of the texts is in the file; take vectors of the language of the texts"
            )
        chosen = np.where(is_known[:, np.newaxis], vectors[places], np.nan)
        yield "vectors", pa.table({"vector": _nullable(chosen.astype(np.float32))})


class AverageVectors(Work, unit="posterior_text_vectors/1", stage="mean vectors"):
    """The table ``texts``: the mean vector of each text, and how many of its words have one."""

    texts: TableRef
    words: TableRef

    def tables(self, store: Store) -> Tables:
        means, num_words = mean_vectors(tokens_of(store, self.texts), word_vectors(store, self.words))
        yield "texts", pa.table({"vector": _nullable(means), "num_words": num_words})


def make_vectors(run: PosteriorRun, cut: Done[CutTexts]) -> Texts:
    """Vectors of words, and of texts.

    Raises:
        UnitsFailed: if vectors can't be trained or read.
    """
    rows, vocabulary = cut.one("rows"), cut.one("vocabulary")
    tokens = rows.select("tokens", "is_positive", "fold")
    words = _word_vectors(run, tokens, vocabulary)
    done = run.do(
        AverageVectors(group="texts", label=_name(fold), texts=tokens, words=ref) for fold, ref in words.items()
    )
    return Texts(rows, vocabulary, words, dict(zip(words, done.refs("texts"), strict=True)))


def _word_vectors(run: PosteriorRun, tokens: TableRef, vocabulary: TableRef) -> dict[int, TableRef]:
    """By fold; folds have vectors of their own, or share those of all texts."""
    settings, folds = run.config.vectors, [WHOLE, *range(run.config.classifier.folds)]
    if settings.path is not None:
        return dict.fromkeys(folds, _given_vectors(run, vocabulary.select("word")))
    needed = [WHOLE] if settings.leak else folds
    done = run.do(
        TrainVectors(
            group="texts",
            label=_name(fold),
            trainer=settings.trainer,
            seed=run.config.seed,
            fold=fold,
            texts=tokens,
            vocabulary=vocabulary,
        )
        for fold in needed
    )
    refs = dict(zip(needed, done.refs("vectors"), strict=True))
    return {fold: refs.get(fold, refs[WHOLE]) for fold in folds}


def _name(fold: int) -> str:
    return "all texts" if fold == WHOLE else f"without fold {fold}"


def _given_vectors(run: PosteriorRun, words: TableRef) -> TableRef:
    file, settings = run.sources.files["vectors"], run.config.vectors
    work = ReadVectors(
        group="vectors",
        label=redacted(file.uri),
        file=file.identity,
        format=settings.format,
        allow_pickle=settings.allow_pickle,
        vocabulary=words,
    )
    return without_bad_files(run.runner, run.do([work]), run.config.reading.max_bad_share).one("vectors")


def word_vectors(store: Store, ref: TableRef) -> FloatArray:
    """``[words, dimensions]``; NaN for a word without a vector."""
    return matrix(store.read(ref.select("vector"))["vector"]).astype(np.float64)


def known_vectors(store: Store, ref: TableRef) -> FloatArray:
    """The same of those that have one."""
    vectors = word_vectors(store, ref)
    return vectors[np.isfinite(vectors).all(axis=1)]


def _nullable(vectors: NDArray[np.floating]) -> pa.Array:
    """Vectors as a column, null where they are not finite."""
    known: BoolArray = np.isfinite(vectors).all(axis=1)
    places = np.cumsum(known) - 1
    return vector_column(vectors[known]).take(pa.array(places, mask=~known))
