"""The settings of groups that a run may do without."""

import dataclasses
from pathlib import Path

import pytest
import yaml

from tiltmeter.jobs.resolution.config import MentionStudy, RecordScorer

SCORED = {"path": "records.csv", "fields": {"city": {"kind": "exact"}}, "blocking": [{"city": None}]}


@pytest.mark.parametrize(
    ("group", "record", "given"),
    [
        ("records/csv", RecordScorer, SCORED | {"clusters": "gold.csv"}),
        ("mentions/study", MentionStudy, {"path": "mentions.csv"}),
    ],
)
def test_the_settings_of_the_group_are_the_defaults(group, record, given):
    settings = yaml.safe_load((Path(__file__).parents[3] / f"conf/{group}.yaml").read_text())
    assert record(**settings | given) == record(**given)
    assert set(settings) == {field.name for field in dataclasses.fields(record)}
