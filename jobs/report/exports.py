"""What a page shows as files to take away, as it rounds it: its tables in CSV, Markdown or LaTeX, and a summary."""

import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from html import escape
from typing import TypeVar

import polars as pl

from tiltmeter.jobs.report.html.elements import (
    Block,
    Bullets,
    Chart,
    Details,
    Grid,
    Page,
    Paragraph,
    Part,
    Section,
)
from tiltmeter.jobs.report.run_log import RUN_LOG
from tiltmeter.jobs.report.wording import DASH
from tiltmeter.jobs.runtime.config import TableFormat
from tiltmeter.storage.store.runs import RunDirectory

_Kind = TypeVar("_Kind", Chart, Grid)
_LEAD = "lead"
SUMMARY = "summary.md"
_MOST_ROWS, _MOST_CHARACTERS = 20, 60_000
"""Of a table in a summary, and of a summary: GitHub takes 65,536."""
_ISOLATES = re.compile("[\u2068\u2069]")
"""They keep the order of what a browser shows; files have one text in each cell."""

_BREAKS = re.compile(r"(?:[^\S\xa0]|[\0-\x1f\x7f])+")
_FORMULA, _NUMBER = r"^[=+\-@\t\r]", r"^[+-]?[\d.,]+(?:[eE][+-]?\d+)?%?$"
"""Spreadsheets compute a text that begins like the first, such as ``=1+1`` and ``@SUM(A1)``; the second is harmless."""

_MARKDOWN = re.compile(r"[\\|*_`<>~$&]|(?<=\])[(\[]")
"""What would be no plain text in a cell; of brackets, only those of a link, as intervals have them too."""

_LATEX = str.maketrans(
    {character: f"\\{character}" for character in "&%$#_{}"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "`": r"\textasciigrave{}"}
    | {"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", "•": r"\textbullet{}", "…": r"\ldots{}"}
    | {"−": "$-$", "×": r"$\times$", "±": r"$\pm$", "∞": r"$\infty$", "√": r"$\surd$", "α": r"$\alpha$"}
    | {"ρ": r"$\rho$", "←": r"$\leftarrow$", "→": r"$\rightarrow$", "–": r"\textendash{}", "\u00a0": "~"}
    | {"“": "``", "”": "''", '"': "''"}
)
_SUPERSCRIPT = re.compile("[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+")
_RAISED = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")


def export_tables(directory: RunDirectory, page: Page, formats: Sequence[TableFormat]) -> None:
    """Write each table of a page, but for the log of the run, as ``exports/table-<section>-<number>.<ending>``.

    Args:
        formats: each gives a file of every table.

    Raises:
        StorageError: if a file of others has such a name, or it can't be written.
    """
    for place, table in named_blocks(page, Grid):
        for form in formats:
            ending, written = _FORMATS[form]
            name = f"table-{place}"
            directory.export_bytes(f"{name}.{ending}", written(table, name).encode(errors="replace"))


def named_blocks(page: Page, kind: type[_Kind]) -> Iterator[tuple[str, _Kind]]:
    """Blocks of a kind, such as tables, by the section in which they stand and their place among those there."""
    numbers: Counter[str] = Counter()
    sections = [Section(_LEAD, "", page.lead), *(one for one in page.sections if one.anchor != RUN_LOG)]
    for section in sections:
        anchor = re.sub(r"[^\w-]+", "-", section.anchor)
        for block in _within(section.blocks, kind):
            numbers[anchor] += 1
            yield f"{anchor}-{numbers[anchor]}", block


def _within(blocks: Iterable[Block], kind: type[_Kind]) -> Iterator[_Kind]:
    for block in blocks:
        if isinstance(block, kind):
            yield block
        elif isinstance(block, Details | Part):
            yield from _within(block.blocks, kind)


def _line(text: str) -> str:
    """The text on one line; spaces that break no line stay."""
    return _BREAKS.sub(" ", _ISOLATES.sub("", text)).strip()


def as_csv(table: Grid, _name: str = "") -> str:
    """The caption as a comment, a header, and the rows; what is missing is empty, and a minus is that of programs.

    Texts that a spreadsheet would compute have an apostrophe in front, as :func:`inert` has it.
    """
    numeric = [heading in table.numeric for heading in table.headings]
    content = io.StringIO()
    if table.caption:
        content.write(f"# {_line(table.caption)}\n")
    writer = csv.writer(content, lineterminator="\n")
    writer.writerow(_inert(_line(heading)) for heading in table.headings)
    for row in table.rows:
        cells = ["" if cell == DASH else _line(cell) for cell in row]
        writer.writerow(
            [
                cell.replace("−", "-") if is_number else _inert(cell)
                for cell, is_number in zip(cells, numeric, strict=True)
            ]
        )
    return content.getvalue()


def _inert(text: str) -> str:
    return f"'{text}" if re.match(_FORMULA, text) and not re.match(_NUMBER, text) else text


def inert(texts: pl.Expr) -> pl.Expr:
    """Texts for a CSV file: an apostrophe stands before what a spreadsheet would take for a formula.

    >>> rows = pl.DataFrame({"a": ["=1+1", "-1.5"], "b": ["-b", None], "c": [-1, 2]})
    >>> rows.with_columns(inert(pl.col(pl.String))).rows()
    [("'=1+1", "'-b", -1), ('-1.5', None, 2)]
    """
    is_formula = texts.str.contains(_FORMULA) & ~texts.str.contains(_NUMBER)
    return pl.when(is_formula).then(texts.str.replace("^", "'")).otherwise(texts)


def as_markdown(table: Grid, _name: str = "") -> str:
    """A table of pipes under its caption; numbers are flush right."""
    caption, *rows = [[_markdown(cell) for cell in row] for row in [[table.caption], table.headings, *table.rows]]
    rows.insert(1, ["---:" if heading in table.numeric else "---" for heading in table.headings])
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([*([caption[0], ""] if caption[0] else []), *lines, ""])


def _markdown(text: str) -> str:
    return _MARKDOWN.sub(lambda match: f"\\{match[0]}", _line(text))


_CALLS = re.compile(r"(?<=[@#])(?=\w)")
"""Where GitHub would see a user, or an issue."""

_STARTS = re.compile(r"^(\d*)(?=[#+.)-])")
"""What would begin a heading or a list."""


def export_summary(directory: RunDirectory, page: Page) -> None:
    """Write what a page says first, and its tables with their first rows, as ``exports/summary.md``."""
    directory.export_bytes(SUMMARY, as_summary(page).encode(errors="replace"))


def as_summary(page: Page) -> str:
    """Markdown as GitHub has it: the lead, the first section that has a table, and the other sections folded."""
    sections = [one for one in page.sections if one.anchor != RUN_LOG]
    main = next((one for one in sections if any(isinstance(block, Grid) for block in one.blocks)), None)
    facts = Paragraph(" · ".join(f"{name}: {value}" for name, value in page.facts.items()))
    first = [facts, *page.lead, *([Part(main.title, main.blocks)] if main else [])]
    folded = [Details(one.title, one.blocks) for one in sections if one is not main]
    text = f"## {_markdown(page.title)}\n"
    for part in _summed([*first, *folded]):
        if len(text) + len(part) > _MOST_CHARACTERS:
            text += "\nThe page has more.\n"
            break
        text += f"\n{part}\n"
    # Nothing that is seen comes between the mark and the name.
    return _CALLS.sub("\u200b", text)


def _summed(blocks: Iterable[Block]) -> Iterator[str]:
    """Each block that is more than a drawing."""
    for block in blocks:
        match block:
            case Paragraph(text, tone):
                yield f"> [!WARNING]\n> {_plain(text)}" if tone == "warning" else _plain(text)
            case Bullets(items):
                yield "\n".join(f"- {_plain(item)}" for item in items)
            case Grid(rows=rows):
                left = f"\n\n{len(rows) - _MOST_ROWS:,} more rows are on the page." if len(rows) > _MOST_ROWS else ""
                yield as_markdown(replace(block, rows=rows[:_MOST_ROWS])).rstrip() + left
            case Part(title, inner):
                yield "\n\n".join([f"### {_markdown(title)}", *_summed(inner)])
            case Details(summary, inner) if parts := list(_summed(inner)):
                yield "\n\n".join([f"<details><summary>{escape(summary)}</summary>", *parts, "</details>"])


def _plain(text: str) -> str:
    return _STARTS.sub(r"\1\\", _markdown(text))


def as_latex(table: Grid, name: str) -> str:
    """A floating table with the lines of the package booktabs, its caption and the label ``tab:<name>``."""
    columns = "".join("r" if heading in table.numeric else "l" for heading in table.headings)
    head, *rows = [" & ".join(map(_latex, row)) for row in [table.headings, *table.rows]]
    body = [f"{_guarded(row)} \\\\" for row in rows]
    return "\n".join(
        [
            r"% needs \usepackage{booktabs}, and XeLaTeX or LuaLaTeX where words are of other scripts than Latin",
            r"\begin{table}",
            r"\centering",
            *([f"\\caption{{{_latex(table.caption)}}}"] if table.caption else []),
            f"\\label{{tab:{name}}}",
            f"\\begin{{tabular}}{{{columns}}}",
            r"\toprule",
            f"{_guarded(head)} \\\\",
            *(r"\midrule", *body, r"\bottomrule", r"\end{tabular}", r"\end{table}", ""),
        ]
    )


def _latex(text: str) -> str:
    powers = _SUPERSCRIPT.sub(lambda match: f"\0{match[0].translate(_RAISED)}\1", _line(text))
    # Two hyphens would become a dash.
    written = re.sub("-(?=-)", "-{}", powers.translate(_LATEX))
    return written.replace("\0", "$^{").replace("\1", "}$")


def _guarded(row: str) -> str:
    r"""A row after ``\\`` or a rule, which would take a bracket or a star at its beginning as an option."""
    return f"{{}}{row}" if row.startswith(("[", "*")) else row


_FORMATS: Mapping[TableFormat, tuple[str, Callable[[Grid, str], str]]] = {
    "csv": ("csv", as_csv),
    "markdown": ("md", as_markdown),
    "latex": ("tex", as_latex),
}
