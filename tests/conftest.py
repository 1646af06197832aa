"""Shared fixtures: real data, one Ray cluster for the whole session, and the command as a user runs it."""

import gc
import os
import subprocess
import sys
from pathlib import Path

import hypothesis
import pytest
import ray

ROOT = Path(__file__).parent.parent

# All libraries together have millions of objects, which the collector would look through again and again.
gc.set_threshold(50_000, 20, 100)

# Triton heeds it when it is imported, which any test that loads torch may do before those of the GPU kernel.
if not Path("/dev/nvidiactl").exists():
    os.environ.setdefault("TRITON_INTERPRET", "1")

# The first example of a test may wait for a compiler; no example is slow after that.
hypothesis.settings.register_profile("tiltmeter", deadline=None)
hypothesis.settings.load_profile("tiltmeter")


@pytest.fixture(scope="session")
def data_file():
    """Path of a file of the development data, or a skip that names it."""

    def find(name: str) -> Path:
        path = Path(os.environ.get("TILTMETER_DATA", ROOT / "../shared/data")) / name
        if not path.exists():
            pytest.skip(f"needs {name} under TILTMETER_DATA")
        return path

    return find


@pytest.fixture(scope="session")
def ray_cluster():
    """A local Ray cluster of four workers, which runs in this process join."""
    ray.init(address="local", num_cpus=4, include_dashboard=False, object_store_memory=128 * 2**20, log_to_driver=False)
    yield
    ray.shutdown()


@pytest.fixture
def tiltmeter(tmp_path):
    """Starts the command in an empty folder, as a user would."""

    def start(*arguments: str, **options) -> subprocess.Popen:
        command = [sys.executable, "-m", "jobs.app", *map(str, arguments)]
        environment = os.environ | {"PYTHONPATH": str(ROOT)}
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
        subprocess.run(["umount", place], check=True)
