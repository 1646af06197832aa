"""The instances of each part, and rules: compiled, run over them and counted; and what rules say of instances."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, NamedTuple, cast

import numpy as np

from tiltmeter.jobs.relations.config import SPLITS, RelationsRun, Split
from tiltmeter.jobs.relations.tables import Annotations, Matches, Rules, RuleTexts, Timeouts
from tiltmeter.jobs.runtime.table import Estimate
from tiltmeter.jobs.runtime.work import Done, Subject, Work
from tiltmeter.operators.relations import induction, synthetic, tagged
from tiltmeter.operators.relations.evaluation import independent_units
from tiltmeter.operators.relations.floors import relations_of_rules
from tiltmeter.operators.relations.induction import Induction, induced_rules
from tiltmeter.operators.relations.instances import NO_RELATION, Instance, InstanceError, Sentence
from tiltmeter.operators.relations.rows import instance_of, row_of
from tiltmeter.operators.relations.rules.foreign.translation import Untranslated, Written, translated
from tiltmeter.operators.relations.rules.grammar import LANGUAGE, NamedRule
from tiltmeter.operators.relations.rules.index import RuleIndex
from tiltmeter.operators.relations.rules.parsing import parsed
from tiltmeter.operators.relations.rules.printing import printed, rule_symbols
from tiltmeter.operators.relations.supervision import rule_relation
from tiltmeter.operators.relations.synthetic import synthetic_instances, synthetic_rules
from tiltmeter.operators.relations.tagged import tag_rules
from tiltmeter.operators.statistics import means
from tiltmeter.operators.statistics.means import share
from tiltmeter.operators.statistics.units import units_of
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.files.redaction import redacted
from tiltmeter.storage.relations.rules import read_mappings, read_rule_tags, read_rules
from tiltmeter.storage.relations.sentences import read_relations
from tiltmeter.storage.relations.trees import with_trees
from tiltmeter.storage.store.ledger import Store, TableRef

Row = dict[str, Any]

File = Mapping[str, Any]
"""Where a file is and what it is at the moment: ``uri``, ``bytes`` and ``version``."""

Parts = Mapping[Split, TableRef]
"""The rows of each part, of the table :class:`.Annotations`."""

Symbols = tuple[str, ...]


# --- instances ------------------------------------------------------------------------------------------------------


class MakeInstances(Work, unit="relation_instances/1", stage="read instances", makes=[Annotations]):
    """So many sentences that are made up; ``part`` is the number of the part, by which they are drawn."""

    split: Split
    sentences: int
    part: int
    seed: int
    operator: str = synthetic.VERSION

    def rows(self, store: Store) -> Iterator[Annotations]:  # noqa: ARG002
        made = synthetic_instances(self.sentences, self.part, self.seed)
        return _annotated([row_of(one) for one in made], [{}] * len(made), self.split)


class ReadInstances(Work, unit="relation_instances/1", stage="read instances", makes=[Annotations]):
    """The instances of a file, with what other files say of them; one that can't be says why."""

    split: Split
    file: File
    tags: File | None
    mappings: File | None = None
    trees: File | None = None

    def rows(self, store: Store) -> Iterator[Annotations]:  # noqa: ARG002
        rows = read_relations(self.file["uri"])
        statements = self._statements(len(rows))
        if len(statements) != len(rows):
            kind, file = ("tags", self.tags) if self.tags else ("mappings", self.mappings or {})
            lines = f"{len(statements):,} lines for {len(rows):,} instances"
            raise InputError(f"rules.{kind}: {redacted(file['uri'])} has {lines}: must have one for each")
        rows = rows if self.trees is None else with_trees(rows, self.trees["uri"])
        return _annotated(rows, statements, self.split)

    def _statements(self, num_rows: int) -> list[Row]:
        """What tags or mappings say of each instance; nothing without."""
        if self.tags:
            return [{"tag": tag.relation, "tagged": tag.tokens} for tag in read_rule_tags(self.tags["uri"])]
        if self.mappings:
            mapped = [pairs or () for pairs in read_mappings(self.mappings["uri"])]
            return [
                {"mapped": [name for _, name in pairs], "mapped_relations": [relation for relation, _ in pairs]}
                for pairs in mapped
            ]
        return [{}] * num_rows


def _annotated(rows: Sequence[Row], statements: Sequence[Row], split: Split) -> Iterator[Annotations]:
    known = {column.name for column in Annotations.columns}
    sentences: dict[tuple[str, ...], int] = {}
    for number, (row, more) in enumerate(zip(rows, statements, strict=True)):
        sentence = sentences.setdefault((row["document"] or "", *row["tokens"]), len(sentences))
        cells = {name: value for name, value in row.items() if name in known} | more
        made = Annotations(**cells | {"split": split, "instance": number, "sentence": sentence})
        try:
            instance_of(row)
        except InstanceError as error:
            made.fail("no_instance", str(error))
        yield made


def read_parts(run: RelationsRun) -> Parts:
    """The rows of every part."""
    done = run.do(_part(run, split, number) for number, split in enumerate(SPLITS))
    return dict(zip(SPLITS, done.refs(Annotations), strict=True))


def _part(run: RelationsRun, split: Split, number: int) -> MakeInstances | ReadInstances:
    data, files = run.config.data, run.sources.files.files
    about: Row = {"label": f"{split} part", "group": "instances", "split": split}
    if data.path is None:
        size = data.sentences if split == "training" else data.sentences // 2
        return MakeInstances(sentences=size, part=number, seed=run.config.seed, **about)
    about |= {kind: _file(run, f"{kind}_{split}") for kind in ("tags", "mappings", "trees")}
    return ReadInstances(file=files[split].identity, **about)


def _file(run: RelationsRun, name: str) -> File | None:
    file = run.sources.files.files.get(name)
    return None if file is None else file.identity


def instances_of(rows: Iterable[Annotations]) -> list[tuple[Annotations, Instance]]:
    """Rows whose status is ok, with their records; those of one sentence share it."""
    sentences: dict[int, Sentence] = {}
    made = []
    for row in rows:
        if row.status == "ok":
            one = instance_of(vars(row) | {"row": row.instance})
            sentence = sentences.setdefault(row.sentence, one.sentence)
            made.append((row, replace(one, sentence=sentence)))
    return made


# --- rules from where they come from --------------------------------------------------------------------------------


class CompileRules(Work, unit="compiled_rules/1", stage="compile rules", makes=[RuleTexts]):
    """Rules of a file, mined, made of tags or made up; one that is none of the language says why.

    Attributes:
        operator: that makes them, if any does.
        induction, seed: how they are mined.
        instances: of the training part.
    """

    source: str
    language: str = LANGUAGE
    operator: str = ""
    file: File | None = None
    induction: Induction | None = None
    seed: int | None = None
    instances: TableRef | None

    def rows(self, store: Store) -> Iterator[RuleTexts]:
        data = [] if self.instances is None else Annotations.read(store, self.instances)
        known = {row.relation for row in data}
        rules, others = self._rules(data)
        for rule in rules:
            row = RuleTexts(rule_id=rule.rule_id, relation=rule.relation, text=printed(rule.rule), source=rule.source)
            if not rule.relation:
                row.fail("unknown_relation", "it matches no training instance, so that nothing says its relation")
            elif known and rule.relation not in known:
                row.fail("unknown_relation", f"no training instance has the relation {rule.relation!r}")
            yield row
        for rule_id, relation, pattern, reason in others:
            row = RuleTexts(rule_id=rule_id, relation=relation, text=pattern, source=self.source)
            yield row.fail("no_rule", reason)

    def _rules(self, data: Sequence[Annotations]) -> tuple[Sequence[NamedRule], Sequence[Untranslated]]:
        if self.induction is None:
            return translated(self._given(data), self.source)
        instances = [one for _, one in instances_of(data)]
        return [one.rule for one in induced_rules(instances, self.induction, cast(int, self.seed))], []

    def _given(self, data: Sequence[Annotations]) -> Iterator[Written]:
        if self.source == "made_up":
            yield from (Written(*rule, "rules") for rule in synthetic_rules())
        if self.source == "tags":
            tags = ((instance, row.tag, row.tagged or ()) for row, instance in instances_of(data))
            yield from (Written(*rule, "rules") for rule in tag_rules(tags))
        if self.file is not None:
            matched = (zip(row.mapped or (), row.mapped_relations or (), strict=True) for row in data)
            relations = relations_of_rules((row.relation for row in data if row.relation), chain(*matched))
            for one in read_rules(self.file["uri"]):
                relation = one.relation if self.source == "file" else relations.get(one.rule_id)
                yield Written(one.rule_id, relation or "", one.pattern, one.language)


def compile_rules(run: RelationsRun, parts: Parts) -> TableRef:
    """The table :class:`.RuleTexts` of all."""
    rules = run.config.rules
    source = "made_up" if rules.source == "file" and rules.path is None else rules.source
    versions = {"made_up": synthetic.VERSION, "tags": tagged.VERSION, "induced": induction.VERSION}
    is_mined = source == "induced"
    work = CompileRules(
        label="rules",
        group="rules",
        source=source,
        operator=versions.get(source, ""),
        file=_file(run, "rules") if source in ("file", "mappings") else None,
        induction=rules.induction if is_mined else None,
        seed=run.config.seed if is_mined else None,
        instances=None if source == "made_up" else parts["training"],
    )
    return run.do([work]).one(RuleTexts)


# --- what rules match -----------------------------------------------------------------------------------------------


class OfRange(Work):
    """A unit of the instances of a part from ``low`` to ``high``."""

    low: int
    high: int

    def of_range(self, rows: Iterable[Annotations]) -> list[Annotations]:
        """Those of the rows."""
        return [row for row in rows if self.low <= row.instance < self.high]


def ranges(name: str, part: TableRef, size: int) -> list[Row]:
    """Of the instances of a part, so many in each, with the labels of their units."""
    return [{"label": f"{name} from {low}", "low": low, "high": low + size} for low in range(0, part.num_rows, size)]


class MatchRules(OfRange, unit="rule_matches/2", stage="match rules", makes=[Matches, Timeouts]):
    """Which rules match which instances; with ``source``, what was run elsewhere says so."""

    language: str = LANGUAGE
    source: str = ""
    instances: TableRef
    rules: TableRef

    def rows(self, store: Store) -> Iterator[Matches | Timeouts]:
        rules = named_rules(RuleTexts.read(store, self.rules))
        data = self.of_range(Annotations.read(store, self.instances))
        return _mapped(data, {rule.rule_id for rule in rules}) if self.source else matches_and_timeouts(data, rules)


def named_rules(rows: Iterable[RuleTexts | Rules]) -> list[NamedRule]:
    """Those that are of the language."""
    return [NamedRule(row.rule_id, row.relation, parsed(row.text), row.source) for row in rows if row.status == "ok"]


def _mapped(data: Sequence[Annotations], names: set[str]) -> Iterator[Matches]:
    for row in data:
        for name in sorted(names.intersection(row.mapped or ())) if row.status == "ok" else ():
            yield Matches(split=row.split, instance=row.instance, rule_id=name)


def matches_and_timeouts(data: Sequence[Annotations], rules: Sequence[NamedRule]) -> Iterator[Matches | Timeouts]:
    """Of rules that are run, those that take too long with their reasons."""
    index = RuleIndex(rules)
    for row, instance in instances_of(data):
        for rule in index.matching(instance):
            yield Matches(split=row.split, instance=row.instance, rule_id=rule.rule_id)
    for name, why in index.timeouts.items():
        yield Timeouts(rule_id=name, reason=why)


def read_timeouts(store: Store, refs: Sequence[TableRef]) -> dict[str, str]:
    """Why rules are not run, by name: the first of the reasons that units give, by their order as text."""
    rows = sorted((row.rule_id, row.reason) for ref in refs for row in Timeouts.read(store, ref))
    return dict(reversed(rows))


class FindQuickRules(Work, unit="quick_rules/1", stage="find slow rules", makes=[RuleTexts]):
    """The rules; those with an expression that took too long in any part say so."""

    rules: TableRef
    timeouts: Sequence[TableRef]

    def rows(self, store: Store) -> Iterator[RuleTexts]:
        timeouts = read_timeouts(store, self.timeouts)
        for row in RuleTexts.read(store, self.rules):
            is_slow = row.status == "ok" and row.rule_id in timeouts
            yield row.fail("timeout", timeouts[row.rule_id]) if is_slow else row


# --- what rules say -------------------------------------------------------------------------------------------------


class Rule(NamedTuple):
    """Attributes:
    relation: that it stands for.
    text: its print.
    symbols: that it consists of.
    """

    relation: str
    text: str
    symbols: Symbols


@dataclass(frozen=True)
class Evidence(Subject):
    """What is known of instances: rules, and which of them match.

    Attributes:
        parts: instances, of :class:`.Annotations`; of parts that a unit does not read, none.
        rules: of :class:`.RuleTexts`.
        matches: of all parts, of :class:`.Matches`.
    """

    parts: Parts
    rules: TableRef
    matches: Mapping[Split, Sequence[TableRef]]

    @property
    def inputs(self) -> dict[str, Sequence[TableRef]]:
        """Rules, and of each part its rows and matches, the latter as ``<part>_matches``."""
        matches = {f"{split}_matches": refs for split, refs in self.matches.items()}
        return {"rules": [self.rules], **matches, **{split: [ref] for split, ref in self.parts.items()}}

    def of(self, *splits: Split) -> "Evidence":
        """With the instances of these parts alone."""
        return replace(self, parts={split: self.parts[split] for split in splits})

    def instances(self, store: Store, split: Split) -> list[tuple[Annotations, Instance]]:
        """Of a part, those whose status is ok."""
        return instances_of(Annotations.read(store, self.parts[split]))

    def names(self, store: Store, split: Split) -> dict[int, list[str]]:
        """Names of the rules that match each instance of a part that any matches."""
        names: dict[int, list[str]] = defaultdict(list)
        for ref in self.matches[split]:
            for row in Matches.read(store, ref):
                names[row.instance].append(row.rule_id)
        return names

    def used(self, store: Store, share: float) -> dict[str, Rule]:
        """Rules that models learn from, by name: of those that match something in training, the most frequent there,
        a share of them; of equals, the first by name."""
        rows = {row.rule_id: row for row in RuleTexts.read(store, self.rules) if row.status == "ok"}
        matches = self.names(store, "training")
        counts = Counter(name for names in matches.values() for name in names if name in rows)
        order = sorted(counts, key=lambda name: (-counts[name], name))
        used = set(order[: max(1, round(share * len(order)))])
        return {
            name: Rule(row.relation, row.text, rule_symbols(parsed(row.text)))
            for name, row in rows.items()
            if name in used
        }


def statement(row: Annotations, names: Iterable[str], rules: Mapping[str, Rule]) -> str:
    """What rules say of an instance, or its tag."""
    if row.tag is not None:
        return row.tag
    return rule_relation([rules[name].relation for name in names if name in rules])


def match_rules(run: RelationsRun, rules: TableRef, parts: Parts) -> Evidence:
    """Run the rules over the instances of every part."""
    config = run.config
    done = run.do(
        MatchRules(
            group=split,
            source="mappings" if config.rules.source == "mappings" else "",
            instances=parts[split],
            rules=rules,
            **span,
        )
        for split in SPLITS
        for span in ranges(split, parts[split], config.job.unit_instances)
    )
    quick = FindQuickRules(label="rules", group="rules", rules=rules, timeouts=done.refs(Timeouts))
    return Evidence(parts, run.do([quick], in_driver=True).one(RuleTexts), matches_by_part(run, done, SPLITS))


def matches_by_part(run: RelationsRun, done: Done[Any], parts: Sequence[Split]) -> dict[Split, list[TableRef]]:
    """The tables of matches of each part.

    Raises:
        UnitsFailed: if some of a part are missing.
    """
    if done.groups.keys() != {*parts}:
        run.runner.check()
    return {split: done.groups[split].refs(Matches) for split in parts}


# --- how right rules are --------------------------------------------------------------------------------------------


class CountRules(Work, unit="counted_rules/3", stage="count rules", makes=[Rules]):
    """Support, precision and recall of each rule on each part."""

    operator: str = means.VERSION
    level: float
    share: float
    evidence: Evidence

    def rows(self, store: Store) -> Iterator[Rules]:
        rules, used = RuleTexts.read(store, self.evidence.rules), self.evidence.used(store, self.share)
        for split in SPLITS:
            hits = hits_of(store, self.evidence, split, self.evidence.matches[split])
            for row in rules:
                made = Rules(split=split, is_used=row.rule_id in used, **vars(row))
                yield hits.fill(made, row.rule_id, self.level) if row.status == "ok" else made


class Hits(NamedTuple):
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

    def fill(self, row: Rules, rule: str, level: float) -> Rules:
        """Support, precision with its interval, and recall of a rule that stands for the relation of the row."""
        right = np.array([one == row.relation for one in self.relations.get(rule, ())], dtype=np.bool_)
        units = units_of(np.array(self.units.get(rule, ()), dtype=np.int64), self.kind)
        precision = share(right, units, level=level)
        gold = self.golds[row.relation]
        row.support = right.size
        row.precision = Estimate(precision.value, precision.low, precision.high)
        row.recall = int(right.sum()) / gold if gold else None
        return row


def hits_of(store: Store, evidence: Evidence, split: Split, matches: Sequence[TableRef]) -> Hits:
    """By matches of a part, which may be those of other rules."""
    rows = [row for row, _ in evidence.instances(store, split)]
    units = independent_units([row.document for row in rows], [row.sentence for row in rows])
    golds = [row.relation or NO_RELATION for row in rows]
    of_each = dict(zip([row.instance for row in rows], zip(golds, units.codes.tolist(), strict=True), strict=True))
    relations, codes = defaultdict[str, list[str]](list), defaultdict[str, list[int]](list)
    for match in (match for ref in matches for match in Matches.read(store, ref)):
        relation, unit = of_each[match.instance]
        relations[match.rule_id].append(relation)
        codes[match.rule_id].append(unit)
    return Hits(relations, codes, Counter(golds), units.kind)


def count_rules(run: RelationsRun, evidence: Evidence) -> TableRef:
    """Rows of the table `rules` for all that are known."""
    level, share = run.config.job.level, run.config.rules.share
    work = CountRules(label="rules", group="rules", level=level, share=share, evidence=evidence)
    return run.do([work], publish=False).one(Rules)
