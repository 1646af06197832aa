"""Settings that a page names are there: README, CHANGELOG and docs, in running text and in tables."""

import re
from functools import cache

import pytest

from tests.docs.pages import PAGES, ROOT, quoted
from tiltmeter.jobs import catalogue
from tiltmeter.jobs.runtime.settings.files import SettingsFolders

_SETTING = re.compile(r"(?:\w+(?:/\w+)?=\S+ )*([a-z_0-9]+(?:\.[a-z_0-9]+)+)(?:[=:].*)?")
_LEASED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
GONE = re.compile(r"removed|renamed|gone|was called|no longer|in place of|instead of|` to `", re.IGNORECASE)
"""Of a line of the CHANGELOG that names a setting because it is there no more."""
GUIDE = re.compile(r"^### From older names$.*?(?=^## |\Z)", re.MULTILINE | re.DOTALL)
"""Of the CHANGELOG; `tests/test_changelog.py` types what is there."""
ENDINGS = {"csv", "html", "json", "md", "parquet", "py", "txt", "yaml", "xml", "bz2", "gz", "jsonl", "tsv", "lock"}


NOT_SETTINGS = {
    "embedding.num_replica": "a wrong word that is refused",
    "classifier.score": "of a classifier that is added to a sentiment system, by its own record",
    "slices.group_flips": "a module of operators",
}
TAKEN_IN = {"corpora": "corpus", "slices": "corpus", "intervals": "job"}
"""Files that options take in where they stand, and the block in which that is."""


def settings_of(folders: SettingsFolders) -> set[str]:
    """Keys of all settings of all files, and of the blocks that hold them."""
    names = [f"{group}/{option}" for group in folders.groups for option in folders.options(group)]
    names += [path.stem for path in (ROOT / "conf").glob("*.yaml")]
    keys = {setting.key for name in names for setting in folders.file(name).settings}
    keys |= {key for name in names for key in folders.gathered(name, {}).settings}
    keys |= {f"{block}.{setting.key}" for name, block in TAKEN_IN.items() for setting in folders.file(name).settings}
    return {".".join(parts[:num]) for parts in (key.split(".") for key in keys) for num in range(1, len(parts) + 1)}


@pytest.fixture(scope="module")
def known() -> set[str]:
    return settings_of(catalogue.settings_folders())


def is_known(key: str, known: set[str]) -> bool:
    """Whether a setting is there, or what it says of a name (a corpus, a model) is there for another name."""
    if key in known or key in NOT_SETTINGS or any(_like(key.split("."), other.split(".")) for other in known):
        return True
    parent = key.rpartition(".")[0]
    return "." in parent and parent in known and not any(other.startswith(f"{parent}.") for other in known)


def _like(parts: list[str], other: list[str]) -> bool:
    return len(parts) == len(other) >= 3 and [parts[0], *parts[2:]] == [other[0], *other[2:]]


def missing(text: str, known: set[str], roots: set[str]) -> list[str]:
    """Settings that a text names in code and that are not there."""
    columns = {f"{table}.{name}" for job in catalogue.OURS for table, name in _columns(job)}
    found = []
    for line in GUIDE.sub("", _LEASED.sub("", text)).splitlines():
        for code in quoted(line):
            match = _SETTING.fullmatch(code)
            if match is None or GONE.search(line):
                continue
            key = match[1]
            if (
                key.split(".")[0] in roots
                and key.rsplit(".", 1)[-1] not in ENDINGS
                and not is_known(key, known | columns)
            ):
                found.append(key)
    return found


@cache
def _columns(job: str) -> list[tuple[str, str]]:
    return [(table, name) for table, schema in catalogue.job(job).tables.items() for name in schema.names]


@pytest.mark.long
@pytest.mark.parametrize("page", sorted(PAGES))
def test_settings_that_a_page_names_are_there(page, known):
    roots = {key for key in known if "." not in key}
    assert missing(PAGES[page].text, known, roots) == []


def test_a_setting_that_was_deleted_is_noticed(known):
    roots = {key for key in known if "." not in key}
    without = {key for key in known if key != "embedding.average_phrases"}
    text = "- `embedding.average_phrases` takes the mean of a phrase's words.\n"
    assert missing(text, known, roots) == []
    assert missing(text, without, roots) == ["embedding.average_phrases"]
