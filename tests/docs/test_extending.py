"""The worked example of docs/extending.md is the package that it shows: installed, run, killed and taken up again."""

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
PACKAGE = ROOT / "examples/word_lengths"
TEXTS = 'text\na bc def\n"!"\nlonger words\n'
WORDS = ["job=word_lengths", "path=texts.csv", "job.unit_texts=2", "run_dir=lengths", "store=store"]
MOST_FILES, MOST_LINES = 6, 120


def test_the_page_shows_the_package_and_a_job_costs_few_lines():
    shown = {block.caption: block.text for block in PAGE.blocks if block.caption}
    ours = {str(path.relative_to(ROOT)): path.read_text() for path in PACKAGE.rglob("*.*") if "cache" not in str(path)}
    written = {name: text for name, text in ours.items() if text}
    assert shown == written
    assert len(ours) <= MOST_FILES
    assert sum(text.count("\n") for text in ours.values()) <= MOST_LINES


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The example as a wheel of its own, built and installed into a folder."""
    folder = tmp_path_factory.mktemp("site")
    source = shutil.copytree(PACKAGE, folder / "source", ignore=shutil.ignore_patterns("__pycache__"))
    wheels = ["wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder), str(source)]
    subprocess.run([sys.executable, "-m", "pip", *wheels], check=True)
    [wheel] = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(folder / "site")
    return folder / "site"


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
