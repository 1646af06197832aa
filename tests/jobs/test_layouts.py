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
        (6, ["cluster.num_cpus=1", "embedding.group_size=33"]),
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


def num_finished(tmp_path):
    return len(list((tmp_path / "store/ledger").rglob("*.json")))


def kill(process, victim, tmp_path, after):
    """SIGKILL the driver, or a worker that is busy, once so many units are in the ledger."""
    while num_finished(tmp_path) < after:
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)
    children = psutil.Process(process.pid).children(recursive=True)
    workers = [child for child in children if "ray::_Worker" in " ".join(child.cmdline())]
    if victim == "driver":
        process.kill()
        process.wait()
        # Workers outlive their driver by a moment, and may finish what they were at.
        psutil.wait_procs(workers, timeout=60)
    else:
        random.choice([worker for worker in workers if worker.cmdline()[0].endswith(".run")]).kill()


def survive(tiltmeter, tmp_path, settings, victim):
    """Run, kill at a random moment, run again where the kill ended the run; returns the last run's record."""
    command = [*settings, f"store={tmp_path}/store", f"run_dir={tmp_path}/run", "cluster.num_cpus=2"]
    after = random.randint(1, 60)
    print(f"killing the {victim} after {after} units")
    process = tiltmeter(*command)
    kill(process, victim, tmp_path, after)
    before = num_finished(tmp_path)
    if victim == "driver":
        assert record_of(tmp_path / "run")["status"] == "running"
        process = tiltmeter(*command)
    output, errors = process.communicate(timeout=600)
    assert process.returncode == 0, errors
    record = record_of(tmp_path / "run")
    if victim == "driver":
        assert record["units"] == {"done": 105 - before, "reused": before, "failed": 0}
        assert f"{105 - before} units done, {before} reused, 0 failed" in output
    else:
        assert sum(stage["num_worker_deaths"] for stage in record["stages"]) == 1
        assert record["units"] == {"done": 105, "reused": 0, "failed": 0}
    assert not list(tmp_path.rglob("*.partial"))


@pytest.mark.parametrize("victim", ["driver", "worker"])
def test_a_kill_at_a_random_moment_changes_no_table(usual, tiltmeter, tmp_path, victim):
    survive(tiltmeter, tmp_path, SMALL, victim)
    assert digests(tmp_path / "run") == usual


@pytest.fixture(scope="module")
def full_size(configured, ray_cluster, tmp_path_factory):
    folder = tmp_path_factory.mktemp("full")
    return digests(execute(configured(f"store={folder}", "cluster.num_cpus=2")))


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("num_cpus", [1, 2, 4])
@pytest.mark.parametrize(("shard_megabytes", "group_size"), [(1000, 33), (0.85, 4), (0.85, 11)])
def test_layout_changes_no_table_at_full_size(
    full_size, configured, ray_cluster, tmp_path, num_cpus, shard_megabytes, group_size
):
    layout = [f"cluster.num_cpus={num_cpus}", f"corpus.shard_megabytes={shard_megabytes}"]
    run = execute(configured(f"store={tmp_path}", *layout, f"embedding.group_size={group_size}"))
    assert digests(run) == full_size


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("victim", ["driver", "worker"])
@pytest.mark.parametrize("attempt", range(4))
def test_a_kill_at_a_random_moment_changes_no_table_at_full_size(full_size, tiltmeter, tmp_path, victim, attempt):
    survive(tiltmeter, tmp_path, [], victim)
    assert digests(tmp_path / "run") == full_size
