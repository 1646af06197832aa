"""What a run of `private_vectors` starts from: public files, or what is private and the key that it is released by.

Nothing of what is private is in a message, in the record of a run, or in a unit's identity.
"""

import io
import secrets
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from tiltmeter.cluster.stages import Runner
from tiltmeter.jobs.embedding.config import FileEmbedding
from tiltmeter.jobs.embedding.private_vectors.config import PrivateVectorsRun, Task
from tiltmeter.jobs.runtime.files import find_table
from tiltmeter.jobs.runtime.work import Subject
from tiltmeter.operators.compute.arrays import FloatArray, IntArray
from tiltmeter.operators.embedding.private_release.deniability import nearest_rows
from tiltmeter.operators.embedding.private_release.secrets import KEY_BYTES, Rows, content_digest, keyed_digest
from tiltmeter.operators.embedding.private_release.sensitivity import distinct_rows
from tiltmeter.operators.text.segmentation import spaced
from tiltmeter.operators.text.tokens import Tokenizer
from tiltmeter.storage.bad_records import BadRecords, collect, collected
from tiltmeter.storage.corpora.sources import FoundFile, find_file
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.files.files import opened
from tiltmeter.storage.models.checkpoints import Checkpoint
from tiltmeter.storage.records import look_through, read_records, record_columns
from tiltmeter.storage.records.cells import LABEL, TEXT
from tiltmeter.storage.store.ledger import Store
from tiltmeter.storage.vectors.files import ExportFormat, read_embedding

_KEY, _TEXTS = "release.key_file", "release.texts"
_FEWEST_DIFFERENT = 8
"""Of 32 random bytes fewer are different with a chance below 1e-30."""


@dataclass(frozen=True)
class VectorFile(Subject):
    """A file of vectors, of which the first ``num`` count; None: all."""

    file: FoundFile
    format: Literal["auto", ExportFormat]
    allow_pickle: bool
    num: int | None = None

    @property
    def identity(self) -> dict[str, Any]:
        """Where it is, and how it is read."""
        file = self.file.identity
        return {"file": file, "format": self.format, "allow_pickle": self.allow_pickle, "words": self.num}

    def read(self, bad: BadRecords | None = None) -> tuple[Sequence[str], NDArray[np.floating]]:
        """The words and their vectors; bad rows are counted where they may be.

        Raises:
            EmbeddingFileError: if it can't be read.
        """
        words, vectors = read_embedding(self.file.uri, self.format, self.allow_pickle, bad)
        return words[: self.num], vectors[: self.num]


@dataclass(frozen=True)
class PrivateSources:
    """Attributes:
    vectors: the file of vectors; None for an encoder.
    words: what an encoder is given, or private words that are released.
    texts: private texts that are released.
    checkpoints: the encoder, by name.
    tasks: files of each task, of the training part and the test.
    is_release: whether nothing may be said of the vectors, or of the words if there are any.
    """

    vectors: VectorFile | None = None
    words: FoundFile | None = None
    texts: FoundFile | None = None
    checkpoints: Mapping[str, Checkpoint] = field(default_factory=dict)
    tasks: Mapping[str, tuple[FoundFile, ...]] = field(default_factory=dict)
    is_release: bool = False

    def record(self) -> dict[str, Any]:
        """Every file with its version, for ``run.json``; nothing of what is private."""
        vectors = self.vectors.file if self.vectors else None
        if self.is_release and not (self.words or self.texts):
            return {"vectors": "left out, as they are private"}
        if self.is_release and vectors:
            return {"vectors": vectors.redacted, "words" if self.words else "texts": "left out, as they are private"}
        files = {"vectors": vectors, "words": self.words}
        record: dict[str, Any] = {name: file.redacted for name, file in files.items() if file}
        record |= {name: {"version": checkpoint.version} for name, checkpoint in self.checkpoints.items()}
        return record | {name: [file.redacted for file in parts] for name, parts in self.tasks.items()}


def find_sources(config: PrivateVectorsRun) -> PrivateSources:
    """Look for the vectors, the texts of tasks, and the key.

    Raises:
        InputError: if a file is missing, can't be read, or lacks a column, or if the key is not safe.
        CheckpointError: if an encoder can't be found.
    """
    if config.release.key_file:
        check_key_file(config)
        vectors, chosen = _vectors(config), config.release
        words = find_file(chosen.words, "release.words") if chosen.words else None
        texts = find_file(chosen.texts, _TEXTS) if chosen.texts else None
        return PrivateSources(vectors, words, texts, is_release=True)
    tasks = {name: _task(name, task) for name, task in config.utility.tasks.items()}
    if isinstance(config.embedding, FileEmbedding):
        return PrivateSources(_vectors(config), tasks=tasks)
    words = find_file(str(config.vocabulary.word_file), "vocabulary.word_file")
    checkpoints = config.embedding.checkpoints()
    _check_one(len(checkpoints), "embedding.model")
    return PrivateSources(None, words, None, checkpoints, tasks)


def _vectors(config: PrivateVectorsRun) -> VectorFile:
    embedding = config.embedding
    if not isinstance(embedding, FileEmbedding):
        raise InputError(f"{_KEY}: vectors of a file are released, not those of an encoder; set embedding=file")
    models = embedding.files()
    _check_one(sum(map(len, models.values())), "embedding.path")
    [file] = next(iter(models.values()))
    return VectorFile(file, embedding.format, embedding.allow_pickle, config.vocabulary.words)


def _check_one(num: int, setting: str) -> None:
    if num != 1:
        raise InputError(f"{setting}: names {num}, and private_vectors takes one; run the others separately")


def _task(name: str, task: Task) -> tuple[FoundFile, ...]:
    paths = {"path": task.path} | ({"test": task.test} if task.test else {})
    rules = {task.text: [TEXT], task.label: [LABEL]}
    return tuple(find_table(path, f"utility.tasks.{name}.{key}", [*rules], rules=rules) for key, path in paths.items())


def lines_of(uri: str, setting: str) -> list[str]:
    """Words of a file, one in each line; of what it holds no message says anything.

    Raises:
        InputError: if it is no text in UTF-8.
    """
    try:
        with opened(uri) as file:
            return [line.strip() for line in io.StringIO(file.read().decode("utf-8-sig"), newline=None)]
    except UnicodeDecodeError:
        raise InputError(f"{setting}: is no text in UTF-8; nothing is said of it here") from None


# --- the key --------------------------------------------------------------------------------------------------------


def check_key_file(config: PrivateVectorsRun) -> None:
    """Refuse a key that others may read, that lies where results do, or that is none.

    Raises:
        InputError: saying what to change.
    """
    path = key_path(config)
    _check_mode(path)
    folders = {"store": Store(config.store).local_path, "run_dir": config.run_dir and Path(config.run_dir).expanduser()}
    for setting, folder in folders.items():
        if folder and path.resolve().is_relative_to(Path(folder).resolve()):
            raise InputError(f"{_KEY}={path}: lies inside {setting}={folder}, where results are; move it elsewhere")
    read_key(path)


def _check_mode(path: Path) -> None:
    if not path.is_file():
        raise InputError(f"{_KEY}={path}: there is no such file; make one: head -c {KEY_BYTES} /dev/urandom > {path}")
    if path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise InputError(f"{_KEY}={path}: may be read or written by others; run chmod 600 {path}")


@dataclass(frozen=True)
class _Proof:
    """That a node has the key: what nobody can compute without it, and else what is wrong there."""

    path: Path
    challenge: str

    def __call__(self) -> str:
        try:
            _check_mode(self.path)
            return keyed_digest(read_key(self.path), {"challenge": self.challenge}).hex()
        except (InputError, OSError) as error:
            return str(error)


def check_key_everywhere(runner: Runner, path: Path, key: bytes) -> None:
    """Refuse a cluster of which a node lacks the key, before anything is spent.

    Raises:
        InputError: naming the nodes, and what is wrong there.
    """
    proof = _Proof(path, secrets.token_hex(16))
    expected = keyed_digest(key, {"challenge": proof.challenge}).hex()
    wrong = {node: answer for node, answer in runner.pool.ask_nodes(proof).items() if answer != expected}
    if wrong:
        answers = "".join(
            f"\n  node {node}: {'has another key there' if len(answer) == len(expected) else answer}"
            for node, answer in wrong.items()
        )
        raise InputError(
            f"{_KEY}={path}: every node must have the same key at the same place, and nothing was spent:{answers}"
        )


def key_path(config: PrivateVectorsRun) -> Path:
    """Absolute, as workers have working directories of their own."""
    return Path(str(config.release.key_file)).expanduser().absolute()


def read_key(path: Path) -> bytes:
    """The secret bytes.

    Raises:
        InputError: if there are not as many as there must be, or they can't have been drawn.
    """
    key = path.read_bytes()
    if len(key) != KEY_BYTES:
        raise InputError(f"{_KEY}={path}: has {len(key)} bytes, and must have {KEY_BYTES} random ones")
    if len(set(key)) < _FEWEST_DIFFERENT:
        raise InputError(f"{_KEY}={path}: has the same few bytes again and again, which are not random")
    return key


# --- what is released, row by row -----------------------------------------------------------------------------------


def read_rows(sources: PrivateSources, radius: float | None) -> Rows:
    """All rows of a release.

    Raises:
        InputError: without a word of what the private file holds.
    """
    file = cast(VectorFile, sources.vectors)
    return _private_words(file, sources.words.uri) if sources.words else _private_vectors(file, radius)


def _private_vectors(file: VectorFile, radius: float | None) -> Rows:
    try:
        vectors = file.read()[1].astype(np.float64)
    except Exception as error:  # its message and cause name words, rows and values
        kind = type(error).__name__
        raise InputError(f"embedding.path: can't be read as vectors ({kind}); nothing is said of them here") from None
    if not np.isfinite(vectors).all() or not len(vectors):
        raise InputError("embedding.path: has vectors that are not finite, or none; nothing is said of them here")
    return Rows(vectors, None, radius)


def _private_words(file: VectorFile, words: str) -> Rows:
    public, singles = file.read(BadRecords())
    vectors = singles.astype(np.float64)
    rows = {word: row for row, word in enumerate(public)}
    # A word without a vector gets that of one public word, which is a word of the vocabulary like all others.
    unknown = int(nearest_rows(vectors.mean(axis=0, keepdims=True), vectors)[0])
    order = np.array([rows.get(word, unknown) for word in lines_of(words, "release.words")], dtype=np.int64)
    if not len(order):
        raise InputError("release.words: has no line")
    return Rows(vectors, order)


@dataclass(frozen=True)
class Texts:
    """Private texts, as words of a public vocabulary.

    Attributes:
        public: the words of which no two have the same vector.
        vectors: ``[p, d]`` of these.
        rows: of each text the rows of its words; -1 where the vocabulary has none.
    """

    public: Sequence[str]
    vectors: FloatArray
    rows: Sequence[IntArray]

    def digest(self, key: bytes) -> str:
        """Of the vocabulary and all texts, which says nothing to those who lack the key."""
        ends = np.cumsum([len(rows) for rows in self.rows])
        flat = np.concatenate([ends, *self.rows]).astype(np.float64)
        names = keyed_digest(key, {"words": list(self.public)}).hex()
        return " ".join([content_digest(key, self.vectors), content_digest(key, flat), names])


def read_texts(sources: PrivateSources, column: str, language: str) -> Texts:
    """Texts of the private table; words whose vector another word before them has count as that word.

    Records that can't be read are left out, and counted for the run by reason and line, without the file's name.

    Raises:
        InputError: without a word of what the private table holds.
    """
    public, singles = cast(VectorFile, sources.vectors).read(BadRecords())
    first: dict[bytes, int] = {}
    places = {
        word: first.setdefault((row + 0).tobytes(), len(first)) for word, row in zip(public, singles, strict=True)
    }
    distinct = distinct_rows(singles)
    tokenizer = Tokenizer(spaced(language))
    uri, cells = cast(FoundFile, sources.texts).uri, []
    try:
        if column in record_columns(uri):
            with collected() as bad:
                look_through(uri, [column], _TEXTS)
            cells = read_records(uri, [column])[column].cast(str).fill_null("").to_list()
            collect(bad.renamed(_TEXTS))
    except Exception as error:  # its message and cause may name records
        kind = type(error).__name__
        raise InputError(f"{_TEXTS}: can't be read as a table ({kind}); nothing is said of it here") from None
    if not cells:
        raise InputError(
            f"{_TEXTS}: has no column {column!r}, or no row; name the column in release.text_column. Nothing else is "
            "said of it here"
        )
    rows = [np.array([places.get(word, -1) for word in tokenizer(cell)], dtype=np.int64) for cell in cells]
    return Texts([public[row] for row in distinct], singles[distinct].astype(np.float64), rows)


@dataclass(frozen=True)
class Secret:
    """What workers of a release are given; neither the key nor a row is in it.

    Attributes:
        key_file, sources, radius: where the key is, and how the rows are read.
        about: what defines the release, and so its noise.
        projection: of the mechanism.
    """

    key_file: Path
    sources: PrivateSources
    radius: float | None
    about: Mapping[str, Any]
    projection: FloatArray | None

    def read(self) -> tuple[bytes, Rows]:
        """The key, and the rows as the release began with them.

        Raises:
            InputError: if they have changed since.
        """
        key, rows = read_key(self.key_file), read_rows(self.sources, self.radius)
        if rows.digest(key) != self.about["content"]:
            raise InputError("what is released has changed since the run began; start it again")
        return key, rows

    def images(self, vectors: FloatArray) -> FloatArray:
        """Phi x of vectors."""
        return vectors if self.projection is None else vectors @ self.projection.T
