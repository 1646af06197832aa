"""Files that candidates are found by: word lists of two columns, and vectors, which are no table."""

import pytest

from tiltmeter.jobs.adversary.config import find_sources
from tiltmeter.storage.bad_records import collected
from tiltmeter.storage.errors import InputError


def test_vectors_that_neighbours_are_taken_from(configured, adversary, tmp_path):
    path = tmp_path / "fitted.txt"
    path.write_text("man 1 0.5\nwoman 1 x\nfilm 2 0.25\n")
    config = configured(*adversary, f"candidates.neighbour_vectors={path}")
    with collected() as bad:
        lists = find_sources(config).lists.files
    assert lists["neighbour_vectors"].uri == str(path)
    assert set(lists) == {"neighbour_vectors", "antonyms", "parts_of_speech", "synonyms"}
    assert [(row["reason"], row["first"]) for row in bad.rows() if row["file"] == str(path)] == [
        ("a field that is no number", "line 2")
    ]
    with pytest.raises(InputError, match=r"candidates\.neighbour_vectors.*missing"):
        find_sources(configured(*adversary, "candidates.neighbour_vectors=missing"))
