"""The page of a job that has none of its own."""

from types import SimpleNamespace

import pyarrow as pa
import pytest

from tests.fixtures.figures import drawn
from tests.fixtures.reports import reported
from tiltmeter.jobs.report.default_page import page_of
from tiltmeter.jobs.report.html.elements import Bullets, Chart, Grid
from tiltmeter.jobs.runtime.columns import REASON, STATUS, count, interval, number, text
from tiltmeter.storage.store.tables import column

SCHEMA = pa.schema(
    [
        text("word", "the word", key=True),
        number("lean", "how far it leans", "degrees"),
        *interval("lean", "interval of lean", "degrees"),
        count("num_texts", "texts with the word", "texts"),
        column("is_rare", pa.bool_(), "whether it is rare"),
        column("forms", pa.list_(pa.string()), "how it is spelled"),
        STATUS,
        REASON,
    ]
)
ROWS = [
    {"word": "a", "lean": 1.5, "lean_low": 1.0, "lean_high": 2.0, "num_texts": 1200, "is_rare": False, "forms": ["a"]},
    {
        "word": "b",
        "lean": -0.5,
        "lean_low": -1.0,
        "lean_high": 0.0,
        "num_texts": 3,
        "is_rare": True,
        "forms": ["b", "B"],
    },
    {"word": "c", "lean": 9.0, "num_texts": 0, "status": "absent", "reason": "it does not occur"},
]
TABLES = {"leanings": SCHEMA, "never": pa.schema([text("x", "never published")])}


@pytest.fixture
def page():
    rows = pa.Table.from_pylist([{"status": "ok", "reason": ""} | row for row in ROWS], SCHEMA)
    run = SimpleNamespace(config=SimpleNamespace(job=SimpleNamespace(name="word_leanings"), seed=7))
    return reported(lambda frames: page_of(TABLES)(run, frames), {"leanings": rows})


def test_it_says_how_many_rows_have_a_result_and_between_which_ends_they_lie(page):
    [findings] = [block for part in page.lead for block in part.blocks if isinstance(block, Bullets)]
    assert findings.items == ["Leanings: 3 rows, 1 of them without a result; lean from −0.500 to 1.500 degrees."]
    assert (page.title, page.facts) == ("Word leanings", {"job": "word_leanings", "seed": "7"})


def test_a_table_shows_numbers_with_their_intervals_and_units(page):
    [section] = [section for section in page.sections if section.anchor == "leanings"]
    [grid] = [block for block in section.blocks if isinstance(block, Grid)]
    assert grid.headings[:5] == ["word", "lean (degrees)", "num texts (texts)", "is rare", "forms"]
    assert grid.numeric == ["lean (degrees)", "num texts (texts)"]
    assert grid.rows[1][:5] == ["b", "−0.500 [−1.000, 0.000]", "3", "yes", "b, B"]
    assert grid.rows[2][:5] == ["c", "9.000", "0", "–", "–"]


def test_each_number_with_an_interval_has_a_dot_plot_by_what_tells_rows_apart(page):
    [chart] = [block for section in page.sections for block in section.blocks if isinstance(block, Chart)]
    assert chart.caption == "How far it leans; lines are intervals."
    [figure] = map(drawn, chart.figures.values())
    assert list(figure.layout.yaxis.ticktext) == ["b", "a", "c"]
    assert [list(trace.x) for trace in figure.data if trace.mode == "markers"] == [[9.0, 1.5, -0.5]]
