"""The guide from older names: what was is refused or not there, and what is in its place is there."""

import importlib
from importlib.util import find_spec

import hydra
import pytest

from tests.docs.pages import PAGES, quoted
from tiltmeter.jobs import catalogue
from tiltmeter.jobs.composing import build
from tiltmeter.jobs.runtime.config import ConfigError
from tiltmeter.jobs.runtime.settings.hydra_limits import confine_composition

PAGE = PAGES["CHANGELOG.md"]
SETTINGS, COLUMNS, NAMES = (list(PAGE.tables(f"{kind} that was")) for kind in ("setting", "column", "name"))


def schemas(table):
    """The columns of every table of this name."""
    found = [{*job.tables[table].names} for job in map(catalogue.job, catalogue.OURS) if table in job.tables]
    assert found, table
    return found


def is_there(path):
    """Whether a module, or what it hands on, has this name."""
    parent, _, name = path.rpartition(".")
    try:
        return hasattr(importlib.import_module(parent), name) or find_spec(path) is not None
    except ModuleNotFoundError:
        return False


@pytest.mark.parametrize(("was", "job", "instead"), SETTINGS, ids=[row[0].strip("`") for row in SETTINGS])
def test_a_former_setting_is_refused_with_what_is_in_its_place(hydra_restored, was, job, instead):
    [name] = quoted(was)
    word = name if "=" in name else f"{name.replace('.*', '.draws')}=2"
    words = [f"job={quoted(job)[0]}", word]
    confine_composition()
    with (
        pytest.raises(ConfigError) as refusal,
        hydra.initialize_config_module("tiltmeter.conf", version_base="1.3"),
    ):
        build(hydra.compose("tiltmeter", words), words)
    [line] = [line for line in str(refusal.value).splitlines() if line.startswith(word.split("=[")[0])]
    assert "is no longer a setting" in line or "any more" in line or "is now called" in line
    assert all(setting.removesuffix(".*") in line for setting in quoted(instead))


@pytest.mark.parametrize(("was", "table", "instead"), COLUMNS, ids=[f"{row[1]}: {row[0]}" for row in COLUMNS])
def test_a_former_column_is_not_in_its_table_and_what_is_in_its_place_is(was, table, instead):
    assert len(quoted(was)) == len(quoted(instead))
    for columns in schemas(quoted(table)[0]):
        if not columns & {*quoted(instead)}:
            continue  # a table of this name of a job without such columns
        assert columns >= {*quoted(instead)}
        assert not columns & {*quoted(was)}
    assert any(columns >= {*quoted(instead)} for columns in schemas(quoted(table)[0]))


@pytest.mark.parametrize(("was", "instead"), NAMES, ids=[row[0].strip("`") for row in NAMES])
def test_a_former_name_of_the_library_is_not_there_and_what_is_in_its_place_is(was, instead):
    [[former], [present]] = quoted(was), quoted(instead)
    assert is_there(present)
    assert not is_there(former)
    assert not is_there(f"tiltmeter.{former}") or present == f"tiltmeter.{former}"


def test_what_the_command_refuses_by_its_former_name_is_in_the_guide():
    """And so whoever removes a setting writes a line there."""
    from tiltmeter.jobs.runtime.settings.known import FORMER

    told = {(quoted(job)[0], quoted(was)[0].removesuffix(".*")) for was, job, _ in SETTINGS}
    assert {(job or "bootstrap", key) for job, keys in FORMER.items() for key in keys} <= told
