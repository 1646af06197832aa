"""The tables of the papers' figures in the docs are those that come out."""

import importlib

import pytest

from benchmarks.papers.__main__ import PAPERS
from benchmarks.papers.figures import compared, markdown, table_in

RECORDED = ("private_vectors",)
"""Papers whose figures are kept in a file, and take no time."""


@pytest.mark.timeout(3600)
@pytest.mark.parametrize(
    "name", [name if name in RECORDED else pytest.param(name, marks=pytest.mark.slow) for name in PAPERS]
)
def test_the_table_of_a_paper_is_what_comes_out(name, data_file):
    paper = importlib.import_module(f"benchmarks.papers.{name}")
    for needed in paper.DATA_FILES:
        data_file(needed)
    assert table_in(paper.PAGE, name) == markdown(paper.figures())


@pytest.mark.parametrize("name", PAPERS)
def test_every_paper_has_its_table(name):
    paper = importlib.import_module(f"benchmarks.papers.{name}")
    assert table_in(paper.PAGE, name).count("\n") > 2


def test_a_figure_is_the_same_in_the_digits_that_are_printed():
    assert compared("table 1", "F1", 0.95, 0.9512, digits=2).verdict == "same"
    assert compared("table 1", "F1", 0.953, 0.9512, digits=3, otherwise="another split").verdict == "another split"
