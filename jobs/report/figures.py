"""Figures of a page as files to take away: as the page shows them, in SVG and PDF, with a table of their numbers."""

import asyncio
import gzip
import json
import re
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from tiltmeter.jobs.report.exports import as_csv, named_blocks
from tiltmeter.jobs.report.html.charts import LIBRARY, as_json
from tiltmeter.jobs.report.html.elements import Chart, Grid, Page, asset
from tiltmeter.jobs.report.plots.figure import Figure
from tiltmeter.jobs.report.wording import listed
from tiltmeter.jobs.runtime.config import ConfigError
from tiltmeter.storage.errors import WorkFailed
from tiltmeter.storage.store.runs import FIGURES, RunDirectory

_SETTING = "exports.figures=true"
_SCRIPTS = ("page_tables.js", "page_numbers.js", "page_charts.js", "figure_files.js")
_HEAD = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Figure</title>
<meta http-equiv="Content-Security-Policy"
      content="default-src 'none'; script-src 'unsafe-inline' file:; style-src 'unsafe-inline'; img-src data: blob:">
<style id="head-style"></style>
"""
_MARGINS = 20
"""Pixels that a browser's margins of a tenth of an inch take of both sides of a page."""

_MOMENT = re.compile(rb"\(D:\d{14}")
_EPOCH = b"(D:19700101000000"
"""In place of the time in a PDF, so that the same figure is the same file."""


class _Drawing(NamedTuple):
    """What files of a figure hold, by their endings."""

    svg: bytes
    pdf: bytes
    csv: bytes


def check_figures() -> None:
    """Look for what draws figures, before any work.

    Raises:
        ConfigError: if kaleido finds no browser.
    """
    from choreographer.browsers.chromium import Chromium

    browser = Chromium.find_browser(skip_local=False)
    if not browser or not Path(browser).is_file():
        place = f"there is none at BROWSER_PATH={browser}" if browser else "there is none on PATH"
        raise ConfigError(
            f"{_SETTING}: figures are drawn by Chromium or Chrome, and {place}; install it, "
            "set the variable BROWSER_PATH to its program, or set exports.figures=false"
        )


def export_figures(directory: RunDirectory, page: Page) -> None:
    """Write each figure of a page as ``exports/figures/<section>-<number>.svg``, ``.pdf`` and, its numbers, ``.csv``.

    Raises:
        WorkFailed: naming the figures that could not be drawn, after the others are written; of a figure there are all
            files or none.
        StorageError: if a file of others has such a name, or it can't be written.
    """
    figures = dict(_named_figures(page))
    if not figures:
        return
    # A notebook has a loop of events of its own, in which no other may run.
    with ThreadPoolExecutor(1) as pool:
        drawings, problems = pool.submit(asyncio.run, _draw(figures)).result()
    for name, drawing in drawings.items():
        for ending, content in drawing._asdict().items():
            directory.export_bytes(f"{FIGURES}/{name}.{ending}", content)
    if problems:
        reasons = listed([f"{name} ({reason})" for name, reason in problems.items()])
        raise WorkFailed(f"{_SETTING}: {len(problems)} of {len(figures)} figures could not be drawn: {reasons}")


def _named_figures(page: Page) -> Iterator[tuple[str, tuple[str, Figure]]]:
    """Figures with their captions by section and place, and of several in one place by their number there."""
    for name, chart in named_blocks(page, Chart):
        has_several = len(chart.figures) > 1
        for number, (label, figure) in enumerate(chart.figures.items(), 1):
            choice = f" {chart.question or 'Shown'}: {label}." if chart.question or has_several else ""
            ending = f"-{number}" if has_several else ""
            yield f"{name}{ending}", (f"{chart.caption}{choice}", figure)


async def _draw(figures: Mapping[str, tuple[str, Figure]]) -> tuple[dict[str, _Drawing], dict[str, str]]:
    """Figures drawn one after the other, and why others could not be, by name."""
    from kaleido import Kaleido

    drawings, problems = {}, {}
    try:
        async with Kaleido(page_generator=_DrawingPage()) as browser:
            for name, (caption, figure) in figures.items():
                try:
                    drawings[name] = await _drawn(browser, caption, figure)
                except Exception as error:  # of the browser or a script in it: others may be drawn all the same
                    problems[name] = str(error) or type(error).__name__
    except (OSError, RuntimeError) as error:
        raise WorkFailed(f"{_SETTING}: the browser that draws figures has failed: {error}") from error
    return drawings, problems


class _DrawingPage:
    """The page in which Kaleido draws: our library and scripts, and no network."""

    def generate_index(self) -> str:
        """As HTML; Kaleido's own script comes last."""
        from kaleido import PageGenerator

        scripts = [gzip.decompress(LIBRARY.read_bytes()).decode(), *map(asset, _SCRIPTS)]
        return f"{_HEAD}{''.join(f'<script>{text}</script>' for text in scripts)}{PageGenerator.footer}"


async def _drawn(browser: Any, caption: str, figure: Figure) -> _Drawing:
    [plain] = json.loads(as_json([figure]))
    facts = json.loads(await browser.calc_fig(plain, {"format": "json"}))
    # The drawing lies within the margins of its page.
    page = {side: pixels + _MARGINS for side, pixels in facts["size"].items()}
    pdf = await browser.calc_fig(plain, {"format": "pdf", **page})
    numbers = Grid(caption, facts["headings"], facts["rows"], facts["numeric"])
    return _Drawing(facts["svg"].encode(), _MOMENT.sub(_EPOCH, pdf), as_csv(numbers).encode(errors="replace"))
