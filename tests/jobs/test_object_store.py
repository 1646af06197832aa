"""The store in a bucket of a real S3 server process."""

import dataclasses
import os
import signal
import subprocess
import sys
import tempfile
import threading
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from unittest.mock import Mock
from urllib.request import urlopen

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import fs

from tests.fixtures.buckets import new_bucket
from tiltmeter.jobs.command import execute
from tiltmeter.storage.errors import StorageError
from tiltmeter.storage.store import tables
from tiltmeter.storage.store.ledger import Store, TableRef, Unit
from tiltmeter.storage.store.tables import write_bytes

ROOT = Path(__file__).parents[2]
TINY = [
    *("job=bootstrap", "corpus=file", "corpus.language=en"),
    "corpus.path=package://gensim/test/test_data/enwiki-table-markup.xml.bz2",
]
TWO_PARTS = 11 * 2**20
"""Arrow uploads parts of 10 MiB."""


@pytest.fixture(scope="module")
def bucket():
    """Of a server that serves some objects badly."""
    with new_bucket(str(Path(__file__).parent / "s3_server.py")) as bucket:
        yield bucket


@pytest.fixture
def store(bucket):
    return Store(bucket.uri("store"))


def objects(store):
    listed = fs.FileSelector(store.path, allow_not_found=True, recursive=True)
    return {file.path for file in store.filesystem.get_file_info(listed) if file.is_file}


# --- whole or absent ------------------------------------------------------------------------------------------------


@pytest.mark.long
def test_a_table_that_fails_half_way_uploads_nothing(store):
    unit = Unit("count/1", "", {"bad": True})
    intervals = pa.array([pa.MonthDayNano([1, 2, 3])])
    before = objects(store)
    with pytest.raises(NotImplementedError, match="month_day_nano_interval"):
        store.commit(unit, [("numbers", pa.table({"interval": intervals}))])
    assert objects(store) == before
    assert store.find(unit) is None
    store.commit(unit, [("numbers", pa.table({"n": [1]}))])
    assert len(objects(store) - before) == 2


@pytest.mark.long
def test_a_large_table_is_uploaded_in_parts_and_read_back(bucket, store, monkeypatch):
    # The file is prepared on a disk, and read from there in pieces that are not those of the upload.
    monkeypatch.setattr(tables, "_MOST_IN_MEMORY", 2**20)
    monkeypatch.setattr(tables, "_PIECE_BYTES", 3_000_000)
    noise = pa.table({"n": np.frombuffer(os.urandom(TWO_PARTS), np.int64)})
    unit = Unit("count/1", "", {"large": True})
    done = store.commit(unit, [("noise", noise)])
    key = store.location(done.tables["noise"]).removeprefix("tilt/")
    assert bucket.client.head_object(Bucket="tilt", Key=key)["ETag"].endswith('-2"')
    assert store.find(unit) == done
    assert store.read(done.tables["noise"]) == noise


def test_an_upload_that_breaks_off_leaves_what_was_there(bucket, store):
    path = f"{store.path}/broken/object"
    write_bytes(store.filesystem, path, b"before", setting="store")
    with pytest.raises(StorageError, match=r"cannot write tilt/store/broken/object: .*ACCESS_DENIED.*store"):
        write_bytes(store.filesystem, path, bytes(TWO_PARTS), setting="store")
    assert bucket.client.get_object(Bucket="tilt", Key="store/broken/object")["Body"].read() == b"before"


def interrupt_when_a_part_is_held(bucket):
    """Interrupt this process's main thread while the server holds a part, which it takes only after that."""
    with urlopen(f"http://127.0.0.1:{bucket.port}/arrival"):
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
    with urlopen(f"http://127.0.0.1:{bucket.port}/release"):
        pass


def test_an_interrupt_in_the_midst_of_an_upload_does_not_cut_the_object(bucket, store, monkeypatch):
    monkeypatch.setattr(tables, "_PIECE_BYTES", 10 * 2**20)
    path = f"{store.path}/held/object"
    with ThreadPoolExecutor(1) as thread:
        interruption = thread.submit(interrupt_when_a_part_is_held, bucket)
        with pytest.raises(KeyboardInterrupt):
            write_bytes(store.filesystem, path, bytes(TWO_PARTS), setting="store")
        interruption.result()
    assert store.filesystem.get_file_info(path).size == TWO_PARTS


def test_a_full_disk_for_temporary_files_is_named(store, small_disk, monkeypatch):
    monkeypatch.setattr(tables, "_MOST_IN_MEMORY", 2**10)
    monkeypatch.setattr(tempfile, "tempdir", str(small_disk("1m")))
    before = objects(store)
    with pytest.raises(StorageError, match=r"cannot write .*disk0: No space left on device; .* TMPDIR=<path>"):
        write_bytes(store.filesystem, f"{store.path}/x", bytes(2**21), setting="store")
    assert objects(store) == before


def test_an_object_of_another_size_is_redone(store):
    unit = Unit("count/1", "", {"cut": True})
    done = store.commit(unit, [("numbers", pa.table({"n": [1, 2]}))])
    with store.filesystem.open_output_stream(store.location(done.tables["numbers"])) as sink:
        sink.write(b"PAR1")
    assert store.find(unit) is None


def test_two_writers_of_one_unit_agree(bucket):
    unit, both = Unit("count/1", "", {"writers": 2}), threading.Barrier(2)

    def write():
        def tables_of():
            for name in ("first", "second"):
                both.wait()
                yield name, pa.table({"n": np.arange(1000)})

        return Store(bucket.uri("store")).commit(unit, tables_of())

    with ThreadPoolExecutor(2) as threads:
        first, second = (writer.result() for writer in [threads.submit(write), threads.submit(write)])
    assert first == second == Store(bucket.uri("store")).find(unit)
    assert Store(bucket.uri("store")).read(first.tables["second"])["n"].to_numpy().tolist() == list(range(1000))


def test_the_state_of_a_long_unit_is_the_last_whole_one_and_goes_when_it_is_finished(bucket):
    unit, state = Unit("train/1", "", {}), {"epoch": np.array(3), "weights": np.arange(5.0)}
    store = Store(bucket.uri("store"))
    assert store.load_state(unit) is None
    store.save_state(unit, {"epoch": np.array(2)})
    store.save_state(unit, state)
    with pytest.raises(ValueError, match="pickle"):
        store.save_state(unit, {"epoch": np.array([object()])})
    other = Store(bucket.uri("store"))
    found = other.load_state(unit)
    assert {name: values.tolist() for name, values in found.items()} == {"epoch": 3, "weights": [0, 1, 2, 3, 4]}
    other.commit(unit, [("numbers", pa.table({"n": [1]}))])
    assert store.load_state(unit) is None


# --- names, keys, refusals ------------------------------------------------------------------------------------------


def test_keys_may_have_any_characters(bucket):
    store = Store(bucket.uri("odd%20%25/%C3%BC%2B%23&'=;,"))
    assert store.name == "s3://tilt/odd %/ü+#&'=;,"
    done = store.commit(unit := Unit("count/1", "", {}), [("a-ü.2", pa.table({"n": [1]}))])
    assert store.find(unit) == done
    assert store.read(done.tables["a-ü.2"])["n"].to_pylist() == [1]
    assert f"{store.path}/units/{unit.place}/a-ü.2.parquet" in objects(store)


@pytest.mark.slow
def test_more_objects_than_one_answer_lists_are_all_listed(bucket):
    store = Store(bucket.uri("many"))
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda n: write_bytes(store.filesystem, f"tilt/many/{n}", b"", setting=""), range(1001)))
    assert len(objects(store)) == 1001


def test_messages_name_the_bucket_and_not_its_keys(store):
    assert (store.name, store.local_path) == ("s3://tilt/store", None)
    absent = TableRef("count/1/absent", "numbers", 1, {"n": ""})
    with pytest.raises(StorageError, match=r"is missing: .* store=s3://tilt/store not shared") as refusal:
        store.read(absent)
    assert "secret" not in "".join(traceback.format_exception(refusal.value))


@pytest.mark.long
@pytest.mark.parametrize(
    ("wrong", "message"),
    [(("@tilt/", "@no-such-bucket/"), "NO_SUCH_BUCKET"), (("//key:", "//stranger:"), "INVALID_ACCESS_KEY_ID")],
)
def test_a_bucket_that_is_not_there_or_not_ours_is_refused_before_any_work(
    bucket, configured, tmp_path, monkeypatch, wrong, message
):
    store = bucket.uri("store").replace(*wrong)
    config = dataclasses.replace(configured(*TINY), store=store, run_dir=str(tmp_path / "run"))
    monkeypatch.setattr("tenacity.nap.time.sleep", Mock(side_effect=AssertionError("it was tried again")))
    monkeypatch.setattr(
        "tiltmeter.cluster.connection.connected", Mock(side_effect=AssertionError("a cluster was looked for"))
    )
    with pytest.raises(StorageError, match=rf"{message}.*choose another place with store=<path or URI>") as refusal:
        execute(config)
    assert "secret" not in "".join(traceback.format_exception(refusal.value))
    assert not (tmp_path / "run/run.json").exists()


# --- runs -----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_memory_of_an_upload_does_not_grow_with_the_object(bucket):
    """However large it is, no more is held than what may stay in memory, a piece, and its copies under way."""
    script = (
        "import os, sys; from tiltmeter.storage.store.ledger import Store\n"
        "from tiltmeter.storage.store.tables import write_file\n"
        "def peak(): return next(int(l.split()[1]) for l in open('/proc/self/status') if l.startswith('VmHWM'))\n"
        "store, before, noise = Store(sys.argv[1]), peak(), os.urandom(2**20)\n"
        "write_file(store.filesystem, 'tilt/large', lambda f: [f.write(noise) for _ in range(160)], setting='store')\n"
        "print((peak() - before) // 1024)"
    )
    command = [sys.executable, "-c", script, bucket.uri("store")]
    held = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stdout
    assert int(held) < 180
