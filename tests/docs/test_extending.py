"""The examples of docs/extending.md are the packages that it shows: installed, run, killed and taken up again."""

import os
import shutil
import signal
import subprocess
import sys
import zipfile
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from tenacity import retry, retry_if_result, stop_after_delay, wait_fixed

from tests.docs.pages import PAGES, ROOT

PAGE = PAGES["docs/extending.md"]
PACKAGES = {name: ROOT / "examples" / name for name in ("word_lengths", "additions")}
TEXTS = 'text\na bc def\n"!"\nlonger words\n'
WORDS = ["job=word_lengths", "path=texts.csv", "job.unit_texts=2", "run_dir=lengths", "store=store"]
MOST_FILES, MOST_LINES, MOST_LINES_OF_ADDITION = 6, 120, 60


def files(package: str) -> dict[str, str]:
    """Contents of its files by path."""
    paths = [path for path in PACKAGES[package].rglob("*.*") if "cache" not in str(path)]
    return {str(path.relative_to(ROOT)): path.read_text() for path in paths}


def test_the_page_shows_the_packages_and_a_job_costs_few_lines():
    shown = {block.caption: block.text for block in PAGE.blocks if block.caption}
    job, additions = map(files, PACKAGES)
    assert shown == {name: text for name, text in (job | additions).items() if text}
    assert len(job) <= MOST_FILES
    assert sum(text.count("\n") for text in job.values()) <= MOST_LINES
    assert max(text.count("\n") for text in additions.values()) <= MOST_LINES_OF_ADDITION


def installed(package: str, folder: Path) -> Path:
    """A package as a wheel of its own, built and installed into a folder."""
    source = shutil.copytree(PACKAGES[package], folder / "source", ignore=shutil.ignore_patterns("__pycache__"))
    wheels = ["wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder), str(source)]
    subprocess.run([sys.executable, "-m", "pip", *wheels], check=True)
    [wheel] = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(folder / "site")
    return folder / "site"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The job, installed."""
    return installed("word_lengths", tmp_path_factory.mktemp("site"))


@pytest.fixture
def place(site, tmp_path):
    """A folder with the package, as workers look for packages where the command is started, and with texts."""
    shutil.copytree(site, tmp_path, dirs_exist_ok=True)
    (tmp_path / "texts.csv").write_text(TEXTS)
    return tmp_path


def start(place: Path, words: list[str]) -> subprocess.Popen:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, [place, ROOT / "src"]))}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen([sys.executable, "-m", "tiltmeter.jobs.app", *words], cwd=place, env=environment, **pipes)


def run(place: Path, words: list[str]) -> str:
    """What the command said."""
    with start(place, words) as process:
        output, errors = process.communicate()
    assert process.returncode == 0, errors
    return output


def check_results(directory: Path) -> None:
    table = pq.read_table(directory / "word_lengths.parquet")
    assert table["row"].to_pylist() == [0, 1, 2]
    assert table["mean_length"].to_pylist() == [2.0, None, 5.5]
    assert table["status"].to_pylist() == ["ok", "no_word", "ok"]
    page = (directory / "report.html").read_text()
    assert "2 texts of 3 have words." in page
    assert "no_word" in page


def test_a_job_of_another_package_is_installed_run_and_shown(place, joining):
    assert "3 units done, 0 reused, 0 failed" in run(place, [*WORDS, *joining])
    check_results(place / "lengths")
    assert "0 units done, 3 reused, 0 failed" in run(place, [*WORDS, *joining])
    (place / "texts.csv").write_text(TEXTS + "one more\n")
    assert "2 units done, 1 reused, 0 failed" in run(place, [*WORDS, *joining])


def test_it_goes_on_where_it_was_killed(place, joining):
    (place / "texts.csv").write_text("text\n" + "a bc def\n" * 200)
    words = [*WORDS, *joining, "job.unit_texts=1"]
    with start(place, words) as process:
        measured = place / "store/ledger/word_lengths"
        wait = retry(retry=retry_if_result(lambda num: num < 3), wait=wait_fixed(0.05), stop=stop_after_delay(240))
        wait(lambda: len(list(measured.rglob("*.json"))))()
        process.send_signal(signal.SIGKILL)
    num_kept = len(list((place / "store/ledger").rglob("*.json")))
    assert 4 <= num_kept < 201
    output = run(place, words)
    [counts] = [line for line in output.splitlines() if " units done, " in line]
    done, _, _, reused, *_ = counts.split()
    assert (int(done) + int(reused), int(reused) >= num_kept) == (201, True)
    assert pq.read_table(place / "lengths/word_lengths.parquet").num_rows == 200


# Three of the four flowers and one of the four insects lie nearer to what is good.
VECTORS = """14 2
rose 1 0.1
tulip 1 0.2
lily 1 0.3
thistle 0.1 1
ant 0.1 1
wasp 0.2 1
flea 0.3 1
bee 1 0.1
love 1 0
peace 1 0
war 0 1
pain 0 1
she 1 1
he 1 1
"""
SETS = {
    "target_x": ["rose", "tulip", "lily", "thistle"],
    "target_y": ["ant", "wasp", "flea", "bee"],
    "attribute_a": ["love", "peace"],
    "attribute_b": ["war", "pain"],
}
CAPTIONS = """1
00:00:01,000 --> 00:00:02,000
A rose for love.

2
00:00:03,000 --> 00:00:04,000
No wasp, no pain.
"""


def test_a_measure_a_reader_and_a_classifier_of_another_package(joining, tmp_path):
    place = tmp_path / "place"
    shutil.copytree(installed("additions", tmp_path), place)
    (place / "v.txt").write_text(VECTORS)
    sides = ",".join(f"{side}:{{name:{side},words:[{','.join(words)}]}}" for side, words in SETS.items())
    sets = [
        "~wordset.en.associations",
        "~wordset.en.wefats",
        f"+wordset.en.associations={{plants:{{{sides},source:ours}}}}",
    ]
    words = ["embedding=file", "embedding.path=v.txt", "embedding.format=word2vec_text", "embedding.language=en"]
    words += [*sets, "measures=[nearest_share]", "run_dir=measured", "store=store"]
    run(place, ["job=association", *words, *joining])
    [row] = pq.read_table(place / "measured/measures.parquet").to_pylist()
    assert (row["measure"], row["query"], row["value"], row["num_words"]) == ("nearest_share", "plants", 0.5, 12)
    assert row["p_value"] == pytest.approx(34 / 70), "of four near A and four near B, two and two in X is what is less"
    assert (
        "nearest share: a larger value says that more of the words of X" in (place / "measured/report.html").read_text()
    )

    for number in range(3):
        (place / "films").mkdir(exist_ok=True)
        (place / f"films/{number}.srt").write_text(CAPTIONS * 4 + f"A film of {number}.")
    words = ["corpus=file", "corpus.path=films", "corpus.format=subtitles", "corpus.language=en", "run_dir=read"]
    words += ["embedding.num_replicas=2", "embedding.trainer.epochs=1", "embedding.trainer.dimensions=2", "store=store"]
    run(place, ["job=bootstrap", *words, *joining])
    [corpus] = pq.read_table(place / "read/corpora.parquet").to_pylist()
    assert (corpus["num_articles"], corpus["num_tokens"]) == (3, 3 * (4 * 8 + 4))

    (place / "said.csv").write_text("text,gender\nI am glad.,male\nsad and angry,male\nso so,female\n")
    words = ["sentiment=[package]", "sentiment.package.name=keywords", "sentences=file", "sentences.path=said.csv"]
    worth = "kind:package,name:keywords,device:auto,labels:{negative:-0.5,positive:1}"
    words += [f"+sentiment.{score}={{{worth},score:{score}}}" for score in ("top", "confidence")]
    words += ["sentences.columns.gender=gender", "translator=[]", "run_dir=rated", "store=store"]
    run(place, ["job=sentiment_rating", *words, *joining])
    scores: dict[str, list[float]] = {}
    for row in pq.read_table(place / "rated/scores.parquet").to_pylist():
        scores.setdefault(row["system"], []).append(row["sentiment"])
    assert scores["package"] == pytest.approx([2 / 3 - 1 / 3, 1 / 4 - 3 / 4, 0.0])
    assert scores["top"] == pytest.approx([1.0, -0.5, -0.5]), "the first class in a tie"
    assert scores["confidence"] == pytest.approx([2 / 3, -0.5 * 3 / 4, -0.5 / 2])


@pytest.mark.slow
def test_its_test_passes(site, tmp_path):
    """The page's own test, with the suite's fixtures."""
    shutil.copytree(site, tmp_path, dirs_exist_ok=True)
    shutil.copytree(ROOT / "tests/fixtures", tmp_path / "tests/fixtures")
    plugins = ("tests/conftest.py", "tests/choices.py", "tests/golden/tables.py", "tests/jobs/conftest.py")
    for name in (*plugins, "pyproject.toml"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    [text] = [block.text for block in PAGE.blocks if "def test_texts_keep" in block.text]
    (tmp_path / "tests/jobs/test_word_lengths.py").write_text(text)
    command = [sys.executable, "-m", "pytest", "tests/jobs/test_word_lengths.py"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, [tmp_path, ROOT / "src"]))}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
