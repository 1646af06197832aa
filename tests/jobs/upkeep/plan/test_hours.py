"""Hours, bytes and memory from the records of earlier runs, by hand."""

import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.fixtures.page_models import check_text
from tiltmeter.cluster.capacity import ResourceRequest
from tiltmeter.cluster.config import ClusterConfig, ClusterError
from tiltmeter.cluster.start import Prospect, nodes_before
from tiltmeter.jobs.upkeep.plan.counting import Counted, CountedStage
from tiltmeter.jobs.upkeep.plan.hours import Known, stage_rows
from tiltmeter.jobs.upkeep.plan.rates import Rate, earlier_runs, first_rates
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


def known(store, settings=SETTINGS, found=FOUND, first=None, share=1.0):
    runs = earlier_runs(Registry(store).runs(), "bootstrap", settings, found)
    return Known("bootstrap", runs, first or {}, lambda groups: share if groups else 0.0)


def cluster(*asks, **settings):
    usual = {"num_cpus": 2, "memory_megabytes": 4000}
    return Prospect(ClusterConfig(**usual | settings), lambda _: asks, nodes_before)


def rows(counted, known, *asks, **settings):
    made = stage_rows(counted, known, cluster(*asks, **settings))
    return [{name: value for name, value in vars(row).items() if name != "name" and value is not None} for row in made]


def with_embedding(**settings):
    return SETTINGS | {"embedding": SETTINGS["embedding"] | settings}


def of_train(seconds, done=1, **more):
    return RECORD | {"stages": [stage("train", done, seconds, **more)]}


TRAIN = Counted([CountedStage("train", num_missing=1)])
UNREAD = Counted([CountedStage("tokens", num_missing=1)], ["en"], "it varies")
PARTLY = Counted(
    [CountedStage("tokens", 2, 1), CountedStage("co-occurrence", 2, 0, ["fr"]), CountedStage("train", 5, 0, ["fr"])],
    *(["fr"], "it varies"),
)
LARGER = {"en": [{"name": "en.jsonl", "bytes": 2001, "version": "2"}]}
FIRST = {"train": Rate(111.1, 8.88)}
TRAINING = ResourceRequest("stage train", {"cluster.worker_megabytes": 1500, "vectors": 2500})
USUAL = [{}]
CASES = {
    # 10 s and 1000 bytes for a unit; three of five one after the other on one of two workers.
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
    "an estimate has two digits": ([{"record": of_train(12.345, num_bytes=67890)}], TRAIN, {}),
    "a run with other settings": ([{"settings": with_embedding(min_count=2)}], TRAIN, {}),
    "one with other inputs": ([{"settings": with_embedding(min_count=2)}], TRAIN, {"found": LARGER}),
    "a like run goes before the rates": (USUAL, TRAIN, {"first": FIRST}),
    "the rates, of one digit, before one with other inputs": (USUAL, TRAIN, {"found": LARGER, "first": FIRST}),
    "of four units three are missing": (
        [],
        Counted([CountedStage("train", num_done=1, num_missing=3)]),
        {"first": FIRST},
    ),
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
    # 20 and 50 s, 800 and 5000 bytes: five units were found again or done.
    "what could not be counted takes what it took": (USUAL, UNREAD, {}),
    "and of twice as many embeddings twice that": (USUAL, UNREAD, {"settings": with_embedding(num_replicas=7)}),
    "of inputs of another size, so many times that": (USUAL, UNREAD, {"found": LARGER}),
    "and before a first run what the rates say": ([], UNREAD, {"first": FIRST}),
    "an eighth of the inputs is yet to be counted": (USUAL, PARTLY, {"share": 0.125}),
    "the last stage is missing, so that nothing comes after it": (
        USUAL,
        Counted([CountedStage("tokens", 2), CountedStage("co-occurrence", 2), *TRAIN.stages], ["en"], "it varies"),
        {},
    ),
    "nothing is known": ([], Counted([CountedStage("read", num_missing=1)], ["en"], "it varies"), {}),
    "nor by a run that found all again": (
        [{"record": RECORD | {"stages": [stage("train", 0, 0.0, num_reused=5, num_workers=0)]}}],
        *(UNREAD, {}),
    ),
    "which another one says": (
        [
            {"settings": SETTINGS | {"seed": 1}},
            {"record": RECORD | {"stages": [stage("train", 0, 0.0, num_reused=5, num_workers=0)]}},
        ],
        *(UNREAD, {}),
    ),
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
    check_text(Path(__file__), "hours", said(tmp_path))


def test_a_cluster_without_room_is_refused_where_a_unit_is_missing(store):
    with pytest.raises(ClusterError, match="every stage asks for 1 CPU and 1,500 MB for each worker"):
        rows(Counted([CountedStage("read", num_missing=1)]), known(store), memory_megabytes=500)


# --- before a first run ---------------------------------------------------------------------------------------------


def wikipedia(num_bytes):
    source = SimpleNamespace(num_bytes=num_bytes, format="mediawiki", compression="none")
    return [SimpleNamespace(name="enwiki", sources=[source])]


def rates(configured, num_bytes, *words):
    corpus = ["corpus=file", "corpus.language=en", "corpus.path=x"]
    return first_rates(configured("job=bootstrap", *corpus, *words), wikipedia(num_bytes))


def test_training_grows_with_replicas_epochs_and_dimensions(configured):
    usual = rates(configured, 1e9)
    more = rates(
        *(configured, 2e9, "embedding.num_replicas=65", "embedding.trainer.epochs=30"),
        "embedding.trainer.dimensions=50",
    )
    grown = {name: [one / other for one, other in zip(more[name], usual[name], strict=True)] for name in usual}
    assert {name: factors for name, factors in grown.items() if name != "train"} == {
        **{name: pytest.approx([2, 2]) for name in ("read", "documents", "tokens")},
        **{name: pytest.approx([4, 4]) for name in ("co-occurrence", "combine", "merge")},
    }
    assert grown["train"] == pytest.approx([4, 2])


def test_a_hundred_million_tokens_take_what_docs_scale_says(configured):
    """Its laws at that size; see the comment in the code."""
    found, tokens = rates(configured, 21 * 1e8), 1e8
    laws = {
        "tokens": (0.589e-6 * tokens, 2.3 * tokens),
        "co-occurrence": (5.948e-6 * tokens, 21.9 * 1.24 * tokens**1.065),
        "merge": (1.455e-6 * 1.24 * tokens**1.065, 45.5 * 20.6 * tokens**0.846),
        "train": (0.051e-6 * 15 * 2610 / 3 * tokens**0.855, 3.7 * 33 * 100 * 4.43 * tokens**0.589),
    }
    assert {name: tuple(found[name]) for name in laws} == {
        name: pytest.approx(law, rel=0.1) for name, law in laws.items()
    }


def test_there_are_no_rates_of_other_trainers_and_other_jobs(configured):
    assert rates(configured, 1e9, "embedding=word2vec") == {}
    assert first_rates(configured("job=entity_resolution", "pairs=pairs.csv"), []) == {}
