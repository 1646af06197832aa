"""The image: its recipe as a linter reads it, and its steps done one after another in a folder."""

import os
import re
import shutil
import subprocess
import sys
import tomllib

import pytest

from tests.cluster.deploy.image_steps import DOCKERFILE, ROOT, Build, context, instructions
from tests.cluster.deploy.test_deployments import IMAGE

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
RECIPE = DOCKERFILE.read_text()


@pytest.fixture
def last():
    """The instructions of the stage that the image is."""
    told = list(instructions(RECIPE))
    start = max(number for number, (name, _) in enumerate(told) if name == "FROM")
    return told[start:]


def test_a_linter_finds_nothing(check):
    assert check("hadolint", DOCKERFILE) == (0, "")


def test_the_image_is_of_this_version_and_lets_nobody_be_root(last):
    assert IMAGE in RECIPE
    [labels] = [rest for name, rest in last if name == "LABEL"]
    for key in ("version", "description"):
        assert f'image.{key}="{PROJECT[key]}"' in labels
    assert f'image.licenses="{PROJECT["license"]}"' in labels
    assert [rest for name, rest in last if name == "USER"] == ["1000"]
    assert not any(name in ("RUN", "ADD") for name, _ in last)


def test_the_python_of_the_image_is_one_that_the_project_supports():
    [usual] = re.findall(r"^ARG PYTHON=(\S+)$", RECIPE, re.MULTILINE)
    assert f"Programming Language :: Python :: {usual}" in PROJECT["classifiers"]


def test_the_context_has_what_the_package_is_made_of_and_no_history_tests_or_runs():
    brought = {path.name for path in context(ROOT)}
    assert all((ROOT / name).exists() for name in brought)
    links = {path.name for path in (ROOT / "src/tiltmeter").iterdir() if path.is_symlink()}
    assert brought >= links | {"pyproject.toml", "setup.py", "src", PROJECT["readme"], *PROJECT["license-files"]}
    assert not brought & {".git", ".venv", "tests", "docs", "benchmarks", "store"}


SMALL = """
ARG PYTHON=3.0
ARG PROCESSOR=cpu
FROM python:${PYTHON}-slim-bookworm AS made
ENV PATH=/opt/made/bin:$PATH
WORKDIR /opt/made/bin
COPY LICENSE .
RUN cp LICENSE /opt/made/kept \\
    && rm LICENSE # as /opt/made/gone
FROM made AS made-cpu
RUN touch /opt/made/cpu
FROM made AS made-cuda
RUN touch /opt/made/cuda
FROM made-${PROCESSOR} AS chosen
FROM python:${PYTHON}-slim-bookworm
COPY --from=chosen /opt/made /opt/made
RUN apt-get update && ls /opt/made | sort >/opt/list && test ! -e /opt/other
USER 1000
CMD ["cat", "kept"]
"""


@pytest.mark.parametrize("processor", ["cpu", "cuda"])
def test_steps_are_done_in_their_stages_and_only_those_that_the_image_needs(tmp_path, processor):
    build = Build(tmp_path, {"PROCESSOR": processor})
    stage = build.run(SMALL)
    assert (tmp_path / "image/opt/list").read_text().split() == sorted(["bin", processor, "kept"])
    assert (tmp_path / "image/opt/made/kept").read_bytes() == (ROOT / "LICENSE").read_bytes()
    assert build.system == ["apt-get update"]
    assert (stage.user, stage.command) == ("1000", ("cat", "kept"))
    assert [step.split(",")[0] for step in build.steps] == ["made", f"made-{processor}", "image"]


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_the_steps_make_an_environment_that_runs_the_command_without_the_checkout(tmp_path, monkeypatch):
    wheels = os.environ.get("PIP_FIND_LINKS")  # of torch, where there are some, as for make
    if wheels:
        monkeypatch.setenv("UV_FIND_LINKS", wheels)
    build = Build(tmp_path / "build", {"TORCH": ""} if wheels else {})
    stage = build.run(RECIPE)
    home = build.image / stage.folder.lstrip("/")
    variables = stage.variables | {"HOME": str(home)}
    told = subprocess.run(stage.command, cwd=home, env=variables, check=True, capture_output=True, text=True).stdout
    assert "tiltmeter job=<name>" in told
    assert shutil.which("tiltmeter", path=stage.variables["PATH"]) == f"{build.image}/opt/tiltmeter/bin/tiltmeter"
    program = "import tiltmeter, torch; print(tiltmeter.__file__)"
    ran = subprocess.run(["python", "-c", program], cwd=home, env=variables, check=True, capture_output=True, text=True)
    assert ran.stdout.startswith(f"{build.image}/opt/tiltmeter/lib/python{sys.version_info.major}.")
    profile = (build.image / "etc/profile.d/tiltmeter.sh").read_text()
    assert profile.startswith(f"PATH={build.image}/opt/tiltmeter/bin:")
    assert any("apertium" in command for command in build.system)
    assert not [command for command in build.system if "gcc" in command]
