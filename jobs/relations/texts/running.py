"""Rules run over unlabelled texts, shard by shard: what each matches, and what models and facts say of that."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from tiltmeter.cluster.work import Tables
from tiltmeter.jobs.relations.tables import TEXT_COUNTS, TEXT_EXAMPLES, TEXT_TOTALS, TIMEOUTS
from tiltmeter.jobs.relations.texts.lists import known_facts
from tiltmeter.jobs.relations.training import load_model
from tiltmeter.jobs.runtime.rows import Row, table_of
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.relations.instances import Instance
from tiltmeter.operators.relations.plain_text import Mention, MentionList, RuleArguments, paired, sentences, untyped
from tiltmeter.operators.relations.rules.grammar import DependencyRule, NamedRule
from tiltmeter.operators.relations.rules.index import RuleIndex
from tiltmeter.operators.relations.rules.parsing import parsed
from tiltmeter.storage.store.ledger import Store, Unit

_AT_A_TIME = 1000
"""Pairs of which models say something together."""


class _Place(NamedTuple):
    """Where a sentence is, and a pair in it: ``rules`` are those that match."""

    document: str
    line: int
    sentence: int
    instance: Instance
    rules: Sequence[NamedRule]


def run_over_shard(store: Store, unit: Unit) -> Tables:
    """Tables ``counts`` and ``examples`` by rule, ``timeouts`` and ``totals`` of a shard of lines."""
    rules = {row["rule_id"]: row for ref in unit.inputs["rules"] for row in store.read(ref).to_pylist()}
    named = [
        NamedRule(name, row["relation"], parsed(row["text"])) for name, row in rules.items() if row["status"] == "ok"
    ]
    search = _Search([rule for rule in named if not isinstance(rule.rule, DependencyRule)], _mentions(store, unit))
    account = _Account(_facts(store, unit), unit.config["examples"], unit.config["seed"])
    models = _Models(store, unit)
    batch: list[_Place] = []
    for place in search.places(store.read(unit.input("lines")).to_pylist(), unit.config["most_between"]):
        batch.append(place)
        if len(batch) == _AT_A_TIME:
            account.add(batch, models.relations(batch))
            batch = []
    account.add(batch, models.relations(batch))
    yield "counts", table_of(list(account.counted()), TEXT_COUNTS)
    yield "examples", table_of(list(account.examples()), TEXT_EXAMPLES)
    yield "timeouts", table_of([{"rule_id": name, "reason": why} for name, why in search.timeouts.items()], TIMEOUTS)
    yield "totals", table_of([dict(search.totals)], TEXT_TOTALS)


def _mentions(store: Store, unit: Unit) -> MentionList | None:
    if "mentions" not in unit.inputs:
        return None
    return MentionList((row["text"], row["type"]) for row in store.read(unit.input("mentions")).to_pylist())


def _facts(store: Store, unit: Unit) -> dict[tuple[str, str], set[str]]:
    return known_facts(store.read(unit.input("facts")).to_pylist()) if "facts" in unit.inputs else {}


class _Search:
    """Pairs that rules match."""

    def __init__(self, rules: Sequence[NamedRule], listed: MentionList | None) -> None:
        self._listed = listed
        self._rules = {rule.rule_id: rule for rule in rules}
        self._index = RuleIndex(rules if listed else [untyped(rule) for rule in rules])
        self._arguments = RuleArguments(rules)
        self.totals: Counter[str] = Counter(num_sentences=0, num_pairs=0, num_matched=0)

    @property
    def timeouts(self) -> Mapping[str, str]:
        """Why rules are not run to the end, by name."""
        return self._arguments.timeouts | self._index.timeouts

    def places(self, lines: Sequence[Row], most_between: int) -> Iterator[_Place]:
        for document, rows in groupby(lines, key=lambda row: row["document"]):
            lines_of_one = [(row["line"], list(sentences(row["text"]))) for row in rows]
            common = {word for _, inner in lines_of_one for tokens in inner for word in tokens if word.islower()}
            for line, inner in lines_of_one:
                for number, tokens in enumerate(inner):
                    pairs = paired(tokens, self._mentions(tokens, common), most_between)
                    yield from self._matched(document, line, number, pairs)

    def _mentions(self, tokens: Sequence[str], common: set[str]) -> list[Mention]:
        return self._listed.mentions(tokens) if self._listed else self._arguments.mentions(tokens, common)

    def _matched(self, document: str, line: int, number: int, pairs: Iterator[Instance]) -> Iterator[_Place]:
        self.totals["num_sentences"] += 1
        for instance in pairs:
            self.totals["num_pairs"] += 1
            if rules := self._index.matching(instance):
                self.totals["num_matched"] += 1
                yield _Place(document, line, number, instance, rules)


class _Models:
    """What the joint models of all seeds say of a pair, by their mean probability."""

    def __init__(self, store: Store, unit: Unit) -> None:
        self._models = [load_model(store, ref) for ref in unit.inputs["models"]]

    def relations(self, places: Sequence[_Place]) -> list[str]:
        instances = [place.instance for place in places]
        if not instances:
            return []
        shares = np.mean([model.probabilities(instances, [()] * len(instances)) for model in self._models], axis=0)
        names = self._models[0].vocabulary.relations
        return [names[int(row.argmax())] for row in shares]


@dataclass
class _Account:
    """How often each rule matches in each document, and some examples: a matter of what they are, not of the shard.

    Attributes:
        facts: relations that hold, by the words of subject and object in lower case.
        most_examples: of a rule.
    """

    facts: Mapping[tuple[str, str], set[str]]
    most_examples: int
    seed: int
    _counts: dict[tuple[str, str], Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    _examples: dict[str, list[tuple[int, Row]]] = field(default_factory=lambda: defaultdict(list))

    def add(self, places: Sequence[_Place], predicted: Sequence[str]) -> None:
        for place, relation in zip(places, predicted, strict=True):
            subject, object_ = (_words(place.instance, role) for role in ("subject", "object"))
            facts = self.facts.get((subject.lower(), object_.lower()))
            for rule in place.rules:
                counts = self._counts[rule.rule_id, place.document]
                counts["num"] += 1
                counts["num_agreeing"] += relation == rule.relation
                counts["num_known"] += facts is not None
                counts["num_right"] += facts is not None and rule.relation in facts
                row = {"subject": subject, "object": object_, "predicted": relation, "relation": rule.relation}
                self._keep(rule.rule_id, place, row | {"is_fact": None if facts is None else rule.relation in facts})

    def counted(self) -> Iterator[Row]:
        """By rule and document."""
        return ({"rule_id": name, "document": one} | counts for (name, one), counts in sorted(self._counts.items()))

    def examples(self) -> Iterator[Row]:
        for _, kept in sorted(self._examples.items()):
            yield from (row for _, row in kept)

    def _keep(self, rule_id: str, place: _Place, row: Row) -> None:
        instance = place.instance
        keys: dict[str, Any] = {"rule_id": rule_id, "document": place.document, "line": place.line}
        keys |= {"sentence_number": place.sentence}
        keys |= {"subject_start": instance.subject.start, "object_start": instance.object.start}
        kept = self._examples[rule_id]
        order = document_key("\n".join(map(str, (self.seed, *keys.values()))))
        if len(kept) == self.most_examples and (not kept or order >= kept[-1][0]):
            return
        kept.append((order, keys | {"order": order, "sentence": " ".join(instance.sentence.tokens)} | row))
        kept.sort(key=lambda pair: pair[0])
        del kept[self.most_examples :]


def _words(instance: Instance, role: str) -> str:
    span = instance.subject if role == "subject" else instance.object
    return " ".join(instance.sentence.tokens[span.start : span.end])
