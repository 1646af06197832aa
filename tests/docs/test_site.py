"""The site: what its hooks make; no link in it is dead, nobody is asked for anything, and it can be searched."""

import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from benchmarks.gallery import COMMANDS, about, alone, outdated
from tests.docs.pages import ROOT
from tests.fixtures.chromium import Tab
from tiltmeter.jobs import catalogue
from tiltmeter.storage.store.tables import documentation

pytest.importorskip("mkdocs", reason="needs tiltmeter[site]")

from docs.hooks import gallery, links, notebooks, papers, reference

# --- what hooks make --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def pages():
    return reference.pages()


def first_cells(text: str) -> list[str]:
    """Of rows of tables whose first cell is code."""
    return re.findall(r"^\| `([^`]+)` \|", text, re.MULTILINE)


@pytest.mark.long
def test_each_setting_stands_once(pages):
    folders = catalogue.settings_folders()
    files = [f"{group}/{option}" for group in folders.groups for option in folders.options(group)]
    files = [
        name for name in files if not name.startswith(("wordset", "explanation_words", "readable_words", "inverses"))
    ]
    files += [path.stem for path in ROOT.glob("conf/*.yaml")]
    settings = (setting for name in files for setting in folders.file(name).settings if not setting.is_block)
    there = Counter(setting.key for setting in settings if setting.key != "job.name")
    made = Counter()
    for name, text in pages.items():
        if not name.startswith("functions/"):
            made.update(first_cells(text.split("\n## Table ")[0]))
    assert made == there
    assert len(there) > 500


def test_each_column_stands_once_with_its_unit_and_its_sentence(pages):
    schemas = {}
    for job, tables in reference.tables().items():
        for table, schema in tables.items():
            schemas.setdefault((table, str(schema)), (job, schema))
    made = sum(len(re.findall(r"\n## Table ", text)) for text in pages.values())
    assert made == len(schemas)
    [pse] = re.findall(r"^\| `pse` .*$", pages["psychophysics"].split("## Table psychometrics\n")[1], re.MULTILINE)[:1]
    row = next(
        row for row in documentation(catalogue.job("psychophysics").tables["psychometrics"]) if row["name"] == "pse"
    )
    assert row["description"] in pse
    assert "double" in pse
    columns = len(first_cells(pages["prune"].split("\n## Table ", 1)[1]))
    assert columns == sum(len(schema) for schema in catalogue.job("prune").tables.values())


def test_rows_have_as_many_cells_as_their_head(pages):
    for name, text in pages.items():
        for table in re.findall(r"(?:^\|.*\n?)+", text, re.MULTILINE):
            assert len({len(re.findall(r"(?<!\\)\|", row)) for row in table.splitlines()}) == 1, name


def test_a_table_of_another_job_is_linked_and_not_repeated(pages):
    assert "- [embeddings](bootstrap.md#table-embeddings), as of bootstrap" in pages["survey"]
    assert "\n## Table embeddings" not in pages["survey"]
    assert "\n## Table embeddings\n" in pages["bootstrap"]


def test_each_public_function_has_its_signature_and_arguments(pages):
    text = pages["functions/psychophysics"]
    assert "## psychometrics\n\n```python\npsychometrics(\n    words: NDArray[floating],\n    cue_1: " in text
    assert "- `cue_1, cue_2`: `[replicas, dims]`" in text
    assert "**Raises**\n\n- `ValueError`: " in text
    assert ":func:" not in "".join(pages.values())
    named = {name for name in pages if name.startswith("functions/")}
    assert named == {f"functions/{name}" for name in reference.packages()}


def test_a_docstring_keeps_its_formulas_and_examples():
    text = "A sum.\n\n    s = a + b\n\nArgs:\n    a: one,\n        or more.\n    b: two.\n\n>>> 1 + 1\n2"
    made = reference.described(text)
    assert (
        made == "A sum.\n\n    s = a + b\n\n**Args**\n\n- `a`: one,\n    or more.\n- `b`: two.\n\n"
        "```pycon\n>>> 1 + 1\n2\n```"
    )


PAPER = "<!-- figures: it -->\n| place | figure | printed | ours | verdict |\n| --- | --- | --- | --- | --- |\n"


def test_papers_count_what_is_printed_and_what_is_the_same(tmp_path):
    (tmp_path / "it.py").write_text('TITLE = "Somebody 2020"\n')
    rows = [r"| 1 | a \| b | 0.1 | 0.1 | same |", "| 2 | c | 0.2 | 0.3 | other data |", "| 3 | d | – | 1 | same |"]
    text = PAPER + "\n".join([*rows, "<!-- figures end -->"])
    other = text.replace("it", "calibration").replace("place", "job: table")
    [paper] = papers.papers_in([("job.md", text), ("how_sure.md", other)], tmp_path)
    assert paper.verdicts == ["same", "other data"]
    page = "\n".join(papers.page_of([paper]))
    assert "| Somebody 2020 | 2 | 1 | [job](job.md) |" in page
    assert rows[0] in page


@pytest.mark.parametrize(
    ("text", "source", "name", "made"),
    [
        ("[a](../README.md#jobs)", "docs/a.md", "a.md", "[a](overview.md#jobs)"),
        ("[a](../tests/b.py), [c](c.md)", "docs/a.md", "a.md", "a, [c](c.md)"),
        ("![a](docs/report.png)", "README.md", "overview.md", "![a](report.png)"),
        ("[a](../library.md)", "docs/notebooks/b.md", "notebooks/b.md", "[a](../library.md)"),
        ("```\n[a](../x)\n```\n[a](https://a.org/b)", "docs/a.md", "a.md", "```\n[a](../x)\n```\n[a](https://a.org/b)"),
    ],
)
def test_links_lead_to_the_place_in_the_site(text, source, name, made):
    assert links.relinked(text, source, name, links.BESIDE) == made


def test_a_notebook_becomes_its_cells_and_outputs():
    cells = [
        {"cell_type": "markdown", "source": ["# Title\n", "text"]},
        {"cell_type": "code", "source": "1 + 1", "outputs": [{"data": {"text/plain": "2"}}]},
    ]
    made = "\n\n".join(notebooks.page_of({"cells": cells}, "n.ipynb"))
    assert made == (
        "# Title\ntext\n\n[n.ipynb](n.ipynb) is this page as a notebook.\n\n```python\n1 + 1\n```\n\n```text\n2\n```"
    )


# --- the gallery ------------------------------------------------------------------------------------------------------


def test_the_gallery_has_a_command_for_each_job_that_ends_with_its_run():
    assert set(COMMANDS) == set(catalogue.names())
    for name, lines in COMMANDS.items():
        last = lines.rpartition("\n")[2]
        assert last.startswith(f"tiltmeter job={name}" if name != "survey" else "tiltmeter corpus="), name


def test_a_card_says_command_commit_and_time():
    record = {"job": "prune", "git_commit": "0123456789", "seconds": 2.4}
    text = "\n".join(gallery.index_of([about(record, "tiltmeter job=prune")]))
    for said in ("prune/report.html", "`tiltmeter job=prune`", "`01234567`", "2 s", "../prune.md"):
        assert said in text
    assert "benchmarks.gallery" in "\n".join(gallery.index_of([]))


def test_a_page_of_the_gallery_has_no_link_to_a_file():
    assert alone('<a class="x" href="a.parquet">a</a><a href="#b">b</a>') == '<a class="x">a</a><a href="#b">b</a>'


def test_pages_are_those_of_a_commit_until_code_that_makes_them_changes(tmp_path):
    def git(*words: str) -> str:
        usual = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b"]
        return subprocess.run([*usual, *words], capture_output=True, text=True, check=True).stdout.strip()

    def commit(name: str, text: str) -> str:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
        git("add", name)
        git("commit", "-qm", name)
        return git("rev-parse", "HEAD")

    git("init", "-q")
    first = commit("jobs/a.py", "1")
    page = tmp_path / "gallery/prune"
    page.mkdir(parents=True)
    for made, reason in ((first, None), (f"{first}+changes", "without changes"), ("0" * 40, "there is no commit")):
        (page / "about.json").write_text(json.dumps({"job": "prune", "commit": made}))
        commit("docs/a.md", made)
        assert (reason or "") in outdated(tmp_path / "gallery", tmp_path).get("prune", "")
        assert bool(outdated(tmp_path / "gallery", tmp_path)) == bool(reason)
    (page / "about.json").write_text(json.dumps({"job": "prune", "commit": first}))
    commit("jobs/a.py", "2")
    assert "1 file changed" in outdated(tmp_path / "gallery", tmp_path)["prune"]


@pytest.mark.slow
def test_pages_of_the_gallery_are_those_of_this_commit():
    if not any((ROOT / "gallery").glob("*/about.json")):
        pytest.skip("python -m benchmarks.gallery has not been run here")
    assert outdated(ROOT / "gallery") == {}


# --- the site, built --------------------------------------------------------------------------------------------------


_FOREIGN = re.compile(r"(?:@import|url\()\s*[\"']?((?:https?:)?//[^\"')]+)")


class Parsed(HTMLParser):
    """Ids and references of a page; ``loaded`` are those that a browser asks for by itself."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids, self.linked, self.loaded = set(), [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.ids.add(attributes.get("id"))
        target = attributes.get("href") or attributes.get("src")
        if target:
            asked = tag not in ("a", "link") or attributes.get("rel") in ("stylesheet", "icon", "preload")
            (self.loaded if asked else self.linked).append(target)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    place = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(place)]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stdout + built.stderr
    return place


@pytest.fixture(scope="module")
def parsed(site):
    found = {
        path: Parsed(path.read_text(encoding="utf-8")) for path in site.rglob("*.html") if path.name != "report.html"
    }
    assert len(found) > 60
    return found


def dead_links(pages: dict[Path, Parsed]) -> list[str]:
    """Links of pages to files that are not there, and to anchors that no page has."""
    dead = []
    for path, page in pages.items():
        for target in page.linked + page.loaded:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                continue
            place = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            anchor = unquote(parts.fragment)
            missing = not place.is_file() or (anchor and place in pages and anchor not in pages[place].ids)
            dead += [f"{path.name}: {target}"] * bool(missing)
    return dead


def foreign(pages: dict[Path, Parsed], styles: Iterable[str]) -> set[str]:
    """What pages and their styles would ask others for."""
    asked = {target for page in pages.values() for target in page.loaded if urlsplit(target).netloc}
    return asked | {url for text in styles for url in _FOREIGN.findall(text)}


def test_a_dead_link_and_a_request_to_others_are_noticed(tmp_path):
    text = '<h1 id="here"></h1><a href="a.html#here"></a><a href="https://b.org">b</a><img src="a.html">'
    wrong = '<a href="a.html#there"></a><a href="c.html"></a><script src="https://b.org/c.js"></script>'
    (tmp_path / "a.html").write_text(text)
    page = {tmp_path / "a.html": Parsed(text)}
    assert (dead_links(page), foreign(page, ["url(d.png)"])) == ([], set())
    page = {tmp_path / "a.html": Parsed(text + wrong)}
    assert dead_links(page) == ["a.html: a.html#there", "a.html: c.html"]
    assert foreign(page, ["a { src: url('//b.org/d.png') }"]) == {"https://b.org/c.js", "//b.org/d.png"}


@pytest.mark.slow
def test_no_link_is_dead(parsed):
    assert dead_links({path: page for path, page in parsed.items() if path.name != "404.html"}) == []


@pytest.mark.slow
def test_nothing_is_asked_of_others(site, parsed):
    assert foreign(parsed, (path.read_text(encoding="utf-8") for path in site.rglob("*.css"))) == set()


def opened(browser, path: Path, width: int) -> Tab:
    """A page in a tab that keeps what it asks for."""
    tab = Tab(browser, width)
    tab.call("Network.enable")
    tab.call("Page.navigate", url=path.as_uri())
    browser.wait("Page.loadEventFired", tab.session)
    return tab


def requests(browser, tab: Tab) -> set[str]:
    events = (event for event in browser.events if event.get("sessionId") == tab.session)
    return {event["params"]["request"]["url"] for event in events if event["method"] == "Network.requestWillBeSent"}


SEARCH = """new Promise(resolve => {
  const field = document.querySelector(".md-search__input")
  document.querySelector("#__search").click()
  field.focus()
  field.value = "psychometrics"
  field.dispatchEvent(new Event("input", {bubbles: true}))
  field.dispatchEvent(new KeyboardEvent("keyup", {bubbles: true, key: "s"}))
  const look = left => {
    const found = [...document.querySelectorAll(".md-search-result__link")].map(link => link.href)
    found.length || left === 0 ? resolve(found) : setTimeout(look, 100, left - 1)
  }
  look(300)
})"""


@pytest.mark.slow
def test_a_page_from_disk_can_be_searched_and_asks_for_its_own_files_alone(browser, site):
    tab = opened(browser, site / "index.html", 1280)
    found = tab.run(SEARCH)
    assert any("reference/psychophysics.html" in link or "psychophysics.html" in link for link in found), tab.problems
    asked = requests(browser, tab)
    assert asked
    assert {url for url in asked if not url.startswith((site.as_uri(), "data:", "blob:"))} == set()
    assert tab.problems == []
    tab.close()


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["index", "papers", "reference/settings", "gallery/index", "tutorials/night", "overview"]
)
def test_a_phone_scrolls_down_and_never_aside(browser, site, name):
    tab = opened(browser, site / f"{name}.html", 390)
    assert tab.run("document.documentElement.scrollWidth") <= 390
    tab.close()
