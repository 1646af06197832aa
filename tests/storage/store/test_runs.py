"""Run directories: what becomes of tables in them, and that nothing of others goes."""

import errno
import itertools
import json
import os
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from tests.fixtures.plans import contents
from tests.fixtures.stores import files
from tiltmeter.jobs.runtime.published import PublishedTable
from tiltmeter.storage.errors import StorageError
from tiltmeter.storage.store.ledger import Unit
from tiltmeter.storage.store.runs import RunDirectoryBusy, opened, read_run_table
from tiltmeter.storage.store.streaming import pieces
from tiltmeter.storage.store.tables import key_columns

TABLE = pa.table({"n": [1, 2, 3]})
OURS = {"job": "survey", "versions": {"python": "3.11"}}


@contextmanager
def begun(path, *names):
    """A run that is to publish tables of these names, and succeeds."""
    with opened(path) as run:
        run.begin([*names], **OURS)
        yield run
        run.write_record(status="succeeded")


def committed(store, table=TABLE):
    return store.commit(Unit("part/1", "", {"digits": str(table["n"][0])}), [("t", table)]).tables["t"]


NUMBERS = pa.table({"n": np.arange(100_000), "half": np.arange(100_000) / 2})


def test_pieces_become_one_file_that_does_not_tell_how_they_were_cut(tmp_path):
    with begun(tmp_path / "run", "whole", "cut") as run:
        run.write_table("whole", NUMBERS)
        run.write_pieces("cut", lambda: [NUMBERS.slice(0, 0), NUMBERS.slice(0, 70_001), NUMBERS.slice(70_001)])
    record = json.loads((tmp_path / "run/run.json").read_text())
    assert (record["status"], record["tables"]) == ("succeeded", run.tables)
    assert run.tables["cut"] == run.tables["whole"]
    assert run.tables["cut"]["rows"] == 100_000
    metadata = pq.read_metadata(tmp_path / "run/cut.parquet")
    sizes = [metadata.row_group(number).num_rows for number in range(metadata.num_row_groups)]
    assert sizes == [32_768, 32_768, 32_768, 1_696]
    assert read_run_table(tmp_path / "run", "cut") == NUMBERS


def test_few_pieces_of_a_table_are_held_at_a_time(tmp_path):
    before, held = pa.total_allocated_bytes(), []

    def pieces():
        for _ in range(40):
            held.append(pa.total_allocated_bytes() - before)
            yield pa.table({"n": pc.add(NUMBERS["n"][:40_000], 1)})

    with begun(tmp_path, "large") as run:
        run.write_pieces("large", pieces)
    assert run.tables["large"]["rows"] == 1_600_000
    assert max(held) < 1.3 * max(held[:4])


@pytest.mark.parametrize(
    "write",
    [
        lambda run, store, ref: run.write_pieces("large", lambda: [TABLE, *pieces(store, [ref])]),
        lambda run, store, ref: run.link_table("large", store, [("part", ref)]),
    ],
    ids=["pieces", "part"],
)
def test_pieces_that_break_off_leave_nothing(tmp_path, store, write):
    ref = committed(store)
    Path(store.location(ref)).unlink()
    missing = r"^/.*store/units/part/.*t\.parquet is missing: .*store=<path or URI>"
    with begun(tmp_path / "run", "large") as run, pytest.raises(StorageError, match=missing):
        write(run, store, ref)
    assert run.tables["large"] == {}
    assert files(tmp_path / "run") == [".lock", "run.json"]


def test_a_disk_that_fails_for_a_moment_gets_the_pieces_from_the_first(tmp_path, monkeypatch):
    monkeypatch.setattr(time, "sleep", lambda _: None)
    failures = [OSError(errno.EIO, "Input/output error")]

    def pieces():
        yield TABLE
        if failures:
            raise failures.pop()
        yield TABLE

    with begun(tmp_path, "large") as run:
        run.write_pieces("large", pieces)
    assert run.tables["large"]["rows"] == 6
    assert read_run_table(tmp_path, "large")["n"].to_pylist() == [1, 2, 3, 1, 2, 3]
    assert not failures


def test_parts_become_a_folder_whose_digest_is_of_their_content(tmp_path, store):
    refs, digests = [committed(store, TABLE.slice(n)) for n in (0, 1)], []
    for name, parts in {"run": refs, "again": refs, "turned": refs[::-1], "other": [refs[0], refs[0]]}.items():
        with begun(tmp_path / name, "large") as run:
            run.link_table("large", store, [(f"part_{number}", ref) for number, ref in enumerate(parts)])
        digests.append(run.tables["large"]["digest"])
        assert run.tables["large"]["rows"] == sum(ref.num_rows for ref in parts)
    assert digests[0] == digests[1]
    assert len({*digests}) == 3
    assert read_run_table(tmp_path / "run", "large")["n"].to_pylist() == [1, 2, 3, 2, 3]


def test_labels_of_parts_are_folders_and_columns_of_the_table(tmp_path, store):
    parts = [("part", committed(store).labelled(corpus=name)) for name in ("letters", "letters/1999")]
    with begun(tmp_path / "run", "large") as run:
        run.link_table("large", store, parts)
    folder = tmp_path / "run/large"
    assert sorted(path.name for path in folder.iterdir()) == ["corpus=letters", "corpus=letters%2F1999"]
    rows = [{"corpus": name, "n": n} for name in ("letters", "letters/1999") for n in TABLE["n"].to_pylist()]
    table = read_run_table(tmp_path / "run", "large")
    assert table.select(["corpus", "n"]).to_pylist() == rows
    assert key_columns(table.schema)[0] == "corpus"
    assert pl.scan_parquet(folder).collect().select("corpus", "n").sort("corpus", "n").to_dicts() == rows
    assert PublishedTable.read(tmp_path / "run", "large").rows.collect().select("corpus", "n").to_dicts() == rows
    with begun(tmp_path / "run", "large"):
        assert not folder.exists()


def test_a_part_of_a_published_folder_is_read_only_and_a_published_file_is_not(tmp_path, store):
    with begun(tmp_path / "run", "large", "small") as run:
        run.link_table("large", store, [("part", committed(store))])
        run.write_table("small", TABLE)
    linked, written = tmp_path / "run/large/part.parquet", tmp_path / "run/small.parquet"
    assert linked.stat().st_nlink == 2
    assert linked.stat().st_mode & 0o222 == 0
    assert written.stat().st_mode & 0o200


def test_a_new_run_removes_what_the_old_one_left_and_nothing_else(tmp_path, store):
    path = tmp_path / "run"
    path.mkdir()
    (path / "notes.txt").write_text("mine")
    with begun(path, "old", "folder", "killed") as run:
        run.write_table("old", TABLE)
        run.link_table("folder", store, [("part", committed(store))])
        run.write_text("report.html", "<p>old</p>")
        (path / "killed.partial").mkdir()
        (path / "killed.partial/part.parquet").touch()
    with begun(path, "new"):
        assert {file.name for file in path.iterdir()} - {".lock"} == {"notes.txt", "run.json"}
        assert json.loads((path / "run.json").read_text())["status"] == "running"
    assert store.read(committed(store)) == TABLE


RECORD = {"job": "build", "versions": {}, "tables": {}}
NAMES = ["../run/src", "../notes", "../../outside", "/etc", "a/b", "..", ".", "", "a\0b", "a\n", "\n", " ", "-rf"]
NAMES += ["a" * 300 + "/"]
FOREIGN = [
    *("{}", "[1]", "5", "{", "\xff", "\xed\xa0\x80", "[" * 100_000, "1" * 5000),
    *('{"tables": ["src"]}', '{"tables": {"src": {}}}', '{"tables": {"notes": {}}}'),
    *('{"job": "build", "tables": {"notes": {}}}', '{"job": 1, "versions": 1, "tables": [1]}'),
    *(json.dumps(RECORD | {"tables": tables}) for tables in (["src"], {"src": 1}, {"src": {}})),
    *(json.dumps(RECORD | {"tables": {name: {}}}) for name in NAMES),
    *(json.dumps(RECORD | {"exports": exports}) for exports in (5, [5], "a", {"a": 1})),
]


@pytest.mark.parametrize("record", FOREIGN, ids=lambda record: repr(record[:60]))
def test_a_directory_with_a_foreign_record_is_left_alone(tmp_path, record):
    path = tmp_path / "run"
    (path / "src").mkdir(parents=True)
    (path / "src/main.c").write_text("int main;")
    for name in ("report.html", "notes.parquet", "../notes.parquet"):
        (path / name).write_text("theirs")
    (path / "run.json").write_text(record, encoding="latin-1")
    before = contents(tmp_path)
    with pytest.raises(StorageError, match=r"not one of ours; choose an empty run_dir=<path>"), begun(path):
        pass
    after = contents(tmp_path)
    after.pop(path / ".lock")
    assert after == before


PLACES = [*itertools.product(["old", "old.partial"], ["file", "folder", "link"])]
PLACES += itertools.product(["old.parquet"], ["folder", "link"])


@pytest.mark.parametrize(("place", "kind"), PLACES)
def test_what_does_not_look_like_a_table_stops_the_removal(tmp_path, place, kind):
    path, elsewhere = tmp_path / "run", tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "a.parquet").touch()
    with begun(path, "first", "old") as run:
        run.write_table("first", TABLE)
    target = path / place
    if kind == "link":
        target.symlink_to(elsewhere / "a.parquet" if "parquet" in place else elsewhere)
    elif kind == "folder":
        (target / "folder.parquet").mkdir(parents=True)
    else:
        target.touch()
    with pytest.raises(StorageError, match=rf"{place} is not one of ours"), begun(path):
        pass
    assert (path / "first.parquet").exists()
    assert (elsewhere / "a.parquet").exists()


@pytest.mark.parametrize(("place", "reason"), [("large", ".*not empty"), ("large.partial", "File exists")])
def test_a_place_that_is_taken_is_named_and_stays(tmp_path, store, place, reason):
    with begun(tmp_path / "run", "large") as run:
        (tmp_path / "run" / place).mkdir()
        (tmp_path / "run" / place / "theirs").touch()
        with pytest.raises(StorageError, match=rf"cannot write .*large: {reason}; .*run_dir=<path>"):
            run.link_table("large", store, [("part", committed(store))])
    assert files(tmp_path / "run") == [".lock", f"{place}/theirs", "run.json"]


def test_a_full_run_directory_is_named_and_keeps_nothing_half_written(small_disk, store):
    noise, place = pa.table({"n": pa.array([os.urandom(1 << 20)])}), small_disk("256k") / "run"
    with begun(place, "large", "small") as run:
        full = r"cannot write .*{}.*: No space left on device; choose another place with run_dir=<path>"
        with pytest.raises(StorageError, match=full.format("large")):
            run.link_table("large", store, [("part", committed(store, noise))])
        with pytest.raises(StorageError, match=full.format("small.parquet")):
            run.write_table("small", noise)
        with pytest.raises(StorageError, match=full.format("report.html")):
            run.write_text("report.html", "x" * (1 << 20))
    assert files(place) == [".lock", "run.json"]


def test_two_runs_cannot_share_a_directory_but_a_killed_one_holds_nothing(tmp_path):
    script = (
        "from pathlib import Path; from tiltmeter.storage.store.runs import opened\n"
        f"with opened(Path({str(tmp_path)!r})): print('in', flush=True); input()"
    )
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", script], **pipes) as other:
        assert other.stdout.readline() == "in\n"
        with pytest.raises(RunDirectoryBusy, match="another run is writing there"), opened(tmp_path):
            pass
        other.kill()
    with opened(tmp_path):
        pass


def test_a_place_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match="run_dir="), opened(tmp_path / "file/run"):
        pass
