"""`private_vectors`: audits of what a release wrote, what an attacker names, tasks, and errors of distances.

Rows are planted and written by the code of a release, under keys told by the repetition.
"""

from collections.abc import Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from benchmarks.calibration.registry import Claim, Experiment, Held, Kind, Outcome, Ref, Run, ends
from tiltmeter.jobs.embedding.private_vectors.audits import _checks, _named, _Subject
from tiltmeter.jobs.embedding.private_vectors.mechanisms import Noise
from tiltmeter.jobs.embedding.private_vectors.sources import PrivateSources, Secret
from tiltmeter.jobs.embedding.private_vectors.utility import GuessWords, ReadDistances
from tiltmeter.jobs.embedding.private_vectors.word_privacy import GuessTexts
from tiltmeter.jobs.embedding.vectors import vector_column
from tiltmeter.jobs.runtime.work import Work
from tiltmeter.operators.embedding.private_release import noise
from tiltmeter.operators.embedding.private_release.bounds import Counts, audited_loss
from tiltmeter.operators.embedding.private_release.deniability import nearest_rows
from tiltmeter.operators.embedding.private_release.mechanisms import Specification
from tiltmeter.operators.embedding.private_release.secrets import BLOCK_ROWS, Rows, keyed_digest, noisy_rows
from tiltmeter.operators.embedding.private_release.utility import TaskResult, mean_accuracy
from tiltmeter.operators.statistics.intervals import IntervalSettings

JOB = "private_vectors"
WIDTH, KEPT, EPSILON = 6, 4, 2.0
LEVEL = 0.95


VOCABULARY: Any = Ref("vocabulary")


def first_row(work: Work, vectors: NDArray[np.float64]) -> dict[str, Any]:
    """Of the first table that work makes of a vocabulary."""
    words = pa.array([f"word{row}" for row in range(len(vectors))])
    held: Any = Held({VOCABULARY: pa.table({"word": words, "vector": vector_column(vectors)})})
    row: dict[str, Any] = next(iter(work.tables(held)))[1].to_pylist()[0]
    return row


# --- audits of what was written -------------------------------------------------------------------------------------


def release_of(repetition: int, num: int, factor: float) -> tuple[_Subject, bytes, dict[str, Any], Any]:
    """A release of made-up rows by a map, whose noise is its certificate's times a factor."""
    rng = np.random.default_rng([repetition, num])
    vectors, projection = rng.standard_normal((num, WIDTH)), rng.standard_normal((KEPT, WIDTH)) / KEPT**0.5
    sensitivity = float(np.linalg.norm(projection, 2))
    key = keyed_digest(bytes(32), {"repetition": repetition})
    about = {"name": "a", "law": "norm", "scale": factor * sensitivity / EPSILON, "step": 2.0**-12}
    about |= {"sensitivity": sensitivity}
    certificate = {"mechanism": "M2 spectral", "sensitivity": sensitivity, "epsilon": EPSILON, "delta": 0.0, "reach": 0}
    secret = Secret(Path(), PrivateSources(), None, about, projection)
    subject = _Subject.of(secret, Rows(vectors, None), None)
    return subject, key, certificate, noisy_rows(secret.images(vectors), key, about, 0)


def _audited(num: int, factor: float, repetition: int) -> dict[str, Outcome]:
    subject, key, certificate, vectors = release_of(repetition, num, factor)
    checks = [row for row in _checks(subject, key, certificate, vectors) if row.check != "stretch"]
    # The noise is one check's to see, its scale; honest releases are looked at by each in turn.
    place = repetition % len(checks) if factor == 1.0 else 0
    return {"p_value": checks[place].p_value, "p_holm": min(row.p_holm for row in checks)}


def _bounded(repetition: int) -> dict[str, Outcome]:
    """Two bins, of which either vector makes one more often by the same factor, whichever set is chosen."""
    rng = np.random.default_rng([repetition, 1])
    counts = [rng.multinomial(num, shares) for num in (200, 1400) for shares in ((0.2, 0.8), (0.8, 0.2))]
    loss = audited_loss(Counts(*counts), (1 - LEVEL) / 2)
    return {"audited": loss.low <= np.log(4) <= loss.high}


# --- whom it names --------------------------------------------------------------------------------------------------


@cache
def vocabulary(num: int, scale: float) -> tuple[NDArray[np.float64], float]:
    """Words, some of them apart from all others, and how often they are named, by 1,000 draws of each."""
    rng = np.random.default_rng(num)
    vectors = rng.standard_normal((num, 3)) * rng.lognormal(0, 0.7, (num, 1))
    named = [
        np.mean(nearest_rows(vector + noise.norm_noise(rng, (1000, 3), scale), vectors) == row)
        for row, vector in enumerate(vectors)
    ]
    return vectors, float(np.mean(named))


def _denied(num: int, scale: float, words: int, repetition: int) -> dict[str, Outcome]:
    vectors, truth = vocabulary(num, scale)
    row = {"mechanism": "M1", "dimensions": 3, "epsilon": 1 / scale, "compared_at": "nominal"}
    work = GuessWords(
        row=row,
        mechanism=Noise(Specification("norm", 3, 1.0, scale)),
        words=words,
        draws=20,
        level=LEVEL,
        seed=repetition,
        vocabulary=VOCABULARY,
    )
    return {"attacker": _holds(first_row(work, vectors), "attacker", truth)}


def _given(num: int, scale: float, words: int, repetition: int) -> dict[str, Outcome]:
    vectors, truth = vocabulary(num, scale)
    key = keyed_digest(bytes(32), {"repetition": repetition})
    about = {"law": "norm", "scale": scale, "step": 2.0**-12 * scale, "sensitivity": 1.0}
    secret = Secret(Path(), PrivateSources(), None, about, None)
    rows = _Subject.of(secret, Rows(vectors[:20], None), None).rows
    subject, released = _Subject(secret, vectors, vectors, rows), noisy_rows(rows, key, about, 0)
    share = _named(subject, key, released, words, 20, LEVEL)["attacker"]
    return {"attacker": _holds({"attacker_low": share.low, "attacker_high": share.high}, "attacker", truth)}


# --- texts ------------------------------------------------------------------------------------------------------------


@cache
def line(scale: float) -> tuple[NDArray[np.float64], float]:
    """Words on a line, all alike beforehand: whoever sees noisy ones names those that stay; by sums over a grid."""
    words, grid = 3 * np.random.default_rng(0).standard_normal((40, 1)), np.linspace(-30, 30, 600_001)
    densities = np.exp(-np.abs(grid - words) / scale) / (2 * scale)
    return words, float(densities.max(axis=0).mean()) * 60 / 40


def _guessed(scale: float, draws: int, repetition: int) -> dict[str, Outcome]:
    vectors, truth = line(scale)
    known, mechanism = {"mechanism": "M1", "epsilon": 1 / scale}, Noise(Specification("norm", 1, 1.0, scale))
    common: Any = {"draws": draws, "level": LEVEL, "seed": repetition, "vocabulary": VOCABULARY}
    row = first_row(GuessTexts(known=known, mechanism=mechanism, vickrey=None, **common), vectors)
    return {name: _holds(row, name, truth) for name in ("kept", "named")}


def _holds(row: Mapping[str, Any], name: str, truth: float) -> bool | None:
    low, high = (row[f"{name}_{end}" if name else end] for end in ("low", "high"))
    return None if low is None or np.isnan(low) else bool(low <= truth <= high)


# --- tasks and distances --------------------------------------------------------------------------------------------


def _tasks(num_runs: int, is_random: bool, spread: float, repetition: int) -> dict[str, Outcome]:
    """Texts that are easy or hard, and runs with noise that move all of them."""
    rng = np.random.default_rng([repetition, num_runs, is_random])
    num, truth = 500, 0.7
    easy = rng.beta(3.5, 1.5, num)
    parts = [rng.random(num) < 0.4 if is_random else np.ones(num, np.bool_) for _ in range(num_runs)]
    moves = spread * rng.standard_normal(num_runs)
    hits = [rng.random(part.sum()) < easy[part] + move for part, move in zip(parts, moves, strict=True)]
    return {"value": _holds(mean_accuracy([TaskResult(hit) for hit in hits], parts, LEVEL)._asdict(), "", truth)}


NUM_RUNS = 10


def _read(seed: int, runs: int) -> ReadDistances:
    return ReadDistances(
        row={"mechanism": "M1", "dimensions": WIDTH, "epsilon": 1.0, "beta": 0.0},
        sensitivity=1.0,
        words=30,
        runs=runs,
        seed=seed,
        delta=1e-6,
        intervals=IntervalSettings(LEVEL, "averaged"),
        vocabulary=VOCABULARY,
        map=None,
    )


def _distances(repetition: int) -> dict[str, Outcome]:
    """The words are the seed's; another run with noise of its own is the last of one more."""
    vectors = np.random.default_rng(repetition).standard_normal((60, WIDTH))
    row = first_row(_read(repetition, NUM_RUNS), vectors)
    more = first_row(_read(repetition, NUM_RUNS + 1), vectors)
    other = (NUM_RUNS + 1) * more["error"] - NUM_RUNS * row["error"]
    return {"error": _holds(row, "error", other)}


# --- what is claimed -------------------------------------------------------------------------------------------------

_NAMED = "share that is named, by 1,000 draws of every word"


def _audits(name: str, repetitions: int, num: int, factor: float = 1.0) -> Experiment:
    kind: Kind = "size" if factor == 1.0 else "power"
    about = ("noise is the certificate's", None) if factor == 1.0 else ("noise is 10 % too small", 0.95)
    claims = [
        Claim(column, "release_audits", (column,), kind, "row of the release", *about)
        for column in ("p_value", "p_holm")
    ]
    return Experiment(JOB, f"{JOB}: {name}", repetitions, partial(_audited, num, factor), tuple(claims))


def _covered(name: str, repetitions: int, run: Run, table: str, number: str, unit: str, truth: str) -> Experiment:
    columns = ends(number) if number else ("low", "high")
    claim = Claim(number or "value", table, columns, "coverage", unit, truth)
    level = "operator" if table == "audits" else "stage"
    return Experiment(JOB, f"{JOB}: {name}", repetitions, run, (claim,), level)


def _used(name: str, num_runs: int, is_random: bool, spread: float) -> Experiment:
    run = partial(_tasks, num_runs, is_random, spread)
    return _covered(name, 1000, run, "utility", "", "text and run", "0.7")


def _words(name: str, repetitions: int, run: Run, table: str = "deniability") -> Experiment:
    return _covered(name, repetitions, run, table, "attacker", "word", _NAMED)


def _guesses(name: str, scale: float, draws: int) -> Experiment:
    about = ("word", "by sums over a grid")
    claims = [Claim(column, "word_privacy", ends(column), "coverage", *about) for column in ("kept", "named")]
    return Experiment(JOB, f"{JOB}: {name}", 1000, partial(_guessed, scale, draws), tuple(claims))


EXPERIMENTS = [
    _audits("an honest release of one block", 1000, 300),
    _audits("an honest release of three blocks", 400, 2 * BLOCK_ROWS + 50),
    _audits("an honest release of six rows", 1000, 6),
    _audits("a release with too little noise", 200, 2 * BLOCK_ROWS + 50, 0.9),
    _covered("loss by two bins", 1000, _bounded, "audits", "audited", "release", "log 4"),
    _words("draws of 40 words", 1000, partial(_denied, 400, 0.15, 40)),
    _words("draws of 200 words, few named", 200, partial(_denied, 500, 1.0, 200)),
    _words("40 words released anew", 1000, partial(_given, 400, 0.15, 40), "releases"),
    _guesses("100 words of texts", 0.3, 100),
    _guesses("2,000 words of texts, few named", 3.0, 2000),
    _used("three runs", 3, False, 0.03),
    _used("two runs that noise moves alike", 2, False, 0.0),
    _used("five random parts", 5, True, 0.03),
    _covered("errors of ten runs", 400, _distances, "distances", "error", "run", "error of another run"),
]
