"""Settings that are written for files: what is seen in them, what is guessed, and that the command runs."""

import json
import random
import sys
from pathlib import Path

import polars as pl
import pytest
import yaml

from tiltmeter.jobs.app import main
from tiltmeter.jobs.upkeep.init import kinds_of, write_settings
from tiltmeter.storage.errors import Refusal

WORDS = ["good", "bad", "film", "plot", "actor", "scene", "dull", "bright", "slow", "warm", "music", "story"]
NAMES = ["Ann Abel", "Bob Barnes", "Cid Core", "Dora Dee", "Eve Eames"]
DUMP = "<mediawiki><page><title>A</title><revision><text>It rains.</text></revision></page></mediawiki>"


def written(path: Path, rows: dict) -> None:
    pl.DataFrame(rows).write_csv(path)


def twice(draw: random.Random) -> dict[str, list[str]]:
    """Records of 60 people, each twice; of the second some have a letter less, or another birthday."""
    columns: dict[str, list[str]] = {"id": [], "name": [], "city": [], "born": []}
    for number in range(120):
        person = random.Random(number // 2)
        name = f"{person.choice(NAMES)}{''.join(person.choices('aeioulmnrst', k=5))}"
        city = f"{person.choice(WORDS)}{''.join(person.choices('aeioulmnrst', k=3))}"
        is_copy = number % 2
        columns["id"].append(f"r{number}")
        columns["name"].append(name[:-1] if is_copy and draw.random() < 0.3 else name)
        columns["city"].append(city[:-1] if is_copy and draw.random() < 0.3 else city)
        columns["born"].append(
            f"19{person.randrange(50, 90)}-0{person.randrange(1, 10)}-{draw.choice([11, 11, 11, 12])}"
        )
    return columns


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with files of each kind, which a researcher would have."""
    monkeypatch.chdir(tmp_path)
    draw = random.Random(1)
    texts = [" ".join(draw.choices(WORDS, k=8)) for _ in range(60)]
    classes = [draw.choice(["pos", "neg", "neg"]) for _ in texts]
    guessed = [draw.choice(["pos", one]) for one in classes]
    written(tmp_path / "reviews.csv", {"n": range(60), "review": texts, "class": classes, "predicted": guessed})
    written(tmp_path / "labelled.csv", {"review": texts, "class": classes})
    written(tmp_path / "people.csv", twice(draw))
    written(tmp_path / "pairs.csv", {"left": ["a", "b"], "right": ["b", "c"], "weight": [1.0, -1.0]})
    for name in "ab":
        written(tmp_path / f"own_{name}.csv", {"question": [f"q{n}" for n in range(60)], "points": range(60)})
        lines = [{"doc_id": number, "acc": draw.randrange(2)} for number in range(60)]
        (tmp_path / f"log_{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        (tmp_path / f"run_{name}").mkdir()
        (tmp_path / f"run_{name}/run.json").write_text("{}")
    letters = [{"id": number, "text": text, "year": 1990 + number % 4} for number, text in enumerate(texts)]
    (tmp_path / "letters_de.jsonl").write_text("".join(json.dumps(letter) + "\n" for letter in letters))
    (tmp_path / "frwiki.xml").write_text(DUMP)
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts/one.txt").write_text("It rains.\n")
    return tmp_path


DATA = {"data.path": "reviews.csv", "data.text": "review", "data.label": "class", "data.prediction": "predicted"}
SEEN = [
    ("reviews.csv", "error_characterisation", DATA, 3),
    ("labelled.csv", "word_influence", {"data.path": "labelled.csv", "data.text": "review", "data.label": "class"}, 2),
    ("pairs.csv", "entity_resolution", {"pairs": "pairs.csv"}, 0),
    ("log_a.jsonl log_b.jsonl", "compare", {"logs.first": "log_a.jsonl", "logs.second": "log_b.jsonl"}, 0),
    ("own_a.csv own_b.csv", "compare", {"logs.item": "question", "logs.score": ["points"]}, 2),
    ("run_a run_b", "compare", {"runs": ["run_a", "run_b"]}, 0),
    ("letters_de.jsonl", "survey", {"corpus.path": "letters_de.jsonl", "corpus.language": "de"}, 1),
    ("frwiki.xml", "survey", {"corpus.name": "frwiki", "corpus.language": "fr"}, 1),
    ("texts", "survey", {"corpus.path": "texts", "corpus.language": "en"}, 1),
    (
        "people.csv",
        "entity_resolution",
        {
            "records.id": "id",
            "records.fields": {"name": {"kind": "string"}, "city": {"kind": "string"}, "born": {"kind": "date"}},
            "records.blocking": [{"name": 4}, {"city": 4}],
            "records.unlabelled": {"rules": [{"name": None, "city": None}], "recall": 0.6},
        },
        5,
    ),
]


@pytest.mark.parametrize(("paths", "job", "values", "num_guesses"), SEEN, ids=[paths for paths, *_ in SEEN])
def test_the_job_that_fits_is_chosen_and_what_is_guessed_is_marked(here, paths, job, values, num_guesses):
    said = write_settings([*paths.split(), "to=mine/main.yaml"])
    assert f"mine/main.yaml: settings for job={job}" in said
    assert said.endswith("\n  tiltmeter --config-dir mine --config-name main")
    text = (here / "mine/main.yaml").read_text()
    settings = yaml.safe_load(text)
    assert {"override job": job} in settings["defaults"]
    for key, value in values.items():
        block, _, name = key.rpartition(".")
        assert (settings[block] if block else settings)[name] == value, key
    assert sum(" # a guess" in line for line in text.splitlines()) == num_guesses
    assert any(line.lstrip().startswith("# ") and ": " in line for line in text.splitlines()[4:]), "nothing to change"


def test_columns_are_told_by_what_they_hold():
    rows = pl.DataFrame(
        {
            "key": [f"k{number}" for number in range(40)],
            "score": [number / 7 for number in range(40)],
            "day": [f"2026-01-{1 + number % 28:02}" for number in range(40)],
            "sex": [None, *(["f", "m", "m"] * 13)],
            "said": ["it rains in the afternoon"] * 40,
            "street": [f"{WORDS[number % 12]} {number // 2}" for number in range(40)],
        }
    )
    kinds = {"key": "id", "score": "number", "day": "day", "sex": "class", "said": "text", "street": "value"}
    assert kinds_of(rows) == kinds


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("", "tiltmeter init: needs a path, or two of logs or runs, and has 0; it reads corpora"),
        ("a b c", "tiltmeter init: needs a path, or two of logs or runs, and has 3; it reads corpora"),
        ("reveiws.csv", r"tiltmeter init reveiws.csv: there is no such file or folder; did you mean reviews.csv\?"),
        ("log_a.jsonl", "tiltmeter init log_a.jsonl: is a log of items; name the log of a second system"),
        (
            "program.py",
            "tiltmeter init program.py: is a table with .* of which none names records .*; it reads corpora",
        ),
        ("picture.png", "tiltmeter init picture.png: is nothing that a job reads; it reads corpora"),
        ("reviews.csv to=mine/tiltmeter.yaml", "to=mine/tiltmeter.yaml: is no name for them; name another file"),
        ("reviews.csv to=mine/reviews", "to=mine/reviews: is no name for them; name another file"),
        ("reviews.csv to=there.yaml", "to=there.yaml: is there already; name another file"),
        ("reviews.csv to=reviews.csv", "to=reviews.csv: is there already; name another file"),
    ],
)
def test_what_can_not_be_read_or_would_be_overwritten_is_refused_and_stays(here, words, message):
    (here / "program.py").write_text("import a, b\nx = 1, 2\n")
    (here / "picture.png").write_bytes(bytes([137]) + b"PNG\r\n\x1a\n" + bytes(range(256)) * 9)
    (here / "there.yaml").write_text("seed: 1\n")
    before = {path: path.read_bytes() for path in here.rglob("*") if path.is_file()}
    with pytest.raises(Refusal, match=message):
        write_settings(words.split())
    assert {path: path.read_bytes() for path in here.rglob("*") if path.is_file()} == before


@pytest.fixture
def ends(monkeypatch, capfd, hydra_restored):
    """Runs the command in this process; gives what it prints."""

    def run(*words: str) -> str:
        monkeypatch.setattr(sys, "argv", ["tiltmeter", *words])
        main()
        return capfd.readouterr().out

    return run


@pytest.mark.parametrize(
    ("paths", "more"),
    [
        ("log_a.jsonl log_b.jsonl", []),
        ("own_a.csv own_b.csv", []),
        ("people.csv", ["cluster.num_cpus=1"]),
        ("reviews.csv", ["--cfg", "job"]),
        ("labelled.csv", ["plan", "word_influence"]),
        ("letters_de.jsonl", ["plan", "survey"]),
    ],
)
def test_the_command_that_is_named_runs(here, ends, lasting_workers, paths, more):
    command = ends("init", *paths.split()).splitlines()[-1].split()
    said = ends(*command[1:], *more)
    if "--cfg" in more:
        assert "name: error_characterisation" in said
    else:
        [record] = (here / "store/runs").glob("*/*/run.json")
        assert json.loads(record.read_text())["status"] == "succeeded"
