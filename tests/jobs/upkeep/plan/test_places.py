"""Plans of corpora that are cut, of several corpora, on a running cluster, and with the store in a bucket."""

import json

import pytest

from tests.fixtures.plans import HERE, TRAINING, contents, planned_units, units
from tiltmeter.jobs.command import execute
from tiltmeter.jobs.runtime.config import ConfigError
from tiltmeter.storage.errors import InputError, StorageError


@pytest.fixture(scope="module")
def plan(configured, outcome_of):
    """Plans a bootstrap."""
    return lambda *words: outcome_of(execute(configured("job=plan", "job.of=bootstrap", *HERE, *words)))


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


def test_units_of_slices_and_of_several_corpora_are_those_of_the_run(corpora, plan, run_job, places, tmp_path):
    run = run_job("job=bootstrap", *corpora, "embedding.num_replicas=3", *places("3"))
    again = planned_units(plan(*corpora, "embedding.num_replicas=3", *places("3")))
    assert again == {name: (done + reused, 0) for name, (reused, done) in units(run).items()}
    before = contents(tmp_path / "store")
    more = plan(*corpora, "embedding.num_replicas=5", *places("5"))
    assert contents(tmp_path / "store") == before
    assert planned_units(more) == units(run_job("job=bootstrap", *corpora, "embedding.num_replicas=5", *places("5")))


def test_slices_that_nobody_knows_before_they_are_read_are_named(decades, plan, places):
    few = {row["stage"]: row for row in plan(*decades, "embedding.num_replicas=3", *places("3")).rows("plan")}
    assert few["train"]["num_missing"] == 4
    assert "how many slices file will have is not known before they are read" in few["train"]["reason"]
    kept = [*decades, "corpus.slice_values=['1980','1990','2000']", "embedding.num_replicas=3"]
    by_stage = {row["stage"]: row for row in plan(*kept, *places("3")).rows("plan")}
    assert (by_stage["train"]["num_missing"], by_stage["list slices"]["num_missing"]) == (12, 1)
    assert "slices" not in by_stage["train"]["reason"]


def test_a_run_of_the_uncut_corpus_says_nothing_of_how_many_units_its_slices_have(decades, plan, run_job, places):
    whole = [word for word in decades if not word.startswith("corpus.slices")]
    run_job("job=bootstrap", *whole, "embedding.num_replicas=3", *places("whole"))
    kept = [*decades, "corpus.slice_values=['1980','1990','2000']", "embedding.num_replicas=3"]
    assert planned_units(plan(*kept, *places("cut")))["train"] == (None, 12)


def test_a_field_that_no_document_has_is_refused_as_soon_as_they_are_read(decades, plan, run_job, places):
    wrong = [*(word for word in decades if "slices" not in word), "corpus.slices=decade", "embedding.num_replicas=3"]
    assert planned_units(plan(*wrong, *places("3")))["read"] == (0, 1)
    with pytest.raises(InputError, match=r"corpus.slices=decade: none of the 120 documents"):
        run_job("job=bootstrap", *wrong, *places("3"))
    with pytest.raises(InputError, match=r"corpus.slices=decade: none of the 120 documents .* the fields id, year"):
        plan(*wrong, *places("3"))


def test_of_a_corpus_that_was_read_before_only_the_others_are_estimated(files, languages, plan, run_job, places):
    """Otherwise all would count as missing once a language is added."""
    one = ["corpus=file", "corpus.language=de", f"corpus.path={files['de']}", "corpus.name=de", *TRAINING]
    run_job("job=bootstrap", *one, "embedding.num_replicas=3", *places("one"))
    planned = plan(*languages, "embedding.num_replicas=3", *places("all"))
    by_stage = {row["stage"]: row for row in planned.rows("plan")}
    assert by_stage["train"]["reason"].startswith("units of fr and wo could not be counted: it depends on ")
    assert {by_stage[stage]["status"] for stage in ("read", "train")} == {"ok", "estimated"}
    expected = planned_units(planned)
    assert (expected["read"], expected["train"]) == ((1, 2), (4, 8))
    assert expected == units(run_job("job=bootstrap", *languages, "embedding.num_replicas=3", *places("all")))


def test_a_store_in_a_bucket_is_planned_in_and_not_written(line, plan, run_job, s3_bucket, tmp_path, capsys):
    uri = s3_bucket.uri("planned")

    def words(num):
        return [*line(num), f"store='{uri}'", f"run_dir={tmp_path}/run{num}"]

    def objects():
        listed = s3_bucket.client.list_objects_v2(Bucket="tilt", Prefix="planned").get("Contents", [])
        return {item["Key"]: item["ETag"] for item in listed}

    assert planned_units(plan(*words(3)))["read"] == (0, 1)
    assert objects() == {}
    run_job("job=bootstrap", *words(3))
    before = objects()
    more = plan(*words(5))
    assert objects() == before
    assert "MB in the store.\n" in capsys.readouterr().out  # a bucket does not say what is free
    assert not [path for path, content in contents(more.path).items() if b"key:secret" in content]
    assert planned_units(more) == units(run_job("job=bootstrap", *words(5)))


def test_a_plan_with_its_store_in_a_bucket_needs_a_place_for_its_tables(line, plan, s3_bucket):
    with pytest.raises(
        ConfigError, match=r"run_dir is not set and store=s3://tilt/planned is not a local path: set run_"
    ):
        plan(*line(3), f"store='{s3_bucket.uri('planned')}'")


def test_a_bucket_that_there_is_not_is_refused_as_the_run_refuses_it(line, plan, s3_bucket, tmp_path):
    away = s3_bucket.uri("planned").replace("@tilt/", "@tlit/")
    with pytest.raises(
        StorageError, match=r"store=s3://tlit/planned: there is no bucket tlit; make it, or .* store=<path"
    ):
        plan(*line(3), f"store='{away}'", f"run_dir={tmp_path}/run")


@pytest.mark.slow
def test_jobs_of_a_night_are_planned_on_a_cluster_that_runs(line, joining, tiltmeter, outcome_of, tmp_path):
    bootstrap = " ".join(["job=bootstrap", *line(3)])
    away = f"{bootstrap} cluster.address=127.0.0.1:1 cluster=existing seed=1"
    (tmp_path / "night.yaml").write_text(f"here: {bootstrap}\naway: {away}\n")
    process = tiltmeter("job=plan", "job.of=overnight", "jobs=night.yaml", "run_dir=night", *joining)
    output, errors = process.communicate(timeout=200)
    assert process.returncode == 0, errors
    here, away = outcome_of(tmp_path / "night.plan").rows("plan_jobs")
    assert (here["num_missing"], here["memory_bytes"], here["status"]) == (12, 1_500_000_000, "estimated")
    assert (away["status"], away["reason"][:46]) == ("refused", "cluster.address=127.0.0.1:1: no Ray cluster th")
    assert "warning: away would be refused: cluster.address=127.0.0.1:1: no Ray cluster there" in output
    assert not (tmp_path / "store").exists() or not list((tmp_path / "store").rglob("*.parquet"))
    assert json.loads((tmp_path / "night.plan/run.json").read_text())["stages"] == []
