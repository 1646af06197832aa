"""Refusals about structures, which stand in the table of refused settings, show a shape that would do."""

import dataclasses
import re
import typing

import pytest

from tiltmeter.jobs import catalogue
from tiltmeter.jobs.runtime.settings.shapes import example_at

MESSY = ["job=entity_resolution", "+records=csv", "records.path=r.csv", "records.clusters=c.csv"]


def test_the_shapes_of_records_can_be_set_as_they_are_shown(configured):
    rules = "[{phone: null}, {name: 4, born: 4}]"
    fields = "{name: {kind: string}, born: {kind: date, within: [1, 31]}}"
    scorer = configured(*MESSY, f"records.fields={fields}", f"records.blocking={rules}").records
    assert scorer.fields["born"].within == (1.0, 31.0)
    assert scorer.blocking == ({"phone": None}, {"name": 4, "born": 4})


@pytest.mark.parametrize("job", catalogue.names())
def test_every_setting_of_every_job_has_a_shape_or_none(job):
    config = catalogue.job(job).config
    shapes = {field.name: example_at(config, [field.name]) for field in dataclasses.fields(config)}
    assert shapes["cluster"] == "{kind: local}"
    assert shapes["seed"] is None
    assert not any(shape and re.search("object at|<class|typing", shape) for shape in shapes.values())


@pytest.mark.parametrize(
    ("kind", "shape"),
    [
        (dict[str, int], "{name: 1}"),
        (tuple[tuple[str, str], ...], "[[text, text]]"),
        (dict[typing.Literal["a", "b"], bool] | None, "{a: true}"),
        (typing.Annotated[tuple[int, ...], "in order"], "[1]"),
        (int, None),
        (str | None, None),
    ],
)
def test_shapes_are_made_of_types(kind, shape):
    assert example_at(kind, []) == shape
