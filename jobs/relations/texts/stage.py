"""Stages from unlabelled texts to how often each rule matches in them, and how right it is there."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Tables, each
from tiltmeter.jobs.embedding.config import ReadingConfig
from tiltmeter.jobs.embedding.corpora import read_lines
from tiltmeter.jobs.relations.config import RelationRulesRun
from tiltmeter.jobs.relations.matching import read_timeouts
from tiltmeter.jobs.relations.sources import RelationSources
from tiltmeter.jobs.relations.tables import RULES, TEXT_MATCHES, TEXTS
from tiltmeter.jobs.relations.texts.lists import read_lists
from tiltmeter.jobs.relations.texts.running import run_over_shard
from tiltmeter.jobs.runtime.rows import Row, failed, table_of
from tiltmeter.operators.relations import plain_text
from tiltmeter.operators.relations.rules.grammar import LANGUAGE, DependencyRule
from tiltmeter.operators.relations.rules.parsing import parsed
from tiltmeter.operators.statistics import means
from tiltmeter.operators.statistics.means import share_of_counts
from tiltmeter.storage.store.ledger import Finished, Store, TableRef, Unit

_KEPT = ("rule_id", "relation", "text", "source", "is_used", "status", "reason")


def run_over_texts(
    runner: Runner,
    config: RelationRulesRun,
    sources: RelationSources,
    rules: Sequence[TableRef],
    models: Sequence[TableRef],
) -> dict[str, list[TableRef]]:
    """Rows of ``rules`` whose part is 'texts', and the tables ``texts`` and ``text_matches``; nothing without texts.

    Args:
        rules: known ones and new ones, of the schema ``RULES``.
        models: joint ones, which say what they think of a pair that a rule matches.
    """
    if sources.texts is None:
        return {}
    lists = read_lists(runner, sources.lists)
    texts, workers = config.texts, config.cluster
    reading = ReadingConfig(**asdict(texts.reading), max_bad_share=config.reading.max_bad_share)
    documents = read_lines(runner, [sources.texts], reading, workers.worker_data_bytes)
    settings = {"operators": [plain_text.VERSION, LANGUAGE], "most_between": texts.most_between}
    settings |= {"examples": texts.examples, "seed": config.seed}
    inputs = {name: [ref] for name, ref in lists.items()} | {"rules": list(rules), "models": list(models)}
    name = sources.texts.corpus.name
    units = [
        Unit("text_rule_matches/2", f"{name} shard {number}", settings, inputs | {"lines": [lines]})
        for number, lines in enumerate(documents.refs("lines"))
    ]
    done = runner.run_whole(Stage("run rules over texts", each(run_over_shard), {name: units}))[name]
    return _reduced(runner, config, name, rules, done, "facts" in lists)


def _reduced(
    runner: Runner,
    config: RelationRulesRun,
    name: str,
    rules: Sequence[TableRef],
    done: Sequence[Finished],
    has_facts: bool,
) -> dict[str, list[TableRef]]:
    inputs: dict[str, list[TableRef]] = {"rules": list(rules)}
    inputs |= {part: [unit.tables[part] for unit in done] for part in ("counts", "examples", "timeouts", "totals")}
    settings = {
        "operator": means.VERSION,
        "level": config.job.level,
        "examples": config.texts.examples,
        "corpus": name,
        "has_facts": has_facts,
    }
    unit = Unit("text_rules/2", "rules in texts", settings, inputs)
    [reduced] = runner.run_whole(Stage("count in texts", each(_count), {name: [unit]}))[name]
    return {table: [reduced.tables[table]] for table in ("rules", "texts", "text_matches")}


def _count(store: Store, unit: Unit) -> Tables:
    counts: dict[str, dict[str, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
    for row in _rows(store, unit, "counts"):
        counts[row.pop("rule_id")][row.pop("document")].update(row)
    timeouts = read_timeouts(store, unit.inputs["timeouts"])
    rules = {row["rule_id"]: row for row in reversed(list(_rows(store, unit, "rules")))}
    made = [_counted(rules[name], counts[name], timeouts, unit.config) for name in sorted(rules)]
    yield "rules", table_of(made, RULES)
    examples: dict[str, list[Row]] = defaultdict(list)
    for row in sorted(_rows(store, unit, "examples"), key=lambda row: (row["rule_id"], row["order"])):
        examples[row["rule_id"]].append(row)
    kept = [row for rows in examples.values() for row in rows[: unit.config["examples"]]]
    yield "text_matches", table_of(kept, TEXT_MATCHES)
    totals: Counter[str] = Counter()
    for row in _rows(store, unit, "totals"):
        totals.update(row)
    yield "texts", table_of([{"corpus": unit.config["corpus"], **totals}], TEXTS)


def _rows(store: Store, unit: Unit, role: str) -> Iterator[Row]:
    for ref in unit.inputs[role]:
        yield from store.read(ref).to_pylist()


def _counted(
    rule: Row, by_document: Mapping[str, Counter[str]], timeouts: Mapping[str, str], config: Mapping[str, Any]
) -> Row:
    row = {name: rule[name] for name in _KEPT} | {"split": "texts"}
    if row["status"] != "ok":
        return row
    if isinstance(parsed(row["text"]), DependencyRule):
        return row | failed("no_tree", "it needs trees, which texts have not")
    if row["rule_id"] in timeouts:
        return row | failed("timeout", timeouts[row["rule_id"]])
    counts = sum(by_document.values(), Counter[str]())
    row |= {"support": counts["num"], "agreement": counts["num_agreeing"] / counts["num"] if counts["num"] else None}
    if not config["has_facts"]:
        return row
    right, known = (np.array([one[name] for one in by_document.values()]) for name in ("num_right", "num_known"))
    precision = share_of_counts(right, known, level=config["level"], kind="document")
    ends = {"precision_low": precision.low, "precision_high": precision.high}
    return row | {"num_known": counts["num_known"], "precision": precision.value} | ends
