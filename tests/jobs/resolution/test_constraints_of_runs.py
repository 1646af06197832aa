"""Constraints of a run that are refused, such as those that contradict each other."""

import pytest

from tiltmeter.jobs.resolution.constraints import check_constraints
from tiltmeter.jobs.resolution.job import find_sources
from tiltmeter.jobs.runtime.config import ConfigError
from tiltmeter.storage.errors import InputError

PAIRS = "left,right,weight\na,b,2.0\nb,c,1.0\na,c,-0.5\nc,d,0.5\nx,y,1.5\n"
SOURCES = "record,origin\na,one\nb,two\nc,two\nd,\nx,one\ny,one\n"


@pytest.fixture
def given(tmp_path):
    def write(**texts):
        for name, text in {"pairs": PAIRS, **texts}.items():
            (tmp_path / f"{name}.csv").write_text(text)
        return [f"{name}={tmp_path}/{name}.csv" for name in ("pairs", *texts)]

    return write


def check(configured, *settings):
    config = configured("job=entity_resolution", *settings)
    check_constraints(config, find_sources(config).files)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            ["must_link=[[a,b],[b,c]]", "cannot_link=[[c,a]]"],
            "must_link: 'c' - 'b' - 'a' are to be one entity, but can",
        ),
        (["cannot_link=[[c,c]]"], "cannot_link: record 'c' with itself"),
        (["must_link=[[b,a],[a,c]]", "one_per_source=origin"], "must_link: 'b' - 'a' - 'c' .* both of source 'two'"),
    ],
)
def test_contradictions_are_refused_and_named(configured, given, settings, message):
    files = given(sources=SOURCES) if any("one_per_source" in setting for setting in settings) else given()
    with pytest.raises(ConfigError, match=message):
        check(configured, *files, *settings)


def test_sources_need_their_column_and_each_record_one(configured, given):
    with pytest.raises(InputError, match=r"sources: .* has no column 'other'"):
        check(configured, *given(sources=SOURCES), "one_per_source=other")
    twice = given(sources=f"{SOURCES}a,three\n")
    with pytest.raises(InputError, match=r"one_per_source: .* has record 'a' of source 'one' and 'three'"):
        check(configured, *twice, "one_per_source=origin", "must_link=[[a,b]]")
