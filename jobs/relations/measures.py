"""How good models, rules and what they write are: the tables `instances`, `measures` and `learning_curve`."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

import numpy as np

from tiltmeter.cluster.work import Tables
from tiltmeter.jobs.classifiers.intervals import drawn_texts, estimate_of
from tiltmeter.jobs.relations.config import RelationsRun, Split
from tiltmeter.jobs.relations.models import TrainModel
from tiltmeter.jobs.relations.rules import Evidence, Rule, statement
from tiltmeter.jobs.relations.tables import (
    Annotations,
    Explanations,
    Instances,
    LearningCurve,
    Measures,
    OfSeeds,
    Predictions,
)
from tiltmeter.jobs.runtime import table
from tiltmeter.jobs.runtime.draws import Scheme
from tiltmeter.jobs.runtime.table import Table, tables_of
from tiltmeter.jobs.runtime.work import Done, Subject, Work
from tiltmeter.operators.compute.arrays import BoolArray
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.relations import evaluation, supervision, written_measures
from tiltmeter.operators.relations.evaluation import (
    ALL,
    MEASURES,
    Counts,
    Statistic,
    calibration_error,
    count_relations,
    estimates,
    f1_difference,
    independent_units,
    statistics,
)
from tiltmeter.operators.relations.instances import NO_RELATION
from tiltmeter.operators.relations.learning.models import Kind
from tiltmeter.operators.relations.written_measures import FALLS, floor_rules, shares_of
from tiltmeter.operators.statistics import means
from tiltmeter.operators.statistics.intervals import LOGIT
from tiltmeter.operators.statistics.multiplicity import holm
from tiltmeter.operators.statistics.resampling import Estimate
from tiltmeter.operators.statistics.text_intervals import cut, spread_out
from tiltmeter.operators.statistics.units import Inferred, Units, each
from tiltmeter.storage.store.identity import digest
from tiltmeter.storage.store.ledger import Store, TableRef

Row = dict[str, Any]

_MEASURED: tuple[Split, ...] = ("development", "test")
_RULES = "rules"
_DIFFERENCE = cut(-1.0, 1.0)
_WRITTEN = "written rules"

_Estimates = Mapping[tuple[str, str], Estimate]
_OfSeeds = TypeVar("_OfSeeds", bound=OfSeeds)


# --- what is measured -----------------------------------------------------------------------------------------------


class Variant(NamedTuple):
    """A model, the share of the rules that it learns from, and the number of its seed."""

    model: Kind
    share: float
    seed: int


class Guess(NamedTuple):
    """What a model predicts, and how sure it is of it."""

    relation: str
    probability: float


@dataclass(frozen=True)
class Part:
    """Attributes:
    rows: whose status is ok.
    names: of the rules that match each.
    units: of the rows: sentences, or documents that hold several.
    gold, by_rules: relations that hold, and that rules say.
    guesses: of each row, by variant.
    """

    split: Split
    rows: Sequence[Annotations]
    names: Sequence[Sequence[str]]
    units: Units
    gold: Sequence[str]
    by_rules: Sequence[str]
    guesses: Mapping[Variant, Sequence[Guess]]

    @cached_property
    def unit_digests(self) -> list[str]:
        """What tells each unit from others, by its number: its document and the tokens of its sentences."""
        sentences: dict[int, dict[int, list[Any]]] = defaultdict(dict)
        for unit, row in zip(self.units.codes.tolist(), self.rows, strict=True):
            sentences[unit].setdefault(row.sentence, [row.document or "", row.tokens])
        return [digest(list(sentences[unit].values())) for unit in range(self.units.num)]

    def chosen(self, model: str, share: float) -> list[Variant]:
        """Of one kind, by their seeds."""
        return [variant for variant in self.guesses if (variant.model, variant.share) == (model, share)]

    def counts(self, predicted: Sequence[str]) -> Counts:
        """By unit; over the relations that anything says."""
        everything = {*self.gold, *self.by_rules}
        everything |= {guess.relation for guesses in self.guesses.values() for guess in guesses}
        return count_relations(self.gold, predicted, self.units, sorted(everything))

    def predicted(self, variant: Variant) -> list[str]:
        return [guess.relation for guess in self.guesses[variant]]

    def right(self, predicted: Sequence[str]) -> BoolArray:
        """Whether each is what holds."""
        return np.array([guess == gold for guess, gold in zip(predicted, self.gold, strict=True)], dtype=np.bool_)

    def agreeing(self, relations: Sequence[str], rules: Mapping[str, Rule]) -> list[list[str]]:
        """Of each row, the prints of rules that match it and say the relation."""
        return [
            [rules[name].text for name in names if rules[name].relation == relation]
            for names, relation in zip(self.names, relations, strict=True)
        ]

    def votes(self, model: str, share: float) -> list[Guess]:
        """The relation on which the models of all seeds put the most; of equals, the first by name."""
        models = [self.guesses[variant] for variant in self.chosen(model, share)]
        return [_vote(guesses) for guesses in zip(*models, strict=True)]


def _vote(guesses: Sequence[Guess]) -> Guess:
    sums: dict[str, float] = defaultdict(float)
    for relation, probability in guesses:
        sums[relation] += probability / len(guesses)
    best = min(sums, key=lambda name: (-sums[name], name))
    return Guess(best, sums[best])


# --- rows of measures and of the learning curve ---------------------------------------------------------------------


class Scoring(Work):
    """Attributes:
    level: of intervals.
    seed, num_resamples: of the units' resamples, which are in the draws.
    share: of the rules, of the models that are compared.
    """

    level: float
    seed: int
    num_resamples: int
    share: float

    def relations(self, part: Part) -> Iterator[Measures]:
        """Of rules alone and of each model, and of differences from the joint one."""
        kinds = list(dict.fromkeys(variant.model for variant in part.guesses if variant.share == self.share))
        counted = {_RULES: [part.counts(part.by_rules)]} | {
            kind: self._counts(part, kind, self.share) for kind in kinds
        }
        made = {name: self._estimates(part, counts) for name, counts in counted.items()}
        for name, counts in counted.items():
            golds = dict(zip(counts[0].relations, counts[0].gold.sum(axis=0).tolist(), strict=True))
            for (relation, measure), statistic in statistics(counts).items():
                row = _row(part, name, measure, relation)
                row.num = int(golds.get(relation, sum(golds.values())))
                yield self._filled(row, part, statistic, made[name][relation, measure])
        yield from self._calibration(part)
        yield from self._differences(part, made, counted)

    def written(
        self, rows: Sequence[Explanations], part: Part, rules: Mapping[str, Rule], floors: Mapping[str, str]
    ) -> Iterator[Measures]:
        """Of each model and decoder; ``floors``: rules by the relation."""
        numbers = [row.instance for row in part.rows]
        units, references = part.units.codes.tolist(), part.agreeing(part.gold, rules)
        known = {
            number: {"unit": unit, "gold": gold, "references": sorted({*texts}), "floor_rule": floors.get(gold, "")}
            for number, unit, gold, texts in zip(numbers, units, part.gold, references, strict=True)
        }
        groups: dict[tuple[str, str], list[Row]] = defaultdict(list)
        for row in rows:
            groups[row.model, row.decoder].append(vars(row) | known[row.instance])
        for (model, decoder), answers in groups.items():
            for one in shares_of(answers, part.units.kind, self.seed, self.num_resamples):
                scheme = drawn_texts([part.unit_digests[place] for place in one.drawn], self.seed, _WRITTEN)
                inferred = one.statistic.inferred(one.units, self.level, _DIFFERENCE if one.measure in FALLS else LOGIT)
                made = _row(part, model, one.measure, decoder=decoder)
                made.floor, made.num, made.sd_training = one.floor, one.num, one.statistic.spread
                yield _filled(made, inferred, one.estimate, scheme, one.units.num, part.units.kind)

    def curve(self, part: Part, share: float) -> Iterator[LearningCurve]:
        """Of the joint models of a share."""
        counts = self._counts(part, "joint", share)
        values, measured = self._estimates(part, counts), statistics(counts)
        for name in MEASURES:
            yield self._filled(LearningCurve(share=share, measure=name), part, measured[ALL, name], values[ALL, name])

    def _counts(self, part: Part, model: str, share: float) -> list[Counts]:
        return [part.counts(part.predicted(variant)) for variant in part.chosen(model, share)]

    def _estimates(self, part: Part, counts: Sequence[Counts]) -> _Estimates:
        return estimates(counts, self.seed, document_key(part.split), self.num_resamples)

    def _scheme(self, part: Part) -> Scheme:
        """Of the resamples of all units of a part, which are keyed by its name."""
        return drawn_texts(part.unit_digests, self.seed, part.split)

    def _filled(self, row: _OfSeeds, part: Part, statistic: Statistic, estimate: Estimate) -> _OfSeeds:
        row.sd_training = statistic.spread
        inferred = statistic.inferred(each(part.units.num, part.units.kind), self.level)
        num = int(np.count_nonzero(statistic.weights))
        return _filled(row, inferred, estimate, self._scheme(part), num, part.units.kind)

    def _calibration(self, part: Part) -> Iterator[Measures]:
        """Of the joint models, for instances with a rule and without."""
        has_rule = np.array([bool(names) for names in part.names], dtype=np.bool_)
        for name, kept in (("with_rule", has_rule), ("without_rule", ~has_rule)):
            errors = [
                calibration_error(
                    np.array([guess.probability for guess in part.guesses[variant]])[kept],
                    part.right(part.predicted(variant))[kept],
                )
                for variant in part.chosen("joint", self.share)
            ]
            if kept.any():
                row = _row(part, "joint", f"calibration_error_{name}")
                row.value, row.num = table.Estimate(float(np.mean(errors))), int(kept.sum())
                yield row

    def _differences(
        self, part: Part, made: Mapping[str, _Estimates], counted: Mapping[str, Sequence[Counts]]
    ) -> list[Measures]:
        rows, joint = [], counted["joint"]
        for name in (name for name in counted if name != "joint"):
            one, other = (made[model][ALL, "f1"] for model in ("joint", name))
            estimate = Estimate(one.value - other.value, one.resamples - other.resamples, one.num_texts)
            inferred = f1_difference(joint, counted[name], part.units.kind, self.level)
            sides = [*joint, *counted[name]]
            num = int(np.count_nonzero(np.sum([side.gold + side.predicted for side in sides], axis=(0, 2))))
            row = _row(part, f"joint - {name}", "f1")
            row.num, row.p_value = len(part.rows), inferred.p
            rows.append(_filled(row, inferred, estimate, self._scheme(part), num, part.units.kind))
        for row, p_value in zip(rows, holm(np.array([row.p_value for row in rows])).tolist(), strict=True):
            row.p_adjusted = p_value
        return rows


def _row(part: Part, model: str, measure: str, relation: str = ALL, decoder: str = "") -> Measures:
    return Measures(model=model, decoder=decoder, split=part.split, relation=relation, measure=measure)


def _filled(
    row: _OfSeeds, inferred: Inferred, estimate: Estimate, scheme: Scheme, num_units: int, kind: str
) -> _OfSeeds:
    """With value, interval and draws of a number that rests on so many units."""
    value, low, high = inferred.value, inferred.low, inferred.high
    row.unit, row.num_units = kind, num_units
    if inferred.too_few is not None:
        row.value = table.Estimate(value, low, high)
        return row.fail("too_few_units", inferred.reason)
    row.value = estimate_of(value, low, high, spread_out(estimate), scheme, num_units)
    return row


# --- the stage ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Guesses(Subject):
    """What models predict, by variant, of the table :class:`.Predictions`."""

    refs: Mapping[Variant, TableRef]

    @property
    def identity(self) -> Row:
        """The variants, with the roles of their tables."""
        return {"variants": [[*variant, _role(variant)] for variant in self.refs]}

    @property
    def inputs(self) -> dict[str, Sequence[TableRef]]:
        """A table of each."""
        return {_role(variant): [ref] for variant, ref in self.refs.items()}

    def of(self, store: Store, split: Split, rows: Sequence[Annotations]) -> dict[Variant, list[Guess]]:
        """Of rows of a part."""
        made = {}
        for variant, ref in self.refs.items():
            of_each = {row.instance: row for row in Predictions.read(store, ref) if row.split == split}
            guesses = [of_each[row.instance] for row in rows]
            made[variant] = [Guess(row.predicted, row.probability) for row in guesses]
        return made


def _role(variant: Variant) -> str:
    return f"predicted {variant.model} {variant.share} {variant.seed}"


class MeasureRelations(
    Scoring, unit="measured_relations/5", stage="measure", makes=[Instances, Measures, LearningCurve]
):
    """All tables; a learning curve only where models of several shares were trained."""

    operators: Sequence[str] = (evaluation.VERSION, supervision.VERSION, written_measures.VERSION, means.VERSION)
    guesses: Guesses
    evidence: Evidence
    explanations: TableRef | None

    def tables(self, store: Store) -> Tables:
        rows = list(self.rows(store))
        made = {type(row) for row in rows}
        return tables_of(rows, [table for table in self.makes if table is not LearningCurve or table in made])

    def rows(self, store: Store) -> Iterator[Table]:
        rules = self.evidence.used(store, self.share)
        training, development, test = (self._part(store, split, rules) for split in ("training", *_MEASURED))
        for part in (training, development, test):
            yield from self._instances(store, part)
        for part in (development, test):
            yield from self.relations(part)
        if self.explanations is not None:
            written = Explanations.read(store, self.explanations)
            floors = floor_rules(training.by_rules, training.agreeing(training.by_rules, rules))
            yield from self.written(written, test, rules, floors)
        yield from self._curve(store, development)

    def _part(self, store: Store, split: Split, rules: Mapping[str, Rule]) -> Part:
        rows = [row for row, _ in self.evidence.instances(store, split)]
        matches = self.evidence.names(store, split)
        names = [sorted(name for name in matches.get(row.instance, ()) if name in rules) for row in rows]
        return Part(
            split,
            rows,
            names,
            independent_units([row.document for row in rows], [row.sentence for row in rows]),
            [row.relation or NO_RELATION for row in rows],
            [statement(row, of_row, rules) for row, of_row in zip(rows, names, strict=True)],
            {} if split == "training" else self.guesses.of(store, split, rows),
        )

    def _instances(self, store: Store, part: Part) -> Iterator[Instances]:
        places = {row.instance: place for place, row in enumerate(part.rows)}
        votes = part.votes("joint", self.share)
        for row in Annotations.read(store, self.evidence.parts[part.split]):
            made = Instances(split=row.split, instance=row.instance, relation=row.relation)
            made.status, made.reason = row.status, row.reason
            made.sentence, made.encoder = " ".join(row.tokens), "no tree" if row.head is None else "tree"
            if (place := places.get(row.instance)) is not None:
                made.subject = " ".join(row.tokens[row.subject_start : row.subject_end])
                made.object = " ".join(row.tokens[row.object_start : row.object_end])
                made.rules, made.rule_relation = list(part.names[place]), part.by_rules[place]
                if votes:
                    made.predicted, made.probability = votes[place]
            yield made

    def _curve(self, store: Store, part: Part) -> Iterator[LearningCurve]:
        shares = sorted({variant.share for variant in part.guesses if variant.model == "joint"})
        matches = self.evidence.names(store, "training")
        for share in shares if len(shares) > 1 else ():
            rules = self.evidence.used(store, share)
            num = sum(any(name in rules for name in names) for names in matches.values())
            for row in self.curve(part, share):
                row.num_rules, row.num_instances = len(rules), num
                yield row


def measure(run: RelationsRun, evidence: Evidence, models: Done[TrainModel], explanations: Sequence[TableRef]) -> None:
    """Publish the tables."""
    config = run.config
    refs = {
        Variant(work.model, work.share, work.number): unit.tables["predicted"]
        for work, unit in models.pairs
        if "predicted" in unit.tables
    }
    work = MeasureRelations(
        label="measures",
        group="measures",
        share=config.rules.share,
        seed=config.seed,
        level=config.job.level,
        num_resamples=config.job.num_resamples,
        guesses=Guesses(refs),
        evidence=evidence,
        explanations=explanations[0] if explanations else None,
    )
    run.do([work])
