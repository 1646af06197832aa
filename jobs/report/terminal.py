"""The last lines of a run: what its page says first, the counts, and where everything is."""

from collections.abc import Iterable, Iterator
from typing import Any

from rich.console import Console, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from tiltmeter.jobs.report.html.elements import Block, Bullets, Grid, Paragraph, Part
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.wording import left_out_sentences, plural

_MOST_ROWS = 40
_LEAST_COLUMNS, _USUAL_COLUMNS, _MOST_COLUMNS = 40, 80, 1000


def console() -> Console:
    """Standard output; narrower than 40 columns nothing could be read, and a width of 0 is none."""
    width = Console().width
    usable = min(max(width or _USUAL_COLUMNS, _LEAST_COLUMNS), _MOST_COLUMNS)
    return Console() if usable == width else Console(width=usable)


def print_outcome(run: Run[Any, Any]) -> None:
    """Print what a run found and how sure it is, what it did, and its directory."""
    if run.lead:
        for part in run.lead._replace(question=()).parts:
            _print_part(run.console, part)
    record = run.directory.record
    for sentence in left_out_sentences(record.get("left_out", [])):
        run.console.print(Text(sentence), soft_wrap=True)
    units = record["units"]
    counts = f"{plural(units['done'], 'unit')} done, {units['reused']} reused, {units['failed']} failed"
    done = counts if record.get("stages") else "done"
    run.console.print(f"{done} in {record['seconds']:.1f} s", highlight=False)
    # One unbroken line, so that a script can take the path from it.
    run.console.print(f"run directory: {run.directory.path}", soft_wrap=True, highlight=False)


def _print_part(console: Console, part: Part) -> None:
    console.print(f"\n{part.title}", style="bold", highlight=False)
    for renderable in _lines(part.blocks):
        console.print(renderable, highlight=False, soft_wrap=isinstance(renderable, Text))


def _lines(blocks: Iterable[Block]) -> Iterator[RenderableType]:
    """Sentences and tables; what a reader of the page has to open stays there, and so do notes and drawings."""
    for block in blocks:
        match block:
            case Paragraph(text, "warning"):
                yield Text(f"warning: {text}", style="yellow")
            case Paragraph(text, "plain"):
                yield Text(text)
            case Bullets(items):
                yield from (Text(f"• {item}") for item in items)
            case Grid():
                yield _table(block)


def _table(grid: Grid) -> Table:
    table = Table(title=escape(grid.caption), title_justify="left", title_style="")
    for heading in grid.headings:
        table.add_column(escape(heading), justify="right" if heading in grid.numeric else "left")
    for row in grid.rows[:_MOST_ROWS]:
        table.add_row(*map(escape, row))
    return table
