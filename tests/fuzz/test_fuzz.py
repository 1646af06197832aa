"""Each reader on 300 mutated files; ``make fuzz`` tries 10,000."""

import resource
import shutil
from pathlib import Path
from random import Random

import pytest

from tests.fuzz.mutations import mutated
from tests.fuzz.readers import READERS, seeds_of
from tests.fuzz.trying import Finding, outcome, tried

NUM_FILES, MOST_KILOBYTES = 300, 500_000
ONCE_WRONG = sorted((Path(__file__).parent / "once_wrong").glob("*/*"))
"""Files that ended a reader, or its process, before it was repaired, in a folder of its name."""


@pytest.mark.long
@pytest.mark.parametrize("name", READERS)
def test_mutated_files_are_read_or_refused_in_a_sentence(name, tmp_path):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    results = [tried(name, number, tmp_path) for number in range(NUM_FILES)]
    assert [result for result in results if isinstance(result, Finding)] == []
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < MOST_KILOBYTES
    assert {*results} == {"read", "refused"}, "nothing is tried where all files go one way"


@pytest.mark.parametrize("path", ONCE_WRONG, ids=lambda path: f"{path.parent.name} {path.stem}")
def test_what_was_found_is_repaired(path, tmp_path):
    assert outcome(path.parent.name, Path(shutil.copy(path, tmp_path))) in ("read", "refused")


@pytest.mark.parametrize("name", READERS)
def test_files_that_mutations_begin_with_are_read(name, tmp_path):
    for number, seed in enumerate(READERS[name].seeds):
        path = tmp_path / f"seed{number}{READERS[name].endings[0]}"
        path.write_bytes(seed)
        READERS[name].read(str(path))


def test_mutations_are_the_same_for_the_same_draw():
    assert mutated(Random(1), seeds_of("csv")) == mutated(Random(1), seeds_of("csv"))


def test_a_reader_that_fails_is_noticed(tmp_path, monkeypatch):
    def read(path):
        raise KeyError(path)

    monkeypatch.setitem(READERS, "csv", READERS["csv"]._replace(read=read))
    assert tried("csv", 0, tmp_path).place.startswith("KeyError in test_fuzz.py")
