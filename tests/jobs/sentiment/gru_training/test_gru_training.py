"""The job `gru_training`: its file is a system that `sentiment_rating` takes."""

import pytest

from tiltmeter.jobs.runtime.config import ConfigError
from tiltmeter.storage.errors import InputError

SMALL = [
    "gru.dimensions=8",
    "gru.hidden=8",
    "gru.max_epochs=12",
    "gru.patience=12",
    "gru.learning_rate=0.02",
    "gru.min_count=1",
]
NOUNS = ("film", "book", "day", "man", "girl", "cup", "song", "walk", "town", "cake")
LABELS = {"good": 1, "bad": 0, "fine": 1, "awful": 0}


@pytest.fixture(scope="module")
def labelled(tmp_path_factory):
    path = tmp_path_factory.mktemp("labelled") / "train.tsv"
    lines = [f"this {noun} is {word}\t{label}" for noun in NOUNS for word, label in LABELS.items()]
    path.write_text("\n".join(lines))
    return [
        *("job=gru_training", f"labelled.path={path}", f"labelled.test={path}", "labelled.header=false"),
        *("labelled.text=column_1", "labelled.label=column_2", *SMALL),
    ]


@pytest.fixture(scope="module")
def trained(run_job, labelled, tmp_path_factory):
    place = tmp_path_factory.mktemp("trained")
    return run_job(*labelled, "labelled.values={0: -1, 1: 1}", f"store={place}/store", f"run_dir={place}/run")


def test_training_and_what_it_has_not_seen_are_published(trained):
    parts = {row["part"]: row for row in trained.rows("evaluation")}
    assert {name: part["num_texts"] for name, part in parts.items()} == {"training": 36, "test": 40, "development": 4}
    assert parts["test"]["sign_agreement"] == 1.0
    epochs = trained.rows("training")
    assert [row["epoch"] for row in epochs] == list(range(1, len(epochs) + 1))
    assert epochs[-1]["loss"] < epochs[0]["loss"]


@pytest.mark.slow
def test_its_file_scores_sentences(trained, run_job, tmp_path):
    people = tmp_path / "turns.csv"
    rows = ["this film is good,male", "this film is bad,female", "this book is good,male", "this cup is bad,female"]
    people.write_text("\n".join(["text,gender", *rows]))
    outcome = run_job(
        *("job=sentiment_rating", "translator=[]", "sentiment=gru", "rating.num_resamples=0", "sentences=file"),
        *(
            f"sentences.path={people}",
            "sentences.columns.gender=gender",
            f"store={tmp_path}/store",
            f"run_dir={tmp_path}/run",
        ),
        f"sentiment.gru.path={trained.path}/exports/gru.safetensors",
    )
    assert [row["sentiment"] > 0 for row in outcome.rows("scores")] == [True, False, True, False]
    [raw] = outcome.rows("raw_scores")
    assert (raw["measure"], raw["rejections_95"], raw["raw_score_low"]) == ("wrs", 1, None)


def test_labels_without_a_value_and_files_without_a_column_are_refused(configured, labelled, run_job, tmp_path):
    with pytest.raises(ConfigError, match=r"labelled.values=-2"):
        configured(*labelled, "labelled.values={0: -2, 1: 1}")
    with pytest.raises(InputError, match=r"labelled.path: .* has no column 'words'; its columns are 'column_1', "):
        run_job(*labelled, "labelled.text=words", f"store={tmp_path}")
