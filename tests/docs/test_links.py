"""Links of the pages, and the folders and files that the README names."""

import re
from pathlib import Path

import pytest

from tests.docs.pages import PAGES, ROOT, quoted

MADE = ("gallery/", "notebooks/", "reference/", "overview.md", "papers.md")
"""What docs/hooks make for the site, in which tests/docs/test_site.py follows all links."""


def anchors(text: str) -> set[str]:
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"```.*?```", "", PAGES[page].text, flags=re.DOTALL)):
        if target.startswith(("http", *MADE)):
            continue
        path, _, anchor = target.partition("#")
        place = (PAGES[page].path.parent / path).resolve() if path else PAGES[page].path
        assert place.exists(), f"{page}: {target}"
        assert not anchor or anchor in anchors(place.read_text()), f"{page}: {target}"


def test_folders_and_files_that_the_readme_names_are_there():
    for folder, what in PAGES["README.md"].tables("folder"):
        folders = [*map(Path, quoted(folder))] or [Path("jobs")]
        for name in quoted(what) if folder.startswith(("`jobs", "`cluster")) or not folder else []:
            assert (ROOT / folders[0] / name).exists(), name
        assert all((ROOT / place).is_dir() for place in folders)
