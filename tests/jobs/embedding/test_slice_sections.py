"""Slices of a corpus, and corpora of one language, beside each other on a page, as a text for each kind of them."""

import json
from pathlib import Path

import polars as pl
import pytest

from tests.fixtures.page_models import check_text
from tests.jobs.report.test_models import lines
from tiltmeter.jobs.embedding.sections import Compared, slice_sections
from tiltmeter.jobs.report.html.charts import as_json
from tiltmeter.jobs.report.html.elements import Chart

NUMBERS = dict.fromkeys(("d", "d_low", "d_high"), pl.Float64)
SCHEMA = dict.fromkeys(("corpus", "language", "whole", "field", "value"), pl.String)
SCHEMA |= {"place": pl.Float64, "num_documents": pl.Int64, "status": pl.String, "reason": pl.String}


def compared(*names, missing=()):
    """Two tests on each corpus."""
    rows = [
        (name, "en", test, *(None if name in missing else place + 0.1 * at + reach for reach in (0, -0.5, 0.5)))
        for place, name in enumerate(names)
        for at, test in enumerate(("flowers", "instruments"))
    ]
    schema = dict.fromkeys(("model", "language", "test"), pl.String) | NUMBERS
    return Compared("Effect size d", "d", pl.DataFrame(rows, schema, orient="row"), "d", "test", 0.0)


def corpora(*names, language="en"):
    return pl.DataFrame({"corpus": names, "language": [language] * len(names)})


def sliced(places, whole="a", language="en"):
    """Slices of a corpus; and documents in none."""
    rows = [(f"{whole}/{value}", value, place, 9, "ok") for value, place in places.items()]
    rows = [(whole, None, None, 3, "in_no_slice"), *rows]
    return pl.DataFrame(
        [(name, language, whole, "f", value, place, num, status, "") for name, value, place, num, status in rows],
        SCHEMA,
        orient="row",
    )


def both(places, missing=()):
    """Of slices of one corpus, in the order of the places, and their numbers."""
    names = [f"a/{value}" for value in places]
    return {"corpora": corpora(*names), "corpus_slices": sliced(places)}, compared(*names, missing=missing)


TWO = {
    "corpora": pl.concat([corpora("a/x", "a/y"), corpora("b/x", "b/y", language="de")]),
    "corpus_slices": pl.concat([sliced({"x": None, "y": None}), sliced({"x": None, "y": None}, "b", "de")]),
}
CASES = {
    "lines with a gap": both({"1999": 1999.0, "2001": 2001.0, "2000": 2000.0}, missing=["a/2001"]),
    "months of a year": both({f"2016-{number:02d}": 2016 + (number - 1) / 12 for number in range(1, 13)}),
    "thirty years": both({str(1990 + year): 1990.0 + year for year in range(31)}),
    "a few without an order": both({"x": None, "y": None}),
    "many without an order": both(dict.fromkeys("vwxyz")),
    "corpora of one language": ({"corpora": corpora("a", "b")}, compared("a", "b")),
    "slices of two corpora of the same values": (TWO, compared("a/x", "a/y", "b/x", "b/y")),
    "corpora of two languages": (
        {"corpora": pl.concat([corpora("a", "b"), corpora("c", "d", language="de")])},
        compared("a", "b", "c", "d"),
    ),
    "a corpus of each language": (
        {"corpora": pl.concat([corpora("a"), corpora("b", language="de")])},
        compared("a", "b"),
    ),
    "no corpus": ({}, compared("a", "b")),
}


def shown(frames, numbers):
    """With what each figure draws, in the digits that a page keeps."""
    for section in slice_sections(frames, [numbers]):
        yield f"# {section.title}"
        for block in section.blocks:
            yield from lines(block)
            for figure in json.loads(as_json([*block.figures.values()])) if isinstance(block, Chart) else ():
                yield from (f"  {of.get('mode')} {of.get('name')}: {of['x']} {of['y']}" for of in figure["data"])
                yield from (f"  {axis} {figure['layout'].get(axis, {}).get('ticktext')}" for axis in ("xaxis", "yaxis"))


@pytest.mark.parametrize("case", CASES)
def test_slices_are_shown_as_they_were(case):
    check_text(Path(__file__), case, shown(*CASES[case]))
