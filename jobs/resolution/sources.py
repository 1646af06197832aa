"""The files of a resolution, found before any work."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tiltmeter.jobs.resolution.config import ResolutionRun
from tiltmeter.storage.corpora.sources import FoundFile, find_file
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.files.redaction import redacted
from tiltmeter.storage.records import check_columns, record_columns

_WEIGHTS = ("weight", "match_probability")


@dataclass(frozen=True)
class ResolutionSources:
    """Files by what they hold: pairs, gold, records, labelled, clusters, mentions."""

    files: Mapping[str, FoundFile]

    def record(self) -> dict[str, Any]:
        """Every file with its version, for ``run.json``."""
        return {name: file.redacted for name, file in self.files.items()}


def find_sources(config: ResolutionRun) -> ResolutionSources:
    """Look for the files.

    Raises:
        InputError: if one is missing, can't be read, or lacks a column.
    """
    files = {}
    if config.pairs is not None:
        files["pairs"] = _file(config.pairs, "pairs", ("left", "right"))
        there = record_columns(files["pairs"].uri)
        if not any(name in there for name in _WEIGHTS):
            raise InputError(f"pairs: {redacted(config.pairs)} has no column 'weight' or 'match_probability'")
    if config.gold is not None:
        files["gold"] = _file(config.gold, "gold", ("record", "cluster"))
    if config.records is not None:
        files["records"] = _file(config.records.path, "records.path", tuple(config.records.columns))
        if config.records.labelled is not None:
            files["labelled"] = _file(config.records.labelled, "records.labelled", ("left", "right", "is_match"))
        if config.records.clusters is not None:
            files["clusters"] = _file(config.records.clusters, "records.clusters", ("record", "cluster"))
    if config.mentions is not None:
        columns = ("topic", "mention_id", "mention_class", "chain_id")
        files["mentions"] = _file(config.mentions.path, "mentions.path", columns)
    return ResolutionSources(files)


def _file(path: str, setting: str, columns: tuple[str, ...]) -> FoundFile:
    file = find_file(path, setting)
    check_columns(file.uri, columns, setting)
    return file
