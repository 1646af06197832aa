"""Pages that stand beside docs/ come into the site, and links lead to where things are in it.

A link to a file of the repository that is no page of the site becomes its text alone.
"""

import posixpath
import re
from collections.abc import Mapping
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

BESIDE = {
    "README.md": "overview.md",
    "ARCHITECTURE.md": "architecture.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "cluster/TUNING.md": "tuning.md",
}
"""Files of the repository, and what they are called in the site."""

_DOCS = "docs/"
_LINK = re.compile(
    r"(?P<fence>^```.*?^```$)|(?P<image>!?)\[(?P<text>[^\]]*)\]\((?P<target>[^)\s#]+)(?P<anchor>#[^)\s]*)?\)",
    re.M | re.S,
)


def on_files(files: Files, config: MkDocsConfig) -> None:
    """Add the pages that stand beside docs/."""
    root = Path(config.config_file_path).parent
    for source, name in BESIDE.items():
        files.append(File.generated(config, name, content=(root / source).read_text(encoding="utf-8")))


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Links as they are in the site."""
    sources = {name: source for source, name in BESIDE.items()}
    name = page.file.src_uri
    return relinked(markdown, sources.get(name, f"{_DOCS}{name}"), name, BESIDE)


def relinked(text: str, source: str, name: str, beside: Mapping[str, str]) -> str:
    """A text with links for its place in the site.

    >>> relinked("[a](docs/a.md#b), [c](Makefile), [d](https://d.org)", "README.md", "overview.md", {})
    '[a](a.md#b), c, [d](https://d.org)'

    Args:
        text: Markdown; what stands between fences stays.
        source: its path in the repository, from which its links lead.
        name: its path in the site.
        beside: names in the site of files beside docs/.
    """

    def link(found: re.Match[str]) -> str:
        target = found["target"]
        if found["fence"] or "://" in target:
            return found[0]
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
        place = beside.get(path) or (path.removeprefix(_DOCS) if path.startswith(_DOCS) else None)
        if place is None:
            return found["text"]
        path = posixpath.relpath(place, posixpath.dirname(name) or ".")
        return f"{found['image']}[{found['text']}]({path}{found['anchor'] or ''})"

    return _LINK.sub(link, text)
