"""The files of a resolution, found before any work."""

from tiltmeter.jobs.resolution.config import ResolutionRun
from tiltmeter.jobs.runtime.files import Files, find_table
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.files.redaction import redacted
from tiltmeter.storage.records import record_columns

_WEIGHTS = ("weight", "match_probability")


def find_sources(config: ResolutionRun) -> Files:
    """Look for the files: pairs, gold, records, labelled, clusters, mentions.

    Raises:
        InputError: if one is missing, can't be read, or lacks a column.
    """
    files = {}
    if config.pairs is not None:
        files["pairs"] = find_table(config.pairs, "pairs", ("left", "right"))
        there = record_columns(files["pairs"].uri)
        if not any(name in there for name in _WEIGHTS):
            raise InputError(f"pairs: {redacted(config.pairs)} has no column 'weight' or 'match_probability'")
    if config.gold is not None:
        files["gold"] = find_table(config.gold, "gold", ("record", "cluster"))
    if config.records is not None:
        files["records"] = find_table(config.records.path, "records.path", config.records.columns)
        if config.records.labelled is not None:
            files["labelled"] = find_table(config.records.labelled, "records.labelled", ("left", "right", "is_match"))
        if config.records.clusters is not None:
            files["clusters"] = find_table(config.records.clusters, "records.clusters", ("record", "cluster"))
    if config.mentions is not None:
        columns = ("topic", "mention_id", "mention_class", "chain_id")
        files["mentions"] = find_table(config.mentions.path, "mentions.path", columns)
    return Files(files)
