"""Rows of `measures` and `learning_curve`: of relations, and of what is written."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tiltmeter.jobs.classifiers.intervals import drawn, drawn_texts
from tiltmeter.jobs.relations.material import Floor, Part
from tiltmeter.jobs.runtime.draws import Scheme
from tiltmeter.jobs.runtime.rows import OK, Row, failed
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.relations.evaluation import (
    ALL,
    MEASURES,
    Counts,
    Statistic,
    calibration_error,
    estimates,
    f1_difference,
    statistics,
)
from tiltmeter.operators.relations.written_measures import FALLS, shares_of
from tiltmeter.operators.statistics.intervals import LOGIT
from tiltmeter.operators.statistics.multiplicity import holm
from tiltmeter.operators.statistics.resampling import Estimate
from tiltmeter.operators.statistics.text_intervals import cut, spread_out
from tiltmeter.operators.statistics.units import Inferred, each

_RULES = "rules"
_DIFFERENCE = cut(-1.0, 1.0)
_WRITTEN = "written rules"

_Estimates = Mapping[tuple[str, str], Estimate]


@dataclass(frozen=True)
class Scoring:
    """Attributes:
    level: of intervals.
    seed, num_resamples: of the units' resamples, which are in the draws.
    share: of the rules, of the models that are compared.
    """

    level: float
    seed: int
    num_resamples: int
    share: float

    def relations(self, part: Part) -> Iterator[Row]:
        """Of rules alone and of each model, and of differences from the joint one."""
        kinds = list(dict.fromkeys(variant.model for variant in part.guesses if variant.share == self.share))
        counted = {_RULES: [part.counts(part.by_rules)]} | {
            kind: self._counts(part, kind, self.share) for kind in kinds
        }
        made = {name: self._estimates(part, counts) for name, counts in counted.items()}
        for name, counts in counted.items():
            golds = dict(zip(counts[0].relations, counts[0].gold.sum(axis=0).tolist(), strict=True))
            for (relation, measure), statistic in statistics(counts).items():
                num = int(golds.get(relation, sum(golds.values())))
                numbers = self._measured(part, statistic, made[name][relation, measure])
                yield _keys(part, name, relation, measure) | numbers | {"sd_training": statistic.spread, "num": num}
        yield from self._calibration(part)
        yield from self._differences(part, made, counted)

    def written(self, rows: Sequence[Row], part: Part, floor: Floor) -> Iterator[Row]:
        """Of each model and decoder."""
        numbers = [row["instance"] for row in part.rows]
        units = dict(zip(numbers, part.units.codes.tolist(), strict=True))
        gold = dict(zip(numbers, part.gold, strict=True))
        groups: dict[tuple[str, str], list[Row]] = defaultdict(list)
        for row in rows:
            number = row["instance"]
            more = {"unit": units[number], "gold": gold[number]} | floor.columns(number, gold[number])
            groups[row["model"], row["decoder"]].append(row | more)
        for (model, decoder), answers in groups.items():
            for one in shares_of(answers, part.units.kind, self.seed, self.num_resamples):
                scheme = drawn_texts([part.unit_digests[place] for place in one.drawn], self.seed, _WRITTEN)
                inferred = one.statistic.inferred(one.units, self.level, _DIFFERENCE if one.measure in FALLS else LOGIT)
                more = {"decoder": decoder, "floor": one.floor, "num": one.num, "sd_training": one.statistic.spread}
                yield (
                    _keys(part, model, ALL, one.measure)
                    | _numbers(inferred, one.estimate, scheme, one.units.num, part.units.kind)
                    | more
                )

    def curve(self, part: Part, share: float) -> Iterator[Row]:
        """Of the joint models of a share."""
        counts = self._counts(part, "joint", share)
        values, measured = self._estimates(part, counts), statistics(counts)
        for name in MEASURES:
            numbers = self._measured(part, measured[ALL, name], values[ALL, name])
            yield {"share": share, "measure": name, "sd_training": measured[ALL, name].spread} | numbers

    def _counts(self, part: Part, model: str, share: float) -> list[Counts]:
        return [part.counts(part.predicted(variant)) for variant in part.chosen(model, share)]

    def _estimates(self, part: Part, counts: Sequence[Counts]) -> _Estimates:
        return estimates(counts, self.seed, document_key(part.split), self.num_resamples)

    def _scheme(self, part: Part) -> Scheme:
        """Of the resamples of all units of a part, which are keyed by its name."""
        return drawn_texts(part.unit_digests, self.seed, part.split)

    def _measured(self, part: Part, statistic: Statistic, estimate: Estimate) -> Row:
        inferred = statistic.inferred(each(part.units.num, part.units.kind), self.level)
        num = int(np.count_nonzero(statistic.weights))
        return _numbers(inferred, estimate, self._scheme(part), num, part.units.kind)

    def _calibration(self, part: Part) -> Iterator[Row]:
        """Of the joint models, for instances with a rule and without."""
        has_rule = np.array([bool(row["rules"]) for row in part.rows], dtype=np.bool_)
        for name, kept in (("with_rule", has_rule), ("without_rule", ~has_rule)):
            errors = [
                calibration_error(
                    np.array([guess.probability for guess in part.guesses[variant]])[kept],
                    part.right(part.predicted(variant))[kept],
                )
                for variant in part.chosen("joint", self.share)
            ]
            if kept.any():
                numbers = {"value": float(np.mean(errors)), "num": int(kept.sum())} | OK
                yield _keys(part, "joint", ALL, f"calibration_error_{name}") | numbers

    def _differences(
        self, part: Part, made: Mapping[str, _Estimates], counted: Mapping[str, Sequence[Counts]]
    ) -> Iterator[Row]:
        rows, joint = [], counted["joint"]
        for name in (name for name in counted if name != "joint"):
            one, other = (made[model][ALL, "f1"] for model in ("joint", name))
            estimate = Estimate(one.value - other.value, one.resamples - other.resamples, one.num_texts)
            inferred = f1_difference(joint, counted[name], part.units.kind, self.level)
            sides = [*joint, *counted[name]]
            num = int(np.count_nonzero(np.sum([side.gold + side.predicted for side in sides], axis=(0, 2))))
            numbers = _numbers(inferred, estimate, self._scheme(part), num, part.units.kind)
            keys = _keys(part, f"joint - {name}", ALL, "f1") | {"num": len(part.rows), "p_value": inferred.p}
            rows.append(keys | numbers)
        adjusted = holm(np.array([row["p_value"] for row in rows])).tolist()
        yield from (row | {"p_adjusted": p_value} for row, p_value in zip(rows, adjusted, strict=True))


def _numbers(inferred: Inferred, estimate: Estimate, scheme: Scheme, num_units: int, kind: str) -> Row:
    """Value, interval and draws of a number that rests on so many units."""
    made = {"value": inferred.value, "low": inferred.low, "high": inferred.high, "unit": kind, "num_units": num_units}
    if inferred.too_few is not None:
        return made | failed("too_few_units", inferred.reason)
    return made | drawn("value", spread_out(estimate), scheme, num_units) | OK


def _keys(part: Part, model: str, relation: str, measure: str) -> Row:
    return {"model": model, "decoder": "", "split": part.split, "relation": relation, "measure": measure}
