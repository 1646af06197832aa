import dataclasses
from pathlib import Path

import pydantic
import pytest
import yaml

from tiltmeter.jobs.resolution.records.config import RecordScorer
from tiltmeter.operators.resolution.records.scorer import ComparedField

SETTINGS = {
    "path": "records.csv",
    "id": "key",
    "fields": {
        "Full name": {"kind": "string"},
        "phone": {"kind": "code"},
        "city": {"kind": "exact"},
        "height": {"kind": "number", "within": [1, 5]},
        "born": {"kind": "date", "within": [1, 31]},
    },
    "blocking": [{"phone": 3}, {"Full name": 2, "city": None}],
    "clusters": "gold.csv",
}


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"clusters": None}, "nothing is given to learn from: set records.labelled"),
        ({"labelled": "pairs.csv"}, "labelled and clusters is given"),
        ({"fields": {}}, "at least 1 item"),
        ({"blocking": []}, "at least 1 item"),
        ({"blocking": [{}]}, "at least 1 item"),
        ({"fields": {"city": {"kind": "exact", "within": [1]}}}, "only numbers and dates"),
        ({"fields": {"height": {"kind": "number", "within": [5, 1]}}}, "must rise"),
        ({"prior": 1.0}, "less than 1"),
    ],
)
def test_configs_that_make_no_sense_are_refused(changed, message):
    with pytest.raises(pydantic.ValidationError, match=message):
        RecordScorer(**SETTINGS | changed)


def test_the_settings_of_the_group_are_the_defaults():
    settings = yaml.safe_load((Path(__file__).parents[3] / "conf/records/csv.yaml").read_text())
    config = RecordScorer(**settings | {name: SETTINGS[name] for name in ("path", "fields", "blocking", "clusters")})
    defaults = RecordScorer(**{name: SETTINGS[name] for name in ("path", "fields", "blocking", "clusters")})
    assert config == defaults
    assert set(settings) == {field.name for field in dataclasses.fields(RecordScorer)}
    assert config.fields["city"] == ComparedField("exact")
