"""The files of a resolution, found before any work."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from jobs.resolution.config import ResolutionRun
from storage.corpora import CorpusError
from storage.files import shown
from storage.records import check_columns, record_columns
from storage.sources import FoundFile, find_files

_WEIGHTS = ("weight", "match_probability")


@dataclass(frozen=True)
class ResolutionSources:
    """Files by what they hold: pairs, gold, records, labelled, clusters, mentions."""

    files: Mapping[str, FoundFile]

    def record(self) -> dict[str, Any]:
        """Every file with its version, for ``run.json``."""
        return {
            name: {"name": shown(file.uri), "bytes": file.state.num_bytes, "version": file.state.version}
            for name, file in self.files.items()
        }


def find_sources(config: ResolutionRun, _: str) -> ResolutionSources:
    """Look for the files.

    Raises:
        CorpusError: if one is missing, can't be read, or lacks a column.
    """
    files = {}
    if config.pairs is not None:
        files["pairs"] = _only_file(config.pairs, "pairs", ("left", "right"))
        there = record_columns(files["pairs"].uri)
        if not any(name in there for name in _WEIGHTS):
            raise CorpusError(f"pairs: {shown(config.pairs)} has no column 'weight' or 'match_probability'")
    if config.gold is not None:
        files["gold"] = _only_file(config.gold, "gold", ("record", "cluster"))
    if config.records is not None:
        files["records"] = _only_file(config.records.path, "records.path", tuple(config.records.columns))
        if config.records.labelled is not None:
            files["labelled"] = _only_file(config.records.labelled, "records.labelled", ("left", "right", "is_match"))
        if config.records.clusters is not None:
            files["clusters"] = _only_file(config.records.clusters, "records.clusters", ("record", "cluster"))
    if config.mentions is not None:
        columns = ("topic", "mention_id", "mention_class", "chain_id")
        files["mentions"] = _only_file(config.mentions.path, "mentions.path", columns)
    return ResolutionSources(files)


def _only_file(path: str, setting: str, columns: tuple[str, ...]) -> FoundFile:
    found = find_files([path], setting)
    if len(found) > 1:
        raise CorpusError(f"{setting}={shown(path)}: names {len(found)} files; give one")
    check_columns(found[0].uri, columns, setting)
    return found[0]
