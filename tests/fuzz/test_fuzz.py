"""Each reader on 300 mutated files; ``make fuzz`` tries 10,000."""

import resource
from collections import Counter

import pytest

from tests.fuzz.mutations import mutated
from tests.fuzz.readers import READERS, seeds_of
from tests.fuzz.trying import findings

NUM_FILES, MOST_KILOBYTES = 300, 500_000


@pytest.mark.parametrize("name", READERS)
def test_mutated_files_are_read_or_refused_in_a_sentence(name, tmp_path):
    counts = Counter()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert [*findings(name, range(NUM_FILES), tmp_path, counts)] == []
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < MOST_KILOBYTES
    assert counts.total() == NUM_FILES
    assert min(counts["read"], counts["refused"]) > 0, "nothing is tried where all files go one way"


@pytest.mark.parametrize("name", READERS)
def test_files_that_mutations_begin_with_are_read(name, tmp_path):
    for ending in READERS[name].endings[:1]:
        for number, seed in enumerate(READERS[name].seeds):
            path = tmp_path / f"seed{number}{ending}"
            path.write_bytes(seed)
            READERS[name].read(str(path))


def test_mutations_are_the_same_for_the_same_draw():
    from random import Random

    assert mutated(Random(1), seeds_of("csv")) == mutated(Random(1), seeds_of("csv"))


def test_a_reader_that_fails_is_noticed(tmp_path, monkeypatch):
    def read(path):
        raise KeyError(path)

    monkeypatch.setitem(READERS, "csv", READERS["csv"]._replace(read=read))
    [first, *_] = findings("csv", range(3), tmp_path, Counter())
    assert first.place.startswith("KeyError in test_fuzz.py")
