"""The job `gru_training`: its file is a system that `sentiment_rating` takes."""

import csv
from functools import cache
from typing import NamedTuple

import numpy as np
import pytest

from tests.fixtures.pages import BROWSER
from tests.jobs.conftest import Outcome
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
NUMBERS = [(text, value) for (text, _), value in zip(TEXTS, ("1", "1", "0.5", "-1", "0") * 10, strict=True)]
PARTS = ("training", "development", "test")
CODED = ["labelled.header=false", "labelled.text=column_1", "labelled.label=column_2"]
CODED.append(f"labelled.values={{{', '.join(f'{label}: {value}' for label, value in VALUES.items())}}}")


def write(path, rows, header=()):
    path.write_text("\n".join("\t".join(row) for row in [*header, *rows]))
    return path


@pytest.fixture(scope="module")
def labelled(tmp_path_factory):
    """Settings by kind of file: with codes and without a header, of which every tenth text is held out; and with
    numbers, under a header, and a file that tells when to stop."""
    folder, header = tmp_path_factory.mktemp("labelled"), [("text", "label")]
    coded = [f"labelled.{key}={write(folder / key, rows)}" for key, rows in (("path", TEXTS), ("test", UNSEEN))]
    parts = (("path", NUMBERS[:-10]), ("development", NUMBERS[-10:]))
    plain = [f"labelled.{key}={write(folder / f'{key}.tsv', rows, header)}" for key, rows in parts]
    common = ["job=gru_training", "seed=5", *(f"gru.{name}={value}" for name, value in SETTINGS.items())]
    return {"coded": [*common, *coded, *CODED], "plain": [*common, *plain]}


class Training(NamedTuple):
    """A run, its file, and what its texts and their labels are worth by part."""

    run: Outcome
    model: TrainedGRU
    parts: dict
    values: dict


@pytest.fixture(scope="module")
def train_by(run_here, labelled, tmp_path_factory):
    held_out = [TEXTS[at] for at in range(len(TEXTS)) if at % 10 != 9], TEXTS[9::10], UNSEEN
    split = {"coded": held_out, "plain": (NUMBERS[:-10], NUMBERS[-10:])}
    values = {"coded": VALUES, "plain": {value: float(value) for _, value in NUMBERS}}

    @cache
    def train_by(kind):
        place = tmp_path_factory.mktemp(kind)
        run = run_here(*labelled[kind], f"store={place}/store", f"run_dir={place}/run")
        file = read_gru(f"{run.path}/exports/gru.safetensors")
        parts = {name: LabelledTexts(*zip(*rows, strict=True)) for name, rows in zip(PARTS, split[kind], strict=False)}
        return Training(run, TrainedGRU(GRUDescription(**file.description), file.weights), parts, values[kind])

    return train_by


@pytest.fixture(params=["coded", "plain"])
def trained(request, train_by):
    return train_by(request.param)


def test_every_tenth_text_is_held_out_and_teaches_no_word(train_by):
    assert set(train_by("coded").model.description.vocabulary) == {"this", "is", *NOUNS[:-1], *LABELS}


def test_a_part_is_scored_by_its_texts_and_what_its_labels_are_worth(trained):
    rows = {row["part"]: row for row in trained.run.rows("evaluation")}
    assert rows.keys() == trained.parts.keys()
    for part, (texts, labels) in trained.parts.items():
        scores, gold = score(trained.model, texts), np.array([trained.values[label] for label in labels])
        assert rows[part]["num_texts"] == len(texts)
        assert rows[part]["mean_absolute_error"] == pytest.approx(np.abs(scores - gold).mean())
        right = [is_positive == (value > 0) for is_positive, value in zip(scores > 0, gold, strict=True) if value]
        assert rows[part]["sign_agreement"] == pytest.approx(np.mean(right))
    assert trained.model.description.values == trained.values


@pytest.mark.once("gru_training")
def test_training_is_that_of_the_seed_and_stops_by_the_development_texts(trained):
    parts = trained.parts["training"], trained.parts["development"]
    again = train(*parts, trained.values, GRUConfig(**SETTINGS), 5)
    for name, weight in again.weights.items():
        assert trained.model.weights[name] == pytest.approx(weight, abs=1e-4)
    history = [{"epoch": number} | epoch._asdict() for number, epoch in enumerate(again.description.history, 1)]
    for row, epoch in zip(trained.run.rows("training"), history, strict=True):
        assert row == pytest.approx(epoch, abs=1e-4)


COLUMNS = {"text": "said", "gender": "who", "race": "from", "emotion": "mood", "group": "kind", "dataset": "part"}
GENDERS = {"0": None, "1": "male", "2": "female"}
PEOPLE = [
    (f"this {noun} is {word}", "0122"[at % 4], "xy"[at % 3 == 0], "joy" if word == "good" else "fear", "ab"[at % 5 > 2])
    for at, (noun, word) in enumerate((noun, word) for noun in NOUNS for word in ("good", "bad"))
]
"""What is said, by whom, and in which data set; all are of one group."""


def test_its_file_scores_sentences(train_by, run_here, tmp_path):
    trained = train_by("coded")
    path = write(tmp_path / "people.tsv", [(*person[:4], "all", person[4]) for person in PEOPLE], [COLUMNS.values()])
    file = f"{trained.run.path}/exports/gru.safetensors"
    outcome = run_here(
        *("job=sentiment_rating", "translator=[]", "rating.num_resamples=0", "sentences=file"),
        *(f"sentences.path={path}", *(f"sentences.columns.{name}={called}" for name, called in COLUMNS.items())),
        *("sentences.genders={0: null, 1: male, 2: female}", f"store={tmp_path}/store", f"run_dir={tmp_path}/run"),
        *("sentiment=gru", f"sentiment.gru.path={file}", f"+sentiment.top={{kind: gru, path: {file}, score: top}}"),
    )
    expected = [(text, GENDERS[who], race, mood, "all", part) for text, who, race, mood, part in PEOPLE]
    names = ("text", "gender", "race", "emotion", "group", "dataset")
    assert [tuple(row[name] for name in names) for row in outcome.rows("sentences")] == expected
    for system, kind in (("gru", "expected"), ("top", "top")):
        scores = score(trained.model, [text for text, *_ in PEOPLE], kind)
        assert [row["sentiment"] for row in outcome.rows("scores", system=system, status="ok")] == pytest.approx(scores)
        for row in outcome.rows("tests", system=system, protected="gender"):
            part = row["value_1"], row["dataset"]
            of = [at for at, person in enumerate(expected) if (person[1], person[5]) == part]
            assert (row["num_1"], row["mean_1"]) == (len(of), pytest.approx(scores[of].mean()))
    assert {row["protected"] for row in outcome.rows("raw_scores")} == {"gender", "race", "gender_race"}


def test_files_without_a_column_are_refused(labelled, run_here, tmp_path):
    with pytest.raises(InputError, match=r"labelled.path: .* has no column 'words'; its columns are 'column_1', "):
        run_here(*labelled["coded"], "labelled.text=words", f"store={tmp_path}")


@pytest.mark.skipif(BROWSER is None, reason="needs chromium on PATH")
def test_figures_that_are_asked_for_change_no_unit_and_have_the_numbers_of_the_training(
    train_by, run_here, labelled, tmp_path
):
    store = train_by("coded").run.path.parent / "store"
    run = run_here(*labelled["coded"], "exports.figures=true", f"store={store}", f"run_dir={tmp_path}/run")
    assert run.record["units"]["done"] == 0
    figures = tmp_path / "run/exports/figures"
    assert {path.name for path in figures.iterdir()} == {f"training-1.{ending}" for ending in ("csv", "pdf", "svg")}
    _, *rows = csv.reader((figures / "training-1.csv").read_text().splitlines()[1:])
    losses = [row["loss"] for row in run.rows("training")]
    assert [float(row[-1]) for row in rows][: len(losses)] == pytest.approx(losses, rel=1e-3)
    assert "There was no test part" not in (run.path / "methods.md").read_text()
    assert f"word vectors of {SETTINGS['dimensions']} dimensions" in (run.path / "methods.md").read_text()
