"""Job `entity_resolution`: which records are one entity, proven to be the best partition, and why."""

from collections.abc import Sequence

from tiltmeter.cluster.capacity import ResourceRequest
from tiltmeter.jobs.resolution.canonical import choose_canonical
from tiltmeter.jobs.resolution.config import RecordScorer, ResolutionRun
from tiltmeter.jobs.resolution.constraints import Constrain, check_constraints, given_constraints
from tiltmeter.jobs.resolution.explanations import assess, check_clusters, questions_by_graph
from tiltmeter.jobs.resolution.exports import check_exports, export_canonical, export_clusters, export_databases
from tiltmeter.jobs.resolution.graphs import (
    END_RULES,
    GOLD_RULES,
    LABELLED_RULES,
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
from tiltmeter.jobs.resolution.quality import judge
from tiltmeter.jobs.resolution.records.gaps import filled_scores
from tiltmeter.jobs.resolution.records.night import explain_moves, find_standing
from tiltmeter.jobs.resolution.records.priors import compare_priors
from tiltmeter.jobs.resolution.tables import TABLES
from tiltmeter.jobs.runtime.config import ConfigError
from tiltmeter.jobs.runtime.files import Files
from tiltmeter.jobs.runtime.job import Job
from tiltmeter.jobs.runtime.resources import FileContent, file_request
from tiltmeter.operators.resolution.baselines.packing import check_engine
from tiltmeter.operators.resolution.records.columns import FILE
from tiltmeter.operators.resolution.records.scorer import LISTS
from tiltmeter.storage.corpora.sources import FoundFile, find_file
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.files.redaction import redacted
from tiltmeter.storage.records import check_columns, look_through, record_columns
from tiltmeter.storage.records.cells import Rules

_PAIRS = FileContent("pairs", plain=5, packed=20, parquet=12)


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
    judge(run, graphs)
    graph = choose_canonical(run, *next(iter(graphs.items())))
    export_canonical(run, graph)
    assess(run, graphs, questions, previous)
    explain_moves(run, graphs, previous)
    # Each prior solves all components, and a night those that changed.
    if config.records is not None and config.previous is None:
        compare_priors(run, graphs, config.records.prior_factors)
    export_databases(run, graph)


def read_graphs(run: Resolution) -> dict[str, Graph]:
    """The graphs by name; those that can't be read are missing.

    Raises:
        UnitsFailed: if none can.
    """
    config, files = run.config, run.sources.files
    if config.records is not None:
        works: list[ReadGraph] = [filled_scores(run, config.records)]
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
    find("sampled_pairs", config.sampled_pairs, "sampled_pairs", LABELLED_RULES)
    find("must_link", config.must_link, "must_link", END_RULES)
    find("cannot_link", config.cannot_link, "cannot_link", END_RULES)
    find("sources", config.sources, "sources", record_rules("record"), (), origin or "")
    if study is not None:
        find("mentions", study.path, "mentions.path", MENTION_RULES)
    if scorer is not None:
        files |= _find_records(scorer, origin)
        if scorer.labelled is not None:
            rules = labelled_rules(find_file(scorer.labelled, "records.labelled").uri)
            find("labelled", scorer.labelled, "records.labelled", rules)
        find("clusters", scorer.clusters, "records.clusters", GOLD_RULES, [*GOLD_RULES])
    for name, path in {"names": config.names, "groups": config.groups}.items():
        if scorer is None or path not in record_columns(files["records"].uri):
            column = name.removesuffix("s")
            find(name, path, name, record_rules("record"), ["record", column], column)
    if config.pairs is not None:
        find("pairs", config.pairs, "pairs", pair_rules(score_columns(find_file(config.pairs, "pairs").uri)))
    check_constraints(config, files)
    check_exports(config, files)
    return Files(files | find_previous(config) | find_standing(config))


def _find_records(scorer: RecordScorer, origin: str | None) -> dict[str, FoundFile]:
    """The files of messy records, with all columns that are compared or say which source a record is from."""
    lists = [name for name, field in scorer.fields.items() if field.kind in LISTS]
    flat = [name for name in scorer.columns if name not in lists]
    others = [*lists, *([] if origin in (None, FILE) else [origin])]
    files: dict[str, FoundFile] = {}
    for name, path in {"records": scorer.path, "second": scorer.second}.items():
        if path is None:
            continue
        setting = "records.path" if name == "records" else "records.second"
        files[name] = _find(path, setting, record_rules(scorer.id), [scorer.id], flat)
        if scorer.second is not None and FILE in record_columns(files[name].uri):
            raise InputError(f"{setting}: two files are told apart by a column {FILE!r}; rename the one that is there")
        if others:
            check_columns(files[name].uri, others, "records.fields" if lists else "one_per_source")
    return files


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


def _requests(config: ResolutionRun, sources: Files, _: int) -> list[ResourceRequest]:
    return [] if config.pairs is None else [file_request("read pairs", sources.files["pairs"], _PAIRS)]


JOB = Job(
    ResolutionRun, find_sources, run, TABLES, "tiltmeter.jobs.resolution.page:page", _requests, extras=["resolution"]
)
