"""Rules that models write of instances, and what predictions do where the tokens are hidden that they name."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Tables, each
from tiltmeter.jobs.relations.config import RelationRulesRun
from tiltmeter.jobs.relations.instances import Parts, read_instances
from tiltmeter.jobs.relations.material import Variant
from tiltmeter.jobs.relations.supervising import matching_rules, read_rules
from tiltmeter.jobs.relations.tables import EXPLANATIONS
from tiltmeter.jobs.relations.training import Trained, load_model
from tiltmeter.jobs.runtime.rows import OK, Row, failed, table_of
from tiltmeter.operators.relations import naming
from tiltmeter.operators.relations.instances import NO_RELATION, Instance
from tiltmeter.operators.relations.learning import decoding
from tiltmeter.operators.relations.learning.decoding import Writer, Written
from tiltmeter.operators.relations.learning.examples import END
from tiltmeter.operators.relations.masking import masked_tokens
from tiltmeter.operators.relations.naming import named_tokens
from tiltmeter.operators.relations.rules.grammar import LANGUAGE, Rule
from tiltmeter.operators.relations.rules.matching import matches as is_match
from tiltmeter.operators.relations.rules.parsing import from_symbols, parsed
from tiltmeter.operators.relations.rules.prefixes import RulePrefix, RuleVocabulary
from tiltmeter.operators.relations.rules.printing import printed, rule_symbols
from tiltmeter.operators.relations.rules.regexes import RegexTimeout, RuleError
from tiltmeter.storage.store.ledger import Finished, Store, TableRef, Unit


def write_rules(
    runner: Runner,
    config: RelationRulesRun,
    parts: Parts,
    evidence: Mapping[str, Sequence[TableRef]],
    models: Mapping[Variant, Finished],
) -> list[TableRef]:
    """The table ``explanations`` without what needs all written rules."""
    size = config.job.unit_instances
    units = {
        _name(variant): [
            _unit(
                config,
                variant,
                finished,
                low,
                size,
                {"test": [parts["test"]], **evidence, "training": [parts["training"]]},
            )
            for low in range(0, parts["test"].num_rows, size)
        ]
        for variant, finished in models.items()
        if _writes(config, variant)
    }
    done = runner.run_whole(Stage("write rules", each(_write), units)) if units else {}
    return [finished.tables["written"] for group in done.values() for finished in group]


def _writes(config: RelationRulesRun, variant: Variant) -> bool:
    most = config.decoding.seeds or config.seeds
    return variant.model != "no_decoder" and variant.share == config.rules.share and variant.seed < most


def _name(variant: Variant) -> str:
    return f"{variant.model}, seed {variant.seed}"


def _unit(
    config: RelationRulesRun,
    variant: Variant,
    finished: Finished,
    low: int,
    size: int,
    inputs: Mapping[str, Sequence[TableRef]],
) -> Unit:
    settings = {
        "operators": [decoding.VERSION, naming.VERSION, LANGUAGE],
        "kinds": config.decoding.kinds,
        "low": low,
        "high": low + size,
        "share": variant.share,
        "model": variant.model,
        "number": variant.seed,
        "seed": config.seed,
    }
    of_model = {name: [finished.tables[name]] for name in ("model", "predicted") if name in finished.tables}
    return Unit("written_rules/1", f"{_name(variant)}, from {low}", settings, {**inputs, **of_model})


class _Asked(NamedTuple):
    """An instance of which rules are written.

    Attributes:
        predicted: relation, by the model; of one without a classifier, the one that holds.
        references: prints of the rules that match and say what holds.
        known: prints of all known rules that match.
    """

    instance: Instance
    predicted: str
    references: frozenset[str]
    known: tuple[str, ...]


def _write(store: Store, unit: Unit) -> Tables:
    trained = load_model(store, unit.input("model"))
    studio = _Studio(trained, unit.config["seed"])
    rows = []
    for asked in _asked(store, unit):
        for kind in unit.config["kinds"]:
            row = studio.explained(asked, kind)
            keys = {"split": "test", "model": unit.config["model"], "seed": unit.config["number"]}
            rows.append(keys | {"instance": asked.instance.row, "decoder": kind, "predicted": asked.predicted} | row)
    yield "written", table_of(rows, EXPLANATIONS)


def _asked(store: Store, unit: Unit) -> Iterator[_Asked]:
    """Instances of which the model says that there is a relation, or rules do that are right."""
    rules = read_rules(store, unit, unit.config["share"])
    names = matching_rules(store, unit.inputs["test_matches"])
    predicted = (
        {
            row["instance"]: row["predicted"]
            for row in store.read(unit.input("predicted")).to_pylist()
            if row["split"] == "test"
        }
        if "predicted" in unit.inputs
        else {}
    )
    for row, instance in read_instances(store, unit.input("test")):
        if not unit.config["low"] <= instance.row < unit.config["high"]:
            continue
        known = [rules[name] for name in names.get(instance.row, ()) if name in rules]
        references = frozenset(rule.text for rule in known if rule.relation == row["relation"])
        relation = predicted[instance.row] if predicted else row["relation"] or NO_RELATION
        if references or (predicted and relation != NO_RELATION):
            yield _Asked(instance, relation, references, tuple(sorted({rule.text for rule in known})))


class _Studio:
    """A model that writes, with what it needs for it."""

    def __init__(self, trained: Trained, seed: int) -> None:
        self._trained, self._seed = trained, seed
        self._writer = Writer(trained.network, trained.vocabulary.symbols, trained.decoder.max_length)
        self._symbols = RuleVocabulary(trained.vocabulary.symbols[END + 1 :])

    def explained(self, asked: _Asked, kind: str) -> Row:
        """What is written of an instance, and how good it is."""
        try:
            return self._explained(asked, kind)
        except RegexTimeout as error:
            return {"is_exact": False if asked.references else None} | failed("timeout", str(error))

    def _explained(self, asked: _Asked, kind: str) -> Row:
        written = self._written(asked, kind)
        if written.symbols is None:
            return {"is_exact": False if asked.references else None} | failed("no_rule", written.reason)
        row: Row = {"rule": " ".join(written.symbols), "log_probability": written.log_probability}
        try:
            rule = from_symbols(written.symbols)
        except RuleError as error:
            broken = {"parses": False, "matches": False, "is_exact": False if asked.references else None}
            return row | broken | failed("no_parse", str(error))
        text = printed(rule)
        row |= {"rule": text, "parses": True, "matches": is_match(rule, asked.instance)}
        row["is_exact"] = text in asked.references if asked.references else None
        return row | self._resting(rule, asked) | OK

    def _written(self, asked: _Asked, kind: str) -> Written:
        example = self._trained.reader.example(asked.instance)
        if kind == "published":
            return self._writer.free(example)
        if kind == "constrained":
            most = self._trained.decoder.max_length
            prefix = RulePrefix.start(asked.instance, self._symbols, most_symbols=most)
            return self._writer.constrained(example, prefix, self._trained.decoder.beam)
        return self._writer.among(example, [rule_symbols(parsed(text)) for text in asked.known])

    def _resting(self, rule: Rule, asked: _Asked) -> Row:
        """What is predicted where tokens are hidden."""
        named = named_tokens(rule, asked.instance)
        tokens = asked.instance.sentence.tokens
        row: Row = {"tokens": [tokens[place] for place in named]}
        number = self._trained.vocabulary.numbers["relations"].get(asked.predicted)
        if self._trained.network.classifier is None or number is None or not named:
            return row
        masked = masked_tokens(asked.instance, named, self._seed)
        shares = self._trained.probabilities([asked.instance] * 4, [(), *masked])[:, number]
        falls = (shares[0] - shares[1:]).tolist()
        return row | dict(zip(("comprehensiveness", "random_comprehensiveness", "sufficiency"), falls, strict=True))
