"""What jobs on embeddings share: vectors of words whose truth is known, in a corpus, its replicas, and other corpora.

A word has a vector of its own; a corpus adds noise to it, and a replica as much again to that of its corpus. What a
number would be in other corpora on average, which its interval is for, is its mean over many corpora that are drawn
like the first. What it would be without noise is something else, which no interval holds (``intervals``).
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from benchmarks.calibration.made import holds
from benchmarks.calibration.registry import Claim, Exemption, Outcome
from tiltmeter.jobs.embedding.vectors import vector_column

NOISE = 0.5
NUM_CORPORA = 1000

PAPERS = (
    "percentiles of the replicas, as the papers have them: no side rests on them, and docs/how_sure.md says how often "
    "they hold"
)
NUMERIC = "how exactly a p-value or a mean is known that partitions or replicas give; nothing is inferred by it"

Truths = Mapping[str, Mapping[str, Sequence[tuple[dict[str, Any], float]]]]
"""By table and column: key columns of each row, and the mean of its number over other corpora."""


class Words(NamedTuple):
    """Attributes:
    names: of the words.
    means: ``[words, dims]``, their vectors without noise.
    """

    names: Sequence[str]
    means: NDArray[np.float64]


def drawn_again(words: Words, rng: np.random.Generator, num_replicas: int) -> list[pa.Table]:
    """Vectors of a corpus, and then of its replicas."""
    corpus = words.means + NOISE * rng.standard_normal(words.means.shape)
    noise = NOISE * rng.standard_normal((num_replicas, *words.means.shape))
    return [_table(words, vectors) for vectors in (corpus, *(corpus + noise))]


def other_corpora(
    words: Words, rng: np.random.Generator, noise: float = NOISE, num: int = NUM_CORPORA
) -> list[pa.Table]:
    """Vectors of many corpora, the first of them in the place of the original."""
    drawn = words.means + noise * rng.standard_normal((1 + num, *words.means.shape))
    return [_table(words, vectors) for vectors in drawn]


def _table(words: Words, vectors: NDArray[np.float64]) -> pa.Table:
    counts = [10 * (1 + number % 7) for number in range(len(words.names))]
    columns = {"word": list(words.names), "spelled": list(words.names), "count": pa.array(counts, pa.int64())}
    return pa.table({**columns, "vector": vector_column(vectors)})


def truths(draws: pa.Table) -> Truths:
    """Of what a stage leaves of its draws, where these are other corpora."""
    found: dict[str, dict[str, list[tuple[dict[str, Any], float]]]] = {}
    for row in draws.to_pylist():
        mean = float(np.nanmean(np.array(row["values"], dtype=np.float64)))
        found.setdefault(row["table"], {}).setdefault(row["column"], []).append((json.loads(row["key"]), mean))
    return found


def held(repetition: int, tables: Mapping[str, pa.Table], known: Truths, table: str, columns: Sequence[str]) -> Outcome:
    """Whether the interval of one of the columns holds its truth: columns and rows by turns."""
    column = columns[repetition % len(columns)]
    rows = known[table][column]
    key, truth = rows[repetition // len(columns) % len(rows)]
    row = next(row for row in tables[table].to_pylist() if key.items() <= row.items())
    return holds(row, (f"{column}_low", f"{column}_high"), truth)


def coverage(table: str, columns: Sequence[str], *, documented: bool = False) -> Claim:
    """Of the intervals of columns, by turns.

    Args:
        documented: of few replicas: resampling may shift a number by up to a standard deviation before its interval
            moves around it, which costs 4 to 6 points, and so few don't tell.
    """
    ends = tuple(f"{column}_{end}" for column in columns for end in ("low", "high"))
    truth = "mean over other corpora that are drawn alike"
    return Claim(
        name_of(table, columns), table, ends, "coverage", "replica of the corpus", truth, documented=documented
    )


def name_of(table: str, columns: Sequence[str]) -> str:
    """Of a claim."""
    return f"{table}: {', '.join(columns)}"


def percentiles(job: str, table: str) -> Exemption:
    """The papers' intervals beside ours."""
    return Exemption(job, table, ("*_percentile_low", "*_percentile_high"), PAPERS)


def tested_p(job: str, table: str) -> Exemption:
    """How exactly the p-value of an association test is known."""
    return Exemption(job, table, ("p_low", "p_high", "p_standard_error", "p_method"), NUMERIC)
