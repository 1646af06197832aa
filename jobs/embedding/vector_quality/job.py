"""Job `vector_quality`: how far word vectors agree with people, and which analogies they complete."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from tiltmeter.jobs.embedding import sources
from tiltmeter.jobs.embedding import tables as embedding_tables
from tiltmeter.jobs.embedding.config import EmbeddingConfig, FileEmbedding, narrowed
from tiltmeter.jobs.embedding.corpora import read_corpora
from tiltmeter.jobs.embedding.encoders.settings import EncoderEmbedding
from tiltmeter.jobs.embedding.lookup import Vectors
from tiltmeter.jobs.embedding.pages import without_bad_files
from tiltmeter.jobs.embedding.replicas import replica_scheme, train
from tiltmeter.jobs.embedding.resources import embedding_requests
from tiltmeter.jobs.embedding.sources import Sources
from tiltmeter.jobs.embedding.vector_quality.config import VectorQualityRun
from tiltmeter.jobs.embedding.vector_quality.scores import ReadSet, ScoreVectors, SummariseQuality, Task, read_set
from tiltmeter.jobs.embedding.vector_quality.tables import TABLES
from tiltmeter.jobs.embedding.vectors import ReadVectors, Selection, encode
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.job import Job
from tiltmeter.jobs.runtime.work import Done
from tiltmeter.operators.embedding.quality import ANALOGIES_VERSION, SIMILARITY_VERSION
from tiltmeter.operators.statistics.intervals import IntervalSettings
from tiltmeter.storage.bad_records import BadRecords
from tiltmeter.storage.corpora.sources import FoundFile, find_file
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.files.redaction import redacted
from tiltmeter.storage.store.ledger import TableRef

_MIN_ITEMS: Mapping[Task, int] = {"similarity": 3, "analogies": 1}
_VERSIONS: Mapping[Task, str] = {"similarity": SIMILARITY_VERSION, "analogies": ANALOGIES_VERSION}


@dataclass(frozen=True)
class QualitySources(Sources):
    """Where embeddings come from, and the files of the sets, with what is asked of them."""

    sets: Mapping[str, tuple[Task, FoundFile]] = field(default_factory=dict)

    def record(self) -> dict[str, list[dict[str, Any]]]:
        """Every input with its version, for ``run.json``."""
        return super().record() | {name: [file.redacted] for name, (_, file) in self.sets.items()}


def find_sources(config: VectorQualityRun) -> QualitySources:
    """Look for embeddings and sets.

    Raises:
        InputError: as :func:`.sources.find_sources`; for a set with too few items, or too many bad lines.
    """
    asked: dict[Task, dict[str, str]] = {"similarity": config.similarity, "analogies": config.analogies}
    sets: dict[str, tuple[Task, FoundFile]] = {}
    for task, paths in asked.items():
        for name, path in paths.items():
            file, bad = find_file(path, f"{task}.{name}"), BadRecords()
            num = read_set(file.uri, task, bad).height
            if num < _MIN_ITEMS[task]:
                least = "three pairs of words with a number" if task == "similarity" else "a question of four words"
                raise InputError(f"{task}.{name}: {redacted(file.uri)} has {num} items, and must have {least}")
            bad.check(config.reading.max_bad_share)
            sets[name] = task, file
    return QualitySources(**vars(sources.find_sources(config)), sets=sets)


def run(run: Run[VectorQualityRun, QualitySources]) -> None:
    """Have every embedding scored on every set; publish the table ``quality``."""
    config, asked = run.config, run.sources.sets
    works = [ReadSet(label=name, group=name, file=file.identity, task=task) for name, (task, file) in asked.items()]
    read = without_bad_files(run.runner, run.do(works), config.reading.max_bad_share)
    items = {work.label: unit.tables["items"] for work, unit in read.pairs}
    models = list(_models(run, items))
    same: dict[str, Any] = {"most_words": config.most_words, "fold_case": config.fold_case}
    scored = run.do(
        ScoreVectors(
            group=model.name,
            label=f"{model.name} {number} {name}",
            task=asked[name][0],
            measure=_VERSIONS[asked[name][0]],
            items=ref,
            vectors=vectors,
            **same,
        )
        for model in models
        for name, ref in items.items()
        for number, vectors in enumerate([*model.originals, *model.starts])
    ).groups
    run.do(
        SummariseQuality(
            group=model.name,
            label=f"{model.name} {name}",
            model=model.name,
            language=model.language,
            draws=model.scheme,
            set=name,
            task=asked[name][0],
            num_replicas=len(model.originals) - 1,
            settings=narrowed(IntervalSettings, config.job),
            scores=[unit.tables["quality_scores"] for work, unit in scored[model.name].pairs if work.items is ref],
        )
        for model in models
        if model.name in scored
        for name, ref in items.items()
    )


def _models(run: Run[VectorQualityRun, QualitySources], items: Mapping[str, TableRef]) -> Iterator[Vectors]:
    """All words of trained embeddings and of files; of encoders those of the sets."""
    runner, embedding, language = run.runner, run.config.embedding, run.config.languages[0]
    if isinstance(embedding, EmbeddingConfig):
        corpora = read_corpora(run).corpora
        for name, trained in train(run, corpora).groups.items():
            corpus, refs = corpora[name], [ref.select("word", "vector") for ref in trained.refs("embedding")]
            num = 0 if embedding.resampling.is_too_few(*corpus.extent(runner.store)) else embedding.num_replicas
            draws = replica_scheme(
                run.config.seed, embedding, corpus.vocabulary, corpus.resampling(runner.store, embedding)
            )
            yield Vectors(name, corpus.language, refs[: 1 + num], refs[1 + embedding.num_replicas :], draws)
        return
    made: Done[Any]
    if isinstance(embedding, FileEmbedding):
        reading: dict[str, Any] = {"format": embedding.format, "allow_pickle": embedding.allow_pickle}
        files = [(name, one) for name, of_model in run.sources.files.items() for one in of_model]
        works = [
            ReadVectors(group=name, label=redacted(file.uri), file=file.identity, **reading) for name, file in files
        ]
        made = without_bad_files(runner, run.do(works), run.config.reading.max_bad_share)
    elif isinstance(embedding, EncoderEmbedding):
        tables = [pl.DataFrame(runner.store.read(ref)).drop("section", "human") for ref in items.values()]
        words = sorted({word for table in tables for column in table for word in column})
        made = encode(runner, embedding, run.sources.checkpoints, Selection(tuple(words)))
    else:
        raise TypeError(f"{embedding.kind}: is refused before any work")
    for name, done in made.groups.items():
        yield Vectors(name, language, [ref.select("word", "vector") for ref in done.refs("vectors")])


JOB = Job(
    VectorQualityRun,
    find_sources,
    run,
    embedding_tables.TABLES | TABLES,
    "tiltmeter.jobs.embedding.vector_quality.page:page",
    embedding_requests,
)
