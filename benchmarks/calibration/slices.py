"""Slices of one corpus against each other: numbers of documents that are dealt to slices by chance, or rise over them.

A document has a value for each of three numbers, with long tails; a number of a slice is the mean over its documents,
and what training adds. Replicas weigh documents by Poisson counts, each document alike in all slices that have it.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from benchmarks.calibration.registry import Claim, Experiment, Held, Outcome, Ref, ends, holds
from tiltmeter.jobs.association.tables import Associations
from tiltmeter.jobs.embedding.slice_differences.contrasts import CompareSlices
from tiltmeter.jobs.embedding.tables import CorpusSlices
from tiltmeter.jobs.runtime.draws import DRAWS, row_key
from tiltmeter.jobs.runtime.table import table_from
from tiltmeter.operators.compute.arrays import FloatArray

SCHEME = '{"paired_by": "replicas", "seed": 0}'
NUM_TESTS, TRAINING = 3, 0.03
"""Numbers, and the standard deviation of what training adds to each; drawing documents makes about 0.15."""


def compared(
    values: FloatArray,
    draws: Any,
    places: Sequence[float | None] | None = None,
    schemes: Sequence[str] | None = None,
) -> dict[str, pl.DataFrame]:
    """The tables of slices ``a/00``, ... of numbers ``[tests, slices]`` with draws ``[tests, slices, draws]``."""
    names = [f"a/{at:02d}" for at in range(np.shape(values)[1])]
    places, schemes = places or [float(at) for at in range(len(names))], schemes or [SCHEME] * len(names)
    slices = [
        CorpusSlices(corpus=name, language="en", whole="a", field="f", value=name[2:], place=place)
        for name, place in zip(names, places, strict=True)
    ]
    none = CorpusSlices(corpus="a", language="en", whole="a", field="f").fail("in_no_slice", "without the field")
    numbers, drawn = [], []
    for test, (of_test, draws_of_test) in enumerate(zip(values, draws, strict=True)):
        for name, value, its_draws, scheme in zip(names, of_test, draws_of_test, schemes, strict=True):
            key = {"model": name, "language": "en", "test": f"t{test}", "similarity": "cosine", "statistic": "mean"}
            number = None if np.isnan(value) else float(value)
            numbers.append(Associations(**key, absolute_effect_size=number))
            about = {"table": "associations", "key": row_key(key), "column": "absolute_effect_size", "scheme": scheme}
            drawn.append(about | {"values": list(its_draws)})
    held: dict[str, pa.Table] = {
        "slices": table_from([*slices, none], CorpusSlices),
        "numbers": table_from(numbers, Associations),
        "draws": pa.Table.from_pylist(drawn, DRAWS),
    }
    work: Any = CompareSlices(names=["associations"], **{name: [Ref(name)] for name in held})  # type: ignore[arg-type]
    return {name: pl.DataFrame(table) for name, table in work.tables(Held(held))}


def _dealt(rng: np.random.Generator, num: int, documents: int, replicas: int, rise: float) -> dict[str, pl.DataFrame]:
    """Slices that share a twentieth of the documents with each of the others."""
    place = rng.integers(num, size=num * documents)
    member = (place[:, np.newaxis] == np.arange(num)) | (rng.random((place.size, num)) < 0.05)
    values = rng.lognormal(0.0, 0.8, (place.size, NUM_TESTS)) + rise * place[:, np.newaxis]
    weights = np.concatenate([np.ones((1, place.size)), rng.poisson(1.0, (replicas, place.size))])
    counts = np.einsum("rd,dk->kr", weights, member)
    means = np.einsum("rd,dk,dt->tkr", weights, member, values, optimize=True) / counts
    means += TRAINING * rng.standard_normal(means.shape)
    return compared(means[..., 0], means[..., 1:])


def _slices(repetition: int, num: int, documents: int, replicas: int, rise: float) -> dict[str, Outcome]:
    rng = np.random.default_rng([repetition, num, documents])
    differences, trends = (rows.to_dicts() for rows in _dealt(rng, num, documents, replicas, 0.0).values())
    pair, rest, trend = differences[0], differences[-1], trends[0]
    outcome: dict[str, Outcome] = {
        "pair": pair["p"],
        "p": rest["p"],
        "q": min(row["q"] for row in differences),
        "difference": holds(rest, "difference", 0.0),
        "slope": holds(trend, "slope", 0.0),
        "p of a slope": trend["p"],
        "q of slopes": min(row["q"] for row in trends),
    }
    differences, trends = (rows.to_dicts() for rows in _dealt(rng, num, documents, replicas, rise).values())
    return outcome | {"power": differences[-1]["p"], "power of a slope": trends[0]["p"]}


_NULL, _RISE = "documents are dealt to slices by chance", "a number rises from slice to slice"
CLAIMS = (
    Claim("pair", "slice_differences", ("p",), "size", "document", _NULL),
    Claim("p", "slice_differences", ("p",), "size", "document", _NULL),
    Claim("q", "slice_differences", ("q",), "size", "document", _NULL),
    Claim("difference", "slice_differences", ends("difference"), "coverage", "document", "0"),
    Claim("power", "slice_differences", ("p", "q"), "power", "document", _RISE, 0.5),
    Claim("p of a slope", "slice_trends", ("p",), "size", "document", _NULL),
    Claim("q of slopes", "slice_trends", ("q",), "size", "document", _NULL),
    Claim("slope", "slice_trends", ends("slope"), "coverage", "document", "0"),
    Claim("power of a slope", "slice_trends", ("p", "q"), "power", "document", _RISE, 0.5),
)
EXPERIMENTS = [
    Experiment("association", "six slices", 400, partial(_slices, num=6, documents=80, replicas=32, rise=0.2), CLAIMS),
    Experiment(
        "association", "three slices", 400, partial(_slices, num=3, documents=80, replicas=16, rise=0.4), CLAIMS
    ),
]
