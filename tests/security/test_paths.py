"""Names and records that come from data lead nowhere but into the store and the run directory."""

import json
import os

import pytest
from pydantic import ValidationError

from tiltmeter.cluster.config import ClusterConfig
from tiltmeter.jobs.runtime.config import CommonConfig
from tiltmeter.storage.corpora.corpora import CorpusConfig, find_sources, read_pages, split
from tiltmeter.storage.errors import InputError, StorageError
from tiltmeter.storage.files.downloads import _name
from tiltmeter.storage.store.pruning import remove, stored_units
from tiltmeter.storage.store.registry import Registry
from tiltmeter.storage.store.runs import RunDirectoryBusy

NAMES = ["../../outside", "/etc", "a/b", "..", ".", "a\0b", "a\n", "\n", " ", "-rf", "a" * 300 + "/"]
UNFIT = [*NAMES, ""]


# --- names ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", UNFIT)
def test_corpora_and_series_have_plain_names(name):
    """Files are called by languages, and folders by series."""
    for wrong in ({"name": name}, {"language": name}):
        with pytest.raises(ValidationError):
            CorpusConfig(**{"name": "corpus", "language": "en", "path": "x"} | wrong)
    with pytest.raises(ValidationError):
        CommonConfig(cluster=ClusterConfig(), series=name)


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://h/%2e%2e%2f%2e%2e%2fenwiki.xml", "enwiki.xml"),
        ("https://h/..", "file"),
        ("https://h/", "file"),
        ("https://h/a%00b%0ac.xml", "a_b_c.xml"),
        ("https://h/" + "a" * 300 + ".xml.bz2", "a" * 52 + ".xml.bz2"),
        ("https://h/%c3%a9%24%28rm%29.xml?key=1#x", "é_(rm).xml"),
    ],
)
def test_a_download_is_called_by_a_plain_name(url, name):
    assert _name(url) == name


@pytest.mark.parametrize("title", ["../../outside/thesis", "/etc/passwd", "a\nb", "a" * 10_000, "-rf", "$(rm -rf .)"])
def test_titles_and_ids_are_text(tmp_path, title):
    path = tmp_path / "dump.jsonl"
    path.write_text(json.dumps({"id": title, "title": title, "text": "x"}))
    [source] = find_sources(CorpusConfig("corpus", "en", str(path)))
    [page] = [page for span in split(source, 1.0) for page in read_pages(source, span)]
    assert (page.id, page.title) == (title, title)


@pytest.mark.parametrize("path", ["/dev/zero", "/dev/stdin", "pipe", "socket"])
def test_what_is_no_file_is_not_read(tmp_path, path):
    if path == "pipe":
        os.mkfifo(tmp_path / path)
    with pytest.raises(InputError, match="there is no file"):
        find_sources(CorpusConfig("corpus", "en", str(tmp_path / path)))


@pytest.mark.parametrize("path", ["gensim/../os.py", "../gensim/x", "gensim", "a.b/c", "/gensim/x", "no_such/x"])
def test_a_package_gives_files_of_its_own(path):
    with pytest.raises(InputError, match="package"):
        find_sources(CorpusConfig("corpus", "en", f"package://{path}"))


# --- run directories ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*NAMES[:-1], "../outside/thesis"])
def test_a_record_removes_nothing_by_names_that_are_none(begin, run_dir, outside, name):
    with pytest.raises(StorageError, match=r"its run\.json is not one of ours"):
        begin(run_dir(tables={name: {}}))


@pytest.mark.parametrize("name", ["../../outside/thesis.json", "/etc/passwd", "..", "a\n"])
def test_nor_does_what_it_calls_an_export(begin, run_dir, outside, name):
    begin(run_dir(exports=[name]))


@pytest.mark.parametrize("link", ["words", "words.parquet", "words.partial"])
def test_links_in_place_of_tables_are_left_alone(begin, run_dir, outside, link):
    folder = run_dir(tables={"words": {}})
    (folder / link).symlink_to(outside / "thesis.parquet" if "parquet" in link else outside)
    with pytest.raises(StorageError, match=f"its {link} is not one of ours"):
        begin(folder)


@pytest.mark.parametrize("name", ["config.yaml", "report.html", "run.json", ".lock"])
def test_links_in_place_of_files_are_not_followed(begin, run_dir, outside, name):
    """Reading is harmless: what is linked is removed or replaced as a link."""
    folder = run_dir()
    (folder / name).unlink(missing_ok=True)
    (folder / name).symlink_to(outside / "thesis.json")
    try:
        begin(folder)
    except (StorageError, RunDirectoryBusy):
        return
    assert not (folder / name).is_symlink()


# --- the store ------------------------------------------------------------------------------------------------------


def test_a_unit_that_a_link_has_replaced_leads_no_removal_outside(store, done, outside):
    (store.local_path / "units/evil").symlink_to(outside)
    (store.local_path / "states").symlink_to(store.local_path / "units")
    (store.local_path / "ledger/thesis.json").symlink_to(outside / "thesis.json")
    for unit in stored_units(store):
        remove(store, unit)
    assert not [path for path in (store.local_path / "units").rglob("*.parquet") if path.parent.name != "evil"]


def test_a_store_on_another_disk_is_pruned(tmp_path, store, done):
    """The owner may have laid a folder elsewhere."""
    (tmp_path / "disk").mkdir()
    (store.local_path / "units").rename(tmp_path / "disk/units")
    (store.local_path / "units").symlink_to(tmp_path / "disk/units")
    [unit] = stored_units(store)
    assert unit.place == done[0].place
    assert len(unit.files) == 2


@pytest.mark.parametrize("key", ["../../../outside/a/b", "../../outside", "/etc", ""])
def test_a_registered_run_is_forgotten_where_it_lies(store, outside, key):
    registry = Registry(store)
    entry = registry.enter("survey", "nightly", run_dir="", settings={})
    entry.end("failed", {}, {})
    row = store.local_path / "registry" / entry.run.key / "run.json"
    row.write_text(json.dumps(json.loads(row.read_text()) | {"key": key}))
    [found] = registry.runs()
    assert found.key == entry.run.key
    registry.forget(found)
    assert registry.runs() == []


def test_a_run_of_the_register_that_is_a_link_leads_nowhere(store, outside):
    entry = Registry(store).enter("survey", "nightly", run_dir="", settings={})
    folder = store.local_path / "registry" / entry.run.key
    (folder / "run.json").rename(folder.parent / "run.json")
    folder.rmdir()
    folder.symlink_to(outside)
    Registry(store).forget(entry.run)
    assert Registry(store).units(entry.run) == set()
    assert Registry(store).runs() == []
