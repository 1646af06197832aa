"""The data set as a folder: its files, its card and the same as JSON, which `datasets` and the hub of models read."""

from bisect import bisect
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import yaml

from tiltmeter.jobs.embedding.corpus_export.config import CorpusExportRun, Export
from tiltmeter.jobs.embedding.corpus_export.tables import Level
from tiltmeter.jobs.embedding.sources import Text
from tiltmeter.operators.compute.keys import shard_starts
from tiltmeter.storage.corpora.cards import is_wikipedia, language_tag, pipe_table
from tiltmeter.storage.corpora.datasets import write_dataset_file
from tiltmeter.storage.files.redaction import redacted_values
from tiltmeter.storage.store.ledger import Store, TableRef
from tiltmeter.storage.store.tables import documentation

_SIZES = ("n<1K", "1K<n<10K", "10K<n<100K", "100K<n<1M", "1M<n<10M", "10M<n<100M", "100M<n<1B", "1B<n<10B")

_NAMES = {"documents": ("data", "default")}
"""Folder and configuration of a level, where they are not called as the level is."""

_WIKIPEDIA = ("cc-by-sa-4.0", "gfdl")
"""Under which its text is, both at once."""

_LICENSE_OF_WIKIPEDIA = (
    "The texts come from Wikipedia, whose authors have put them under the Creative Commons Attribution-ShareAlike "
    "License 4.0 (CC BY-SA 4.0) and, most of them, under the GNU Free Documentation License (GFDL) as well. Who passes "
    "them on has to name the authors, for which ids and titles are kept (the history of a page is at its address), to "
    "say what was changed (markup was taken off), and to keep the license."
)
_NO_LICENSE = "Nothing says under which license these texts are: look before passing them on (`export.license`)."
_SAME = "`provenance.json` has the same for programs, with a digest of each file of the data set."


def _names(level: Level) -> tuple[str, str]:
    return _NAMES.get(level, (level, level))


def write_files(
    store: Store,
    folder: Path,
    export: Export,
    extents: Sequence[TableRef],
    levels: Mapping[Level, Sequence[TableRef]],
    schemas: Mapping[Level, pa.Schema],
) -> list[dict[str, Any]]:
    """Write every level, in all of which the same documents are together, whatever units they come from.

    Args:
        extents: of the documents of each unit.
        levels: the rows of each unit.

    Returns:
        Of each file, ``file`` (its place in the folder), ``level``, and what :class:`.DatasetFile` has.
    """
    of_all = pa.concat_tables([store.read(ref) for ref in extents])
    starts = shard_starts(of_all["key"].to_pylist(), of_all["num_bytes"].to_pylist(), export.shard_megabytes * 1e6)
    firsts = [*accumulate((ref.num_rows for ref in extents), initial=0)]
    files = []
    for level, refs in levels.items():
        schema = schemas[level]
        for number, (start, stop) in enumerate(zip(starts, [*starts[1:], of_all.num_rows], strict=True)):
            place = f"{_names(level)[0]}/train-{number:05d}-of-{len(starts):05d}.{export.format}"
            pieces = partial(_rows, store, refs, firsts, start, stop, schema.names)
            file = write_dataset_file(folder / place, schema, pieces, export.format, setting="run_dir=<path>")
            files.append({"file": place, "level": level, **file._asdict()})
    return files


def _rows(
    store: Store, refs: Sequence[TableRef], firsts: Sequence[int], start: int, stop: int, names: Sequence[str]
) -> Iterator[pa.Table]:
    """The rows of a level whose documents are in a range, as counted over all units."""
    for ref, first, end in zip(refs, firsts[:-1], firsts[1:], strict=True):
        if first < stop and start < end:
            row = (table := store.read(ref))["row"]
            yield table.filter(pc.and_(pc.greater_equal(row, start - first), pc.less(row, stop - first))).select(names)


def size_category(num_rows: int) -> str:
    """As the hub names it.

    >>> size_category(999), size_category(1000), size_category(24_474)
    ('n<1K', '1K<n<10K', '10K<n<100K')
    """
    return _SIZES[bisect([10**exponent for exponent in range(3, 10)], num_rows)]


def provenance(
    config: CorpusExportRun,
    text: Text,
    digests: Mapping[str, Mapping[str, Any]],
    files: Sequence[Mapping[str, Any]],
    account: Mapping[str, int],
    commit: str | None,
) -> dict[str, Any]:
    """What ``provenance.json`` says, and the card in words."""
    corpus, export, of_wikipedia = text.corpus, config.export, all(map(is_wikipedia, text.sources))
    settings = {"levels": export.ordered, "shard_megabytes": export.shard_megabytes, "format": export.format}
    slices = {name: getattr(corpus, name) for name in ("slices", "slice_by", "slice_cuts", "slice_values")}
    facts: dict[str, Any] = redacted_values(
        {
            "corpus": corpus.name,
            "language": language_tag(corpus.language),
            "license": export.license or (_WIKIPEDIA if of_wikipedia else ()),
            "dump_date": export.date(text.sources),
            "is_wikipedia": of_wikipedia,
            "sources": [digests[source.uri] for source in text.sources],
            "settings": settings | slices,
            "made_by": {"program": "tiltmeter", "commit": commit},
            "pages": account,
            "rows": {
                level: sum(file["num_rows"] for file in files if file["level"] == level) for level in export.ordered
            },
            "files": files,
        }
    )
    return facts


def card(facts: Mapping[str, Any], schemas: Mapping[Level, pa.Schema]) -> str:
    """``README.md``: YAML as the hub has it, and what the data set is in words."""
    form, first = facts["settings"]["format"], next(iter(schemas))
    configs: list[dict[str, Any]] = []
    for level in schemas:
        folder, name = _names(level)
        configs.append({"config_name": name, "data_files": [{"split": "train", "path": f"{folder}/train-*.{form}"}]})
    configs[0]["default"] = True
    head = {
        "pretty_name": facts["corpus"],
        "language": [facts["language"]],
        "license": facts["license"] or ["unknown"],
        "size_categories": [size_category(facts["rows"][first])],
        "source_datasets": ["extended|wikipedia" if facts["is_wikipedia"] else "original"],
        "task_categories": ["text-generation", "fill-mask"],
        "configs": configs,
    }
    if form != "parquet":
        # Readers of JSON guess types, and take a date for a moment.
        head["dataset_info"] = [
            {"config_name": _names(level)[1], "features": [_feature(field) for field in schema]}
            for level, schema in schemas.items()
        ]
    return f"---\n{yaml.safe_dump(head, sort_keys=False, allow_unicode=True)}---\n\n{_words(facts, schemas)}"


def _feature(field: pa.Field) -> dict[str, str]:
    if pa.types.is_list(field.type):
        return {"name": field.name, "list": str(field.type.value_type)}
    return {"name": field.name, "dtype": str(field.type)}


def _words(facts: Mapping[str, Any], schemas: Mapping[Level, pa.Schema]) -> str:
    date = f", of {facts['dump_date']}" if facts["dump_date"] else "; no file says its date"
    license = f"Whoever made this data set says: {', '.join(facts['license'])}." if facts["license"] else _NO_LICENSE
    parts = [
        f"# {facts['corpus']}",
        f"Texts in {facts['language']}, one document a row, from the files below{date}. {_SAME}",
        "## License",
        _LICENSE_OF_WIKIPEDIA if {*_WIKIPEDIA} <= {*facts["license"]} else license,
        "## Pages",
        pipe_table(("", "pages"), *((what, f"{num:,}") for what, num in facts["pages"].items() if num)),
        "## Rows",
    ]
    for level, schema in schemas.items():
        title = f"`{_names(level)[1]}`: {facts['rows'][level]:,} {'documents' if level == 'documents' else 'sentences'}"
        columns = ((f"`{one['name']}`", one["type"], one["description"]) for one in documentation(schema))
        parts += [title, pipe_table(("column", "type", ""), *columns)]
    files = ((f"`{one['name']}`", f"{one['bytes']:,}", f"`{one['sha256']}`") for one in facts["sources"])
    parts += ["## Files that it was made of", pipe_table(("file", "bytes", "SHA-256"), *files)]
    return "\n\n".join(parts) + "\n"
