"""What installed packages bring: found by name, and refused with the setting that names it."""

import sys

import pytest

from tests.fixtures.corpora import source, zipped
from tiltmeter.storage import extensions
from tiltmeter.storage.corpora.corpora import fields_of, read_pages, split
from tiltmeter.storage.corpora.pages import ArchiveSource, Page, ReaderSource
from tiltmeter.storage.corpora.readers import GROUP, Reader
from tiltmeter.storage.errors import InputError

MODULE = """
from tiltmeter.storage.corpora.lines import Lines
from tiltmeter.storage.corpora.pages import Page
from tiltmeter.storage.corpora.readers import Reader


def read(source, span, repairs, document_bytes, field):
    for offset, line in Lines(source, span, repairs, document_bytes).of_span():
        if line.startswith("#"):
            repairs.leave_out("a remark", str(offset))
        else:
            yield Page(f"{source.name}@{offset}", "", line, "article", line[:1] if field else None)


CUT, ALL, NOTHING = Reader("cut/1", read, ["first"], is_divisible=True), Reader("all/1", read), "cut/1"
"""
BROUGHT = {"cut": "brought_here:CUT", "all": "brought_here:ALL", "text_only": "brought_here:NOTHING"}
BROUGHT |= {"gone": "brought_here:GONE", "lost": "brought_elsewhere:CUT"}


@pytest.fixture
def bring(tmp_path, monkeypatch):
    """Installs entry points of a package in a folder of its own."""

    def install(package: str, points: dict[str, str]) -> None:
        folder = tmp_path / package
        (folder / f"{package}-1.dist-info").mkdir(parents=True)
        (folder / f"{package}-1.dist-info/METADATA").write_text(f"Name: {package}\nVersion: 1\n")
        listed = "".join(f"{name} = {place}\n" for name, place in points.items())
        (folder / f"{package}-1.dist-info/entry_points.txt").write_text(f"[{GROUP}]\n{listed}")
        (folder / "brought_here.py").write_text(MODULE)
        monkeypatch.syspath_prepend(folder)

    yield install
    sys.modules.pop("brought_here", None)


@pytest.fixture
def lines(tmp_path):
    """A file of lines, one of which is a remark."""
    path = tmp_path / "lines.any"
    path.write_text("".join(f"line {number}\n" for number in range(500)) + "# end\n")
    return path


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("other", "corpus.format=other: no installed package brings it; there is all, cut, gone, lost, text_only"),
        ("text_only", "corpus.format=text_only: brought_here:NOTHING is a str, and must be a Reader"),
        ("gone", "corpus.format=gone: brought_here:GONE can't be imported: .*GONE.*; install its package anew"),
        ("lost", "corpus.format=lost: brought_elsewhere:CUT can't be imported: .*; install its package anew"),
    ],
)
def test_what_cannot_be_used_is_named(bring, name, message):
    bring("one", BROUGHT)
    with pytest.raises(InputError, match=message):
        extensions.load(GROUP, name, Reader, "corpus.format")


def test_without_any_package_a_name_is_refused():
    with pytest.raises(InputError, match="there is none; install a package that brings one, on every node"):
        extensions.load("tiltmeter.of_nobody", "other", Reader, "corpus.format")


def test_a_name_that_two_packages_bring_is_refused(bring):
    bring("one", BROUGHT)
    bring("two", {"cut": "brought_here:ALL"})
    with pytest.raises(InputError, match="cut: is brought by brought_here:ALL and brought_here:CUT; uninstall one"):
        extensions.load(GROUP, "cut", Reader, "corpus.format")


OTHER_VERSION = "cut: is cut/1 here, and cut/2 where the run began; install one version"


def test_another_version_than_where_the_run_began_is_refused(bring, lines):
    bring("one", BROUGHT)
    found = source(lines, format="cut")
    changed = ReaderSource(**vars(found) | {"reader": "cut/2"})
    [span] = split(found, 1.0)
    with pytest.raises(InputError, match=OTHER_VERSION):
        next(iter(read_pages(changed, span)))


def test_members_of_an_archive_are_read_by_the_version_where_the_run_began(bring, lines, tmp_path):
    bring("one", BROUGHT)
    (tmp_path / "lines.zip").write_bytes(zipped({"lines.any": lines.read_bytes()}))
    found = source(tmp_path / "lines.zip", format="cut")
    assert found.member_reader == "cut/1"
    [span] = split(found, 1.0)
    assert len([*read_pages(found, span)]) == 500
    changed = ArchiveSource(**vars(found) | {"member_reader": "cut/2"})
    with pytest.raises(InputError, match=OTHER_VERSION):
        next(iter(read_pages(changed, span)))


@pytest.mark.parametrize(("name", "num_spans"), [("cut", 5), ("all", 1)])
def test_a_reader_gets_spans_where_it_can_be_divided_and_leaves_records_out(bring, lines, name, num_spans):
    bring("one", BROUGHT)
    found = source(lines, format=name)
    assert (found.format, found.reader, found.markup) == (name, f"{name}/1", "plain")
    spans = split(found, 0.001)
    assert len(spans) == num_spans
    read = [read_pages(found, span) for span in spans]
    assert [page.text for pages in read for page in pages] == [f"line {number}" for number in range(500)]
    assert sum(row["num"] for pages in read for row in pages.bad.rows()) == 1
    assert fields_of(found) == (["first"] if name == "cut" else [])


def test_fields_are_those_that_a_reader_names(bring, lines):
    bring("one", BROUGHT)
    found = source(lines, format="cut")
    [span] = split(found, 1.0)
    assert next(iter(read_pages(found, span, field="first"))) == Page("lines.any@0", "", "line 0", "article", "l")
