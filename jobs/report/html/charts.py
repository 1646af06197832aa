"""Plotly's figures and plotly itself as text that is small inside a page."""

import base64
import gzip
import json
import math
from collections.abc import Iterable
from functools import cache
from typing import Any

import numpy as np
import plotly.graph_objects as go
from plotly.offline import get_plotlyjs

_DIGITS = 5
"""Of the numbers of a figure: one part in ten thousand of an axis is less than a pixel, even of an enlarged one."""


def packed(text: str) -> str:
    """Text as gzip in base64, which a browser unpacks; the same text gives the same result.

    >>> gzip.decompress(base64.b64decode(packed("dots"))).decode()
    'dots'
    """
    return base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode("ascii")


@cache
def plotly() -> str:
    """The library that draws figures, packed."""
    return packed(get_plotlyjs())


def as_json(figures: Iterable[go.Figure]) -> str:
    """Figures as a JSON list, whose numbers have the digits that can be seen.

    >>> as_json([go.Figure(go.Scatter(x=np.array([1.0, np.nan]), y=[1 / 3, 2]))])[:61]
    '[{"data":[{"x":[1.0,null],"y":[0.33333,2],"type":"scatter"}],'
    """
    shown = [{name: _plain(part) for name, part in figure.to_plotly_json().items()} for figure in figures]
    return json.dumps(shown, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def _plain(value: Any) -> Any:
    if isinstance(value, dict) and "bdata" in value:
        return _plain(_decoded(**value))
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [_plain(part) for part in value]
    if isinstance(value, float):
        return float(f"{value:.{_DIGITS}g}") if math.isfinite(value) else None
    return value


def _decoded(dtype: str, bdata: str, shape: str = "-1") -> list[Any]:
    """The numbers of an array as plotly writes it: its bytes in base64."""
    numbers = np.frombuffer(base64.b64decode(bdata), dtype)
    nested: list[Any] = numbers.reshape([int(length) for length in shape.split(",")]).tolist()
    return nested
