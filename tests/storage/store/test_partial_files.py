"""Whose half-written files go, and whose stay, whenever a process dies or lives longer than its run."""

import os
import signal
import subprocess
import sys
from contextlib import ExitStack, nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import fs

from tests.fixtures import stores
from tests.fixtures.stores import ended_process
from tiltmeter.storage.errors import StorageError
from tiltmeter.storage.files.filesystems import files_below
from tiltmeter.storage.store import partial_files, processes
from tiltmeter.storage.store.ledger import MARK, Store, Unit
from tiltmeter.storage.store.marks import open_store
from tiltmeter.storage.store.partial_files import clean_up_partial_files, temporary_path
from tiltmeter.storage.store.processes import ABANDONED, Process
from tiltmeter.storage.store.pruning import stored_units
from tiltmeter.storage.store.tables import write_bytes, write_file

pytestmark = pytest.mark.usefixtures("marked")

TABLE = pa.table({"word": ["a", "b"], "count": [1, 2]})
WORDS = [("words", TABLE)]
UNIT = Unit("count/1", "", {})
WRITTEN = [f"ledger/{UNIT.place}.json", f"units/{UNIT.place}/words.parquet"]

HALF_WRITTEN = """
import os, signal, sys
from pyarrow import fs
from tiltmeter.storage.store.tables import write_file

def write_all(place, *others):
    def write(sink):
        sink.write(b"half")
        sink.flush()
        write_all(*others) if others else os.kill(os.getpid(), signal.SIGKILL)

    write_file(fs.LocalFileSystem(), place, write, setting="", lease=sys.argv[1] or None)

write_all(*sys.argv[2:])
"""
LEASED = """
import os, signal, sys
from tiltmeter.storage.store.ledger import Store

with Store(sys.argv[1]).leased() as lease:
    print(lease, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def killed(script, *arguments):
    """What a process printed that has killed itself."""
    ended = subprocess.run([sys.executable, "-c", script, *arguments], stdout=subprocess.PIPE, text=True, check=False)
    assert ended.returncode == -signal.SIGKILL
    return ended.stdout.strip()


def files(store):
    return [path for path in stores.files(store.path) if path != MARK]


def lease_in(store, folder, name):
    return f"{store.path}/{folder}/.leases/{name}"


def test_files_of_dead_processes_are_swept_and_others_stay(tmp_path):
    current, dead, folder = Process.current(), ended_process(), tmp_path / "files"
    long_ago = datetime.now(UTC).timestamp() - ABANDONED.total_seconds() - 60
    swept = [
        dead,
        replace(current, created=current.created - 1),
        Process("elsewhere.long-ago", os.getpid(), current.created),
        Process("elsewhere", os.getpid(), current.created, "0a1b.7"),
    ]
    kept = [current, Process("elsewhere", dead.number, current.created), Process(f"x-{current.host}", 1, 2.5)]
    paths = [folder / f"{at}.parquet.{one.name}-0123abcd.partial" for at, one in enumerate([*swept, *kept])]
    others = [folder / "downloaded.partial", folder / f"a.{dead.name}-0123abcd.parquet"]
    folder.mkdir()
    for path in [*paths, *others]:
        path.touch()
    os.utime(paths[2], (long_ago, long_ago))
    assert clean_up_partial_files([folder]) == 4
    assert sorted(folder.iterdir()) == sorted([*paths[4:], *others])


def test_what_a_killed_process_has_half_written_is_swept_wherever_it_lies(store):
    places = ["ledger/count/1/x.json", "registry/a/b/units-004.txt", "runs/a/b/x.json", "units/count/1/x/words.parquet"]
    killed(HALF_WRITTEN, "", *(f"{store.path}/{place}" for place in places))
    for name, place in zip(files(store), places, strict=True):
        assert name.startswith(place)
        assert name.endswith(".partial")
    assert store.clean_up() == 4
    assert files(store) == []


@pytest.mark.long
@pytest.mark.parametrize("kind", ["disk", "bucket"])
def test_probes_of_killed_processes_are_swept_and_others_stay(kind, store, request):
    if kind == "bucket":
        store = Store(request.getfixturevalue("s3_bucket").uri("probes"))
        open_store(store)
    alive = Process.current()
    swept, kept = (f"probe-{process.name}-{'0' * 16}" for process in (ended_process(), alive))
    for name in (swept, f"{swept}-node", f"{swept}.{alive.name}-0123abcd.partial", kept, "probe-7", f"runs/{swept}"):
        write_bytes(store.filesystem, f"{store.path}/{name}", b"", setting="")
    assert store.clean_up() == 3
    left = [file.path.removeprefix(f"{store.path}/") for file in files_below(store.filesystem, store.path)]
    assert sorted(set(left) - {"runs"}) == sorted([kept, MARK, "probe-7", f"runs/{swept}"])


# --- leases ---------------------------------------------------------------------------------------------------------


def test_units_are_written_in_a_lease_as_without_one(store):
    with store.leased() as lease:
        worker = Store(store.path, lease)
        assert worker.find(UNIT) is None
        worker.save_state(UNIT, {"n": np.arange(3)})
        assert len(worker.load_state(UNIT)["n"]) == 3
        done = worker.commit(UNIT, WORDS)
        assert store.clean_up() == 0
        assert worker.commit(UNIT, WORDS) == done
    assert store.find(UNIT) == done
    assert store.read(done.tables["words"]) == TABLE
    assert store.read(done.tables["words"].select("count")).column_names == ["count"]
    assert Path(store.location(done.tables["words"])).stat().st_mode & 0o777 == 0o444
    assert files(store) == WRITTEN


def test_a_worker_that_outlives_its_run_leaves_nothing_nor_one_in_the_midst_of_a_file(store):
    with ExitStack() as run:
        worker = Store(store.path, run.enter_context(store.leased()))

        def tables():
            run.close()
            yield "words", TABLE

        with pytest.raises(StorageError, match=r"cannot write .*words\.parquet: No such file"):
            worker.commit(UNIT, tables())
    with pytest.raises(StorageError, match=r"cannot write .*npz: No such file"):
        worker.save_state(UNIT, {"n": np.arange(3)})
    assert files(store) == []
    place = f"{store.path}/units/words.parquet"
    with ExitStack() as run:
        lease = lease_in(store, "units", run.enter_context(store.leased()))

        def write(sink):
            sink.write(b"half")
            run.close()
            assert files(store) == []
            sink.write(b"whole")

        with pytest.raises(StorageError, match=r"cannot write .*words\.parquet: No such file"):
            write_file(fs.LocalFileSystem(), place, write, setting="", lease=lease)
    assert files(store) == []
    with store.leased() as name:
        killed(HALF_WRITTEN, lease_in(store, "units", name), place)
        [file] = files(store)
        assert file.startswith(f"units/.leases/{name}/")
        assert stored_units(store) == []
    assert files(store) == []


def test_the_lease_of_a_killed_run_is_swept_and_its_workers_can_write_no_more(store):
    worker = Store(store.path, killed(LEASED, store.path))
    Path(temporary_path("", worker._lease_in("units"))).touch()
    with store.leased() as lease:
        assert store.clean_up() == 1
        Store(store.path, lease).commit(UNIT, WORDS)
    with pytest.raises(StorageError, match="No such file"):
        worker.commit(Unit("count/1", "", {"n": 2}), WORDS)
    assert files(store) == WRITTEN


def test_a_lease_of_another_machine_stays_while_it_is_renewed(store, monkeypatch):
    with store.leased() as lease:
        worker = Store(store.path, lease)
        leases = [Path(lease_in(store, folder, lease)) for folder in ("units", "ledger", "states")]
        monkeypatch.setattr(processes, "_space", lambda: "0a1b.7")
        monkeypatch.setattr(partial_files, "examined", lambda _: nullcontext())
        for path in leases:
            os.utime(path, (0, 0))
        store.renew(lease)
        store.clean_up()
        worker.commit(UNIT, WORDS)
        worker.save_state(UNIT, {"n": np.arange(3)})
        for path in leases:
            os.utime(path, (0, 0))
        store.clean_up()
        assert not any(path.exists() for path in leases)
        with pytest.raises(StorageError, match=r"cannot write .*store: No such file"):
            store.renew(lease)


def test_a_removal_of_a_lease_that_broke_off_is_taken_up(store):
    removed = Path(lease_in(store, "units", f"{Process.current().name}-0123abcd.removed"))
    removed.mkdir(parents=True)
    for name in ("0" * 32, "thesis"):
        (removed / name).touch()
    assert store.clean_up() == 1
    assert [path.name for path in removed.iterdir()] == ["thesis"]
    (removed / "thesis").unlink()
    assert store.clean_up() == 0
    assert not removed.exists()


def test_what_is_no_lease_is_left_alone(store, tmp_path):
    leases, outside = Path(lease_in(store, "units", "")), tmp_path / "outside"
    outside.mkdir()
    (outside / "thesis").touch()
    (leases / "notes").mkdir(parents=True)
    (leases / f"{Process('elsewhere', 1, 2.5).name}-0123abcd").mkdir()
    (leases / f"{replace(Process.current(), created=2.5).name}-0123abcd").symlink_to(outside)
    before = sorted(leases.rglob("*"))
    assert store.clean_up() == 0
    assert sorted(leases.rglob("*")) == before
    assert (outside / "thesis").exists()


def test_units_may_lie_on_another_disk_than_the_rest_of_the_store(store, small_disk, request):
    disk = small_disk("3m")
    (store.local_path / "units").mkdir()
    mounted = subprocess.run(["mount", "--bind", disk, store.local_path / "units"], check=False)
    assert mounted.returncode == 0
    request.addfinalizer(lambda: subprocess.run(["umount", store.local_path / "units"], check=True))
    with store.leased() as lease:
        done = Store(store.path, lease).commit(UNIT, WORDS)
    assert store.read(done.tables["words"]) == TABLE
    assert [path.name for path in disk.rglob("*") if path.is_file()] == ["words.parquet"]


def test_where_no_lease_can_be_made_the_store_is_named_and_a_bucket_needs_none(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match=r"cannot write .*file: Not a directory; .*store=<path or URI>"):
        Store(str(tmp_path / "file")).leased().__enter__()
    with Store("s3://key:secret@bucket/x?region=us-east-1").leased() as lease:
        assert lease is None
