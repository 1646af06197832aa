"""Figures, and the library that draws them, as text that is small inside a page."""

import base64
import gzip
import json
import math
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from tiltmeter.jobs.report.plots.figure import Figure

LIBRARY = Path(__file__).with_name("plotly-cartesian-4.1.1.min.js.gz")
"""Plotly's own bundle of what needs two axes, as it is published (``plotly.js-cartesian-dist-min``), packed."""

_DIGITS = 5
"""Of the numbers of a figure: one part in ten thousand of an axis is less than a pixel, even of an enlarged one."""


def packed(text: str) -> str:
    """Text as its length and an LZ4 block in base64, which takes a page 20 lines to unpack.

    >>> pa.decompress(base64.b64decode(packed("dots"))[4:], 4, "lz4_raw", asbytes=True)
    b'dots'
    """
    content = text.encode()
    block = pa.Codec("lz4_raw", compression_level=9).compress(content, asbytes=True)
    return base64.b64encode(len(content).to_bytes(4, "little") + block).decode("ascii")


@cache
def library() -> str:
    """The library that draws figures, packed."""
    return packed(gzip.decompress(LIBRARY.read_bytes()).decode())


def as_json(figures: Iterable[Figure]) -> str:
    """Figures as a JSON list, whose numbers have the digits that can be seen.

    >>> as_json([Figure([{"x": np.array([1.0, np.nan]), "y": [1 / 3, 2]}], {})])
    '[{"data":[{"x":[1.0,null],"y":[0.33333,2]}],"layout":{}}]'
    """
    shown = [{"data": _plain(figure.data), "layout": _plain(figure.layout)} for figure in figures]
    return json.dumps(shown, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.{_DIGITS}g}") if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {name: _plain(part) for name, part in value.items()}
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, list | tuple | pl.Series):
        return [_plain(part) for part in value]
    return value
