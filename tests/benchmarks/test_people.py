"""Records of people that are made by rule have the sizes, the errors and the truth that the rule says."""

import numpy as np
import polars as pl
import pytest

from benchmarks.resolution.people import _DIGITS, FIELDS, MISSING, OTHER, _edited, make_people

NUM = 30_000


@pytest.fixture(scope="module")
def people():
    """Records beside their true clusters."""
    records, gold = make_people(NUM, seed=3)
    assert records.columns == ["id", *FIELDS]
    return records, gold, records.join(gold, left_on="id", right_on="record", validate="1:1")


@pytest.mark.long
def test_a_seed_makes_the_same_records_and_another_seed_others(people):
    again, other = make_people(NUM, seed=3), make_people(NUM, seed=4)
    assert again[0].equals(people[0])
    assert again[1].equals(people[1])
    assert not other[0]["surname"].equals(people[0]["surname"])


def test_sizes_fall_as_a_power_of_themselves(people):
    # k^-1.5 over 1..12: of all persons 48.8 % have one record, 17.3 % two; 2.74 records on average.
    sizes = people[1].group_by("cluster").len()["len"]
    assert len(people[1]) / len(sizes) == pytest.approx(2.74, rel=0.03)
    assert (sizes == 1).mean() == pytest.approx(0.488, abs=0.015)
    assert (sizes == 2).mean() == pytest.approx(0.173, abs=0.012)
    assert sizes.max() == 12


def test_as_much_is_missing_as_is_said(people):
    for name, share in MISSING.items():
        assert people[0][name].is_null().mean() == pytest.approx(share, abs=0.01), name


def test_neither_ids_nor_rows_say_who_is_who(people):
    table = people[2]
    beside = (table["cluster"] == table["cluster"].shift(1)).sum()
    by_id = table.sort("id")
    assert beside + (by_id["cluster"] == by_id["cluster"].shift(1)).sum() < 20  # 2 x 30,000 x 5 / 30,000 expected
    assert abs(np.corrcoef(table["id"].cast(pl.Int64), table["cluster"].cast(pl.Int64))[0, 1]) < 0.02


def test_records_of_a_person_agree_where_they_have_no_error(people):
    pairs = people[2].join(people[2], on="cluster", suffix="_r").filter(pl.col("id") < pl.col("id_r"))
    same_phone = (pairs["phone"] == pairs["phone_r"]).mean()
    as_said = ((1 - OTHER["phone"]) ** 2 + OTHER["phone"] ** 2) * (1 - 0.04) ** 2
    assert same_phone == pytest.approx(as_said, abs=0.02)
    strangers = people[0]["phone"] == people[0]["phone"].shift(1)
    assert strangers.mean() < 0.001


def test_an_edit_is_one_of_four():
    edited = set(_edited(np.random.default_rng(0), pl.Series(["ab"] * 2_000), _DIGITS))
    kinds = {"a", "b", "ba", "ab"} | {f"{d}b" for d in "0123456789"} | {f"a{d}" for d in "0123456789"}
    assert edited == kinds | {f"{d}ab" for d in "0123456789"} | {f"a{d}b" for d in "0123456789"}
