"""The files of a resolution, found before any work, and what their cells have to be."""

from collections.abc import Sequence
from typing import NamedTuple

from tiltmeter.jobs.resolution.config import ResolutionRun
from tiltmeter.jobs.resolution.constraints import check_constraints
from tiltmeter.jobs.resolution.previous import find_previous
from tiltmeter.jobs.runtime.config import ConfigError
from tiltmeter.jobs.runtime.files import Files
from tiltmeter.operators.resolution.baselines.packing import check_engine
from tiltmeter.storage.corpora.sources import FoundFile, find_file
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.files.redaction import redacted
from tiltmeter.storage.records import check_columns, look_through, record_columns
from tiltmeter.storage.records.cells import GIVEN, NEEDED, NUMBER, Rules, between, one_of

WEIGHT, PROBABILITY, DOCUMENT = "weight", "match_probability", "document"
"""Columns that a file may have or not."""

END_RULES: Rules = dict.fromkeys(("left", "right"), (NEEDED,))
GOLD_RULES: Rules = dict.fromkeys(("record", "cluster"), (GIVEN,))
LABELLED_RULES: Rules = {**END_RULES, "is_match": [NEEDED, one_of(["true", "false", "1", "0"])]}
MENTION_RULES: Rules = dict.fromkeys(("topic", "mention_id", "mention_class", "chain_id"), (NEEDED,))


def record_rules(id_: str) -> Rules:
    """Of a file of records, by its column of ids."""
    return {id_: [NEEDED]}


def pair_rules(scores: Sequence[str]) -> Rules:
    """Of a file of pairs, by its columns of scores."""
    kinds = {WEIGHT: NUMBER, PROBABILITY: between(0, 1)}
    return {**END_RULES, **{name: [NEEDED, kinds[name]] for name in scores}}


class _Wanted(NamedTuple):
    """A file that is to be found.

    Attributes:
        path: where it is; None: it is not given.
        rules: for the cells of its columns.
        once: a column of which no value may come again, and others of which it may not with another value.
        others: columns beside those with rules.
    """

    path: str | None
    setting: str
    rules: Rules
    once: Sequence[str] = ()
    others: Sequence[str] = ()

    def find(self) -> FoundFile:
        columns = list(dict.fromkeys([*self.rules, *self.others]))
        file = find_file(str(self.path), self.setting)
        check_columns(file.uri, columns, self.setting)
        if not look_through(file.uri, columns, self.setting, rules=self.rules, once=self.once):
            raise InputError(f"{self.setting}: {redacted(file.uri)} has no rows: there must be one at least")
        return file


def find_sources(config: ResolutionRun) -> Files:
    """Look for the files: pairs, gold, records, labelled, clusters, must_link, cannot_link, sources, mentions, and the
    tables of a previous run.

    Raises:
        InputError: if one is missing, can't be read, has no rows, or lacks a column or has it twice.
        ConfigError: if the engine of a set packing is not there, or constraints contradict each other.
    """
    _check_engine(config)
    scorer, study = config.records, config.mentions
    wanted = {
        "gold": _Wanted(config.gold, "gold", GOLD_RULES, [*GOLD_RULES]),
        "must_link": _Wanted(_path(config.must_link), "must_link", END_RULES),
        "cannot_link": _Wanted(_path(config.cannot_link), "cannot_link", END_RULES),
        "sources": _Wanted(config.sources, "sources", record_rules("record"), (), [config.one_per_source or ""]),
    }
    if study is not None:
        wanted["mentions"] = _Wanted(study.path, "mentions.path", MENTION_RULES)
    if scorer is not None:
        rules = record_rules(scorer.id)
        wanted["records"] = _Wanted(scorer.path, "records.path", rules, [scorer.id], scorer.columns)
        wanted["labelled"] = _Wanted(scorer.labelled, "records.labelled", LABELLED_RULES)
        wanted["clusters"] = _Wanted(scorer.clusters, "records.clusters", GOLD_RULES, [*GOLD_RULES])
    files = {name: file.find() for name, file in wanted.items() if file.path}
    if config.pairs is not None:
        columns = score_columns(find_file(config.pairs, "pairs").uri)
        files["pairs"] = _Wanted(config.pairs, "pairs", pair_rules(columns)).find()
    if scorer is not None and config.one_per_source is not None:
        check_columns(files["records"].uri, [config.one_per_source], "one_per_source")
    check_constraints(config, files)
    return Files(files | find_previous(config))


def _path(pairs: object) -> str | None:
    return pairs if isinstance(pairs, str) else None


def _check_engine(config: ResolutionRun) -> None:
    if config.packing is None:
        return
    try:
        check_engine(config.packing.engine)
    except ValueError as error:
        raise ConfigError(f"{error}; set engine=<one of them>") from error


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
