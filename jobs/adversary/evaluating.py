"""What the attacks come to: rates, excess over the controls and asymmetry, by victim, direction and stratum.

Numbers leave the resamples that their intervals are made from. Runs of one seed that have the same texts in the same
groups draw them alike. Each resample takes the candidates of the next replica of the embedding, where a direction
depends on it, so that the scheme then has what tells the replicas from others, too. These draws too are of ``items``,
whose difference is judged around that of the numbers themselves: intervals lie around the mean of the resamples because
replicas lean, but in two runs they lean alike, and the texts that differ may be few.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Tables, each
from tiltmeter.jobs.adversary import tables
from tiltmeter.jobs.adversary.attacking import directions, has_controls
from tiltmeter.jobs.adversary.config import GenderAdversaryRun
from tiltmeter.jobs.adversary.vectors import WholeVectors
from tiltmeter.jobs.classifiers.intervals import drawn, drawn_texts
from tiltmeter.jobs.runtime.draws import Scheme, with_draws
from tiltmeter.jobs.runtime.rows import Row, table_of
from tiltmeter.operators.classifiers.adversary import controls as adversary_controls
from tiltmeter.operators.classifiers.adversary import rates as adversary_rates
from tiltmeter.operators.classifiers.adversary.controls import asymmetry, two_sided
from tiltmeter.operators.classifiers.adversary.rates import Rates, flip_rates, share_of, sized_excess
from tiltmeter.operators.compute.arrays import BoolArray, FloatArray
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.statistics import multiplicity, resampling
from tiltmeter.operators.statistics.intervals import IntervalSettings
from tiltmeter.operators.statistics.multiplicity import holm
from tiltmeter.operators.statistics.resampling import resampled_counts
from tiltmeter.storage.store.ledger import Store, TableRef, Unit

STRATA = ("all", "female", "male", "neither")
_FLIPPED = ("flipped", "flipped_minimal")
_OTHER = {"female": "male", "male": "female"}
_MEASURES = ("is_flip", "fall", "num_candidates", "log10_size")
_KINDS = ("definitional", "associated", "other")
_READ = {
    "texts": ("row", "victim", "text", "group", "predicted", "has_female", "has_male"),
    "attacks": ("row", "victim", "direction", "search", "status", "num_changes"),
    "substitutions": ("row", "victim", "direction", "search", "kind", "shapley", "is_flagged", "is_flip"),
    "outcomes": ("row", "victim", "direction", "control", "replica", *_MEASURES),
}
"""Of the tables in parts."""


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
        "operators": [adversary_rates.VERSION, adversary_controls.VERSION, multiplicity.VERSION, resampling.VERSION],
        "intervals": {"level": config.job.level, "interval": config.job.interval},
        "num_resamples": config.job.num_resamples,
        "directions": directions(config),
        "num_controls": config.controls.number,
        "num_replicas": len(vectors.tables) - 1,
        "replicas": vectors.replicas,
        "seed": config.seed,
    }
    inputs = {name: [ref.select(*_READ[name]) for ref in refs] for name, refs in attacked.items()}
    inputs["pairs"] = list(pairs)
    unit = Unit("adversary_summary/4", "summary", settings, inputs)
    [finished] = runner.run_whole(Stage("evaluate", each(_evaluate), {"texts": [unit]}))["texts"]
    return {name: [finished.tables[name]] for name in ("controls", "summary")}


class _Outcome(NamedTuple):
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

    def within(self, stratum: BoolArray) -> "_Outcome":
        """Of some of the texts."""
        return _Outcome(*(part[..., stratum] for part in self))


class _Resamples(NamedTuple):
    """Of the texts of a stratum.

    Attributes:
        counts: ``[resamples, texts]``, how often each has each text.
        num: texts that are drawn, or groups of them.
        scheme: what the counts are keyed by.
    """

    counts: FloatArray
    num: int
    scheme: Scheme


class _Victim(NamedTuple):
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
    outcomes: Mapping[str, _Outcome]

    def strata(self) -> dict[str, BoolArray]:
        female, male = (self.texts[name].to_numpy().astype(bool) for name in ("has_female", "has_male"))
        return dict(zip(STRATA, (np.ones(len(female), bool), female, male, ~(female | male)), strict=True))


def _evaluate(store: Store, unit: Unit) -> Tables:
    config = unit.config
    frames = {
        name: pl.concat([pl.DataFrame(store.read(ref)) for ref in refs]) for name, refs in unit.inputs.items() if refs
    }
    names = frames["texts"]["victim"].unique(maintain_order=True)
    victims = [_victim(name, frames, config) for name in names]
    yield "controls", table_of(list(_controls(victims, frames.get("pairs"), config)), tables.CONTROLS)
    rows = [row for victim in victims for row in _summary(victim, config)]
    tested = [row for row in rows if (row["stratum"], row["search"]) == ("all", "ladder")]
    adjusted = holm(np.array([row["p_value"] for row in tested], dtype=np.float64))
    for row, p_value in zip(tested, adjusted.tolist(), strict=True):
        row["p_adjusted"] = p_value
    yield from with_draws({"summary": (rows, tables.SUMMARY)}, None)


def _victim(name: str, frames: Mapping[str, pl.DataFrame], config: Mapping[str, Any]) -> _Victim:
    texts, attacks, substitutions, outcomes = (
        frames[table].filter(victim=name) for table in ("texts", "attacks", "substitutions", "outcomes")
    )
    texts = texts.drop_nulls("predicted").sort("row")
    places = texts.select("row").with_row_index("place")
    outcomes = outcomes.join(places, on="row")
    parts = {direction: outcomes.filter(direction=direction) for direction in config["directions"]}
    made = {direction: _outcome(part, texts.height, direction, config) for direction, part in parts.items()}
    return _Victim(name, texts, attacks, substitutions, made)


def _outcome(rows: pl.DataFrame, num_texts: int, direction: str, config: Mapping[str, Any]) -> _Outcome:
    num_controls = config["num_controls"] if has_controls(direction) else 0
    # Names and counterparts are no matter of an embedding, and so the same in every replica.
    num_replicas = config["num_replicas"] if rows["replica"].max() else 0
    along, controls = rows.filter(control=-1), rows.filter(pl.col("control") >= 0)
    original = along.filter(replica=0)
    return _Outcome(
        _dense(along, "replica", "is_flip", (1 + num_replicas, num_texts)),
        *(_dense(original, "replica", name, (1, num_texts))[0] for name in _MEASURES[1:]),
        *(_dense(controls, "control", name, (num_controls, num_texts)) for name in _MEASURES),
    )


def _dense(rows: pl.DataFrame, axis: str, name: str, shape: tuple[int, int]) -> FloatArray:
    """``[axis, texts]``; 0 where a text has no candidate, so that nothing flips or falls."""
    values = np.zeros(shape)
    values[rows[axis].to_numpy(), rows["place"].to_numpy()] = rows[name].cast(pl.Float64).to_numpy()
    return values


def _controls(victims: Sequence[_Victim], pairs: pl.DataFrame | None, config: Mapping[str, Any]) -> Iterator[Row]:
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
                    "flip_rate": _mean(outcome.control_flips[control]),
                    "fall": _mean(outcome.control_falls[control]),
                    "num_candidates": _mean(outcome.control_numbers[control]),
                    "log10_size": _mean(outcome.control_sizes[control]),
                }


def _mean(values: FloatArray) -> float:
    return float(values.mean()) if values.size else np.nan


def _summary(victim: _Victim, config: Mapping[str, Any]) -> Iterator[Row]:
    for stratum, members in victim.strata().items():
        resamples = _resamples(victim.texts.filter(members), stratum, config)
        for direction in config["directions"]:
            same = {"victim": victim.name, "direction": direction, "stratum": stratum}
            same["num_texts"] = int(members.sum())
            yield same | _ladder(victim, direction, members, resamples, config)
            yield from (same | row for row in _others(victim, direction, members, resamples, config))


def _resamples(texts: pl.DataFrame, stratum: str, config: Mapping[str, Any]) -> _Resamples:
    """Of the texts, or of the groups that they are in."""
    if texts.is_empty():
        return _Resamples(np.zeros((config["num_resamples"], 0)), 0, {})
    alone = pl.concat_str(pl.lit("row "), pl.col("row").cast(pl.String))
    groups = texts.select(pl.coalesce(pl.concat_str(pl.lit("group "), "group"), alone).alias("group"))["group"]
    clusters = groups.rank("dense").to_numpy().astype(np.int64) - 1
    strata = np.zeros(int(clusters.max()) + 1, dtype=np.int64)
    about = f"gender adversary\n{stratum}"
    blocks = resampled_counts(strata, config["seed"], document_key(about), config["num_resamples"], clusters)
    drawn_from = list(zip(clusters.tolist(), texts["text"].to_list(), strict=True))
    counts = np.concatenate(list(blocks)).astype(np.float64)
    return _Resamples(counts, len(strata), drawn_texts(drawn_from, config["seed"], about))


def _ladder(
    victim: _Victim, direction: str, members: BoolArray, resamples: _Resamples, config: Mapping[str, Any]
) -> Row:
    settings = IntervalSettings(**config["intervals"])
    outcome = victim.outcomes[direction].within(members)
    attacks = _attacks(victim, direction, "ladder", members)
    falls = flip_rates(outcome.falls[None], outcome.control_falls, resamples.counts, settings, bounded=False)
    num_replicas = len(outcome.flips) - 1
    row = {"search": "ladder", "num_replicas": num_replicas}
    scheme = {**resamples.scheme, "replicas": config["replicas"]} if num_replicas else resamples.scheme
    rates = flip_rates(outcome.flips, outcome.control_flips, resamples.counts, settings)
    row |= _rates(rates, resamples._replace(scheme=scheme))
    row |= {"fall": falls.rate.value, "fall_excess": falls.excess.value, "fall_p_value": falls.p_value}
    row |= _proven(attacks, outcome.flips[0]) | _unflagged(victim, direction, "ladder", members)
    row |= _asymmetry(victim, direction, members) | _shares(victim, direction, members) | _sized(outcome)
    row["mean_candidates"] = _mean(outcome.numbers)
    return row | {"mean_control_candidates": _mean(outcome.control_numbers)}


def _sized(outcome: _Outcome) -> Row:
    """The excess at equal size."""
    if not outcome.control_flips.size:
        return {}
    controls, sizes = outcome.control_flips.mean(axis=1), outcome.control_sizes.mean(axis=1)
    result = sized_excess(_mean(outcome.flips[0]), _mean(outcome.sizes), controls, sizes)
    return {"size_slope": result.slope, "size_excess": result.excess, "size_p_value": result.p_value}


def _rates(rates: Rates, resamples: _Resamples) -> Row:
    row: Row = {"p_value": rates.p_value}
    for name, number in (("flip_rate", rates.rate), ("excess", rates.excess)):
        row |= {name: number.value, f"{name}_low": number.low, f"{name}_high": number.high}
        if not math.isnan(number.low):
            row |= drawn(name, number.resamples, resamples.scheme, resamples.num)
    return row


def _attacks(victim: _Victim, direction: str, search: str, members: BoolArray) -> pl.DataFrame:
    """Of a search along a direction, on some of the texts."""
    rows = victim.texts.filter(members)["row"]
    return victim.attacks.filter(pl.col("row").is_in(rows.implode()), direction=direction, search=search)


def _proven(attacks: pl.DataFrame, flips: FloatArray) -> Row:
    """How many more texts may flip than are known to, and how many one change flips."""
    if not flips.size:
        return {"num_unproven": 0}
    num_open = attacks.filter(status="not_found").height
    one = attacks.filter(pl.col("status").is_in(_FLIPPED), num_changes=1).height
    return {
        "num_unproven": num_open,
        "flip_rate_most": float(flips.mean()) + num_open / flips.size,
        "one_change_rate": one / flips.size,
    }


def _unflagged(victim: _Victim, direction: str, search: str, members: BoolArray) -> Row:
    num_texts = int(members.sum())
    flips = _attacks(victim, direction, search, members).filter(pl.col("status").is_in(_FLIPPED))
    flagged = victim.substitutions.filter(pl.col("is_flagged"), direction=direction, search=search)["row"].unique()
    return {"unflagged_rate": flips.filter(~pl.col("row").is_in(flagged.implode())).height / max(num_texts, 1)}


def _asymmetry(victim: _Victim, direction: str, members: BoolArray) -> Row:
    """Beside the direction to the other gender, and as the controls have it."""
    start, _, gender = direction.rpartition("_to_")
    other = victim.outcomes.get(f"{start}_to_{_OTHER.get(gender, '')}")
    if other is None or not members.any():
        return {}
    outcome, other = victim.outcomes[direction].within(members), other.within(members)
    result = asymmetry(outcome.flips[0] > 0.0, other.flips[0] > 0.0)
    row: Row = {"asymmetry": result.difference, "asymmetry_p": result.p_value}
    if len(outcome.control_flips):
        differences = outcome.control_flips.mean(axis=1) - other.control_flips.mean(axis=1)
        row["asymmetry_control_p"] = two_sided(result.difference, differences)
    return row


def _shares(victim: _Victim, direction: str, members: BoolArray) -> Row:
    rows = victim.texts.filter(members)["row"]
    flips = victim.substitutions.filter(
        pl.col("row").is_in(rows.implode()), pl.col("is_flip"), direction=direction, search="ladder"
    ).drop_nulls("shapley")
    values, kinds = flips["shapley"].to_numpy(), flips["kind"].to_numpy()
    return {f"{kind}_share": share_of(values, kinds == kind) for kind in _KINDS}


def _others(
    victim: _Victim, direction: str, members: BoolArray, resamples: _Resamples, config: Mapping[str, Any]
) -> Iterator[Row]:
    """The searches beside the ladder, which have no controls."""
    rows = victim.texts.filter(members).select("row").with_row_index("place")
    settings = IntervalSettings(**config["intervals"])
    searches = victim.attacks.filter(pl.col("search") != "ladder", direction=direction)["search"].unique().sort()
    for search in searches:
        flipped = _attacks(victim, direction, search, members).filter(pl.col("status").is_in(_FLIPPED))
        flips = np.zeros((1, rows.height))
        flips[0, flipped.join(rows, on="row")["place"].to_numpy()] = 1.0
        rates = _rates(flip_rates(flips, np.zeros((0, rows.height)), resamples.counts, settings), resamples)
        yield {"search": search, "num_replicas": 0} | rates | _unflagged(victim, direction, search, members)
