"""What the attacks come to: rates, excess over the controls and asymmetry, by victim, direction and stratum.

The unit of every interval and test over texts is the group that a text is in (``data.group``), or the text. Numbers
leave resamples of the same units, by which later runs are compared: runs of one seed that have the same texts in the
same groups draw them alike. Each resample takes the candidates of the next replica of the embedding, where a direction
depends on it. In two runs replicas lean alike, and the texts that differ may be few.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Tables, each
from tiltmeter.jobs.adversary import tables
from tiltmeter.jobs.adversary.attacking import directions, has_controls
from tiltmeter.jobs.adversary.config import GenderAdversaryRun
from tiltmeter.jobs.adversary.evaluating.outcomes import Victim, mean_of, victim_of
from tiltmeter.jobs.adversary.evaluating.rows import summary_rows
from tiltmeter.jobs.adversary.vectors import WholeVectors
from tiltmeter.jobs.runtime.draws import with_draws
from tiltmeter.jobs.runtime.rows import Row, table_of
from tiltmeter.operators.classifiers.adversary import controls as adversary_controls
from tiltmeter.operators.classifiers.adversary import rates as adversary_rates
from tiltmeter.operators.statistics import flips, means, multiplicity, resampling
from tiltmeter.operators.statistics.designs import controls
from tiltmeter.operators.statistics.multiplicity import holm
from tiltmeter.storage.store.ledger import Store, TableRef, Unit

_MEASURES = ("is_flip", "fall", "num_candidates", "log10_size")
_READ = {
    "texts": ("row", "victim", "text", "group", "predicted", "has_female", "has_male"),
    "attacks": ("row", "victim", "direction", "search", "status", "num_changes"),
    "substitutions": ("row", "victim", "direction", "search", "kind", "shapley", "is_flagged", "is_flip"),
    "outcomes": ("row", "victim", "direction", "control", "replica", *_MEASURES),
}
"""Of the tables in parts."""

_OPERATORS = (adversary_rates, adversary_controls, controls, flips, means, multiplicity, resampling)


def evaluate(
    runner: Runner,
    config: GenderAdversaryRun,
    attacked: Mapping[str, Sequence[TableRef]],
    pairs: Sequence[TableRef],
    vectors: WholeVectors,
) -> dict[str, list[TableRef]]:
    """Tables ``controls`` and ``summary``.

    Args:
        attacked: tables in parts, by name.
        pairs: whose differences the controls are.
        vectors: of the embedding and its replicas.
    """
    settings = {
        "operators": [module.VERSION for module in _OPERATORS],
        "level": config.job.level,
        "num_resamples": config.job.num_resamples,
        "directions": directions(config),
        "num_controls": config.controls.number,
        "num_replicas": len(vectors.tables) - 1,
        "replicas": vectors.replicas,
        "seed": config.seed,
    }
    inputs = {name: [ref.select(*_READ[name]) for ref in refs] for name, refs in attacked.items()}
    inputs["pairs"] = list(pairs)
    unit = Unit("adversary_summary/5", "summary", settings, inputs)
    [finished] = runner.run_whole(Stage("evaluate", each(_evaluate), {"texts": [unit]}))["texts"]
    return {name: [finished.tables[name]] for name in ("controls", "summary")}


def _evaluate(store: Store, unit: Unit) -> Tables:
    config = unit.config
    frames = {
        name: pl.concat([pl.DataFrame(store.read(ref)) for ref in refs]) for name, refs in unit.inputs.items() if refs
    }
    names = frames["texts"]["victim"].unique(maintain_order=True)
    victims = [victim_of(name, frames, config) for name in names]
    yield "controls", table_of(list(_controls(victims, frames.get("pairs"), config)), tables.CONTROLS)
    rows = [row for victim in victims for row in summary_rows(victim, config)]
    _adjust([row for row in rows if row["stratum"] == "all"])
    yield from with_draws({"summary": (rows, tables.SUMMARY)}, None)


def _adjust(rows: Sequence[Row]) -> None:
    """After Holm, of each search over all victims and directions; two ways that are held together are one test."""
    for search in dict.fromkeys(row["search"] for row in rows):
        tested = [row for row in rows if row["search"] == search]
        for row, p_value in zip(tested, _holm(tested, "p_value"), strict=True):
            row["p_adjusted"] = p_value
        one_way = [row for row in tested if row["direction"].endswith("_to_female")]
        adjusted = dict(zip(map(_kind, one_way), _holm(one_way, "asymmetry_p"), strict=True))
        for row in tested:
            row["asymmetry_p_adjusted"] = adjusted.get(_kind(row))


def _kind(row: Row) -> tuple[str, str]:
    """The victim, and the direction whichever way."""
    return row["victim"], row["direction"].rpartition("_to_")[0]


def _holm(rows: Sequence[Row], name: str) -> list[float]:
    p_values: list[float] = holm(np.array([row.get(name, np.nan) for row in rows], dtype=np.float64)).tolist()
    return p_values


def _controls(victims: Sequence[Victim], pairs: pl.DataFrame | None, config: Mapping[str, Any]) -> Iterator[Row]:
    words = {} if pairs is None else {(row[0], row[1]): row[2] for row in pairs.iter_rows()}
    for victim in victims:
        for direction in filter(has_controls, config["directions"]):
            outcome = victim.outcomes[direction]
            for control in range(config["num_controls"]):
                yield {
                    "victim": victim.name,
                    "direction": direction,
                    "control": control,
                    "words": words.get((direction, control), ""),
                    "flip_rate": mean_of(outcome.control_flips[control]),
                    "fall": mean_of(outcome.control_falls[control]),
                    "num_candidates": mean_of(outcome.control_numbers[control]),
                    "log10_size": mean_of(outcome.control_sizes[control]),
                }
