"""Job `entity_resolution`: which records are one entity, proven to be the best partition, and why."""

from tiltmeter.cluster.capacity import ResourceRequest
from tiltmeter.jobs.resolution.assessment import assess
from tiltmeter.jobs.resolution.config import ResolutionRun
from tiltmeter.jobs.resolution.constraining import constrain
from tiltmeter.jobs.resolution.exports import export_clusters
from tiltmeter.jobs.resolution.ids.previous import check_fits, previous_tables
from tiltmeter.jobs.resolution.pairs import read_graphs
from tiltmeter.jobs.resolution.questions import check_clusters, questions_by_graph
from tiltmeter.jobs.resolution.records.pairs import score_records
from tiltmeter.jobs.resolution.solving import partition
from tiltmeter.jobs.resolution.sources import find_sources
from tiltmeter.jobs.resolution.tables import TABLES
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.files import Files
from tiltmeter.jobs.runtime.job import Job
from tiltmeter.jobs.runtime.resources import FileContent, file_request

_PAIRS = FileContent("pairs", plain=5, packed=20, parquet=12)


def run(run: Run[ResolutionRun, Files]) -> None:
    """Read or draw the scored pairs, partition every component, assess and explain; publish tables and a CSV."""
    config, runner = run.config, run.runner
    if config.records is None:
        graphs = read_graphs(runner, config, run.sources.files)
    else:
        graphs, learnt = score_records(runner, config, config.records, run.sources.files)
        run.publish("agreements", [learnt])
    graphs, constraint_counts = constrain(runner, config, graphs, run.sources.files)
    questions = questions_by_graph(runner.store, graphs, config.explain)
    check_fits(runner.store, {name: graph.records for name, graph in graphs.items()}, run.sources.files)
    previous = previous_tables(run.sources.files)
    partitions = partition(runner, graphs, config, previous)
    check_clusters(runner.store, partitions, questions)
    run.publish("pair_counts", [graphs[name].counts for name in partitions])
    run.publish_all({"constraint_counts": constraint_counts})
    run.publish("clusters", [result.clusters for result in partitions.values()])
    for name in ("components", "ledger_counts"):
        run.publish(name, [result.tables[name] for result in partitions.values()])
    for name in ("ledger", "moved_records") if previous else ():
        run.publish(name, [result.tables[name] for result in partitions.values()])
    export_clusters(run, partitions)
    run.publish_all(assess(runner, graphs, partitions, config, questions, previous))


def _requests(config: ResolutionRun, sources: Files, _: int) -> list[ResourceRequest]:
    return [] if config.pairs is None else [file_request("read pairs", sources.files["pairs"], _PAIRS)]


JOB = Job(ResolutionRun, find_sources, run, TABLES, "tiltmeter.jobs.resolution.page.body:page", _requests)
