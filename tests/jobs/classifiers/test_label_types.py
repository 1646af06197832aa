"""Labels of one class are one class in all files of a run, whatever their types."""

import polars as pl
import pytest

from tiltmeter.jobs.classifiers.errors.texts import ReadTexts as ReadCharacterisedTexts
from tiltmeter.jobs.classifiers.labelled_data import LabelledData, ReadTexts, find_classified_data
from tiltmeter.storage.errors import InputError

TRAINING = {
    "float.parquet": [0.0, 1.0],
    "bool.parquet": [False, True],
    "text.csv": ["0", "1"],
    "truth.csv": ["False", "True"],
}
TESTS = TRAINING | {"upper.csv": ["FALSE", "TRUE"], "one.csv": ["0.00", "1"]}


def write(path, labels):
    frame = pl.DataFrame({"text": [f"text {number}" for number in range(len(labels))], "label": labels})
    frame.write_parquet(path) if path.suffix == ".parquet" else frame.write_csv(path)
    return str(path)


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
    with pytest.raises(
        InputError,
        match=r"data.test: has 2 classes, among them 'fine', and the training texts have 'bad', 'good'; set data.test",
    ):
        find_classified_data(LabelledData(path=training, test=test))


@pytest.mark.parametrize("predictions", [[0.0, 1.0], [False, True], ["0.0", "1.0"], ["False", "True"]])
def test_what_is_predicted_is_of_the_classes_of_the_labels(tmp_path, predictions):
    path = tmp_path / "texts.parquet"
    pl.DataFrame({"text": ["a", "b"], "label": ["0", "1"], "prediction": predictions}).write_parquet(path)
    columns = {name: name for name in ("text", "label", "prediction")}
    settings = {"file": {"uri": str(path)}, "columns": columns, "header": True, "classes": {"0": "no", "1": "yes"}}
    rows = ReadCharacterisedTexts(**settings, probabilities=None, spelling=[], limit=None, seed=None).rows(None)
    assert [row.label for row in rows] == [row.prediction for row in rows] == ["no", "yes"]
