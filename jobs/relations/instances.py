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
from tiltmeter.storage.relations.rules import read_mappings, read_rule_tags
from tiltmeter.storage.relations.sentences import read_relations
from tiltmeter.storage.relations.trees import read_trees
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
        beside = {kind: files.files[split].identity for kind, files in sources.beside.items() if split in files.files}
        settings |= {"file": sources.data.files[split].identity, "tags": None, **beside}
    return Unit("relation_instances/1", f"{split} part", settings)


def _read(_: Store, unit: Unit) -> Tables:
    config = unit.config
    if "file" in config:
        rows = read_relations(config["file"]["uri"])
        tags = list(_beside(config, len(rows)))
        rows = _with_trees(rows, config["trees"]["uri"]) if "trees" in config else rows
    else:
        made = synthetic_instances(config["sentences"], config["part"], config["seed"])
        rows, tags = [_row_of(one) for one in made], [{}] * len(made)
    yield "rows", table_of(list(_judged(rows, tags, config["split"])), READ)


def _beside(config: Mapping[str, Any], num_rows: int) -> Iterator[Row]:
    """What tags or mappings say of each instance; nothing without."""
    if config["tags"]:
        tags = read_rule_tags(config["tags"]["uri"])
        _check_lines("tags", config, len(tags), num_rows)
        yield from ({"tag": tag.relation, "tagged": tag.tokens} for tag in tags)
    elif "mappings" in config:
        mappings = read_mappings(config["mappings"]["uri"])
        _check_lines("mappings", config, len(mappings), num_rows)
        for pairs in mappings:
            yield {"mapped": [name for _, name in pairs or ()], "mapped_relations": [name for name, _ in pairs or ()]}
    else:
        yield from [{}] * num_rows


def _check_lines(kind: str, config: Mapping[str, Any], num_lines: int, num_rows: int) -> None:
    if num_lines != num_rows:
        raise InputError(
            f"rules.{kind}: {redacted(config[kind]['uri'])} has {num_lines:,} lines for {num_rows:,} instances: must "
            "have one for each"
        )


def _with_trees(rows: Sequence[Row], uri: str) -> list[Row]:
    """The rows with what their sentences' trees say; a sentence that the file lacks keeps what it has."""
    trees = read_trees(uri)
    known = [trees.get(tuple(row["tokens"])) for row in rows]
    if not any(known):
        raise InputError(f"data.trees: {redacted(uri)} has none of the sentences of its part, token for token")
    return [
        row | {name: value for name, value in (tree or {}).items() if value}
        for row, tree in zip(rows, known, strict=True)
    ]


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
