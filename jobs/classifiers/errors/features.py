"""Readable features of all texts, counted part by part, with what a lexicon and a parser add."""

import pyarrow as pa

from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Tables, each
from tiltmeter.jobs.classifiers.errors.base import scorable
from tiltmeter.jobs.classifiers.errors.config import ErrorCharacterisationRun
from tiltmeter.jobs.classifiers.errors.tables import FEATURES
from tiltmeter.jobs.runtime.files import Files
from tiltmeter.operators.classifiers.errors import dependencies, readable
from tiltmeter.operators.classifiers.errors.dependencies import dependency_counts, sentences
from tiltmeter.operators.classifiers.errors.readable import DENSE, ReadableFeatures, lexicon_of
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.files.files import opened
from tiltmeter.storage.files.redaction import redacted
from tiltmeter.storage.store.ledger import Store, TableRef, Unit
from tiltmeter.storage.store.tables import column

_PARSED = pa.schema(
    [
        column("id", pa.string(), "of the text", key=True),
        column("feature", pa.string(), "dependency or entity", key=True),
        column("count", pa.int64(), "how often the text has it"),
    ]
)


def read_features(runner: Runner, config: ErrorCharacterisationRun, others: Files, texts: TableRef) -> list[TableRef]:
    """Tables ``features``, for each part of the texts."""
    names = [name for name in ("lexicon", "conllu") if name in others.files]
    inputs = {"texts": [texts]} | {name: [_read_file(runner, others, name)] for name in names}
    settings = {
        "operators": [readable.VERSION],
        "lists": config.readable_words,
        "tags": config.features.tags,
        "identity": ReadableFeatures(config.readable_words, tags=config.features.tags).identity["versions"],
        "size": config.job.unit_texts,
    }
    parts = range(0, max(texts.num_rows, 1), config.job.unit_texts)
    units = [Unit("readable_features/2", f"texts from {start}", settings | {"start": start}, inputs) for start in parts]
    done = runner.run_whole(Stage("features", each(_count), {"texts": units}))["texts"]
    return [unit.tables["features"] for unit in done]


def _read_file(runner: Runner, others: Files, name: str) -> TableRef:
    version = {"lexicon": readable.VERSION, "conllu": dependencies.VERSION}[name]
    unit = Unit(f"{name}_file/1", name, {"operator": version, "file": others.files[name].identity})
    work = {"lexicon": _read_lexicon, "conllu": _read_parses}[name]
    return runner.run_whole(Stage(f"read {name}", each(work), {name: [unit]}))[name][0].tables["rows"]


def _lines(unit: Unit) -> str:
    with opened(unit.config["file"]["uri"]) as file:
        return file.read().decode("utf-8")


def _read_lexicon(_: Store, unit: Unit) -> Tables:
    lines = [line.split("\t") for line in _lines(unit).splitlines() if line.strip()]
    try:
        words = lexicon_of(lines)
    except ValueError as error:
        raise InputError(f"features.lexicon: {redacted(unit.config['file']['uri'])}: {error}") from error
    yield (
        "rows",
        pa.table({"word": list(words), "categories": pa.array(map(list, words.values()), pa.list_(pa.string()))}),
    )


def _read_parses(_: Store, unit: Unit) -> Tables:
    counts: dict[tuple[str, str], int] = {}
    try:
        for sentence in sentences(_lines(unit)):
            for feature, num in dependency_counts(sentence).items():
                counts[sentence.text_id, feature] = counts.get((sentence.text_id, feature), 0) + num
    except ValueError as error:
        raise InputError(f"features.conllu: {redacted(unit.config['file']['uri'])}: {error}") from error
    rows = [{"id": name, "feature": feature, "count": num} for (name, feature), num in counts.items()]
    yield "rows", pa.Table.from_pylist(rows, _PARSED)


def _count(store: Store, unit: Unit) -> Tables:
    config = unit.config
    rows = store.read(unit.input("texts")).slice(config["start"], config["size"])
    count = ReadableFeatures(config["lists"], _lexicon(store, unit), tags=config["tags"])
    parsed = _parses(store, unit, {row["id"] for row in scorable(rows)})
    made = []
    for row in scorable(rows):
        features = count(row["text"])
        num_tokens = max(features.num_tokens, 1)
        counts = {**features.counts, **parsed.get(row["id"], {})}
        dense = {name: float(getattr(features, name)) for name in DENSE}
        made += [
            {"row": row["row"], "feature": name, "count": num, "value": num / num_tokens}
            for name, num in counts.items()
        ]
        made += [{"row": row["row"], "feature": name, "count": value, "value": value} for name, value in dense.items()]
    yield "features", pa.Table.from_pylist(made, FEATURES)


def _lexicon(store: Store, unit: Unit) -> dict[str, list[str]]:
    if "lexicon" not in unit.inputs:
        return {}
    rows = store.read(unit.input("lexicon")).to_pydict()
    return dict(zip(rows["word"], rows["categories"], strict=True))


def _parses(store: Store, unit: Unit, ids: set[str]) -> dict[str, dict[str, int]]:
    if "conllu" not in unit.inputs:
        return {}
    parsed: dict[str, dict[str, int]] = {}
    for row in store.read(unit.input("conllu")).to_pylist():
        if row["id"] in ids:
            parsed.setdefault(row["id"], {})[row["feature"]] = row["count"]
    return parsed
