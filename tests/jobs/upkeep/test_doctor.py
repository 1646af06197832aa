"""What the doctor finds, where what it looks at is really so."""

import os
import resource
import subprocess
import sys
from importlib.metadata import version
from types import SimpleNamespace

import pytest

from tests.fixtures.buckets import new_bucket
from tiltmeter.jobs import catalogue
from tiltmeter.jobs.upkeep import doctor
from tiltmeter.jobs.upkeep.doctor import Finding, diagnose

SUBJECTS = {"processor", "file handles", "memory", "shared", "Ray", "store", "GPU", "chromium", "apertium", "jobs"}


@pytest.fixture
def store(tmp_path):
    return f"store={tmp_path}/store"


@pytest.fixture
def looked(configured):
    """What one check says of a run with these settings, in a line each."""
    return lambda check, *words: list(check(configured("job=survey", *words)))


def test_a_machine_that_has_all_is_well_and_nothing_is_left_behind(lasting_workers, store, tmp_path, capsys):
    assert diagnose(["bootstrap", store]) == "job=bootstrap would run here."
    said = capsys.readouterr().out
    lines = [line for line in said.splitlines() if not line.lstrip().startswith("->")]
    assert {line[7:19].strip() for line in lines} == SUBJECTS | ({"packages"} if "packages" in said else set())
    assert {line[:5].strip() for line in lines} <= {"ok", "note"}
    assert f"Ray           {version('ray')} started: 1 node" in said
    assert f"store         {tmp_path}/store can be made, " in said
    assert list(tmp_path.iterdir()) == []


@pytest.mark.long
def test_a_store_that_is_there_can_be_written_and_one_that_is_none_is_wrong(looked, store, tmp_path):
    (tmp_path / "store").mkdir()
    (tmp_path / "store/tiltmeter-store.json").write_text('{"format": 2, "made_by": "tiltmeter"}')
    [finding] = looked(doctor._store, store)
    assert (finding.is_fatal, finding.text.startswith(f"{tmp_path}/store can be written, ")) == (False, True)
    (tmp_path / "other").mkdir()
    (tmp_path / "other/letter.txt").touch()
    [finding] = looked(doctor._store, f"store={tmp_path}/other")
    assert "is not a store" in finding.text
    assert (finding.is_fatal, finding.remedy) == (True, "store=<another path or URI>")


def test_a_store_that_can_not_be_written_is_wrong_and_one_on_a_full_disk_is_noted(looked, small_disk):
    [finding] = looked(doctor._store, "store=/proc/none")
    assert finding.is_fatal
    [finding] = looked(doctor._store, f"store={small_disk('3m')}/store")
    assert "0.0 GB are free" in finding.text
    assert (finding.is_fatal, finding.remedy[:29]) == (False, "tiltmeter prune job.remove=tr")


@pytest.mark.long
@pytest.mark.parametrize(("num_cpus", "needed"), [(4, 192), (64, 1152)])
def test_file_handles_are_compared_with_what_so_many_workers_need(looked, num_cpus, needed):
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (1000, limits[1]))
        [finding] = looked(doctor._handles, f"cluster.num_cpus={num_cpus}")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert finding.text == f"1,000 at most in a process, of which Ray needs up to {needed:,}"
    assert (finding.is_fatal, finding.remedy) == ((True, "ulimit -n 1152") if needed > 1000 else (False, ""))


@pytest.mark.long
def test_memory_is_that_of_workers(looked):
    worker = "cluster.worker_megabytes=1500"
    [finding, _] = looked(doctor._memory, "cluster.num_cpus=2", "cluster.memory_megabytes=3100", worker)
    assert finding == Finding("memory", "3,100 MB are free: 2 workers of 1,500 MB")
    [finding, _] = looked(doctor._memory, "cluster.num_cpus=2", "cluster.memory_megabytes=1600", worker)
    assert finding == Finding("memory", "1,600 MB are free: 1 worker of 1,500 MB", "set cluster.worker_megabytes lower")
    [finding] = looked(doctor._memory, "cluster.num_cpus=2", "cluster.memory_megabytes=1000", worker)
    assert (finding.is_fatal, "set cluster.worker_megabytes=1000" in finding.remedy) == (True, True)
    shared = "cluster.object_store_megabytes=100000000"
    [_, finding] = looked(doctor._memory, shared, "cluster.memory_megabytes=3100", worker)
    assert (finding.is_fatal, "--shm-size" in finding.remedy) == (False, True)


def test_cores_that_a_process_may_not_use_are_noted(looked):
    cores = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(cores)})
        [finding] = looked(doctor._processor, "cluster.num_cpus=2")
    finally:
        os.sched_setaffinity(0, cores)
    assert f", 1 core of {os.cpu_count()}" in finding.text
    assert finding.remedy.startswith("cluster.num_cpus=1")


REQUIRED = """\
pyyaml
no-such-core
no-such-a ; extra == 'one'
no-such-b>=2 ; python_version > "3" and extra == "one"
no-such-c ; extra == 'other' and sys_platform == 'none'
pydantic ; extra == 'two'
no-such-d ; extra == 'dev'
"""


def test_packages_of_extras_are_absent_here_and_those_of_development_are_not_asked_for(monkeypatch, tmp_path):
    place = tmp_path / "tiltmeter-1.0.dist-info"
    place.mkdir()
    lines = "".join(f"Requires-Dist: {line}\n" for line in REQUIRED.splitlines())
    (place / "METADATA").write_text(f"Metadata-Version: 2.1\nName: tiltmeter\nVersion: 1.0\n{lines}")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert doctor.absent_packages() == {"one": ["no-such-a", "no-such-b"]}


def test_a_job_whose_package_is_absent_would_not_run_and_others_would(looked, monkeypatch, tmp_path):
    (tmp_path / "lengths.py").write_text("import no_such_package\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    point = SimpleNamespace(name="lengths", value="lengths:JOB", module="lengths")
    monkeypatch.setattr(catalogue, "entry_points", lambda **_: [point])
    catalogue._theirs.cache_clear()
    try:
        *_, finding = looked(doctor._packages)
    finally:
        catalogue._theirs.cache_clear()
    assert finding == Finding("jobs", "no no_such_package for lengths", "pip install 'no_such_package'")


@pytest.mark.long
def test_a_cluster_that_is_not_there_is_wrong():
    code = "from tiltmeter.jobs.upkeep.doctor import _ray; from tiltmeter.jobs.composing import compose; "
    code += "print(*_ray(compose(['cluster=existing', 'cluster.address=127.0.0.1:1'])))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("wrong  Ray           ")
    assert "no Ray cluster there" in done.stdout


@pytest.mark.slow
def test_too_few_handles_end_the_command_with_the_status_of_a_failure(store):
    line = f"ulimit -n 120; exec {sys.executable} -m tiltmeter.jobs.app doctor {store}"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert f"-> ulimit -n {128 + 16 * os.cpu_count()}\n" in done.stdout
    assert "job=survey would not run here, because of file handles" in done.stderr


@pytest.mark.slow
def test_a_bucket_is_looked_for_and_written(looked):
    with new_bucket() as bucket:
        uri = bucket.uri("store")
        [finding] = looked(doctor._store, f"store='{uri}'")
        assert (finding.is_fatal, finding.text.endswith(" can be made")) == (False, True)
        [finding] = looked(doctor._store, f"store='{uri.replace('@tilt/', '@absent/')}'")
        assert (finding.is_fatal, "there is no bucket absent" in finding.text) == (True, True)
