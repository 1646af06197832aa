"""`sentence_pairs`: shares and differences over units, beside control pairs, of scores that are made up.

Pairs of a template, or of an author, share a part of their difference.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.calibration.registry import Claim, Experiment, Held, Outcome, ends, holds
from tiltmeter.jobs.language_models.config import Pairing
from tiltmeter.jobs.language_models.scores import TRIPLE
from tiltmeter.jobs.language_models.summary import SumUp
from tiltmeter.jobs.language_models.tables import Prepared, Scored
from tiltmeter.operators.compute.arrays import FloatArray
from tiltmeter.operators.statistics.text_intervals import KeyedResampleSettings

JOB = "sentence_pairs"
TABLES = {"results": 0.5, "contrasts": 0.0}
"""With the share of a model without preferences."""

P_VALUES = ("p_share", "p_difference", "p_holm")


def summed(rows: list[dict[str, Any]], scores: FloatArray) -> dict[str, list[dict[str, Any]]]:
    """Tables by their names.

    Args:
        rows: of pairs: ``kind``, ``template``, ``compared``.
        scores: ``[2, pairs]``, of both sentences.
    """
    pairs = [{"row": at, "id": str(at), "more": f"more {at}", "less": "less"} | row for at, row in enumerate(rows)]
    scored = [
        {"model": "m", "score": "pll", "row": at, "score_more": more, "score_less": less, "pieces": 0, "status": "ok"}
        | dict.fromkeys(("per_token", "per_word", "per_character"), more - less)
        for at, (more, less) in enumerate(scores.T.tolist())
    ]
    held: Any = Held(
        {
            "pairs": pa.Table.from_pylist(pairs, Prepared.schema()),
            "scores": pa.Table.from_pylist(scored, Scored.schema()),
        }
    )
    refs: dict[str, Any] = {name: [name] for name in ("pairs", "scores")}
    pairing = Pairing(unit=None, weigh="pairs", ties="half")
    intervals = KeyedResampleSettings(num_resamples=200)
    work = SumUp(**refs, drawn="template", pairing=pairing, intervals=intervals, seed=0)
    return {name: table.to_pylist() for name, table in work.tables(held)}


def _beside(num: int, controls: int, shift: float, seed: int) -> dict[str, list[dict[str, Any]]]:
    """Templates of one to six bias pairs and others of three control pairs, whose differences have the same mean."""
    rng = np.random.default_rng([seed, num, controls, 46])
    sizes = [*rng.integers(1, 7, num).tolist(), *[3] * controls]
    units = np.repeat(np.arange(len(sizes)), sizes)
    rows = [{"kind": "bias" if unit < num else "control", "template": str(unit), "compared": ""} for unit in units]
    is_bias = np.array([row["kind"] == "bias" for row in rows])
    more = rng.normal(0.0, 0.5, len(sizes))[units] + rng.normal(0.0, 1.0, units.size) + shift * is_bias
    return summed(rows, np.stack([more, np.zeros(units.size)]))


def _pairs(num: int, controls: int, repetition: int) -> Mapping[str, Outcome]:
    null, moved = (_beside(num, controls, shift, repetition) for shift in (0.0, 1.0))
    outcomes: dict[str, Outcome] = {}
    for table, share in TABLES.items():
        row = null[table][0]
        outcomes |= {f"{table} {name}": row[name] for name in P_VALUES}
        outcomes |= {f"{table} share": holds(row, "share", share), f"{table} difference": holds(row, "difference", 0.0)}
        outcomes |= {f"{table} power of {name}": moved[table][0][name] for name in P_VALUES}
    return outcomes


def _claims(table: str, power: float) -> Iterator[Claim]:
    unit, nothing = "template", "no pair of either kind is preferred"
    for name in P_VALUES:
        yield Claim(f"{table} {name}", table, (name,), "size", unit, nothing)
        more = "bias pairs are, by 1 nat"
        yield Claim(f"{table} power of {name}", table, (name,), "power", unit, more, power)
    for name in ("share", "difference"):
        yield Claim(f"{table} {name}", table, ends(name), "coverage", unit, nothing)


def _triples(stereotype: float, repetition: int) -> Mapping[str, Outcome]:
    """30 terms of one to five triples, of which a share is by term; meaning is preferred in 80 %."""
    rng = np.random.default_rng([repetition, int(100 * stereotype), 46])
    terms = np.repeat(np.arange(30), rng.integers(1, 6, 30))
    chances = [stereotype + rng.uniform(-0.2, 0.2, 30), *(0.8 + rng.uniform(-0.15, 0.15, (2, 30)))]
    rows, more = [], []
    for term in terms.tolist():
        for compared, chance in zip(TRIPLE, chances, strict=True):
            kind = "bias" if compared == TRIPLE[0] else "meaning"
            rows.append({"kind": kind, "template": str(term), "compared": compared, "category": "c"})
            more.append(float(rng.random() < chance[term]) - 0.5)
    [made] = summed(rows, np.stack([np.array(more), np.zeros(len(more))]))["stereoset"]
    truth = {"ss": 100 * stereotype, "lms": 80.0, "icat": 1.6 * min(100 * stereotype, 100 - 100 * stereotype)}
    return {name: holds(made, name, value) for name, value in truth.items()}


_TRIPLES = tuple(
    Claim(name, "stereoset", ends(name), "coverage", "term", "of the generator") for name in ("ss", "lms", "icat")
)

EXPERIMENTS = [
    Experiment(
        JOB,
        "20 templates of pairs and 10 of control pairs",
        400,
        lambda repetition: _pairs(20, 10, repetition),
        (*_claims("results", 0.9), *_claims("contrasts", 0.5)),
    ),
    *(
        Experiment(
            JOB,
            f"triples of 30 terms, of which {stereotype:.0%} are stereotypes",
            400,
            lambda repetition, stereotype=stereotype: _triples(stereotype, repetition),
            _TRIPLES,
        )
        for stereotype in (0.5, 0.65)
    ),
]
