"""The page of a job that has none of its own."""

from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa

from tests.fixtures.figures import drawn
from tests.fixtures.page_models import check_text
from tests.fixtures.reports import reported
from tests.jobs.report.test_models import shown
from tiltmeter.jobs.report.default_page import page_of
from tiltmeter.jobs.report.html.elements import Chart
from tiltmeter.jobs.runtime.table import Estimate, Table, doc, key


class Leanings(Table):
    word: str = key("the word")
    lean: Estimate = doc("how far it leans", "degrees", interval="the interval of lean")
    num_texts: int = doc("texts with the word", "texts")
    is_rare: bool = doc("whether it is rare")
    forms: list[str] = doc("how it is spelled")


SCHEMA = Leanings.schema()
ROWS = [
    {"word": "a", "lean": 1.5, "lean_low": 1.0, "lean_high": 2.0, "num_texts": 1200, "is_rare": False, "forms": ["a"]},
    {"word": "b", "lean": -0.5, "lean_low": -1.0, "lean_high": 0.0, "num_texts": 3, "is_rare": True, "forms": [*"bB"]},
    {"word": "c", "lean": 9.0, "num_texts": 0, "status": "absent", "reason": "it does not occur"},
]
TABLES = {"leanings": SCHEMA, "never": pa.schema([])}


def test_it_shows_findings_tables_with_units_and_a_dot_plot_of_each_number_with_an_interval():
    rows = pa.Table.from_pylist([{"status": "ok", "reason": ""} | row for row in ROWS], SCHEMA)
    run = SimpleNamespace(config=SimpleNamespace(job=SimpleNamespace(name="word_leanings"), seed=7))
    page = reported(lambda frames: page_of(TABLES)(run, frames), {"leanings": rows})
    check_text(Path(__file__), "default_page", shown(page))
    [chart] = [block for section in page.sections for block in section.blocks if isinstance(block, Chart)]
    [figure] = map(drawn, chart.figures.values())
    assert list(figure.layout.yaxis.ticktext) == ["b", "a", "c"]
    assert [list(trace.x) for trace in figure.data if trace.mode == "markers"] == [[9.0, 1.5, -0.5]]
