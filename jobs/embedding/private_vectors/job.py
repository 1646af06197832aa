"""Job `private_vectors`: vectors with noise to be given away, how private they are, and what they are good for."""

from collections.abc import Sequence

from tiltmeter.cluster.stages import Stage
from tiltmeter.cluster.work import Tables, each
from tiltmeter.jobs.embedding.private_vectors.audits import audit_mechanisms
from tiltmeter.jobs.embedding.private_vectors.checks import find_checked
from tiltmeter.jobs.embedding.private_vectors.config import PrivateVectorsRun
from tiltmeter.jobs.embedding.private_vectors.deniability import deny
from tiltmeter.jobs.embedding.private_vectors.geometry import measure
from tiltmeter.jobs.embedding.private_vectors.maps import draw_maps
from tiltmeter.jobs.embedding.private_vectors.mechanisms import sensitivity_rows, specify, wanted
from tiltmeter.jobs.embedding.private_vectors.read_outs import read_distances
from tiltmeter.jobs.embedding.private_vectors.release.stages import release
from tiltmeter.jobs.embedding.private_vectors.sources import PrivateSources
from tiltmeter.jobs.embedding.private_vectors.tables import TABLES
from tiltmeter.jobs.embedding.private_vectors.utility import use
from tiltmeter.jobs.embedding.private_vectors.vocabulary import read_vocabulary
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.job import Job
from tiltmeter.jobs.runtime.rows import Row, table_of
from tiltmeter.storage.store.ledger import Store, Unit


def run(run: Run[PrivateVectorsRun, PrivateSources]) -> None:
    """Release the vectors, if there is a key; study mechanisms on them otherwise."""
    if run.config.release.key_file:
        release(run)
    else:
        _study(run)


def _study(run: Run[PrivateVectorsRun, PrivateSources]) -> None:
    """From maps and their sensitivity to mechanisms, audits, and what vectors are still good for."""
    runner, config = run.runner, run.config
    public = read_vocabulary(runner, config, run.sources)
    vocabulary = public.table
    width = runner.store.read(vocabulary.select("vector"))["vector"].type.list_size
    betas = config.distances.betas if config.distances.epsilons else ()
    maps = draw_maps(runner, config, vocabulary, width, betas)
    geometry = measure(runner, config, public, [item for item in maps.values() if item.ref])
    _publish_rows(run, "sensitivity", list(sensitivity_rows(maps, geometry)))
    mechanisms, tables = specify(runner, config, geometry, list(wanted(config, maps, geometry)))
    run.publish_all(tables)
    run.publish_all({"audits": audit_mechanisms(runner, config, vocabulary, mechanisms)})
    run.publish_all({"distances": read_distances(runner, config, vocabulary, maps, geometry)})
    run.publish_all({"utility": use(runner, config, run.sources, vocabulary, mechanisms)})
    run.publish_all({"deniability": deny(runner, config, vocabulary, mechanisms)})


def _publish_rows(run: Run[PrivateVectorsRun, PrivateSources], name: str, rows: Sequence[Row]) -> None:
    """Rows that the driver has, through the store as all tables go."""
    unit = Unit("private_rows/1", name, {"name": name, "rows": list(rows)})
    [done] = run.runner.run_whole(Stage(f"write {name}", each(_write), {name: [unit]}))[name]
    run.publish(name, [done.tables[name]])


def _write(_: Store, unit: Unit) -> Tables:
    yield unit.config["name"], table_of(unit.config["rows"], TABLES[unit.config["name"]])


JOB = Job(PrivateVectorsRun, find_checked, run, TABLES, "tiltmeter.jobs.embedding.private_vectors.page.body:page")
