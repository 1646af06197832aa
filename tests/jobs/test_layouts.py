"""The same tables, digest for digest, at any layout, and whatever was killed on the way."""

import random
import re
import time

import psutil
import pytest
from pyarrow import fs

from tiltmeter.storage.files.filesystems import files_below

QUICK = ["embedding.num_replicas=8", "embedding.trainer.dimensions=8", "embedding.trainer.epochs=2"]

# Every stage of the survey, on the whole sample.
SMALL = [*QUICK, "job.num_resamples=50"]

# Five articles, where what is tested does not depend on the corpus.
TINY = [
    "job=bootstrap",
    *("corpus=file", "corpus.language=en"),
    "corpus.path=package://gensim/test/test_data/enwiki-table-markup.xml.bz2",
    *QUICK,
]


SLOW = pytest.mark.slow
"""In ``make faults`` only: its like is among the quick tests."""


@pytest.fixture(scope="module")
def usual(run_job, tmp_path_factory):
    """The survey in the usual layout."""
    folder = tmp_path_factory.mktemp("usual")
    return run_job(*SMALL, f"store={folder}/store", f"run_dir={folder}/run", "cluster.num_cpus=2")


@pytest.mark.parametrize(
    ("num_shards", "layout"),
    [
        pytest.param(2, ["cluster.num_cpus=1", "cluster.worker_megabytes=500"], marks=SLOW),
        pytest.param(7, ["cluster.num_cpus=4", "reading.shard_megabytes=0.85"], marks=SLOW),
        pytest.param(1, ["reading.shard_megabytes=100", "reading.span_megabytes=0.5"], marks=SLOW),
    ],
)
def test_layout_changes_no_table(usual, num_shards, layout, run_job, tmp_path):
    run = run_job(*SMALL, f"store={tmp_path}", *layout)
    assert run.num_done("documents") == num_shards
    assert run.digests == usual.digests


@pytest.mark.parametrize("keyed_by", ["rank", pytest.param("word", marks=pytest.mark.slow)])
def test_threads_that_share_a_replica_change_no_table(keyed_by, run_job, tmp_path):
    few = [*TINY, "embedding.num_replicas=2", "embedding.cooccurrence.tile_words=16", f"embedding.keyed_by={keyed_by}"]
    few += ["job.export=[safetensors]"]
    runs = [run_job(*few, f"store={tmp_path}/{num}", f"cluster.num_cpus={num}") for num in (1, 4)]
    # Three replicas on four CPUs, by one thread each, would leave a CPU idle.
    widths = [(run.stage("train")["num_workers"], run.stage("train")["num_threads"]) for run in runs]
    assert widths == [(1, 1), (1, 4)]
    assert runs[0].digests == runs[1].digests
    for name in ("en.safetensors", "README.md"):
        assert len({(run.path / "exports" / name).read_bytes() for run in runs}) == 1


def test_a_second_run_does_nothing_and_more_replicas_and_another_seed_only_what_is_new(run_here, tmp_path):
    first, second, more, other = (
        run_here(*TINY, f"store={tmp_path}/store", f"run_dir={tmp_path}/run{number}", *settings)
        for number, settings in enumerate([[], [], ["embedding.num_replicas=11"], ["seed=1"]])
    )
    assert second.record["units"] == {"done": 0, "reused": first.record["units"]["done"], "failed": 0}
    assert second.digests == first.digests
    assert [run.num_done("train") for run in (first, more, other)] == [9, 3, 9]
    same = {name for name, digest in first.digests.items() if digest == other.digests[name]}
    assert same == {"corpora", "vocabulary"}, "another seed changes the replicas, but not the words"


@pytest.mark.slow
def test_a_second_run_of_all_stages_does_nothing_and_finds_the_same(usual, run_job, tmp_path):
    again = run_job(*SMALL, f"store={usual.path.parent}/store", f"run_dir={tmp_path}/again")
    assert again.record["units"]["done"] == again.record["units"]["failed"] == 0
    assert again.digests == usual.digests


def num_finished(tmp_path):
    files = files_below(fs.LocalFileSystem(), f"{tmp_path}/store/ledger")
    return sum(file.path.endswith(".json") for file in files)


def kill(process, victim, tmp_path, after):
    """SIGKILL the driver, or a worker that is busy, once so many units are in the ledger."""
    while num_finished(tmp_path) < after or not (workers := busy_workers(process)):
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)
    if victim == "driver":
        process.kill()
        process.wait()
        # Workers outlive their driver by a moment, and may finish what they were at.
        assert psutil.wait_procs(workers, timeout=600)[1] == []
    else:
        random.choice(workers).kill()


def busy_workers(process):
    children = psutil.Process(process.pid).children(recursive=True)
    return [child for child in children if re.match(r"ray::_Worker\S*\.run", " ".join(command_of(child)))]


def command_of(process):
    try:
        return process.cmdline()
    except psutil.NoSuchProcess:
        return []


def survive(tiltmeter, outcome_of, tmp_path, settings, victim, undisturbed):
    """Run, kill at a random moment up to the middle, run again where the kill ended the run."""
    command = [*settings, f"store={tmp_path}/store", f"run_dir={tmp_path}/run", "cluster.num_cpus=2"]
    num_units = undisturbed.record["units"]["done"] + undisturbed.record["units"]["reused"]
    after = random.randint(1, num_units // 2)
    print(f"killing the {victim} after {after} of {num_units} units")
    process = tiltmeter(*command)
    kill(process, victim, tmp_path, after)
    before = num_finished(tmp_path)
    if victim == "driver":
        assert outcome_of(tmp_path / "run").record["status"] == "running"
        process = tiltmeter(*command)
    output, errors = process.communicate(timeout=600)
    assert process.returncode == 0, errors
    run = outcome_of(tmp_path / "run")
    if victim == "driver":
        assert run.record["units"] == {"done": num_units - before, "reused": before, "failed": 0}
        assert f"{num_units - before} units done, {before} reused, 0 failed" in output
    else:
        # One that has just finished its batch is replaced without a word.
        assert sum(stage["num_worker_deaths"] for stage in run.record["stages"]) <= 1
        assert run.record["units"] == {"done": num_units, "reused": 0, "failed": 0}
    files = [str(path) for path in tmp_path.rglob("*") if path.is_file()]
    assert not [path for path in files if re.search(r"\.partial$|/\.leases/", path)]
    assert run.digests == undisturbed.digests


@pytest.mark.slow
@pytest.mark.parametrize("victim", ["driver", "worker"])
def test_a_kill_at_a_random_moment_changes_no_table(usual, tiltmeter, outcome_of, tmp_path, victim):
    survive(tiltmeter, outcome_of, tmp_path, SMALL, victim, usual)


@pytest.fixture(scope="module")
def full_size(run_job, tmp_path_factory):
    return run_job(f"store={tmp_path_factory.mktemp('full')}", "cluster.num_cpus=2")


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("num_cpus", [1, 2, 4])
@pytest.mark.parametrize("shard_megabytes", [100, 0.85, 0.4])
def test_layout_changes_no_table_at_full_size(full_size, run_job, tmp_path, num_cpus, shard_megabytes):
    layout = [f"cluster.num_cpus={num_cpus}", f"reading.shard_megabytes={shard_megabytes}"]
    run = run_job(f"store={tmp_path}", *layout)
    assert run.digests == full_size.digests
