"""What the attacks come to: rates, excess over the controls and asymmetry, by victim, direction and stratum.

The unit of every interval and test over texts is the group that a text is in (``data.group``), or the text. Numbers
leave resamples of the same units, by which later runs are compared: runs of one seed that have the same texts in the
same groups draw them alike. Each resample takes the candidates of the next replica of the embedding, where a direction
depends on it. In two runs replicas lean alike, and the texts that differ may be few.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl

from tiltmeter.jobs.adversary.config import has_controls
from tiltmeter.jobs.adversary.tables import FLIPPED, LADDER, Controls, Pairs, Summary
from tiltmeter.jobs.classifiers.intervals import drawn_texts, estimate_of
from tiltmeter.jobs.runtime.draws import Scheme
from tiltmeter.jobs.runtime.table import Estimate, Table
from tiltmeter.jobs.runtime.work import Work
from tiltmeter.operators.classifiers.adversary import controls as adversary_controls
from tiltmeter.operators.classifiers.adversary import rates as adversary_rates
from tiltmeter.operators.classifiers.adversary.controls import asymmetry, excess, two_sided
from tiltmeter.operators.classifiers.adversary.rates import flip_rates, resampled_rates, share_of, sized_excess
from tiltmeter.operators.compute.arrays import BoolArray, FloatArray
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.statistics import flips, means, multiplicity, resampling
from tiltmeter.operators.statistics.designs import controls
from tiltmeter.operators.statistics.means import share
from tiltmeter.operators.statistics.multiplicity import holm
from tiltmeter.operators.statistics.resampling import resampled_counts
from tiltmeter.operators.statistics.units import Inferred, TooFew, Units, each, units_of
from tiltmeter.storage.store.ledger import Store, TableRef

_MEASURES = ("is_flip", "fall", "num_candidates", "log10_size")
READ = {
    "texts": ("row", "victim", "text", "group", "predicted", "has_female", "has_male"),
    "attacks": ("row", "victim", "direction", "search", "status", "num_changes"),
    "substitutions": ("row", "victim", "direction", "search", "kind", "shapley", "is_flagged", "is_flip"),
    "outcomes": ("row", "victim", "direction", "control", "replica", *_MEASURES),
}
"""Columns of the tables in parts."""

_OPERATORS = (adversary_rates, adversary_controls, controls, flips, means, multiplicity, resampling)
_OTHER = {"female": "male", "male": "female"}
_NO_TEXTS = "the victim reads no text of this stratum"


class EvaluateAttacks(Work, unit="adversary_summary/5", stage="evaluate", makes=[Controls, Summary]):
    """Of all victims: each control, and each direction and search on each stratum of the texts.

    Attributes:
        texts, attacks, substitutions, outcomes: in parts, with the columns of ``READ``.
        pairs: whose differences the controls are.
        directions: names of all.
        replicas: what tells the embedding's replicas from those of other runs.
    """

    level: float
    num_resamples: int
    directions: Sequence[str]
    num_controls: int
    num_replicas: int
    replicas: Scheme
    seed: int
    texts: Sequence[TableRef]
    attacks: Sequence[TableRef]
    substitutions: Sequence[TableRef]
    outcomes: Sequence[TableRef]
    pairs: Sequence[TableRef]
    operators: Sequence[str] = tuple(module.VERSION for module in _OPERATORS)

    def rows(self, store: Store) -> Iterator[Table]:
        """P-values are adjusted at the end, over all victims."""
        frames = {name: pl.concat([pl.DataFrame(store.read(ref)) for ref in getattr(self, name)]) for name in READ}
        pairs = {(row.direction, row.control): row.words for ref in self.pairs for row in Pairs.read(store, ref)}
        rows: list[Summary] = []
        for name in frames["texts"]["victim"].unique(maintain_order=True):
            victim = self._victim(name, *(frames[table].filter(victim=name) for table in READ))
            yield from self._control_rows(victim, pairs)
            for stratum, members in _strata(victim.texts).items():
                part = self._stratum(stratum, victim.within(members), members)
                for direction in self.directions:
                    rows += [part.ladder(direction), *part.others(direction)]
        _adjust([row for row in rows if row.stratum == "all"])
        yield from rows

    def _victim(
        self, name: str, texts: pl.DataFrame, attacks: pl.DataFrame, substitutions: pl.DataFrame, outcomes: pl.DataFrame
    ) -> "_Victim":
        texts = texts.drop_nulls("predicted").sort("row")
        outcomes = outcomes.join(texts.select("row").with_row_index("place"), on="row")
        parts = {direction: outcomes.filter(direction=direction) for direction in self.directions}
        measured = {direction: self._outcome(part, texts.height, direction) for direction, part in parts.items()}
        others = attacks.filter(pl.col("search") != LADDER)
        searches = {name: others.filter(direction=name)["search"].unique().sort().to_list() for name in measured}
        return _Victim(name, texts, attacks, substitutions, measured, searches)

    def _outcome(self, rows: pl.DataFrame, num_texts: int, direction: str) -> "_Outcome":
        num_controls = self.num_controls if has_controls(direction) else 0
        # Names and counterparts are no matter of an embedding, and so the same in every replica.
        num_replicas = self.num_replicas if rows["replica"].max() else 0
        along, controls = rows.filter(control=-1), rows.filter(pl.col("control") >= 0)
        original = along.filter(replica=0)
        flips = _dense(along, "replica", "is_flip", (1 + num_replicas, num_texts))
        return _Outcome(
            {name: _dense(original, "replica", name, (1, num_texts)) for name in _MEASURES} | {"is_flip": flips},
            {name: _dense(controls, "control", name, (num_controls, num_texts)) for name in _MEASURES},
        )

    def _control_rows(self, victim: "_Victim", words: Mapping[tuple[str, int], str]) -> Iterator[Controls]:
        for direction in filter(has_controls, self.directions):
            measured = [victim.outcomes[direction].controls[name] for name in _MEASURES]
            for control in range(self.num_controls):
                row = Controls(victim=victim.name, direction=direction, control=control)
                row.words = words.get((direction, control), "")
                row.flip_rate, row.fall, row.num_candidates, row.log10_size = (
                    _mean(part[control]) for part in measured
                )
                yield row

    def _stratum(self, name: str, victim: "_Victim", members: BoolArray) -> "_Stratum":
        """With resamples of its texts, or of the groups that they are in."""
        groups, about = victim.texts["group"].to_list(), f"gender adversary\n{name}"
        is_grouped = any(group is not None for group in groups)
        units = units_of(groups, "group") if is_grouped else each(len(groups), "text")
        if not groups:
            return _Stratum(self, name, victim, members, units, np.zeros((self.num_resamples, 0)), {})
        strata = np.zeros(units.num, dtype=np.int64)
        blocks = resampled_counts(strata, self.seed, document_key(about), self.num_resamples, units.codes)
        drawn_from = list(zip(units.codes.tolist(), victim.texts["text"].to_list(), strict=True))
        counts = np.concatenate(list(blocks)).astype(np.float64)
        return _Stratum(self, name, victim, members, units, counts, drawn_texts(drawn_from, self.seed, about))


def _strata(texts: pl.DataFrame) -> dict[str, BoolArray]:
    """``[texts]`` of each, which ones it has."""
    female, male = (texts[name].to_numpy().astype(bool) for name in ("has_female", "has_male"))
    return {"all": np.ones(len(female), bool), "female": female, "male": male, "neither": ~(female | male)}


def _dense(rows: pl.DataFrame, axis: str, name: str, shape: tuple[int, int]) -> FloatArray:
    """``[axis, texts]``; 0 where a text has no candidate, so that nothing flips or falls."""
    values = np.zeros(shape)
    values[rows[axis].to_numpy(), rows["place"].to_numpy()] = rows[name].cast(pl.Float64).to_numpy()
    return values


def _mean(values: FloatArray) -> float:
    """NaN of none."""
    return float(values.mean()) if values.size else np.nan


def _adjust(rows: Sequence[Summary]) -> None:
    """After Holm, of each search over all victims and directions; two ways that are held together are one test."""
    for search in dict.fromkeys(row.search for row in rows):
        tested = [row for row in rows if row.search == search]
        for row, p_value in zip(tested, _holm([row.p_value for row in tested]), strict=True):
            row.p_adjusted = p_value
        one_way = [row for row in tested if row.direction.endswith("_to_female")]
        adjusted = dict(zip(map(_kind, one_way), _holm([row.asymmetry_p for row in one_way]), strict=True))
        for row in tested:
            row.asymmetry_p_adjusted = adjusted.get(_kind(row), np.nan)


def _kind(row: Summary) -> tuple[str, str]:
    """The victim, and the direction whichever way."""
    return row.victim, row.direction.rpartition("_to_")[0]


def _holm(p_values: Sequence[float]) -> list[float]:
    adjusted: list[float] = holm(np.array(p_values, dtype=np.float64)).tolist()
    return adjusted


# --- what is known of a victim --------------------------------------------------------------------------------------


class _Outcome(NamedTuple):
    """What a direction came to, text by text.

    Attributes:
        along: each of ``_MEASURES`` in the original embedding, ``[1, texts]``; flips also in its replicas, behind it.
        controls: the same along its controls, ``[controls, texts]``.
    """

    along: Mapping[str, FloatArray]
    controls: Mapping[str, FloatArray]

    def within(self, members: BoolArray) -> "_Outcome":
        """Of some of the texts."""
        return _Outcome(*({name: values[:, members] for name, values in part.items()} for part in self))


class _Victim(NamedTuple):
    """A classifier.

    Attributes:
        texts: that it can read, in the order of their rows.
        attacks, substitutions: of the original embedding.
        outcomes: by direction.
        searches: beside the ladder, by direction; a stratum without a text has them too.
    """

    name: str
    texts: pl.DataFrame
    attacks: pl.DataFrame
    substitutions: pl.DataFrame
    outcomes: Mapping[str, _Outcome]
    searches: Mapping[str, Sequence[str]]

    def within(self, members: BoolArray) -> "_Victim":
        """On some of its texts, the outcomes aside, which are large."""
        texts = self.texts.filter(members)
        has_row = pl.col("row").is_in(texts["row"].implode())
        attacks, substitutions = self.attacks.filter(has_row), self.substitutions.filter(has_row)
        return self._replace(texts=texts, attacks=attacks, substitutions=substitutions)


@dataclass(frozen=True)
class _Stratum:
    """Some of the texts of a victim.

    Attributes:
        members: ``[texts of the victim]``.
        units: of the texts.
        counts: ``[resamples, texts]``, how often each has each text.
        scheme: what the counts are keyed by.
    """

    work: EvaluateAttacks
    name: str
    victim: _Victim
    members: BoolArray
    units: Units
    counts: FloatArray
    scheme: Scheme

    def ladder(self, direction: str) -> Summary:
        """With controls, where the direction has some."""
        outcomes = self.victim.outcomes
        outcome = outcomes[direction].within(self.members)
        flips, beside = outcome.along["is_flip"], outcome.controls["is_flip"]
        row = self._row(direction, LADDER, flips, beside)
        row.num_unproven, row.mean_candidates = 0, _mean(outcome.along["num_candidates"][0])
        row.mean_control_candidates = _mean(outcome.controls["num_candidates"])
        self._share(row)
        if not row.num_texts:
            return row
        row.fall = _mean(outcome.along["fall"][0])
        self._prove(row, flips[0])
        if len(beside):
            _compare(row, outcome)
        if (other := _other_way(direction)) in outcomes:
            back = outcomes[other].within(self.members)
            self._ask_both_ways(row, flips[0] > 0.0, back.along["is_flip"][0] > 0.0)
            if len(beside):
                differences = beside.mean(axis=1) - back.controls["is_flip"].mean(axis=1)
                row.asymmetry_control_p = two_sided(row.asymmetry, differences)
        return row

    def others(self, direction: str) -> Iterator[Summary]:
        """The searches beside the ladder, which have no controls."""
        for search in self.victim.searches[direction]:
            is_flip = self._flipped(direction, search)
            row = self._row(direction, search, is_flip[None].astype(np.float64), np.zeros((0, is_flip.size)))
            if (other := _other_way(direction)) in self.work.directions and is_flip.size:
                self._ask_both_ways(row, is_flip, self._flipped(other, search))
            yield row

    def _row(self, direction: str, search: str, flips: FloatArray, beside: FloatArray) -> Summary:
        """What all searches have: flips, ``[embeddings, texts]``, beside those along the controls."""
        victim = self.victim
        row = Summary(victim=victim.name, direction=direction, stratum=self.name, search=search)
        row.num_texts, row.num_replicas = victim.texts.height, len(flips) - 1
        if row.num_texts:
            self._rate(row, flips, beside)
        else:
            row.fail("no_texts", _NO_TEXTS)
        attacks = victim.attacks.filter(direction=direction, search=search)
        self._rate_changeable(row, attacks, flips[0] > 0.0)
        flagged = victim.substitutions.filter("is_flagged", direction=direction, search=search)["row"].unique()
        flipped = attacks.filter(pl.col("status").is_in(FLIPPED), ~pl.col("row").is_in(flagged.implode()))
        row.unflagged_rate = flipped.height / max(row.num_texts, 1)
        return row

    def _rate(self, row: Summary, flips: FloatArray, beside: FloatArray) -> None:
        scheme = {**self.scheme, "replicas": self.work.replicas} if row.num_replicas else self.scheme
        rates = flip_rates(flips, beside, self.units, level=self.work.level)
        of_rate, of_excess = resampled_rates(flips, beside, self.counts)
        row.p_value, row.flip_rate = rates.p_value, _estimate(rates.rate, of_rate, scheme, self.units.num)
        _lack(row, "flip_rate", rates.rate.too_few)
        if rates.excess is not None:
            row.excess = _estimate(rates.excess, of_excess, scheme, self.units.num)
            _lack(row, "excess", rates.excess.too_few)

    def _rate_changeable(self, row: Summary, attacks: pl.DataFrame, is_flip: BoolArray) -> None:
        """Of the texts that have a word to replace: others cannot flip, whatever the victim does."""
        rows = attacks.filter(pl.col("status") != "no_candidate")["row"]
        able = self.victim.texts["row"].is_in(rows.implode()).to_numpy()
        row.num_changeable = int(able.sum())
        if able.any():
            rate, chances = share(is_flip[able], self.units.part(able), level=self.work.level), self.counts @ able
            resamples = self.counts @ is_flip / chances if chances.all() else None
            row.changeable_rate = _estimate(rate, resamples, self.scheme, rate.num_units)

    def _flipped(self, direction: str, search: str) -> BoolArray:
        """``[texts]``, which ones a search flips."""
        attacks = self.victim.attacks.filter(pl.col("status").is_in(FLIPPED), direction=direction, search=search)
        flips: BoolArray = self.victim.texts["row"].is_in(attacks["row"].implode()).to_numpy()
        return flips

    def _prove(self, row: Summary, flips: FloatArray) -> None:
        """How many more texts may flip than are known to, and how many one change flips."""
        attacks = self.victim.attacks.filter(direction=row.direction, search=LADDER)
        row.num_unproven = attacks.filter(status="not_found").height
        row.flip_rate_most = float(flips.mean()) + row.num_unproven / flips.size
        row.one_change_rate = attacks.filter(pl.col("status").is_in(FLIPPED), num_changes=1).height / flips.size

    def _share(self, row: Summary) -> None:
        """What replacements of each kind have to do with the falls of flips."""
        flips = self.victim.substitutions.filter("is_flip", direction=row.direction, search=LADDER).drop_nulls(
            "shapley"
        )
        values, kinds = flips["shapley"].to_numpy(), flips["kind"].to_numpy()
        row.definitional_share = share_of(values, kinds == "definitional")
        row.associated_share = share_of(values, kinds == "associated")
        row.other_share = share_of(values, kinds == "other")

    def _ask_both_ways(self, row: Summary, first: BoolArray, second: BoolArray) -> None:
        """What a direction flips, beside the direction to the other gender."""
        row.asymmetry, row.asymmetry_p, too_few = asymmetry(first, second, self.units)
        _lack(row, "asymmetry", too_few)


def _other_way(direction: str) -> str:
    """Empty without one."""
    start, _, gender = direction.rpartition("_to_")
    return f"{start}_to_{_OTHER[gender]}" if gender in _OTHER else ""


def _estimate(number: Inferred, resamples: FloatArray | None, scheme: Scheme, num: int) -> Estimate:
    """A number with its interval, and with resamples where there are some, and enough units for an interval."""
    if resamples is None or math.isnan(number.low):
        return Estimate(number.value, number.low, number.high)
    return estimate_of(number.value, number.low, number.high, resamples, scheme, num)


def _compare(row: Summary, outcome: _Outcome) -> None:
    """Falls beside those along the controls, and the excess at equal size."""
    rates, falls, _, sizes = (outcome.controls[name].mean(axis=1) for name in _MEASURES)
    row.fall_excess, row.fall_p_value = excess(row.fall, falls)
    rate, size = (_mean(outcome.along[name][0]) for name in ("is_flip", "log10_size"))
    row.size_slope, row.size_excess, row.size_p_value = sized_excess(rate, size, rates, sizes)


def _lack(row: Summary, name: str, too_few: TooFew | None) -> None:
    """The status of a row whose number has no interval or p-value, and why, beside what else is missing."""
    if too_few is not None:
        reasons = [*filter(None, [row.reason]), f"{name}: {too_few.reason}"]
        row.fail("too_few_units", "; ".join(reasons))
