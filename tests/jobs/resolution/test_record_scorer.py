"""The settings of a scorer."""

import dataclasses
from pathlib import Path

import yaml

from tiltmeter.jobs.resolution.config import RecordScorer


def test_the_settings_of_the_group_are_the_defaults():
    given = {"path": "records.csv", "fields": {"city": {"kind": "exact"}}, "blocking": [{"city": None}]}
    settings = yaml.safe_load((Path(__file__).parents[3] / "conf/records/csv.yaml").read_text())
    assert RecordScorer(**settings | given | {"clusters": "gold.csv"}) == RecordScorer(**given, clusters="gold.csv")
    assert set(settings) == {field.name for field in dataclasses.fields(RecordScorer)}
