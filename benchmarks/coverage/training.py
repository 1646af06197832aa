"""What is trained: disjoint samples of every corpus with every way of drawing replicas, and all samples together.

Samples are whole articles, in an order drawn at random. They are trained as `job=bootstrap` trains them, so that what
has been trained is found in the store again.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple, Self

import hydra
import numpy as np
import polars as pl
import psutil
import pydantic
from numpy.typing import NDArray
from pydantic import ConfigDict

from benchmarks.command import DATA, read_corpus
from tiltmeter.jobs.catalogue import CONFIG, SETTINGS
from tiltmeter.jobs.command import build
from tiltmeter.jobs.embedding import corpora
from tiltmeter.jobs.embedding.config import BootstrapRun
from tiltmeter.jobs.embedding.replicas import TrainReplica, embed, publish_losses
from tiltmeter.jobs.embedding.resources import embedding_requests
from tiltmeter.jobs.embedding.sources import Sources, find_sources
from tiltmeter.jobs.embedding.tables import TABLES
from tiltmeter.jobs.embedding.vectors import matrix
from tiltmeter.jobs.execute import execute
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.job import Job
from tiltmeter.jobs.runtime.work import Done
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.compute.philox import Stream, philox
from tiltmeter.operators.text.spelling import normalised
from tiltmeter.operators.text.tokens import Tokenizer
from tiltmeter.operators.text.wordsets import WordSets
from tiltmeter.storage.corpora.corpora import CorpusConfig
from tiltmeter.storage.store.ledger import Store, TableRef

# --- samples --------------------------------------------------------------------------------------------------------

TOKENS = 1_000_000
"""Of a sample, less in a corpus that has not so many for each."""


@dataclass(frozen=True)
class Corpus:
    """A corpus to be cut.

    Attributes:
        language: its code, by which word lists are found.
        file: in the development data.
        num_samples: disjoint ones.
    """

    language: str
    file: str
    num_samples: int


CORPORA = {
    "simple": Corpus("en", "corpora/en/simplewiki.jsonl.bz2", 6),
    "es": Corpus("es", "corpora/es/eswiki.wikiextractor.txt.bz2", 5),
    "en": Corpus("en", "corpora/en/enwiki.wikiextractor.txt.bz2", 10),
    "de": Corpus("de", "corpora/de/dewiki.wikiextractor.txt.bz2", 5),
}
"""Those that an interval is chosen on, simple and es, and those that it is confirmed on, en and de."""


class Article(NamedTuple):
    """A page as a line of JSON, how many tokens it has, and where the draw puts it."""

    line: str
    num_tokens: int
    rank: int


def write_samples(corpus: Corpus, folder: Path) -> list[Path]:
    """The files of the samples, written unless they are there; together the last file says that all are."""
    files = [folder / f"{number}.jsonl" for number in range(corpus.num_samples)]
    if not files[-1].exists():
        folder.mkdir(parents=True, exist_ok=True)
        for file, sample in zip(files, dealt(list(read_articles(corpus)), corpus.num_samples), strict=True):
            file.write_text("".join(f"{article.line}\n" for article in sample), encoding="utf-8")
    return files


def dealt(articles: Sequence[Article], num_samples: int, tokens: int = TOKENS) -> list[list[Article]]:
    """Articles in the order of their ranks, cut where a sample has its tokens; what is left over is in none.

    >>> articles = [Article("b", 2, 5), Article("a", 3, 1), Article("c", 2, 9), Article("d", 1, 7)]
    >>> [[article.line for article in sample] for sample in dealt(articles, num_samples=2, tokens=3)]
    [['a'], ['b', 'd']]
    """
    ordered = sorted(articles, key=lambda article: article.rank)
    starts = [0, *accumulate(article.num_tokens for article in ordered)]
    size = min(tokens, starts[-1] / num_samples)
    samples: list[list[Article]] = [[] for _ in range(num_samples)]
    for article, start in zip(ordered, starts[:-1], strict=True):
        if start < size * num_samples:
            samples[int(start / size)].append(article)
    return samples


def read_articles(corpus: Corpus) -> Iterator[Article]:
    """Of the corpus, with ranks drawn by their ids."""
    tokenize = Tokenizer(corpus.language)
    for _, page in read_corpus(str(DATA / corpus.file), corpus.language):
        line = json.dumps({"id": page.id, "title": page.title, "text": page.text}, ensure_ascii=False)
        yield Article(line, sum(len(tokenize(text)) for text in page.text.split("\n")), _rank(page.id))


def _rank(page_id: str) -> int:
    key, zero = np.uint64(document_key(page_id)), np.uint64(0)
    return int(philox(zero, np.uint64(Stream.PARTITION), key, zero, zero, zero)[0])


# --- ways of drawing ------------------------------------------------------------------------------------------------

Settings = dict[str, object]
"""Of the command, by their keys."""

STARTS = 4
WHOLE = "whole"
"""The name of all samples of a corpus together, beside the numbers of the samples."""

_LINES: Settings = {"embedding.resampling.unit": "line"}
_SMALL: Settings = {"embedding.trainer.dimensions": 50, "embedding.trainer.epochs": 10} | _LINES
_LARGE: Settings = {"embedding.trainer.dimensions": 100, "embedding.trainer.epochs": 15} | _LINES
_EXPONENTIAL: Settings = {"embedding.resampling.weights": "exponential", "embedding.num_starts": STARTS}
_DOCUMENTS: Settings = {"embedding.resampling.unit": "document"}


class Variant(NamedTuple):
    """One way of drawing and training: its name, and the settings of the run, beside those of all."""

    name: str
    settings: Settings


def variants(corpus: str, num_replicas: int | None = None) -> list[Variant]:
    """Of a corpus. The Simple English one, the smallest that has every quantity, answers what more is asked.

    Args:
        corpus: its name.
        num_replicas: to try the experiment with fewer.
    """
    fewer, more = ({"embedding.num_replicas": num_replicas or number} for number in (32, 100))
    usual = [
        Variant("exponential", _SMALL | _EXPONENTIAL | fewer),
        Variant("documents_exponential", _SMALL | _DOCUMENTS | _EXPONENTIAL | fewer),
    ]
    if corpus != "simple":
        return [*usual, Variant("poisson", _SMALL | fewer)]
    documents, large = Variant("documents", _SMALL | _DOCUMENTS | fewer), Variant("poisson_large", _LARGE | fewer)
    return [*usual, Variant("poisson", _SMALL | more), documents, large]


ALL_SAMPLES = Variant(WHOLE, _SMALL | {"embedding.num_replicas": 2})
"""Together as one corpus; two replicas are the fewest that there may be, and are not looked at."""


def trained(folder: Path, name: str, variant: Variant, settings: Settings) -> list[Path]:
    """Train one variant of a corpus, or find what has been trained: files with the :class:`Models` of each sample."""
    corpus, models = CORPORA[name], folder / "models" / name / variant.name
    files = write_samples(corpus, folder / "samples" / name)
    samples = {f"sample_{number}": [file] for number, file in enumerate(files)}
    texts = {WHOLE: files} if variant is ALL_SAMPLES else samples
    config = _config(folder / "store", corpus.language, texts, variant.settings | settings)
    models.mkdir(parents=True, exist_ok=True)
    places = {sample: models / f"{sample}.npz" for sample in texts}
    keep = partial(_keep, places, models / "costs.json")
    execute(Job(SamplesRun, find_sources, keep, TABLES, resources=embedding_requests), config)
    return list(places.values())


def word_sets(language: str) -> WordSets:
    """Those of the product, as texts are spelled."""
    config = _config(Path("store"), language, {"sample": [Path("sample")]}, {})
    return normalised(config.wordset[language], Tokenizer(language))


# --- models ---------------------------------------------------------------------------------------------------------


@pydantic.dataclasses.dataclass(frozen=True, kw_only=True, config=ConfigDict(extra="forbid"))
class SamplesRun(BootstrapRun):
    """As a run of ``bootstrap``, on corpora of one language, which are told apart by their names."""

    @pydantic.model_validator(mode="after")
    def _corpora_can_be_told_apart(self) -> Self:
        return self


@dataclass(frozen=True)
class Models:
    """Vectors of listed words in the models of one sample.

    Attributes:
        vectors: ``[models, words, dims]``, NaN where a model lacks the word.
        replica: ``[models]``, 0 for the sample itself, -1 and down for it from further starts.
        words: ``[words]``.
        counts: ``[words]`` in the sample.
        num_tokens: of the sample.
    """

    vectors: NDArray[np.float32]
    replica: NDArray[np.int64]
    words: NDArray[np.str_]
    counts: NDArray[np.int64]
    num_tokens: int

    @classmethod
    def load(cls, file: Path) -> Self:
        """As :meth:`save` left them."""
        with np.load(file) as arrays:
            return cls(**arrays)

    def save(self, file: Path) -> None:
        """Into a file, which is there once it is whole."""
        partial = file.with_suffix(".partial.npz")
        np.savez(partial, **vars(self))
        partial.rename(file)


def _config(store: Path, language: str, texts: Mapping[str, Sequence[Path]], settings: Settings) -> SamplesRun:
    samples = tuple(CorpusConfig(name, language, tuple(map(str, files))) for name, files in texts.items())
    words = ["job=bootstrap", "corpus=file", f"corpus.language={language}", "corpus.path=samples"]
    words += [f"{key}={value}" for key, value in ({"store": store} | settings).items()]
    with hydra.initialize_config_module(SETTINGS, version_base="1.3"):
        run = build(hydra.compose(CONFIG, words), words)
    return SamplesRun(**{field.name: getattr(run, field.name) for field in fields(run)} | {"corpora": samples})


def _keep(places: Mapping[str, Path], costs: Path, run: Run[SamplesRun, Sources]) -> None:
    samples = corpora.read_corpora(run).corpora
    trained = embed(run, samples)
    run.publish("corpora", [samples[name].summary for name in trained.groups])
    publish_losses(run, trained)
    for name, replicas in trained.groups.items():
        _models(run.runner.store, samples[name], replicas).save(places[name])
    num_trained = sum(record.num_done for record in run.runner.records if record.name == "train")
    before = json.loads(costs.read_text()) if costs.exists() else Cost()
    costs.write_text(json.dumps([before[0] + num_trained, before[1] + (cpu_seconds() if num_trained else 0.0)]))


def _models(store: Store, sample: corpora.Corpus, replicas: Done[TrainReplica]) -> Models:
    is_listed = (pl.col("status") == "ok") & (pl.col("lists").list.len() > 0)
    listed = pl.DataFrame(store.read(sample.listed)).filter(is_listed)
    words = listed["word"].to_numpy().astype(np.str_)
    vectors = np.stack([_vectors(store, ref, listed.select("word")) for ref in replicas.refs("embedding")])
    numbers, counts = [work.replica for work, _ in replicas.pairs], listed["count"].to_numpy()
    return Models(vectors, np.array(numbers), words, counts, *sample.numbers(store, "num_tokens"))


def _vectors(store: Store, ref: TableRef, words: pl.DataFrame) -> NDArray[np.float32]:
    found = pl.DataFrame(store.read(ref.select("word", "vector")))
    return matrix(words.join(found, on="word", how="left", maintain_order="left").to_arrow()["vector"])


class Cost(NamedTuple):
    """Models that were trained, and core-seconds of CPU time of all processes, over the runs that it needed."""

    num_models: int = 0
    core_seconds: float = 0.0


def total_cost(folder: Path) -> Cost:
    """Of all that was trained into a folder, in however many runs."""
    costs = [json.loads(file.read_text()) for file in folder.rglob("models/*/*/costs.json")]
    return Cost(*map(sum, zip(*costs, strict=True)))


def cpu_seconds() -> float:
    """CPU time of this process and of those that it started and that still run."""
    here = psutil.Process()
    times = [process.cpu_times() for process in (here, *here.children(recursive=True))]
    return float(sum(time.user + time.system for time in times))
