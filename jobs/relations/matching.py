"""Rules run over every part: which match which instance, and which take too long to be run at all."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Tables, each
from tiltmeter.jobs.relations.config import SPLITS, RelationRulesRun, Split
from tiltmeter.jobs.relations.instances import Parts, read_instances
from tiltmeter.jobs.relations.tables import COMPILED, MATCHES, TIMEOUTS
from tiltmeter.jobs.runtime.rows import Row, failed, table_of
from tiltmeter.operators.relations.rules.grammar import LANGUAGE, NamedRule
from tiltmeter.operators.relations.rules.index import RuleIndex
from tiltmeter.operators.relations.rules.parsing import parsed
from tiltmeter.storage.store.ledger import Finished, Store, TableRef, Unit


class Matched(NamedTuple):
    """Attributes:
    rules: of the schema ``COMPILED``; those with an expression that took too long say so.
    matches: of the schema ``MATCHES``, by the part.
    """

    rules: TableRef
    matches: Mapping[Split, Sequence[TableRef]]


def match_rules(runner: Runner, config: RelationRulesRun, rules: TableRef, parts: Parts) -> Matched:
    """Run the rules over the instances of every part."""
    size = config.job.unit_instances
    source = {"source": "mappings"} if config.rules.source == "mappings" else {}
    units: dict[str, list[Unit]] = {
        split: [
            Unit(
                "rule_matches/2",
                f"{split} from {low}",
                {"low": low, "high": low + size, "language": LANGUAGE, **source},
                {"instances": [parts[split]], "rules": [rules]},
            )
            for low in range(0, parts[split].num_rows, size)
        ]
        for split in SPLITS
    }
    done = runner.run_whole(Stage("match rules", each(_match), units))
    quick = _quick_rules(runner, rules, [finished for split in SPLITS for finished in done[split]])
    return Matched(quick, {split: [finished.tables["matches"] for finished in done[split]] for split in SPLITS})


def named_rules(store: Store, ref: TableRef) -> list[NamedRule]:
    """Those that are of the language."""
    rows = [row for row in store.read(ref).to_pylist() if row["status"] == "ok"]
    return [NamedRule(row["rule_id"], row["relation"], parsed(row["text"]), row["source"]) for row in rows]


def matches_and_timeouts(store: Store, unit: Unit, rules: Sequence[NamedRule]) -> Tables:
    """Of the rows from ``low`` to ``high`` of the unit's instances."""
    index = RuleIndex(rules)
    low, high = unit.config["low"], unit.config["high"]
    rows = [
        {"split": row["split"], "instance": row["instance"], "rule_id": rule.rule_id}
        for row, instance in read_instances(store, unit.input("instances"))
        if low <= row["instance"] < high
        for rule in index.matching(instance)
    ]
    yield "matches", table_of(rows, MATCHES)
    yield "timeouts", table_of([{"rule_id": name, "reason": why} for name, why in index.timeouts.items()], TIMEOUTS)


def read_timeouts(store: Store, refs: Sequence[TableRef]) -> dict[str, str]:
    """Why rules are not run, by name: the first of the reasons that units give, by their order as text."""
    rows = sorted((row["rule_id"], row["reason"]) for ref in refs for row in store.read(ref).to_pylist())
    return dict(reversed(rows))


def _match(store: Store, unit: Unit) -> Tables:
    rules = named_rules(store, unit.input("rules"))
    if "source" not in unit.config:
        yield from matches_and_timeouts(store, unit, rules)
        return
    yield "matches", table_of(list(_mapped(store, unit, {rule.rule_id for rule in rules})), MATCHES)
    yield "timeouts", table_of([], TIMEOUTS)


def _mapped(store: Store, unit: Unit, names: set[str]) -> Iterator[Row]:
    """What was run elsewhere."""
    for row in store.read(unit.input("instances")).to_pylist():
        if row["status"] == "ok" and unit.config["low"] <= row["instance"] < unit.config["high"]:
            for name in sorted(names.intersection(row["mapped"])):
                yield {"split": row["split"], "instance": row["instance"], "rule_id": name}


def _quick_rules(runner: Runner, rules: TableRef, done: Sequence[Finished]) -> TableRef:
    inputs = {"rules": [rules], "timeouts": [finished.tables["timeouts"] for finished in done]}
    unit = Unit("quick_rules/1", "rules", {}, inputs)
    return runner.run_whole(Stage("find slow rules", each(_without_slow), {"rules": [unit]}))["rules"][0].tables[
        "rules"
    ]


def _without_slow(store: Store, unit: Unit) -> Tables:
    yield "rules", table_of(list(_timed(store, unit)), COMPILED)


def _timed(store: Store, unit: Unit) -> Iterator[Row]:
    timeouts = read_timeouts(store, unit.inputs["timeouts"])
    for row in store.read(unit.input("rules")).to_pylist():
        is_slow = row["status"] == "ok" and row["rule_id"] in timeouts
        yield row | failed("timeout", timeouts[row["rule_id"]]) if is_slow else row
