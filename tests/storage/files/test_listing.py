"""Files under folders and wildcards, on a disk with links in it, against a plain walk and against an object store."""

import os
import random
from pathlib import Path

import pytest
from pyarrow import fs

from tiltmeter.storage.corpora.sources import find_files
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.files.files import resolve
from tiltmeter.storage.files.listing import listed_files
from tiltmeter.storage.store.ledger import Store
from tiltmeter.storage.store.runs import opened

NAMES = (
    "a.txt",
    "b.txt",
    "part-1/a.txt",
    "part-1/deep/er/c.txt",
    "part-2/a.jsonl",
    "part-2/.hidden",
    ".git/a.txt",
    "_x",
)


@pytest.fixture
def folder(tmp_path):
    """Files with these names, each with its own content."""
    root = tmp_path / "corpus"
    for name in NAMES:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(name)
    return root


def names(folder, pattern=""):
    place = f"{folder}/{pattern}" if pattern else str(folder)
    return [os.path.relpath(info.path, folder) for info in listed_files(fs.LocalFileSystem(), place)]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("", ["a.txt", "b.txt", "part-1/a.txt", "part-1/deep/er/c.txt", "part-2/a.jsonl"]),
        ("**", ["_x", "a.txt", "b.txt", "part-1/a.txt", "part-1/deep/er/c.txt", "part-2/a.jsonl"]),
        ("*.txt", ["a.txt", "b.txt"]),
        ("**/*.txt", ["a.txt", "b.txt", "part-1/a.txt", "part-1/deep/er/c.txt"]),
        ("**/er/*", ["part-1/deep/er/c.txt"]),
        ("part-*/a.*", ["part-1/a.txt", "part-2/a.jsonl"]),
        ("*/**/c.txt", ["part-1/deep/er/c.txt"]),
        ("p*1/**", ["part-1/a.txt", "part-1/deep/er/c.txt"]),
        ("**/**/a.txt", ["a.txt", "part-1/a.txt"]),
        (".git/*", [".git/a.txt"]),
        (".*/a.txt", [".git/a.txt"]),
        ("part-2/.h*", ["part-2/.hidden"]),
        ("*/nothing", []),
    ],
)
def test_folders_and_wildcards_on_a_disk_and_in_an_object_store(folder, pattern, expected):
    assert names(folder, pattern) == expected
    # Any file system but that of the disk is listed whole, and then chosen from.
    listed = listed_files(fs.SubTreeFileSystem(str(folder.parent), fs.LocalFileSystem()), f"corpus/{pattern}")
    assert [info.path.removeprefix("corpus/") for info in listed] == expected


def test_a_file_comes_once_whatever_links_lead_to_it_and_loops_end(folder):
    expected = names(folder)
    links = {"part-1/deep/back": "../..", "here": ".", "there": ".", "itself": "itself", "aa.txt": "part-1/a.txt"}
    for link, target in (links | {"a-folder": "part-1", "dangling": "nowhere", "zz": "part-2"}).items():
        (folder / link).symlink_to(target)
    os.link(folder / "part-2/a.jsonl", folder / "z.jsonl")
    assert names(folder) == expected, "links add nothing, and the paths without links are kept"
    assert names(folder, "**/*.txt") == [name for name in expected if name.endswith(".txt")]
    assert names(folder, "aa*") == ["aa.txt"]
    assert names(folder, "a-*/*") == ["a-folder/a.txt"], "where it is named, a link is followed"
    assert names(folder, "here/part-2/*") == ["here/part-2/a.jsonl"]


def test_what_lies_elsewhere_is_found_by_its_first_link(folder, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/e.txt").write_text("e")
    for link in ("part-2/two", "part-1/one"):
        (folder / link).symlink_to(tmp_path / "elsewhere")
    (folder / "again.txt").symlink_to(tmp_path / "elsewhere/e.txt")
    assert "again.txt" in names(folder)
    assert sum(not (folder / name).resolve().is_relative_to(folder) for name in names(folder)) == 1
    assert names(folder, "**/e.txt") == ["part-1/one/e.txt"]


@pytest.mark.parametrize("seed", range(20))
def test_random_links_are_followed_to_every_file_once(tmp_path, seed):
    draw = random.Random(seed)
    folders = [tmp_path / "root"]
    for number in range(8):
        folders.append(draw.choice(folders) / f"folder{number}")
    for place in folders:
        place.mkdir(exist_ok=True)
        (place / "file").write_text(str(place))
    for number in range(30):
        (draw.choice(folders) / f"link{number}").symlink_to(draw.choice([*folders, draw.choice(folders) / "file"]))
    start = draw.choice(folders)
    found = [info.path for info in listed_files(fs.LocalFileSystem(), str(start))]
    assert len(found) == len({os.path.realpath(path) for path in found})
    reached, pending = set(), [start]
    while pending:
        for entry in os.scandir(pending.pop()):
            real = os.path.realpath(entry.path)
            if real not in reached:
                reached.add(real)
                pending += [real] if os.path.isdir(real) else []
    assert {os.path.realpath(path) for path in found} == {path for path in reached if os.path.isfile(path)}


def test_a_name_that_is_not_utf8_is_refused_if_it_would_be_read(folder):
    with open(os.fsencode(folder) + b"/caf\xe9.txt", "wb") as file:
        file.write(b"coffee")
    assert names(folder, "part-*/a.*") == ["part-1/a.txt", "part-2/a.jsonl"]
    for path in (folder, f"{folder}/*.txt", os.fsdecode(os.fsencode(folder) + b"/caf\xe9.txt")):
        with pytest.raises(InputError, match=r"corpus/caf\\xe9.txt: this path is not in UTF-8; rename it") as refusal:
            find_files([str(path)], "corpus.path")
        assert str(refusal.value).encode()


def test_a_place_that_is_not_utf8_is_refused(tmp_path, monkeypatch):
    """Such as in a working directory of that name."""
    place = os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9")
    os.mkdir(place)
    monkeypatch.chdir(place)
    for take in (lambda: Store("store"), lambda: opened(Path.cwd() / "run").__enter__(), lambda: resolve("file")):
        with pytest.raises(InputError, match=r"caf\\xe9/\w+: this path is not in UTF-8; rename it"):
            take()
    assert not os.listdir(place)
