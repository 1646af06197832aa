"""`survey`: halves of two words in noisy vectors, of which those of one lean apart and those of the other do not."""

from collections.abc import Mapping
from functools import cache, partial
from typing import Any, cast

import numpy as np

from benchmarks.calibration.embedding import DIMS, drawn_again, other_corpora
from benchmarks.calibration.embedding import Words as Known
from benchmarks.calibration.registry import Claim, Experiment, Held, Outcome, Ref, ends, holds
from tiltmeter.jobs.embedding.lookup import Vectors
from tiltmeter.jobs.embedding.vectors import matrix
from tiltmeter.jobs.survey.control import MeasureControl, Plant
from tiltmeter.jobs.survey.tables import Control
from tiltmeter.operators.psychophysics.pooling import mean_flips

PLANTS = Plant("planted", 0.5), Plant("plain", 0.0)
PAIRS = tuple((f"she{number}", f"he{number}") for number in range(6))
_HALVES = [half for plant in PLANTS for half in plant.halves]
_NAMES = [*_HALVES, *(cue for pair in PAIRS for cue in pair)]


@cache
def _known() -> Known:
    """Cues on two sides of an axis; halves that are one word, but for the lean of those of the first."""
    rng = np.random.default_rng(79)
    halves = np.repeat(0.8 * rng.standard_normal((2, DIMS)), 2, axis=0)
    halves[:2, 0] = 2.0, -2.0
    cues = 0.6 * rng.standard_normal((len(PAIRS), 2, DIMS))
    cues[..., 0] += np.array([1.5, -1.5])
    return Known(_NAMES, np.concatenate([halves, cues.reshape(-1, DIMS)]))


@cache
def _truths() -> Mapping[str, float]:
    """Means over other corpora, of which each is its own original."""
    vectors = np.stack([matrix(table["vector"]) for table in other_corpora(_known(), np.random.default_rng(83))])
    cues = [[vectors[:, [_NAMES.index(cue)]] for cue in pair] for pair in PAIRS]
    means = mean_flips(vectors[:, : len(_HALVES)], [(one, other) for one, other in cues]).mean(axis=0)
    return dict(zip(_HALVES, means.tolist(), strict=True))


def _rows(repetition: int, num_replicas: int) -> list[Control]:
    tables = drawn_again(_known(), np.random.default_rng([repetition, num_replicas, 89]), num_replicas)
    refs = [Ref(f"embedding {number}") for number in range(len(tables))]
    model = Vectors("aa", "aa", cast(Any, refs))
    work = MeasureControl(model=model, plants=PLANTS, pairs=PAIRS, planted=[])
    return list(work.rows(cast(Any, Held(dict(zip(refs, tables, strict=True))))))


def _controls(num_replicas: int, repetition: int) -> dict[str, Outcome]:
    outcomes: dict[str, Outcome] = {}
    for row, plant, name in zip(_rows(repetition, num_replicas), PLANTS, ("planted", "plain"), strict=True):
        first, second = (_truths()[half] for half in plant.halves)
        truths = {"first": first, "second": second, "difference": first - second if plant.share else 0.0}
        numbers = {column: getattr(row, column) for column in truths}
        cells = {f"{column}_{end}": getattr(of, end) for column, of in numbers.items() for end in ("low", "high")}
        outcomes |= {f"{name}: {column}": holds(cells, column, truth) for column, truth in truths.items()}
        outcomes[f"{name}: p"] = row.p
    return outcomes


def _claims() -> tuple[Claim, ...]:
    unit = "replica of the corpus"
    intervals = [
        Claim(f"{name}: {column}", "control", ends(column), "coverage", unit, "mean over other corpora", None, True)
        for name in ("planted", "plain")
        for column in ("first", "second", "difference")
    ]
    return (
        *intervals,
        Claim("planted: p", "control", ("p",), "power", unit, "the halves lean apart", 0.9),
        Claim("plain: p", "control", ("p",), "size", unit, "the halves are one word"),
    )


EXPERIMENTS = [Experiment("survey", "survey: a planted lean, 12 replicas", 1000, partial(_controls, 12), _claims())]
