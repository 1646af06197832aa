"""`ray job submit --working-dir src`: the package goes along to a cluster that is there, and runs there."""

import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import contextmanager, suppress
from pathlib import Path
from zipfile import ZipFile

import pytest
from ray._private.ray_constants import get_runtime_env_default_excludes
from ray._private.runtime_env.packaging import create_package

ROOT = Path(__file__).parents[3]
PROGRAMS = Path(sys.executable).parent
TOKEN = "0123456789abcdef" * 4


def test_what_goes_along_is_the_package_and_small(tmp_path):
    package = tmp_path / "checkout.zip"
    create_package(str(ROOT / "src"), package, include_gitignore=True, excludes=get_runtime_env_default_excludes())
    with ZipFile(package) as packed:
        names = packed.namelist()
    assert package.stat().st_size < 7_000_000
    needed = {"jobs/app.py", "conf/tiltmeter.yaml", "jobs/report/html/page.css", "storage/store/ledger.py"}
    assert {f"tiltmeter/{name}" for name in needed} <= set(names)
    assert {name.partition("/")[0] for name in names} == {".gitignore", "tiltmeter"}
    assert not [name for name in names if "__pycache__" in name]


def free_ports(number):
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(number)]
    ports = [free.getsockname()[1] for free in sockets]
    for free in sockets:
        free.close()
    return ports


@contextmanager
def head_node(environment, temporary):
    """A cluster of one node with a job server, which nobody can use without the token; gives the server's address."""
    port, server_port, client_port = free_ports(3)
    options = {
        "port": port,
        "dashboard-port": server_port,
        "ray-client-server-port": client_port,
        "dashboard-agent-listen-port": 0,
        "num-cpus": 2,
        "object-store-memory": 128 * 2**20,
        "temp-dir": temporary,
    }
    words = [f"--{name}={value}" for name, value in options.items()]
    command = [PROGRAMS / "ray", "start", "--head", "--block", "--disable-usage-stats", *words]
    head = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield f"http://127.0.0.1:{server_port}"
    finally:
        head.terminate()
        head.wait(timeout=600)
        shutil.rmtree(temporary, ignore_errors=True)


def status(url):
    """The answer to someone without the token."""
    try:
        return urllib.request.urlopen(url).status
    except urllib.error.HTTPError as error:
        return error.code


def wait_for(address):
    for _ in range(240):
        with suppress(OSError):
            return status(address)
        time.sleep(0.5)
    raise AssertionError(f"nobody listens at {address}")


@pytest.mark.slow
def test_a_submitted_checkout_runs_and_its_status_is_told(tmp_path):
    path = {"PATH": f"{PROGRAMS}:{os.environ['PATH']}"}
    environment = os.environ | path | {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": TOKEN}
    # The paths of Ray's sockets have to be short.
    with head_node(environment, f"/tmp/ray-{os.getpid()}") as address:

        def submit(*command):
            words = [PROGRAMS / "ray", "job", "submit", "--address", address, "--working-dir", "src", "--", *command]
            return subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)

        wait_for(address)
        assert status(f"{address}/api/jobs/") == 401
        settings = ["job=bootstrap", "cluster=existing", f"store={tmp_path}/store", f"run_dir={tmp_path}/run"]
        refused = submit("tiltmeter", *settings, "seed=-1")
        assert refused.returncode == 1
        assert "seed=-1: input should be greater than or equal to 0" in refused.stdout
        corpus = "package://gensim/test/test_data/enwiki-table-markup.xml.bz2"
        small = ["corpus=file", "corpus.language=en", f"corpus.path={corpus}", "embedding.num_replicas=2"]
        run = shlex.join(["tiltmeter", *settings, *small, "embedding.trainer.epochs=1"])
        done = submit("bash", "-c", f"{run} && python -c 'import tiltmeter; print(tiltmeter.__file__)'")
        assert done.returncode == 0, done.stdout
        assert re.search(r"/working_dir_files/\S+/tiltmeter/__init__.py", done.stdout)
    record = json.loads((tmp_path / "run/run.json").read_text())
    assert record["status"] == "succeeded"
    assert record["git_commit"] is None
