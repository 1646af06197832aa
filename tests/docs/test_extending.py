"""The worked example of docs/extending.md does what the page says, word by word: in the tree, and as a package."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.docs.pages import PAGES, ROOT, Block

PAGE = PAGES["docs/extending.md"]
FILES = {block.caption: block for block in PAGE.blocks if block.caption}
TEXTS = 'text\na bc def\n"!"\nlonger words\n'


def edited(text: str, edits: Block) -> str:
    """A file after the lines that a block adds, each behind the line that stands before it in the block."""
    before = ""
    for line in edits.text.splitlines():
        if line.startswith("+"):
            assert text.count(f"\n{before}\n") == 1, f"{edits.caption}: {before!r}"
            text = text.replace(f"\n{before}\n", f"\n{before}\n{line[1:]}\n")
        before = line[1:]
    return text


def test_a_job_costs_one_shared_line_and_few_of_its_own():
    shared = [block for block in FILES.values() if block.language == "diff"]
    [line] = [line for block in shared for line in block.text.splitlines() if line.startswith("+")]
    assert line.strip("+ ") == '"word_lengths": "tiltmeter.jobs.word_lengths.job:JOB",'
    own = [block for block in FILES.values() if block.language in ("python", "yaml")]
    assert len(own) <= 9
    assert sum(block.text.count("\n") for block in own) <= 140
    compile(edited((ROOT / "jobs/catalogue.py").read_text(), shared[0]), "catalogue", "exec")


@pytest.fixture
def checkout(tmp_path):
    """A copy of the package, with the example in it."""
    package = tmp_path / "tiltmeter"
    shutil.copytree(ROOT / "src/tiltmeter", package, ignore=shutil.ignore_patterns("__pycache__"))
    for name, block in FILES.items():
        place = package / name
        place.parent.mkdir(exist_ok=True)
        (place.parent / "__init__.py").touch()
        place.write_text(edited(place.read_text(), block) if block.language == "diff" else block.text)
    return tmp_path


@pytest.mark.slow
def test_it_runs_and_reuses_its_units(checkout):
    (checkout / "texts.csv").write_text(TEXTS)
    [command] = [line for line in PAGE.commands if line.is_ours]
    assert "3 units done, 0 reused, 0 failed" in run(checkout, command.arguments)
    check_results(checkout / "lengths")
    assert "0 units done, 3 reused, 0 failed" in run(checkout, command.arguments)
    (checkout / "texts.csv").write_text(TEXTS + "one more\n")
    assert "2 units done, 1 reused, 0 failed" in run(checkout, command.arguments)


def check_results(directory: Path) -> None:
    table = pq.read_table(directory / "word_lengths.parquet")
    assert table["row"].to_pylist() == [0, 1, 2]
    assert table["mean_length"].to_pylist() == [2.0, None, 5.5]
    assert table["status"].to_pylist() == ["ok", "no_word", "ok"]
    page = (directory / "report.html").read_text()
    assert "Word lengths: 3 rows, 1 of them without a result; mean length from 2.000 to 5.500 characters." in page
    assert "no_word" in page


def run(place: Path, arguments: list[str], *search_path: Path) -> str:
    """Run the command with the modules of a folder; returns what it said."""
    command = [sys.executable, "-m", "tiltmeter.jobs.app", *arguments, "cluster.num_cpus=1"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, [*search_path, place]))}
    done = subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_its_test_passes(checkout):
    """The page's own test, with the suite's fixtures, in the copy."""
    shutil.copytree(ROOT / "tests/fixtures", checkout / "tests/fixtures")
    plugins = ("tests/conftest.py", "tests/choices.py", "tests/golden/tables.py", "tests/jobs/conftest.py")
    for name in (*plugins, "pyproject.toml"):
        (checkout / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, checkout / name)
    [text] = [block.text for block in PAGE.blocks if "def test_texts_keep" in block.text]
    (checkout / "tests/jobs/test_word_lengths.py").write_text(text)
    command = [sys.executable, "-m", "pytest", "tests/jobs/test_word_lengths.py"]
    environment = os.environ | {"PYTHONPATH": str(checkout)}
    done = subprocess.run(command, cwd=checkout, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


# --- a package of one's own -----------------------------------------------------------------------------------------


@pytest.fixture
def installed(tmp_path):
    """The example as a wheel of its own, built and installed into a folder."""
    source = tmp_path / "source"
    for name, block in FILES.items():
        if block.language in ("python", "yaml"):
            place = source / foreign(name, "/")
            place.parent.mkdir(parents=True, exist_ok=True)
            (place.parent / "__init__.py").touch()
            place.write_text(foreign(block.text, "."))
    (source / "word_lengths/conf/__init__.py").touch()
    [entry_point] = [block.text for block in PAGE.blocks if block.language == "toml"]
    project = '[project]\nname = "word-lengths"\nversion = "1"\n'
    data = '[tool.setuptools.package-data]\n"word_lengths.conf" = ["**/*.yaml"]\n'
    (source / "pyproject.toml").write_text(f"{project}\n{entry_point}\n{data}")
    wheels = ["wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", str(tmp_path), str(source)]
    subprocess.run([sys.executable, "-m", "pip", *wheels], check=True)
    [wheel] = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(tmp_path / "site")
    return tmp_path / "site"


def foreign(text: str, between: str) -> str:
    """What is called by its place in Tiltmeter, called by its place in a package of its own."""
    places = {"jobs word_lengths": "word_lengths", "operators text word_lengths": "word_lengths lengths"}
    for place, own in places.items():
        for start in ("tiltmeter ", ""):
            text = text.replace(f"{start}{place}".replace(" ", between), own.replace(" ", between))
    return text.replace(f"conf{between}job", f"word_lengths{between}conf{between}job")


def test_a_job_of_another_package_is_installed_run_and_shown(installed, joining):
    # Workers of a cluster that is there look for packages where the command is started.
    (installed / "texts.csv").write_text(TEXTS)
    words = ["job=word_lengths", "path=texts.csv", "job.unit_texts=2", "run_dir=lengths", *joining]
    assert "3 units done, 0 reused, 0 failed" in run(installed, words, ROOT / "src")
    check_results(installed / "lengths")
