"""What is installed: one package, of a version that the changelog names, whose parts import from anywhere."""

import email
import filecmp
import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from datetime import date
from pathlib import Path

import pytest
import yaml
from packaging.specifiers import SpecifierSet

from tiltmeter.cluster.environment import PACKAGES

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
BESIDE = {"MANIFEST.in", "CHANGELOG.md", "CITATION.cff", PROJECT["readme"], *PROJECT["license-files"]}
"""What the source archive has beside the package."""
EPOCH = {"SOURCE_DATE_EPOCH": "1795737600"}
BUILD = "import sys; from setuptools import build_meta as backend; print(getattr(backend, sys.argv[1])(sys.argv[2]))"


def build(kind, tree, into):
    """The path of what is built of a tree, of ``kind`` sdist or wheel, without a network."""
    program = [sys.executable, "-c", BUILD, f"build_{kind}", into]
    built = subprocess.run(program, cwd=tree, env=os.environ | EPOCH, check=True, capture_output=True, text=True)
    return into / built.stdout.splitlines()[-1]


def unpacked(source, into):
    """The only folder of a source archive."""
    with tarfile.open(source) as archive:
        archive.extractall(into)
    [tree] = into.iterdir()
    return tree


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """The source archive. It is made of a copy: beside a tree that was built before, modules outlive their removal."""
    folder = tmp_path_factory.mktemp("source")
    tree = shutil.copytree(ROOT / "src", folder / "tree/src", ignore=shutil.ignore_patterns("__pycache__")).parent
    shutil.rmtree(tree / "src/tiltmeter.egg-info", ignore_errors=True)
    for name in ("pyproject.toml", "setup.py", *BESIDE):
        shutil.copy(ROOT / name, tree)
    return build("sdist", tree, folder)


@pytest.fixture(scope="module")
def site(source, tmp_path_factory):
    """A folder with what the wheel installs, which is built of the source archive."""
    folder = tmp_path_factory.mktemp("wheel")
    with zipfile.ZipFile(build("wheel", unpacked(source, folder / "tree"), folder)) as packed:
        packed.extractall(folder / "site")
    return folder / "site"


def test_the_source_archive_has_the_package_and_what_is_told_of_it_and_nothing_else(source):
    with tarfile.open(source) as archive:
        members = {member.name.partition("/")[2]: member for member in archive if member.isfile()}
        assert {(member.uid, member.uname, member.mtime) for member in archive} == {(0, "", int(*EPOCH.values()))}
    made = {"PKG-INFO", "setup.cfg"}
    assert {name for name in members if "/" not in name} == {*BESIDE, *made, "pyproject.toml", "setup.py"}
    inner = {name.removeprefix("src/") for name in members if "/" in name and ".egg-info/" not in name}
    assert {name.split("/")[0] for name in inner} == {"tiltmeter"}
    assert {name.split("/")[1] for name in inner} == {*PACKAGES, "__init__.py", "py.typed"}


def test_what_is_told_of_the_package_is_complete(site):
    [told] = site.glob("*.dist-info/METADATA")
    headers = email.message_from_string(told.read_text())
    assert [headers[name] for name in ("Name", "Version")] == ["tiltmeter", PROJECT["version"]]
    assert headers["License-Expression"] == PROJECT["license"]
    assert headers["Description-Content-Type"] == "text/markdown"
    supported = SpecifierSet(headers["Requires-Python"])
    classified = re.findall(r"Python :: (3\.\d+)$", "\n".join(headers.get_all("Classifier")), re.MULTILINE)
    assert classified == [f"3.{minor}" for minor in range(30) if f"3.{minor}" in supported]
    assert headers.get_payload() == (ROOT / "README.md").read_text()
    assert headers["Author"] == yaml.safe_load((ROOT / "CITATION.cff").read_text())["authors"][0]["name"]
    assert headers["Keywords"].split(",") == yaml.safe_load((ROOT / "CITATION.cff").read_text())["keywords"]


@pytest.mark.slow
def test_two_builds_of_a_clean_tree_are_equal_byte_for_byte_and_so_is_the_wheel_of_the_source(tmp_path):
    packed = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, check=True, capture_output=True).stdout
    for copy in ("one", "other"):
        with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
            archive.extractall(tmp_path / copy / "tree")
        for file in (tmp_path / copy / "tree").rglob("*.py"):
            os.utime(file)
        for kind in ("sdist", "wheel"):
            build(kind, tmp_path / copy / "tree", tmp_path / copy)
    names = sorted(path.name for path in (tmp_path / "one").iterdir() if path.is_file())
    assert [name.partition(PROJECT["version"])[2] for name in names] == ["-py3-none-any.whl", ".tar.gz"]
    assert all(filecmp.cmp(tmp_path / "one" / name, tmp_path / "other" / name, shallow=False) for name in names)
    again = build("wheel", unpacked(tmp_path / "one" / names[1], tmp_path / "source"), tmp_path)
    assert filecmp.cmp(tmp_path / "one" / names[0], again, shallow=False)
    if twine := shutil.which("twine"):
        subprocess.run([twine, "check", "--strict", *(tmp_path / "one" / name for name in names)], check=True)


def test_the_wheel_installs_one_package_with_its_settings_and_types(site):
    names = {path.name for path in site.iterdir() if not path.name.endswith(".dist-info")}
    assert names == {"tiltmeter"}
    assert {path.name for path in (site / "tiltmeter").iterdir()} == {*PACKAGES, "__init__.py", "py.typed"}
    settings = {path.relative_to(ROOT / "conf") for path in (ROOT / "conf").rglob("*.yaml")}
    assert {path.relative_to(site / "tiltmeter/conf") for path in site.glob("tiltmeter/conf/**/*.yaml")} == settings
    for folder in ("html", "method_texts"):
        carried = {path.name for path in (ROOT / "jobs/report" / folder).iterdir() if path.is_file()}
        assert {path.name for path in (site / "tiltmeter/jobs/report" / folder).iterdir()} == carried
    assert {path.name for path in site.rglob("*.dist-info/licenses/*")} == {"LICENSE", "NOTICE"}


def test_every_module_of_the_tree_is_in_the_wheel(site):
    for package in PACKAGES:
        modules = {path.relative_to(ROOT) for path in (ROOT / package).rglob("*.py")}
        assert {
            path.relative_to(site / "tiltmeter") for path in (site / "tiltmeter" / package).rglob("*.py")
        } == modules


def test_modules_of_the_wheel_import_from_another_folder(site, tmp_path):
    modules = [
        f"tiltmeter.{name}" for name in ("operators.association", "operators.resolution", "jobs.library", "jobs.app")
    ]
    program = f"import sys; sys.path.insert(0, {str(site)!r}); import {', '.join(modules)}"
    program += f"; print(*(sys.modules[name].__file__ for name in {modules}), sep='\\n')"
    ran = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert [Path(line).is_relative_to(site) for line in ran.stdout.splitlines()] == [True] * len(modules)


def test_its_version_and_its_licence_are_those_that_the_pages_name():
    [(number, day), *_] = re.findall(r"^## ([\d.]+)(?:, (\S+))?$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert PROJECT["version"] in (number, f"{number}.dev0")
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert date.fromisoformat(cited["date-released"]) == date.fromisoformat(day)
    assert PROJECT["license"] == "Apache-2.0"
    assert "Apache License 2.0" in (ROOT / "README.md").read_text()
    assert (ROOT / "LICENSE").read_text().lstrip().startswith("Apache License")


def test_its_citation_is_one_of_a_software_and_agrees_with_what_is_installed():
    """The keys that version 1.2.0 of the format needs, and no other than those it knows of which there are some."""
    text = (ROOT / "CITATION.cff").read_text()
    cited = yaml.safe_load(text)
    needed = {"cff-version", "message", "title", "authors"}
    assert needed <= cited.keys() <= needed | {"type", "abstract", "version", "date-released", "license", "keywords"}
    assert cited["cff-version"] == "1.2.0"
    assert cited["type"] == "software"
    assert all(author.keys() == {"name"} and author["name"] for author in cited["authors"])
    assert len(cited["keywords"]) == len({*cited["keywords"]})
    assert all(isinstance(value, str) for value in (*cited["keywords"], cited["message"], cited["title"]))
    own = [PROJECT["version"], PROJECT["license"], PROJECT["description"], PROJECT["name"]]
    assert [cited["version"], cited["license"], cited["abstract"], cited["title"].lower()] == own
