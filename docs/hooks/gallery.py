"""The gallery: pages of real runs that ``python -m benchmarks.gallery`` has left beside docs/, if it has."""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

_ABOUT = """\
# Gallery

A page of each job as its run left it, without its tables. Each says its settings and its data.
"""
_NONE = "This build has none: `python -m benchmarks.gallery` runs the jobs and leaves pages for the next one.\n"


def on_files(files: Files, config: MkDocsConfig) -> None:
    """Add the pages, their pictures and the index."""
    root = Path(config.config_file_path).parent / "gallery"
    abouts = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(root.glob("*/about.json"))]
    for about in abouts:
        for name in ("report.html", "picture.png"):
            path = f"{about['job']}/{name}"
            files.append(File.generated(config, f"gallery/{path}", abs_src_path=str(root / path)))
    files.append(File.generated(config, "gallery/index.md", content="\n".join(index_of(abouts))))


def index_of(abouts: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Lines of Markdown: of each page a picture, its job, command, commit and time."""
    cards = [_card(about) for about in abouts]
    yield _ABOUT
    yield "\n".join(['<div class="gallery" markdown>\n', *cards, "</div>"]) if cards else _NONE


def _card(about: Mapping[str, Any]) -> str:
    job = about["job"]
    return (
        f"<div markdown>\n[![{job}]({job}/picture.png){{loading=lazy}}]({job}/report.html)\n\n"
        f"**[{job}]({job}/report.html)** · [how](../{job}.md)\n\n`{about['command']}`\n\n"
        f"{about['seconds']:.0f} s at commit `{about['commit'][:8]}`\n</div>\n"
    )
