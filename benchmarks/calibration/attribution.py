"""`attribution`: means over texts and groups, beside random words, of scores that are made up.

Texts of a group share a part of what every method gains over random words.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.calibration.registry import Claim, Experiment, Held, Outcome, ends, holds
from tiltmeter.jobs.classifiers.attribution.summary import SumUp
from tiltmeter.jobs.classifiers.attribution.tables import Explained, Layers, Removed, TextScores
from tiltmeter.operators.statistics.text_intervals import KeyedResampleSettings

JOB = "attribution"
METHODS = ("lime", "occlusion", "saliency")


def summed(repetition: int, num_groups: int, size: int, gain: float) -> dict[str, list[dict[str, Any]]]:
    """Tables by their names, of methods whose mean over random words is ``gain`` for the first, and none for others."""
    rng = np.random.default_rng([repetition, num_groups, 45])
    groups = np.repeat(np.arange(num_groups), size)
    texts, scores, layers = [], [], []
    random = rng.uniform(0.1, 0.5, groups.size)
    for number, method in enumerate(METHODS):
        shared, own = rng.normal(0.0, 0.1, num_groups)[groups], rng.normal(0.0, 0.1, groups.size)
        values = random + shared + own + (gain if number == 0 else 0.0)
        for row, value in enumerate(values.tolist()):
            about = {"row": row, "method": method}
            scores.append(
                about
                | {"weights": "own", "measure": "comprehensiveness", "removal": "delete", "best": 1.0}
                | {"value": value, "random": float(random[row])}
            )
            layers.append(about | {"step": 1, "layer": "top", "kept": [], "correlation": value - float(random[row])})
    for row, group in enumerate(groups.tolist()):
        texts.append({"row": row, "id": str(row), "text": f"text {row}", "group": str(group), "num_words": 5})
    tables = {
        "texts": pa.Table.from_pylist([{"status": "ok", "reason": ""} | text for text in texts], Explained.schema()),
        "scores": pa.Table.from_pylist(scores, TextScores.schema()),
        "layers": pa.Table.from_pylist(layers, Layers.schema()),
        "removals": pa.Table.from_pylist([], Removed.schema()),
    }
    refs: dict[str, Any] = {role: [role] for role in tables}
    held: Any = Held(tables)
    work = SumUp(**refs, decoys=[], intervals=KeyedResampleSettings(num_resamples=5), seed=0)
    return {name: table.to_pylist() for name, table in work.tables(held)}


def _least(rows: list[dict[str, Any]], column: str) -> float | None:
    known = [row[column] for row in rows if row[column] is not None]
    return min(known) if known else None


def _judged(num_groups: int, size: int, repetition: int) -> Mapping[str, Outcome]:
    null, found = (summed(repetition, num_groups, size, gain) for gain in (0.0, 0.15))
    rows, moved = ({row["method"]: row for row in made["faithfulness"]} for made in (null, found))
    first = rows["lime"]
    [pair] = [row for row in null["method_pairs"] if (row["method"], row["other"]) == ("lime", "occlusion")]
    [step] = [row for row in null["randomised_layers"] if (row["method"], row["step"]) == ("lime", 1)]
    return {
        "value": holds(first, "", 0.3),
        "less_random": holds(first, "less_random", 0.0),
        "difference": holds(pair, "difference", 0.0),
        "correlation": holds(step, "correlation", 0.0),
        "p": first["p_value"],
        "p_max_t": _least([rows[name] for name in METHODS], "p_max_t"),
        "p_pairs": _least(null["method_pairs"], "p_max_t"),
        "power": moved["lime"]["p_value"],
        "power_max_t": moved["lime"]["p_max_t"],
        "power_pairs": _least(found["method_pairs"], "p_max_t"),
    }


def _claims(unit: str) -> tuple[Claim, ...]:
    nothing, more = "no method gains over random words, or on another", "one method gains 0.15"
    return (
        Claim("value", "faithfulness", ("low", "high"), "coverage", unit, "mean of the generator"),
        Claim("less_random", "faithfulness", ends("less_random"), "coverage", unit, nothing),
        Claim("difference", "method_pairs", ends("difference"), "coverage", unit, nothing),
        Claim("correlation", "randomised_layers", ends("correlation"), "coverage", unit, "mean of the generator"),
        Claim("p", "faithfulness", ("p_value",), "size", unit, nothing),
        Claim("p_max_t", "faithfulness", ("p_max_t",), "size", unit, f"{nothing}: the least of three"),
        Claim("p_pairs", "method_pairs", ("p_max_t",), "size", unit, f"{nothing}: the least of three"),
        Claim("power", "faithfulness", ("p_value",), "power", unit, more, 0.8),
        Claim("power_max_t", "faithfulness", ("p_max_t",), "power", unit, more, 0.7),
        Claim("power_pairs", "method_pairs", ("p_max_t",), "power", unit, more, 0.5),
    )


EXPERIMENTS = [
    Experiment(
        JOB,
        "20 groups of 3 texts that are explained",
        400,
        lambda repetition: _judged(20, 3, repetition),
        _claims("group"),
    ),
    Experiment(
        JOB, "40 texts that are explained", 400, lambda repetition: _judged(40, 1, repetition), _claims("group")
    ),
]
