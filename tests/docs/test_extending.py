"""The worked example of docs/extending.md does what the page says, word by word."""

import doctest
import os
import shutil
import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
import yaml

from tests.docs.pages import PAGES, ROOT, Block

PACKAGES = ("cluster", "conf", "jobs", "operators", "storage")
FILES = {block.caption: block for block in PAGES["docs/extending.md"].blocks if block.caption}
TEXTS = 'text\na bc def\n"!"\nlonger words\n'


def module(name: str) -> types.ModuleType:
    """The module that a block of the page would be, without a place in ``sys.modules``."""
    found = types.ModuleType(name)
    exec(compile(FILES[f"{name.replace('.', '/')}.py"].text, name, "exec"), vars(found))
    return found


def edited(text: str, edits: Block) -> str:
    """A file after the lines that a block adds, each behind the line that stands before it in the block."""
    before = ""
    for line in edits.text.splitlines():
        if line.startswith("+"):
            assert text.count(f"\n{before}\n") == 1, f"{edits.caption}: {before!r}"
            text = text.replace(f"\n{before}\n", f"\n{before}\n{line[1:]}\n")
        before = line[1:]
    return text


def test_its_operator_keeps_its_word():
    operator = module("operators.word_lengths")
    examples = doctest.DocTestFinder().find(operator.mean_word_lengths, globs=vars(operator))
    assert [doctest.DocTestRunner().run(example).failed for example in examples] == [0]
    of_none = operator.mean_word_lengths([], None)
    assert (of_none.shape, of_none.dtype) == ((0,), np.float64)


def test_its_settings_suit_its_config_and_its_lines_have_a_place():
    settings = yaml.safe_load(FILES["conf/job/word_lengths.yaml"].text)
    config = module("jobs.word_lengths_config")
    run = config.WordLengthsRun(cluster={}, job=settings["job"], texts=settings["texts"] | {"path": "texts.csv"})
    assert (run.job.unit_texts, run.texts.text, run.texts.language) == (1000, "text", "en")
    for name in ("jobs/runtime/execute.py", "jobs/runtime/composition.py"):
        after = edited((ROOT / name).read_text(), FILES[name])
        compile(after, name, "exec")
        assert after.count("\n") == (ROOT / name).read_text().count("\n") + 3


@pytest.fixture
def checkout(tmp_path):
    """A copy of the packages, with the example in it."""
    for name in PACKAGES:
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name, block in FILES.items():
        place = tmp_path / name
        place.write_text(edited(place.read_text(), block) if block.language == "diff" else block.text)
    return tmp_path


@pytest.mark.slow
def test_it_runs_and_reuses_its_units(checkout):
    (checkout / "texts.csv").write_text(TEXTS)
    [command] = [line for line in PAGES["docs/extending.md"].commands if line.is_ours]
    assert "3 units done, 0 reused, 0 failed" in run(checkout, command.arguments)
    table = pq.read_table(checkout / "lengths/word_lengths.parquet")
    assert table["row"].to_pylist() == [0, 1, 2]
    assert table["mean_length"].to_pylist() == [2.0, None, 5.5]
    assert table["status"].to_pylist() == ["ok", "no_word", "ok"]
    assert "2 texts have words." in (checkout / "lengths/report.html").read_text()
    assert "0 units done, 3 reused, 0 failed" in run(checkout, command.arguments)
    (checkout / "texts.csv").write_text(TEXTS + "one more\n")
    assert "2 units done, 1 reused, 0 failed" in run(checkout, command.arguments)


def run(place: Path, arguments: list[str]) -> str:
    """Run the command of the copy; returns what it said."""
    command = [sys.executable, "-m", "tiltmeter.jobs.app", *arguments, "cluster.num_cpus=1"]
    environment = os.environ | {"PYTHONPATH": str(place)}
    done = subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_its_test_passes(checkout):
    """The page's own test, with the suite's fixtures, in the copy."""
    for name in ("tests/conftest.py", "tests/jobs/conftest.py"):
        (checkout / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, checkout / name)
    shutil.copytree(ROOT / "tests/fixtures", checkout / "tests/fixtures")
    (checkout / "pyproject.toml").write_bytes((ROOT / "pyproject.toml").read_bytes())
    [text] = [block.text for block in PAGES["docs/extending.md"].blocks if "def test_texts_keep" in block.text]
    (checkout / "tests/jobs/test_word_lengths.py").write_text(text)
    command = [sys.executable, "-m", "pytest", "tests/jobs/test_word_lengths.py"]
    environment = os.environ | {"PYTHONPATH": str(checkout)}
    done = subprocess.run(command, cwd=checkout, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
