"""Embeddings that a user brings as files: which they are, how they spell listed words, and the stage to read them."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Annotated, Literal
from unicodedata import normalize

import numpy as np
import pydantic
from pydantic import ConfigDict, Field

from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Tables, each
from tiltmeter.jobs.embedding.corpus.left_out import left_out_table, read_whole_files
from tiltmeter.jobs.embedding.vectors.selection import Selection, neighbours, vectors_table
from tiltmeter.operators.association import covariance
from tiltmeter.operators.text.segmentation import spaced
from tiltmeter.operators.text.tokens import Tokenizer
from tiltmeter.storage.bad_records import BadRecords
from tiltmeter.storage.corpora.sources import FoundFile, Paths, find_files
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.files.listing import file_identity
from tiltmeter.storage.files.redaction import redacted
from tiltmeter.storage.store.ledger import Finished, Store, Unit
from tiltmeter.storage.vectors.files import ExportFormat, check_pickle, read_embedding

_MIN_REPLICAS = 2
_MOST_CAPITALISED = 0.01
_ENDINGS = (".bz2", ".gz", ".zst", ".txt", ".bin", ".vec", ".kv", ".parquet", ".model")


@pydantic.dataclasses.dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class FileEmbedding:
    """Word vectors in files.

    Attributes:
        path: a local path, a URI, a folder, a wildcard, or several of them. Each file is a model by itself.
        language: of the words, which chooses the word lists.
        format: ``auto`` looks at the content.
        allow_pickle: whether to read gensim's own format, a pickle; no code that it holds is run.
        fold_case: whether an entry of the word lists that a file does not have is looked for in lower case; ``auto``
            does so in files of which fewer than 1 word in 100 has a capital letter.
        average_phrases: whether an entry of several words that a file does not have is the mean of the vectors of these
            words, if it has them all, as Liang and Acuna 2020 take it (section 3.1).
        replicas: whether the files are one model: the first trained on the original corpus, the others, at least two,
            on bootstrap replicas of it.
    """

    kind: Literal["file"]
    path: Paths
    language: Annotated[str, Field(pattern=r"^[a-z]{2,3}(-[a-z0-9]{1,8})*$")] = "en"
    format: Literal["auto", ExportFormat] = "auto"
    allow_pickle: bool = False
    fold_case: Literal["auto"] | bool = "auto"
    average_phrases: bool = False
    replicas: bool = False

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths, however many."""
        return (self.path,) if isinstance(self.path, str) else self.path

    def files(self) -> dict[str, list[FoundFile]]:
        """The files of each model, by its name.

        Raises:
            InputError: if a path names no file, or two models have one name.
            EmbeddingFileError: for gensim's format, unless it is allowed.
        """
        files = find_files(self.paths, "embedding.path")
        for file in files:
            check_pickle(file.uri, self.allow_pickle, "embedding.allow_pickle")
        if self.replicas:
            self._check_replicas(files)
            return {_model_name(files[0]): files}
        models: dict[str, list[FoundFile]] = {}
        for file in files:
            if models.setdefault(_model_name(file), [file]) != [file]:
                raise InputError(
                    f"embedding.path: two files are called {_model_name(file)!r}, by which the tables tell models "
                    "apart: rename one, run them separately, or set embedding.replicas=true if they are replicas of one"
                )
        return models

    @staticmethod
    def _check_replicas(files: Sequence[FoundFile]) -> None:
        num_different = len({file_identity(file.uri) for file in files})
        if len(files) < _MIN_REPLICAS + 1 or num_different < len(files):
            raise InputError(
                f"embedding.path: {num_different} different files of {len(files)}, but embedding.replicas=true takes "
                f"the original's and those of {_MIN_REPLICAS} replicas or more, each once; name them in this order, or "
                "set embedding.replicas=false"
            )


def _model_name(file: FoundFile) -> str:
    """A file's name without the endings of formats.

    >>> from tiltmeter.storage.files.state import FileState
    >>> _model_name(FoundFile("/data/glove.6B.100d.txt.gz", FileState(1, "", True), True))
    'glove.6B.100d'
    """
    name = PurePosixPath(redacted(file.uri)).name
    while name.endswith(_ENDINGS):
        name = name.rpartition(".")[0]
    return name


@dataclass(frozen=True)
class _Spellings:
    """How a file may spell each entry, most likely first."""

    as_listed: Mapping[str, Sequence[str]]
    lower_case: Mapping[str, Sequence[str]]


def read_vector_files(
    runner: Runner,
    config: FileEmbedding,
    models: Mapping[str, Sequence[FoundFile]],
    selection: Selection,
    max_bad_share: float,
) -> dict[str, list[Finished]]:
    """Take the selected vectors out of the files of each model; models of which a file can't be read are missing.

    Raises:
        UnitsFailed, InputError: if no model could be read.
    """
    spellings = _spellings(selection.words, config.language)
    units = {name: [_unit(file, config, selection, spellings) for file in files] for name, files in models.items()}
    return read_whole_files(runner, Stage("read vectors", each(_read), units), max_bad_share)


def _spellings(words: Sequence[str], language: str) -> _Spellings:
    plain, folded = (Tokenizer(spaced(language), fold_case) for fold_case in (False, True))
    return _Spellings(
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


def _unit(file: FoundFile, config: FileEmbedding, selection: Selection, spellings: _Spellings) -> Unit:
    settings = {
        "uri": file.uri,
        "bytes": file.state.num_bytes,
        "version": file.state.version,
        "format": config.format,
        "allow_pickle": config.allow_pickle,
        "fold_case": config.fold_case,
        "spellings": spellings,
        "selection": selection,
        "neighbours": covariance.VERSION if selection.attribute_sets else None,
        **({"average_phrases": True} if config.average_phrases else {}),
    }
    return Unit("select_file/2", redacted(file.uri), settings)


def _read(_: Store, unit: Unit) -> Tables:
    selection: Selection = unit.config["selection"]
    bad = BadRecords()
    words, vectors = read_embedding(unit.config["uri"], unit.config["format"], unit.config["allow_pickle"], bad)
    yield from left_out_table(bad)
    rows = {normalize("NFC", word): row for row, word in enumerate(words)}
    candidates = _candidates(unit.config["spellings"], rows, unit.config["fold_case"])
    spelling = _spelling(candidates, rows)
    index = {entry: rows[word] for entry, word in spelling.items()}
    phrases = _phrases(candidates, rows, spelling) if unit.config.get("average_phrases") else {}
    means = [vectors[[rows[word] for word in words]].mean(axis=0, keepdims=True) for words in phrases.values()]
    listed = np.concatenate([vectors[np.fromiter(index.values(), np.int64, len(index))], *means])
    yield "vectors", vectors_table(spelling | {entry: " ".join(words) for entry, words in phrases.items()}, listed)
    if selection.attribute_sets:
        # The neighbours of a mean are no synonyms of the phrase: the covariance rests on the words that the file has.
        yield "neighbours", neighbours(selection, index, vectors)


def _candidates(
    spellings: _Spellings, rows: Mapping[str, int], fold_case: Literal["auto"] | bool
) -> dict[str, list[str]]:
    """How the file may write each entry, most likely first."""
    folds = _hardly_capitalised(rows) if fold_case == "auto" else fold_case
    return {
        entry: [*forms, *(spellings.lower_case[entry] if folds else ())] for entry, forms in spellings.as_listed.items()
    }


def _spelling(candidates: Mapping[str, Sequence[str]], rows: Mapping[str, int]) -> dict[str, str]:
    """How the file writes each entry that it has."""
    spelling = {entry: next((form for form in forms if form in rows), None) for entry, forms in candidates.items()}
    return {entry: word for entry, word in spelling.items() if word is not None}


def _phrases(
    candidates: Mapping[str, Sequence[str]], rows: Mapping[str, int], known: Collection[str]
) -> dict[str, list[str]]:
    """The words of each entry of several that the file has word by word, and not as a whole."""
    absent = {entry: [form.split(" ") for form in forms] for entry, forms in candidates.items() if entry not in known}
    phrases = {
        entry: next((words for words in forms if len(words) > 1 and all(word in rows for word in words)), None)
        for entry, forms in absent.items()
    }
    return {entry: words for entry, words in phrases.items() if words is not None}


def _hardly_capitalised(words: Collection[str]) -> bool:
    """Whether a file is in lower case, a few tokens such as <UNK> aside."""
    return sum(word != word.lower() for word in words) < _MOST_CAPITALISED * len(words)
