"""What is trained: the samples of every corpus with every way of drawing replicas, and all samples together."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import polars as pl

from benchmarks.coverage.samples import CORPORA, write_samples
from benchmarks.coverage.training import Cost, Settings, Training, read_cost, train, word_sets
from benchmarks.coverage.values import WHOLE, table

STARTS = 4

_LINES: Settings = {"embedding.resampling.unit": "line"}
_SMALL: Settings = {"embedding.trainer.dimensions": 50, "embedding.trainer.epochs": 10} | _LINES
_LARGE: Settings = {"embedding.trainer.dimensions": 100, "embedding.trainer.epochs": 15} | _LINES

_EXPONENTIAL: Settings = {"embedding.resampling.weights": "exponential", "embedding.num_starts": STARTS}
_DOCUMENTS: Settings = {"embedding.resampling.unit": "document"}


class Variant(NamedTuple):
    """One way of drawing and training.

    Attributes:
        name: of it.
        settings: of the run, beside those of all.
    """

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


def measure(folder: Path, names: Mapping[str, list[Variant]], settings: Settings) -> pl.DataFrame:
    """Train what is missing, and measure; the rows of :class:`.study.Study`."""
    return pl.concat([part for name, chosen in names.items() for part in _measured(folder, name, chosen, settings)])


def _measured(folder: Path, name: str, chosen: list[Variant], settings: Settings) -> Iterator[pl.DataFrame]:
    wordset = word_sets(CORPORA[name].language)
    for variant in [*chosen, ALL_SAMPLES]:
        places = trained(folder, name, variant, settings)
        yield table(places, wordset).with_columns(corpus=pl.lit(name), variant=pl.lit(variant.name))


def trained(folder: Path, name: str, variant: Variant, settings: Settings) -> list[Path]:
    """The models of one variant, of each sample in a file."""
    corpus = CORPORA[name]
    files = write_samples(corpus, folder / "samples" / name)
    samples = {f"sample_{number}": [file] for number, file in enumerate(files)}
    texts = {WHOLE: files} if variant is ALL_SAMPLES else samples
    training = Training(corpus.language, texts, variant.settings | settings)
    return train(folder / "store", training, folder / "models" / name / variant.name)


ALL_SAMPLES = Variant(WHOLE, _SMALL | {"embedding.num_replicas": 2})
"""Together as one corpus; two replicas are the fewest that there may be, and are not looked at."""


def total_cost(folder: Path) -> Cost:
    """Of all that was trained into a folder, in however many runs."""
    costs = [read_cost(file) for file in folder.rglob("models/*/*/costs.json")]
    return Cost(*map(sum, zip(*costs, strict=True))) if costs else Cost(0, 0.0)
