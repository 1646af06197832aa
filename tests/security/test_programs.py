"""Programs that are started get no credentials, and are not looked for in the working directory."""

import os
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

import tiltmeter
from tiltmeter.cluster.config import ClusterConfig
from tiltmeter.jobs.runtime import provenance
from tiltmeter.jobs.runtime import subprocesses as programs
from tiltmeter.jobs.sentiment.translation.apertium import Apertium, TranslationError, direction, installed_directions
from tiltmeter.jobs.sentiment.translation.pipes import TextPipe
from tiltmeter.jobs.sentiment.translation.round_trips import ApertiumTranslator
from tiltmeter.jobs.upkeep.overnight import child
from tiltmeter.jobs.upkeep.overnight.config import ListedJob

SECRET = "hunter2-Zq7xW"


@pytest.fixture
def secrets(monkeypatch):
    for name in (
        "HF_TOKEN",
        "AWS_ACCESS_KEY_ID",
        "AWS_SECRET_ACCESS_KEY",
        "RAY_AUTH_TOKEN",
        "GITHUB_TOKEN",
        "DATABASE_URL",
    ):
        monkeypatch.setenv(name, SECRET)


def test_programs_get_what_they_need_of_the_environment_and_no_more(secrets, monkeypatch):
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    found = programs.environment()
    assert SECRET not in found.values()
    assert found["LC_ALL"] == "C.UTF-8"
    assert found["PATH"]


@pytest.mark.parametrize("path", [".", "", ".:", "bin:.", ":/usr/bin:/bin"])
def test_no_program_of_the_working_directory_is_run(tmp_path, trace, monkeypatch, path):
    for name in ("git", "apertium-wblank-mode"):
        (tmp_path / name).write_text(f"#!/bin/sh\nmkdir '{trace}'\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", path)
    provenance.provenance()
    installed_directions()
    assert all(map(os.path.isabs, programs.environment()["PATH"].split(os.pathsep)))


def test_what_git_is_asked_has_no_words_from_outside(monkeypatch):
    asked, nothing = [], SimpleNamespace(stdout="")
    monkeypatch.setattr(provenance.subprocess, "run", lambda command, **how: asked.append((command, how)) or nothing)
    provenance.provenance()
    assert [command[:2] + command[3:] for command, _ in asked] == [
        ["git", "-C", "rev-parse", "HEAD"],
        ["git", "-C", "status", "--porcelain", "-uno"],
    ]
    assert all(how["env"] == programs.environment() and "shell" not in how for _, how in asked)


def test_pipes_run_without_credentials(secrets):
    pipe = TextPipe(["cat"], [], b"\0", 10.0)
    try:
        assert list(pipe.answers([b"text"])) == [b"text"]
        started = psutil.Process().children(recursive=True)
        assert started
        assert not [process for process in started if SECRET in process.environ().values()]
    finally:
        pipe.stop()


@pytest.mark.parametrize(
    "text", ["$(touch x)", "`touch x`", "; touch x", "| touch x", "-n", "--help", "\0; touch x", "\n\n"]
)
def test_texts_are_read_by_programs_and_never_part_of_a_command(tmp_path, monkeypatch, text):
    monkeypatch.chdir(tmp_path)
    pipe = TextPipe(["cat"], ["-n", ""], b"[]\0", 10.0)
    try:
        assert list(pipe.answers([text.encode()])) == [text.encode()]
    finally:
        pipe.stop()
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize("language", ["-x", "es; touch x", "../../es", "$(id)", "es\n", "*"])
def test_languages_are_codes(language):
    with pytest.raises(ValueError, match="language"):
        ApertiumTranslator(kind="apertium", language=language)
    with pytest.raises(TranslationError, match="no direction"):
        direction("en", language)
    with pytest.raises(TranslationError, match="no direction"):
        Apertium(f"eng-{language}")


def test_the_store_of_a_night_is_not_on_the_command_lines_of_its_jobs(tmp_path, monkeypatch):
    """Whoever is on the machine can read those."""
    store, started = f"s3://AKIAEXAMPLE:{SECRET}@bucket/store?region=us-east-1", []
    ended = SimpleNamespace(returncode=0, wait=lambda _: 0)
    monkeypatch.setattr(child.subprocess, "Popen", lambda command, **how: started.append((command, how)) or ended)
    child.run_job(ListedJob("one", ("job=prune",)), store, tmp_path, ClusterConfig(), tmp_path / "log", None)
    [(command, how)] = started
    assert not [word for word in command if SECRET in word]
    assert how["env"]["TILTMETER_STORE"] == store
    assert "store=${oc.env:TILTMETER_STORE}" in command


def run_in(folder, script):
    """As a night runs a job."""
    options = {"cwd": folder, "env": child._environment(""), "capture_output": True, "text": True}
    return subprocess.run([sys.executable, "-P", "-c", script], check=False, **options)


@pytest.mark.long
def test_a_job_of_a_night_imports_nothing_from_the_working_directory(tmp_path, trace):
    for name in ("yaml.py", "tiltmeter.py"):
        (tmp_path / name).write_text(f"import os; os.mkdir({str(trace)!r})")
    ran = run_in(tmp_path, "import yaml, tiltmeter.jobs.runtime.config; print(tiltmeter.__file__)")
    assert ran.returncode == 0, ran.stderr
    assert Path(ran.stdout.strip()) == Path(tiltmeter.__file__)


WORKER = """
import ray
from tiltmeter.cluster.config import ClusterConfig
from tiltmeter.cluster.connection import connected
with connected(ClusterConfig(num_cpus=1)):
    print(ray.get(ray.remote(lambda: __import__("colorsys").__file__).remote()))
"""


@pytest.mark.slow
@pytest.mark.xfail(strict=True, reason="Ray puts the driver's working directory before all others")
def test_workers_import_nothing_from_the_working_directory(tmp_path, trace):
    (tmp_path / "colorsys.py").write_text(f"import os; os.mkdir({str(trace)!r})")
    ran = run_in(tmp_path, WORKER)
    with suppress(FileNotFoundError):
        trace.rmdir()
    assert Path(ran.stdout.strip()).parent == Path(os.__file__).parent, ran.stderr


def test_a_shell_is_found_where_others_are():
    assert programs.find("bash") == shutil.which("bash", path=programs.environment()["PATH"])
    assert programs.find("no such program") is None
