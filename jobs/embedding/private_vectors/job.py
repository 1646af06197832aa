"""Job `private_vectors`: vectors with noise to be given away, how private they are, and what they are good for."""

from tiltmeter.jobs.embedding.private_vectors.audits import audit_mechanisms
from tiltmeter.jobs.embedding.private_vectors.config import PrivateVectorsRun
from tiltmeter.jobs.embedding.private_vectors.mechanisms import specify
from tiltmeter.jobs.embedding.private_vectors.release import release
from tiltmeter.jobs.embedding.private_vectors.sources import (
    PrivateSources,
    VectorFile,
    find_sources,
    read_rows,
    read_texts,
)
from tiltmeter.jobs.embedding.private_vectors.tables import TABLES
from tiltmeter.jobs.embedding.private_vectors.texts import release_texts
from tiltmeter.jobs.embedding.private_vectors.utility import distance_works, task_works, word_guesses
from tiltmeter.jobs.embedding.private_vectors.vocabulary import (
    PrivateRun,
    ReadVocabulary,
    WriteSensitivity,
    checked_rows,
    draw_maps,
    kept_dimensions,
    measure,
    read_vocabulary,
    sensitivity_rows,
    words_to_encode,
)
from tiltmeter.jobs.runtime.job import Job
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
    if sources.texts:
        read_texts(sources, config.release.text_column, config.embedding.language)
    elif sources.is_release:
        width = read_rows(sources, config.release.radius).vectors.shape[1]
        kept_dimensions(config, config.beta, width)
    if sources.vectors and not (sources.is_release and not (sources.words or sources.texts)):
        _check_public(config, sources.vectors)
    if sources.words and not sources.is_release:
        words_to_encode(config, sources)
    return sources


def _check_public(config: PrivateVectorsRun, file: VectorFile) -> None:
    if not Store(config.store).find(ReadVocabulary(file=file).unit()):
        words, vectors = file.read(BadRecords())
        checked_rows(words, vectors, "embedding.path")
        kept_dimensions(config, config.beta, vectors.shape[1])


def run(run: PrivateRun) -> None:
    """Release the vectors, if there is a key; study mechanisms on them otherwise."""
    chosen = run.config.release
    (release_texts if chosen.texts else release if chosen.key_file else _study)(run)


def _study(run: PrivateRun) -> None:
    """From maps and their sensitivity to mechanisms, audits, and what vectors are still good for."""
    config, public = run.config, read_vocabulary(run)
    vocabulary = public.one("vocabulary")
    width = run.runner.store.read(vocabulary.select("vector"))["vector"].type.list_size
    maps = draw_maps(run, vocabulary, width, config.distances.betas if config.distances.epsilons else ())
    geometry = measure(run, vocabulary, maps)
    rows = list(sensitivity_rows(maps, geometry, public.one("merged").num_rows))
    run.do([WriteSensitivity(group="sensitivity", label="sensitivity", known=rows)], in_driver=True)
    mechanisms = specify(run, maps, geometry)
    audit_mechanisms(run, vocabulary, mechanisms)
    run.do(distance_works(config, vocabulary, maps, geometry))
    run.do(task_works(config, run.sources, vocabulary, mechanisms))
    run.do(word_guesses(config, vocabulary, mechanisms))


JOB = Job(
    PrivateVectorsRun,
    find_checked,
    run,
    TABLES,
    "tiltmeter.jobs.embedding.private_vectors.page:page",
    extras=["vectors"],
)
