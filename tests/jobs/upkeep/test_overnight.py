"""A night of jobs, each a process of its own, and what is told of them."""

import signal
import socket
import time
from contextlib import suppress

import psutil
import pytest

from tiltmeter.jobs.command import execute
from tiltmeter.jobs.runtime.config import ConfigError
from tiltmeter.jobs.upkeep.overnight.config import JobsFailed, read_jobs


@pytest.fixture
def night(configured, outcome_of, tmp_path):
    """Runs a list of jobs, of which some do not succeed."""

    def run(text, *overrides):
        (tmp_path / "night.yaml").write_text(text)
        command = ["job=overnight", f"jobs={tmp_path}/night.yaml", f"store={tmp_path}/store"]
        with pytest.raises(JobsFailed) as failure:
            execute(configured(*command, f"run_dir={tmp_path}/night", *overrides))
        return outcome_of(tmp_path / "night"), str(failure.value)

    return run


def test_a_night_goes_on_past_jobs_that_do_not_succeed_and_says_why(night):
    run, message = night(
        """
        lost: job=bootstrap corpus=file corpus.language=en corpus.path=nowhere.xml
        mistyped: job=prune job.keeep=1
        store: job=prune
        """
    )
    assert message == "2 of 3 jobs did not succeed: lost (refused), mistyped (refused)"
    assert run.record["status"] == "failed"
    lost, mistyped, pruned = run.table("jobs").to_pylist()
    assert [row["status"] for row in (lost, mistyped, pruned)] == ["refused", "refused", "ok"]
    assert [row["exit_status"] for row in (lost, mistyped, pruned)] == [2, 2, 0]
    assert lost["reason"].startswith("tiltmeter: corpus.path=nowhere.xml: there is no file")
    assert mistyped["reason"] == "tiltmeter: job.keeep=1: there is no such setting; did you mean job.keep?"
    assert (pruned["reason"], pruned["run_dir"]) == ("", str(run.path / "runs/store"))
    assert outcome_of_child(run, "store")["job"] == "prune"
    assert (run.path / "exports/mistyped.log").read_text().strip().endswith(mistyped["reason"].splitlines()[-1])
    assert "nowhere.xml" in (run.path / "report.html").read_text()


@pytest.mark.slow
def test_a_second_night_does_what_has_changed_and_says_what_came_of_it(configured, joining, outcome_of, tmp_path):
    for name in ("same", "other"):
        (tmp_path / f"{name}.csv").write_text("left,right,weight\na,b,1.0\nb,c,0.5\na,c,-0.2\n")
    lines = [
        f"{name}: job=entity_resolution pairs={tmp_path}/{name}.csv {' '.join(joining)}" for name in ("same", "other")
    ]
    (tmp_path / "night.yaml").write_text("\n".join(lines))
    settings = ["job=overnight", f"jobs={tmp_path}/night.yaml", f"store={tmp_path}/store"]
    first = outcome_of(execute(configured(*settings, f"run_dir={tmp_path}/first")))
    assert [row["compared_with"] for row in first.table("jobs").to_pylist()] == [None, None]
    (tmp_path / "other.csv").write_text("left,right,weight\na,b,1.0\nb,c,-0.5\na,c,-0.2\n")
    second = outcome_of(execute(configured(*settings, f"run_dir={tmp_path}/second")))
    same, other = second.table("jobs").to_pylist()
    assert (same["num_done"], same["num_changes"], same["num_beyond"]) == (0, 0, 0)
    assert same["num_reused"] == other["num_done"] > 0
    changes = second.table("changes").to_pylist()
    assert {row["name"] for row in changes} == {"other"}
    assert other["num_changes"] == len(changes)
    [changed_input] = [row for row in changes if row["kind"] == "input"]
    assert changed_input["item"] == "pairs"
    assert {row["table"] for row in changes if row["kind"] == "table"} >= {"clusters", "components"}
    page = (second.path / "report.html").read_text()
    assert "What changed: other" in page
    assert "What changed: same" not in page


def outcome_of_child(run, name):
    return type(run)(run.path / "runs" / name).record


def test_a_job_that_takes_too_long_is_stopped(night):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/corpus.jsonl"
        waiting = f"slow: job=bootstrap corpus=file corpus.language=en corpus.path={url} corpus.download=true"
        run, message = night(waiting, "job.max_hours=0.00005")
    assert message == "1 of 1 jobs did not succeed: slow (stopped)"
    [row] = run.table("jobs").to_pylist()
    assert row["reason"] == "took more than job.max_hours=5e-05"
    assert row["exit_status"] == -signal.SIGTERM


def jobs_of(night):
    """The processes of its jobs, which are told their series; a night starts others too, such as git."""
    jobs = []
    for child in psutil.Process(night.pid).children():
        with suppress(psutil.NoSuchProcess):
            if any(word.startswith("series=") for word in child.cmdline()):
                jobs.append(child)
    return jobs


def test_a_night_that_is_terminated_ends_its_job(tiltmeter, tmp_path):
    (tmp_path / "night.yaml").write_text("survey: cluster.num_cpus=1")
    process = tiltmeter("job=overnight", "jobs=night.yaml")
    while not (jobs := jobs_of(process)):
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    process.terminate()
    assert process.wait(120) == 130
    assert psutil.wait_procs(jobs, timeout=60)[1] == []


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
