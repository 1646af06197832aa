"""A run on a cluster of its own that is asked to end: it says so in a line, and nothing of it stays behind."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from tests.faults.scene import SECONDS, TINY

pytestmark = [pytest.mark.slow, pytest.mark.timeout(SECONDS)]

RUN = [*TINY, "cluster.num_cpus=1", "store=store", "run_dir=run"]
GOES_ON = "; the same command goes on where this run stopped\n"


def start(tiltmeter):
    """The command as the first of a group of processes, as a terminal starts one."""
    return tiltmeter(*RUN, start_new_session=True, preexec_fn=_heed_signals)


def _heed_signals():
    """What a shell starts in the background, or by nohup, ignores them."""
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def wait_for(process, folder, moment):
    """Wait for the start of Ray, of the first unit, or of the page."""
    moments = {
        "start": lambda: (folder / "run/run.json").exists() and psutil.Process(process.pid).children(),
        "work": lambda: any(path.is_file() for path in (folder / "store/ledger").rglob("*")),
        "tables": lambda: any((folder / "run").glob("*.parquet")),
    }
    while process.poll() is None and not moments[moment]():
        time.sleep(0.02)


@pytest.mark.parametrize(
    ("name", "moment", "is_group", "times"),
    [
        ("SIGINT", "work", True, 1),
        ("SIGTERM", "start", False, 1),
        ("SIGTERM", "work", False, 1),
        ("SIGTERM", "work", True, 1),
        ("SIGTERM", "tables", False, 1),
        ("SIGHUP", "work", True, 1),
        ("SIGQUIT", "work", True, 20),
        ("SIGINT", "tables", True, 20),
    ],
)
def test_a_signal_ends_a_run_with_its_status_and_one_line(tiltmeter, tmp_path, name, moment, is_group, times):
    process, number = start(tiltmeter), signal.Signals[name]
    wait_for(process, tmp_path, moment)
    children = psutil.Process(process.pid).children(recursive=True)
    for _ in range(times):
        if process.poll() is None:
            os.killpg(process.pid, number) if is_group else process.send_signal(number)
        time.sleep(0.05)
    _, errors = process.communicate()
    message = "interrupted" if name == "SIGINT" else f"interrupted by {name}"
    assert (process.returncode, errors) == (128 + number, f"tiltmeter: {message}{GOES_ON}")
    assert psutil.wait_procs(children, timeout=120)[1] == []
    for record in (tmp_path / "run/run.json", *tmp_path.glob("store/registry/*/*/*/run.json")):
        assert json.loads(record.read_text())["status"] == "interrupted"
    assert json.loads((tmp_path / "run/run.json").read_text())["error"] == {"error": message}
    assert not [path for path in tmp_path.rglob("*") if "partial" in path.name]
    again = start(tiltmeter)
    assert again.wait() == 0
    assert json.loads((tmp_path / "run/run.json").read_text())["status"] == "succeeded"


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGINT, signal.SIGQUIT])
def test_a_run_that_ignores_a_signal_goes_on(tiltmeter, tmp_path, number):
    process = tiltmeter(*RUN, preexec_fn=lambda: signal.signal(number, signal.SIG_IGN))
    wait_for(process, tmp_path, "work")
    process.send_signal(number)
    assert process.communicate()[1] == ""
    assert process.returncode == 0


def test_a_run_whose_output_does_not_fit_ends_with_its_status(tiltmeter, small_disk):
    place = small_disk("64k")
    (place / "ballast").write_bytes(b"x" * 2**16)
    with (place / "out.txt").open("wb") as full:
        process = tiltmeter(*RUN, stdout=full)
        _, errors = process.communicate()
    lost = "standard output can't be written (No space left on device); the command goes on without it"
    assert (process.returncode, errors) == (0, f"tiltmeter: {lost}\n")


def test_a_run_needs_neither_home_nor_a_place_beside_its_code(tiltmeter, tmp_path, monkeypatch):
    for name in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME", "RAY_AUTH_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "/proc/none")
    root = Path(__file__).parents[2]
    read_only = f"mount --bind {root} {root} && mount -o remount,ro,bind {root}"
    if subprocess.run(["unshare", "-m", "sh", "-c", read_only], capture_output=True, check=False).returncode:
        pytest.skip("needs the right to mount")
    command = ["unshare", "-m", "sh", "-c", f'{read_only} && exec "$@"', "sh"]
    done = subprocess.run(
        [*command, sys.executable, "-m", "tiltmeter.jobs.app", *RUN],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(root / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
