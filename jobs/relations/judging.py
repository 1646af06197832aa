"""Rules that are written and new: run over training and test; and the relations that written rules imply."""

from collections.abc import Iterator, Mapping, Sequence

from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Tables, each
from tiltmeter.jobs.relations.config import RelationRulesRun
from tiltmeter.jobs.relations.instances import Parts
from tiltmeter.jobs.relations.matching import matches_and_timeouts, read_timeouts
from tiltmeter.jobs.relations.rules import part_hits
from tiltmeter.jobs.relations.supervising import read_rules
from tiltmeter.jobs.relations.tables import EXPLANATIONS, RULES
from tiltmeter.jobs.runtime.rows import OK, Row, failed, table_of
from tiltmeter.operators.relations.rules.grammar import LANGUAGE, NamedRule
from tiltmeter.operators.relations.rules.parsing import parsed
from tiltmeter.operators.relations.supervision import rule_relation
from tiltmeter.operators.statistics import means
from tiltmeter.storage.store.ledger import Store, TableRef, Unit


def judge_rules(
    runner: Runner,
    config: RelationRulesRun,
    parts: Parts,
    evidence: Mapping[str, Sequence[TableRef]],
    written: Sequence[TableRef],
) -> dict[str, list[TableRef]]:
    """The table ``explanations``, and rows of ``rules`` for those that are written and new: run over training and test.

    Args:
        evidence: the inputs that say what known rules match.
    """
    if not written:
        return {"explanations": [], "rules": []}
    size = config.job.unit_instances
    units = {
        split: [
            Unit(
                "new_rule_matches/2",
                f"{split} from {low}",
                {"low": low, "high": low + size, "language": LANGUAGE, "share": config.rules.share},
                {"instances": [parts[split]], "written": list(written), **evidence},
            )
            for low in range(0, parts[split].num_rows, size)
        ]
        for split in ("training", "test")
    }
    done = runner.run_whole(Stage("run new rules", each(_match_new), units))
    inputs = {split: [parts[split]] for split in ("training", "test")}
    inputs |= {f"{split}_new": [finished.tables["matches"] for finished in group] for split, group in done.items()}
    inputs["timeouts"] = [finished.tables["timeouts"] for group in done.values() for finished in group]
    settings = {"operator": means.VERSION, "level": config.job.level, "share": config.rules.share}
    unit = Unit("judged_rules/3", "rules", settings, {**inputs, "written": list(written), **evidence})
    [judged] = runner.run_whole(Stage("judge rules", each(_judge), {"rules": [unit]}))["rules"]
    return {name: [judged.tables[name]] for name in ("explanations", "rules")}


def _new_rules(store: Store, unit: Unit) -> list[str]:
    """Prints of rules that are written and match what they are written of, and that models do not learn from."""
    known = {rule.text for rule in read_rules(store, unit, unit.config["share"]).values()}
    texts = {row["rule"] for row in _rows(store, unit.inputs["written"]) if row["parses"]}
    return sorted(texts - known)


def _rows(store: Store, refs: Sequence[TableRef]) -> Iterator[Row]:
    for ref in refs:
        yield from store.read(ref).to_pylist()


def _match_new(store: Store, unit: Unit) -> Tables:
    rules = [NamedRule(text, "", parsed(text)) for text in _new_rules(store, unit)]
    return matches_and_timeouts(store, unit, rules)


def _judge(store: Store, unit: Unit) -> Tables:
    known = read_rules(store, unit, unit.config["share"])
    hits = {split: part_hits(store, unit.input(split), unit.inputs[f"{split}_new"]) for split in ("training", "test")}
    implied = {text: rule_relation(relations) for text, relations in hits["training"].relations.items()}
    names = {rule.text: name for name, rule in sorted(known.items(), reverse=True)}
    implied |= {rule.text: rule.relation for _, rule in sorted(known.items(), reverse=True)}
    rows = [_with_relation(row, names, implied) for row in _rows(store, unit.inputs["written"])]
    yield "explanations", table_of(rows, EXPLANATIONS)
    new = [text for text in _new_rules(store, unit) if text in implied]
    timeouts = read_timeouts(store, unit.inputs["timeouts"])
    made = [
        {"rule_id": f"new {number}", "split": split, "relation": implied[text], "text": text, "source": "decoded"}
        | {"is_used": False}
        | (
            failed("timeout", timeouts[text])
            if text in timeouts
            else hits[split].columns(text, implied[text], unit.config["level"]) | OK
        )
        for number, text in enumerate(new, start=1)
        for split in ("training", "test")
    ]
    yield "rules", table_of(made, RULES)


def _with_relation(row: Row, names: Mapping[str, str], implied: Mapping[str, str]) -> Row:
    relation = implied.get(row["rule"]) if row["parses"] else None
    return row | {
        "rule_id": names.get(row["rule"]) if row["parses"] else None,
        "implied_relation": relation,
        "is_faithful": None if relation is None else relation == row["predicted"],
    }
