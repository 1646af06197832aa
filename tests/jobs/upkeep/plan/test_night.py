"""A plan of a list of jobs: each as the store is now."""

import shlex

import pytest

from tests.fixtures.plans import HERE, planned_units
from tiltmeter.jobs.command import execute
from tiltmeter.jobs.runtime.config import ConfigError
from tiltmeter.jobs.runtime.settings.hydra_limits import confine_composition
from tiltmeter.jobs.upkeep.plan.hours import LATER
from tiltmeter.jobs.upkeep.plan.job import find_planned

RELEASE = "job=private_vectors embedding.path=x.txt release.key_file=key release.input=people release.epsilon=1"


@pytest.fixture(scope="module")
def night(folder):
    """The words of a plan of a list of jobs."""

    def of(**lines):
        text = "".join(
            f"{name}: {line if isinstance(line, str) else shlex.join(line)}\n" for name, line in lines.items()
        )
        (folder / "night.yaml").write_text(text)
        return ["job=plan", "job.of=overnight", f"jobs={folder}/night.yaml", f"store={folder}/store", *HERE]

    return of


@pytest.fixture(scope="module")
def plan(configured, outcome_of, folder):
    """Plans a night."""
    return lambda *words: outcome_of(execute(configured(*words, f"run_dir={folder}/night")))


@pytest.fixture
def confined(hydra_restored):
    """Hydra refuses what the command refuses."""
    confine_composition()


def test_each_job_is_planned_as_the_store_is_now(plan, night, line, words, run_here, capsys):
    bootstrap = ["job=bootstrap", *line(3)]
    first = plan(*night(one=bootstrap, again=bootstrap))
    assert [planned_units(first, name=name) for name in ("one", "again")] == [{"read": (0, 1), LATER: (None, None)}] * 2
    run_here("job=bootstrap", *words(3))
    capsys.readouterr()
    second = plan(*night(one=bootstrap, five=["job=bootstrap", *line(5)]))
    assert planned_units(second, name="one")["train"] == (4, 0)
    assert planned_units(second, name="five")["co-occurrence"] == (0, 1)
    assert {row["name"]: row["replicas"] for row in second.rows("plan_differences", is_planned=True)} == {
        "one": 3,
        "five": 5,
    }
    printed = " ".join(capsys.readouterr().out.split())
    assert "one: 0 of 12 units are missing: all are in the store" in printed
    assert "five: about 1 second; 1 of 7 units is missing, besides those that could not be counted." in printed


def test_a_job_that_max_hours_would_stop_is_named(plan, night, line, folder, capsys):
    long = ["job=bootstrap", *line(3), "embedding.trainer.epochs=100000000"]
    jobs = night(long=long, short=["job=bootstrap", *line(3)])
    plan(*jobs, f"store={folder}/other", "job.max_hours=0.1")
    printed = " ".join(capsys.readouterr().out.split())
    assert "long: about 50 minutes, and job.max_hours=0.1 would stop it; 1 of 1 unit is missing" in printed
    assert "short: about 1 second; 1 of 1 unit is missing" in printed


def test_jobs_that_can_not_be_planned_stay_with_their_reason_and_the_others_are_planned(
    confined, plan, night, line, run_here, words, capsys
):
    lost = "job=bootstrap corpus=file corpus.language=en corpus.path=nowhere.xml"
    bootstrap = ["job=bootstrap", *line(3)]
    too_large = [*bootstrap, "cluster.worker_megabytes=5000", "cluster.memory_megabytes=4000", "seed=2"]
    lines = {"lost": lost, "mistyped": "job=prune job.keeep=1", "store": "job=prune", "release": RELEASE}
    lines |= {"plan": "job=plan job.of=survey", "two": bootstrap, "large": too_large}
    run_here("job=bootstrap", *words(3))
    outcome = plan(*night(**lines))
    rows = {row["name"]: row for row in outcome.rows("plan")}
    of_lines = {"lost": "refused", "mistyped": "refused", "store": "not_planned", "release": "not_planned"}
    of_lines |= {"plan": "not_planned", "two": "ok", "large": "refused"}
    assert {name: row["status"] for name, row in rows.items()} == of_lines
    assert rows["lost"]["reason"].startswith("corpus.path=nowhere.xml: there is no file")
    assert rows["mistyped"]["reason"] == "job.keeep=1: there is no such setting; did you mean job.keep?"
    assert rows["store"]["reason"] == "job=prune: does no units, so there is nothing to plan"
    assert "is counted against its account" in rows["release"]["reason"]
    assert "every stage asks for 1 CPU and 5,000 MB" in rows["large"]["reason"]
    assert [rows["store"][name] for name in ("stage", "num_missing", "seconds")] == ["", None, None]
    printed = " ".join(capsys.readouterr().out.split())
    assert "warning: lost would be refused: corpus.path=nowhere.xml: there is no file" in printed
    assert "store is not planned: job=prune: does no units, so there is nothing to plan" in printed


def test_a_job_has_the_night_s_cluster_and_store_unless_its_line_says_otherwise(configured, night, line, folder):
    bootstrap = ["job=bootstrap", *line(3)]
    config = configured(
        *night(usual=bootstrap, other=[*bootstrap, "cluster.num_cpus=1"]), "cluster.worker_megabytes=900"
    )
    usual, other = find_planned(config).jobs
    assert usual.config.cluster == config.cluster
    assert (other.config.cluster.num_cpus, other.config.cluster.worker_megabytes) == (1, 1500)
    assert {job.config.store for job in (usual, other)} == {f"{folder}/store"}


def test_a_line_may_have_a_folder_of_settings(confined, configured, night, line, tmp_path):
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus/ours.yaml").write_text("# @package corpus.ours\nname: ours\nlanguage: en\npath: nowhere.txt\n")
    config = configured(
        *night(ours=f"job=bootstrap --config-dir {tmp_path} corpus=ours", usual="job=bootstrap corpus=ours")
    )
    ours, usual = find_planned(config).jobs
    assert ours.reason.startswith("corpus.path=nowhere.txt: there is no file")
    assert usual.reason != ours.reason


def test_a_list_that_makes_no_sense_is_refused_as_the_night_refuses_it(configured, night):
    with pytest.raises(ConfigError, match=r"night.yaml: a: store is set by the night; leave it out"):
        find_planned(configured(*night(a="job=survey store=here")))
    with pytest.raises(ConfigError, match=r"night.yaml: a: --multirun: of all options, a line of a night has"):
        find_planned(configured(*night(a="--multirun")))
