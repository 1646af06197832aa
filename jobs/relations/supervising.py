"""What rules say of instances, and what models learn of them."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tiltmeter.jobs.relations.config import SPLITS, Split
from tiltmeter.jobs.relations.instances import read_instances
from tiltmeter.jobs.relations.rules import used_rules
from tiltmeter.jobs.runtime.rows import Row
from tiltmeter.operators.relations.instances import NO_RELATION, Instance
from tiltmeter.operators.relations.rules.parsing import parsed
from tiltmeter.operators.relations.rules.printing import rule_symbols
from tiltmeter.operators.relations.supervision import rule_relation, supervised_by_rules
from tiltmeter.storage.store.ledger import Store, TableRef, Unit

Symbols = tuple[str, ...]


class Supervised(NamedTuple):
    """What is known of the instances of a part.

    Attributes:
        instances: each with its row.
        labels: what models are told; of parts but the training one, the relation that holds.
        rules: symbols of the rules that match and have the label.
    """

    instances: Sequence[tuple[Instance, Row]]
    labels: Sequence[str]
    rules: Sequence[Sequence[Symbols]]


class Rule(NamedTuple):
    """Attributes:
    relation: that it stands for.
    text: its print.
    symbols: that it consists of.
    """

    relation: str
    text: str
    symbols: Symbols


def supervised_parts(
    store: Store, unit: Unit, share: float, mode: str, inverses: Mapping[str, str]
) -> dict[str, Supervised]:
    """Of the training part and the development part.

    Args:
        unit: with inputs ``rules``, and of each part its rows and matches, the latter as ``<part>_matches``.
        share: of the rules.
        mode: whether labels are learnt from.
        inverses: relations that hold the other way too; none: any may.
    """
    rules = read_rules(store, unit, share)
    return {
        "training": _supervised(store, unit, "training", rules, mode, share, inverses),
        "development": _supervised(store, unit, "development", rules, "rules+labels", share, inverses),
    }


def read_rules(store: Store, unit: Unit, share: float) -> dict[str, Rule]:
    """Rules that models learn from, by name."""
    rows = [row for row in store.read(unit.input("rules")).to_pylist() if row["status"] == "ok"]
    matches = matching_rules(store, unit.inputs["training_matches"])
    used = used_rules(rows, Counter(name for names in matches.values() for name in names), share)
    return {
        row["rule_id"]: Rule(row["relation"], row["text"], rule_symbols(parsed(row["text"])))
        for row in rows
        if row["rule_id"] in used
    }


def matching_rules(store: Store, refs: Sequence[TableRef]) -> dict[int, list[str]]:
    """Names of the rules that match each instance that any matches."""
    names: dict[int, list[str]] = defaultdict(list)
    for ref in refs:
        for row in store.read(ref).to_pylist():
            names[row["instance"]].append(row["rule_id"])
    return names


def statement(row: Row, names: Sequence[str], rules: Mapping[str, Rule]) -> str:
    """What rules say of an instance, or its tag."""
    if row["tag"] is not None:
        return str(row["tag"])
    return rule_relation([rules[name].relation for name in names if name in rules])


def _label(row: Row, names: Sequence[str], rules: Mapping[str, Rule], share: float) -> str:
    """What rules say; of a share of rules, tags that rest on one of them."""
    relation = statement(row, names, rules)
    if share == 1.0 or row["tag"] is None:
        return relation
    return relation if any(rules[name].relation == relation for name in names if name in rules) else NO_RELATION


def _supervised(
    store: Store,
    unit: Unit,
    split: str,
    rules: Mapping[str, Rule],
    mode: str,
    share: float,
    inverses: Mapping[str, str],
) -> Supervised:
    rows = [(one, row) for row, one in read_instances(store, unit.input(split))]
    names = matching_rules(store, unit.inputs[f"{split}_matches"])
    if mode == "rules":
        labels = [_label(row, names.get(row["instance"], ()), rules, share) for _, row in rows]
        kept = supervised_by_rules(
            [one for one, _ in rows], [row["sentence"] for _, row in rows], labels, inverses or None
        )
        rows = [pair for pair, is_kept in zip(rows, kept, strict=True) if is_kept]
        labels = [label for label, is_kept in zip(labels, kept, strict=True) if is_kept]
    else:
        labels = [row["relation"] or NO_RELATION for _, row in rows]
    of_each = [
        [
            rules[name].symbols
            for name in names.get(row["instance"], ())
            if name in rules and rules[name].relation == label
        ]
        for (_, row), label in zip(rows, labels, strict=True)
    ]
    return Supervised(rows, labels, of_each)


def evidence_of_rules(rules: TableRef, matches: Mapping[Split, Sequence[TableRef]]) -> dict[str, Sequence[TableRef]]:
    """Inputs of a unit that wants to know what rules say."""
    return {"rules": [rules], **{f"{split}_matches": list(matches[split]) for split in SPLITS}}
