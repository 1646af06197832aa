"""Rows of `measures` and `learning_curve`: of relations, and of what is written."""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tiltmeter.jobs.classifiers.intervals import drawn, drawn_texts
from tiltmeter.jobs.relations.material import Floor, Part
from tiltmeter.jobs.runtime.draws import Scheme
from tiltmeter.jobs.runtime.rows import Row
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.relations.evaluation import (
    ALL,
    MEASURES,
    Counts,
    calibration_error,
    estimates,
    mcnemar,
    measured,
    sentences_counted,
)
from tiltmeter.operators.relations.written_measures import FALLS, shares_of
from tiltmeter.operators.statistics.intervals import LOGIT, Scale
from tiltmeter.operators.statistics.multiplicity import holm
from tiltmeter.operators.statistics.resampling import Estimate
from tiltmeter.operators.statistics.text_intervals import ResampleSettings, cut, spread_out

_RULES = "rules"
_DIFFERENCE = cut(-1.0, 1.0)
_WRITTEN = "written rules"

_Estimates = Mapping[tuple[str, str], Estimate]


@dataclass(frozen=True)
class Scoring:
    """Attributes:
    intervals: how they are made.
    seed: of resamples.
    share: of the rules, of the models that are compared.
    """

    intervals: ResampleSettings
    seed: int
    share: float

    def relations(self, part: Part) -> Iterator[Row]:
        """Of rules alone and of each model, and of differences from the joint one."""
        scheme = self._scheme(part)
        kinds = list(dict.fromkeys(variant.model for variant in part.guesses if variant.share == self.share))
        counted = {_RULES: [part.counts(part.by_rules)]} | {
            kind: self._counts(part, kind, self.share) for kind in kinds
        }
        made = {name: self._estimates(part, counts) for name, counts in counted.items()}
        for name, values in made.items():
            sentences = sentences_counted(counted[name])
            runs = [measured(one.totals()) for one in counted[name]]
            golds = dict(zip(counted[name][0].relations, counted[name][0].gold.sum(axis=0).tolist(), strict=True))
            for (relation, measure), estimate in values.items():
                num = int(golds.get(relation, sum(golds.values())))
                numbers = self._numbers(estimate, LOGIT, scheme, sentences[relation, measure])
                spread = {"sd_training": _spread([run[relation, measure] for run in runs])}
                yield _keys(part, name, relation, measure) | numbers | spread | {"num": num}
        yield from self._calibration(part)
        yield from self._differences(part, made, kinds, counted)

    def written(self, rows: Sequence[Row], part: Part, floor: Floor) -> Iterator[Row]:
        """Of each model and decoder."""
        numbers = [row["instance"] for row in part.rows]
        sentences = dict(zip(numbers, part.sentences.tolist(), strict=True))
        gold = dict(zip(numbers, part.gold, strict=True))
        groups: dict[tuple[str, str], list[Row]] = defaultdict(list)
        for row in rows:
            number = row["instance"]
            more = {"sentence": sentences[number], "gold": gold[number]} | floor.columns(number, gold[number])
            groups[row["model"], row["decoder"]].append(row | more)
        for (model, decoder), answers in groups.items():
            for name, estimate, least, num, drawn_from in shares_of(answers, self.seed, self.intervals.num_resamples):
                scheme = drawn_texts([part.sentence_digests[place] for place in drawn_from], self.seed, _WRITTEN)
                scale = _DIFFERENCE if name in FALLS else LOGIT
                values = self._numbers(estimate, scale, scheme, len({*drawn_from}))
                yield _keys(part, model, ALL, name) | {"decoder": decoder, "floor": least, "num": num} | values

    def curve(self, part: Part, share: float) -> Iterator[Row]:
        """Of the joint models of a share."""
        counts, scheme = self._counts(part, "joint", share), self._scheme(part)
        values, sentences = self._estimates(part, counts), sentences_counted(counts)
        for name in MEASURES:
            numbers = self._numbers(values[ALL, name], LOGIT, scheme, sentences[ALL, name])
            yield {"share": share, "measure": name} | numbers

    def _counts(self, part: Part, model: str, share: float) -> list[Counts]:
        return [part.counts(part.predicted(variant)) for variant in part.chosen(model, share)]

    def _estimates(self, part: Part, counts: Sequence[Counts]) -> _Estimates:
        return estimates(counts, self.seed, document_key(part.split), self.intervals.num_resamples)

    def _scheme(self, part: Part) -> Scheme:
        """Of the resamples of all sentences of a part, which are keyed by its name."""
        return drawn_texts(part.sentence_digests, self.seed, part.split)

    def _numbers(self, estimate: Estimate, scale: Scale, scheme: Scheme, num_sentences: int) -> Row:
        """Value, interval and draws of a number that rests on so many sentences."""
        low, high, _ = self.intervals.over(estimate, scale)
        numbers = {"value": float(estimate.value), "low": float(low), "high": float(high)}
        if math.isnan(low):
            return numbers
        return numbers | drawn("value", spread_out(estimate), scheme, num_sentences)

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
                numbers = {"value": float(np.mean(errors)), "num": int(kept.sum())}
                yield _keys(part, "joint", ALL, f"calibration_error_{name}") | numbers

    def _differences(
        self, part: Part, made: Mapping[str, _Estimates], kinds: Sequence[str], counted: Mapping[str, Sequence[Counts]]
    ) -> Iterator[Row]:
        right = {kind: part.right([vote.relation for vote in part.votes(kind, self.share)]) for kind in kinds}
        right[_RULES] = part.right(part.by_rules)
        rows = []
        for name in (name for name in right if name != "joint"):
            first, second = made["joint"][ALL, "f1"], made[name][ALL, "f1"]
            estimate = Estimate(first.value - second.value, first.resamples - second.resamples, first.num_texts)
            keys = _keys(part, f"joint - {name}", ALL, "f1") | {"num": len(part.rows)}
            sentences = sentences_counted([*counted["joint"], *counted[name]])[ALL, "f1"]
            rows.append(
                keys
                | self._numbers(estimate, _DIFFERENCE, self._scheme(part), sentences)
                | {"p_value": mcnemar(right["joint"], right[name]).p_value}
            )
        adjusted = holm(np.array([row["p_value"] for row in rows])).tolist()
        yield from (row | {"p_adjusted": p_value} for row, p_value in zip(rows, adjusted, strict=True))


def _keys(part: Part, model: str, relation: str, measure: str) -> Row:
    return {"model": model, "decoder": "", "split": part.split, "relation": relation, "measure": measure}


def _spread(values: Sequence[object]) -> float | None:
    numbers = np.array(values, dtype=np.float64)
    return float(np.std(numbers, ddof=1)) if numbers.size > 1 else None
