"""What makes two processes compute the same, and what tells them apart."""

import importlib.metadata
import shutil
from pathlib import Path

import pytest

from tiltmeter.cluster.environment import PACKAGES, Environment, differences, environment

ROOT = Path(__file__).parents[2]


@pytest.fixture
def copied(tmp_path, monkeypatch):
    """A copy of our packages, from where they are imported next."""
    copy = tmp_path / "tiltmeter"
    shutil.copytree(ROOT / "src/tiltmeter", copy, ignore=shutil.ignore_patterns("__pycache__"))
    origins = {f"tiltmeter.{package}": str(copy / package / "__init__.py") for package in PACKAGES}
    monkeypatch.setattr(
        "tiltmeter.cluster.environment.find_spec", lambda package: type("Spec", (), {"origin": origins[package]})
    )
    return copy


def test_versions_are_those_of_the_installed_distributions():
    versions = environment(["numpy", "no-such-package"]).versions
    assert versions["numpy"] == importlib.metadata.version("numpy")
    assert versions["no-such-package"] == "not there"
    assert set(versions) == {"Python", "numpy", "no-such-package"} | {f"code of {package}" for package in PACKAGES}


@pytest.mark.parametrize("changed", ["jobs/execute.py", "conf/cluster/local.yaml"])
def test_a_changed_source_or_setting_is_told_by_its_package(copied, changed):
    here = environment([])
    (copied / "jobs/notes.txt").write_text("neither code nor a setting")
    assert environment([]) == here, "it is the same wherever it lies"
    (copied / changed).write_text((copied / changed).read_text() + "\n")
    [sentence] = differences({"here": here, "on b": environment([])})
    assert sentence.startswith(f"code of {changed.partition('/')[0]}: ")


def test_differences_say_which_version_is_where():
    versions = {"here": "2.4.1", "on a": "2.3.0", "on b": "2.4.1", "on c": "2.3.0"}
    environments = {place: Environment({"numpy": version, "ray": "2.60.0"}, "") for place, version in versions.items()}
    environments["on c"] = Environment({"numpy": "2.3.0"}, "")
    assert differences(environments) == [
        "numpy: 2.4.1 here, on b; 2.3.0 on a, on c",
        "ray: 2.60.0 here, on a, on b; not there on c",
    ]
