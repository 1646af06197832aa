"""Caliskan et al. 2017, and Azarpanah and Farhadloo 2021: WEAT on vectors of the Simple English Wikipedia."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import polars as pl

from benchmarks.command import DATA, run_command
from benchmarks.papers.figures import Figure, minus

TITLE = "Azarpanah and Farhadloo 2021, Measuring Biases of Word Embeddings; Caliskan et al. 2017"
PAGE = "association"

_CORPUS = "corpora/en/simplewiki.jsonl.bz2"
DATA_FILES = [_CORPUS]

_ANOTHER_CORPUS = "other vectors"
_GARBLED = "garbled"

_PEOPLE = ["1.35", "1.66", "1.17", "", "", "0.72", "0.82", "1.47", "1.01", "1.42"]
"""Effect sizes of implicit association tests, as Caliskan et al. 2017 list them; there is none for tests 4 and 5."""

_GLOVE = ["1.50", "1.53", "1.41", _GARBLED, _GARBLED, "1.81", "1.06", "1.24", "1.38", "1.21"]
"""By cosine and mean, in table 4 of Azarpanah and Farhadloo 2021, as far as its text can be read."""

_STATISTICS = {"mean": "0.80", "median": "0.74", "min": "0.68", "max": "0.65", "smallest_gap": "0.39"}
_SIMILARITIES = {"cosine": "0.72", "euclidean": "0.67", "manhattan": "0.63", "mahalanobis": "0.58"}
"""Means of effect sizes over models and tests, in section 4."""

_TABLE_3 = {
    ("cosine", "mean"): ("9", "1.39 (0.21)"),
    ("euclidean", "mean"): ("9", "1.41 (0.20)"),
    ("mahalanobis", "mean"): ("3", "0.79 (0.53)"),
    ("mahalanobis", "smallest_gap"): ("0", "0.34 (0.27)"),
}
"""Of GloVe: significant tests of ten, and effect sizes."""


def figures() -> list[Figure]:
    """By the sample's and the population's standard deviation, from one training."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        outcomes = [
            run_command(folder / f"ddof{ddof}", *_SETTINGS, f"job.ddof={ddof}", store=folder / "store")
            for ddof in (1, 0)
        ]
        return figures_of(*(outcome.run_dir for outcome in outcomes))


_SETTINGS = [
    *("job=association", "corpus=simplewiki", f"corpus.simplewiki.path={DATA / _CORPUS}"),
    *("embedding.num_replicas=2", "embedding.device=cpu", "job.alternative=two-sided", "job.significance=0.01"),
]


def figures_of(sample: Path, population: Path) -> list[Figure]:
    """From the tables of two runs, whose effect sizes take either standard deviation."""
    rows, others = (
        pl.read_parquet(run_dir / "associations.parquet").filter(status="ok") for run_dir in (sample, population)
    )
    means = [
        figure
        for column, printed in (("statistic", _STATISTICS), ("similarity", _SIMILARITIES))
        for figure in (*_means(rows, column, printed), _order(rows, column, list(printed)))
    ]
    return [*_tests(rows, others), *_table_3(rows), *means]


def _tests(rows: pl.DataFrame, others: pl.DataFrame) -> Iterator[Figure]:
    """Each by cosine and mean, as WEAT is defined, by both standard deviations."""
    usual, population = (
        dict(part.filter(similarity="cosine", statistic="mean").select("test", "effect_size").iter_rows())
        for part in (rows, others)
    )
    for number, (people, glove) in enumerate(zip(_PEOPLE, _GLOVE, strict=True), start=1):
        name = f"weat{number}"
        in_people = f"; {people} in people" if people else ""
        ours = minus(f"{usual[name]:.2f} ({population[name]:.2f})") if name in usual else "–"
        verdict = _ANOTHER_CORPUS if name in usual else "too few of its words are in the corpus"
        yield Figure("table 4, GloVe", f"d of {name} (of the population){in_people}", glove, ours, verdict)


def _table_3(rows: pl.DataFrame) -> Iterator[Figure]:
    for (similarity, statistic), (num, sizes) in _TABLE_3.items():
        part = rows.filter(similarity=similarity, statistic=statistic)
        ours = f"{part.filter(pl.col('p_value') < 0.01).height} of {part.height}; {_mean(part)}"
        figure = f"significant tests; |d| by {_name(statistic)} {similarity}"
        yield Figure("table 3, GloVe", figure, f"{num} of 10; {sizes}", ours, _ANOTHER_CORPUS)


def _means(rows: pl.DataFrame, column: str, printed: dict[str, str]) -> Iterator[Figure]:
    """Ours to one decimal: some lie within the tolerance between processors of the border of the second."""
    for name, size in printed.items():
        ours = f"{rows.filter(pl.col(column) == name)['absolute_effect_size'].to_numpy().mean():.1f}"
        yield Figure("section 4", f"mean |d| by {_name(name)}", size, ours, "other vectors, one model")


def _order(rows: pl.DataFrame, column: str, names: list[str]) -> Figure:
    means = dict(rows.group_by(column).agg(pl.col("absolute_effect_size").mean()).iter_rows())
    ordered = sorted(names, key=lambda name: -means[name])
    printed, ours = (", ".join(map(_name, order)) for order in (names, ordered))
    verdict = "same" if names == ordered else _ANOTHER_CORPUS
    return Figure("section 4", f"order of {column} by mean |d|", printed, ours, verdict)


def _mean(rows: pl.DataFrame) -> str:
    sizes = rows["absolute_effect_size"].to_numpy()
    return f"{sizes.mean():.2f} ({sizes.std(ddof=1):.2f})"


def _name(name: str) -> str:
    return "equation 2" if name == "smallest_gap" else name
