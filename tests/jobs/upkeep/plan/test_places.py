"""Plans of corpora that are cut, of several corpora, on a running cluster, and with the store in a bucket."""

import pytest

from tests.fixtures.plans import HERE, TRAINING, contents, planned_units, units
from tiltmeter.jobs.command import execute
from tiltmeter.jobs.embedding.sources import find_sources
from tiltmeter.jobs.runtime.config import ConfigError
from tiltmeter.jobs.upkeep.plan.corpora import corpus_parts
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
    more = plan(*corpora, "embedding.num_replicas=5", *places("5"))
    assert contents(tmp_path / "store") == before
    assert planned_units(more) == units(run_here("job=bootstrap", *corpora, "embedding.num_replicas=5", *places("5")))


def test_slices_that_nobody_knows_before_they_are_read_are_named(decades, plan, run_here, places):
    few = {row["stage"]: row for row in plan(*decades, "embedding.num_replicas=3", *places("3")).rows("plan")}
    assert few["train"]["num_missing"] == 4
    assert "how many slices file will have is not known before they are read" in few["train"]["reason"]
    kept = [*decades, "corpus.slice_values=['1980','1990','2000']", "embedding.num_replicas=3"]
    by_stage = {row["stage"]: row for row in plan(*kept, *places("3")).rows("plan")}
    assert (by_stage["train"]["num_missing"], by_stage["list slices"]["num_missing"]) == (12, 1)
    assert "slices" not in by_stage["train"]["reason"]
    # A run of the uncut corpus says nothing of how many units its slices have.
    whole = [word for word in decades if not word.startswith("corpus.slices")]
    run_here("job=bootstrap", *whole, "embedding.num_replicas=3", *places("whole"))
    assert planned_units(plan(*kept, *places("cut")))["train"] == (None, 12)


def test_a_field_that_no_document_has_is_refused_as_soon_as_they_are_read(decades, plan, run_here, places):
    wrong = [*(word for word in decades if "slices" not in word), "corpus.slices=decade", "embedding.num_replicas=3"]
    assert planned_units(plan(*wrong, *places("3")))["read"] == (0, 1)
    with pytest.raises(InputError, match=r"corpus.slices=decade: none of the 120 documents"):
        run_here("job=bootstrap", *wrong, *places("3"))
    with pytest.raises(InputError, match=r"corpus.slices=decade: none of the 120 documents .* the fields id, year"):
        plan(*wrong, *places("3"))


def test_a_corpus_is_as_much_of_a_stage_as_its_files_are_of_all(
    configured, several_corpora, made_up, write_lines, tmp_path
):
    files = {code: write_lines(tmp_path / f"{code}.jsonl", made_up(code, num)) for code, num in (("de", 9), ("fr", 40))}
    config = configured("job=bootstrap", *several_corpora(files), *TRAINING, "embedding.num_replicas=3")
    parts, sizes = corpus_parts(config, find_sources(config).texts), [files[code].stat().st_size for code in files]
    assert sizes[1] > 3 * sizes[0]
    assert sorted(parts["read"].values()) == sizes
    assert sorted(parts["train"].values()) == [size / 4 for size in sizes for _ in range(4)]


def test_of_a_corpus_that_was_read_before_only_the_others_are_estimated(files, languages, plan, run_here, places):
    """Otherwise all would count as missing once a language is added."""
    one = ["corpus=file", "corpus.language=de", f"corpus.path={files['de']}", "corpus.name=de", *TRAINING]
    run_here("job=bootstrap", *one, "embedding.num_replicas=3", *places("one"))
    planned = plan(*languages, "embedding.num_replicas=3", *places("all"))
    by_stage = {row["stage"]: row for row in planned.rows("plan")}
    assert by_stage["train"]["reason"].startswith("units of fr and wo could not be counted: it depends on ")
    assert {by_stage[stage]["status"] for stage in ("read", "train")} == {"ok", "estimated"}
    expected = planned_units(planned)
    assert (expected["read"], expected["train"]) == ((1, 2), (4, 8))
    assert expected == units(run_here("job=bootstrap", *languages, "embedding.num_replicas=3", *places("all")))


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
    assert planned_units(more) == units(run_here("job=bootstrap", *words(5)))


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
    [train] = plan.rows("plan", stage="train")
    assert (train["num_workers"], train["memory_bytes"], train["num_missing"]) == (3, 200_000_000_000, 9)
