"""Colours differ for colour-blind readers too, and stand out from the paper."""

import re
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from tiltmeter.jobs.report.plots import style as figures
from tiltmeter.jobs.report.plots.heat import MIDDLE
from tiltmeter.jobs.resolution import figures as resolution_figures
from tiltmeter.jobs.sentiment.rating import page_figures as rating_figures

STYLE = (Path(figures.__file__).parents[1] / "html/page.css").read_text(encoding="utf-8")
PAPER, TINT = (re.search(rf"--{name}: (#\w+)", STYLE).group(1) for name in ("paper", "tint"))
PALETTE = [figures.FEMALE, figures.MALE, figures.NEUTRAL, figures.INK, figures.FIRST, figures.SECOND]

# Machado, Oliveira and Fernandes 2009, severity 1.0; they apply to linear RGB.
SIGHTS = {
    "usual": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
}
XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)
WHITE = XYZ.sum(axis=1)


def linear(colour):
    channels = np.array([int(colour[at : at + 2], 16) for at in (1, 3, 5)]) / 255
    return np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)


def lab(channels):
    """CIELAB under D65, of linear RGB."""
    ratios = XYZ @ np.clip(channels, 0, 1) / WHITE
    x, y, z = np.where(ratios > (6 / 29) ** 3, np.cbrt(ratios), ratios * (29 / 6) ** 2 / 3 + 4 / 29)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def distance(one, other, sight):
    """How different two colours look; about 2 can just be told apart side by side."""
    return np.linalg.norm(lab(sight @ linear(one)) - lab(sight @ linear(other)))


def contrast(one, other):
    """As WCAG 2 defines it."""
    low, high = sorted((XYZ @ linear(colour))[1] for colour in (one, other))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("sight", SIGHTS)
def test_any_two_colours_of_a_series_differ(sight):
    distances = {pair: distance(*pair, SIGHTS[sight]) for pair in combinations(PALETTE, 2)}
    assert min(distances.values()) > 25, min(distances, key=distances.get)
    assert set(resolution_figures._COLOURS) | {look.colour for look in figures.LOOKS} <= set(PALETTE)


@pytest.mark.parametrize("sight", SIGHTS)
def test_the_sides_of_a_diverging_map_differ_from_each_other_and_from_its_middle_and_ratings_darken(sight):
    for ends in ((figures.MALE, figures.FEMALE), (figures.SECOND, figures.FIRST)):
        below, above = ends
        assert distance(below, above, SIGHTS[sight]) > 20
        assert min(distance(end, MIDDLE, SIGHTS[sight]) for end in ends) > 10
    first, second, third = (lab(SIGHTS[sight] @ linear(colour))[0] for colour in rating_figures.DARKENING)
    assert first > second + 15 > third + 30


def test_marks_and_letters_stand_out_from_the_paper():
    assert min(contrast(colour, PAPER) for colour in PALETTE) > 3
    assert min(contrast(colour, PAPER) for colour in [*figures.TEXT.values(), figures.INK]) > 4.5
    letters = [re.search(rf"--{name}: (#\w+)", STYLE).group(1) for name in ("ink", "soft", "warn", "focus")]
    assert min(contrast(colour, ground) for colour in letters for ground in (PAPER, TINT)) > 4.5
