"""Rules that models write of instances, what predictions do without the tokens that they name, and what they imply."""

from collections.abc import Iterator, Mapping, Sequence

from tiltmeter.jobs.relations.config import RelationsRun, Split
from tiltmeter.jobs.relations.models import TrainModel, load_model
from tiltmeter.jobs.relations.rules import (
    Evidence,
    OfRange,
    Row,
    Rule,
    hits_of,
    instances_of,
    matches_and_timeouts,
    matches_by_part,
    ranges,
    read_timeouts,
)
from tiltmeter.jobs.relations.tables import (
    Annotations,
    Explanations,
    Matches,
    Predictions,
    Rules,
    Timeouts,
    WrittenRules,
)
from tiltmeter.jobs.runtime.work import Done, Work
from tiltmeter.operators.relations import naming
from tiltmeter.operators.relations.instances import NO_RELATION
from tiltmeter.operators.relations.learning import decoding
from tiltmeter.operators.relations.learning.explanations import Decoder, Question, RuleWriter
from tiltmeter.operators.relations.learning.models import Kind
from tiltmeter.operators.relations.rules.grammar import LANGUAGE, NamedRule
from tiltmeter.operators.relations.rules.parsing import parsed
from tiltmeter.operators.relations.supervision import rule_relation
from tiltmeter.operators.statistics import means
from tiltmeter.storage.store.ledger import Store, TableRef

# --- rules that are written -----------------------------------------------------------------------------------------


class WriteRules(OfRange, unit="written_rules/1", stage="write rules", makes=[WrittenRules]):
    """What a model writes of instances of the test part."""

    operators: Sequence[str] = (decoding.VERSION, naming.VERSION, LANGUAGE)
    kinds: Sequence[Decoder]
    share: float
    model: Kind
    number: int
    seed: int
    trained: TableRef
    predicted: TableRef | None
    evidence: Evidence

    def rows(self, store: Store) -> Iterator[WrittenRules]:
        writer = RuleWriter(load_model(store, self.trained), self.seed)
        for question in self._questions(store):
            for kind in self.kinds:
                keys: Row = {"split": "test", "instance": question.instance.row, "decoder": kind}
                keys |= {"model": self.model, "seed": self.number, "predicted": question.predicted}
                yield WrittenRules(**keys | vars(writer.explain(question, kind)))

    def _questions(self, store: Store) -> Iterator[Question]:
        """Instances of which the model says that there is a relation, or rules do that are right."""
        rules, names = self.evidence.used(store, self.share), self.evidence.names(store, "test")
        guesses = [] if self.predicted is None else Predictions.read(store, self.predicted)
        predicted = {row.instance: row.predicted for row in guesses if row.split == "test"}
        data = self.of_range(Annotations.read(store, self.evidence.parts["test"]))
        for row, instance in instances_of(data):
            known = [rules[name] for name in names.get(row.instance, ()) if name in rules]
            references = frozenset(rule.text for rule in known if rule.relation == row.relation)
            relation = predicted[row.instance] if predicted else row.relation or NO_RELATION
            if references or (predicted and relation != NO_RELATION):
                yield Question(instance, relation, references, tuple(sorted({rule.text for rule in known})))


def write_rules(run: RelationsRun, evidence: Evidence, models: Done[TrainModel]) -> list[TableRef]:
    """What models of the usual share of rules write of the test part."""
    config = run.config
    most = config.decoding.seeds or config.seeds
    done = run.do(
        WriteRules(
            group=f"{model.model}, seed {model.number}",
            kinds=config.decoding.kinds,
            share=model.share,
            model=model.model,
            number=model.number,
            seed=config.seed,
            trained=unit.tables["model"],
            predicted=unit.tables.get("predicted"),
            evidence=evidence.of("training", "test"),
            **span,
        )
        for model, unit in models.pairs
        if model.model != "no_decoder" and model.share == config.rules.share and model.number < most
        for span in ranges(f"{model.model}, seed {model.number},", evidence.parts["test"], config.job.unit_instances)
    )
    return done.refs(WrittenRules)


# --- rules that are new ---------------------------------------------------------------------------------------------

_COUNTED: tuple[Split, ...] = ("training", "test")


def _read(store: Store, refs: Sequence[TableRef]) -> list[WrittenRules]:
    return [row for ref in refs for row in WrittenRules.read(store, ref)]


def _new_rules(written: Sequence[WrittenRules], known: Mapping[str, Rule]) -> list[str]:
    """Prints of rules that are written and match what they are written of, and that models do not learn from."""
    return sorted({row.rule for row in written if row.rule and row.parses} - {rule.text for rule in known.values()})


class MatchNewRules(OfRange, unit="new_rule_matches/2", stage="run new rules", makes=[Matches, Timeouts]):
    """Which of the new rules match which instances."""

    language: str = LANGUAGE
    share: float
    instances: TableRef
    written: Sequence[TableRef]
    evidence: Evidence

    def rows(self, store: Store) -> Iterator[Matches | Timeouts]:
        new = _new_rules(_read(store, self.written), self.evidence.used(store, self.share))
        data = self.of_range(Annotations.read(store, self.instances))
        return matches_and_timeouts(data, [NamedRule(text, "", parsed(text)) for text in new])


class CountNewRules(Work, unit="judged_rules/3", stage="judge rules", makes=[Explanations, Rules]):
    """The relations that written rules imply, and how right new ones are; these have their print for a name."""

    operator: str = means.VERSION
    level: float
    share: float
    training_new: Sequence[TableRef]
    test_new: Sequence[TableRef]
    timeouts: Sequence[TableRef]
    written: Sequence[TableRef]
    evidence: Evidence

    def rows(self, store: Store) -> Iterator[Explanations | Rules]:
        written, known = _read(store, self.written), self.evidence.used(store, self.share)
        matches = {"training": self.training_new, "test": self.test_new}
        hits = {split: hits_of(store, self.evidence, split, matches[split]) for split in _COUNTED}
        implied = {text: rule_relation(relations) for text, relations in hits["training"].relations.items()}
        names = {rule.text: name for name, rule in sorted(known.items(), reverse=True)}
        implied |= {rule.text: rule.relation for _, rule in sorted(known.items(), reverse=True)}
        for row in written:
            made = Explanations(**vars(row))
            if row.parses and row.rule is not None:
                made.rule_id, made.implied_relation = names.get(row.rule), implied.get(row.rule)
            if made.implied_relation is not None:
                made.is_faithful = made.implied_relation == row.predicted
            yield made
        new = [text for text in _new_rules(written, known) if text in implied]
        timeouts = read_timeouts(store, self.timeouts)
        for number, text in enumerate(new, start=1):
            for split in _COUNTED:
                rule = Rules(rule_id=f"new {number}", split=split, relation=implied[text], text=text)
                rule.source, rule.is_used = "decoded", False
                is_slow = text in timeouts
                yield rule.fail("timeout", timeouts[text]) if is_slow else hits[split].fill(rule, text, self.level)


def count_new_rules(run: RelationsRun, evidence: Evidence, written: Sequence[TableRef]) -> Done[CountNewRules]:
    """The table `explanations`, and rows of `rules` for those that are new; nothing if nothing is written."""
    if not written:
        return Done([])
    config, share = run.config, run.config.rules.share
    done = run.do(
        MatchNewRules(
            group=split,
            share=share,
            instances=evidence.parts[split],
            written=written,
            evidence=evidence.of(),
            **span,
        )
        for split in _COUNTED
        for span in ranges(split, evidence.parts[split], config.job.unit_instances)
    )
    matches = matches_by_part(run, done, _COUNTED)
    work = CountNewRules(
        label="rules",
        group="rules",
        level=config.job.level,
        share=share,
        training_new=matches["training"],
        test_new=matches["test"],
        timeouts=done.refs(Timeouts),
        written=written,
        evidence=evidence.of(*_COUNTED),
    )
    return run.do([work], publish=False)
