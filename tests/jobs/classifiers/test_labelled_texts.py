"""Texts that models learn: labels of one class are one whatever their types, parts are drawn independently, and bad
rows of the vectors that models start from are counted before any work."""

import polars as pl
import pyarrow as pa
import pytest

from tests.jobs.classifiers.rows import write_rows
from tiltmeter.jobs.classifiers.decoys.job import JOB
from tiltmeter.jobs.classifiers.errors.texts import ReadTexts as ReadCharacterisedTexts
from tiltmeter.jobs.classifiers.labelled_data import LabelledData, ReadTexts, find_classified_data
from tiltmeter.jobs.classifiers.networks import _vectors
from tiltmeter.jobs.classifiers.splits import DivideTexts
from tiltmeter.jobs.classifiers.tables import GROUPED, LABELLED, SPLIT
from tiltmeter.storage.bad_records import collected
from tiltmeter.storage.corpora.sources import find_file
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.store.ledger import Store, Unit

TRAINING = {"float.parquet": [0.0, 1.0], "bool.parquet": [False, True]}
TRAINING |= {"text.csv": ["0", "1"], "truth.csv": ["False", "True"]}
TESTS = TRAINING | {"upper.csv": ["FALSE", "TRUE"], "one.csv": ["0.00", "1"]}


def write(path, labels):
    frame = pl.DataFrame({"text": [f"text {number}" for number in range(len(labels))], "label": labels})
    frame.write_parquet(path) if path.suffix == ".parquet" else frame.write_csv(path)
    return str(path)


@pytest.mark.long
@pytest.mark.parametrize("training", TRAINING)
@pytest.mark.parametrize("test", TESTS)
def test_the_test_has_the_classes_of_training_as_training_writes_them(tmp_path, training, test):
    (tmp_path / "test").mkdir()
    paths = write(tmp_path / training, TRAINING[training]), write(tmp_path / "test" / test, TESTS[test])
    data = LabelledData(path=paths[0], test=paths[1])
    files = find_classified_data(data)
    identities = {part: file.identity for part, file in files.files.items()}
    work = ReadTexts(columns=data.columns, header=True, limit=None, files=identities, seed=None)
    [(_, table)] = work.tables(None)
    rows = table.to_pylist()
    assert [row["label"] for row in rows[:2]] == [row["label"] for row in rows[2:]]


def test_a_class_that_training_lacks_is_refused_before_any_work_with_both_sides(tmp_path):
    training, test = write(tmp_path / "a.csv", ["good", "bad"]), write(tmp_path / "b.csv", ["good", "fine"])
    message = r"data.test: has 2 classes, among them 'fine', and the training texts have 'bad', 'good'; set data.test"
    with pytest.raises(InputError, match=message):
        find_classified_data(LabelledData(path=training, test=test))


@pytest.mark.parametrize("predictions", [[0.0, 1.0], [False, True], ["0.0", "1.0"], ["False", "True"]])
def test_what_is_predicted_is_of_the_classes_of_the_labels(tmp_path, predictions):
    path = tmp_path / "texts.parquet"
    pl.DataFrame({"text": ["a", "b"], "label": ["0", "1"], "prediction": predictions}).write_parquet(path)
    columns = {name: name for name in ("text", "label", "prediction")}
    settings = {"file": {"uri": str(path)}, "columns": columns, "header": True, "classes": {"0": "no", "1": "yes"}}
    rows = ReadCharacterisedTexts(**settings, probabilities=None, spelling=[], limit=None, seed=None).rows(None)
    assert [row.label for row in rows] == [row.prediction for row in rows] == ["no", "yes"]


# --- parts ------------------------------------------------------------------------------------------


@pytest.fixture
def divided(tmp_path):
    """The table of parts of labelled rows."""
    store = Store(str(tmp_path / "store"))

    def divide(rows, seed=0):
        labelled = pa.Table.from_pylist(rows, LABELLED)
        ref = store.commit(Unit("made/1", "rows", {"rows": str(rows)}), [("rows", labelled)]).tables["rows"]
        [(_, table)] = DivideTexts(texts=ref, seed=seed).tables(store)
        return table

    return divide


def labelled_rows(num, group, part="training"):
    of = {"part": part, "status": "ok"}
    rows = ({"row": at, "text": f"text {at}", "group": group(at)} for at in range(num))
    return [of | row | {"label": "good" if row["row"] * 7 % 5 < 3 else "bad"} for row in rows]


def test_whoever_speaks_is_in_one_part_and_texts_of_nobody_go_by_what_they_say(divided):
    table = divided(labelled_rows(300, lambda at: None if at < 100 else f"speaker {at % 40}"))
    assert table.schema.equals(GROUPED)
    rows = table.to_pylist()
    parts = {row["group"]: {other["part"] for other in rows if other["group"] == row["group"]} for row in rows}
    assert {len(of) for group, of in parts.items() if group} == {1}
    assert {part for of in parts.values() for part in of} == parts[None] == {"training", "development", "test"}
    alone = divided(labelled_rows(300, lambda _: None))
    assert alone.schema.equals(SPLIT)
    assert [row["part"] for row in alone.to_pylist()[:100]] == [row["part"] for row in rows[:100]]


def test_parts_are_others_with_another_seed(divided):
    one, other = (divided(labelled_rows(300, lambda _: None), seed).to_pylist() for seed in (0, 1))
    same = sum(a["part"] == b["part"] for a, b in zip(one, other, strict=True))
    assert same < 240  # by chance, 0.7 ** 2 + 0.2 ** 2 + 0.1 ** 2 of them
    for rows in (one, other):
        assert sum(row["part"] == "test" for row in rows) == pytest.approx(60, abs=20)
        assert sum(row["part"] == "development" for row in rows) == pytest.approx(30, abs=15)


def test_a_group_in_files_of_two_parts_is_refused(divided):
    rows = [*labelled_rows(60, lambda at: f"speaker {at % 9}"), *labelled_rows(20, lambda _: "speaker 3", "test")]
    message = r"the group 'speaker 3' is in the parts .* and test: must be in one; leave out"
    with pytest.raises(ValueError, match=message):
        divided(rows)


# --- vectors that models start from ----------------------------------------------------------------------


@pytest.fixture
def settings(tmp_path):
    """Of a run on texts, and on 400 vectors of which 12 are cut short."""
    lines = [f"word{number} 1 {number}" if number % 33 or not number else f"word{number} 1" for number in range(400)]
    (tmp_path / "vectors.txt").write_text("\n".join(lines))
    texts = [(f"text {number} of these", "good" if number % 3 else "bad") for number in range(60)]
    path = write_rows(tmp_path / "texts.csv", [["text", "label"], *texts])
    return ["job=decoy_benchmark", f"data.path={path}", f"models.vectors={tmp_path}/vectors.txt"]


def test_too_many_are_refused_before_any_work(run_here, settings, tmp_path):
    with pytest.raises(InputError, match=r"12 of 400 records are bad .*raise reading\.max_bad_share"):
        run_here(*settings, f"store={tmp_path}/store", f"run_dir={tmp_path}/run")
    assert not (tmp_path / "run").exists()


def test_others_are_counted_and_models_start_without_them(configured, settings, tmp_path):
    config = configured(*settings, "reading.max_bad_share=0.05")
    with collected() as bad:
        JOB.find_sources(config)
    [row] = bad.rows()
    assert (row["num"], row["kind"], row["first"]) == (12, "bad", "line 34")
    bad.check(config.reading.max_bad_share)
    known = _vectors(find_file(f"{tmp_path}/vectors.txt", "models.vectors"))
    assert (len(known), "word33" in known, "word34" in known) == (388, False, True)
