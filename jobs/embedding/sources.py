"""What a run starts from, found before any work: texts to train on, files of vectors, or encoders."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tiltmeter.jobs.embedding.config import EmbeddingsRun
from tiltmeter.jobs.embedding.corpus.texts import Text, find_text
from tiltmeter.jobs.embedding.embed import EmbeddingConfig
from tiltmeter.jobs.embedding.vectors.vector_files import FileEmbedding
from tiltmeter.storage.corpora.corpora import CorpusConfig, check_any_readable
from tiltmeter.storage.corpora.sources import FoundFile
from tiltmeter.storage.files.redaction import redacted
from tiltmeter.storage.models.checkpoints import Checkpoint
from tiltmeter.storage.store.ledger import Store


@dataclass(frozen=True)
class Sources:
    """Where a run's embeddings come from; one of the three is not empty.

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
    if isinstance(embedding, EmbeddingConfig):
        root = Store(config.store).root
        texts = [_text(corpus, config, embedding, root) for corpus in config.corpora]
        check_any_readable([source for text in texts for source in text.sources])
        return Sources(texts=texts)
    if isinstance(embedding, FileEmbedding):
        return Sources(files=embedding.files())
    return Sources(checkpoints=embedding.checkpoints())


def _text(corpus: CorpusConfig, config: EmbeddingsRun, embedding: EmbeddingConfig, store: str) -> Text:
    if corpus.download:
        print(f"{corpus.name}: fetching {redacted(corpus.paths[0])}, unless it is in the store", flush=True)
    return find_text(corpus, config.wordset.get(corpus.language), fold_case=embedding.fold_case, store=store)
