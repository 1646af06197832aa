import pytest

from tiltmeter.storage.errors import StorageError
from tiltmeter.storage.store.accounts import enter
from tiltmeter.storage.store.ledger import Store


@pytest.fixture
def store(tmp_path):
    return Store(str(tmp_path))


def test_entries_add_up_until_the_limit(store):
    assert enter(store, "people", "a", 2.0, 5.0) == (2.0, True)
    assert enter(store, "people", "b", 3.0, 5.0) == (5.0, True)
    assert enter(store, "people", "c", 0.5, 5.0) is None
    assert enter(store, "people", "c", 0.5, 6.0) == (5.5, True)


def test_an_entry_counts_once_however_often_it_is_made(store):
    assert [enter(store, "people", "a", 2.0, 3.0) for _ in range(3)] == [(2.0, True), (2.0, False), (2.0, False)]


def test_what_is_turned_down_is_not_spent(store):
    assert enter(store, "people", "a", 9.0, 3.0) is None
    assert enter(store, "people", "b", 3.0, 3.0) == (3.0, True)


def test_accounts_know_nothing_of_each_other(store):
    enter(store, "people", "a", 3.0, 3.0)
    assert enter(store, "places", "a", 3.0, 3.0) == (3.0, True)


@pytest.mark.parametrize("name", ["../x", "", "a/b"])
def test_a_name_that_leads_elsewhere_is_refused(store, name):
    with pytest.raises(ValueError, match="must be letters"):
        enter(store, name, "a", 1.0, 1.0)


def test_a_damaged_entry_stops_everything(store, tmp_path):
    enter(store, "people", "a", 1.0, 9.0)
    [entry] = tmp_path.rglob("a.json")
    entry.write_text("{}")
    with pytest.raises(StorageError, match="nothing more may be"):
        enter(store, "people", "b", 1.0, 9.0)
