"""What keeps one's way easy: no two files need each other, no folder is a heap, `make test` has one run of each job."""

import re
from pathlib import Path

import grimp
import pytest

import tiltmeter
from tiltmeter.jobs import catalogue

SOURCES = Path(tiltmeter.__file__).parent
MOST_MODULES = 15


def circles() -> list[list[str]]:
    """For every import that closes a circle of files, the circle: each file imports the next, the last the first."""
    graph = grimp.build_graph("tiltmeter", cache_dir=None)
    circles = {}
    for module in graph.modules:
        for imported in graph.find_modules_directly_imported_by(module):
            if way := graph.find_shortest_chain(imported, module):
                start = way.index(min(way))
                circles[frozenset(way)] = [*way[start:], *way[:start]]
    return sorted(circles.values())


def sizes(room: str) -> dict[str, int]:
    """How many modules each folder of a room has, the folder's own file aside."""
    folders = [SOURCES / room, *(path for path in (SOURCES / room).rglob("*") if path.is_dir())]
    return {folder.relative_to(SOURCES).as_posix(): len(modules(folder)) for folder in folders if modules(folder)}


def modules(folder: Path) -> set[Path]:
    return {*folder.glob("*.py")} - {folder / "__init__.py"}


def test_no_file_needs_itself_by_way_of_others():
    assert [" -> ".join(circle) for circle in circles()] == []


@pytest.mark.parametrize("room", ["cluster", "jobs", "operators", "storage"])
def test_no_folder_has_more_than_fifteen_modules(room):
    assert sizes(room)
    assert {folder: size for folder, size in sizes(room).items() if size > MOST_MODULES} == {}


def test_make_test_runs_each_job_once():
    texts = (path.read_text() for path in (Path(__file__).parent / "jobs").rglob("test_*.py"))
    marks = [mark for text in texts for mark in re.findall(r"^@pytest\.mark\.once\((.*)\)$", text, re.MULTILINE)]
    assert sorted(re.findall(r"\w+", " ".join(marks))) == sorted(catalogue.OURS)
