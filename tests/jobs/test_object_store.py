"""The store in a bucket of a real S3 server process."""

import json
import socket
import subprocess
import sys
import time
import traceback

import boto3
import pyarrow as pa
import pytest
from pyarrow import fs

from jobs.common_config import ConfigError
from jobs.run import execute
from storage.ledger import Store, TableRef, Unit
from storage.tables import StorageError

TINY = [
    "job=bootstrap",
    "corpus=file",
    "corpus.language=en",
    "corpus.path=package://gensim/test/test_data/enwiki-table-markup.xml.bz2",
    "embedding.num_replicas=2",
    "embedding.trainer.dimensions=4",
    "embedding.trainer.epochs=1",
]


@pytest.fixture(scope="module")
def bucket():
    """URI of a folder in an empty bucket."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "moto.server", "--port", str(port)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        while socket.socket().connect_ex(("127.0.0.1", port)):
            assert server.poll() is None
            time.sleep(0.1)
        keys = {"aws_access_key_id": "key", "aws_secret_access_key": "secret"}
        client = boto3.client("s3", endpoint_url=f"http://127.0.0.1:{port}", region_name="us-east-1", **keys)
        client.create_bucket(Bucket="tilt")
        yield f"s3://key:secret@tilt/store?endpoint_override=127.0.0.1:{port}&scheme=http&region=us-east-1"
    finally:
        server.kill()


def test_units_are_committed_and_found(bucket):
    store = Store(bucket)
    table = pa.table({"n": [1, 2]})
    unit = Unit("count/1", "", {})
    assert store.find(unit) is None
    assert store.local_path is None
    done = store.commit(unit, [("numbers", table)])
    assert store.find(unit) == done
    assert store.read(done.tables["numbers"]) == table


def objects(store):
    listed = fs.FileSelector(store.path, allow_not_found=True, recursive=True)
    return {file.path for file in store.filesystem.get_file_info(listed) if file.is_file}


def test_a_table_that_fails_half_way_uploads_nothing(bucket):
    store = Store(bucket)
    unit = Unit("count/1", "", {"bad": True})
    intervals = pa.array([pa.MonthDayNano([1, 2, 3])])
    before = objects(store)
    with pytest.raises(NotImplementedError, match="month_day_nano_interval"):
        store.commit(unit, [("numbers", pa.table({"interval": intervals}))])
    assert objects(store) == before
    assert store.find(unit) is None
    store.commit(unit, [("numbers", pa.table({"n": [1]}))])
    assert len(objects(store) - before) == 2


def test_an_object_of_another_size_is_redone(bucket):
    store = Store(bucket)
    unit = Unit("count/1", "", {"cut": True})
    done = store.commit(unit, [("numbers", pa.table({"n": [1, 2]}))])
    with store.filesystem.open_output_stream(store.location(done.tables["numbers"])) as sink:
        sink.write(b"PAR1")
    assert store.find(unit) is None


def test_messages_name_the_bucket_and_not_its_keys(bucket):
    store = Store(bucket)
    assert store.name == "s3://tilt/store"
    absent = TableRef("count/1/absent", "numbers", 1, {"n": ""})
    with pytest.raises(StorageError, match=r"is missing: .* store=s3://tilt/store not shared") as refusal:
        store.read(absent)
    assert "secret" not in "".join(traceback.format_exception(refusal.value))


def test_a_run_keeps_its_units_in_the_bucket_and_finds_them_again(bucket, configured, ray_cluster, tmp_path):
    local = execute(configured(*TINY, f"store={tmp_path}/store", f"run_dir={tmp_path}/local"))
    runs = [execute(configured(*TINY, f"store='{bucket}'", f"run_dir={tmp_path}/{name}")) for name in ("one", "two")]
    records = [json.loads((run / "run.json").read_text()) for run in [local, *runs]]
    units = [record["units"] for record in records]
    assert units[1] == units[0]
    assert units[2] == {"done": 0, "reused": units[0]["done"], "failed": 0}
    digests = [{name: table["digest"] for name, table in record["tables"].items()} for record in records]
    assert digests[0] == digests[1] == digests[2]


def test_a_run_directory_must_be_local(bucket, configured):
    with pytest.raises(ConfigError, match=r"run_dir is not set .* set run_dir=<local path>"):
        execute(configured(*TINY, f"store='{bucket}'"))
