"""The data set as a folder: its files, its card and the same as JSON, which `datasets` and the hub of models read."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import yaml

from tiltmeter.jobs.embedding.corpus_export.config import WIKIPEDIA, CorpusExportRun, ExportSources
from tiltmeter.jobs.embedding.corpus_export.tables import Level, Shards
from tiltmeter.jobs.runtime.work import Work
from tiltmeter.operators.compute.keys import shard_starts
from tiltmeter.storage.corpora.datasets import DatasetFile, DatasetFormat, shard_name, write_dataset_file
from tiltmeter.storage.files.redaction import redacted_values
from tiltmeter.storage.store.ledger import Store, TableRef
from tiltmeter.storage.store.tables import documentation

_SIZES = ("n<1K", "1K<n<10K", "10K<n<100K", "100K<n<1M", "1M<n<10M", "10M<n<100M", "100M<n<1B", "1B<n<10B")
_FIRST_SIZE = 1000

_FOLDERS: dict[str, str] = {"documents": "data"}
_CONFIGS: dict[str, str] = {"documents": "default"}
"""Of the level that has no name of its own there."""

# Wikipedias that are not called by the code of their language.
_BCP_47 = {
    "als": "gsw",
    "bat-smg": "sgs",
    "be-x-old": "be-tarask",
    "fiu-vro": "vro",
    "no": "nb",
    "roa-rup": "rup",
    "zh-classical": "lzh",
    "zh-min-nan": "nan",
    "zh-yue": "yue",
}

_LICENSE_OF_WIKIPEDIA = (
    "The texts come from Wikipedia, whose authors have put them under the Creative Commons Attribution-ShareAlike "
    "License 4.0 (CC BY-SA 4.0) and, most of them, under the GNU Free Documentation License (GFDL) as well. Who passes "
    "them on has to name the authors, for which ids and titles are kept (the history of a page is at its address), to "
    "say what was changed (markup was taken off), and to keep the license."
)
_NO_LICENSE = "Nothing says under which license these texts are: look before passing them on (`export.license`)."


@dataclass(frozen=True)
class Rows:
    """A shard, as rows of units: of each the table, the first document that belongs to the shard, and the next one."""

    parts: Sequence[tuple[int, int, int]]

    def read(self, store: Store, refs: Sequence[TableRef], names: Sequence[str]) -> Iterator[pa.Table]:
        """What of a level's tables is in it, of the columns that are named."""
        for number, first, stop in self.parts:
            row = (table := store.read(refs[number]))["row"]
            yield table.filter(pc.and_(pc.greater_equal(row, first), pc.less(row, stop))).select(names)


def plan_shards(store: Store, documents: Sequence[TableRef], megabytes: float) -> list[Rows]:
    """Which documents are together: the same in every level, and whatever units they come from."""
    tables = [store.read(ref.select("key", "num_bytes")) for ref in documents]
    places = [(number, row) for number, table in enumerate(tables) for row in range(table.num_rows)]
    together = pa.concat_tables(tables)
    starts = shard_starts(together["key"].to_pylist(), together["num_bytes"].to_pylist(), megabytes * 1e6)
    shards = []
    for start, stop in zip(starts, [*starts[1:], len(places)], strict=True):
        first: dict[int, int] = {}
        last: dict[int, int] = {}
        for number, row in places[start:stop]:
            first.setdefault(number, row)
            last[number] = row
        shards.append(Rows([(number, row, last[number] + 1) for number, row in first.items()]))
    return shards


class ListShards(Work, unit="export_shards/1", stage="list files", makes=[Shards]):
    """What the driver has written, as a unit so that later runs find it."""

    language: str
    files: Sequence[Mapping[str, Any]]

    def rows(self, _: Store) -> Iterator[Shards]:
        return (Shards(language=self.language, **file) for file in self.files)


def write_shards(
    store: Store,
    folder: Path,
    form: DatasetFormat,
    shards: Sequence[Rows],
    levels: Mapping[Level, Sequence[TableRef]],
    schemas: Mapping[Level, pa.Schema],
) -> dict[Level, dict[str, DatasetFile]]:
    """All files of every level, by their places in the folder.

    Raises:
        OtherSchema: if a unit's rows are not of their level's schema.
        StorageError: if one can't be written.
    """
    written: dict[Level, dict[str, DatasetFile]] = {level: {} for level in levels}
    for level, refs in levels.items():
        for number, rows in enumerate(shards):
            place = f"{_FOLDERS.get(level, level)}/{shard_name(number, len(shards), form)}"
            pieces = partial(rows.read, store, refs, schemas[level].names)
            written[level][place] = write_dataset_file(
                folder / place, schemas[level], pieces, form, setting="run_dir=<path>"
            )
    return written


def language_tag(code: str) -> str:
    """The BCP-47 code of a corpus's language.

    >>> [language_tag(code) for code in ("en", "pt-br", "zh-yue", "th-spaced", "zh-hant")]
    ['en', 'pt-BR', 'yue', 'th', 'zh-Hant']
    """
    if code in _BCP_47:
        return _BCP_47[code]
    primary, *others = code.removesuffix("-spaced").split("-")
    spelled = {2: str.upper, 4: str.title}
    return "-".join([primary, *(spelled.get(len(part), str)(part) for part in others)])


def size_category(num_rows: int) -> str:
    """As the hub names it.

    >>> size_category(999), size_category(1000), size_category(24_474)
    ('n<1K', '1K<n<10K', '10K<n<100K')
    """
    place = sum(num_rows >= _FIRST_SIZE * 10**exponent for exponent in range(len(_SIZES) - 1))
    return _SIZES[place]


def provenance(
    config: CorpusExportRun,
    sources: ExportSources,
    digests: Sequence[Mapping[str, Any]],
    written: Mapping[Level, Mapping[str, DatasetFile]],
    account: Mapping[str, int],
    commit: str | None,
) -> dict[str, Any]:
    """What ``provenance.json`` says, and the card in words."""
    corpus, export = config.corpora[0], config.export
    slices = {"slices": corpus.slices, "slice_by": corpus.slice_by, "slice_cuts": list(corpus.slice_cuts)}
    settings = {"levels": export.ordered, "shard_megabytes": export.shard_megabytes, "format": export.format}
    facts: dict[str, Any] = redacted_values(
        {
            "corpus": corpus.name,
            "language": language_tag(corpus.language),
            "license": list(sources.license),
            "dump_date": sources.dump_date,
            "sources": list(digests),
            "settings": settings | slices | {"slice_values": list(corpus.slice_values)},
            "made_by": {"program": "tiltmeter", "commit": commit},
            "pages": dict(account),
            "rows": {level: sum(file.num_rows for file in files.values()) for level, files in written.items()},
            "files": [{"file": place, **file._asdict()} for files in written.values() for place, file in files.items()],
        }
    )
    return facts


def card(facts: Mapping[str, Any], sources: ExportSources, schemas: Mapping[Level, pa.Schema]) -> str:
    """``README.md``: YAML as the hub has it, and what the data set is in words."""
    rows = facts["rows"]
    first = next(iter(rows))
    configs = [
        {
            "config_name": _CONFIGS.get(level, level),
            "data_files": [
                {"split": "train", "path": f"{_FOLDERS.get(level, level)}/train-*.{facts['settings']['format']}"}
            ],
            **({"default": True} if level == first else {}),
        }
        for level in rows
    ]
    head = {
        "pretty_name": facts["corpus"],
        "language": [facts["language"]],
        "license": facts["license"] or ["unknown"],
        "size_categories": [size_category(rows[first])],
        "source_datasets": ["extended|wikipedia" if sources.is_wikipedia else "original"],
        "task_categories": ["text-generation", "fill-mask"],
        "configs": configs,
    }
    if facts["settings"]["format"] != "parquet":
        # Readers of JSON guess types, and take a date for a moment.
        head["dataset_info"] = [
            {"config_name": _CONFIGS.get(level, level), "features": _features(schemas[level])} for level in rows
        ]
    return f"---\n{yaml.safe_dump(head, sort_keys=False, allow_unicode=True)}---\n\n{_words(facts, schemas)}"


def _features(schema: pa.Schema) -> list[dict[str, str]]:
    kinds = {field.name: "list" if pa.types.is_list(field.type) else "dtype" for field in schema}
    types = {field.name: field.type.value_type if kinds[field.name] == "list" else field.type for field in schema}
    return [{"name": name, kind: str(types[name])} for name, kind in kinds.items()]


def _words(facts: Mapping[str, Any], schemas: Mapping[Level, pa.Schema]) -> str:
    files = [f"| `{one['name']}` | {one['bytes']:,} | `{one['sha256']}` |" for one in facts["sources"]]
    pages = [f"| {what} | {num:,} |" for what, num in facts["pages"].items() if num]
    parts = [
        f"# {facts['corpus']}",
        f"Texts in {facts['language']}, one document a row, from the files below"
        + (f", of {facts['dump_date']}" if facts["dump_date"] else "; no file says its date")
        + ". `provenance.json` has the same for programs, with a digest of each file of the data set.",
        "## License",
        _LICENSE_OF_WIKIPEDIA if {*WIKIPEDIA} <= {*facts["license"]} else _license(facts["license"]),
        "## Pages",
        "\n".join(["| | pages |", "|---|---|", *pages]),
        "## Rows",
        *(_level(level, facts["rows"][level], schema) for level, schema in schemas.items()),
        "## Files that it was made of",
        "\n".join(["| file | bytes | SHA-256 |", "|---|---|---|", *files]),
    ]
    return "\n\n".join(parts) + "\n"


def _license(names: Sequence[str]) -> str:
    return f"Whoever made this data set says: {', '.join(names)}." if names else _NO_LICENSE


def _level(level: Level, num_rows: int, schema: pa.Schema) -> str:
    fields = [f"| `{one['name']}` | {one['type']} | {one['description']} |" for one in documentation(schema)]
    title = f"`{_CONFIGS.get(level, level)}`: {num_rows:,} {level if level == 'documents' else 'sentences'}"
    return "\n".join([title, "", "| column | type | |", "|---|---|---|", *fields])
