"""Job `entity_resolution`: which records are one entity, proven to be the best partition, and why."""

from collections.abc import Iterable, Mapping, Sequence
from typing import IO

import polars as pl
import pyarrow as pa
from pyarrow import fs

from tiltmeter.cluster.capacity import ResourceRequest
from tiltmeter.jobs.report.exports import inert
from tiltmeter.jobs.resolution.config import RecordScorer, ResolutionRun
from tiltmeter.jobs.resolution.constraints import Constrain, check_constraints, given_constraints
from tiltmeter.jobs.resolution.explanations import assess, check_clusters, questions_by_graph
from tiltmeter.jobs.resolution.graphs import (
    END_RULES,
    GOLD_RULES,
    MENTION_RULES,
    Graph,
    ReadGraph,
    ReadPairs,
    Resolution,
    labelled_rules,
    pair_rules,
    record_rules,
    score_columns,
    study_graphs,
)
from tiltmeter.jobs.resolution.partitions import partition
from tiltmeter.jobs.resolution.previous import Previous, find_previous
from tiltmeter.jobs.resolution.records.calibration import calibrated_scores
from tiltmeter.jobs.resolution.records.priors import compare_priors
from tiltmeter.jobs.resolution.tables import TABLES
from tiltmeter.jobs.runtime.config import ConfigError
from tiltmeter.jobs.runtime.files import Files
from tiltmeter.jobs.runtime.job import Job
from tiltmeter.jobs.runtime.resources import FileContent, file_request
from tiltmeter.operators.resolution.baselines.packing import check_engine
from tiltmeter.operators.resolution.ids import as_ids
from tiltmeter.storage.corpora.sources import FoundFile, find_file
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.files.redaction import redacted
from tiltmeter.storage.records import check_columns, look_through, read_records
from tiltmeter.storage.records.cells import Rules
from tiltmeter.storage.store.streaming import pieces
from tiltmeter.storage.store.tables import write_file

_PAIRS = FileContent("pairs", plain=5, packed=20, parquet=12)

_LABELS = ("cluster", "cluster_id", "component")


def run(run: Resolution) -> None:
    """Read or draw the scored pairs, partition every component, assess and explain; publish tables and a CSV."""
    config, store, files = run.config, run.runner.store, run.sources.files
    graphs = _constrained(run, read_graphs(run))
    questions = questions_by_graph(store, graphs, config.explain)
    previous = Previous.among(files)
    previous.check_fits(store, {name: graph["records"] for name, graph in graphs.items()})
    graphs = partition(run, graphs, previous)
    check_clusters(store, graphs, questions)
    # Of a graph that was not partitioned, nothing is published.
    run.publish_all({name: [graph[name] for graph in graphs.values() if name in graph] for name in TABLES})
    export_clusters(run, graphs)
    assess(run, graphs, questions, previous)
    if config.records is not None:
        compare_priors(run, graphs, config.records.prior_factors)


def read_graphs(run: Resolution) -> dict[str, Graph]:
    """The graphs by name; those that can't be read are missing.

    Raises:
        UnitsFailed: if none can.
    """
    config, files = run.config, run.sources.files
    if config.records is not None:
        works: list[ReadGraph] = [calibrated_scores(run, config.records)]
    elif config.mentions is not None:
        works = study_graphs(config, config.mentions, files["mentions"])
    else:
        works = [
            ReadPairs(
                label=redacted(files["pairs"].uri),
                group="pairs",
                files={name: files[name].identity for name in ("pairs", "gold") if name in files},
                threshold=config.threshold,
                missing=config.missing,
            )
        ]
    return {work.group: unit.tables for work, unit in run.do(works, publish=False, batch_size=None).pairs}


def _constrained(run: Resolution, graphs: dict[str, Graph]) -> dict[str, Graph]:
    """The graphs that obey the constraints.

    Raises:
        UnitsFailed: if no graph has any record that a constraint names, or has too many pairs of one source.
    """
    if not run.config.has_constraints:
        return graphs
    given, missing = given_constraints(run.config, run.sources.files), run.config.missing
    done = run.do(
        (
            Constrain(
                label=name,
                group=name,
                graph=name,
                constraints=given,
                missing=missing,
                pairs=graph["pairs"],
                records=graph["records"],
            )
            for name, graph in graphs.items()
        ),
        publish=False,
        batch_size=None,
    )
    return {work.group: {**graphs[work.group], **unit.tables} for work, unit in done.pairs}


# --- the files, found before any work -------------------------------------------------------------------------------


def find_sources(config: ResolutionRun) -> Files:
    """Look for the files: pairs, gold, records, labelled, clusters, must_link, cannot_link, sources, mentions, and the
    tables of a previous run.

    Raises:
        InputError: if one is missing, can't be read, has no rows, or lacks a column or has it twice.
        ConfigError: if the engine of a set packing is not there, or constraints contradict each other.
    """
    _check_engine(config)
    scorer, study, origin = config.records, config.mentions, config.one_per_source
    files: dict[str, FoundFile] = {}

    def find(name: str, path: object, setting: str, rules: Rules, once: Sequence[str] = (), *others: str) -> None:
        if isinstance(path, str):
            files[name] = _find(path, setting, rules, once, others)

    find("gold", config.gold, "gold", GOLD_RULES, [*GOLD_RULES])
    find("must_link", config.must_link, "must_link", END_RULES)
    find("cannot_link", config.cannot_link, "cannot_link", END_RULES)
    find("sources", config.sources, "sources", record_rules("record"), (), origin or "")
    if study is not None:
        find("mentions", study.path, "mentions.path", MENTION_RULES)
    if scorer is not None:
        find("records", scorer.path, "records.path", record_rules(scorer.id), [scorer.id], *scorer.columns)
        if scorer.labelled is not None:
            rules = labelled_rules(find_file(scorer.labelled, "records.labelled").uri)
            find("labelled", scorer.labelled, "records.labelled", rules)
        find("clusters", scorer.clusters, "records.clusters", GOLD_RULES, [*GOLD_RULES])
    if config.pairs is not None:
        find("pairs", config.pairs, "pairs", pair_rules(score_columns(find_file(config.pairs, "pairs").uri)))
    if scorer is not None and origin is not None:
        check_columns(files["records"].uri, [origin], "one_per_source")
    check_constraints(config, files)
    return Files(files | find_previous(config))


def _check_engine(config: ResolutionRun) -> None:
    try:
        if config.packing is not None:
            check_engine(config.packing.engine)
    except ValueError as error:
        raise ConfigError(f"{error}; set engine=<one of them>") from error


def _find(path: str, setting: str, rules: Rules, once: Sequence[str], others: Sequence[str]) -> FoundFile:
    """A file that has a row at least.

    Args:
        rules: for the cells of its columns.
        once: a column of which no value may come again, and others of which it may not with another value.
        others: columns beside those with rules.
    """
    columns, file = list(dict.fromkeys([*rules, *others])), find_file(path, setting)
    check_columns(file.uri, columns, setting)
    if not look_through(file.uri, columns, setting, rules=rules, once=once):
        raise InputError(f"{setting}: {redacted(file.uri)} has no rows: there must be one at least")
    return file


# --- records with their clusters, in a file that a spreadsheet opens --------------------------------------------------


def export_clusters(run: Resolution, graphs: Mapping[str, Graph]) -> None:
    """Write ``exports/clusters.csv``: each record with its cluster and its component.

    Messy records have all their columns, and those of a cluster follow each other; no text is a formula.
    """

    # A write may be tried again, from the first part.
    def write(sink: IO[bytes] | pa.NativeFile) -> None:
        for number, part in enumerate(_exported(run, graphs)):
            sink.write(part.with_columns(inert(pl.col(pl.String))).write_csv(include_header=number == 0).encode())

    place = run.directory.export("clusters.csv")
    write_file(fs.LocalFileSystem(), str(place), write, setting="run_dir=<path>")
    run.console.print(f"records with their clusters: {place}", soft_wrap=True, highlight=False)


def _exported(run: Resolution, graphs: Mapping[str, Graph]) -> Iterable[pl.DataFrame]:
    config, refs = run.config, [graph["clusters"] for graph in graphs.values()]
    clusters = (pl.DataFrame(piece).rename({"id": "cluster_id"}) for piece in pieces(run.runner.store, refs))
    if config.records is not None:
        return [with_clusters(read_records(run.sources.files["records"].uri), pl.concat(clusters), config.records)]
    names = [*(["graph"] if config.mentions else []), "record", "cluster", "cluster_id", "component"]
    return (part.select(names) for part in clusters)


def with_clusters(records: pl.DataFrame, clusters: pl.DataFrame, scorer: RecordScorer) -> pl.DataFrame:
    """The records, cluster by cluster; columns that a CSV can't hold, such as lists, are left out.

    Args:
        clusters: table ``clusters``, with ``cluster_id`` for ``id``.
    """
    known = records.with_columns(as_ids(records[scorer.id]))
    flat = [column for column in known if not (column.dtype.is_nested() or column.dtype in (pl.Binary, pl.Duration))]
    names = {name: f"found_{name}" if name in known.columns else name for name in _LABELS}
    labels = clusters.select(pl.col("record").alias(scorer.id), *(pl.col(name).alias(names[name]) for name in names))
    joined = pl.DataFrame(flat).join(labels, on=scorer.id, how="left", maintain_order="left")
    return joined.sort(names["cluster"], maintain_order=True).select(*names.values(), pl.exclude(*names.values()))


def _requests(config: ResolutionRun, sources: Files, _: int) -> list[ResourceRequest]:
    return [] if config.pairs is None else [file_request("read pairs", sources.files["pairs"], _PAIRS)]


JOB = Job(ResolutionRun, find_sources, run, TABLES, "tiltmeter.jobs.resolution.page:page", _requests)
