"""The streaming bootstrap of Chamandy et al. 2012 (*Estimating uncertainty for massive data streams*).

Resampling n lines with replacement gives each line a count that tends to Poisson(1). Drawing every count independently
needs no n and no second pass: a line decides by itself how often each replica sees it, so one pass over a corpus feeds
all replicas, and the corpus may lie in any number of shards.

Lines of a document say the same words again, so that documents drawn anew differ by more than lines drawn anew: a
replica may draw whole documents (Davison and Hinkley 1997, *Bootstrap methods and their application*, section 3.8). In
the Bayesian bootstrap (Rubin 1981, *The Bayesian bootstrap*) each has an exponential weight of mean 1 instead of a
count, of the same variance, and none is lost. Weights are whole multiples of 1/256, which keeps sums of them exact in
any order.
"""

import math
from typing import Literal

import numba
import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict
from pydantic.dataclasses import dataclass

from tiltmeter.operators.compute.philox import Stream, philox, unit_interval

VERSION = "bootstrap/1"

ORIGINAL = 0
"""Replica 0 is the corpus itself: every line once. The point estimates come from it, the intervals from the others.

Replicas -1, -2, ... are the corpus itself again, trained from further random starts: what differs between them is
training, and nothing else."""

_FRACTIONS = 256
"""Exponential weights are whole multiples of 1 part in so many."""


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class Resampling:
    """How a replica is drawn.

    Attributes:
        unit: what is drawn as one.
        weights: ``poisson`` for counts, ``exponential`` for the Bayesian bootstrap.
    """

    unit: Literal["line", "document"] = "line"
    weights: Literal["poisson", "exponential"] = "poisson"

    @property
    def units_per_line(self) -> int:
        """The multiplicity of a line that counts once."""
        return _FRACTIONS if self.weights == "exponential" else 1


LINES = Resampling()
"""As published."""

MOST_LINES = 1.5
"""Lines of a document, on average, beyond which documents are drawn.

With L lines of a document whose numbers have an intraclass correlation of rho, intervals over drawn lines at 95 % hold
2 Phi(1.96 / sqrt(1 + (L - 1) rho)) - 1: with 10 lines 90, 84 and 69 % at rho = 0.05, 0.1 and 0.3."""

MIN_DOCUMENTS = 6
"""Fewer are nothing to draw from: where a document has several lines, numbers then have no interval."""

ADVISED_DOCUMENTS = 20
"""From here on intervals over drawn documents hold 93 to 95 %."""


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class ResamplingSettings:
    """How replicas of a corpus are to be drawn.

    Attributes:
        unit: what is drawn as one; ``auto``: whole documents where they have more than ``MOST_LINES`` lines on average.
        weights: as of :class:`Resampling`.
    """

    unit: Literal["auto", "line", "document"] = "auto"
    weights: Literal["poisson", "exponential"] = "poisson"

    def of(self, num_documents: int, num_lines: int) -> Resampling:
        """Of a corpus with so many documents and lines; lines where there are too few documents to draw from.

        >>> ResamplingSettings().of(100, 150).unit, ResamplingSettings().of(100, 151).unit
        ('line', 'document')
        """
        if self.unit != "auto":
            return Resampling(self.unit, self.weights)
        draws_documents = num_documents >= MIN_DOCUMENTS and self.has_several_lines(num_documents, num_lines)
        return Resampling("document" if draws_documents else "line", self.weights)

    def is_too_few(self, num_documents: int, num_lines: int) -> bool:
        """Whether nothing can be said of a corpus drawn again, because its lines are those of a few documents.

        >>> ResamplingSettings().is_too_few(5, 100), ResamplingSettings("line").is_too_few(5, 100)
        (True, False)
        """
        few = num_documents < MIN_DOCUMENTS
        return (
            few
            and self.unit != "line"
            and (self.unit == "document" or self.has_several_lines(num_documents, num_lines))
        )

    @staticmethod
    def has_several_lines(num_documents: int, num_lines: int) -> bool:
        """Whether a document has more than ``MOST_LINES`` lines on average."""
        return num_lines > MOST_LINES * num_documents


def replica_numbers(num_replicas: int, num_starts: int) -> list[int]:
    """The corpus, its replicas, and the corpus from further random starts.

    Args:
        num_replicas: bootstrap replicas.
        num_starts: random starts from which the corpus itself is trained, the first one included.

    >>> replica_numbers(3, 3)
    [0, 1, 2, 3, -1, -2]
    """
    return [*range(1 + num_replicas), *range(-1, -num_starts, -1)]


def replica_name(replica: int) -> str:
    """What messages call a replica.

    >>> replica_name(3), replica_name(-2)
    ('replica 3', 'start 2')
    """
    return f"replica {replica}" if replica >= ORIGINAL else f"start {-replica}"


def drawn_replica(replica: int) -> int:
    """Whose lines a replica has: its own, or those of the corpus, whatever start it is trained from.

    >>> drawn_replica(3), drawn_replica(-2)
    (3, 0)
    """
    return max(replica, ORIGINAL)


def _poisson_thresholds() -> NDArray[np.uint64]:
    """P(k <= i) for k ~ Poisson(1), i = 0, 1, ..., in units of 2^-64, until it reaches 1 - 2^-53."""
    cumulative = math.exp(-1.0) * np.cumsum([1.0 / math.factorial(k) for k in range(19)])
    below_one = cumulative[cumulative < 1.0]
    return np.array([int(p * 2.0**64) for p in below_one], dtype=np.uint64)


_THRESHOLDS = _poisson_thresholds()


@numba.njit(cache=True)
def _poisson(bits: np.uint64, thresholds: NDArray[np.uint64]) -> int:
    count = 0
    while count < thresholds.size and bits >= thresholds[count]:
        count += 1
    return count


@numba.njit(cache=True)
def _exponential(bits: np.uint64) -> int:
    """By inversion, rounded: -log(1 - u) in units of 1/256; 36.8 at most, as u < 1 - 2^-53."""
    return round(-_FRACTIONS * math.log1p(-unit_interval(bits)))


@numba.njit(cache=True)
def _drawn(bits: np.uint64, is_exponential: bool, thresholds: NDArray[np.uint64]) -> int:
    return _exponential(bits) if is_exponential else _poisson(bits, thresholds)


@numba.njit(cache=True)
def _fill(
    multiplicities: NDArray[np.unsignedinteger],
    seed: np.uint64,
    stream: np.uint64,
    documents: NDArray[np.uint64],
    lines: NDArray[np.int32],
    is_exponential: bool,
    thresholds: NDArray[np.uint64],
) -> None:
    num_lines, num_columns = multiplicities.shape
    for row in range(num_lines):
        multiplicities[row, 0] = _FRACTIONS if is_exponential else 1
        for start in range(0, num_columns - 1, 4):
            words = philox(seed, stream, documents[row], np.uint64(lines[row]), np.uint64(start // 4), np.uint64(0))
            for lane in range(min(4, num_columns - 1 - start)):
                multiplicities[row, 1 + start + lane] = _drawn(words[lane], is_exponential, thresholds)


@numba.njit(cache=True)
def _fill_replica(
    multiplicities: NDArray[np.unsignedinteger],
    seed: np.uint64,
    stream: np.uint64,
    documents: NDArray[np.uint64],
    lines: NDArray[np.int32],
    draw: int,
    is_exponential: bool,
    thresholds: NDArray[np.uint64],
) -> None:
    quarter = np.uint64(draw // 4)
    for row in range(multiplicities.size):
        words = philox(seed, stream, documents[row], np.uint64(lines[row]), quarter, np.uint64(0))
        multiplicities[row] = _drawn(words[draw % 4], is_exponential, thresholds)


def line_multiplicities(
    seed: int,
    documents: NDArray[np.uint64],
    lines: NDArray[np.int32],
    num_replicas: int,
    resampling: Resampling = LINES,
) -> NDArray[np.unsignedinteger]:
    """How often each line counts in each replica.

    Column 0 is the original corpus (every line once); column r >= 1 holds independent draws, Poisson(1) or exponential
    with mean 1, by inversion of 64-bit uniform numbers keyed by (seed, document, line, replica), or (seed, document,
    replica) where documents are drawn.

    Args:
        seed: the run's seed, 0 <= seed < 2^64.
        documents: ``[lines]`` keys from :func:`.compute.keys.document_key`.
        lines: ``[lines]`` line number within the document, from 0.
        num_replicas: number of bootstrap replicas, the original not counted.
        resampling: what is drawn, and how.

    Returns:
        ``[lines, 1 + num_replicas]`` in units of 1 / ``resampling.units_per_line``: uint8 counts, or uint16 weights.

    >>> documents, lines = np.array([7, 7], np.uint64), np.array([0, 1], np.int32)
    >>> line_multiplicities(0, documents, lines, 5)
    array([[1, 2, 1, 1, 1, 3],
           [1, 1, 2, 1, 2, 3]], dtype=uint8)
    >>> line_multiplicities(0, documents, lines, 3, Resampling("document", "exponential"))
    array([[ 256,   46,    6, 1349],
           [ 256,   46,    6, 1349]], dtype=uint16)
    """
    multiplicities = np.empty((len(documents), 1 + num_replicas), dtype=_dtype(resampling))
    stream, numbers = _key(lines, resampling)
    is_exponential = resampling.weights == "exponential"
    _fill(multiplicities, np.uint64(seed), stream, documents, numbers, is_exponential, _THRESHOLDS)
    return multiplicities


def replica_multiplicities(
    seed: int,
    documents: NDArray[np.uint64],
    lines: NDArray[np.int32],
    replica: int,
    resampling: Resampling = LINES,
) -> NDArray[np.unsignedinteger]:
    """Column ``replica`` of :func:`line_multiplicities`, without the others; column 0 for further starts.

    >>> replica_multiplicities(0, np.array([7, 7], np.uint64), np.array([0, 1], np.int32), 5)
    array([3, 3], dtype=uint8)
    """
    multiplicities = np.full(len(documents), resampling.units_per_line, dtype=_dtype(resampling))
    if replica > ORIGINAL:
        stream, numbers = _key(lines, resampling)
        is_exponential = resampling.weights == "exponential"
        _fill_replica(
            multiplicities, np.uint64(seed), stream, documents, numbers, replica - 1, is_exponential, _THRESHOLDS
        )
    return multiplicities


def _dtype(resampling: Resampling) -> type[np.unsignedinteger]:
    return np.uint16 if resampling.weights == "exponential" else np.uint8


def _key(lines: NDArray[np.int32], resampling: Resampling) -> tuple[np.uint64, NDArray[np.int32]]:
    """The stream, and the line numbers that draws are keyed by."""
    if resampling.unit == "line":
        return np.uint64(Stream.LINE_MULTIPLICITY), lines
    return np.uint64(Stream.DOCUMENT_MULTIPLICITY), np.zeros_like(lines)
