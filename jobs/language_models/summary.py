"""What the scores of pairs come to: shares, differences to control pairs, and StereoSet's numbers."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
import polars as pl

from tiltmeter.jobs.classifiers.intervals import (
    Resampled,
    TextEstimate,
    estimate_of,
    resampled_by,
    resampled_texts,
    text_estimate,
)
from tiltmeter.jobs.language_models.config import BIAS, CONTROL, Pairing
from tiltmeter.jobs.language_models.scores import TRIPLE
from tiltmeter.jobs.language_models.tables import Associations, Contrasts, Prepared, Results
from tiltmeter.jobs.runtime.work import Work
from tiltmeter.operators.compute.arrays import BoolArray, FloatArray
from tiltmeter.operators.language_models.pairs import Ties, by_unit, leanings, stereoset, wins
from tiltmeter.operators.statistics.flips import flips
from tiltmeter.operators.statistics.intervals import LINEAR, LOGIT, Scale
from tiltmeter.operators.statistics.means import MIN_KISH, contrast, mean
from tiltmeter.operators.statistics.multiplicity import holm
from tiltmeter.operators.statistics.resampling import Estimate
from tiltmeter.operators.statistics.text_intervals import KeyedResampleSettings, between, cut, spread_out
from tiltmeter.operators.statistics.units import Inferred, TooFew, Units, each, units_of
from tiltmeter.storage.store.ledger import Store, TableRef

_MOST_PIECES = 2
_MATCHED = ("pieces", "language")
"""Divisions whose parts are read against control pairs of the same part; others, against all control pairs."""


class SumUp(Work, unit="sentence_pair_summary/1", stage="sum up", makes=[Results, Contrasts, Associations]):
    """All tables of all models and scores.

    Attributes:
        drawn: what was drawn independently: ``pair``, ``template``, ``author`` or ``term``.
    """

    pairs: Sequence[TableRef]
    scores: Sequence[TableRef]
    drawn: str
    pairing: Pairing
    intervals: KeyedResampleSettings
    seed: int

    def rows(self, store: Store) -> Iterator[Results | Contrasts | Associations]:
        pairs = [row for ref in self.pairs for row in Prepared.read(store, ref)]
        scored = pl.concat([pl.DataFrame(store.read(ref)) for ref in self.scores])
        summed = _Summed.of(pairs, self)
        families: dict[tuple[str, ...], list[Results | Contrasts]] = {}
        for (model, score), rows in scored.group_by("model", "score", maintain_order=True):
            names: dict[str, Any] = {"model": model, "score": score}
            values = _Values.of(rows.sort("row"), self.pairing.ties)
            yield from summed.associations(names, values)
            for division, part, chosen in summed.parts(values):
                about = {**names, "division": division, "part": part}
                for kind in (BIAS, CONTROL):
                    if (side := chosen & summed.are(kind) & values.known).any():
                        family = families.setdefault((division, kind), [])
                        family.append(summed.result(Results(**about, kind=kind), values, side))
                bias = chosen & summed.are(BIAS) & values.known
                control = summed.beside(division, chosen) & values.known
                if bias.any() and control.any():
                    family = families.setdefault((division,), [])
                    family.append(summed.contrast(Contrasts(**about), values, bias, control))
        for rows_of in families.values():
            corrected = holm(np.array([row.p_share for row in rows_of], dtype=np.float64))
            for row, p in zip(rows_of, corrected.tolist(), strict=True):
                row.p_holm = p
            yield from rows_of


class _Values(NamedTuple):
    """Of all pairs, by one model and score: ``[pairs]`` each; NaN of a pair without a score.

    Differences of pairs that are level are 0, so that rounding is no finding.
    """

    rows: pl.DataFrame
    wins: FloatArray
    differences: FloatArray

    @classmethod
    def of(cls, rows: pl.DataFrame, ties: Ties) -> Self:
        """From rows in the order of pairs."""
        first, second = (_numbers(rows, side) for side in ("score_more", "score_less"))
        differences = first - second
        return cls(rows, wins(first, second, ties), np.where(leanings(differences) == 0.0, 0.0, differences))

    @property
    def known(self) -> BoolArray:
        """Which pairs have two scores."""
        return ~np.isnan(self.differences)


@dataclass(frozen=True)
class _Summed:
    """Pairs with what was drawn independently, and resamples of it that all numbers share."""

    pairs: Sequence[Prepared]
    units: Units
    drawn: Resampled
    work: SumUp

    @classmethod
    def of(cls, pairs: Sequence[Prepared], work: SumUp) -> Self:
        """Units by what the work says they are."""
        names = [row.author if work.drawn == "author" else row.template for row in pairs]
        is_known = work.drawn != "pair" and any(name is not None for name in names)
        units = units_of(names, work.drawn) if is_known else each(len(pairs), "pair")
        texts = [[row.kind, row.more, row.less] for row in pairs]
        strata = np.unique([row.kind for row in pairs], return_inverse=True)[1]
        return cls(
            pairs, units, resampled_texts(texts, "sentence pairs", work.intervals, work.seed, units, strata), work
        )

    def are(self, kind: str) -> BoolArray:
        """Which pairs are of a kind."""
        return np.array([row.kind == kind for row in self.pairs])

    def beside(self, division: str, chosen: BoolArray) -> BoolArray:
        """Control pairs that a part is read against."""
        return self.are(CONTROL) & (chosen if division in _MATCHED else True)

    def parts(self, values: _Values) -> Iterator[tuple[str, str, BoolArray]]:
        """Divisions of all pairs: what each is called, its parts, and which pairs are in them."""
        yield "all", "all", np.ones(len(self.pairs), dtype=bool)
        for division in ("valid", "category", "direction", "language"):
            names = [getattr(row, division) for row in self.pairs]
            known = sorted({name for name in names if name is not None})
            for name in known if len(known) > 1 else ():
                yield division, name, np.array([one == name for one in names])
        listed = [{name.strip() for name in (row.pitfalls or "").split(";")} - {""} for row in self.pairs]
        for name in sorted(set().union(*listed)):
            yield "pitfall", name, np.array([name in names for names in listed])
        pieces = _numbers(values.rows, "pieces").clip(-_MOST_PIECES, _MOST_PIECES)
        for step in np.unique(pieces).tolist():
            more = {_MOST_PIECES: " or more", -_MOST_PIECES: " or fewer"}.get(step, "")
            yield "pieces", f"{step:+.0f}{more}" if step else "0", pieces == step

    def result(self, row: Results, values: _Values, chosen: BoolArray) -> Results:
        """Of pairs of one kind and part that have scores."""
        level, part = self.work.intervals.level, self.units.part(chosen)
        won, moved = (self._items(one, chosen) for one in (values.wins, values.differences))
        leaning = self._items(leanings(values.differences), chosen)
        share, difference = mean(won, self.units, level=level, scale=LOGIT), mean(moved, self.units, level=level)
        row.share, row.difference = self._estimate(share, won, LOGIT), self._estimate(difference, moved, LINEAR)
        tests = [flips(one[~np.isnan(one)], self.units.part(~np.isnan(one))) for one in (leaning, moved)]
        (row.p_share, _), (row.p_difference, _) = tests
        leans = leanings(values.differences[chosen])
        row.num_pairs, row.num_units, row.unit = leans.size, part.num, part.kind
        row.num_ties = int(np.count_nonzero(leans == 0.0))
        if row.num_ties < leans.size:
            row.share_informative = float(np.mean(leans[leans != 0.0] > 0.0))
        for per in ("token", "word", "character"):
            by_size = np.sign(_numbers(values.rows, f"per_{per}")[chosen]) * (leans != 0.0)
            setattr(row, f"share_per_{per}", float(np.mean(1.0 + by_size)) / 2.0)
        lacking = [one for one in (share.too_few, *(too_few for _, too_few in tests)) if one]
        return row.fail("too_few_units", lacking[0].reason) if lacking else row

    def contrast(self, row: Contrasts, values: _Values, bias: BoolArray, control: BoolArray) -> Contrasts:
        """Of both kinds of pairs that have scores."""
        row.num_pairs, row.num_controls = int(bias.sum()), int(control.sum())
        scales = {"share": (values.wins, cut(-1.0, 1.0)), "difference": (values.differences, LINEAR)}
        for name, (numbers, scale) in scales.items():
            first, second = (self._items(numbers, side) for side in (bias, control))
            both = np.where(np.isnan(first), second, first)
            result = contrast(both, ~np.isnan(first), self.units, level=self.work.intervals.level, scale=scale)
            one, other = (resampled_by(side, self.drawn, self.units) for side in (first, second))
            num = min(one.num_texts or 0.0, other.num_texts or 0.0)
            estimate = Estimate(result.value, one.resamples - other.resamples, num)
            made = text_estimate(result, estimate, self.work.intervals, scale, self.drawn.scheme)
            setattr(row, name, made)
            setattr(row, f"p_{name}", result.p)
            if name == "share":
                row.share_bias, row.share_control = float(one.value), float(other.value)
            if result.too_few:
                row.fail(result.status, result.reason)
        return row

    def _items(self, numbers: FloatArray, chosen: BoolArray) -> FloatArray:
        """Of the chosen pairs, or one for each of their units; NaN elsewhere."""
        kept = np.where(chosen, numbers, np.nan)
        return by_unit(kept, self.units) if self.work.pairing.weigh == "units" else kept

    def _estimate(self, result: Inferred, numbers: FloatArray, scale: Scale) -> TextEstimate:
        estimate = resampled_by(numbers, self.drawn, self.units)
        return text_estimate(result, estimate, self.work.intervals, scale, self.drawn.scheme)

    def associations(self, names: dict[str, Any], values: _Values) -> Iterator[Associations]:
        """Of triples, in all and by category of bias; an interval is over terms, of the product too."""
        places = [[row.row for row in self.pairs if row.compared == compared] for compared in TRIPLE]
        if not places[0]:
            return
        first, second = (_numbers(values.rows, side) for side in ("score_more", "score_less"))
        won = np.stack([wins(first[rows], second[rows], self.work.pairing.ties, decimals=False) for rows in places])
        about, known = [self.pairs[row] for row in places[0]], ~np.isnan(won).any(axis=0)
        categories = sorted({str(row.category) for row in about})
        for category in ("all", *(categories if len(categories) > 1 else ())):
            chosen = known & np.array([category in ("all", row.category) for row in about])
            terms = [str(row.template) for row, one in zip(about, chosen.tolist(), strict=True) if one]
            yield self._association(Associations(**names, category=category), won[:, chosen], terms)

    def _association(self, row: Associations, won: FloatArray, terms: Sequence[str]) -> Associations:
        intervals, units, once = self.work.intervals, units_of(terms, "term"), [*dict.fromkeys(terms)]
        row.num_terms, row.num_triples = units.num, len(terms)
        if not terms:
            return row.fail("no_triple", "no triple has three scores")
        scales = {"ss": between(0.0, 100.0), "lms": between(0.0, 100.0), "icat": cut(0.0, 100.0)}
        drawn = resampled_texts(once, f"terms of {row.category}", intervals, self.work.seed, each(units.num, "term"))
        resamples = stereoset(won, units, drawn.counts)
        for (name, scale), value, of_value in zip(scales.items(), stereoset(won, units), resamples, strict=True):
            estimate = Estimate(float(value), of_value, units.num)
            low, high = (float(end) for end in intervals.over(estimate, scale)[:2])
            # Resamples of a product that is 0 in all of them know nothing of others.
            is_known = units.num >= MIN_KISH and (name != "icat" or np.ptp(of_value) > 0.0)
            made = estimate_of(float(value), low, high, spread_out(estimate), drawn.scheme, units.num)
            setattr(row, name, made if is_known else TextEstimate(float(value)))
        lacking = TooFew(units.num, MIN_KISH, "term").reason
        return row.fail("too_few_units", lacking) if units.num < MIN_KISH else row


def _numbers(rows: pl.DataFrame, column: str) -> FloatArray:
    return rows[column].cast(pl.Float64).fill_null(float("nan")).to_numpy()
