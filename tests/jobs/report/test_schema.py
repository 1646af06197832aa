"""What pages draw is what plotly knows: its own schema checks every figure of every kind of page."""

import gzip
import re
from pathlib import Path

import pytest
from plotly.offline import get_plotlyjs_version

from tests.fixtures.figures import drawn
from tiltmeter.jobs.report.html.charts import LIBRARY
from tiltmeter.jobs.report.html.elements import Chart, Details, Part


def figures(blocks):
    for block in blocks:
        if isinstance(block, Chart):
            yield from block.figures.values()
        elif isinstance(block, Details | Part):
            yield from figures(block.blocks)


@pytest.fixture(scope="module")
def all_figures(pages):
    """Of every kind of page."""
    made = [make() for make in pages.values()]
    sections = [section.blocks for page in made for section in page.sections]
    return [figure for blocks in (*sections, *(page.lead for page in made)) for figure in figures(blocks)]


@pytest.fixture(scope="module")
def bundle():
    """The library that pages carry, as text."""
    return gzip.decompress(LIBRARY.read_bytes()).decode()


def test_plotly_knows_every_setting_of_every_figure(all_figures):
    assert sum(len(drawn(shown).data) for shown in all_figures) == sum(len(shown.data) for shown in all_figures)


def test_every_kind_of_trace_is_in_the_bundle_that_pages_carry(all_figures, bundle):
    used = {trace["type"] for shown in all_figures for trace in shown.data}
    assert {"bar", "box", "heatmap", "scatter"} == used
    assert used <= set(re.findall(r'moduleType:"trace",name:"(\w+)"', bundle))


def test_the_bundle_is_of_the_version_of_the_schema_and_named_with_its_licence(bundle):
    [version] = re.findall(r"plotly\.js \(cartesian - minified\) v([\d.]+)\n", bundle[:200])
    assert version == get_plotlyjs_version()
    assert LIBRARY.name == f"plotly-cartesian-{version}.min.js.gz"
    notice = (Path(__file__).parents[3] / "NOTICE").read_text()
    assert f"plotly.js {version}" in notice
    assert LIBRARY.name in notice
    assert "MIT License" in notice
