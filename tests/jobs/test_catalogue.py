"""Every job that the catalogue names is whole, and names that it has not are refused."""

from pathlib import Path
from typing import get_args

import pytest

from tiltmeter.jobs import catalogue
from tiltmeter.jobs.runtime.config import CommonConfig, ConfigError
from tiltmeter.jobs.runtime.job import Job

ROOT = Path(__file__).parents[2]


def test_every_file_of_settings_is_of_a_job_and_every_job_has_one():
    assert catalogue.names() == sorted(path.stem for path in (ROOT / "conf/job").glob("*.yaml"))


@pytest.mark.parametrize("name", catalogue.names())
def test_a_job_has_a_config_of_its_name_a_page_docs_and_tests(name):
    job = catalogue.job(name)
    assert issubclass(job.config, CommonConfig)
    settings = job.config.__dataclass_fields__["job"].type
    assert get_args(settings.__dataclass_fields__["name"].type) == (name,)
    assert callable(job.load_page())
    assert job.tables
    assert (ROOT / f"docs/{name}.md").exists()
    package = Path(*catalogue.OURS[name].split(":")[0].split(".")[1:-1])
    assert list((ROOT / "tests" / package).rglob("test_*.py")) or list((ROOT / "tests" / package.parent).glob("test_*"))


def test_a_name_that_no_job_has_is_refused_with_those_that_there_are():
    with pytest.raises(ConfigError, match=r"job=surveys: there is no such job; choose one of association, .*, survey"):
        catalogue.job("surveys")


def test_what_another_package_offers_must_be_a_job_and_takes_no_name_of_ours(monkeypatch):
    offered = {"theirs": "tiltmeter.jobs.catalogue:GROUP", "survey": "tiltmeter.jobs.catalogue:GROUP"}
    points = [
        type("Point", (), {"name": name, "value": value, "module": "theirs.job"}) for name, value in offered.items()
    ]
    monkeypatch.setattr(catalogue, "entry_points", lambda **_: points)
    catalogue._theirs.cache_clear()
    try:
        assert "theirs" in catalogue.names()
        assert catalogue.settings_packages() == ["theirs.conf"]
        assert isinstance(catalogue.job("survey"), Job)
        with pytest.raises(
            ConfigError, match=r"job=theirs: tiltmeter.jobs.catalogue:GROUP is a str, and must be a Job"
        ):
            catalogue.job("theirs")
    finally:
        catalogue._theirs.cache_clear()
