"""A night of jobs, each a process of its own, and what is told of them."""

import json
import signal
import socket
import time
from contextlib import suppress
from importlib.resources import files

import psutil
import pytest

from tiltmeter.cluster.config import ClusterConfig
from tiltmeter.jobs.changes.past_runs import past_run
from tiltmeter.jobs.command import execute
from tiltmeter.jobs.runtime.config import ConfigError
from tiltmeter.jobs.runtime.settings.hydra_limits import confine_composition
from tiltmeter.jobs.upkeep.overnight.child import _reason, words
from tiltmeter.jobs.upkeep.overnight.config import read_jobs
from tiltmeter.jobs.upkeep.overnight.notifying import VARIABLES
from tiltmeter.jobs.upkeep.overnight.outcome import JobsFailed
from tiltmeter.storage.errors import StorageError
from tiltmeter.storage.store.registry import Registry


@pytest.fixture
def confined(hydra_restored):
    confine_composition()


@pytest.fixture
def night(configured, outcome_of, tmp_path):
    """Runs a list of jobs, which must not succeed; gives what came of it, and the message."""

    def run(text, *overrides, ends=JobsFailed):
        (tmp_path / "night.yaml").write_text(text)
        command = ["job=overnight", f"jobs={tmp_path}/night.yaml", f"store={tmp_path}/store"]
        with pytest.raises(ends) as failure:
            execute(configured(*command, f"run_dir={tmp_path}/night", *overrides))
        return outcome_of(tmp_path / "night"), str(failure.value)

    return run


@pytest.mark.once("overnight")
@pytest.mark.long
def test_a_night_goes_on_past_jobs_that_do_not_succeed_and_says_why(night):
    run, message = night("lost: job=bootstrap corpus=file corpus.language=en corpus.path=nowhere.xml\nstore: job=prune")
    assert message == "1 of 2 jobs did not succeed: lost (refused)"
    assert run.record["status"] == "failed"
    lost, pruned = run.table("jobs").to_pylist()
    assert [(row["status"], row["exit_status"]) for row in (lost, pruned)] == [("refused", 2), ("ok", 0)]
    assert lost["reason"].startswith("tiltmeter: corpus.path=nowhere.xml: there is no file")
    assert (pruned["reason"], pruned["run_dir"]) == ("", str(run.path / "runs/store"))
    assert json.loads((run.path / "runs/store/run.json").read_text())["job"] == "prune"
    assert (run.path / "exports/lost.log").read_text().strip().endswith(lost["reason"].splitlines()[-1])
    assert "nowhere.xml" in (run.path / "report.html").read_text()


@pytest.mark.long
@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("job=prune job.keeep=1", "job.keeep=1: there is no such setting; did you mean job.keep?"),
        ("job=bootstrap corpus=dw", "corpus=dw: there is no such choice; "),
        ("job=prune seed=true", "seed=true: input should be a valid integer"),
        ("job=plan", "job=plan: which job is planned?"),
        ("prune job.keeep=1", "job.keeep=1: there is no such setting; did you mean job.keep?"),
        ("prune job=compare", "prune job=compare: two jobs are named"),
        ("--multirun seed=1,2", "--multirun: of all options, a line of a night has --config-dir alone"),
    ],
)
def test_a_line_that_no_job_takes_is_refused_before_any_runs(confined, night, tmp_path, line, message):
    _, said = night(f"first: job=prune\nsecond: {line}\n", ends=ConfigError)
    assert said.startswith(f"jobs={tmp_path}/night.yaml: second: {message}")
    assert [path.name for path in tmp_path.iterdir()] == ["night.yaml"]


@pytest.mark.parametrize("place", ["exports/a.log", "runs", "runs/a"])
def test_no_link_is_followed(night, tmp_path, place):
    outside, link = tmp_path / "outside", tmp_path / "night" / place
    (outside / "thesis").mkdir(parents=True)
    link.parent.mkdir(parents=True)
    link.symlink_to(outside)
    assert f"/{place}: is a symbolic link" in night("a: job=prune", ends=StorageError)[1]
    assert [path.name for path in outside.rglob("*")] == ["thesis"]


def test_no_log_is_replaced_that_no_night_has_written(night, tmp_path):
    log = tmp_path / "night/exports/a.log"
    log.parent.mkdir(parents=True)
    log.write_text("years of work")
    assert "its exports/a.log is not one of ours" in night("a: job=prune", ends=StorageError)[1]
    assert log.read_text() == "years of work"


@pytest.mark.slow
def test_a_night_that_is_interrupted_while_it_compares_says_so(night, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(Registry, "last_succeeded", interrupted)
    run, _ = night("first: job=prune\nsecond: job=prune\n", ends=KeyboardInterrupt)
    outcome = json.loads((run.path / "exports/outcome.json").read_text())
    assert (run.record["status"], outcome["status"]) == ("interrupted", "interrupted")
    assert [(row["status"], row["reason"]) for row in outcome["jobs"]] == [
        ("interrupted", "the night was interrupted before it was compared"),
        ("interrupted", "the night was interrupted before it began"),
    ]


def test_a_line_may_name_a_folder_of_its_own_beside_the_night_s():
    [job] = read_jobs("a: --config-dir /mine job=prune", "x", ["file:///theirs", "file:///mine"])
    assert job.words == ("job=prune", "hydra.searchpath=['file:///mine','file:///theirs']")
    [job] = read_jobs("a: job=prune hydra.searchpath=[x]", "x", ["file:///theirs"])
    assert job.words == ("job=prune", "hydra.searchpath=[x]")


def test_a_job_has_the_cluster_of_the_night_unless_its_line_has_one_and_its_name_for_its_series(tmp_path):
    [here, there] = read_jobs("a: job=prune\nb: job=prune cluster.num_cpus=1", "x")
    night = ClusterConfig(num_cpus=5)
    ours, theirs = (words(job, tmp_path / job.name, night) for job in (here, there))
    assert [word for word in (*ours, *theirs) if "num_cpus" in word] == ["++cluster.num_cpus=5", "cluster.num_cpus=1"]
    assert (ours[-1], theirs[-1]) == ("series='a'", "series='b'")


def test_the_reason_is_what_a_job_says_last_of_itself(tmp_path):
    log = tmp_path / "a.log"
    log.write_text("tiltmeter: warned\nsome lines\ntiltmeter: x=1: refused\nand why\n")
    assert _reason(log, "refused", 2, None) == "tiltmeter: x=1: refused\nand why"
    log.write_text("no word\n" * 30)
    assert _reason(log, "failed", -9, None).splitlines() == ["ended by signal 9", *["no word"] * 20]


@pytest.mark.long
def test_a_job_that_takes_too_long_is_stopped(night):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/corpus.jsonl"
        waiting = f"slow: job=bootstrap corpus=file corpus.language=en corpus.path={url} corpus.download=true"
        run, message = night(waiting, "job.max_hours=0.00005")
    assert message == "1 of 1 job did not succeed: slow (stopped)"
    [row] = run.table("jobs").to_pylist()
    assert row["reason"] == "took more than job.max_hours=5e-05"
    assert row["exit_status"] in (-signal.SIGTERM, 128 + signal.SIGTERM)  # before or after it began to listen


def jobs_of(night):
    """The processes of its jobs, which are told their series; a night starts others too, such as git."""
    jobs = []
    for child in psutil.Process(night.pid).children():
        with suppress(psutil.NoSuchProcess):
            if any(word.startswith("series=") for word in child.cmdline()):
                jobs.append(child)
    return jobs


def test_a_night_that_is_terminated_says_so_and_ends_its_job_which_had_the_night_s_folder_of_settings(
    tiltmeter, outcome_of, tmp_path, monkeypatch
):
    (tmp_path / "it's mine/corpus").mkdir(parents=True)
    sample = files("tiltmeter.conf").joinpath("corpus/enwiki_sample.yaml").read_text().partition("\nname")[2]
    (tmp_path / "it's mine/corpus/ours.yaml").write_text(f"# @package corpus.ours\nname{sample}")
    (tmp_path / "night.yaml").write_text(
        "survey: cluster.num_cpus=1 corpus=ours corpus.ours.slice_values=[]\nstore: job=prune"
    )
    monkeypatch.setenv(f"{VARIABLES}TOKEN", "secret")
    process = tiltmeter("job=overnight", "jobs=night.yaml", "run_dir=night", "--config-dir", "it's mine")
    while not (jobs := jobs_of(process)):
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    [job] = jobs
    assert f"hydra.searchpath=['file://{tmp_path}/it\\'s mine']" in job.cmdline()
    assert f"{VARIABLES}TOKEN" not in job.environ()
    process.terminate()
    assert "Traceback" not in process.communicate(timeout=900)[1]
    assert process.returncode == 128 + signal.SIGTERM
    assert psutil.wait_procs(jobs, timeout=600)[1] == []
    night = outcome_of(tmp_path / "night")
    assert (night.record["status"], night.record["error"]) == ("interrupted", {"error": "interrupted by SIGTERM"})
    outcome = json.loads((night.path / "exports/outcome.json").read_text())
    assert outcome["status"] == "interrupted"
    reasons = [(row["status"], row["reason"].rpartition(" ")[2]) for row in outcome["jobs"]]
    assert reasons == [("interrupted", "ran"), ("interrupted", "began")]
    assert (night.path / "exports/junit.xml").read_text().count('type="interrupted"') == 2
    with pytest.raises(ConfigError, match="was interrupted: start it again with the same run_dir"):
        past_run(night.path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[a, b]", r"must hold a name for each job and its command line, such as `wikipedias: job=survey"),
        ("", r"must hold a name for each job"),
        ("a: [job=survey", r"is not YAML: "),
        ("a: job=survey\nb: job=prune\na: job=prune", r"'a' is the name of two jobs; give each its own"),
        ("../a: job=survey", r"../a: a name has letters, digits, dots, hyphens and underscores only"),
        ("a: {job: survey}", r"a: must be the words of a command line, such as .*, not {'job': 'survey'}"),
        ("a: job=survey 'open", r"a: \"job=survey 'open\" is not a command line \(No closing quotation\)"),
        ("a: job=survey run_dir=here", r"a: run_dir is set by the night; leave it out"),
        ("a: +store=here", r"a: store is set by the night; leave it out"),
        ("a: job=overnight jobs=night.yaml", r"a: job=overnight can't be one of a night; leave it out"),
        ("a: !!python/object/apply:os.getcwd []", r"is not YAML: could not determine a constructor"),
    ],
)
def test_a_list_that_makes_no_sense_is_refused_with_the_line(text, message):
    with pytest.raises(ConfigError, match=r"^jobs=night.yaml: " + message):
        read_jobs(text, "night.yaml")
