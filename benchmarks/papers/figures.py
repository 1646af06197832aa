"""A figure that a paper prints, beside the one that comes out here, and the table of both in a page of the docs.

Each paper has a module, with `TITLE` (the paper), `PAGE` (of docs/), `DATA_FILES` (of the development data) and
`figures()`; and `record(run, ...)` where its table needs runs, of which a file beside it is kept.
"""

import json
import re
from collections.abc import Iterable
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Any

from benchmarks import command

DOCS = Path(__file__).parents[2] / "docs"


@dataclass(frozen=True)
class Figure:
    """One row of a table.

    Attributes:
        place: where the paper prints it, such as "table 5".
        figure: what is measured, and on which data.
        printed: the paper's value.
        ours: the value that comes out here, in as many digits.
        verdict: "same", or why not.
    """

    place: str
    figure: str
    printed: str
    ours: str
    verdict: str = "same"


def compared(
    place: str, figure: str, printed: float, ours: float, digits: int = 0, otherwise: str = "differs"
) -> Figure:
    """A number that should come out: "same" if it does in the digits that the paper prints, otherwise the reason."""
    texts = f"{printed:.{digits}f}", f"{ours:.{digits}f}"
    return Figure(place, figure, *texts, "same" if texts[0] == texts[1] else otherwise)


def minus(text: str) -> str:
    """With the sign that is printed."""
    return text.replace("-", "−")


def recorded(paper: str) -> Any:
    """What runs found."""
    return json.loads(_record(paper).read_text(encoding="utf-8"))


def keep(paper: str, found: Any) -> None:
    """Put what runs found into the file of the paper."""
    _record(paper).write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def _record(paper: str) -> Path:
    return Path(__file__).with_name(f"{paper}.json")


def markdown(figures: Iterable[Figure]) -> str:
    """The table, as the page has it."""
    rows = ([cell.replace("|", r"\|") for cell in astuple(figure)] for figure in figures)
    return command.markdown([field.name for field in fields(Figure)], rows)


def table_in(page: str, name: str) -> str:
    """The table that stands in a page between the marks of this name.

    Raises:
        ValueError: if the page has no such marks.
    """
    return _marked(page, name)[3]


def write_marked(page: str, name: str, text: str) -> None:
    """Put a text between the marks of this name."""
    before, start, _, rest = _marked(page, name).groups()
    (DOCS / f"{page}.md").write_text(f"{before}{start}{text}{rest}", encoding="utf-8")


def _marked(page: str, name: str) -> re.Match[str]:
    start, end = re.escape(f"<!-- figures: {name} -->\n"), re.escape("<!-- figures end -->")
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    match = re.fullmatch(f"(.*?)({start})(.*?)({end}.*)", text, re.DOTALL)
    if match is None:
        raise ValueError(f"docs/{page}.md has no <!-- figures: {name} --> with <!-- figures end --> behind it")
    return match
