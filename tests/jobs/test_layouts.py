"""The same tables, digest for digest, at any layout, and whatever was killed on the way."""

import json
import random
import time

import psutil
import pytest

from jobs.run import execute

# Every stage of the survey with all 32 replicas on the whole sample, but short vectors and few epochs.
SMALL = ["embedding.glove.dimensions=8", "embedding.glove.epochs=2", "job.num_resamples=50"]


# Five articles, where what is tested does not depend on the corpus.
TINY = [
    "job=bootstrap",
    "corpus=file",
    "corpus.language=en",
    "corpus.path=package://gensim/test/test_data/enwiki-table-markup.xml.bz2",
    *SMALL[:2],
]


def record_of(run_dir):
    return json.loads((run_dir / "run.json").read_text())


def digests(run_dir):
    record = record_of(run_dir)
    assert record["status"] == "succeeded"
    return {name: table["digest"] for name, table in record["tables"].items()}


def num_done(run_dir, name):
    [stage] = [stage for stage in record_of(run_dir)["stages"] if stage["name"] == name]
    return stage["num_done"]


@pytest.fixture(scope="module")
def usual_run(configured, ray_cluster, tmp_path_factory):
    """The survey in the usual layout."""
    folder = tmp_path_factory.mktemp("usual")
    return execute(configured(*SMALL, f"store={folder}/store", f"run_dir={folder}/run", "cluster.num_cpus=2"))


@pytest.fixture(scope="module")
def usual(usual_run):
    """Digests of its tables."""
    return digests(usual_run)


@pytest.mark.parametrize(
    ("num_shards", "layout"),
    [
        (6, ["cluster.num_cpus=1", "embedding.group_size=32"]),
        (6, ["cluster.num_cpus=4", "embedding.group_size=4"]),
        (1, ["corpus.shard_megabytes=1000", "embedding.group_size=8"]),
        (7, ["corpus.shard_megabytes=0.85", "embedding.cooccurrence.num_blocks=3"]),
    ],
)
def test_layout_changes_no_table(usual, num_shards, layout, configured, ray_cluster, tmp_path):
    run = execute(configured(*SMALL, f"store={tmp_path}", *layout))
    assert num_done(run, "documents") == num_shards
    assert digests(run) == usual


def test_a_second_run_does_nothing_and_finds_the_same(usual_run, usual, configured, ray_cluster, tmp_path):
    second = execute(configured(*SMALL, f"store={usual_run.parent}/store", f"run_dir={tmp_path}"))
    units = record_of(second)["units"]
    assert units == {"done": 0, "reused": record_of(usual_run)["units"]["done"], "failed": 0}
    assert digests(second) == usual


def test_seed_changes_the_replicas_but_not_the_words(configured, ray_cluster, tmp_path):
    first, other = (digests(execute(configured(*TINY, f"store={tmp_path}", f"seed={seed}"))) for seed in (0, 1))
    assert {name for name in first if first[name] == other[name]} == {"corpora", "vocabulary"}


def test_more_replicas_train_only_the_new_ones(configured, ray_cluster, tmp_path):
    few, many = (
        execute(configured(*TINY, f"store={tmp_path}", f"embedding.num_replicas={number}")) for number in (2, 5)
    )
    assert [num_done(few, "train"), num_done(many, "train")] == [3, 3]


def kill_at_random(process, moment, victim):
    """SIGKILL the driver, or one of its workers, after so many seconds; returns whether there was one to kill."""
    time.sleep(moment)
    if victim == "driver":
        process.kill()
        return True
    while process.poll() is None:
        workers = [child for child in psutil.Process(process.pid).children(recursive=True) if "_Worker" in child.name()]
        if workers:
            random.Random(moment).choice(workers).kill()
            return True
        time.sleep(0.05)
    return False


def survive(tiltmeter, tmp_path, settings, victim, moment):
    """Run, kill, run again where the kill ended the run; returns the last run's record."""
    command = [*settings, f"store={tmp_path}/store", f"run_dir={tmp_path}/run", "cluster.num_cpus=2"]
    process = tiltmeter(*command)
    assert kill_at_random(process, moment, victim)
    output = process.communicate(timeout=280)
    if victim == "driver":
        assert record_of(tmp_path / "run")["status"] == "running"
        before = len(list((tmp_path / "store/ledger").rglob("*.json")))
        process = tiltmeter(*command)
        output = process.communicate(timeout=280)
        units = record_of(tmp_path / "run")["units"]
        assert units["reused"] == before
        assert f"{units['done']} units done, {before} reused, 0 failed" in output[0]
    assert process.returncode == 0, output
    assert not list((tmp_path / "store").rglob("*.partial"))
    return record_of(tmp_path / "run")


@pytest.mark.parametrize(("victim", "moment"), [("driver", random.uniform(4, 12)), ("worker", random.uniform(3, 9))])
def test_a_kill_at_a_random_moment_changes_no_table(usual, tiltmeter, tmp_path, victim, moment):
    record = survive(tiltmeter, tmp_path, SMALL, victim, moment)
    print(f"killed the {victim} after {moment:.1f} s: {record['units']}")
    assert digests(tmp_path / "run") == usual


@pytest.fixture(scope="module")
def full_size(configured, ray_cluster, tmp_path_factory):
    folder = tmp_path_factory.mktemp("full")
    return digests(execute(configured(f"store={folder}", "cluster.num_cpus=2")))


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("num_cpus", [1, 2, 4])
@pytest.mark.parametrize(("shard_megabytes", "group_size"), [(1000, 32), (0.85, 4), (0.85, 8)])
def test_layout_changes_no_table_at_full_size(
    full_size, configured, ray_cluster, tmp_path, num_cpus, shard_megabytes, group_size
):
    layout = [f"cluster.num_cpus={num_cpus}", f"corpus.shard_megabytes={shard_megabytes}"]
    run = execute(configured(f"store={tmp_path}", *layout, f"embedding.group_size={group_size}"))
    assert digests(run) == full_size


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("victim", ["driver", "worker"])
@pytest.mark.parametrize("attempt", range(4))
def test_a_kill_at_a_random_moment_changes_no_table_at_full_size(full_size, tiltmeter, tmp_path, victim, attempt):
    survive(tiltmeter, tmp_path, [], victim, random.uniform(4, 35))
    assert digests(tmp_path / "run") == full_size
