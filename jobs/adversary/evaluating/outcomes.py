"""What every direction came to, text by text, of each victim."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from tiltmeter.jobs.adversary.attacking import has_controls
from tiltmeter.jobs.classifiers.intervals import drawn_texts
from tiltmeter.jobs.runtime.draws import Scheme
from tiltmeter.operators.compute.arrays import BoolArray, FloatArray
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.statistics.resampling import resampled_counts
from tiltmeter.operators.statistics.units import Units, each, units_of

STRATA = ("all", "female", "male", "neither")
FLIPPED = ("flipped", "flipped_minimal")
_MEASURES = ("is_flip", "fall", "num_candidates", "log10_size")


class Outcome(NamedTuple):
    """What a direction came to, text by text.

    Attributes:
        flips: ``[1 + replicas, texts]``, of the original embedding first.
        falls: ``[texts]``, of the original.
        numbers: ``[texts]``, of candidates.
        control_flips, control_falls: ``[controls, texts]``; no rows without controls.
        control_numbers: mean number of candidates along each control.
    """

    flips: FloatArray
    falls: FloatArray
    numbers: FloatArray
    sizes: FloatArray
    control_flips: FloatArray
    control_falls: FloatArray
    control_numbers: FloatArray
    control_sizes: FloatArray

    def within(self, stratum: BoolArray) -> "Outcome":
        """Of some of the texts."""
        return Outcome(*(part[..., stratum] for part in self))


class Victim(NamedTuple):
    """What was found about a classifier.

    Attributes:
        name: in the tables.
        texts: that it can read, in the order of their rows.
        attacks, substitutions: of the original embedding.
        outcomes: by direction.
    """

    name: str
    texts: pl.DataFrame
    attacks: pl.DataFrame
    substitutions: pl.DataFrame
    outcomes: Mapping[str, Outcome]

    def strata(self) -> dict[str, BoolArray]:
        """``[texts]`` of each, which ones it has."""
        female, male = (self.texts[name].to_numpy().astype(bool) for name in ("has_female", "has_male"))
        return dict(zip(STRATA, (np.ones(len(female), bool), female, male, ~(female | male)), strict=True))


class Stratum(NamedTuple):
    """Some of the texts.

    Attributes:
        members: ``[texts of the victim]``.
        units: of its texts.
        counts: ``[resamples, texts]``, how often each has each text.
        scheme: what the counts are keyed by.
    """

    members: BoolArray
    units: Units
    counts: FloatArray
    scheme: Scheme


def victim_of(name: str, frames: Mapping[str, pl.DataFrame], config: Mapping[str, Any]) -> Victim:
    """A classifier, from tables by their names."""
    texts, attacks, substitutions, outcomes = (
        frames[table].filter(victim=name) for table in ("texts", "attacks", "substitutions", "outcomes")
    )
    texts = texts.drop_nulls("predicted").sort("row")
    places = texts.select("row").with_row_index("place")
    outcomes = outcomes.join(places, on="row")
    parts = {direction: outcomes.filter(direction=direction) for direction in config["directions"]}
    made = {direction: _outcome(part, texts.height, direction, config) for direction, part in parts.items()}
    return Victim(name, texts, attacks, substitutions, made)


def _outcome(rows: pl.DataFrame, num_texts: int, direction: str, config: Mapping[str, Any]) -> Outcome:
    num_controls = config["num_controls"] if has_controls(direction) else 0
    # Names and counterparts are no matter of an embedding, and so the same in every replica.
    num_replicas = config["num_replicas"] if rows["replica"].max() else 0
    along, controls = rows.filter(control=-1), rows.filter(pl.col("control") >= 0)
    original = along.filter(replica=0)
    return Outcome(
        _dense(along, "replica", "is_flip", (1 + num_replicas, num_texts)),
        *(_dense(original, "replica", name, (1, num_texts))[0] for name in _MEASURES[1:]),
        *(_dense(controls, "control", name, (num_controls, num_texts)) for name in _MEASURES),
    )


def _dense(rows: pl.DataFrame, axis: str, name: str, shape: tuple[int, int]) -> FloatArray:
    """``[axis, texts]``; 0 where a text has no candidate, so that nothing flips or falls."""
    values = np.zeros(shape)
    values[rows[axis].to_numpy(), rows["place"].to_numpy()] = rows[name].cast(pl.Float64).to_numpy()
    return values


def stratum_of(texts: pl.DataFrame, members: BoolArray, name: str, config: Mapping[str, Any]) -> Stratum:
    """With resamples of its texts, or of the groups that they are in."""
    groups = texts["group"].to_list()
    is_grouped = any(group is not None for group in groups)
    units = units_of(groups, "group") if is_grouped else each(len(groups), "text")
    about = f"gender adversary\n{name}"
    if texts.is_empty():
        return Stratum(members, units, np.zeros((config["num_resamples"], 0)), {})
    strata = np.zeros(units.num, dtype=np.int64)
    blocks = resampled_counts(strata, config["seed"], document_key(about), config["num_resamples"], units.codes)
    drawn_from = list(zip(units.codes.tolist(), texts["text"].to_list(), strict=True))
    counts = np.concatenate(list(blocks)).astype(np.float64)
    return Stratum(members, units, counts, drawn_texts(drawn_from, config["seed"], about))


def mean_of(values: FloatArray) -> float:
    """NaN of none."""
    return float(values.mean()) if values.size else np.nan
