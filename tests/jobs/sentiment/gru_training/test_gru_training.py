"""The job `gru_training`: its file is a system that `sentiment_rating` takes."""

import numpy as np
import pytest

from tiltmeter.jobs.runtime.config import ConfigError
from tiltmeter.operators.sentiment.gru import GRUConfig, GRUDescription, TrainedGRU, score
from tiltmeter.operators.sentiment.gru_training import LabelledTexts, train
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.models.gru_files import read_gru

SETTINGS = {"dimensions": 8, "hidden": 8, "max_epochs": 9, "patience": 9, "learning_rate": 0.02, "min_count": 1}
NOUNS = ("film", "book", "day", "man", "girl", "cup", "song", "walk", "town", "cake")
LABELS = {"good": "praise", "fine": "praise", "great": "praise", "bad": "blame", "usual": "nothing"}
VALUES = {"blame": -0.8, "nothing": 0.0, "praise": 0.5}
TEXTS = [(f"this {noun} is {word}", label) for word, label in LABELS.items() for noun in NOUNS]
UNSEEN = [("a bad unheard film", "blame"), ("a good film", "praise"), ("cake as usual", "nothing")]


@pytest.fixture(scope="module")
def labelled(tmp_path_factory):
    folder = tmp_path_factory.mktemp("labelled")
    for name, texts in (("train", TEXTS), ("test", UNSEEN)):
        (folder / f"{name}.tsv").write_text("\n".join(f"{text}\t{label}" for text, label in texts))
    return [
        *("job=gru_training", f"labelled.path={folder}/train.tsv", f"labelled.test={folder}/test.tsv"),
        *("labelled.header=false", "labelled.text=column_1", "labelled.label=column_2", "seed=5"),
        *(f"gru.{name}={value}" for name, value in SETTINGS.items()),
    ]


@pytest.fixture(scope="module")
def trained(run_here, labelled, tmp_path_factory):
    place = tmp_path_factory.mktemp("trained")
    values = f"labelled.values={{{', '.join(f'{label}: {value}' for label, value in VALUES.items())}}}"
    return run_here(*labelled, values, f"store={place}/store", f"run_dir={place}/run")


@pytest.fixture(scope="module")
def model(trained):
    file = read_gru(f"{trained.path}/exports/gru.safetensors")
    return TrainedGRU(GRUDescription(**file.description), file.weights)


@pytest.fixture(scope="module")
def parts():
    """Every tenth text is held out."""
    split = [TEXTS[at] for at in range(len(TEXTS)) if at % 10 != 9], TEXTS[9::10], UNSEEN
    return {name: LabelledTexts(*zip(*rows, strict=True)) for name, rows in zip(PARTS, split, strict=True)}


PARTS = ("training", "development", "test")


def test_every_tenth_text_is_held_out_and_teaches_no_word(trained, model):
    numbers = {row["part"]: row["num_texts"] for row in trained.rows("evaluation")}
    assert numbers == {"training": 45, "development": 5, "test": 3}
    assert set(model.description.vocabulary) == {"this", "is", *NOUNS[:-1], *LABELS}


def test_a_part_is_scored_by_its_texts_and_what_its_labels_are_worth(trained, model, parts):
    for row in trained.rows("evaluation"):
        texts, labels = parts[row["part"]]
        scores, gold = score(model, texts), np.array([VALUES[label] for label in labels])
        assert row["mean_absolute_error"] == pytest.approx(np.abs(scores - gold).mean())
        right = [is_positive == (value > 0) for is_positive, value in zip(scores > 0, gold, strict=True) if value]
        assert row["sign_agreement"] == pytest.approx(np.mean(right))
    assert model.description.values == VALUES


def test_training_is_that_of_the_seed_and_stops_by_the_development_texts(trained, model, parts):
    again = train(parts["training"], parts["development"], VALUES, GRUConfig(**SETTINGS), 5)
    for name, weight in again.weights.items():
        assert model.weights[name] == pytest.approx(weight, abs=1e-4)
    history = [{"epoch": number} | epoch._asdict() for number, epoch in enumerate(again.description.history, 1)]
    for row, epoch in zip(trained.rows("training"), history, strict=True):
        assert row == pytest.approx(epoch, abs=1e-4)


@pytest.mark.slow
def test_its_file_scores_sentences(trained, run_job, tmp_path):
    people = tmp_path / "turns.csv"
    rows = ["this film is good,male", "this film is bad,female", "this book is good,male", "this cup is bad,female"]
    people.write_text("\n".join(["text,gender", *rows]))
    outcome = run_job(
        *("job=sentiment_rating", "translator=[]", "sentiment=gru", "rating.num_resamples=0", "sentences=file"),
        *(f"sentences.path={people}", "sentences.columns.gender=gender", f"store={tmp_path}/store"),
        *(f"run_dir={tmp_path}/run", f"sentiment.gru.path={trained.path}/exports/gru.safetensors"),
    )
    assert [row["sentiment"] > 0 for row in outcome.rows("scores")] == [True, False, True, False]
    [raw] = outcome.rows("raw_scores")
    assert (raw["measure"], raw["rejections_95"], raw["raw_score_low"]) == ("wrs", 1, None)


def test_labels_without_a_value_and_files_without_a_column_are_refused(configured, labelled, run_here, tmp_path):
    with pytest.raises(ConfigError, match=r"labelled.values=-2"):
        configured(*labelled, "labelled.values={0: -2, 1: 1}")
    with pytest.raises(InputError, match=r"labelled.path: .* has no column 'words'; its columns are 'column_1', "):
        run_here(*labelled, "labelled.text=words", f"store={tmp_path}")
