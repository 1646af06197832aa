"""Vectors of listed words, and of those near the attribute sets of tests: taken out of replicas, files and encoders."""

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Literal
from unicodedata import normalize

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from tiltmeter.cluster.stages import Runner
from tiltmeter.cluster.work import Tables
from tiltmeter.jobs.embedding.config import FileEmbedding
from tiltmeter.jobs.embedding.encoders.settings import ENCODER, EncoderEmbedding, Encoders
from tiltmeter.jobs.embedding.pages import left_out_table, without_bad_files
from tiltmeter.jobs.runtime.keep_loaded import resident
from tiltmeter.jobs.runtime.resources import uses_gpus
from tiltmeter.jobs.runtime.work import Done, Subject, Work, do
from tiltmeter.operators.association import covariance
from tiltmeter.operators.association.covariance import enlarged
from tiltmeter.operators.embedding.encoders.sentences import Pooled, Sentence, encode_sentences, mean_of_rows, unit_rows
from tiltmeter.operators.embedding.encoders.words import VERSION as ENCODING_VERSION
from tiltmeter.operators.embedding.encoders.words import EncoderConfig, encode_words
from tiltmeter.operators.text.segmentation import spaced
from tiltmeter.operators.text.tokens import Tokenizer
from tiltmeter.storage.bad_records import BadRecords
from tiltmeter.storage.corpora.sources import FoundFile
from tiltmeter.storage.files.redaction import redacted
from tiltmeter.storage.models.checkpoints import Checkpoint, CheckpointError, find_checkpoint
from tiltmeter.storage.models.load import load_encoder
from tiltmeter.storage.models.sentence_folders import StatedPooling, load_static, stated_pooling
from tiltmeter.storage.store.ledger import Store, TableRef
from tiltmeter.storage.vectors.files import ExportFormat, read_embedding

_MOST_CAPITALISED = 0.01
_COLUMNS = ["word", "spelled", "count", "vector"]


@dataclass(frozen=True)
class Selection:
    """What measuring needs of an embedding.

    Attributes:
        words: entries of the word lists, sorted.
        attribute_sets: those whose covariance is needed, each sorted; with their synonyms if these are asked for.
        num_neighbours: nearest neighbours of each of their words, to estimate the covariance from; 0 without sets.
    """

    words: tuple[str, ...]
    attribute_sets: tuple[tuple[str, ...], ...] = ()
    num_neighbours: int = 0

    @property
    def near_by(self) -> str | None:
        """The version of what finds neighbours, if any are needed."""
        return covariance.VERSION if self.attribute_sets else None

    def kept(self, vocabulary: Sequence[str]) -> Collection[str]:  # noqa: ARG002
        """Which words of a vocabulary are taken; the most frequent come first in it."""
        return self.words


@dataclass(frozen=True)
class FrequentSelection(Selection):
    """The most frequent words of a vocabulary as well, in its order; None: all. An encoder has no vocabulary."""

    num_frequent: int | None = None

    def kept(self, vocabulary: Sequence[str]) -> Collection[str]:
        """Both kinds."""
        return {*self.words, *vocabulary[: self.num_frequent]}


def vectors_table(spelling: Mapping[str, str], rows: NDArray[np.floating]) -> pa.Table:
    """The table ``vectors`` of an embedding whose counts are not known.

    Args:
        spelling: how the embedding writes each entry that it has.
        rows: their vectors, in the same order.
    """
    words, written = pa.array(spelling.keys(), pa.string()), pa.array(spelling.values(), pa.string())
    return pa.table([words, written, pa.nulls(len(spelling), pa.int64()), vector_column(rows)], names=_COLUMNS)


def neighbours(selection: Selection, index: Mapping[str, int], vectors: NDArray[np.floating]) -> Tables:
    """Every attribute set with its nearest neighbours, if there are sets: rows of set i have the ``set`` i.

    Args:
        selection: which sets, and how many neighbours.
        index: row of each word, by the entry of the word lists.
        vectors: ``[words, dimensions]`` of the whole embedding.
    """
    if not selection.attribute_sets:
        return
    known = {word for word, row in index.items() if vectors[row].any()}
    rows_by_set = [
        np.array([index[word] for word in words if word in known], np.int64) for words in selection.attribute_sets
    ]
    numbers = [number for number, rows in enumerate(rows_by_set) if rows.size]
    parts = enlarged([rows_by_set[number] for number in numbers], vectors, selection.num_neighbours)
    sets = np.repeat(np.array(numbers, np.int32), [rows.size for rows in parts])
    chosen = vectors[np.concatenate([np.empty(0, np.int64), *parts])]
    yield "neighbours", pa.table({"set": sets, "vector": vector_column(chosen)})


def vector_column(rows: NDArray[np.floating]) -> pa.FixedSizeListArray:
    """An Arrow column of the rows of a matrix, in the matrix's own type."""
    return pa.FixedSizeListArray.from_arrays(pa.array(rows.ravel()), rows.shape[1])


def matrix(column: pa.ChunkedArray) -> NDArray[np.floating]:
    """A column of vectors as ``[rows, dimensions]``; NaN throughout where there is none."""
    array = column.combine_chunks()
    width = array.type.list_size
    numbers: NDArray[np.floating] = array.drop_null().flatten().to_numpy(zero_copy_only=False).reshape(-1, width)
    if not array.null_count:
        return numbers
    rows = np.full((len(array), width), np.nan, dtype=numbers.dtype)
    rows[array.is_valid().to_numpy(zero_copy_only=False)] = numbers
    return rows


# --- from replicas --------------------------------------------------------------------------------------------------


class SelectWords(Work, unit="select/2", stage="select words"):
    """From a trained replica: ``vectors`` (``word``, ``spelled``, ``count``, ``vector``), and ``neighbours``.

    Words that are too rare or absent have a count and no vector.
    """

    selection: Selection
    embedding: TableRef
    vocabulary: TableRef

    def tables(self, store: Store) -> Tables:
        embedding = store.read(self.embedding)
        vocabulary = pl.DataFrame(store.read(self.vocabulary))
        kept = self.selection.kept(vocabulary["word"].to_list())
        wanted = vocabulary.filter(pl.col("word").is_in(kept)).select("word", "count")
        rows = wanted.join(pl.DataFrame(embedding), on="word", how="left", maintain_order="left")
        words, vectors = rows["word"].to_arrow().cast(pa.string()), rows["vector"].to_arrow()
        yield "vectors", pa.table([words, words, rows["count"].to_arrow(), vectors], _COLUMNS)
        if self.selection.attribute_sets:
            present = embedding.filter(embedding["vector"].is_valid())
            index = {word: row for row, word in enumerate(present["word"].to_pylist())}
            yield from neighbours(self.selection, index, matrix(present["vector"]))


# --- from files -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Spellings:
    """How a file may spell each entry, most likely first."""

    as_listed: Mapping[str, Sequence[str]]
    lower_case: Mapping[str, Sequence[str]]


def spellings_of(words: Sequence[str], language: str) -> Spellings:
    """Of the entries of word lists."""
    plain, folded = (Tokenizer(spaced(language), fold_case) for fold_case in (False, True))
    return Spellings(
        {word: _with_underscores(word, _entry(plain, word)) for word in words},
        {word: _with_underscores(word.lower(), _entry(folded, word)) for word in words},
    )


def _entry(tokenizer: Tokenizer, word: str) -> str:
    """The word as text is normalised; an entry without any word in it, such as an emoji, as it is."""
    try:
        return tokenizer.entry(word)
    except ValueError:
        return word


def _with_underscores(*forms: str) -> list[str]:
    """word2vec's own phrases have underscores for spaces."""
    return list(dict.fromkeys(form.replace(" ", joint) for form in forms for joint in (" ", "_")))


class SelectFromFile(Work, unit="select_file/2", stage="read vectors"):
    """The same from a file of vectors, whose counts are not known."""

    uri: str
    num_bytes: int
    version: str
    format: Literal["auto", ExportFormat]
    allow_pickle: bool
    fold_case: Literal["auto"] | bool
    average_phrases: bool = False
    spellings: Spellings
    selection: Selection
    near_by: str | None

    def tables(self, _: Store) -> Tables:
        bad = BadRecords()
        words, vectors = read_embedding(self.uri, self.format, self.allow_pickle, bad)
        yield from left_out_table(bad)
        rows = {normalize("NFC", word): row for row, word in enumerate(words)}
        candidates = self._candidates(rows)
        spelling = _spelling(candidates, rows)
        if isinstance(self.selection, FrequentSelection):
            spelling = self._with_frequent(spelling, rows)
        index = {entry: rows[word] for entry, word in spelling.items()}
        phrases = _phrases(candidates, rows, spelling) if self.average_phrases else {}
        means = [vectors[[rows[word] for word in words]].mean(axis=0, keepdims=True) for words in phrases.values()]
        listed = np.concatenate([vectors[np.fromiter(index.values(), np.int64, len(index))], *means])
        yield "vectors", vectors_table(spelling | {entry: " ".join(words) for entry, words in phrases.items()}, listed)
        # The neighbours of a mean are no synonyms of the phrase: the covariance rests on the words that the file has.
        yield from neighbours(self.selection, index, vectors)

    def _with_frequent(self, spelling: Mapping[str, str], rows: Mapping[str, int]) -> dict[str, str]:
        """All in the order of the file; a word that stands for an entry comes as that."""
        more = {*self.selection.kept([*rows])}.intersection(rows).difference(spelling.values(), spelling)
        entries = {**spelling, **{word: word for word in more}}
        return {entry: entries[entry] for entry in sorted(entries, key=lambda entry: (rows[entries[entry]], entry))}

    def _candidates(self, rows: Mapping[str, int]) -> dict[str, list[str]]:
        """How the file may write each entry, most likely first."""
        folds = _hardly_capitalised(rows) if self.fold_case == "auto" else self.fold_case
        return {
            entry: [*forms, *(self.spellings.lower_case[entry] if folds else ())]
            for entry, forms in self.spellings.as_listed.items()
        }


def _spelling(candidates: Mapping[str, Sequence[str]], rows: Mapping[str, int]) -> dict[str, str]:
    """How the file writes each entry that it has."""
    spelling = {entry: next((form for form in forms if form in rows), None) for entry, forms in candidates.items()}
    return {entry: word for entry, word in spelling.items() if word is not None}


def _phrases(
    candidates: Mapping[str, Sequence[str]], rows: Mapping[str, int], known: Collection[str]
) -> dict[str, list[str]]:
    """The words of each entry of several that the file has word by word, and not as a whole (Liang and Acuna 2020,
    section 3.1)."""
    absent = {entry: [form.split(" ") for form in forms] for entry, forms in candidates.items() if entry not in known}
    phrases = {
        entry: next((words for words in forms if len(words) > 1 and all(word in rows for word in words)), None)
        for entry, forms in absent.items()
    }
    return {entry: words for entry, words in phrases.items() if words is not None}


def _hardly_capitalised(words: Collection[str]) -> bool:
    """Whether a file is in lower case, a few tokens such as <UNK> aside."""
    return sum(word != word.lower() for word in words) < _MOST_CAPITALISED * len(words)


def select_from_files(
    runner: Runner,
    embedding: FileEmbedding,
    models: Mapping[str, Sequence[FoundFile]],
    selection: Selection,
    max_bad_share: float,
) -> Done[SelectFromFile]:
    """Take the selected vectors out of the files of each model; models of which a file can't be read are missing.

    Raises:
        UnitsFailed, InputError: if no model could be read.
    """
    names = ("format", "allow_pickle", "fold_case", "average_phrases")
    same = {name: getattr(embedding, name) for name in names}
    spellings = spellings_of(selection.words, embedding.language)
    works = (
        SelectFromFile(
            group=name,
            label=redacted(file.uri),
            uri=file.uri,
            num_bytes=file.state.num_bytes,
            version=file.state.version,
            spellings=spellings,
            selection=selection,
            near_by=selection.near_by,
            **same,
        )
        for name, files in models.items()
        for file in files
    )
    return without_bad_files(runner, do(runner, works), max_bad_share)


class ReadVectors(Work, unit="whole_vectors/1", stage="read vectors"):
    """All words of a file: ``word``, the most frequent first, and ``vector``."""

    file: Mapping[str, Any]
    format: Literal["auto", ExportFormat]
    allow_pickle: bool

    def tables(self, _: Store) -> Tables:
        bad = BadRecords()
        words, vectors = read_embedding(self.file["uri"], self.format, self.allow_pickle, bad)
        yield from left_out_table(bad)
        yield "vectors", pa.table({"word": pa.array(words, pa.string()), "vector": vector_column(vectors)})


# --- from encoders --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Encoder(Subject):
    """A contextual encoder.

    Attributes:
        place: where to find it; workers look for it themselves, as they may be on other nodes.
        version: of the model.
        settings: how a word becomes a vector.
    """

    place: str
    version: str
    settings: EncoderConfig
    on_gpu: bool = False

    @property
    def identity(self) -> Mapping[str, Any]:
        """Which it is; a GPU rounds in its own way."""
        return {"version": self.version, "encoder": self.settings, "on_gpu": self.on_gpu}

    def encode(
        self, sentences: Sequence[Sentence], pooled: Pooled = "text", *, special: bool = True
    ) -> NDArray[np.floating]:
        """The vector of each sentence, by :func:`.encode_sentences`, or as the model's own files state.

        Raises:
            CheckpointError: as of :meth:`load`.
        """
        with self._resident() as (model, tokenizer, stated):
            first = len(stated.prompt)
            texts = [text.lower() if stated.lower_case else text for text, _, _ in sentences]
            places = [(start + first, end + first) for _, start, end in sentences]
            read = [Sentence(stated.prompt + text, *place) for text, place in zip(texts, places, strict=True)]
            most = stated.max_tokens
            if stated.is_static:
                vectors = mean_of_rows(
                    model.vectors, model.tokenizer, model.unknown, read, pooled=pooled, most_tokens=most
                )
            else:
                asked: Any = {"pooled": pooled, "special": special, "modes": stated.modes, "most_tokens": most}
                vectors = encode_sentences(model, tokenizer, read, self.settings, **asked)
        return unit_rows(vectors).astype(np.float32) if stated.unit else vectors

    def encode_alone(self, words: Sequence[str]) -> NDArray[np.floating]:
        """The vector of each word, given to the model without any context."""
        if self.settings.pooling == "stated":
            return self.encode([Sentence(word, 0, len(word)) for word in words])
        with self._resident() as (model, tokenizer, _):
            return encode_words(model, tokenizer, words, self.settings)

    def _resident(self) -> AbstractContextManager[tuple[Any, Any, StatedPooling]]:
        key = (self.place, self.version, self.settings.pooling == "stated", self.on_gpu)
        return resident(key, lambda _: self.load())

    def load(self) -> tuple[Any, Any, StatedPooling]:
        """The model, its tokeniser, and what its files state, if they are asked.

        Raises:
            CheckpointError: if it has changed since it was looked for.
        """
        # A version on the hub is a commit, which a folder does not ask for.
        checkpoint = find_checkpoint(self.place, self.version, ENCODER)
        if checkpoint.version != self.version:
            raise CheckpointError(f"{ENCODER}={self.place}: has changed since the run began; start it again")
        is_stated = self.settings.pooling == "stated"
        stated = stated_pooling(checkpoint.folder, ENCODER) if is_stated else StatedPooling()
        if stated.is_static:
            return load_static(checkpoint.folder, ENCODER), None, stated
        return (*load_encoder(checkpoint.folder, "cuda" if self.on_gpu else "cpu", ENCODER), stated)


class EncodeWords(Work, unit=ENCODING_VERSION, stage="encode"):
    """The same from an encoder that is given single words."""

    encoder: Encoder
    selection: Selection
    near_by: str | None = None

    def tables(self, _: Store) -> Tables:
        words = self.selection.words
        vectors = self.encoder.encode_alone(words)
        known = np.flatnonzero(np.isfinite(vectors).all(axis=1))
        kept = [words[row] for row in known]
        yield "vectors", vectors_table(dict(zip(kept, kept, strict=True)), vectors[known])
        yield from neighbours(self.selection, {word: row for row, word in enumerate(kept)}, vectors[known])


def encode(
    runner: Runner, embedding: EncoderEmbedding, checkpoints: Mapping[str, Checkpoint], selection: Selection
) -> Done[EncodeWords]:
    """Take the selected words' vectors out of each model; models that fail are missing.

    Raises:
        UnitsFailed: if all fail.
    """
    return do(
        runner,
        (
            EncodeWords(group=name, label=name, encoder=encoder, selection=selection, near_by=selection.near_by)
            for name, encoder in encoders_of(runner, embedding, checkpoints).items()
        ),
    )


def encoders_of(runner: Runner, embedding: Encoders, checkpoints: Mapping[str, Checkpoint]) -> dict[str, Encoder]:
    """Each model by its name, as units load it."""
    on_gpu = uses_gpus(embedding.device, runner.pool.num_gpus)
    return {
        name: Encoder(place, checkpoint.version, embedding.encoder, on_gpu)
        for (name, checkpoint), place in zip(checkpoints.items(), embedding.places, strict=True)
    }
