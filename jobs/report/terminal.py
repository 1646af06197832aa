"""The last lines of a run: what its page says first, the counts, and where everything is."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from rich.console import Console, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from tiltmeter.jobs.report.html.elements import Block, Bullets, Grid, Listing, Paragraph, Part
from tiltmeter.jobs.report.lead import Picture
from tiltmeter.jobs.report.wording import number
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.wording import left_out_sentences, plural
from tiltmeter.storage.store.runs import REPORT

_MOST_ROWS = 40
_LEAST_COLUMNS, _USUAL_COLUMNS, _MOST_COLUMNS = 40, 80, 1000


def console() -> Console:
    """Standard output; narrower than 40 columns nothing could be read, and a width of 0 is none."""
    width = Console().width
    usable = min(max(width or _USUAL_COLUMNS, _LEAST_COLUMNS), _MOST_COLUMNS)
    return Console() if usable == width else Console(width=usable)


def print_start(console: Console, job: str, directory: Path) -> None:
    """Print at once what begins, and where its page will be."""
    console.print(f"{job}: starting; the page will be {directory}/{REPORT}", soft_wrap=True, highlight=False)


def print_outcome(run: Run[Any, Any]) -> None:
    """Print what a run found and how sure it is, what it did, and its directory."""
    if run.lead:
        for part in run.lead._replace(question=()).parts:
            _print_part(run.console, part)
            if run.lead.picture and part.blocks is run.lead.findings:
                for line in bars(run.lead.picture, run.console.width, run.console.encoding):
                    run.console.print(Text(line), no_wrap=True)
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


def bars(picture: Picture, width: int, encoding: str = "utf-8") -> list[str]:
    r"""Lines of text with a bar for each interval, a dot for its number, and a line where nothing leans to a side.

    Args:
        picture: with finite numbers.
        width: of the terminal, at least 40 columns.
        encoding: of the terminal; another than UTF-8 gets ASCII.

    >>> from tiltmeter.jobs.report.lead import Bar
    >>> print(*bars(Picture("PSE", 0.5, [Bar("maid", 0.75, 0.5, 1.0), Bar("smith", 0.25, 0.0, 0.4)]), 40), sep="\n")
    PSE
      maid              ├──────●─────┤ 0.75
      smith ├─────●───┤ ┊              0.25
            0.00      0.50        1.00
    """
    line, start, dot, end, neutral, crossed = "─├●┤┊┼" if encoding.startswith("utf") else "-|o|:+"
    label_width = min(max(len(bar.label) for bar in picture.bars), width // 3)
    numbers = [end for bar in picture.bars for end in (bar.low, bar.high)]
    low, high = min(*numbers, picture.neutral), max(*numbers, picture.neutral)
    columns = width - label_width - 9
    scale = (columns - 1) / ((high - low) or 1.0)
    lines = [picture.title]
    for bar in picture.bars:
        cells = [" "] * columns
        cells[round((picture.neutral - low) * scale)] = neutral
        first, middle, last = (round((one - low) * scale) for one in (bar.low, bar.value, bar.high))
        cells[first : last + 1] = [crossed if cell == neutral else line for cell in cells[first : last + 1]]
        cells[first], cells[last], cells[middle] = start, end, dot
        lines.append(f"  {bar.label[:label_width]:<{label_width}} {''.join(cells)} {number(bar.value, 2)}")
    return [*lines, f"{'':<{label_width + 3}}{_scale(low, picture.neutral, high, columns)}"]


def _scale(low: float, neutral: float, high: float, columns: int) -> str:
    """The numbers under the bars: both ends, and the neutral one where there is room between them."""
    left, middle, right = (number(one, 2) for one in (low, neutral, high))
    start = round((neutral - low) / ((high - low) or 1.0) * (columns - 1)) - len(middle) // 2
    has_room = len(left) < start < columns - len(right) - len(middle)
    inner = f"{left}{middle:>{start + len(middle) - len(left)}}" if has_room else left
    return f"{inner}{right:>{columns - len(inner)}}"


def _lines(blocks: Iterable[Block]) -> Iterator[RenderableType]:
    """Sentences and tables; what a reader of the page has to open stays there, and so do notes and drawings."""
    for block in blocks:
        match block:
            case Paragraph(text, "warning"):
                yield Text(f"warning: {text}", style="yellow")
            case Paragraph(text, "plain"):
                yield Text(text)
            case Listing(text):
                yield from map(Text, text.splitlines())
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
