"""What a run starts from, found before any work: texts to train on, files of vectors, or encoders."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tiltmeter.jobs.embedding.config import (
    EmbeddingConfig,
    EmbeddingsRun,
    FileEmbedding,
    WordSetError,
    check_language,
)
from tiltmeter.jobs.embedding.encoders.settings import ContextEmbedding
from tiltmeter.operators.compute.slicing import Slicing, slice_name
from tiltmeter.operators.text.spelling import normalised, phrases
from tiltmeter.operators.text.tokens import Tokenizer
from tiltmeter.operators.text.wordsets import WordSets, word_lists
from tiltmeter.storage.corpora import corpora
from tiltmeter.storage.corpora.corpora import CorpusConfig, Source, check_any_readable, downloaded
from tiltmeter.storage.corpora.sources import FoundFile
from tiltmeter.storage.files.redaction import redacted
from tiltmeter.storage.models.checkpoints import Checkpoint
from tiltmeter.storage.store.ledger import Store


@dataclass(frozen=True)
class Slice:
    """A part of a corpus whose documents have a value in common.

    Attributes:
        whole: name of the corpus.
        value: of its documents.
        place: among the slices: a year, a number, or that of a range; None where they have no order.
    """

    whole: str
    value: str
    place: float | None


@dataclass(frozen=True)
class Text:
    """A corpus that is to be read, or a slice of one: where it lies, how its words are told, and which are looked for.

    Attributes:
        name: what tables and messages call it; of a slice, ``<corpus>/<value>``.
        slice: what it is of the whole corpus; None for the whole.
    """

    name: str
    corpus: CorpusConfig
    sources: Sequence[Source]
    tokenizer: Tokenizer
    lists: Mapping[str, Sequence[str]]
    slice: Slice | None = None

    @property
    def slicing(self) -> Slicing | None:
        """How it is to be cut; None for a corpus that stays whole."""
        corpus = self.corpus
        if corpus.slices is None:
            return None
        values = tuple(map(slice_name, corpus.slice_values))
        return Slicing(corpus.slices, corpus.slice_by, corpus.slice_cuts, values)


@dataclass(frozen=True)
class Sources:
    """Where a run's embeddings come from; one of the three is not empty, and texts and encoders for words in contexts.

    Attributes:
        texts: corpora, ready to be read.
        files: of word vectors, by model: the original's and then those of its replicas.
        checkpoints: encoders by model.
    """

    texts: Sequence[Text] = ()
    files: Mapping[str, Sequence[FoundFile]] = field(default_factory=dict)
    checkpoints: Mapping[str, Checkpoint] = field(default_factory=dict)

    def record(self) -> dict[str, list[dict[str, Any]]]:
        """Every input with its version, by corpus or model, for ``run.json``."""
        texts = {
            text.name: [_entry(file.name, file.num_bytes, file.version) for file in text.sources] for text in self.texts
        }
        files = {
            model: [_entry(redacted(file.uri), file.state.num_bytes, file.state.version) for file in files]
            for model, files in self.files.items()
        }
        encoders = {model: [{"version": checkpoint.version}] for model, checkpoint in self.checkpoints.items()}
        return texts | files | encoders


def _entry(name: str, num_bytes: int, version: str) -> dict[str, Any]:
    return {"name": name, "bytes": num_bytes, "version": version}


def find_sources(config: EmbeddingsRun) -> Sources:
    """Look for whatever the run starts from; files to be downloaded are copied into the store.

    Raises:
        InputError: if a file is missing or in no known format, or none can be read.
        CheckpointError: if an encoder can't be found.
        WordSetError: for word lists that normalisation makes meaningless.
    """
    embedding = config.embedding
    if isinstance(embedding, EmbeddingConfig | ContextEmbedding):
        checkpoints = embedding.checkpoints() if isinstance(embedding, ContextEmbedding) else {}
        root = Store(config.store).root
        texts = [_text(corpus, config, embedding, root) for corpus in config.corpora]
        check_any_readable([source for text in texts for source in text.sources])
        return Sources(texts=texts, checkpoints=checkpoints)
    if isinstance(embedding, FileEmbedding):
        return Sources(files=embedding.files())
    return Sources(checkpoints=embedding.checkpoints())


def _text(
    corpus: CorpusConfig, config: EmbeddingsRun, embedding: EmbeddingConfig | ContextEmbedding, store: str
) -> Text:
    if corpus.download:
        print(f"{corpus.name}: fetching {redacted(corpus.paths[0])}, unless it is in the store", flush=True)
    return find_text(corpus, config.wordset.get(corpus.language), fold_case=embedding.fold_case, store=store)


def find_text(corpus: CorpusConfig, wordset: WordSets | None, *, fold_case: bool, store: str) -> Text:
    """Look for a corpus's files, and for the phrases and words of its language's lists.

    Files that the corpus asks to have downloaded are copied into the store first, unless they are there.

    Raises:
        InputError: if there is no readable file.
        WordSetError: for word lists that normalisation makes meaningless; for a language whose words can't be told.
    """
    check_language(corpus)
    sources = corpora.find_sources(downloaded(corpus, store))
    plain = Tokenizer(corpus.language, fold_case)
    if wordset is None:
        return Text(corpus.name, corpus, sources, plain, {})
    try:
        tokenizer = Tokenizer(corpus.language, fold_case, phrases(wordset, plain))
        return Text(corpus.name, corpus, sources, tokenizer, word_lists(normalised(wordset, plain)))
    except ValueError as error:
        key = f"wordset.{corpus.language}"
        reason = str(error).replace("wordset.", f"{key}.")
        raise WordSetError(
            f"{'' if reason.startswith(key) else f'{key}: '}{reason}; fix the list in its file"
        ) from error
