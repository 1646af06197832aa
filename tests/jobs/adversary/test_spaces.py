"""Which candidates a word has along controls where none is as frequent; for the rest, see :mod:`.test_by_hand`."""

import polars as pl

from tiltmeter.jobs.adversary.spaces import equalised

COLUMNS = ("row", "direction", "control", "replica", "position", "rank", "candidate", "is_likely")
COUNTS = pl.DataFrame({"word": ["queen", "grand", "crown", "sea", "duke", "tall"], "count": [100, 7, 90, 1, 120, 6]})


def options(*rows):
    return pl.DataFrame(rows, schema=COLUMNS, orient="row")


def test_of_words_as_frequent_the_nearest_is_taken():
    """Counts of capitals are those of small letters; words that the texts lack count 0."""
    along = [(0, "pair_to_male", -1, 0, 0, 0, "Queen", True)]
    near = [(0, "pair_to_male", 3, 0, 0, rank, word, True) for rank, word in enumerate(("sea", "Crown", "crown"))]
    assert equalised(options(*along, *near), COUNTS).filter(control=3)["candidate"].to_list() == ["Crown"]
