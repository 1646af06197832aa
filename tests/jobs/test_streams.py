"""The command where output, locale, home or terminal are not as on a desk."""

import io
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tiltmeter.jobs.report import terminal
from tiltmeter.jobs.streams import RedactedStream, standard_streams

ROOT = Path(__file__).parents[2]
CLOSED = "tiltmeter: standard output is closed; the command goes on without it\n"
FULL = "can't be written (No space left on device); the command goes on without it\n"
REFUSED = "tiltmeter: --no: there is no such option; tiltmeter --help has both"


@pytest.fixture(scope="module")
def endings(tmp_path_factory):
    """Status, output and errors of the command with streams as a shell sets them, of all such commands at once."""
    commands = {
        "closed": "--help >&-",
        "all closed": "--help <&- >&- 2>&-",
        "full": "--help >/dev/full",
        "both full": "--help >/dev/full 2>&1",
        "refused without output": "--no >&-",
        "refused without errors": "--no 2>&-",
        "refused with full errors": "--no 2>/dev/full",
        "refused without both": "--no >&- 2>&-",
        "no home": "--help",
    }
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    processes = {}
    for name, words in commands.items():
        variables = environment | ({"HOME": "/proc/none", "TERM": "dumb", "COLUMNS": "0"} if name == "no home" else {})
        line = f"exec {sys.executable} -m tiltmeter.jobs.app {words}"
        processes[name] = subprocess.Popen(["sh", "-c", line], env=variables, cwd=tmp_path_factory.mktemp("a"), **pipes)
    said = {name: process.communicate() for name, process in processes.items()}
    return {name: (process.returncode, *said[name]) for name, process in processes.items()}


@pytest.mark.parametrize(
    ("name", "status", "output", "errors"),
    [
        ("closed", 0, "", CLOSED),
        ("all closed", 0, "", ""),
        ("full", 0, "", f"tiltmeter: standard output {FULL}"),
        ("both full", 0, "", ""),
        ("refused without output", 2, "", f"{REFUSED}\n"),
        ("refused without errors", 2, CLOSED.replace("output", "error"), ""),
        ("refused with full errors", 2, f"tiltmeter: standard error {FULL}", ""),
        ("refused without both", 2, "", ""),
    ],
)
def test_a_command_that_can_not_print_says_so_once_and_keeps_its_status(endings, name, status, output, errors):
    assert endings[name] == (status, output, errors)


def test_help_needs_neither_home_nor_terminal(endings):
    status, output, errors = endings["no home"]
    assert (status, errors) == (0, "")
    assert "Jobs" in output


def test_a_run_in_the_locale_c_knows_its_files_and_writes_what_the_encoding_has(tiltmeter, tmp_path, monkeypatch):
    for name, value in {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii", "HOME": "/proc/none"}.items():
        monkeypatch.setenv(name, value)
    process = tiltmeter("job=prune", "store='B\N{LATIN SMALL LETTER A WITH DIAERESIS}r'")
    output, errors = process.communicate()
    assert (process.returncode, errors) == (0, "")
    assert r"B\xe4r/runs/prune" in output
    assert (tmp_path / "Bär/runs/prune").is_dir()


def test_a_command_that_no_hangup_should_end_goes_on(tiltmeter):
    process = tiltmeter("job=prune", preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    while process.poll() is None:
        process.send_signal(signal.SIGHUP)
        time.sleep(0.05)
    assert process.wait() == 0


# --- in this process ------------------------------------------------------------------------------------------------


def test_a_full_disk_is_told_once_and_what_follows_goes_nowhere():
    lost = []
    with open("/dev/full", "w", encoding="utf-8") as full:
        stream = RedactedStream(full, lost.append)
        for _ in range(3):
            assert stream.write("line\n") == 5
            stream.flush()
    assert [error.strerror for error in lost] == ["No space left on device"]


@pytest.mark.parametrize(
    ("encoding", "written"),
    [
        ("ascii", b"* PSE -1.5 [-2.0, 0.3] ... B\\xe4r \\u4e2d + \\udcff"),
        ("latin-1", b"* PSE -1.5 [-2.0, 0.3] ... B\xe4r \\u4e2d + \\udcff"),
        ("utf-8", "• PSE −1.5 [−2.0, 0.3] … Bär 中 ✓ \\udcff".encode()),
    ],
)
def test_characters_that_an_encoding_lacks_are_written_in_its_own(monkeypatch, encoding, written):
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(memory := io.BytesIO(), encoding))
    with standard_streams():
        print("• PSE −1.5 [−2.0, 0.3] … Bär 中 ✓ \udcff", end="")
    assert memory.getvalue() == written


@pytest.mark.parametrize(
    ("columns", "width"), [("0", 80), ("1", 40), ("39", 40), ("120", 120), ("10000", 1000), ("wide", 80), ("-5", 80)]
)
def test_a_terminal_that_is_too_narrow_to_read_or_has_no_width_gets_a_usual_one(monkeypatch, columns, width):
    monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    assert terminal.console().width == width
