"""What is measured: the instances of a part with what holds, what rules say and what models predict."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from tiltmeter.jobs.relations.config import Model
from tiltmeter.jobs.relations.instances import read_instances
from tiltmeter.jobs.relations.supervising import Rule, matching_rules, statement
from tiltmeter.jobs.runtime.rows import Row
from tiltmeter.operators.compute.arrays import BoolArray
from tiltmeter.operators.relations.evaluation import Counts, count_relations, independent_units
from tiltmeter.operators.relations.instances import NO_RELATION
from tiltmeter.operators.statistics.units import Units
from tiltmeter.storage.store.identity import digest
from tiltmeter.storage.store.ledger import Store, Unit


class Variant(NamedTuple):
    """A model, the share of the rules that it learns from, and the number of its seed."""

    model: Model
    share: float
    seed: int


class Guess(NamedTuple):
    """What a model predicts, and how sure it is of it."""

    relation: str
    probability: float


@dataclass(frozen=True)
class Part:
    """Attributes:
    rows: whose status is ok, each with ``rules``: names of those that match.
    units: of the rows: sentences, or documents that hold several.
    gold, by_rules: relations that hold, and that rules say.
    guesses: of each row, by variant.
    """

    split: str
    rows: Sequence[Row]
    units: Units
    gold: Sequence[str]
    by_rules: Sequence[str]
    guesses: Mapping[Variant, Sequence[Guess]]

    @cached_property
    def unit_digests(self) -> list[str]:
        """What tells each unit from others, by its number: its document and the tokens of its sentences."""
        sentences: dict[int, dict[int, list[Any]]] = defaultdict(dict)
        for unit, row in zip(self.units.codes.tolist(), self.rows, strict=True):
            sentences[unit].setdefault(row["sentence"], [row["document"] or "", row["tokens"]])
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


def read_part(store: Store, unit: Unit, split: str, rules: Mapping[str, Rule]) -> Part:
    """Of a unit with inputs as for :func:`.supervising.supervised_parts`, and of what variants predict.

    Args:
        rules: that models learn from.
    """
    rows = [row for row, _ in read_instances(store, unit.input(split))]
    matches = matching_rules(store, unit.inputs[f"{split}_matches"])
    names = [sorted(name for name in matches.get(row["instance"], ()) if name in rules) for row in rows]
    variants = unit.config["variants"] if split != "training" else ()
    return Part(
        split,
        [row | {"rules": of_row} for row, of_row in zip(rows, names, strict=True)],
        independent_units([row["document"] for row in rows], [row["sentence"] for row in rows]),
        [row["relation"] or NO_RELATION for row in rows],
        [statement(row, of_row, rules) for row, of_row in zip(rows, names, strict=True)],
        {Variant(*variant): _guesses(store, unit, name, split, rows) for *variant, name in variants},
    )


def _guesses(store: Store, unit: Unit, name: str, split: str, rows: Sequence[Row]) -> list[Guess]:
    table = store.read(unit.input(name)).to_pylist()
    of_each = {row["instance"]: row for row in table if row["split"] == split}
    return [Guess(*(of_each[row["instance"]][key] for key in ("predicted", "probability"))) for row in rows]


@dataclass(frozen=True)
class Floor:
    """What is written where nobody reads: the most frequent rule in training of each relation.

    Attributes:
        rules: prints, by the relation.
        references: prints of rules that match and say what holds, by instance of the test part.
    """

    rules: Mapping[str, str]
    references: Mapping[int, frozenset[str]]

    def columns(self, instance: int, relation: str) -> Row:
        """What an answer about an instance is compared with."""
        return {"references": sorted(self.references.get(instance, ())), "floor_rule": self.rules.get(relation, "")}


def floor_of(training: Part, test: Part, rules: Mapping[str, Rule]) -> Floor:
    """By what rules say in training, and what holds in the test part."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for row, relation in zip(training.rows, training.by_rules, strict=True):
        counts[relation].update(rules[name].text for name in row["rules"] if rules[name].relation == relation)
    most = {relation: min(texts, key=lambda text: (-texts[text], text)) for relation, texts in counts.items() if texts}
    references = {
        row["instance"]: frozenset(rules[name].text for name in row["rules"] if rules[name].relation == gold)
        for row, gold in zip(test.rows, test.gold, strict=True)
    }
    return Floor(most, references)
