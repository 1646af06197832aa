"""What is taken for a store, and that nothing else loses a file."""

import pyarrow as pa
import pytest

from tests.fixtures.stores import files
from tiltmeter.storage.errors import StorageError
from tiltmeter.storage.store.ledger import MARK, Store, Unit
from tiltmeter.storage.store.marks import open_store, require_store
from tiltmeter.storage.store.pruning import remove, stored_units
from tiltmeter.storage.store.registry import Registry
from tiltmeter.storage.store.tables import write_bytes

DIGEST = "0123456789abcdef" * 2


@pytest.fixture(params=["disk", "bucket"])
def store(request, tmp_path):
    if request.param == "disk":
        return Store(str(tmp_path / "store"))
    return Store(request.getfixturevalue("s3_bucket").uri(f"marks/{tmp_path.name}"))


def put(store, *places, content=b"years of work"):
    for place in places:
        write_bytes(store.filesystem, f"{store.path}/{place}", content, setting="")


def commit(store):
    unit = Unit("count/1", "", {})
    store.commit(unit, [("numbers", pa.table({"n": [1]}))])
    return unit


@pytest.mark.long
def test_an_empty_folder_becomes_a_store(store):
    require_store(store)
    assert store.mark is None
    open_store(store)
    mark = store.mark
    require_store(store)
    open_store(store)
    assert mark
    assert store.mark == mark


@pytest.mark.parametrize("content", ['{"format": 1}', '{"format": 1, "made_by": "tiltmeter"}', '{"format": 0}'])
def test_a_store_of_an_earlier_format_is_refused_and_stays_as_it_was(store, content):
    commit(store)
    put(store, MARK, content=content.encode())
    for use in (open_store, require_store):
        with pytest.raises(
            StorageError, match=r"is of format [01], that of Tiltmeter before 0\.3\.0, .* copy its folder accounts"
        ):
            use(store)
    assert store.mark == content.encode()


@pytest.mark.parametrize(
    ("place", "content"),
    [
        ("holiday.jpg", ""),
        ("ledger/2025/q1.json", "{}"),
        (f"ledger/count/1/{DIGEST}.json", '{"place": "elsewhere"}'),
        (f"ledger/count/1/{DIGEST}.json", "[" * 100_000),
        ("registry/a/b/c/run.json", '{"key": 1}'),
        (f"units/count/1/{DIGEST}/a.parquet", "PAR1"),
    ],
)
def test_any_other_folder_is_none(store, place, content):
    put(store, place, content=content.encode())
    with pytest.raises(StorageError, match=rf"is not a store: it has no {MARK}, but .*nothing was removed"):
        require_store(store)
    open_store(store)
    require_store(store)


def test_what_has_not_name_depth_and_content_of_a_unit_stays_in_a_store(store):
    open_store(store)
    place = commit(store).place
    foreign = [
        *("units/metric/a.txt", "units/count/1/a.parquet", "ledger/2025/q1.json", "states/ny.npz", "states/a/1/b.npz"),
        *(f"units/count/1/{DIGEST}/a/b.parquet", f"units/a/count/1/{DIGEST}/b.parquet", f"units/{place}/notes.txt"),
    ]
    same_names = [f"units/{place}/thesis.parquet", f"ledger/count/1/{DIGEST}.json", f"states/count/1/{DIGEST}.npz"]
    put(store, *foreign, *same_names)
    left = [path for unit in stored_units(store) for path in remove(store, unit)]
    assert sorted(left) == sorted(f"{store.path}/{name}" for name in same_names)
    assert store.find_at(place) is None
    assert [unit.place for unit in stored_units(store)] == sorted([f"count/1/{DIGEST}", place])
    assert all(file.is_file for file in store.filesystem.get_file_info([f"{store.path}/{name}" for name in foreign]))


@pytest.mark.parametrize("content", ["", "[]", '{"format": "x"}', '{"format": 3}', '{"format": 11}'])
def test_a_mark_of_no_format_that_is_known_is_refused(tmp_path, content):
    (tmp_path / MARK).write_text(content)
    for use in (open_store, require_store):
        message = rf"{MARK}: names no format .* \(2\): use a later one, or if it is damaged"
        with pytest.raises(StorageError, match=message):
            use(Store(str(tmp_path)))


def test_a_run_in_a_folder_of_others_removes_nothing_of_theirs(tmp_path):
    names = ["units/metric/a.txt", "ledger/2025/q1.xlsx", "states/ny.csv", "states/count/1/x.npz", "registry/a.json"]
    names += [f"states/count/1/{DIGEST}.npz", f"ledger/count/1/{DIGEST}.json"]
    store = Store(str(tmp_path))
    put(store, *names)
    entry = Registry(store).enter("survey", "a", run_dir="", settings={})
    open_store(store)
    put(store, f"registry/{entry.run.key}/notes.txt")
    store.clean_up()
    Registry(store).forget(entry.run)
    assert files(tmp_path) == sorted([*names, MARK, f"registry/{entry.run.key}/notes.txt"])
