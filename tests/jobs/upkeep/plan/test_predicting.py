"""Hours, bytes and memory from the records of earlier runs, by hand."""

from dataclasses import replace

import pytest

from tiltmeter.cluster.capacity import ResourceRequest
from tiltmeter.cluster.config import ClusterConfig, ClusterError
from tiltmeter.jobs.upkeep.plan.counting import Counted, CountedStage
from tiltmeter.jobs.upkeep.plan.earlier import earlier_runs
from tiltmeter.jobs.upkeep.plan.predicting import EARLIER, MODEL, Known, stage_rows
from tiltmeter.jobs.upkeep.plan.scale import START_SECONDS, Modelled
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


@pytest.fixture
def ran(store):
    """Enters a run that ended."""

    def enter(record=RECORD, settings=SETTINGS, job="bootstrap", status="succeeded"):
        entry = Registry(store).enter(job, "nightly", run_dir="/gone", settings=settings)
        entry.end(status, record, {})

    return enter


def known(store, settings=SETTINGS, found=FOUND, model=None):
    return Known(earlier_runs(Registry(store).runs(), "bootstrap", settings, found), model or {}, is_whole=False)


def cluster(**settings):
    usual = {"num_cpus": 2, "memory_megabytes": 4000}
    return Cluster(ClusterConfig(**usual | settings), lambda _: ())


def rows(counted, known, **settings):
    return {row["stage"]: row for row in stage_rows(counted, known, cluster(**settings))}


def test_units_take_what_they_took_and_are_dealt_as_in_a_run(store, ran):
    ran()
    counted = Counted([CountedStage("tokens", num_done=2), CountedStage("train", num_done=4, num_missing=5)])
    tokens, train, start = rows(counted, known(store)).values()
    assert (tokens["num_done"], tokens["num_missing"], tokens["worker_seconds"], tokens["stored_bytes"]) == (2, 0, 0, 0)
    # 10 s and 1000 bytes for a unit; three of five one after the other on one of two workers.
    assert (train["worker_seconds"], train["seconds"], train["stored_bytes"]) == (50.0, 30.0, 5000.0)
    assert (train["num_workers"], train["num_threads"], train["memory_bytes"]) == (2, 1, 1_500_000_000)
    assert (train["basis"], train["status"], train["reason"]) == (EARLIER, "ok", "")
    # The run took 50 s, of which its two workers were at units for 10 and 20.
    assert (start["stage"], start["seconds"], start["basis"]) == ("start and report", 20.0, EARLIER)


def test_counting_takes_as_much_longer_as_there_are_more_embeddings(store, ran):
    ran()
    settings = SETTINGS | {"embedding": SETTINGS["embedding"] | {"num_replicas": 7}}
    counted = Counted([CountedStage("co-occurrence", num_missing=2), CountedStage("train", num_missing=8)])
    found = rows(counted, known(store, settings))
    # 8 embeddings are counted at once instead of 4.
    assert (found["co-occurrence"]["worker_seconds"], found["co-occurrence"]["stored_bytes"]) == (40.0, 1600.0)
    assert (found["train"]["worker_seconds"], found["train"]["reason"]) == (80.0, "")


def test_threads_are_those_of_a_run_and_take_as_much_longer(store, ran):
    ran(RECORD | {"stages": [stage("train", 4, 22.0, num_threads=2)]})
    [train, _] = rows(Counted([CountedStage("train", num_missing=1, most_threads=4)]), known(store)).values()
    # On two threads a unit took 5.5 s, 0.55 of 10; the one that is missing has both CPUs too.
    assert (train["num_threads"], train["num_workers"]) == (2, 1)
    assert train["seconds"] == pytest.approx(5.5)


def test_a_run_with_other_settings_says_so_and_one_with_other_inputs_says_less(store, ran):
    ran(settings=SETTINGS | {"embedding": SETTINGS["embedding"] | {"min_count": 2}})
    counted = Counted([CountedStage("train", num_missing=1)])
    assert rows(counted, known(store))["train"]["reason"] == "other settings: embedding.min_count"
    larger = {"en": [{"name": "en.jsonl", "bytes": 2001, "version": "2"}]}
    train = rows(counted, known(store, found=larger))["train"]
    assert (train["worker_seconds"], train["reason"]) == (10.0, "inputs of another size")
    model = {"train": Modelled(4, 100.0, 8.0)}
    assert rows(counted, known(store, model=model))["train"]["basis"] == EARLIER
    assert rows(counted, known(store, found=larger))["start and report"]["seconds"] == START_SECONDS
    by_model = rows(counted, known(store, found=larger, model=model))["train"]
    assert (by_model["worker_seconds"], by_model["stored_bytes"], by_model["basis"]) == (25.0, 2.0, MODEL)


def test_runs_are_as_near_as_their_settings_and_those_of_others_do_not_count(store, ran):
    ran(RECORD | {"stages": [stage("train", 1, 7.0)]})
    ran(RECORD | {"stages": [stage("train", 1, 9.0)]}, SETTINGS | {"seed": 1})
    ran(RECORD | {"stages": [stage("train", 1, 1.0)]}, {"models": {}}, job="privacy_metrics")
    ran(RECORD | {"stages": [stage("train", 1, 2.0)]}, status="running")
    counted = Counted([CountedStage("train", num_missing=1)])
    assert rows(counted, known(store))["train"]["worker_seconds"] == 7.0
    assert rows(counted, known(store, SETTINGS | {"seed": 1}))["train"]["worker_seconds"] == 9.0
    ran(RECORD | {"stages": [stage("train", 1, 3.0)]}, SETTINGS | {"seed": 2}, job="survey")
    assert rows(counted, known(store, SETTINGS | {"seed": 2}))["train"]["worker_seconds"] == 9.0


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
    store, ran, settings, found, status, is_one
):
    ran(status=status)
    [run] = known(store, settings, found).runs
    assert run.has_twins is is_one


def test_stages_that_could_not_be_counted_are_those_of_a_like_run(store, ran):
    ran()
    found = rows(Counted([CountedStage("tokens", num_missing=1)], "it depends on rows"), known(store))
    assert list(found) == ["tokens", "co-occurrence", "train", "start and report"]
    assert "num_done" not in found["train"]
    assert (found["train"]["num_missing"], found["train"]["status"]) == (5, "estimated")
    assert found["train"]["reason"].startswith(
        "could not be counted after tokens: it depends on rows; as many as in the"
    )
    rest = replace(known(store), rest_bytes=3000)
    more = rows(Counted([CountedStage("tokens", num_missing=1)], "it depends on rows", uncounted=["fr"]), rest)
    assert (more["train"]["num_missing"], more["co-occurrence"]["num_missing"]) == (15, 6)
    # No run did this one: it was found again.
    assert (found["tokens"]["status"], found["tokens"].get("seconds")) == ("unknown", None)


def test_nothing_vanishes_of_what_nothing_is_known(store):
    found = rows(Counted([CountedStage("read", num_missing=1)], "it depends on rows"), known(store))
    assert list(found) == ["read", "later stages", "start and report"]
    assert found["later stages"]["status"] == "unknown"
    assert (
        found["read"]["reason"]
        == "no earlier run in this store did such a unit, and docs/scale.md has no figures of it"
    )
    assert (found["start and report"]["seconds"], found["start and report"]["basis"]) == (START_SECONDS, MODEL)


def test_a_run_that_finds_all_done_needs_no_cluster(store):
    counted = Counted([CountedStage("read", num_done=3)])
    assert list(rows(counted, known(store), memory_megabytes=500)) == ["read"]
    with pytest.raises(ClusterError, match="every stage asks for 1 CPU and 1,500 MB for each worker"):
        rows(Counted([CountedStage("read", num_missing=1)]), known(store), memory_megabytes=500)


def test_workers_are_of_the_size_that_the_largest_stage_asks_for(store, ran):
    """Two fit 4000 MB, and only one if training takes 2500 more for vectors: workers are kept from stage to stage."""
    ran()
    config = ClusterConfig(num_cpus=2, memory_megabytes=4000)
    training = ResourceRequest("stage train", {"cluster.worker_megabytes": 1500, "vectors": 2500})
    counted = Counted([CountedStage("co-occurrence", num_missing=2)])
    row, _ = stage_rows(counted, known(store), Cluster(config, lambda _: [training]))
    assert (row["num_workers"], row["memory_bytes"], row["seconds"]) == (1, 4_000_000_000, 20.0)
