"""Rules: compiled from where they come from, and counted."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

import numpy as np

from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Tables, each
from tiltmeter.jobs.relations.config import SPLITS, RelationRulesRun, Split
from tiltmeter.jobs.relations.instances import Parts, read_instances
from tiltmeter.jobs.relations.sources import RelationSources
from tiltmeter.jobs.relations.tables import COMPILED, RULES
from tiltmeter.jobs.runtime.rows import OK, Row, failed, table_of
from tiltmeter.operators.relations import induction, synthetic, tagged
from tiltmeter.operators.relations.evaluation import independent_units
from tiltmeter.operators.relations.floors import relation_key
from tiltmeter.operators.relations.induction import Induction, induced_rules
from tiltmeter.operators.relations.instances import NO_RELATION
from tiltmeter.operators.relations.rules.foreign.translation import Untranslated, Written, translated
from tiltmeter.operators.relations.rules.grammar import LANGUAGE, NamedRule
from tiltmeter.operators.relations.rules.printing import printed
from tiltmeter.operators.relations.supervision import rule_relation
from tiltmeter.operators.relations.synthetic import synthetic_rules
from tiltmeter.operators.relations.tagged import tag_rule
from tiltmeter.operators.statistics import means
from tiltmeter.operators.statistics.means import share
from tiltmeter.operators.statistics.units import units_of
from tiltmeter.storage.relations.rules import read_rules
from tiltmeter.storage.store.ledger import Store, TableRef, Unit


def compile_rules(runner: Runner, config: RelationRulesRun, sources: RelationSources, parts: Parts) -> TableRef:
    """Rules of the schema ``COMPILED``; one that is none of the language says why."""
    source = "made_up" if config.rules.source == "file" and config.rules.path is None else config.rules.source
    settings: dict[str, Any] = {"source": source, "language": LANGUAGE}
    inputs = {} if source == "made_up" else {"instances": [parts["training"]]}
    if source in ("file", "mappings"):
        settings["file"] = sources.rules.files["rules"].identity
    if source == "made_up":
        settings["operator"] = synthetic.VERSION
    if source == "tags":
        settings["operator"] = tagged.VERSION
    if source == "induced":
        settings |= {"operator": induction.VERSION, "induction": asdict(config.rules.induction), "seed": config.seed}
    unit = Unit("compiled_rules/1", "rules", settings, inputs)
    return runner.run_whole(Stage("compile rules", each(_compile), {"rules": [unit]}))["rules"][0].tables["rules"]


def count_rules(
    runner: Runner, config: RelationRulesRun, rules: TableRef, parts: Parts, matches: Mapping[Split, Sequence[TableRef]]
) -> TableRef:
    """Support, precision and recall of each rule on each part, of the schema ``RULES``."""
    inputs = {"rules": [rules]}
    for split in SPLITS:
        inputs |= {split: [parts[split]], f"{split}_matches": list(matches[split])}
    settings = {"operator": means.VERSION, "level": config.job.level, "share": config.rules.share}
    unit = Unit("counted_rules/3", "rules", settings, inputs)
    return runner.run_whole(Stage("count rules", each(_count), {"rules": [unit]}))["rules"][0].tables["rules"]


def _compile(store: Store, unit: Unit) -> Tables:
    source = unit.config["source"]
    known = {row["relation"] for ref in unit.inputs.get("instances", ()) for row in store.read(ref).to_pylist()}
    rules, others = _induced(store, unit) if source == "induced" else translated(_given(store, unit), source)
    rows = [_judged(rule, known) for rule in rules]
    rows += [
        {"rule_id": rule_id, "relation": relation, "text": pattern, "source": source} | failed("no_rule", reason)
        for rule_id, relation, pattern, reason in others
    ]
    yield "rules", table_of(rows, COMPILED)


def _induced(store: Store, unit: Unit) -> tuple[list[NamedRule], list[Untranslated]]:
    instances = [one for _, one in read_instances(store, unit.input("instances"))]
    made = induced_rules(instances, Induction(**unit.config["induction"]), unit.config["seed"])
    return [one.rule for one in made], []


def _given(store: Store, unit: Unit) -> Iterator[Written]:
    if unit.config["source"] == "made_up":
        yield from (Written(*rule, "rules") for rule in synthetic_rules())
    elif unit.config["source"] == "file":
        for one in read_rules(unit.config["file"]["uri"]):
            yield Written(one.rule_id, one.relation or "", one.pattern, one.language)
    elif unit.config["source"] == "mappings":
        relations = _mapped_relations(store, unit)
        for one in read_rules(unit.config["file"]["uri"]):
            yield Written(one.rule_id, relations.get(one.rule_id, ""), one.pattern, one.language)
    elif unit.config["source"] == "tags":
        texts = Counter(
            (printed(rule), row["tag"])
            for row, instance in read_instances(store, unit.input("instances"))
            if row["tag"] not in (None, NO_RELATION) and (rule := tag_rule(instance, row["tagged"]))
        )
        for number, (text, relation) in enumerate(sorted(texts), start=1):
            yield Written(f"t{number}", relation, text, "rules")


def _mapped_relations(store: Store, unit: Unit) -> dict[str, str]:
    """What each rule says of most training instances that it matches; a relation without slashes is known by those of
    the instances."""
    rows = store.read(unit.input("instances")).to_pylist()
    names = {relation_key(row["relation"]): row["relation"] for row in rows if row["relation"]}
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for row in rows:
        for rule, relation in zip(row["mapped"] or (), row["mapped_relations"] or (), strict=True):
            counts[rule][names.get(relation_key(relation), relation)] += 1
    return {rule: rule_relation(list(relations.elements())) for rule, relations in counts.items()}


def _judged(rule: NamedRule, known: set[Any]) -> Row:
    row = {"rule_id": rule.rule_id, "relation": rule.relation, "text": printed(rule.rule), "source": rule.source}
    if not rule.relation:
        return row | failed("unknown_relation", "it matches no training instance, so that nothing says its relation")
    if known and rule.relation not in known:
        return row | failed("unknown_relation", f"no training instance has the relation {rule.relation!r}")
    return row | OK


def _count(store: Store, unit: Unit) -> Tables:
    rules = store.read(unit.input("rules")).to_pylist()
    counted = {split: part_hits(store, unit.input(split), unit.inputs[f"{split}_matches"]) for split in SPLITS}
    matches = {name: len(units) for name, units in counted["training"].units.items()}
    used = used_rules([row for row in rules if row["status"] == "ok"], matches, unit.config["share"])
    rows = [
        _counted(row, counted[split], unit.config["level"]) | {"split": split, "is_used": row["rule_id"] in used}
        for split in SPLITS
        for row in rules
    ]
    yield "rules", table_of(rows, RULES)


class PartHits(NamedTuple):
    """What rules match in a part.

    Attributes:
        relations, units: by the rule, of the instances that it matches: what holds, and which unit they are of.
        golds: how many instances have each relation.
        kind: of units.
    """

    relations: Mapping[str, Sequence[str]]
    units: Mapping[str, Sequence[int]]
    golds: Counter[str]
    kind: str

    def columns(self, rule: str, relation: str, level: float) -> Row:
        """Support, precision with its interval, and recall of a rule that stands for a relation."""
        right = np.array([one == relation for one in self.relations.get(rule, ())], dtype=np.bool_)
        precision = share(right, units_of(np.array(self.units.get(rule, ()), dtype=np.int64), self.kind), level=level)
        ends = {"precision": precision.value, "precision_low": precision.low, "precision_high": precision.high}
        gold = self.golds[relation]
        return {"support": right.size, **ends, "recall": int(right.sum()) / gold if gold else None}


def part_hits(store: Store, part: TableRef, matches: Sequence[TableRef]) -> PartHits:
    """Of rows and matches of a part."""
    rows = [row for row, _ in read_instances(store, part)]
    units = independent_units([row["document"] for row in rows], [row["sentence"] for row in rows])
    of_each = {
        row["instance"]: (row["relation"] or NO_RELATION, unit)
        for row, unit in zip(rows, units.codes.tolist(), strict=True)
    }
    relations, codes = defaultdict[str, list[str]](list), defaultdict[str, list[int]](list)
    for ref in matches:
        for row in store.read(ref).to_pylist():
            relation, unit = of_each[row["instance"]]
            relations[row["rule_id"]].append(relation)
            codes[row["rule_id"]].append(unit)
    return PartHits(relations, codes, Counter(relation for relation, _ in of_each.values()), units.kind)


def used_rules(rules: Sequence[Row], num_matches: Mapping[str, int], share_of_rules: float) -> set[str]:
    """The most frequent in training, of those that match something there; of equals, the first by name."""
    counts = {row["rule_id"]: num_matches[row["rule_id"]] for row in rules if row["rule_id"] in num_matches}
    order = sorted(counts, key=lambda name: (-counts[name], name))
    return set(order[: max(1, round(share_of_rules * len(order)))])


def _counted(row: Row, hits: PartHits, level: float) -> Row:
    return row if row["status"] != "ok" else row | hits.columns(row["rule_id"], row["relation"], level)
