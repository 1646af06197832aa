"""Figures of the psychophysics: occupations without a fit, and words with tags."""

import polars as pl
import pytest

from tests.fixtures.figures import drawn
from tiltmeter.jobs.psychophysics.figures import (
    occupation_dots,
    pse_and_women,
    psychometric_curves,
)
from tiltmeter.jobs.report.html.elements import Chart


@pytest.fixture
def rows(embeddings):
    """The first cue pair."""
    return embeddings.psychometrics().head(5)


def test_an_occupation_without_a_fit_shows_its_steps_alone(embeddings, rows):
    without = rows.head(1).with_columns(pl.lit(None, pl.Float64).alias("jnd_fit"))
    (steps,) = drawn(psychometric_curves(without, embeddings.points(rows))).data
    assert steps.name == "guard: no fit"


def test_every_word_is_escaped_for_plotly_which_reads_tags(embeddings, rows):
    dots, scatter = drawn(occupation_dots(rows)), drawn(pse_and_women(rows)).data[-1]
    curves = drawn(psychometric_curves(rows, embeddings.points(rows)))
    shown = [dots.layout.yaxis.ticktext[-1], scatter.text[-1], curves.data[-2].name.split(":")[0]]
    assert shown == ["&lt;b&gt;&amp;"] * 3
    assert scatter.customdata[-1].startswith(
        "<b>&lt;b&gt;&amp;</b><br>PSE 0.700 [0.550, 0.850]<br>Monte Carlo interval [0.670, 0.730]<br>"
    )


def test_a_script_in_a_word_does_not_end_the_data_of_a_figure(embeddings):
    words = {"</script><script>alert(1)</script>": 10.0} | embeddings.SHARES
    figure = occupation_dots(embeddings.psychometrics(words=words).head(6))
    assert "<" not in Chart("", "", {"x": figure}).data
