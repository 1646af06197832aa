"""Rules run over unlabelled texts, shard by shard, with what models and facts say of each match; and counted there."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import groupby, islice
from typing import Any

import numpy as np
import pyarrow as pa

from tiltmeter.cluster.work import Tables
from tiltmeter.jobs.embedding.config import ReadingConfig
from tiltmeter.jobs.embedding.corpora import read_lines
from tiltmeter.jobs.relations.config import LISTS, RelationsRun
from tiltmeter.jobs.relations.models import load_model
from tiltmeter.jobs.relations.rules import File, named_rules, read_timeouts
from tiltmeter.jobs.relations.tables import Rules, TextCounts, TextExamples, TextMatches, Texts, TextTotals, Timeouts
from tiltmeter.jobs.runtime.table import Estimate, Table
from tiltmeter.jobs.runtime.work import Work
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.relations import plain_text
from tiltmeter.operators.relations.instances import Instance
from tiltmeter.operators.relations.learning.models import RelationModel
from tiltmeter.operators.relations.plain_text import Facts, Match, MentionList, RuleSearch, known_facts
from tiltmeter.operators.relations.rules.grammar import LANGUAGE, DependencyRule, NamedRule
from tiltmeter.operators.relations.rules.parsing import parsed
from tiltmeter.operators.statistics import means
from tiltmeter.operators.statistics.means import share_of_counts
from tiltmeter.storage.records import read_records
from tiltmeter.storage.store.ledger import Store, TableRef

Row = dict[str, Any]

_AT_A_TIME = 1000
"""Pairs of which models say something together."""


class ReadList(Work, unit="text_list/1", stage="read lists"):
    """A list that is given along with the texts, each row once: mentions or facts."""

    file: File
    name: str

    def tables(self, store: Store) -> Tables:  # noqa: ARG002
        columns = LISTS[self.name]
        rows = read_records(self.file["uri"], columns).cast(dict.fromkeys(columns, str)).drop_nulls()
        schema = pa.schema([(name, pa.string()) for name in columns])
        yield "rows", rows.unique().sort(columns).to_arrow().cast(schema)


# --- a shard --------------------------------------------------------------------------------------------------------


class RunRules(
    Work,
    unit="text_rule_matches/2",
    stage="run rules over texts",
    makes=[TextCounts, TextExamples, Timeouts, TextTotals],
):
    """What rules match in a shard of lines, what the joint models of all seeds say there, and which are facts."""

    operators: Sequence[str] = (plain_text.VERSION, LANGUAGE)
    max_between: int
    examples: int
    seed: int
    mentions: TableRef | None
    facts: TableRef | None
    rules: Sequence[TableRef]
    models: Sequence[TableRef]
    lines: TableRef

    def rows(self, store: Store) -> Iterator[Table]:
        rules = {row.rule_id: row for ref in self.rules for row in Rules.read(store, ref)}
        mentions = None if self.mentions is None else store.read(self.mentions).to_pylist()
        listed = None if mentions is None else MentionList((row["text"], row["type"]) for row in mentions)
        search = RuleSearch(named_rules(rules.values()), listed)
        facts = {} if self.facts is None else known_facts(store.read(self.facts).to_pylist())
        account = _Account(facts, self.examples, self.seed)
        models = [load_model(store, ref) for ref in self.models]
        matches = search.matches(store.read(self.lines).to_pylist(), self.max_between)
        while batch := list(islice(matches, _AT_A_TIME)):
            account.add(batch, _relations(models, [match.instance for match in batch]))
        yield from account.counted()
        yield from account.examples()
        for name, why in search.timeouts.items():
            yield Timeouts(rule_id=name, reason=why)
        yield TextTotals(**dict[str, Any](search.totals))


def _relations(models: Sequence[RelationModel], instances: Sequence[Instance]) -> list[str]:
    """What the models of all seeds say of pairs, by their mean probability."""
    shares = np.mean([model.probabilities(instances, [()] * len(instances)) for model in models], axis=0)
    names = models[0].vocabulary.relations
    return [names[int(row.argmax())] for row in shares]


@dataclass
class _Account:
    """How often each rule matches in each document, and some examples: a matter of what they are, not of the shard.

    Attributes:
        facts: relations that hold, by the words of subject and object in lower case.
        most_examples: of a rule.
    """

    facts: Facts
    most_examples: int
    seed: int
    _counts: dict[tuple[str, str], TextCounts] = field(default_factory=dict)
    _examples: dict[str, list[TextExamples]] = field(default_factory=lambda: defaultdict(list))

    def add(self, matches: Sequence[Match], predicted: Sequence[str]) -> None:
        for match, relation in zip(matches, predicted, strict=True):
            subject, object_ = match.instance.text("subject"), match.instance.text("object")
            facts = self.facts.get((subject.lower(), object_.lower()))
            for rule in match.rules:
                is_fact = None if facts is None else rule.relation in facts
                counts = self._counts_of(rule.rule_id, match.document)
                counts.num += 1
                counts.num_agreeing += relation == rule.relation
                counts.num_known += is_fact is not None
                counts.num_right += is_fact is True
                cells = {"subject": subject, "object": object_, "predicted": relation, "is_fact": is_fact}
                self._keep(match, rule, cells)

    def _counts_of(self, rule_id: str, document: str) -> TextCounts:
        none = TextCounts(rule_id=rule_id, document=document, num=0, num_agreeing=0, num_known=0, num_right=0)
        return self._counts.setdefault((rule_id, document), none)

    def counted(self) -> list[TextCounts]:
        """By rule and document."""
        return [self._counts[key] for key in sorted(self._counts)]

    def examples(self) -> Iterator[TextExamples]:
        for _, kept in sorted(self._examples.items()):
            yield from kept

    def _keep(self, match: Match, rule: NamedRule, cells: Row) -> None:
        instance = match.instance
        keys: Row = {"rule_id": rule.rule_id, "document": match.document, "line": match.line}
        keys |= {"sentence_number": match.sentence}
        keys |= {"subject_start": instance.subject.start, "object_start": instance.object.start}
        kept = self._examples[rule.rule_id]
        order = document_key("\n".join(map(str, (self.seed, *keys.values()))))
        if len(kept) == self.most_examples and (not kept or order >= kept[-1].order):
            return
        sentence = " ".join(instance.sentence.tokens)
        kept.append(TextExamples(order=order, sentence=sentence, relation=rule.relation, **keys | cells))
        kept.sort(key=lambda row: row.order)
        del kept[self.most_examples :]


# --- all shards -----------------------------------------------------------------------------------------------------


class CountInTexts(Work, unit="text_rules/2", stage="count in texts", makes=[Rules, TextMatches, Texts]):
    """Rows of `rules` whose part is 'texts', some matches of each rule, and how much was read."""

    operator: str = means.VERSION
    level: float
    most_examples: int
    corpus: str
    has_facts: bool
    rules: Sequence[TableRef]
    counts: Sequence[TableRef]
    examples: Sequence[TableRef]
    timeouts: Sequence[TableRef]
    totals: Sequence[TableRef]

    def rows(self, store: Store) -> Iterator[Table]:
        counts: dict[str, dict[str, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
        for row in _read(store, self.counts):
            counts[row.pop("rule_id")][row.pop("document")].update(row)
        timeouts = read_timeouts(store, self.timeouts)
        # The first row of a rule is that of the training part.
        rules = {row.rule_id: row for ref in reversed(self.rules) for row in reversed(Rules.read(store, ref))}
        for name in sorted(rules):
            yield self.counted(rules[name], counts[name], timeouts)
        examples = sorted(_read(store, self.examples), key=lambda row: (row["rule_id"], row["order"]))
        for _, of_rule in groupby(examples, key=lambda row: row["rule_id"]):
            for row in list(of_rule)[: self.most_examples]:
                del row["order"]
                yield TextMatches(**row)
        totals: Counter[Any] = Counter()
        for row in _read(store, self.totals):
            totals.update(row)
        yield Texts(corpus=self.corpus, **dict[str, Any](totals))

    def counted(self, rule: Rules, by_document: Mapping[str, Counter[str]], timeouts: Mapping[str, str]) -> Rules:
        """A rule in texts; precision with its interval over documents."""
        row = Rules(rule_id=rule.rule_id, split="texts", relation=rule.relation, text=rule.text, source=rule.source)
        row.is_used, row.status, row.reason = rule.is_used, rule.status, rule.reason
        if row.status != "ok":
            return row
        if isinstance(parsed(row.text), DependencyRule):
            return row.fail("no_tree", "it needs trees, which texts have not")
        if row.rule_id in timeouts:
            return row.fail("timeout", timeouts[row.rule_id])
        counts = sum(by_document.values(), Counter[str]())
        row.support, row.agreement = counts["num"], counts["num_agreeing"] / counts["num"] if counts["num"] else None
        if self.has_facts:
            right, known = (
                np.array([one[name] for one in by_document.values()]) for name in ("num_right", "num_known")
            )
            precision = share_of_counts(right, known, level=self.level, kind="document")
            row.num_known = counts["num_known"]
            row.precision = Estimate(precision.value, precision.low, precision.high)
        return row


def _read(store: Store, refs: Sequence[TableRef]) -> Iterator[Row]:
    for ref in refs:
        yield from store.read(ref).to_pylist()


def count_in_texts(
    run: RelationsRun, rules: Sequence[TableRef], models: Sequence[TableRef]
) -> dict[str, list[TableRef]]:
    """Tables by name; nothing without texts.

    Args:
        rules: known ones and new ones, of the table `rules`.
        models: joint ones, which say what they think of a pair that a rule matches.
    """
    config, corpus = run.config, run.sources.corpus
    if corpus is None:
        return {}
    given = {name: file for name, file in run.sources.files.files.items() if name in LISTS}
    read = run.do(ReadList(label=name, group="lists", file=file.identity, name=name) for name, file in given.items())
    lists = {work.name: unit.tables["rows"] for work, unit in read.pairs}
    texts, name = config.texts, corpus.corpus.name
    reading = ReadingConfig(**asdict(texts.reading), max_bad_share=config.reading.max_bad_share)
    documents = read_lines(run.runner, [corpus], reading, config.cluster.worker_data_bytes)
    done = run.do(
        RunRules(
            label=f"{name} shard {number}",
            group=name,
            max_between=texts.max_between,
            examples=texts.examples,
            seed=config.seed,
            mentions=lists.get("mentions"),
            facts=lists.get("facts"),
            rules=rules,
            models=models,
            lines=lines,
        )
        for number, lines in enumerate(documents.refs("lines"))
    )
    work = CountInTexts(
        label="rules in texts",
        group=name,
        level=config.job.level,
        most_examples=texts.examples,
        corpus=name,
        has_facts="facts" in lists,
        rules=rules,
        counts=done.refs(TextCounts),
        examples=done.refs(TextExamples),
        timeouts=done.refs(Timeouts),
        totals=done.refs(TextTotals),
    )
    counted = run.do([work], publish=False)
    return {table.table_name: counted.refs(table) for table in (Rules, Texts, TextMatches)}
