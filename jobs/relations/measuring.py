"""How good models, rules and what they write are: the tables `instances`, `measures` and `learning_curve`."""

from collections.abc import Iterator, Mapping, Sequence

from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Tables, each
from tiltmeter.jobs.relations.config import RelationRulesRun
from tiltmeter.jobs.relations.instances import Parts
from tiltmeter.jobs.relations.material import Part, Variant, floor_of, read_part
from tiltmeter.jobs.relations.scoring import Scoring
from tiltmeter.jobs.relations.supervising import matching_rules, read_rules
from tiltmeter.jobs.relations.tables import INSTANCES, LEARNING_CURVE, MEASURES
from tiltmeter.jobs.runtime import draws
from tiltmeter.jobs.runtime.draws import with_draws
from tiltmeter.jobs.runtime.rows import Row, table_of
from tiltmeter.operators.relations import evaluation, supervision, written_measures
from tiltmeter.operators.statistics import means
from tiltmeter.storage.store.ledger import Finished, Store, TableRef, Unit

_MEASURED = ("development", "test")


def measure(
    runner: Runner,
    config: RelationRulesRun,
    parts: Parts,
    evidence: Mapping[str, Sequence[TableRef]],
    models: Mapping[Variant, Finished],
    explanations: Sequence[TableRef],
) -> dict[str, list[TableRef]]:
    """The tables by name."""
    refs = {variant: done.tables["predicted"] for variant, done in models.items() if "predicted" in done.tables}
    names = {variant: f"predicted {variant.model} {variant.share} {variant.seed}" for variant in refs}
    settings = {
        "operators": [evaluation.VERSION, supervision.VERSION, written_measures.VERSION, means.VERSION],
        "share": config.rules.share,
        "seed": config.seed,
        "level": config.job.level,
        "num_resamples": config.job.num_resamples,
        "variants": [[*variant, name] for variant, name in names.items()],
    }
    inputs: dict[str, Sequence[TableRef]] = {**{split: [ref] for split, ref in parts.items()}, **evidence}
    inputs |= {names[variant]: [ref] for variant, ref in refs.items()}
    inputs |= {"explanations": list(explanations)} if explanations else {}
    unit = Unit("measured_relations/5", "measures", settings, inputs)
    [done] = runner.run_whole(Stage("measure", each(_measure), {"measures": [unit]}))["measures"]
    return {name: [ref] for name, ref in done.tables.items() if name != draws.NAME}


def _measure(store: Store, unit: Unit) -> Tables:
    config = unit.config
    rules = read_rules(store, unit, config["share"])
    parts = {split: read_part(store, unit, split, rules) for split in ("training", *_MEASURED)}
    of_instances = [row for part in parts.values() for row in _instance_rows(store, unit, part)]
    yield "instances", table_of(of_instances, INSTANCES)
    scoring = Scoring(config["level"], config["seed"], config["num_resamples"], config["share"])
    rows = [row for split in _MEASURED for row in scoring.relations(parts[split])]
    if "explanations" in unit.inputs:
        written = [row for ref in unit.inputs["explanations"] for row in store.read(ref).to_pylist()]
        rows += scoring.written(written, parts["test"], floor_of(parts["training"], parts["test"], rules))
    made = {"measures": (rows, MEASURES)}
    if curve := list(_curve(store, unit, scoring, parts["development"])):
        made["learning_curve"] = (curve, LEARNING_CURVE)
    yield from with_draws(made, None)


def _instance_rows(store: Store, unit: Unit, part: Part) -> Iterator[Row]:
    places = {row["instance"]: place for place, row in enumerate(part.rows)}
    votes = part.votes("joint", unit.config["share"])
    for row in store.read(unit.input(part.split)).to_pylist():
        made: Row = {name: row[name] for name in ("split", "instance", "relation", "status", "reason")}
        made |= {"sentence": " ".join(row["tokens"]), "encoder": "no tree" if row["head"] is None else "tree"}
        if (place := places.get(row["instance"])) is not None:
            made |= {role: _words(row, role) for role in ("subject", "object")}
            made |= {"rules": part.rows[place]["rules"], "rule_relation": part.by_rules[place]}
            made |= {"predicted": votes[place].relation, "probability": votes[place].probability} if votes else {}
        yield made


def _words(row: Row, role: str) -> str:
    return " ".join(row["tokens"][row[f"{role}_start"] : row[f"{role}_end"]])


def _curve(store: Store, unit: Unit, scoring: Scoring, part: Part) -> Iterator[Row]:
    shares = sorted({variant.share for variant in part.guesses if variant.model == "joint"})
    matches = matching_rules(store, unit.inputs["training_matches"])
    for share in shares if len(shares) > 1 else ():
        rules = read_rules(store, unit, share)
        num = sum(any(name in rules for name in names) for names in matches.values())
        for row in scoring.curve(part, share):
            yield row | {"num_rules": len(rules), "num_instances": num}
