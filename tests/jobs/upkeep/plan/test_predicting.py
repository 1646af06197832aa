"""Hours, bytes and memory from the records of earlier runs, by hand."""

import re
from pathlib import Path

import pytest

from tests.fixtures.page_models import check_text
from tiltmeter.cluster.capacity import ResourceRequest
from tiltmeter.cluster.config import ClusterConfig, ClusterError
from tiltmeter.jobs.upkeep.plan.counting import Counted, CountedStage
from tiltmeter.jobs.upkeep.plan.earlier import earlier_runs
from tiltmeter.jobs.upkeep.plan.predicting import Known, stage_rows
from tiltmeter.jobs.upkeep.plan.scale import Modelled
from tiltmeter.jobs.upkeep.plan.workers import Cluster
from tiltmeter.storage.store.ledger import Store
from tiltmeter.storage.store.registry import Registry

SETTINGS = {"embedding": {"num_replicas": 3, "min_count": 5}, "seed": 0}
FOUND = {"en": [{"name": "en.jsonl", "bytes": 1000, "version": "1"}]}


def stage(name, done, worker_seconds, num_bytes=0, **more):
    usual = {"num_reused": 0, "seconds": worker_seconds, "num_workers": 2, "num_threads": 1}
    return {"name": name, "num_done": done, "worker_seconds": worker_seconds, "num_bytes": num_bytes} | usual | more


RECORD = {
    "seconds": 50.0,
    "inputs": FOUND,
    "stages": [
        stage("tokens", 0, 0.0, num_reused=2, num_workers=0),
        stage("co-occurrence", 2, 20.0, 800),
        stage("train", 4, 40.0, 4000, num_reused=1),
    ],
}


@pytest.fixture
def store(tmp_path):
    return Store(str(tmp_path / "store"))


def enter(store, record=RECORD, settings=SETTINGS, job="bootstrap", status="succeeded"):
    """A run that ended."""
    Registry(store).enter(job, "nightly", run_dir="/gone", settings=settings).end(status, record, {})


def known(store, settings=SETTINGS, found=FOUND, model=None, rest_bytes=None):
    runs = earlier_runs(Registry(store).runs(), "bootstrap", settings, found)
    return Known(runs, model or {}, is_whole=False, rest_bytes=rest_bytes)


def cluster(*asks, **settings):
    usual = {"num_cpus": 2, "memory_megabytes": 4000}
    return Cluster(ClusterConfig(**usual | settings), lambda _: asks)


def rows(counted, known, *asks, **settings):
    return list(stage_rows(counted, known, cluster(*asks, **settings)))


def with_embedding(**settings):
    return SETTINGS | {"embedding": SETTINGS["embedding"] | settings}


def of_train(seconds, done=1, **more):
    return RECORD | {"stages": [stage("train", done, seconds, **more)]}


TRAIN = Counted([CountedStage("train", num_missing=1)])
UNREAD = Counted([CountedStage("tokens", num_missing=1)], "it varies")
LARGER = {"en": [{"name": "en.jsonl", "bytes": 2001, "version": "2"}]}
OF_MODEL = {"train": Modelled(4, 100.0, 8.0)}
TRAINING = ResourceRequest("stage train", {"cluster.worker_megabytes": 1500, "vectors": 2500})
USUAL = [{}]
CASES = {
    # 10 s and 1000 bytes for a unit; three of five one after the other on one of two workers. The run took 50 s, of
    # which its two workers were at units for 10 and 20.
    "units take what they took and are dealt as in a run": (
        USUAL,
        Counted([CountedStage("tokens", num_done=2), CountedStage("train", num_done=4, num_missing=5)]),
        {},
    ),
    # 8 embeddings are counted at once instead of 4.
    "counting takes as much longer as there are more embeddings": (
        USUAL,
        Counted([CountedStage("co-occurrence", num_missing=2), CountedStage("train", num_missing=8)]),
        {"settings": with_embedding(num_replicas=7)},
    ),
    # On two threads a unit took 5.5 s, 0.55 of 10; the one that is missing has both CPUs too.
    "threads are those of a run": (
        [{"record": of_train(22.0, 4, num_threads=2)}],
        Counted([CountedStage("train", num_missing=1, most_threads=4)]),
        {},
    ),
    "a run with other settings": ([{"settings": with_embedding(min_count=2)}], TRAIN, {}),
    "one with other inputs": ([{"settings": with_embedding(min_count=2)}], TRAIN, {"found": LARGER}),
    "a like run goes before the model": (USUAL, TRAIN, {"model": OF_MODEL}),
    "the model before one with other inputs": (USUAL, TRAIN, {"found": LARGER, "model": OF_MODEL}),
    "the nearest run": (
        [{"record": of_train(7.0)}, {"record": of_train(9.0), "settings": SETTINGS | {"seed": 1}}],
        *(TRAIN, {}),
    ),
    "the nearest of another seed, whatever other jobs and runs at work took": (
        [
            {"record": of_train(7.0)},
            {"record": of_train(9.0), "settings": SETTINGS | {"seed": 1}},
            {"record": of_train(1.0), "settings": {"models": {}}, "job": "privacy_metrics"},
            {"record": of_train(2.0), "status": "running"},
            {"record": of_train(3.0), "settings": SETTINGS | {"seed": 1}, "job": "survey"},
        ],
        *(TRAIN, {"settings": SETTINGS | {"seed": 1}}),
    ),
    "stages that could not be counted are those of a like run": (USUAL, UNREAD, {}),
    "by the size of the rest": (
        USUAL,
        Counted([CountedStage("tokens", num_missing=1)], "it varies", uncounted=["fr"]),
        {"rest_bytes": 3000},
    ),
    "nothing is known": ([], Counted([CountedStage("read", num_missing=1)], "it varies"), {}),
    "nothing is missing": ([], Counted([CountedStage("read", num_done=3)]), {}, {"memory_megabytes": 500}),
    # Two workers fit 4000 MB, and only one if training takes 2500 more: they are kept from stage to stage.
    "workers are of the size of the largest stage": (
        *(USUAL, Counted([CountedStage("co-occurrence", num_missing=2)]), {}, {}, TRAINING),
    ),
}


def said(tmp_path):
    for number, (case, (runs, counted, asked, *more)) in enumerate(CASES.items()):
        store = Store(str(tmp_path / str(number)))
        for run in runs:
            enter(store, **run)
        settings, *asks = more or [{}]
        yield f"\n# {case}"
        for row in rows(counted, known(store, **asked), *asks, **settings):
            shown = {name: f"{value:.9g}" if isinstance(value, float) else value for name, value in row.items()}
            yield re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC", "then", str(shown))


def test_what_missing_units_would_take(tmp_path):
    check_text(Path(__file__), "predictions", said(tmp_path))


@pytest.mark.parametrize(
    ("settings", "found", "status", "is_one"),
    [
        (SETTINGS | {"embedding": {"num_replicas": 9, "min_count": 5}}, FOUND, "succeeded", True),
        (SETTINGS | {"seed": 1}, FOUND, "succeeded", False),
        (SETTINGS, {"en": [{"name": "en.jsonl", "bytes": 1000, "version": "2"}]}, "succeeded", False),
        (SETTINGS, FOUND, "failed", False),
    ],
)
def test_tables_come_out_as_in_a_run_that_differs_in_the_number_of_replicas_alone(
    store, settings, found, status, is_one
):
    enter(store, status=status)
    [run] = known(store, settings, found).runs
    assert run.has_twins is is_one


def test_a_cluster_without_room_is_refused_where_a_unit_is_missing(store):
    with pytest.raises(ClusterError, match="every stage asks for 1 CPU and 1,500 MB for each worker"):
        rows(Counted([CountedStage("read", num_missing=1)]), known(store), memory_megabytes=500)
