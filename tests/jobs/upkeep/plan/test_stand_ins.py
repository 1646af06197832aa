"""Tables that are not made yet: what is known of them, and what depends on them."""

import pyarrow as pa
import pytest

from tiltmeter.jobs.upkeep.plan.stand_ins import NotMadeYet, PlanningStore, stand_in
from tiltmeter.storage.store.ledger import Store, Unit

MISSING = Unit("merge/3", "en tiles", {"replicas": 3})


def reading(ref, **config):
    return Unit("train/1", "", config, {"pairs": [ref]})


@pytest.fixture
def store(tmp_path):
    return Store(str(tmp_path / "store"))


@pytest.fixture
def made(store):
    """The same unit of two replicas."""
    table = pa.table({"name": [5, 6], "count_1": [1, 2], "count_2": [3, 4]})
    return store.commit(Unit("merge/3", "en tiles", {"replicas": 2}), [("pairs", table)])


def test_columns_that_an_earlier_run_made_are_the_same_and_others_are_new(made):
    table, twin = stand_in(MISSING, made).tables["pairs"], made.tables["pairs"]
    assert reading(table.select("name", "count_2")).place == reading(twin.select("name", "count_2")).place
    third = reading(table.select("name", "count_3"))
    assert third.place not in {reading(twin.select("name", column)).place for column in ("count_1", "count_2")}
    # The whole has more columns than its twin.
    assert reading(table).place != reading(twin).place
    assert table.num_rows == table.select("name").num_rows == 2
    assert list(stand_in(MISSING, made).tables) == ["pairs"]


def test_what_nobody_has_made_has_a_place_and_nothing_else():
    tables = stand_in(MISSING, None).tables
    one, other = (reading(tables[name].select("word")) for name in ("words", "others"))
    assert one.place != other.place
    assert one.place == reading(stand_in(MISSING, None).tables["words"].labelled(corpus="en").select("word")).place
    with pytest.raises(NotMadeYet, match="how many rows the table words will have"):
        _ = tables["words"].num_rows
    for ask in (lambda: list(tables), lambda: len(tables), lambda: sorted(tables.items())):
        with pytest.raises(NotMadeYet, match="how many tables its units will have"):
            ask()


def test_only_the_twin_can_be_read_as_far_as_it_goes(store, made):
    planning, table = PlanningStore(store.root), stand_in(MISSING, made).tables["pairs"]
    assert planning.read(table.select("count_2"))["count_2"].to_pylist() == [3, 4]
    with pytest.raises(NotMadeYet, match="what will be in the table pairs"):
        planning.read(table.select("count_3"))
    with pytest.raises(NotMadeYet, match="what will be in the table words"):
        planning.read(stand_in(MISSING, None).tables["words"])
    assert planning.read(made.tables["pairs"]).num_rows == 2
