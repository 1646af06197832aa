"""The instances of each part: read, or made up; and the records of their rows."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Tables, each
from tiltmeter.jobs.relations.config import SPLITS, RelationRulesRun, Split
from tiltmeter.jobs.relations.sources import RelationSources
from tiltmeter.jobs.relations.tables import READ
from tiltmeter.jobs.runtime.rows import OK, Row, failed, table_of
from tiltmeter.operators.relations import synthetic
from tiltmeter.operators.relations.instances import Instance, InstanceError, Sentence
from tiltmeter.operators.relations.rows import instance_of
from tiltmeter.operators.relations.synthetic import synthetic_instances
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.files.redaction import redacted
from tiltmeter.storage.relations.rules import read_rule_tags
from tiltmeter.storage.relations.sentences import read_relations
from tiltmeter.storage.store.ledger import Store, TableRef, Unit

Parts = Mapping[Split, TableRef]
"""The rows of each part, of the schema ``READ``."""


def read_parts(runner: Runner, config: RelationRulesRun, sources: RelationSources) -> Parts:
    """The rows of every part; an instance that can't be says why."""
    units = [_unit(config, sources, split, number) for number, split in enumerate(SPLITS)]
    done = runner.run_whole(Stage("read instances", each(_read), {"instances": units}))["instances"]
    return {split: finished.tables["rows"] for split, finished in zip(SPLITS, done, strict=True)}


def _unit(config: RelationRulesRun, sources: RelationSources, split: Split, number: int) -> Unit:
    settings: dict[str, Any] = {"split": split}
    if config.data.path is None:
        size = config.data.sentences if split == "training" else config.data.sentences // 2
        settings |= {"operator": synthetic.VERSION, "sentences": size, "part": number, "seed": config.seed}
    else:
        tags = sources.tags.files.get(split)
        settings |= {"file": sources.data.files[split].identity, "tags": tags.identity if tags else None}
    return Unit("relation_instances/1", f"{split} part", settings)


def _read(_: Store, unit: Unit) -> Tables:
    config = unit.config
    if "file" in config:
        rows = read_relations(config["file"]["uri"])
        tags = _tags(config["tags"]["uri"], len(rows)) if config["tags"] else [{}] * len(rows)
    else:
        made = synthetic_instances(config["sentences"], config["part"], config["seed"])
        rows, tags = [_row_of(one) for one in made], [{}] * len(made)
    yield "rows", table_of(list(_judged(rows, tags, config["split"])), READ)


def _tags(uri: str, num_rows: int) -> list[Row]:
    tags = read_rule_tags(uri)
    if len(tags) != num_rows:
        raise InputError(
            f"rules.tags: {redacted(uri)} has {len(tags):,} lines for {num_rows:,} instances: must have one for each"
        )
    return [{"tag": tag.relation, "tagged": tag.tokens} for tag in tags]


def _judged(rows: Sequence[Row], tags: Sequence[Row], split: str) -> Iterator[Row]:
    sentences: dict[tuple[str, ...], int] = {}
    for number, (row, tag) in enumerate(zip(rows, tags, strict=True)):
        place = sentences.setdefault((row["document"] or "", *row["tokens"]), len(sentences))
        status = OK
        try:
            instance_of(row)
        except InstanceError as error:
            status = failed("no_instance", str(error))
        yield row | tag | {"split": split, "instance": number, "sentence": place} | status


def _row_of(instance: Instance) -> Row:
    """As files have it, of a made-up one, which has no tree."""
    sentence = instance.sentence
    spans = {"subject": instance.subject, "object": instance.object}
    return {
        **{f"{role}_{end}": getattr(span, end) for role, span in spans.items() for end in ("start", "end")},
        **{name: getattr(instance, name) for name in ("subject_type", "object_type", "relation", "document")},
        "tokens": list(sentence.tokens),
        "ner": list(sentence.ner or ()),
    }


def read_instances(store: Store, ref: TableRef) -> list[tuple[Row, Instance]]:
    """Rows whose status is ok, with their records; those of one sentence share it."""
    sentences: dict[int, Sentence] = {}
    made = []
    for row in store.read(ref).to_pylist():
        if row["status"] == "ok":
            one = instance_of(row | {"row": row["instance"]})
            sentence = sentences.setdefault(row["sentence"], one.sentence)
            made.append((row, replace(one, sentence=sentence)))
    return made
