"""Refusals about structures show a shape that would do."""

import dataclasses
import re
import typing

import pytest

from tiltmeter.jobs import catalogue
from tiltmeter.jobs.runtime.config import ConfigError
from tiltmeter.jobs.runtime.settings.shapes import example_at

MESSY = ["job=entity_resolution", "+records=csv", "records.path=r.csv", "records.clusters=c.csv"]
USUAL = {"records.fields": "{name: {kind: string}}", "records.blocking": "[{name: 4}]"}
FIELDS = "{name: {kind: string}, born: {kind: date, within: [1, 31]}}"
RULES = "[{phone: null}, {name: 4, born: 4}]"


def words(**changed):
    settings = USUAL | {key.replace("_", "."): value for key, value in changed.items()}
    return [*MESSY, *(f"{key}={value}" for key, value in settings.items() if value is not None)]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (
            {"records_fields": "name"},
            f"records.fields=name: must be values by their names; set it as in 'records.fields={FIELDS}'",
        ),
        ({"records_fields": None}, f"records.fields has no value: set it as in 'records.fields={FIELDS}'"),
        (
            {"records_fields": "{name: string}"},
            "name=string: must be values by their names; set it as in 'records.fields.name={kind: string}'",
        ),
        (
            {"records_blocking": "phone"},
            f"records.blocking=phone: must be a list; set it as in 'records.blocking={RULES}'",
        ),
        (
            {"records_blocking": "{phone: null}"},
            f"records.blocking: must be a list; set it as in 'records.blocking={RULES}'",
        ),
        ({"records_blocking": "[phone]"}, f"set it as in 'records.blocking={RULES}'"),
        ({"records_blocking": None}, f"records.blocking has no value: set it as in 'records.blocking={RULES}'"),
        ({"records_fields": "{born: {kind: date, within: 3}}"}, "set it as in 'records.fields.born.within=[0.5]'"),
        ({"drawn": "0"}, "drawn=0: must be a list; set it as in 'drawn=[1]'"),
    ],
)
def test_a_refused_structure_is_shown_with_a_shape_that_would_do(configured, changed, message):
    with pytest.raises(ConfigError, match=re.escape(message)):
        configured(*words(**changed))


def test_the_shapes_of_records_can_be_set_as_they_are_shown(configured):
    scorer = configured(*words(records_fields=FIELDS, records_blocking=RULES)).records
    assert scorer.fields["born"].within == (1.0, 31.0)
    assert scorer.blocking == ({"phone": None}, {"name": 4, "born": 4})


def test_settings_of_one_kind_among_several_have_the_shape_of_that_kind(configured):
    with pytest.raises(
        ConfigError, match=r"set it as in 'sentences.persons=\{name: \{name: \{words: \[text\], gender: text"
    ):
        configured("job=sentiment_rating", "sentences.persons=3")


@pytest.mark.parametrize("job", catalogue.names())
def test_every_setting_of_every_job_has_a_shape_or_none(job):
    config = catalogue.job(job).config
    shapes = {field.name: example_at(config, [field.name]) for field in dataclasses.fields(config)}
    assert shapes["cluster"] == "{kind: local}"
    assert shapes["seed"] is None
    assert not any(shape and re.search("object at|class|typing", shape) for shape in shapes.values())


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
