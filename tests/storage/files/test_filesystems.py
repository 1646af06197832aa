"""Listing a folder in which others work: what comes into being or goes meanwhile fails nothing."""

import os
from pathlib import Path

import pytest
from pyarrow import fs

from tiltmeter.storage.errors import StorageError
from tiltmeter.storage.files.filesystems import files_below


def below(folder, root=None, **options):
    files = files_below(fs.LocalFileSystem(), str(folder), root and str(root), **options)
    return sorted(file.path.removeprefix(f"{folder}/") for file in files)


@pytest.fixture
def folder(tmp_path):
    for name in ("a/one", "b/two", "b/c/three"):
        path = tmp_path / "folder" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return tmp_path / "folder"


def test_everything_below_a_folder_is_listed_but_not_what_links_lead_to(folder, tmp_path):
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/secret").touch()
    (folder / "a/link").symlink_to(tmp_path / "outside")
    everything = ["a", "a/link", "a/one", "b", "b/c", "b/c/three", "b/two"]
    assert below(folder) == everything
    assert below(folder / "a/link") == ["secret"]
    assert below(folder / "a/link", root=folder) == []
    assert below(folder / "b/c", root=folder) == ["three"]
    assert below(folder, is_recursive=False) == ["a", "b"]
    (tmp_path / "elsewhere").symlink_to(folder)
    assert below(tmp_path / "elsewhere") == everything


def test_nothing_is_below_a_folder_that_is_not_there_and_a_file_is_none(folder):
    assert below(folder / "absent") == []
    with pytest.raises(StorageError, match=r"cannot reach .*one: .*Not a directory"):
        below(folder / "a/one")


def remove(folder):
    (folder / "b/c/three").unlink()
    (folder / "b/c").rmdir()


@pytest.mark.parametrize(
    ("change", "left"),
    [
        (remove, ["a", "a/one", "b", "b/two"]),
        (lambda folder: (folder / "a/one").unlink(), ["a", "b", "b/c", "b/c/three", "b/two"]),
    ],
    ids=["folder", "file"],
)
def test_a_folder_or_a_file_may_go_while_those_above_it_are_listed(folder, monkeypatch, change, left):
    """As a folder is about to be listed, before the size of the file is asked for."""

    def scandir(path):
        if Path(path) == folder / "b/c":
            monkeypatch.undo()
            change(folder)
        return list_folder(path)

    list_folder = os.scandir
    monkeypatch.setattr(os, "scandir", scandir)
    assert below(folder) == left


def test_a_folder_may_come_into_being_while_it_is_looked_for(tmp_path, monkeypatch):
    """Arrow looks twice, and takes a folder that came in between for one that can't be listed."""

    def scandir(path):
        try:
            return list_folder(path)
        finally:
            (tmp_path / "place/inside").mkdir(parents=True, exist_ok=True)

    list_folder = os.scandir
    monkeypatch.setattr(os, "scandir", scandir)
    monkeypatch.delattr(fs, "FileSelector")
    assert below(tmp_path / "place") == []
    assert below(tmp_path / "place") == ["inside"]
