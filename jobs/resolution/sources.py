"""The files of a resolution, found before any work."""

from collections.abc import Sequence

from tiltmeter.jobs.resolution.config import ResolutionRun
from tiltmeter.jobs.resolution.constraints import check_constraints
from tiltmeter.jobs.resolution.ids.previous import find_previous
from tiltmeter.jobs.runtime.config import ConfigError
from tiltmeter.jobs.runtime.files import Files, find_table
from tiltmeter.operators.resolution.baselines.packing import check_engine
from tiltmeter.storage.corpora.sources import FoundFile
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.files.redaction import redacted
from tiltmeter.storage.records import check_columns, check_values, record_columns

WEIGHT, PROBABILITY, DOCUMENT = "weight", "match_probability", "document"
"""Columns that a file may have or not."""

_CLUSTERS = ("record", "cluster")


def find_sources(config: ResolutionRun) -> Files:
    """Look for the files: pairs, gold, records, labelled, clusters, must_link, cannot_link, sources, mentions, and the
    tables of a previous run.

    Raises:
        InputError: if one is missing, can't be read, has no rows, or lacks a column or has it twice.
        ConfigError: if the engine of a set packing is not there, or constraints contradict each other.
    """
    if config.packing:
        _check_engine(config.packing.engine)
    scorer, study = config.records, config.mentions
    wanted = {
        "pairs": (config.pairs, "pairs", ("left", "right")),
        "gold": (config.gold, "gold", _CLUSTERS),
        "records": (scorer and scorer.path, "records.path", scorer.columns if scorer else ()),
        "labelled": (scorer and scorer.labelled, "records.labelled", ("left", "right", "is_match")),
        "clusters": (scorer and scorer.clusters, "records.clusters", _CLUSTERS),
        "must_link": (_path(config.must_link), "must_link", ("left", "right")),
        "cannot_link": (_path(config.cannot_link), "cannot_link", ("left", "right")),
        "sources": (config.sources, "sources", ("record", config.one_per_source or "")),
        "mentions": (study and study.path, "mentions.path", ("topic", "mention_id", "mention_class", "chain_id")),
    }
    files = {name: _find(path, setting, columns) for name, (path, setting, columns) in wanted.items() if path}
    if config.pairs is not None:
        score_columns(files["pairs"].uri)
    if config.records is not None and config.one_per_source is not None:
        check_columns(files["records"].uri, [config.one_per_source], "one_per_source")
    check_constraints(config, files)
    return Files(files | find_previous(config))


def _path(pairs: object) -> str | None:
    return pairs if isinstance(pairs, str) else None


def _check_engine(engine: str) -> None:
    try:
        check_engine(engine)
    except ValueError as error:
        raise ConfigError(f"{error}; set engine=<one of them>") from error


def _find(path: str, setting: str, columns: Sequence[str]) -> FoundFile:
    file = find_table(path, setting, columns)
    check_values(file.uri, columns, setting)
    return file


def optional_columns(uri: str, names: Sequence[str], setting: str) -> list[str]:
    """Those of the columns that a file has.

    Raises:
        InputError: if it has one of them twice.
    """
    there = record_columns(uri)
    chosen = [name for name in names if name in there]
    check_columns(uri, chosen, setting)
    return chosen


def score_columns(uri: str) -> list[str]:
    """Which of the columns of weights and of probabilities a file of pairs has.

    Raises:
        InputError: if it has neither, or one of them twice.
    """
    columns = optional_columns(uri, (WEIGHT, PROBABILITY), "pairs")
    if not columns:
        raise InputError(f"pairs: {redacted(uri)} has no column {WEIGHT!r} or {PROBABILITY!r}")
    return columns
