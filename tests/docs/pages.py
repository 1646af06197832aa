"""The pages, the blocks of code in them, and the commands and files that these hold."""

import re
import shlex
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent.parent

_FENCE = re.compile(r"^```([a-z]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_CAPTION = re.compile(r"`([\w./-]+\.\w+)`[^`\n]*:\n\n\Z")
_FILE = re.compile(r"# ([\w./-]+\.yaml)\b")
_ASSIGNMENT = re.compile(r"[A-Z_]+=\S*")
_COMMAND = "tiltmeter"


class Block(NamedTuple):
    """A block of code.

    Attributes:
        language: what stands behind the fence.
        caption: the file that the line before the block, or its own first line, names; or nothing.
    """

    page: str
    language: str
    text: str
    caption: str

    @property
    def runs(self) -> bool:
        """Whether its commands are to be run."""
        return self.language == "sh" or (not self.language and self.text.startswith(_COMMAND))

    @property
    def lines(self) -> list[str]:
        """Its command lines, whole where a backslash goes on, without comments."""
        lines = self.text.replace("\\\n", " ").splitlines()
        return [line for line in map(str.strip, lines) if line and not line.startswith("#")]


class Command(NamedTuple):
    """A command line of a page; ``runs`` says whether its block is one that is run."""

    page: str
    line: str
    runs: bool

    @property
    def words(self) -> list[str]:
        """Without assignments before it, and without a comment after it."""
        words = shlex.split(self.line, comments=True)
        while words and _ASSIGNMENT.fullmatch(words[0]):
            words.pop(0)
        return words

    @property
    def arguments(self) -> list[str]:
        """Of ``tiltmeter``."""
        return self.words[1:]

    @property
    def is_ours(self) -> bool:
        return self.words[:1] == [_COMMAND]


class Page:
    def __init__(self, path: Path) -> None:
        self.path, self.name = path, str(path.relative_to(ROOT))
        self.text = path.read_text(encoding="utf-8")

    @cached_property
    def blocks(self) -> list[Block]:
        return [self._block(found) for found in _FENCE.finditer(self.text)]

    def _block(self, found: re.Match[str]) -> Block:
        named = _CAPTION.search(self.text[: found.start()]) or _FILE.match(found[2])
        return Block(self.name, found[1], found[2], named[1] if named else "")

    @property
    def commands(self) -> list[Command]:
        """All lines of its shell blocks, and of those that only show commands."""
        return [
            Command(self.name, line, block.runs)
            for block in self.blocks
            if block.runs or block.language in ("text", "console")
            for line in block.lines
        ]

    @property
    def files(self) -> dict[str, str]:
        """The YAML files that it spells out."""
        return {block.caption: block.text for block in self.blocks if block.language == "yaml" and block.caption}

    def tables(self, heading: str) -> Iterator[list[str]]:
        """The cells of each row of its tables whose first column has this heading."""
        inside = False
        for line in self.text.splitlines():
            cells = [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
            if cells[:1] == [heading]:
                inside = True
            elif not cells:
                inside = False
            elif inside and not set(cells[0]) <= {"-", ":"}:
                yield cells


PAGES = {
    page.name: page
    for page in map(
        Page,
        [
            *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
            *sorted(ROOT.glob("docs/*.md")),
            *sorted(ROOT.glob("cluster/*.md")),
        ],
    )
}


def quoted(cell: str) -> list[str]:
    """What a cell of a table has in code."""
    return re.findall(r"`([^`]+)`", cell)
