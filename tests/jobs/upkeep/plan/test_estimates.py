"""What a plan estimates, by hand: units that are counted, hours and bytes by earlier runs, the smallest difference."""

import re
from datetime import UTC, datetime
from math import sqrt
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

from tests.fixtures.page_models import check_text
from tiltmeter.cluster.capacity import ResourceRequest
from tiltmeter.cluster.config import ClusterConfig, ClusterError
from tiltmeter.cluster.stages import Stage, UnitsFailed
from tiltmeter.cluster.start import Prospect, nodes_before
from tiltmeter.cluster.work import Failure, each
from tiltmeter.jobs.runtime.draws import draws_of, with_draws
from tiltmeter.jobs.upkeep.plan.counting import Counted, CountedStage, count_units
from tiltmeter.jobs.upkeep.plan.detecting import difference_rows
from tiltmeter.jobs.upkeep.plan.hours import Known, stage_rows
from tiltmeter.jobs.upkeep.plan.rates import EarlierRun, Rate, earlier_runs, first_rates
from tiltmeter.operators.statistics.differences import noncentrality
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.store import accounts
from tiltmeter.storage.store.ledger import Store, Unit
from tiltmeter.storage.store.registry import Registry
from tiltmeter.storage.store.tables import column

DONE, MISSING = (Unit("count/1", name, {"name": name}) for name in ("done", "missing"))


@pytest.fixture
def counted(tmp_path):
    """Counts the units of a job that does this, in a store that has one unit."""
    store = Store(str(tmp_path / "store"))
    store.commit(DONE, [("numbers", pa.table({"n": [1, 2]}))])

    def count(run):
        config = SimpleNamespace(store=store.root, job=SimpleNamespace(name="made_up"))
        return count_units(SimpleNamespace(run=run), config, None, SimpleNamespace(num_gpus=0))

    return count


def work(_store, _unit):
    raise AssertionError("no unit is done")


def run_stage(runner, name, **groups):
    return runner.run_whole(
        Stage(name, each(work), {group.replace("_", "/"): units for group, units in groups.items()})
    )


def counts(counted):
    return [(row.name, row.num_done, row.num_missing, list(row.without)) for row in counted.stages]


def test_units_are_counted_stage_by_stage_until_one_reads_what_is_missing(counted):
    def run(run):
        [one] = run_stage(run.runner, "count", all=[DONE])["all"]
        assert run.runner.store.read(one.tables["numbers"])["n"].to_pylist() == [1, 2]
        run.publish("numbers", [one.tables["numbers"]])
        run.directory.write_table("rows", pa.table({"n": [1]}))
        run_stage(run.runner, "sum", all=[DONE, MISSING])
        raise AssertionError("the job goes on without a unit")

    result = counted(run)
    assert counts(result) == [("count", 1, 0, []), ("sum", 1, 1, [])]
    assert (result.reason, result.groups) == ("they read what sum has yet to make", ["all"])


def test_of_several_groups_those_count_of_which_all_is_there(counted):
    """So does a part of one, but nothing that may hold several against each other."""

    def run(run):
        run_stage(run.runner, "read", en=[DONE], de=[MISSING])
        assert list(run_stage(run.runner, "cut", en_1990=[DONE], en_2000=[MISSING])) == ["en/1990"]
        done = run_stage(run.runner, "train", en_1990=[DONE], en_2000=[DONE], de=[DONE], en=[DONE], english=[DONE])
        assert list(done) == ["en/1990"]
        run_stage(run.runner, "compare", languages=[DONE])

    result = counted(run)
    assert counts(result) == [
        ("read", 1, 1, []),
        ("cut", 1, 1, ["de"]),
        ("train", 1, 0, ["de", "en/2000"]),
        ("compare", 0, 0, ["de", "en", "en/2000", "english"]),
    ]
    assert result.reason == "they read what read and cut have yet to make"


def test_a_unit_of_two_groups_is_missing_once_and_stages_of_one_name_are_one_row(counted):
    def run(run):
        run_stage(run.runner, "count", all=[DONE])
        run.runner.run(Stage("count", each(work), {"a": [MISSING], "b": [MISSING, DONE]}))

    [row] = counted(run).stages
    assert (row.num_done, row.num_missing) == (2, 1)


def test_an_account_is_never_entered_and_no_file_begun(counted, tmp_path):
    """Nor is anything else written that a job would write before its units."""

    def enter(run):
        run_stage(run.runner, "count", all=[DONE])
        accounts.enter(run.runner.store, "people", "first", {"epsilon": 1.0}, lambda _: True)
        raise AssertionError("it was entered")

    def export(run):
        run.directory.export_bytes("key.csv", b"")
        run.directory.export("clusters.csv")
        raise AssertionError("it was begun")

    assert counted(enter).reason.endswith("nothing may be written into a store that is only read")
    assert (counted(export).reason, counted(export).groups) == (
        "clusters.csv is written first, of what was done",
        ["all"],
    )
    assert not (tmp_path / "store/accounts").exists()


def test_what_is_refused_is_refused_unless_units_are_missing(counted):
    def refused(*units):
        def run(run):
            run_stage(run.runner, "count", one=[DONE], other=units)
            raise InputError("corpus: two are needed")

        return run

    def failed(run):
        run.runner.failures["all"] = [Failure(DONE, "InputError: too few", "")]
        run.runner.check()

    with pytest.raises(InputError):
        counted(refused(DONE))
    assert counted(refused(MISSING)).reason == "corpus: two are needed"
    with pytest.raises(UnitsFailed, match="too few"):
        counted(failed)


# --- hours, bytes and memory from the records of earlier runs -------------------------------------------------------

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


def hour_rows(counted, known, *asks, **settings):
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
        for row in hour_rows(counted, known(store, **asked), *asks, **settings):
            shown = {name: f"{value:.9g}" if isinstance(value, float) else value for name, value in row.items()}
            yield re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC", "then", str(shown))


def test_what_missing_units_would_take(tmp_path):
    check_text(Path(__file__), "hours", said(tmp_path))


def test_a_cluster_without_room_is_refused_where_a_unit_is_missing(store):
    with pytest.raises(ClusterError, match="every stage asks for 1 CPU and 1,500 MB for each worker"):
        hour_rows(Counted([CountedStage("read", num_missing=1)]), known(store), memory_megabytes=500)


# --- before a first run ---------------------------------------------------------------------------------------------


def wikipedia(num_bytes):
    source = SimpleNamespace(num_bytes=num_bytes, format="mediawiki", compression="none")
    return [SimpleNamespace(name="enwiki", sources=[source])]


def rates(configured, num_bytes, *words):
    corpus = ["corpus=file", "corpus.language=en", "corpus.path=x"]
    return first_rates(configured("job=bootstrap", *corpus, *words), wikipedia(num_bytes))


@pytest.mark.long
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


@pytest.mark.long
def test_there_are_no_rates_of_other_trainers_and_other_jobs(configured):
    assert rates(configured, 1e9, "embedding=word2vec") == {}
    assert first_rates(configured("job=entity_resolution", "pairs=pairs.csv"), []) == {}


# --- the smallest difference from the draws of earlier runs ---------------------------------------------------------

SCHEMA = pa.schema([column("word", pa.string(), "the word", key=True), column("bias", pa.float64(), "its bias")])
REPLICAS = {"paired_by": "replicas", "seed": 0}

NURSE, KING, QUEEN = [1.0, 2.0, 3.0, 4.0], [0.0, 0.0, 4.0, 4.0], [0.0, 0.0, 6.0]


def ran(values, scheme=REPLICAS, job="association", status="succeeded", hour=22):
    """A run that left these draws of the biases of words."""
    rows = [{"word": word, "bias": 0.0} | draws_of("bias", np.array(draws)) for word, draws in values.items()]
    table = dict(with_draws({"biases": (rows, SCHEMA)}, scheme))["draws"]
    run = SimpleNamespace(
        job=job,
        status=status,
        tables={"draws": []},
        read=lambda _store, _name: table,
        started=datetime(2026, 11, 20, hour, tzinfo=UTC),
    )
    return EarlierRun(run, (), size=1.0, growth=1.0)


def rows(*runs, planned=4):
    return {row.replicas: vars(row) for row in difference_rows(None, runs, "association", planned)}


def test_one_run_says_what_runs_show_that_share_no_draws():
    found = rows(ran({"nurse": NURSE, "king": KING, "queen": QUEEN}))
    assert list(found) == [4, 8, 16, 32, 64, 128]
    row = found[4]
    assert (row["table"], row["column"], row["num_numbers"], row["is_planned"]) == ("biases", "bias", 3, True)
    # The middle one of sqrt(5/3), sqrt(16/3) and sqrt(12), which has a draw less.
    assert row["sd"] == pytest.approx(sqrt(16 / 3))
    assert row["smallest_unpaired"] == pytest.approx(noncentrality(6) * sqrt(2 * 16 / 3 * (1 + 1 / 4)))
    assert (row["sd_paired"], row["smallest_paired"], row["status"]) == (None, None, "ok")
    assert row["reason"].startswith("no second run shares draws with it")
    assert found[32]["smallest_unpaired"] == pytest.approx(noncentrality(62) * sqrt(2 * 16 / 3 * (1 + 1 / 32)))
    assert not found[32]["is_planned"]


def test_two_runs_that_share_draws_say_what_their_differences_spread_by():
    moved = {"nurse": [1.0, 2.0, 3.0, 6.0], "king": [0.0, 0.0, 4.0, 5.0], "queen": [9.0, 0.0, 6.0]}
    [row, *_] = rows(ran(moved, hour=23), ran({"nurse": NURSE, "king": KING, "queen": QUEEN})).values()
    # Differences 0, 0, 0 and 2 have variance 1, those of the others 1/4 and 27.
    assert row["sd_paired"] == pytest.approx(1.0)
    assert row["smallest_paired"] == pytest.approx(noncentrality(3) * sqrt(1 + 1 / 4))
    assert row["basis"] == "the run of 2026-11-20 23:00 UTC, and that of 2026-11-20 22:00 UTC"


@pytest.mark.parametrize(
    ("earlier", "reason"),
    [
        (ran({"nurse": NURSE}), "the two runs that share draws have the same numbers"),
        (ran({"nurse": KING}, REPLICAS | {"seed": 1}), "no second run shares draws with it"),
        (ran({"nurse": KING}, None), "no second run shares draws with it"),
        (ran({"queen": KING}), "no second run shares draws with it"),
    ],
    ids=["same numbers", "other seed", "nobody knows", "other words"],
)
def test_runs_that_tell_nothing_of_paired_differences_say_why(earlier, reason):
    [row, *_] = rows(ran({"nurse": NURSE}), earlier).values()
    assert row["smallest_paired"] is None
    assert row["reason"].startswith(reason)


def test_texts_are_as_many_as_they_are_and_lie_around_their_difference():
    texts = {"paired_by": "items", "seed": 0}
    [row] = rows(ran({"nurse": NURSE}, texts), ran({"nurse": [1.0, 2.0, 3.0, 6.0]}, texts), planned=None).values()
    assert (row["replicas"], row["is_planned"]) == (4, True)
    assert row["smallest_paired"] == pytest.approx(noncentrality(3))
    assert row["smallest_unpaired"] == pytest.approx(noncentrality(6) * sqrt(2 * 5 / 3))


@pytest.mark.parametrize(
    ("num", "paired", "unpaired"),
    [(9.0, noncentrality(3), noncentrality(6)), (3.0, np.inf, np.inf), (4.0, np.inf, noncentrality(6))],
)
def test_texts_as_few_as_they_are_show_a_larger_difference_or_none(num, paired, unpaired):
    """Between runs with more and fewer of the same texts."""
    texts = {"paired_by": "items", "seed": 0}
    sides = ((NURSE, 9.0), ([1.0, 2.0, 3.0, 6.0], num))
    before, after = (ran({"nurse": draws}, texts | {"num_items": items}) for draws, items in sides)
    [row] = rows(after, before, planned=None).values()
    assert (row["sd_paired"], row["reason"]) == (pytest.approx(1.0), "")
    assert row["smallest_paired"] == pytest.approx(paired)
    assert row["smallest_unpaired"] == pytest.approx(unpaired * sqrt(2 * 14 / 3))


@pytest.mark.parametrize("run", [ran({"nurse": NURSE}, status="failed"), ran({"nurse": NURSE}, job="survey")])
def test_before_a_first_run_there_is_only_the_ratio_to_a_standard_deviation(run):
    found = rows(run, planned=10)
    assert list(found) == [8, 10, 16, 32, 64, 128]
    assert found[10]["smallest_unpaired"] == pytest.approx(noncentrality(18) * sqrt(2 * 1.1))
    assert found[10]["smallest_paired"] == pytest.approx(noncentrality(9) * sqrt(1.1))
    assert {row["status"] for row in found.values()} == {"unknown"}
    assert [num for num, row in found.items() if row["is_planned"]] == [10]
