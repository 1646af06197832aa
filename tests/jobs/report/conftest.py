"""Small public tables made by hand for every test of the reports, configs, and a browser where there is one."""

import importlib.util
import re
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from tiltmeter.jobs.embedding.config import BootstrapJob
from tiltmeter.jobs.embedding.embed import EmbeddingConfig
from tiltmeter.jobs.report.html.charts import as_json
from tiltmeter.jobs.report.html.elements import Chart, Part, render

HERE = Path(__file__).parent
BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


def _load(name):
    """A module beside this file."""
    spec = importlib.util.spec_from_file_location(name.replace("/", "_"), HERE / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def load():
    """Loads a module of this folder by its path without the ending."""
    return _load


@pytest.fixture(scope="session")
def made():
    """What makes tables of embeddings: of the psychophysics and the association tests."""
    return _load("tables/embeddings")


@pytest.fixture(scope="session")
def gender():
    """What makes tables of gender bias."""
    return _load("tables/gender")


@pytest.fixture(scope="session")
def rated():
    """What makes tables of rated sentiment systems."""
    return _load("tables/rating")


@pytest.fixture(scope="session")
def partition():
    """What makes tables of a partition."""
    return _load("tables/resolution")


@pytest.fixture(scope="session")
def explained():
    """What makes tables of jobs that explain text classifiers."""
    return _load("tables/explanations")


@pytest.fixture(scope="session")
def trained():
    """What a page needs of the config of a job on corpora; to compose all of it takes most of a second."""

    def config(kind, *languages, trainer=None):
        job = BootstrapJob(kind) if kind == "bootstrap" else SimpleNamespace(name=kind, level=0.95)
        embedding = EmbeddingConfig(trainer=trainer) if trainer else EmbeddingConfig()
        return SimpleNamespace(job=job, embedding=embedding, languages=languages, seed=0)

    return config


def _of_kind(blocks, kind):
    inner = [part for block in blocks for part in ([block] if not isinstance(block, Part) else block.blocks)]
    return [block for block in inner if isinstance(block, kind)]


@pytest.fixture(scope="module")
def pages(load, made, gender, rated, partition, explained, trained, configured):
    """What makes the page of each kind."""
    return load("tables/pages").kinds(made, gender, rated, partition, explained, trained, configured)


@pytest.fixture(scope="session")
def of_kind():
    """The blocks of a kind that are shown, also those in the parts of a lead."""
    return _of_kind


@pytest.fixture(scope="session")
def html_of():
    """A page without what is in its scripts."""
    return lambda page: re.sub(r"<script.*?</script>", "", render(page), flags=re.DOTALL)


@pytest.fixture(scope="session")
def figures_of():
    """The figures of a page as the browser gets them."""
    return lambda page: "".join(
        as_json(chart.figures.values()) for section in page.sections for chart in _of_kind(section.blocks, Chart)
    )


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    """One browser for all pages of a file of tests."""
    if BROWSER is None:
        pytest.skip("needs chromium on PATH")
    running = _load("chromium").Browser(BROWSER, tmp_path_factory.mktemp("browser"))
    yield running
    running.close()
