"""A plan compared with the run that it is of, of one corpus, of several, of a list of jobs; what can't be planned."""

import shlex
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from tests.fixtures.plans import HERE, TRAINING, contents, planned_units, units
from tiltmeter.jobs.command import execute
from tiltmeter.jobs.runtime.config import ConfigError
from tiltmeter.jobs.runtime.settings.hydra_limits import confine_composition
from tiltmeter.jobs.upkeep.plan.config import PlanRun
from tiltmeter.jobs.upkeep.plan.hours import LATER
from tiltmeter.jobs.upkeep.plan.job import find_planned
from tiltmeter.storage.errors import InputError, StorageError
from tiltmeter.storage.files.downloads import copy_of

FILE = "corpus=file corpus.language=en corpus.path=x"
RELEASE = "private_vectors embedding.path=x.txt release.key_file=key release.input=people release.epsilon=1"


@pytest.fixture(scope="module")
def folder(tmp_path_factory, made_up, write_lines):
    """Of the corpus, the store and the runs."""
    folder = tmp_path_factory.mktemp("plan")
    write_lines(folder / "en.jsonl", made_up("en"))
    return folder


@pytest.fixture(scope="module")
def line(folder, one_corpus):
    """The settings of a bootstrap of so many replicas, as a list of jobs has them."""
    return lambda num: [*one_corpus("en", folder / "en.jsonl"), *TRAINING, f"embedding.num_replicas={num}"]


@pytest.fixture(scope="module")
def words(folder, line):
    """The same with a store and a run directory."""
    return lambda num, *more: [*line(num), f"store={folder}/store", f"run_dir={folder}/run{num}", *more]


@pytest.fixture(scope="module")
def plan(configured, outcome_of):
    """Plans a bootstrap."""
    return lambda *words: outcome_of(execute(configured("job=plan", "job.of=bootstrap", *HERE, *words)))


@pytest.fixture(scope="module")
def plan_of(plan, words):
    """Plans one of so many replicas."""
    return lambda num_replicas, *more: plan(*words(num_replicas, *more))


@pytest.fixture(scope="module")
def first(folder, plan_of, words, run_job):
    """A plan before anything was done, and the run."""
    planned = plan_of(3)
    assert not (folder / "store").exists()
    return planned.rows("plan"), run_job("job=bootstrap", *words(3))


def test_before_a_first_run_the_first_stage_is_counted_and_the_rest_taken_from_rates(first):
    read, later = first[0]
    assert (read["stage"], read["num_done"], read["num_missing"], read["status"]) == ("read", 0, 1, "ok")
    assert (later["stage"], later["num_done"], later["num_missing"], later["status"]) == (LATER, None, None, "unknown")
    assert {read["basis"], later["basis"]} == {"rates for a first run"}
    unmade = "could not be counted: they read what read has yet to make"
    assert later["reason"] == f"{unmade}; seconds up to training alone, as if none of them was done"


def test_after_it_nothing_is_missing_and_a_plan_leaves_no_run_in_the_register(first, plan_of, folder, capsys):
    """It shows ratios before there are draws."""
    again = plan_of(3)
    assert planned_units(again) == {name: (1, 0) if name != "train" else (4, 0) for name in units(first[1])}
    assert {row["status"] for row in again.rows("plan")} == {"ok"}
    assert "0 of 12 units are missing: all are in the store, and no worker is started." in capsys.readouterr().out
    assert not list((folder / "store/registry").glob("plan"))
    assert again.record["stages"] == []
    assert {row["basis"] for row in again.rows("plan_differences")} == {"one standard deviation"}
    assert (again.path / "report.html").exists()


def test_what_is_missing_is_counted_up_to_what_reads_it_and_the_store_stays_as_it_is(
    first, folder, plan_of, words, run_here, capsys
):
    before = contents(folder / "store")
    planned = plan_of(5)
    assert contents(folder / "store") == before
    assert planned.path == folder / "run5.plan"
    assert "; 1 of 7 units is missing, besides those that could not be counted." in capsys.readouterr().out
    counted = planned_units(planned)
    assert list(counted) == ["read", "inventory", "documents", "tokens", "words", "vocabulary", "co-occurrence", LATER]
    assert counted.pop(LATER) == (None, None)
    # Each unit of a stage that is counted is done by the run or found by it, as the plan says.
    done = units(run_here("job=bootstrap", *words(5)))
    assert {name: done[name] for name in counted} == counted
    assert planned_units(plan_of(5)) == {name: (found + new, 0) for name, (found, new) in done.items()}


def test_seconds_and_bytes_are_those_of_the_runs_before(first, plan_of):
    run = first[1]
    *_, counted, later = plan_of(3, "seed=1").rows("plan")
    assert counted["stored_bytes"] == pytest.approx(run.stage("co-occurrence")["num_bytes"], rel=0.2)
    trained = sum(run.stage(name)["num_bytes"] for name in ("merge", "train"))
    assert later["stored_bytes"] == pytest.approx(trained, rel=0.2)
    assert later["worker_seconds"] == float(f"{later['worker_seconds']:.2g}") > 0
    assert {counted["basis"], later["basis"]} == {"earlier runs in this store"}
    assert later["memory_bytes"] >= 1_500_000_000
    assert counted["reason"] == "other settings: seed"


# --- slices, several corpora, a running cluster, a bucket -----------------------------------------------------------


@pytest.fixture(scope="module")
def decades(folder, made_up, write_lines, one_corpus):
    """The settings of a corpus of three slices."""
    documents = [row | {"year": 1980 + 10 * (number % 3)} for number, row in enumerate(made_up("en", 120))]
    write_lines(folder / "decades.jsonl", documents)
    return [*one_corpus("en", folder / "decades.jsonl"), "corpus.slices=year", *TRAINING]


@pytest.fixture(scope="module")
def files(folder, made_up, write_lines):
    """Corpora in three languages, about as large."""
    return {code: write_lines(folder / f"{code}.jsonl", made_up(code, 60)) for code in ("de", "fr", "wo")}


@pytest.fixture(scope="module")
def languages(files, several_corpora):
    """The settings of all of them."""
    return [*several_corpora(files), *TRAINING]


@pytest.fixture(params=["decades", pytest.param("languages", marks=pytest.mark.slow)])
def corpora(request):
    return request.getfixturevalue(request.param)


@pytest.fixture
def places(tmp_path):
    """Settings of the store and of the run."""
    return lambda name: [f"store={tmp_path}/store", f"run_dir={tmp_path}/{name}"]


def test_units_of_slices_and_of_several_corpora_are_those_of_the_run(corpora, plan, run_here, places, tmp_path):
    run = run_here("job=bootstrap", *corpora, "embedding.num_replicas=3", *places("3"))
    again = planned_units(plan(*corpora, "embedding.num_replicas=3", *places("3")))
    assert again == {name: (done + reused, 0) for name, (reused, done) in units(run).items()}
    before = contents(tmp_path / "store")
    more = planned_units(plan(*corpora, "embedding.num_replicas=5", *places("5")))
    assert contents(tmp_path / "store") == before
    assert more.pop(LATER) == (None, None)
    run = units(run_here("job=bootstrap", *corpora, "embedding.num_replicas=5", *places("5")))
    assert more == {name: run[name] for name in more}
    assert more["co-occurrence"] == (0, 3)


def test_a_field_that_no_document_has_is_refused_as_soon_as_they_are_read(decades, plan, run_here, places):
    wrong = [*(word for word in decades if "slices" not in word), "corpus.slices=decade", "embedding.num_replicas=3"]
    assert planned_units(plan(*wrong, *places("3")))["read"] == (0, 1)
    with pytest.raises(InputError, match=r"corpus.slices=decade: none of the 120 documents"):
        run_here("job=bootstrap", *wrong, *places("3"))
    with pytest.raises(InputError, match=r"corpus.slices=decade: none of the 120 documents .* the fields id, year"):
        plan(*wrong, *places("3"))


def test_of_several_corpora_those_that_were_read_before_are_counted(files, languages, plan, run_here, places):
    """Otherwise all would count as missing once a language is added."""
    one = ["corpus=file", "corpus.language=de", f"corpus.path={files['de']}", "corpus.name=de", *TRAINING]
    run_here("job=bootstrap", *one, "embedding.num_replicas=3", *places("one"))
    planned = plan(*languages, "embedding.num_replicas=3", *places("all"))
    by_stage = {row["stage"]: row for row in planned.rows("plan")}
    assert {by_stage[stage]["status"] for stage in ("read", "train", LATER)} == {"ok", "at_least", "unknown"}
    assert by_stage["train"]["reason"] == "without units of fr and wo"
    expected = planned_units(planned)
    assert (expected["read"], expected["train"], expected[LATER]) == ((1, 2), (4, 0), (None, None))
    # Of the rest, as much as two thirds of the files are of what one took.
    sizes = [files[code].stat().st_size for code in ("de", "fr", "wo")]
    trained = run_here("job=bootstrap", *languages, "embedding.num_replicas=3", *places("all"))
    assert units(trained)["train"] == (4, 8)
    of_one = plan(*one, "seed=1", "embedding.num_replicas=3", *places("seed")).rows("plan", stage=LATER)[0]
    share = sum(sizes[1:]) / sizes[0]
    assert by_stage[LATER]["stored_bytes"] > share * of_one["stored_bytes"]


def test_a_store_in_a_bucket_is_planned_in_and_not_written(line, plan, run_here, s3_bucket, tmp_path, capsys):
    uri = s3_bucket.uri("planned")

    def words(num):
        return [*line(num), f"store='{uri}'", f"run_dir={tmp_path}/run{num}"]

    def objects():
        listed = s3_bucket.client.list_objects_v2(Bucket="tilt", Prefix="planned").get("Contents", [])
        return {item["Key"]: item["ETag"] for item in listed}

    assert planned_units(plan(*words(3)))["read"] == (0, 1)
    assert objects() == {}
    run_here("job=bootstrap", *words(3))
    before = objects()
    more = plan(*words(5))
    assert objects() == before
    assert "MB in the store.\n" in capsys.readouterr().out  # a bucket does not say what is free
    assert not [path for path, content in contents(more.path).items() if b"key:secret" in content]
    assert planned_units(more)["co-occurrence"] == (0, 1)


def test_a_bucket_that_there_is_not_and_one_without_a_place_for_tables_are_refused(line, plan, s3_bucket, tmp_path):
    uri = s3_bucket.uri("planned")
    with pytest.raises(ConfigError, match=r"run_dir is not set and store=s3://tilt/planned is not a local path: set"):
        plan(*line(3), f"store='{uri}'")
    away = uri.replace("@tilt/", "@tlit/")
    with pytest.raises(StorageError, match=r"store=s3://tlit/planned: there is no bucket tlit; make it, or .* store=<"):
        plan(*line(3), f"store='{away}'", f"run_dir={tmp_path}/run")


def test_a_plan_has_the_room_of_a_cluster_that_runs(line, configured, joining, outcome_of, tmp_path):
    """Of that of the tests, which has a million MB, where this machine has less."""
    words = [*line(8), *joining, "cluster.num_cpus=3", "cluster.worker_megabytes=200000", f"run_dir={tmp_path}/run"]
    planned = outcome_of(execute(configured("job=plan", "job.of=bootstrap", *words, f"store={tmp_path}/store")))
    [read] = planned.rows("plan", stage="read")
    assert (read["num_workers"], read["memory_bytes"], read["num_missing"]) == (3, 200_000_000_000, 1)


# --- a list of jobs: each as the store is now -----------------------------------------------------------------------


@pytest.fixture(scope="module")
def nights(tmp_path_factory):
    """The folder of the list, of a store of its own and of the runs."""
    return tmp_path_factory.mktemp("nights")


@pytest.fixture(scope="module")
def night(nights):
    """The words of a plan of a list of jobs."""

    def of(**lines):
        words = {name: line if isinstance(line, str) else shlex.join(line) for name, line in lines.items()}
        (nights / "night.yaml").write_text("".join(f"{name}: {line}\n" for name, line in words.items()))
        return ["job=plan", "job.of=overnight", f"jobs={nights}/night.yaml", f"store={nights}/store", *HERE]

    return of


@pytest.fixture(scope="module")
def plan_night(configured, outcome_of, nights):
    """Plans a night."""
    return lambda *words: outcome_of(execute(configured(*words, f"run_dir={nights}/night")))


@pytest.fixture
def confined(hydra_restored):
    """Hydra refuses what the command refuses."""
    confine_composition()


def test_each_job_is_planned_as_the_store_is_now(plan_night, night, nights, line, run_here, capsys):
    bootstrap = ["job=bootstrap", *line(3)]
    first = plan_night(*night(one=bootstrap, again=bootstrap))
    assert [planned_units(first, name=name) for name in ("one", "again")] == [{"read": (0, 1), LATER: (None, None)}] * 2
    run_here(*bootstrap, f"store={nights}/store", f"run_dir={nights}/run")
    capsys.readouterr()
    second = plan_night(*night(one=bootstrap, five=["job=bootstrap", *line(5)]))
    assert planned_units(second, name="one")["train"] == (4, 0)
    assert planned_units(second, name="five")["co-occurrence"] == (0, 1)
    assert {row["name"]: row["replicas"] for row in second.rows("plan_differences", is_planned=True)} == {
        "one": 3,
        "five": 5,
    }
    printed = " ".join(capsys.readouterr().out.split())
    assert "one: 0 of 12 units are missing: all are in the store" in printed
    assert "five: about 1 second; 1 of 7 units is missing, besides those that could not be counted." in printed


@pytest.mark.long
def test_a_job_that_max_hours_would_stop_is_named(plan_night, night, nights, line, capsys):
    long = ["job=bootstrap", *line(3), "embedding.trainer.epochs=100000000"]
    jobs = night(long=long, short=["job=bootstrap", *line(3)])
    plan_night(*jobs, f"store={nights}/other", "job.max_hours=0.1")
    printed = " ".join(capsys.readouterr().out.split())
    assert "long: about 50 minutes, and job.max_hours=0.1 would stop it; 1 of 1 unit is missing" in printed
    assert "short: about 1 second; 1 of 1 unit is missing" in printed


def test_jobs_that_can_not_be_planned_stay_with_their_reason_and_the_others_are_planned(
    confined, plan_night, night, nights, line, run_here, capsys
):
    lost = "job=bootstrap corpus=file corpus.language=en corpus.path=nowhere.xml"
    bootstrap = ["job=bootstrap", *line(3)]
    too_large = [*bootstrap, "cluster.worker_megabytes=5000", "cluster.memory_megabytes=4000", "seed=2"]
    lines = {"lost": lost, "mistyped": "job=prune job.keeep=1", "store": "job=prune", "release": f"job={RELEASE}"}
    lines |= {"plan": "job=plan job.of=survey", "two": bootstrap, "large": too_large}
    run_here(*bootstrap, f"store={nights}/store", f"run_dir={nights}/run")
    outcome = plan_night(*night(**lines))
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


@pytest.mark.long
def test_a_job_has_the_night_s_cluster_and_store_unless_its_line_says_otherwise(configured, night, nights, line):
    bootstrap = ["job=bootstrap", *line(3)]
    lines = night(usual=bootstrap, other=[*bootstrap, "cluster.num_cpus=1"])
    config = configured(*lines, "cluster.worker_megabytes=900")
    usual, other = find_planned(config).jobs
    assert usual.config.cluster == config.cluster
    assert (other.config.cluster.num_cpus, other.config.cluster.worker_megabytes) == (1, 1500)
    assert {job.config.store for job in (usual, other)} == {f"{nights}/store"}


@pytest.mark.long
def test_a_line_may_have_a_folder_of_settings(confined, configured, night, line, tmp_path):
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus/ours.yaml").write_text("# @package corpus.ours\nname: ours\nlanguage: en\npath: nowhere.txt\n")
    lines = night(ours=f"job=bootstrap --config-dir {tmp_path} corpus=ours", usual="job=bootstrap corpus=ours")
    ours, usual = find_planned(configured(*lines)).jobs
    assert ours.reason.startswith("corpus.path=nowhere.txt: there is no file")
    assert usual.reason != ours.reason


# --- what a command line plans, and what can't be planned -----------------------------------------------------------


@pytest.mark.long
def test_a_plan_has_the_words_of_its_job_and_a_directory_of_its_own(configured):
    words = ["corpus=file", "corpus.language=en", "corpus.path=en.jsonl", "seed=3", "store=here", "run_dir=night/"]
    job, plan = configured("job=bootstrap", *words), configured("job=plan", "job.of=bootstrap", *words)
    assert isinstance(plan, PlanRun)
    assert plan.planned == job
    assert (plan.store, plan.seed, plan.cluster) == (job.store, 3, job.cluster)
    assert plan.run_dir == "night.plan"
    # The words of the job may stay as they are.
    assert configured("job=plan", "job.of=bootstrap", "job=bootstrap", *words) == plan
    assert configured("job=bootstrap", *words) == job


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("", r"job=plan: which job is planned\? Set job.of=<job>"),
        ("job.of=survy", r"job.of=survy: there is no such job; did you mean survey\?"),
        ("job.of=x", r"job.of=x: there is no such job; choose one of association, attribution, "),
        ("job.of=plan", r"job.of=plan: does no units, so there is nothing to plan"),
        ("job.of=prune", r"job.of=prune: does no units"),
        ("job.of=survey job=bootstrap", r"job=bootstrap: job.of=survey is the job that is planned"),
        (f"job.of=bootstrap {FILE} embedding.num_replicas=1", r"embedding.num_replicas=1: "),
        (f"job.of={RELEASE}", r"job.of=private_vectors: .* counted against its account.*release.key_file"),
    ],
)
def test_what_can_not_be_planned_is_refused_and_a_wrong_setting_as_the_job_refuses_it(configured, words, message):
    with pytest.raises(ConfigError, match=message):
        configured("job=plan", *words.split())


@pytest.fixture
def served(tmp_path):
    """A folder on a web server of this machine, and its address."""
    (tmp_path / "web").mkdir()
    handler = partial(SimpleHTTPRequestHandler, directory=tmp_path / "web")
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield tmp_path / "web", f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.long
def test_a_corpus_that_would_be_fetched_first_is_refused_until_the_store_has_it(configured, served, tmp_path):
    folder, address = served
    (folder / "pages.jsonl").write_text('{"id": "1", "text": "a line"}\n')
    corpus = ["corpus=file", "corpus.language=en", f"corpus.path='{address}/pages.jsonl'", "++corpus.download=true"]
    config = configured("job=plan", "job.of=bootstrap", *corpus, f"store={tmp_path}/store")
    with pytest.raises(InputError, match=r"pages.jsonl is not in the store, and a plan fetches nothing: set corpus"):
        find_planned(config)
    assert not (tmp_path / "store").exists()
    copy = copy_of(f"{address}/pages.jsonl", f"{tmp_path}/store")
    assert [source.uri for source in find_planned(config).jobs[0].sources.texts[0].sources] == [copy]
