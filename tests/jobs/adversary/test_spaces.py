"""How many candidates a word has along controls: as many likely ones as along gender, and as frequent ones."""

import polars as pl

from tiltmeter.jobs.adversary.spaces import equalised

COLUMNS = ("row", "direction", "control", "replica", "position", "rank", "candidate", "is_likely")
COUNTS = pl.DataFrame({"word": ["queen", "grand", "crown", "sea", "duke", "tall"], "count": [100, 7, 90, 1, 120, 6]})


def options(*rows):
    return pl.DataFrame(rows, schema=COLUMNS, orient="row")


def test_controls_keep_as_many_likely_words_as_gender_has_at_a_place():
    gender = [
        (0, "pair_to_female", -1, 0, 4, 0, "queen", True),
        (0, "pair_to_female", -1, 0, 4, 1, "lady", False),
        (0, "pair_to_female", -1, 0, 5, 0, "grand", True),
        (0, "pair_to_female", -1, 0, 5, 1, "queen", True),
        (0, "pair_to_male", -1, 0, 4, 1, "bank", False),
        (0, "pair_to_male", -1, 1, 4, 0, "lake", True),
    ]
    kept = [
        (0, "pair_to_female", 5, 0, 4, 3, "crown", True),
        (0, "pair_to_female", 5, 0, 5, 1, "tall", True),
        (0, "pair_to_female", 5, 0, 5, 3, "duke", True),
        (0, "pair_to_female", 6, 0, 4, 0, "unseen", True),
    ]
    cut = [
        (0, "pair_to_female", 5, 0, 4, 0, "queen", False),
        (0, "pair_to_female", 5, 0, 4, 2, "sea", True),
        (0, "pair_to_female", 5, 0, 5, 0, "sea", True),
        (1, "pair_to_female", 5, 0, 4, 0, "crown", True),
        (0, "pair_to_male", 5, 0, 4, 0, "sea", True),
    ]
    found = equalised(options(*gender, *cut, *kept), COUNTS)
    assert sorted(found.rows()) == sorted([*gender, *kept])
    assert found.columns == list(COLUMNS)


def test_of_words_as_frequent_the_nearest_is_taken():
    """Counts of capitals are those of small letters; words that the texts lack count 0."""
    along = [(0, "pair_to_male", -1, 0, 0, 0, "Queen", True)]
    near = [(0, "pair_to_male", 3, 0, 0, rank, word, True) for rank, word in enumerate(("sea", "Crown", "crown"))]
    assert equalised(options(*along, *near), COUNTS).filter(control=3)["candidate"].to_list() == ["Crown"]


def test_a_control_with_fewer_keeps_what_it_has():
    rows = options(
        (0, "pair_to_male", -1, 0, 0, 0, "b", True),
        (0, "pair_to_male", -1, 0, 0, 1, "c", True),
        (0, "pair_to_male", 0, 0, 0, 1, "d", True),
    )
    assert equalised(rows, COUNTS).sort("control", "rank").rows() == rows.rows()
