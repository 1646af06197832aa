"""What is installed: one package, of a version that the changelog names, whose parts import from anywhere."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml

from tiltmeter.cluster.environment import PACKAGES

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A folder with what the wheel installs. It is built from a copy: in ``build/`` modules outlive their removal."""
    folder = tmp_path_factory.mktemp("wheel")
    source = shutil.copytree(ROOT / "src", folder / "source/src", ignore=shutil.ignore_patterns("__pycache__")).parent
    for name in ("pyproject.toml", PROJECT["readme"], *PROJECT["license-files"]):
        shutil.copy(ROOT / name, source)
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", folder]
    # A folder `build` in the tree still has the modules of earlier wheels, and setuptools would pack them again.
    (folder / "build.cfg").write_text(f"[build]\nbuild_base = {folder / 'build'}\n")
    environment = os.environ | {"DIST_EXTRA_CONFIG": str(folder / "build.cfg")}
    subprocess.run([sys.executable, "-m", "pip", "wheel", *options, source], check=True, env=environment)
    [wheel] = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(folder / "site")
    return folder / "site"


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


@pytest.mark.parametrize("module", ["operators.association", "operators.resolution", "jobs.library", "jobs.app"])
def test_a_module_of_the_wheel_imports_from_another_folder(site, tmp_path, module):
    program = f"import sys; sys.path.insert(0, {str(site)!r}); import tiltmeter.{module} as it; print(it.__file__)"
    ran = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert Path(ran.stdout.strip()).is_relative_to(site)


def test_its_version_and_its_licence_are_those_that_the_pages_name():
    [number, *_] = re.findall(r"^## ([\d.]+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert PROJECT["version"] in (number, f"{number}.dev0")
    assert PROJECT["license"] == "Apache-2.0"
    assert "Apache License 2.0" in (ROOT / "README.md").read_text()
    assert (ROOT / "LICENSE").read_text().lstrip().startswith("Apache License")


def test_its_citation_is_one_of_a_software_and_agrees_with_what_is_installed():
    """The keys that version 1.2.0 of the format needs, and no other than those it knows of which there are some."""
    text = (ROOT / "CITATION.cff").read_text()
    cited = yaml.safe_load(text)
    needed = {"cff-version", "message", "title", "authors"}
    assert needed <= cited.keys() <= needed | {"type", "abstract", "version", "license", "keywords"}
    assert cited["cff-version"] == "1.2.0"
    assert cited["type"] == "software"
    assert all(author.keys() == {"name"} and author["name"] for author in cited["authors"])
    assert len(cited["keywords"]) == len({*cited["keywords"]})
    assert all(isinstance(value, str) for value in (*cited["keywords"], cited["message"], cited["title"]))
    own = [PROJECT["version"], PROJECT["license"], PROJECT["description"], PROJECT["name"]]
    assert [cited["version"], cited["license"], cited["abstract"], cited["title"].lower()] == own
