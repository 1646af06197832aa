"""What a run starts from, refused before any work where nothing could come of it."""

from tiltmeter.jobs.embedding.private_vectors.config import PrivateVectorsRun
from tiltmeter.jobs.embedding.private_vectors.maps import kept_dimensions
from tiltmeter.jobs.embedding.private_vectors.release.rows import RowFiles
from tiltmeter.jobs.embedding.private_vectors.sources import PrivateSources, find_sources
from tiltmeter.jobs.embedding.private_vectors.vocabulary import (
    checked_rows,
    vocabulary_unit,
    words_of_file,
    words_to_encode,
)
from tiltmeter.storage.bad_records import BadRecords
from tiltmeter.storage.store.ledger import Store


def find_checked(config: PrivateVectorsRun) -> PrivateSources:
    """Files that are there and can be used; vectors of which the store has them were good when they were read.

    Raises:
        InputError: as :func:`.sources.find_sources`; for vectors that are too few or not finite, for more dimensions
            than they have, and for words to encode that are too few or no text.
        EmbeddingFileError: for a file that can't be read.
        CheckpointError: if an encoder can't be found.
    """
    sources = find_sources(config)
    if sources.is_release:
        rows = RowFiles.of(config, sources).read()
        kept_dimensions(config, config.beta, rows.vectors.shape[1])
    if sources.vectors and not (sources.is_release and not sources.words):
        _check_public(config, sources)
    if sources.words and not sources.is_release:
        words_to_encode(config, sources)
    return sources


def _check_public(config: PrivateVectorsRun, sources: PrivateSources) -> None:
    unit = vocabulary_unit(config, sources)
    if Store(config.store).find(unit):
        return
    words, vectors = words_of_file(unit.config, BadRecords())
    checked_rows(words, vectors, "embedding.path")
    kept_dimensions(config, config.beta, vectors.shape[1])
