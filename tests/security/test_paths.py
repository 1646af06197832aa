"""Names and records that come from data lead nowhere but into the store and the run directory."""

import json
import os
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import fs
from pydantic import ValidationError

from tests.fixtures.corpora import pages, written
from tiltmeter.cluster.config import ClusterConfig
from tiltmeter.jobs.runtime.config import CommonConfig
from tiltmeter.storage.corpora.corpora import CorpusConfig, find_sources
from tiltmeter.storage.errors import InputError, StorageError
from tiltmeter.storage.files.downloads import _digest, _name, _place, _Remote
from tiltmeter.storage.store.ledger import Store
from tiltmeter.storage.store.marks import open_store, require_store
from tiltmeter.storage.store.partial_files import clean_up_partial_files
from tiltmeter.storage.store.processes import Process
from tiltmeter.storage.store.pruning import remove, stored_units
from tiltmeter.storage.store.registry import Registry
from tiltmeter.storage.store.runs import RunDirectoryBusy, opened

TABLE = pa.table({"n": [1, 2]})

NAMES = ["../../outside", "/etc", "a/b", "..", ".", "a\0b", "a\n", "\n", " ", "-rf", "a" * 300 + "/"]
# --- names ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*NAMES, ""])
def test_series_have_plain_names(name):
    """Folders are called by them."""
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
    content = json.dumps({"id": title, "title": title, "text": "x"})
    [page] = pages(written(tmp_path / "dump.jsonl", content))
    assert (page.id, page.title) == (title, title)


@pytest.mark.parametrize("path", ["/dev/zero", "/dev/stdin", "pipe", "socket"])
def test_what_is_no_file_is_not_read(tmp_path, path):
    if path == "pipe":
        os.mkfifo(tmp_path / path)
    with pytest.raises(InputError, match="there is no file"):
        find_sources(CorpusConfig("corpus", "en", str(tmp_path / path)))


# --- run directories ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["../../outside/thesis.json", "/etc/passwd", "..", "a\n"])
def test_nor_does_what_it_calls_an_export(begin, run_dir, outside, name):
    begin(run_dir(exports=[name]))


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


@pytest.mark.parametrize(
    "name", ["config.yaml", "methods.md", "references.bib", "report.html", "words.parquet", "words"]
)
def test_files_that_no_run_has_written_are_not_replaced(begin, tmp_path, name):
    (tmp_path / name).write_text("years of work")
    for _ in range(2):
        with pytest.raises(StorageError, match=f"its {name} is not one of ours; choose an empty run_dir"):
            begin(tmp_path)
    assert (tmp_path / name).read_text() == "years of work"


@pytest.mark.parametrize("kind", ["file", "link", "linked folder"])
def test_exports_replace_nothing_and_follow_no_link(tmp_path, outside, kind):
    with opened(tmp_path / "run") as run:
        run.begin([], job="survey", versions={})
        exports = tmp_path / "run/exports"
        if kind == "linked folder":
            exports.symlink_to(outside)
        else:
            run.export_bytes("mine.csv", b"1")
            run.export_bytes("mine.csv", b"2")
            place = exports / "thesis.json"
            place.symlink_to(outside / "thesis.json") if kind == "link" else place.write_text("years of work")
        with pytest.raises(StorageError, match="is not one of ours" if kind == "file" else "is a symbolic link"):
            run.export_bytes("thesis.json", b"")


def test_texts_that_an_earlier_run_did_not_write_are_not_replaced(begin, run_dir):
    for name in ("methods.md", "references.bib"):
        folder = run_dir()
        (folder / name).write_text("years of work")
        with pytest.raises(StorageError, match=f"its {name} is not one of ours; choose an empty run_dir"):
            begin(folder)
        begin(run_dir(papers=[]))
        assert not (folder / name).exists()
        (folder / "run.json").unlink()


# --- the store ------------------------------------------------------------------------------------------------------


def test_links_among_the_units_are_left_alone(store, done, outside):
    unit, finished = done
    (store.local_path / "units/evil").symlink_to(outside)
    (store.local_path / "units/count/1/0123456789abcdef0123456789abcdef").symlink_to(outside)
    (store.local_path / "ledger/count/1/0123456789abcdef0123456789abcdef.json").symlink_to(outside / "thesis.json")
    [stored] = stored_units(store)
    assert stored.place == unit.place
    assert remove(store, stored) == []
    assert not Path(store.location(finished.tables["numbers"])).exists()
    assert len([path for path in store.local_path.rglob("*") if path.is_symlink()]) == 3


@pytest.mark.parametrize(
    "place", ["units", "units/count", "units/{place}", "units/{place}/numbers.parquet", "ledger/count"]
)
def test_no_unit_is_read_or_written_where_a_link_leads(store, done, tmp_path, place):
    unit, finished = done
    link = store.local_path / place.format(place=unit.place)
    link.rename(tmp_path / "elsewhere")
    link.symlink_to(tmp_path / "elsewhere")
    before = sorted(tmp_path.rglob("*"))
    uses = [lambda: store.find(unit), lambda: store.commit(unit, [("numbers", TABLE)])]
    for use in [*uses, *([lambda: store.read(finished.tables["numbers"])] if "units" in place else [])]:
        with pytest.raises(StorageError, match=f"{link}: is a symbolic link"):
            use()
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("name", ["units", "ledger", "states", "registry", "runs", "accounts", "downloads"])
def test_a_store_one_of_whose_folders_is_a_link_is_refused(store, outside, name):
    open_store(store)
    (store.local_path / name).symlink_to(outside)
    for use in (open_store, require_store):
        with pytest.raises(StorageError, match=f"/{name}: is a symbolic link"):
            use(store)


@pytest.mark.parametrize("place", [".leases", ".leases/{lease}"])
def test_no_lease_is_where_a_link_leads(store, outside, place):
    lease = f"{replace(Process.current(), number=2**22 + 1).name}-0123abcd"
    link = store.local_path / "units" / place.format(lease=lease)
    (outside / lease).mkdir()
    link.parent.mkdir(parents=True)
    link.symlink_to(outside)
    assert clean_up_partial_files([link.parent.parent, link.parent]) == 0
    (outside / lease).rmdir()
    if link.name == ".leases":
        with pytest.raises(StorageError, match=r"/units/\.leases: is a symbolic link"):
            store.leased().__enter__()


def test_a_copy_of_a_download_is_not_written_where_a_link_leads(tmp_path, outside):
    remote = _Remote("http://127.0.0.1:1/a.txt", 3, None)
    for name in ("a.txt", "a.txt.partial"):
        place = tmp_path / "downloads" / _digest(remote) / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(outside / "thesis.json")
        with pytest.raises(StorageError, match="is a symbolic link"):
            _place(fs.LocalFileSystem(), str(tmp_path), remote)
        place.unlink()


def test_a_store_and_a_run_directory_may_be_links_themselves(begin, store, done, tmp_path):
    for name in ("store", "run"):
        (tmp_path / name).mkdir(exist_ok=True)
        (tmp_path / f"{name} here").symlink_to(tmp_path / name)
    linked = Store(str(tmp_path / "store here"))
    open_store(linked)
    [unit] = stored_units(linked)
    assert linked.find_at(unit.place) == done[1]
    assert (remove(linked, unit), stored_units(store)) == ([], [])
    begin(tmp_path / "run here")
    begin(tmp_path / "run here")


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
