"""Plans of corpora that are cut, of several corpora, on a running cluster, and with the store in a bucket."""

import pytest

from tests.fixtures.plans import HERE, TRAINING, contents, planned_units, units
from tiltmeter.jobs.command import execute
from tiltmeter.jobs.runtime.config import ConfigError
from tiltmeter.jobs.upkeep.plan.hours import LATER
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
    words = [*line(8), *joining, "cluster.num_cpus=3", "cluster.worker_megabytes=200000"]
    places = [f"store={tmp_path}/store", f"run_dir={tmp_path}/run"]
    plan = outcome_of(execute(configured("job=plan", "job.of=bootstrap", *words, *places)))
    [read] = plan.rows("plan", stage="read")
    assert (read["num_workers"], read["memory_bytes"], read["num_missing"]) == (3, 200_000_000_000, 1)
