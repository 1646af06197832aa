"""Each tutorial is run as it is written, in an empty folder, and prints what it says."""

import doctest
import subprocess
import sys

import pytest

from tests.docs.pages import ROOT, Block, Page
from tests.docs.test_runs import in_shell

TUTORIALS = {path.stem: Page(path) for path in sorted(ROOT.glob("docs/tutorials/*.md"))}
LONGEST_LINES = 150
_OUTPUT = "output"
"""The language of a block that says what the one before it prints; `...` stands for anything."""


def follow(page: Page, folder) -> int:
    """Do what a page says, block by block; returns how many outputs were compared.

    Raises:
        AssertionError: for a block that fails, or prints what the page does not say.
    """
    printed, num_compared = "", 0
    for block in page.blocks:
        if block.language == _OUTPUT:
            assert agree(block.text, printed), f"{page.name}: {block.text}\n--- printed:\n{printed}"
            num_compared += 1
        elif block.caption:
            (folder / block.caption).write_text(block.text, encoding="utf-8")
        else:
            printed = done(block, folder)
    return num_compared


def agree(shown: str, printed: str) -> bool:
    """Whether a text has been printed, but for spaces and what three dots stand for."""
    return doctest.OutputChecker().check_output(shown, printed, doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)


def done(block: Block, folder) -> str:
    """What a block prints."""
    if block.language == "sh":
        return in_shell(folder, f"set -eo pipefail\n{block.text}")
    assert block.language == "python", f"{block.page}: a block is sh, python, {_OUTPUT}, or a file named before it"
    command = [sys.executable, "-c", block.text]
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, f"{block.page}: {block.text}\n{ended.stderr}"
    return ended.stdout


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", TUTORIALS)
def test_a_tutorial_does_what_it_says(name, tmp_path):
    assert follow(TUTORIALS[name], tmp_path) > 0


@pytest.mark.parametrize("name", TUTORIALS)
def test_a_tutorial_is_three_screens_at_most_and_stands_alone(name):
    page = TUTORIALS[name]
    assert len(page.text.splitlines()) <= LONGEST_LINES
    assert {block.language for block in page.blocks if not block.caption} == {"sh", "python", _OUTPUT}


def page_of(text: str, folder) -> Page:
    page = Page.__new__(Page)
    page.name, page.text, page.path = "tutorial", text, folder / "tutorial.md"
    return page


def test_files_are_written_commands_run_and_outputs_compared(tmp_path):
    text = (
        "`note.txt`:\n\n```text\n3 words here\n```\n\n"
        "```sh\ncat note.txt; echo 0.25\n```\n\n```output\n3 ... here\n0.25\n```\n"
    )
    assert follow(page_of(text, tmp_path), tmp_path) == 1


@pytest.mark.parametrize(
    "text",
    [
        "```sh\necho 0.25\n```\n\n```output\n0.26\n```\n",
        "```sh\nfalse | cat\n```\n",
        "```python\nassert False\n```\n",
        "```text\ntiltmeter\n```\n",
    ],
)
def test_a_page_that_does_not_say_what_comes_is_noticed(text, tmp_path):
    with pytest.raises(AssertionError):
        follow(page_of(text, tmp_path), tmp_path)
