"""Listing a disk with links in it, in which others work, and what is tried again when a file system is away."""

import errno
import os
import random
import shutil
from pathlib import Path

import pytest
from pyarrow import fs

from tiltmeter.storage.corpora.sources import find_files
from tiltmeter.storage.errors import InputError, StorageError
from tiltmeter.storage.files.files import resolve
from tiltmeter.storage.files.filesystems import files_below
from tiltmeter.storage.files.listing import listed_files
from tiltmeter.storage.files.retries import Retries, is_transient
from tiltmeter.storage.store.ledger import Store
from tiltmeter.storage.store.runs import opened

NAMES = ["a.txt", "b.txt", "part-1/a.txt", "part-1/deep/er/c.txt", "part-2/a.jsonl"]
HIDDEN = ["part-2/.hidden", ".git/a.txt", "_x"]


@pytest.fixture
def folder(tmp_path):
    """Files with these names, each with its own content."""
    root = tmp_path / "corpus"
    for name in NAMES + HIDDEN:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(name)
    return root


def names(folder, pattern=""):
    place = f"{folder}/{pattern}" if pattern else str(folder)
    return [os.path.relpath(info.path, folder) for info in listed_files(fs.LocalFileSystem(), place)]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("", NAMES),
        ("**", ["_x", *NAMES]),
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
    links = {"part-1/deep/back": "../..", "here": ".", "there": ".", "itself": "itself", "aa.txt": "part-1/a.txt"}
    for link, target in (links | {"a-folder": "part-1", "dangling": "nowhere", "zz": "part-2"}).items():
        (folder / link).symlink_to(target)
    os.link(folder / "part-2/a.jsonl", folder / "z.jsonl")
    assert names(folder) == NAMES, "links add nothing, and the paths without links are kept"
    assert names(folder, "**/*.txt") == [name for name in NAMES if name.endswith(".txt")]
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


# --- a folder in which others work: what comes into being or goes meanwhile fails nothing ----------------------------


def below(folder, root=None, **options):
    files = files_below(fs.LocalFileSystem(), str(folder), root and str(root), **options)
    return sorted(file.path.removeprefix(f"{folder}/") for file in files)


@pytest.fixture
def places(tmp_path):
    for name in ("a/one", "b/two", "b/c/three"):
        path = tmp_path / "folder" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return tmp_path / "folder"


def test_everything_below_a_folder_is_listed_but_not_what_links_lead_to(places, tmp_path):
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/secret").touch()
    (places / "a/link").symlink_to(tmp_path / "outside")
    everything = ["a", "a/link", "a/one", "b", "b/c", "b/c/three", "b/two"]
    assert below(places) == everything
    assert below(places / "a/link") == ["secret"]
    assert below(places / "a/link", root=places) == []
    assert below(places / "b/c", root=places) == ["three"]
    assert below(places, is_recursive=False) == ["a", "b"]
    (tmp_path / "elsewhere").symlink_to(places)
    assert below(tmp_path / "elsewhere") == everything


def test_nothing_is_below_a_folder_that_is_not_there_and_a_file_is_none(places):
    assert below(places / "absent") == []
    with pytest.raises(StorageError, match=r"cannot reach .*one: .*Not a directory"):
        below(places / "a/one")


@pytest.mark.parametrize(
    ("change", "left"),
    [
        (lambda places: shutil.rmtree(places / "b/c"), ["a", "a/one", "b", "b/two"]),
        (lambda places: (places / "a/one").unlink(), ["a", "b", "b/c", "b/c/three", "b/two"]),
    ],
    ids=["folder", "file"],
)
def test_a_folder_or_a_file_may_go_while_those_above_it_are_listed(places, monkeypatch, change, left):
    """As a folder is about to be listed, before the size of the file is asked for."""

    def scandir(path):
        if Path(path) == places / "b/c":
            monkeypatch.undo()
            change(places)
        return list_folder(path)

    list_folder = os.scandir
    monkeypatch.setattr(os, "scandir", scandir)
    assert below(places) == left


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


# --- a file system that is away -------------------------------------------------------------------------------------

AWAY = OSError(errno.ESTALE, os.strerror(errno.ESTALE))
FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


class Operation:
    """Fails as it is told, and then answers."""

    def __init__(self, *errors):
        self.errors = list(errors)
        self.num_calls = 0

    def __call__(self):
        self.num_calls += 1
        if self.errors:
            raise self.errors.pop(0)
        return "answer"


@pytest.fixture
def clock(monkeypatch):
    """Pauses, which take no time but are believed to."""
    pauses = []
    monkeypatch.setattr("tenacity.nap.time.sleep", pauses.append)
    monkeypatch.setattr("time.monotonic", lambda: sum(pauses))
    return pauses


def s3(answer):
    return OSError(f"When reading information for key 'x' in bucket 'b': AWS Error {answer} during HeadObject")


PASSING = ["ESTALE", "EIO", "ETIMEDOUT", "ECONNREFUSED", "EHOSTUNREACH"]
"""What a network file system says of a server that is away."""
LASTING = ["ENOSPC", "EDQUOT", "EACCES", "EROFS", "ENOENT", "ENAMETOOLONG"]
IN_TROUBLE = ["NETWORK_CONNECTION", "SLOW_DOWN", "INTERNAL_FAILURE", "SERVICE_UNAVAILABLE"]
IN_TROUBLE += ["UNKNOWN (HTTP status 503)", "UNKNOWN (HTTP status 429)"]
"""What an object store answers then."""
REFUSING = ["ACCESS_DENIED", "NO_SUCH_BUCKET", "SIGNATURE_DOES_NOT_MATCH", "INVALID_ACCESS_KEY_ID"]
REFUSING += ["UNKNOWN (HTTP status 400)"]


@pytest.mark.parametrize("name", [*PASSING, *LASTING, *IN_TROUBLE, *REFUSING])
def test_what_waiting_helps_against(name):
    error = OSError(getattr(errno, name), "") if name in PASSING + LASTING else s3(name)
    assert is_transient(error) == (name in PASSING + IN_TROUBLE)


def test_other_errors_do_not_pass():
    assert not is_transient(ValueError("AWS Error SLOW_DOWN"))
    assert not is_transient(None)


def test_an_operation_is_repeated_until_the_store_answers(clock):
    operation = Operation(AWAY, s3("SLOW_DOWN"), AWAY)
    assert Retries()(operation) == "answer"
    assert (operation.num_calls, len(clock)) == (4, 3)


def test_an_error_that_stays_is_raised_at_once(clock):
    operation = Operation(FULL)
    with pytest.raises(OSError, match="No space left") as error:
        Retries()(operation)
    assert error.value is FULL
    assert (operation.num_calls, clock) == (1, [])


def test_pauses_are_random_grow_and_stay_below_ten_seconds(clock):
    Retries(seconds=1e6)(Operation(*[AWAY] * 200))
    assert all(pause <= min(0.5 * 2**number, 10) for number, pause in enumerate(clock))
    assert len(set(clock)) == 200
    assert 3 < sum(clock[20:]) / 180 < 7


def test_when_the_time_is_over_the_last_error_is_raised_and_later_operations_wait_no_more(clock):
    retries, operation = Retries(seconds=60), Operation(*[AWAY] * 1000)
    for _ in range(3):
        with pytest.raises(OSError, match="Stale file handle"):
            retries(operation)
        assert 60 <= sum(clock) < 70
    operation.errors.clear()
    assert retries(operation) == "answer"
    operation.errors += [AWAY, AWAY]
    assert retries(operation) == "answer"
