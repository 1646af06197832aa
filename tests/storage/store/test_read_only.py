"""A store that is only read: nothing is written into it, by whatever way."""

import pyarrow as pa
import pytest

from tests.fixtures.plans import contents
from tests.fixtures.stores import damage
from tiltmeter.storage.store import accounts
from tiltmeter.storage.store.ledger import Unit
from tiltmeter.storage.store.pruning import remove, stored_units
from tiltmeter.storage.store.read_only import ReadOnlyStore, WriteRefused
from tiltmeter.storage.store.registry import Registry

DONE, MISSING = (Unit("count/1", name, {"name": name}) for name in ("done", "missing"))
TABLE = pa.table({"n": [1, 2]})


def spend(store, account, entry):
    accounts.enter(store, account, entry, {"epsilon": 1.0}, lambda _: True)


@pytest.fixture
def written(store):
    store.commit(DONE, [("numbers", TABLE)])
    store.save_state(MISSING, {"n": TABLE["n"].to_numpy()})
    Registry(store).enter("survey", "nightly", run_dir="/gone", settings={}).uses([DONE.place])
    spend(store, "people", "first")
    return store


def test_it_finds_and_reads_what_there_is(written):
    store = ReadOnlyStore(written.root)
    assert store.find(MISSING) is None
    assert store.read(store.find(DONE).tables["numbers"]).equals(TABLE)
    assert [run.job for run in Registry(store).runs()] == ["survey"]
    assert store.load_state(MISSING)["n"].tolist() == [1, 2]


@pytest.mark.parametrize(
    "write",
    [
        lambda store: store.commit(MISSING, [("numbers", TABLE)]),
        lambda store: store.save_state(MISSING, {"n": TABLE["n"].to_numpy()}),
        lambda store: remove(store, stored_units(store)[0]),
        lambda store: Registry(store).enter("survey", "other", run_dir="/gone", settings={}),
        lambda store: spend(store, "people", "second"),
        lambda store: spend(store, "others", "first"),
    ],
    ids=["unit", "state", "removal", "run", "account", "new account"],
)
def test_whatever_would_write_is_refused_and_leaves_it_as_it_was(written, write):
    before = contents(written.local_path)
    with pytest.raises(WriteRefused, match="nothing may be written into a store that is only read"):
        write(ReadOnlyStore(written.root))
    assert contents(written.local_path) == before


def test_it_sweeps_nothing_and_makes_no_folder(written, tmp_path):
    assert ReadOnlyStore(written.root).clean_up() == 0
    assert ReadOnlyStore(str(tmp_path / "nowhere")).find(DONE) is None
    assert not (tmp_path / "nowhere").exists()


def test_a_damaged_unit_stays_in_the_ledger(written):
    store = ReadOnlyStore(written.root)
    ref = store.find(DONE).tables["numbers"]
    damage(written.local_path / f"units/{DONE.place}/numbers.parquet", lambda content: b"x" * len(content))
    with pytest.raises(WriteRefused):
        store.read(ref)
    assert written.find(DONE)
