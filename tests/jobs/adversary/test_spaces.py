"""How many candidates a word has along controls, where it may have no more than along gender."""

import polars as pl

from tiltmeter.jobs.adversary.spaces import equalised

COLUMNS = ("direction", "control", "replica", "word", "rank", "candidate")


def near(*rows):
    return pl.DataFrame(rows, schema=COLUMNS, orient="row")


def test_controls_keep_the_nearest_as_many_as_gender_has():
    gender = [("pair_to_female", -1, 0, "king", 0, "queen"), ("pair_to_female", -1, 0, "king", 3, "lady")]
    kept = [("pair_to_female", 5, 0, "king", 1, "duke"), ("pair_to_female", 5, 0, "king", 2, "crown")]
    others = [("pair_to_male", -1, 0, "river", 0, "bank"), ("pair_to_female", -1, 1, "river", 0, "lake")]
    cut = [("pair_to_female", 5, 0, "king", 3, "ship"), ("pair_to_female", 6, 0, "river", 0, "sea")]
    rows = near(*gender, *cut[:1], *kept, *others, *cut[1:])
    assert set(equalised(rows).rows()) == {*gender, *kept, *others}
    assert equalised(rows).columns == list(COLUMNS)


def test_a_control_with_fewer_keeps_what_it_has():
    rows = near(
        ("pair_to_male", -1, 0, "a", 0, "b"), ("pair_to_male", -1, 0, "a", 1, "c"), ("pair_to_male", 0, 0, "a", 1, "d")
    )
    assert equalised(rows).sort("control", "rank").rows() == rows.rows()
