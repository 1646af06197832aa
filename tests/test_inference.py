"""p-values, intervals and corrections are made in one place, `operators/statistics`, which is told the unit of each."""

import ast
import inspect
from functools import cache
from pathlib import Path

import pytest

import tiltmeter
from tiltmeter.operators.statistics import flips, means, units
from tiltmeter.operators.statistics.designs import groups

SOURCES = Path(tiltmeter.__file__).parent
TAILS = {
    *("bdtr", "betaincinv", "betaincc", "stdtr", "stdtrit", "ndtri", "nctdtrinc", "chdtrc", "fdtrc"),
    *("binom", "binomtest", "betabinom", "hypergeom", "norm", "t", "ttest_ind", "ttest_1samp", "ttest_rel"),
    *("fisher_exact", "mannwhitneyu", "ks_2samp", "kstest", "chi2_contingency", "permutation_test"),
}
"""What scipy has to make p-values and intervals of."""

ELSEWHERE = {
    "operators/association/sentences.py": "CEAT's p as published, by which nothing is inferred",
    "operators/classifiers/influence/calibration.py": "the normal law of a student's answers, which is what it fits",
    "operators/classifiers/influence/prediction_powered.py": "of these very words, drawn without replacement",
    "operators/embedding/private_release": "profiles of privacy, noise, and bounds that hold for them",
    "operators/psychophysics": "the psychometric function is a normal law",
    "operators/sentiment/posterior": "the probit link, and whether a sampler is exact",
}
"""Operators that take tails for what is no inference on data, and what for."""

OLD = {"clopper_pearson", "paired_t", "score_interval"}
"""Functions that are not told the unit."""


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def imported(path: Path) -> set[str]:
    """Names that a file takes from scipy, or that it asks scipy's modules for, and names from the statistics."""
    tree = parsed(path)
    froms = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module]
    names = {alias.name for node in froms for alias in node.names if node.module.startswith(("scipy.s", "scipy"))}
    modules = {alias.asname or alias.name for node in froms for alias in node.names if node.module == "scipy"}
    attributes = {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in modules
    }
    return names | attributes


def statistics_of(path: Path) -> set[str]:
    froms = [node for node in ast.walk(parsed(path)) if isinstance(node, ast.ImportFrom)]
    return {alias.name for node in froms for alias in node.names if "operators.statistics" in (node.module or "")}


def files(room: str) -> list[Path]:
    return sorted((SOURCES / room).rglob("*.py"))


def test_jobs_make_no_inference():
    tails = {str(path): found for path in files("jobs") if (found := imported(path) & TAILS)}
    assert tails == {}
    old = {str(path): found for path in files("jobs") if (found := statistics_of(path) & OLD)}
    assert old == {}


def test_operators_take_tails_from_the_statistics_but_for_what_is_no_inference():
    allowed = ("operators/statistics", *ELSEWHERE)
    found = {
        name: tails
        for path in files("operators")
        if (tails := imported(path) & TAILS) and not (name := path.relative_to(SOURCES).as_posix()).startswith(allowed)
    }
    assert found == {}


@pytest.mark.parametrize("place", ELSEWHERE)
def test_exceptions_are_needed(place):
    assert any(
        imported(path) & (TAILS | {"ndtr", "log_ndtr"})
        for path in files("operators")
        if path.relative_to(SOURCES).as_posix().startswith(place)
    )


@pytest.mark.parametrize(
    "function",
    [
        *(means.mean, means.paired, means.influenced, means.share, means.ratio, means.f1, means.f1_difference),
        *(means.judged_sample, flips.flips, groups.two_groups),
    ],
)
def test_the_unit_has_no_default(function):
    parameter = inspect.signature(function).parameters["units"]
    assert parameter.default is inspect.Parameter.empty


def test_the_kind_of_a_unit_is_said():
    for function in (units.each, units.units_of):
        assert inspect.signature(function).parameters["kind"].default is inspect.Parameter.empty
