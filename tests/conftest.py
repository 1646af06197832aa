"""Shared fixtures: real data, the command as a user runs it, a small disk, a bucket; `fixtures/` has others."""

import gc
import os
import signal
import subprocess
import sys
from pathlib import Path

import hypothesis
import pytest

from tests.fixtures.buckets import new_bucket

pytest_plugins = [
    "tests.choices",
    "tests.golden.tables",
    *(
        f"tests.fixtures.{name}"
        for name in (
            "checkpoints",
            "cluster",
            "compositions",
            "dialogues",
            "history",
            "pages",
            "postgres",
            "payloads",
            "stores",
            "weights",
        )
    ),
]

ROOT = Path(__file__).parent.parent

gc.set_threshold(50_000, 20, 100)

# A shell without job control has what it starts in the background ignore signals, which some tests send.
USUAL = {signal.SIGINT: signal.default_int_handler, signal.SIGHUP: signal.SIG_DFL, signal.SIGQUIT: signal.SIG_DFL}
for number, action in USUAL.items():
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, action)

# Triton heeds it when it is imported, which any test that loads torch may do before those of the GPU kernel.
if not Path("/dev/nvidiactl").exists():
    os.environ.setdefault("TRITON_INTERPRET", "1")

# Clusters of tests: workers that Ray starts before anyone asks serve nobody, and nobody reads its metrics.
os.environ |= {"RAY_enable_worker_prestart": "0", "RAY_prestart_worker_first_driver": "0"}
os.environ |= {"RAY_enable_metrics_collection": "0", "REPORTER_UPDATE_INTERVAL_MS": "600000"}
# On a busy machine the interpreter of a worker takes its time: Ray ends it after a minute, and starts it again.
os.environ |= {"RAY_worker_register_timeout_seconds": "600"}

# The first example of a test may wait for a compiler; no example is slow after that. The same examples come every
# time, so that nobody's change fails for an old mistake; `make faults` draws others (--hypothesis-profile random).
hypothesis.settings.register_profile("random", deadline=None, print_blob=True)
hypothesis.settings.register_profile("tiltmeter", deadline=None, derandomize=True, database=None)
hypothesis.settings.load_profile("tiltmeter")


LONG = {"browser", "lasting_workers", "ray_cluster", "run_here", "run_job", "s3_bucket", "small_disk", "tiltmeter"}
"""Fixtures that start a job, a cluster, a server or a browser."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Tests that take seconds for what they start are marked by what they ask for; others carry the mark themselves."""
    for item in items:
        if LONG & {*getattr(item, "fixturenames", ())}:
            item.add_marker("long")


def pytest_collection_finish():
    """All libraries together have a million objects, which the collector need not look through again and again."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def data_file():
    """Path of a file of the development data, or a skip that names it."""

    def find(name: str) -> Path:
        path = Path(os.environ.get("TILTMETER_DATA", ROOT / "../shared/data")) / name
        if not path.exists():
            pytest.skip(f"needs {name} under TILTMETER_DATA")
        return path

    return find


@pytest.fixture
def tiltmeter(tmp_path):
    """Starts the command in an empty folder, as a user would."""

    def start(*arguments: str, **options) -> subprocess.Popen:
        command = [sys.executable, "-m", "tiltmeter.jobs.app", *map(str, arguments)]
        environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        return subprocess.Popen(command, cwd=tmp_path, env=environment, **(pipes | options))

    return start


@pytest.fixture
def small_disk(tmp_path):
    """Mounts an empty file system of a given size, such as ``3m``, or skips where that is not allowed."""
    places = []

    def mount(size: str) -> Path:
        place = tmp_path / f"disk{len(places)}"
        place.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", place]
        if subprocess.run(command, capture_output=True, check=False).returncode:
            pytest.skip("needs the right to mount a small file system")
        places.append(place)
        return place

    yield mount
    for place in places:
        # Lazily: a command that was stopped may still be at a file of it.
        subprocess.run(["umount", "--lazy", place], check=True)


@pytest.fixture(scope="session")
def s3_bucket():
    """An empty bucket of a server process."""
    with new_bucket() as bucket:
        yield bucket
