"""What a run of `private_vectors` starts from, found before any work."""

import io
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tiltmeter.jobs.embedding.config import FileEmbedding
from tiltmeter.jobs.embedding.private_vectors.config import PrivateVectorsRun, Task
from tiltmeter.jobs.embedding.private_vectors.release.key_file import check_key_file
from tiltmeter.jobs.runtime.files import find_table
from tiltmeter.storage.corpora.sources import FoundFile, find_file
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.files.files import opened
from tiltmeter.storage.models.checkpoints import Checkpoint
from tiltmeter.storage.records.cells import LABEL, TEXT


@dataclass(frozen=True)
class PrivateSources:
    """Attributes:
    vectors: the file of vectors; None for an encoder.
    words: what an encoder is given, or private words that are released.
    checkpoints: the encoder, by name.
    tasks: files of each task, of the training part and the test.
    is_release: whether nothing may be said of the vectors, or of the words if there are any.
    """

    vectors: FoundFile | None = None
    words: FoundFile | None = None
    checkpoints: Mapping[str, Checkpoint] = field(default_factory=dict)
    tasks: Mapping[str, tuple[FoundFile, ...]] = field(default_factory=dict)
    is_release: bool = False

    def record(self) -> dict[str, Any]:
        """Every file with its version, for ``run.json``; nothing of what is private."""
        if self.is_release and not self.words:
            return {"vectors": "left out, as they are private"}
        if self.is_release and self.vectors:
            return {"vectors": self.vectors.redacted, "words": "left out, as they are private"}
        files = {"vectors": self.vectors, "words": self.words}
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
        private = config.release.words
        return PrivateSources(
            _vectors(config), find_file(private, "release.words") if private else None, is_release=True
        )
    tasks = {name: _task(name, task) for name, task in config.utility.tasks.items()}
    if isinstance(config.embedding, FileEmbedding):
        return PrivateSources(_vectors(config), tasks=tasks)
    words = find_file(str(config.vocabulary.word_file), "vocabulary.word_file")
    checkpoints = config.embedding.checkpoints()
    _check_one(len(checkpoints), "embedding.model")
    return PrivateSources(None, words, checkpoints, tasks)


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


def _vectors(config: PrivateVectorsRun) -> FoundFile:
    if not isinstance(config.embedding, FileEmbedding):
        raise InputError(
            "release.key_file: vectors of a file are released, not those of an encoder; set embedding=file"
        )
    models = config.embedding.files()
    _check_one(sum(map(len, models.values())), "embedding.path")
    return next(iter(models.values()))[0]


def _check_one(num: int, setting: str) -> None:
    if num != 1:
        raise InputError(f"{setting}: names {num}, and private_vectors takes one; run the others separately")


def _task(name: str, task: Task) -> tuple[FoundFile, ...]:
    paths = {"path": task.path} | ({"test": task.test} if task.test else {})
    rules = {task.text: [TEXT], task.label: [LABEL]}
    return tuple(find_table(path, f"utility.tasks.{name}.{key}", [*rules], rules=rules) for key, path in paths.items())
