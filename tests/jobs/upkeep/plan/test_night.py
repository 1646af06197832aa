"""A plan of a list of jobs, held against the runs that it is of: what jobs share is counted once."""

import shlex

import pytest

from tests.fixtures.plans import HERE, contents, planned_units, units
from tiltmeter.jobs.command import execute
from tiltmeter.jobs.runtime.config import ConfigError
from tiltmeter.jobs.runtime.settings.hydra_limits import confine_composition
from tiltmeter.jobs.upkeep.plan.planning import JobPlan, job_row
from tiltmeter.jobs.upkeep.plan.sources import find_planned

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


@pytest.fixture(scope="module")
def first(plan, night, line):
    """Before anything was done."""
    bootstrap = ["job=bootstrap", *line(3)]
    other = [word for word in bootstrap if not word.startswith("embedding.num")] + ["embedding.num_replicas=5"]
    jobs = night(one=bootstrap, again=bootstrap, more=other, reseeded=[*bootstrap, "seed=1"])
    return plan(*jobs, "job.max_hours=3.5")


@pytest.fixture
def confined(hydra_restored):
    """Hydra refuses what the command refuses."""
    confine_composition()


def shared(outcome, name):
    return {row["stage"]: row["num_shared"] for row in outcome.rows("plan", name=name) if row["num_shared"]}


def test_before_a_first_night_stages_of_the_same_corpora_are_counted_once(first, folder):
    assert not (folder / "store").exists()
    assert sum(row["num_missing"] for row in first.rows("plan", name="one")) == 12
    assert sum(row["num_missing"] for row in first.rows("plan", name="again")) == 0
    more, reseeded = planned_units(first, name="more"), planned_units(first, name="reseeded")
    assert (more["tokens"], more["co-occurrence"], more["train"]) == ((1, 0), (None, 1), (4, 2))
    assert (reseeded["tokens"], reseeded["co-occurrence"], reseeded["train"]) == ((1, 0), (None, 1), (None, 4))
    assert shared(first, "more")["train"] == 4
    assert {row["shared_with"] for row in first.rows("plan", name="more") if row["num_shared"]} == {"one"}
    missing = {row["name"]: row["num_missing"] for row in first.rows("plan_jobs")}
    assert missing == {"one": 12, "again": 0, "more": 4, "reseeded": 6}
    assert {row["max_hours"] for row in first.rows("plan_jobs")} == {3.5}
    planned = {row["name"]: row["replicas"] for row in first.rows("plan_differences", is_planned=True)}
    assert planned == {"one": 3, "again": 3, "more": 5, "reseeded": 3}


def test_units_of_two_jobs_are_missing_once_as_they_are_done(first, plan, night, line, words, run_here, folder):
    run_here("job=bootstrap", *words(3))
    before = contents(folder / "store")
    planned = plan(
        *night(five=["job=bootstrap", *line(5)], four=["job=bootstrap", *line(4)], same=["job=bootstrap", *line(5)])
    )
    assert contents(folder / "store") == before
    # Of the second, replica 4 is trained by then.
    assert shared(planned, "four") == {"train": 1}
    assert shared(planned, "same") == {"co-occurrence": 1, "merge": 1, "train": 2}
    assert [planned_units(planned, name=name) for name in ("five", "four")] == [
        units(run_here("job=bootstrap", *words(num))) for num in (5, 4)
    ]
    same = planned.rows("plan_jobs", name="same")[0]
    assert (same["num_missing"], same["num_shared"], same["seconds"]) == (0, 4, 0.0)


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
    rows = {row["name"]: row for row in outcome.rows("plan_jobs")}
    of_lines = {"lost": "refused", "mistyped": "refused", "store": "not_planned", "release": "not_planned"}
    of_lines |= {"plan": "not_planned", "two": "ok", "large": "refused"}
    assert {name: row["status"] for name, row in rows.items()} == of_lines
    assert rows["lost"]["reason"].startswith("corpus.path=nowhere.xml: there is no file")
    assert rows["mistyped"]["reason"] == "job.keeep=1: there is no such setting; did you mean job.keep?"
    assert rows["store"]["reason"] == "job=prune: does no units, so there is nothing to plan"
    assert "is counted against its account" in rows["release"]["reason"]
    assert "every stage asks for 1 CPU and 5,000 MB" in rows["large"]["reason"]
    assert (rows["store"]["num_missing"], rows["store"]["seconds"], rows["two"]["num_missing"]) == (None, None, 0)
    [row] = outcome.rows("plan", name="store")
    assert (row["stage"], row["reason"]) == ("", rows["store"]["reason"])
    printed = " ".join(capsys.readouterr().out.split())
    assert "warning: lost would be refused: corpus.path=nowhere.xml: there is no file" in printed
    assert "store is not planned: job=prune: does no units, so there is nothing to plan." in printed


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


# --- hours against their limit --------------------------------------------------------------------------------------


def planned(*seconds):
    """Stages of one worker of 1000 bytes, two of them, and so on, of which less and less is known."""
    statuses = ["ok", "expected", "estimated"]
    rows = [
        {
            "stage": "train",
            "seconds": value,
            "status": status,
            "reason": f"{status}!",
            "stored_bytes": 7.0,
            "worker_seconds": 11.0,
        }
        | {"memory_bytes": 1000, "num_workers": 1 + place, "num_missing": 2, "num_done": 3, "num_shared": 4}
        for place, (value, status) in enumerate(zip(seconds, statuses, strict=False))
    ]
    return JobPlan(rows[::-1])


@pytest.mark.parametrize(
    ("seconds", "max_hours", "limit"),
    [
        ((3000.0, 4300.0), 2.0, "exceeded"),
        ((3000.0, 1900.0), 2.0, "close"),
        ((3000.0, 1700.0), 2.0, "kept"),
        ((3000.0, None), 2.0, None),
        ((9000.0, None), 2.0, "exceeded"),
        ((9000.0,), None, None),
    ],
)
def test_hours_are_held_against_what_the_night_allows(seconds, max_hours, limit):
    row = job_row("a", "bootstrap", planned(*seconds), max_hours)
    num = len(seconds)
    assert (row["limit"], row["seconds"]) == (limit, sum(filter(None, seconds)))
    assert row["is_least"] == (None in seconds)
    sums = {"num_missing": 2, "num_done": 3, "num_shared": 4, "stored_bytes": 7, "worker_seconds": 11}
    sums["memory_bytes"] = 1000  # of two stages the larger one
    assert {name: row[name] for name in sums} == {name: each * num for name, each in sums.items()}
    assert (row["status"], row["reason"]) == (("ok", ""), ("expected", "expected!"))[num - 1]
