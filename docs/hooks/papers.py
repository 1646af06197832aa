"""The papers' printed figures beside ours, on one page, from the tables that the pages of jobs have."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

_HEAD = re.escape("| place | figure | printed | ours | verdict |\n")
_TABLE = re.compile(rf"<!-- figures: (\w+) -->\n({_HEAD}.*?)<!-- figures end -->", re.DOTALL)
_TITLE = re.compile(r'^TITLE = "(.*)"$', re.MULTILINE)
_BAR = re.compile(r"(?<!\\)\|")
_NOTHING = ("", "–")
_MODULES = "benchmarks/papers"

_ABOUT = """\
# The papers' figures beside ours

What each paper prints, what comes out here, and the verdict: *same* in the digits that are printed, or why not. A dash
stands for what a paper does not print. Tests compare these tables with what `python -m benchmarks.papers` computes; the
page of each job says on which data and with which settings.

| paper | printed | the same | page |
|---|---|---|---|"""


class Paper(NamedTuple):
    """A table of figures: the paper's title, the page that has it, and its rows as they stand there."""

    title: str
    page: str
    table: str

    @property
    def verdicts(self) -> list[str]:
        """Of each row that has a printed figure."""
        rows = ([cell.strip() for cell in _BAR.split(row)[1:-1]] for row in self.table.strip().splitlines()[2:])
        return [verdict for _, _, printed, _, verdict in rows if printed not in _NOTHING]


def on_files(files: Files, config: MkDocsConfig) -> None:
    """Add the page."""
    root = Path(config.config_file_path).parent
    pages = ((file.src_uri, file.content_string) for file in files.documentation_pages())
    files.append(File.generated(config, "papers.md", content="\n".join(page_of(papers_in(pages, root / _MODULES)))))


def papers_in(pages: Iterable[tuple[str, str]], modules: Path) -> Iterator[Paper]:
    """The tables of pages, by name and text, with the titles that the modules of their names say."""
    for name, text in sorted(pages):
        for found in _TABLE.finditer(text):
            [title] = _TITLE.findall((modules / f"{found[1]}.py").read_text(encoding="utf-8"))
            yield Paper(title, name, found[2])


def page_of(papers: Iterable[Paper]) -> Iterator[str]:
    """Lines of Markdown: a table of all papers, then the figures of each."""
    sorted_papers = sorted(papers)
    yield _ABOUT
    for paper in sorted_papers:
        counts = f"{len(paper.verdicts)} | {paper.verdicts.count('same')}"
        yield f"| {paper.title} | {counts} | [{Path(paper.page).stem}]({paper.page}) |"
    for paper in sorted_papers:
        yield f"\n## {paper.title}\n\nFrom [{Path(paper.page).stem}]({paper.page}).\n\n{paper.table}"
