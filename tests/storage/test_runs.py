import json
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pytest

from storage.ledger import Store, Unit
from storage.runs import RunDirectoryBusy, opened, read_run_table
from storage.tables import StorageError

TABLE = pa.table({"n": [1, 2, 3]})


def test_tables_and_record_are_published(tmp_path):
    with opened(tmp_path / "run") as run:
        run.begin(["small"], job="survey")
        run.write_table("small", TABLE)
        run.write_record(status="succeeded")
    record = json.loads((tmp_path / "run/run.json").read_text())
    assert record["status"] == "succeeded"
    assert record["tables"]["small"]["rows"] == 3
    assert read_run_table(tmp_path / "run", "small") == TABLE


def test_parts_become_a_folder_whose_digest_is_of_their_content(tmp_path):
    store = Store(str(tmp_path / "store"))
    refs = [store.commit(Unit("part/1", "", {"n": n}), [("t", TABLE.slice(n))]).tables["t"] for n in (0, 1)]
    with opened(tmp_path / "run") as run:
        run.begin(["large"])
        run.link_table("large", store, {"part_0": refs[0], "part_1": refs[1]})
        run.write_record(status="succeeded")
    assert read_run_table(tmp_path / "run", "large")["n"].to_pylist() == [1, 2, 3, 2, 3]
    assert run.tables["large"]["rows"] == 5


def test_a_new_run_removes_what_the_old_one_left_and_nothing_else(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with opened(tmp_path) as run:
        run.begin(["old"])
        run.write_table("old", TABLE)
    with opened(tmp_path) as run:
        run.begin(["new"])
    names = {path.name for path in tmp_path.iterdir()} - {".lock"}
    assert names == {"notes.txt", "run.json"}
    assert json.loads((tmp_path / "run.json").read_text())["status"] == "running"


def test_a_directory_with_a_foreign_record_is_left_alone(tmp_path):
    (tmp_path / "run.json").write_text("{}")
    with opened(tmp_path) as run, pytest.raises(StorageError, match="not one of ours"):
        run.begin([])
    assert (tmp_path / "run.json").read_text() == "{}"


def test_two_runs_cannot_share_a_directory_but_a_killed_one_holds_nothing(tmp_path):
    script = (
        "import time; from pathlib import Path; from storage.runs import opened\n"
        f"with opened(Path({str(tmp_path)!r})): print('in', flush=True); time.sleep(60)"
    )
    root = Path(__file__).parents[2]
    other = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, cwd=root)
    assert other.stdout.readline() == "in\n"
    with pytest.raises(RunDirectoryBusy, match="another run is writing there"), opened(tmp_path):
        pass
    other.kill()
    other.wait()
    time.sleep(0.1)
    with opened(tmp_path):
        pass


def test_a_place_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match="run_dir="), opened(tmp_path / "file/run"):
        pass
