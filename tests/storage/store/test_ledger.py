"""Units in a store: found once they are whole, done anew when they are damaged, and copied, streamed or only read."""

import errno
import os
import re
import traceback
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.fixtures.plans import contents
from tests.fixtures.stores import damage, files, zeroed
from tiltmeter.storage.errors import StorageError
from tiltmeter.storage.files.retries import Retries
from tiltmeter.storage.store import accounts
from tiltmeter.storage.store.ledger import Store, Unit
from tiltmeter.storage.store.local_copies import fetch
from tiltmeter.storage.store.marks import open_store
from tiltmeter.storage.store.pruning import remove, stored_units
from tiltmeter.storage.store.read_only import ReadOnlyStore, WriteRefused
from tiltmeter.storage.store.registry import Registry
from tiltmeter.storage.store.streaming import pieces
from tiltmeter.storage.store.tables import column, documentation

TABLE = pa.table({"word": ["a", "b"], "count": [1, 2]})
WORDS = [("words", TABLE)]
UNIT = Unit("count/1", "shard 0", {"window": 10})


@pytest.fixture
def words(store):
    """The table of a finished unit."""
    return store.commit(UNIT, WORDS).tables["words"]


@pytest.fixture
def row(store):
    """The place of its row in the ledger."""
    return store.local_path / f"ledger/{UNIT.place}.json"


def test_identity_is_operator_config_and_the_columns_read(store, words):
    tables = (TABLE.set_column(1, "count", [[1, 3]]), TABLE.rename_columns(["word", "num"]))
    other, renamed = (
        store.commit(Unit(name, "", {}), [("t", table)]).tables["t"] for name, table in zip("ab", tables, strict=True)
    )
    unit = Unit("sum/1", "name", {"n": 1}, {"words": [words]})
    assert unit.place == Unit("sum/1", "another name", {"n": 1}, {"words": [words]}).place
    inputs = [
        *({"words": refs} for refs in ([other], [words, words], [words, other], [renamed])),
        *({"tokens": [words]}, {"words": [words], "tokens": [words]}),
    ]
    different = [
        Unit("sum/2", "", {"n": 1}, {"words": [words]}),
        Unit("sum/1", "", {"n": 2}, {"words": [words]}),
        *(Unit("sum/1", "", {"n": 1}, each) for each in inputs),
    ]
    assert len({unit.place, *(each.place for each in different)}) == 9
    assert unit.place == Unit("sum/1", "", {"n": 1}, {"words": [words.labelled(corpus="letters")]}).place
    only_words = [Unit("sum/1", "", {}, {"words": [ref.select("word")]}).place for ref in (words, other)]
    assert only_words[0] == only_words[1]


def test_a_row_of_another_unit_does_not_make_a_unit_finished(store, words, row):
    other = Unit("count/1", "", {"n": 1})
    row.with_name(f"{other.place.rpartition('/')[2]}.json").write_bytes(row.read_bytes())
    assert store.find(other) is None


@pytest.mark.parametrize(("low", "high"), [(0, 4), (1, 3), (2, 2), (3, 9), (4, 5), (5, 9), (-9, 0), (9, 10), (0, 100)])
def test_rows_between_two_values_are_read_with_the_lower_and_without_the_upper_one(store, monkeypatch, low, high):
    monkeypatch.setattr("tiltmeter.storage.store.tables._ROWS_PER_GROUP", 3)
    values = [0, 1, 1, 1, 3, 4, 4, 9, 9, 9, 10]
    ref = store.commit(Unit("sort/1", "", {}), [("t", pa.table({"n": values, "at": range(11)}))]).tables["t"]
    rows = store.read_between(ref, "n", low, high)
    assert rows["at"].to_pylist() == [at for at, value in enumerate(values) if low <= value < high]


def test_data_without_a_ledger_row_is_redone(store, words, row):
    kept = row.read_bytes()
    row.unlink()
    assert store.find(UNIT) is None
    row.write_bytes(kept)
    assert store.find(UNIT) is not None


@pytest.mark.parametrize(
    "change", [lambda content: content[:-1], lambda content: content + b"x", lambda content: content[:0], None]
)
def test_a_unit_whose_file_changed_its_size_or_is_gone_is_redone(store, change):
    done = store.commit(UNIT, [*WORDS, ("more", TABLE)])
    data = Path(store.location(done.tables["words"]))
    content = data.read_bytes()
    if change:
        damage(data, change)
    else:
        data.unlink()
    assert store.find(UNIT) is None
    store.commit(UNIT, [*WORDS, ("more", TABLE)])
    assert data.read_bytes() == content
    assert store.find(UNIT) == done


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o444), (0o077, 0o400)])
def test_tables_in_the_store_are_read_only_and_can_be_written_again(store, umask, mode):
    """And as private as the umask says."""
    before = os.umask(umask)
    try:
        for _ in range(2):
            ref = store.commit(UNIT, WORDS).tables["words"]
            assert Path(store.location(ref)).stat().st_mode & 0o777 == mode
    finally:
        os.umask(before)


def test_a_unit_that_fails_half_way_leaves_no_row_and_no_partial_file(store):
    def tables():
        yield "first", TABLE
        raise RuntimeError("half way")

    with pytest.raises(RuntimeError, match="half way"):
        store.commit(UNIT, tables())
    assert store.find(UNIT) is None
    assert files(store.path) == [f"units/{UNIT.place}/first.parquet"]


def test_a_full_disk_is_named_and_leaves_nothing(small_disk):
    store = Store(str(small_disk("256k")))
    noise = pa.table({"noise": pa.array([os.urandom(1 << 20)])})
    with pytest.raises(StorageError, match=r"cannot write .*noise.parquet: No space left on device.*store="):
        store.commit(UNIT, [("noise", noise)])
    assert files(store.path) == []


def test_a_root_may_begin_at_home_and_is_not_empty(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert Store("~/store").root == Store("~/store").name == str(tmp_path / "store")
    with pytest.raises(StorageError, match="store=~no_such_person/store: "):
        Store("~no_such_person/store")
    for root in ("", "  "):
        with pytest.raises(StorageError, match=r"store='\s*' is empty: set store=<path or URI>"):
            Store(root)


@pytest.mark.parametrize(
    ("root", "name"),
    [
        ("s3://key:secret@bucket/a/b?region=us-east-1", "s3://bucket/a/b"),
        ("s3://bucket/a@b?region=us-east-1", "s3://bucket/a@b"),
        ("s3://key:secret@bucket?region=us-east-1&endpoint_override=127.0.0.1:1", "s3://bucket"),
        ("file:///a/b", "file:///a/b"),
        ("/a/b", "/a/b"),
    ],
)
def test_the_name_of_a_store_shows_no_key(root, name):
    assert Store(root).name == name


@pytest.mark.parametrize(
    ("root", "name"),
    [
        ("s3://key:secret@bucket/x?region=us-east-1&token=secret", "s3://bucket/x"),
        ("s3://key:secret/secret@bucket/x", "s3://bucket/x"),
        ("s3://key:secret?secret@bucket/x", "s3://bucket/x"),
        ("s3://key:secret@secret@bucket/x", "s3://bucket/x"),
        ("s3://key:secret%zz@bucket/x", "s3://bucket/x"),
        ("s3://key:secret@/x", "s3:///x"),
        ("gs://secret@bucket/x", "gs://bucket/x"),
        ("ftp://key:secret@host/x", "ftp://host/x"),
        ("s3://key:secret?secret@secret/secret@bucket/x", "s3://bucket/x"),
        ("nowhere://key:secret secret@bucket/x", "nowhere://bucket/x"),
    ],
)
def test_the_refusal_of_a_store_shows_no_key(root, name):
    with pytest.raises(StorageError, match=rf"^store={name}: not a path or a URI") as refusal:
        Store(root)
    assert "secret" not in "".join(traceback.format_exception(refusal.value))


def test_columns_document_themselves_through_a_file(tmp_path):
    schema = pa.schema([column("pse", pa.float64(), "where replicas flip", "mixture")])
    pq.write_table(pa.table({"pse": [0.5]}, schema=schema), tmp_path / "a.parquet")
    [described] = documentation(pq.read_schema(tmp_path / "a.parquet"))
    assert described["description"] == "where replicas flip"
    assert (described["name"], described["type"], described["unit"]) == ("pse", "double", "mixture")


NO_ROWS = [b"", b"{", b"[]", b"5", b"{}", b"[" * 100_000, b'{"tables": 1}', b'{"tables": {}}', b"\xff\xfe"]


def test_a_damaged_row_counts_as_not_done(store, row):
    done = store.commit(UNIT, WORDS)
    whole = row.read_bytes()
    halves = [whole[:size] for size in range(0, len(whole), 17)]
    for content in (*NO_ROWS, b'{"tables": {"a": {"unit": "x"}}}', *halves):
        row.write_bytes(content)
        assert store.find(UNIT) is None, content[:99]
    assert store.commit(UNIT, WORDS) == store.find(UNIT) == done


READERS = [Store.read, lambda store, ref: store.read_between(ref, "count", 0, 10)]


def is_damaged(store, ref, read):
    """Whether the store says so; else what it reads must be right."""
    try:
        return read(store, ref) != TABLE
    except StorageError as error:
        return bool(re.search("words.parquet is damaged .* run again, and it is done anew", str(error), re.DOTALL))


@pytest.mark.parametrize("read", READERS)
def test_a_flipped_bit_in_any_page_is_found_and_its_unit_redone(store, words, read):
    content = Path(store.location(words)).read_bytes()
    end_of_pages = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    found = []
    for position in range(4, end_of_pages, 11):
        flipped = bytes([content[position] ^ 1 << position % 8])
        damage(store.location(words), content[:position] + flipped + content[position + 1 :])
        # Readers pass over some of what a file says twice.
        found.append(is_damaged(store, words, read))
        assert (store.find(UNIT) is None) == found[-1]
        store.commit(UNIT, WORDS)
    assert sum(found) > len(found) / 2


@pytest.mark.parametrize("read", READERS)
def test_a_file_cut_off_while_it_is_in_use_is_named(store, words, read):
    damage(store.location(words), lambda content: content[:50])
    with pytest.raises(StorageError, match=r"words.parquet is damaged \(.*its unit is out of the ledger now"):
        read(store, words)


def test_a_store_that_is_away_for_a_moment_is_waited_for_and_one_that_stays_away_is_named(store, words, monkeypatch):
    """And its ledger left alone."""
    pauses, broken = [], [OSError(errno.ESTALE, "Stale file handle")] * 2
    read_table = pq.read_table

    def read(*arguments, **options):
        if broken:
            raise broken.pop()
        return read_table(*arguments, **options)

    monkeypatch.setattr("tenacity.nap.time.sleep", pauses.append)
    monkeypatch.setattr(pq, "read_table", read)
    assert store.read(words) == TABLE
    assert (broken, len(pauses)) == ([], 2)
    broken.append(OSError(errno.ETIMEDOUT, "Connection timed out"))
    monkeypatch.setattr("tiltmeter.storage.files.filesystems.with_retries", Retries(seconds=0))
    with pytest.raises(StorageError, match=r"cannot reach .*words.parquet: .*timed out, tried for .*store=<path"):
        store.read(words)
    assert store.find(UNIT).tables == {"words": words}


def test_a_damaged_state_is_as_good_as_none(store):
    store.save_state(UNIT, {"n": np.arange(1000)})
    state = Path(store.path, f"states/{UNIT.place}.npz")
    whole = state.read_bytes()
    for damaged in (b"", whole[:100], whole[:-1], whole[:500] + b"x" + whole[501:], b"x" * 100):
        state.write_bytes(damaged)
        assert store.load_state(UNIT) is None
    state.write_bytes(whole)
    np.testing.assert_array_equal(store.load_state(UNIT)["n"], np.arange(1000))
    store.commit(UNIT, WORDS)
    assert not state.exists()


def test_states_of_finished_units_are_swept(store, words):
    undone = Unit("count/1", "", {"n": 2})
    for unit in (UNIT, undone):
        Store(store.path).save_state(unit, {"n": np.arange(3)})
    assert store.clean_up() == 0
    open_store(store)
    assert store.clean_up() == 1
    assert [path for path in files(store.path) if path.startswith("states")] == [f"states/{undone.place}.npz"]


def test_a_bucket_has_time_to_answer_and_not_for_ever():
    *_, settings = Store("s3://key:secret@bucket/x?region=us-east-1").filesystem.__reduce__()[1]
    assert (settings["connect_timeout"], settings["request_timeout"]) == (5, 20)
    assert (settings["access_key"], settings["region"]) == ("key", "us-east-1")


# --- copies on the disk of a node -----------------------------------------------------------------------------------


@pytest.mark.parametrize("is_allowed", [True, False])
def test_where_the_disk_allows_there_is_no_second_copy(store, words, tmp_path, monkeypatch, is_allowed):
    def refuse(*_):
        raise OSError("not on this disk")

    if not is_allowed:
        monkeypatch.setattr(os, "link", refuse)
    target = tmp_path / "copy.parquet"
    assert fetch(store, words, target) == target.stat().st_size
    assert target.samefile(store.location(words)) == is_allowed
    assert pq.read_table(target) == TABLE


def test_what_is_damaged_or_missing_is_not_copied_and_its_unit_is_redone(store, words, tmp_path):
    damage(store.location(words), zeroed(10, 100))
    with pytest.raises(StorageError, match=r"words.parquet is damaged"):
        fetch(store, words, tmp_path / "copy.parquet")
    assert store.find(UNIT) is None
    Path(store.location(words)).unlink()
    with pytest.raises(StorageError, match=r"words.parquet is missing: was it removed"):
        fetch(store, words, tmp_path / "copy.parquet")


# --- tables piece by piece ------------------------------------------------------------------------------------------


def test_rows_come_in_row_groups_of_one_reference_after_the_other(store):
    schema = pa.schema([column("n", pa.int64(), "a number"), column("name", pa.string(), "its name")])
    tables = [pa.table([np.arange(num), [str(n) for n in range(num)]], schema) for num in (40_000, 0, 3)]
    units = [Unit("part/1", "", {"rows": table.num_rows}) for table in tables]
    refs = [store.commit(*each).tables["t"] for each in zip(units, ([("t", table)] for table in tables), strict=True)]
    found = list(pieces(store, refs))
    assert [piece.num_rows for piece in found] == [32_768, 7_232, 0, 3]
    assert pa.concat_tables(found) == pa.concat_tables(tables)
    assert {piece.schema.field("n").metadata[b"description"] for piece in found} == {b"a number"}
    for names in (["name", "n"], ["name"]):
        assert [piece.column_names for piece in pieces(store, [refs[2].select(*names)])] == [names]
    damage(store.location(refs[0]), zeroed(1000, 2000))
    with pytest.raises(StorageError, match=r"t\.parquet is damaged"):
        list(pieces(store, refs))
    assert store.find(units[0]) is None


# --- a store that is only read: nothing is written into it, by whatever way -----------------------------------------

MISSING = Unit("count/1", "missing", {"name": "missing"})


def spend(store, account, entry):
    accounts.enter(store, account, entry, {"epsilon": 1.0}, lambda _: True)


@pytest.fixture
def written(store, words):
    store.save_state(MISSING, {"n": np.arange(2)})
    Registry(store).enter("survey", "nightly", run_dir="/gone", settings={}).uses([UNIT.place])
    spend(store, "people", "first")
    return store


def test_a_store_that_is_only_read_finds_and_reads_what_there_is(written, words, tmp_path):
    store = ReadOnlyStore(written.root)
    assert store.find(MISSING) is None
    assert store.read(store.find(UNIT).tables["words"]) == TABLE
    assert [run.job for run in Registry(store).runs()] == ["survey"]
    assert store.load_state(MISSING)["n"].tolist() == [0, 1]
    assert store.clean_up() == 0
    assert ReadOnlyStore(str(tmp_path / "nowhere")).find(UNIT) is None
    assert not (tmp_path / "nowhere").exists()
    damage(written.location(words), lambda content: b"x" * len(content))
    with pytest.raises(WriteRefused):
        store.read(words)
    assert written.find(UNIT), "a damaged unit stays in the ledger"


@pytest.mark.parametrize(
    "write",
    [
        lambda store: store.commit(MISSING, WORDS),
        lambda store: store.save_state(MISSING, {"n": np.arange(3)}),
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
