"""Slices as conditions, and slices that were named beforehand, tested as one hypothesis each."""

import numpy as np
import polars as pl
import pytest
from scipy.stats import t as student

from tiltmeter.operators.classifiers.errors.examples import Examples
from tiltmeter.operators.classifiers.errors.slices.columns import holds, predicates_of_column, rows_of
from tiltmeter.operators.classifiers.errors.slices.confirmation import retested
from tiltmeter.operators.classifiers.errors.slices.predicates import Condition, Predicate, conditions_of
from tiltmeter.operators.statistics.units import each, units_of


def column(operator, value=None, part=None):
    return Condition("column", operator, "c", value, part)


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (column("=", "3"), "010000"),
        (column("<", 3.0), "100000"),
        (column("<=", 3), "110000"),
        (column(">", 3.0), "001000"),
        (column(">=", 3.0), "011000"),
        (column("missing"), "000001"),
        (column(">=", "2024-05-01", "day"), "000010"),
        (column("=", "Wednesday", "weekday"), "000010"),
        (column("=", "2024", "year"), "000010"),
        (column("=", "5", "month"), "000010"),
        (column("<", "2024-05-01", "day"), "000000"),
    ],
)
def test_conditions_hold_of_cells_that_say_something_they_can_be_asked(condition, expected):
    cells = pl.Series(["2.5", "3", "4", "a", "2024-05-01 10:00", None])
    assert "".join(str(int(one)) for one in holds(condition, cells)) == expected


WRONG = [
    *(
        ("column", operator, "c", value, None)
        for operator, value in (("=", 3.0), ("<", "x"), ("missing", "x"), (">", None))
    ),
    *(("column", operator, "c", value, part) for operator, value, part in (("<", 1.0, "year"), ("=", "x", "day"))),
    *(("feature", operator, "c", value, None) for operator, value in (("=", "x"), ("missing", None))),
    *(("prediction", operator, name, "x", None) for operator, name in (("=", "c"), ("<", ""))),
    *(("column", "=", "", "x", None), ("feature", ">", "c", 1.0, "day"), ("prediction", "=", "", "x", "year")),
    *(
        ("column", "<", "c", "2024-13-01", "day"),
        ("column", "<", "c", "nat", "day"),
        ("column", "missing", "c", None, "year"),
    ),
    *(("column", "<", "c", float(value), None) for value in ("nan", "inf")),
]


@pytest.mark.parametrize("fields", WRONG)
def test_conditions_that_say_nothing_are_refused(fields):
    with pytest.raises(ValueError, match=r"do not go together|Month|finite"):
        Condition(*fields)


def test_every_predicate_of_a_column_holds_of_the_same_rows_by_its_conditions():
    rng = np.random.default_rng(1)
    columns = {
        "age": pl.Series([*(str(age) for age in rng.uniform(0, 80, 199).round(1)), None]),
        "day": pl.Series([f"202{one}-0{1 + one}-1{one}" for one in rng.integers(0, 5, 200)]),
        "plan": pl.Series([f"p{one}" for one in rng.integers(0, 3, 200)]),
    }
    data = Examples(pl.DataFrame({"row": range(200)}), (), *2 * [np.zeros((200, 0))], (), columns)
    for name, cells in columns.items():
        edges = (30.0,) if name == "age" else ()
        made, _ = predicates_of_column(name, cells, np.arange(200) < 100, np.arange(200.0), edges)
        for predicate, members in zip(made.predicates, made.members, strict=True):
            assert rows_of(conditions_of(predicate), data).tolist() == members.tolist()
            assert members.any() or predicate.kind == "missing"
    both = [
        *conditions_of(Predicate("age", "interval", "", 30.0, column="age", high=np.inf)),
        *([Condition("column", "=", "plan", "p1")]),
    ]
    expected = [
        age is not None and float(age) >= 30 and plan == "p1"
        for age, plan in zip(columns["age"], columns["plan"], strict=True)
    ]
    assert rows_of(both, data).tolist() == expected


def drawn(seed, effect, num_groups=40, size=10):
    """Losses of groups, larger inside by an effect, in three strata of unlike means and shares of the slice."""
    rng = np.random.default_rng(seed)
    codes, strata = np.repeat(np.arange(num_groups), size), rng.integers(0, 3, num_groups * size)
    inside = rng.random(len(codes)) < np.array([0.1, 0.3, 0.5])[strata]
    losses = (
        2.0 * strata + 0.5 * rng.standard_normal(num_groups)[codes] + rng.standard_normal(len(codes)) + effect * inside
    )
    return inside, losses, strata, codes


@pytest.mark.parametrize("is_grouped", [False, True])
def test_a_slice_tested_again_has_the_coefficient_of_a_regression_and_the_interval_of_its_units(is_grouped):
    inside, losses, strata, codes = drawn(4, 0.4)
    units = units_of(codes, "group") if is_grouped else each(len(codes), "row")
    design = np.column_stack([inside, *(strata == one for one in range(3))]).astype(float)
    coefficients, *_ = np.linalg.lstsq(design, losses, rcond=None)
    made = retested(inside, losses, strata, units, 0.9)
    assert made.value == pytest.approx(coefficients[0])
    x = inside - np.array([inside[strata == one].mean() for one in range(3)])[strata]
    weights, scores = units.sums(x * x), units.sums(x * (losses - design @ coefficients))
    variance = (scores**2 / (1 - weights / weights.sum())).sum() / weights.sum() ** 2
    df = weights.sum() ** 2 / (weights**2).sum() - 1
    assert made.variance == pytest.approx(variance)
    reach = student.ppf(0.95, df) * variance**0.5
    assert (made.low, made.high) == pytest.approx((made.value - reach, made.value + reach))
    means = np.array([losses[strata == one].mean() for one in range(3)])[strata]
    sums = units.sums(x * (losses - means))
    assert made.p == pytest.approx(student.sf(sums.sum() / (sums.std(ddof=1) * units.num**0.5), df))


def test_of_one_stratum_it_is_the_difference_of_two_rates_and_a_whole_stratum_compares_with_nothing():
    inside, wrong = np.arange(40) < 10, np.arange(40) % 10 < np.where(np.arange(40) < 10, 6, 2)
    made = retested(inside, wrong, np.zeros(40, dtype=int), each(40, "text"), 0.95)
    assert made.value == pytest.approx(0.6 - 0.2)
    assert -1.0 <= made.low < 0.4 < made.high <= 1.0
    nothing = retested(inside, wrong, inside.astype(int), each(40, "text"), 0.95)
    assert np.isnan([nothing.value, nothing.low, nothing.p]).all()
    assert nothing.reason == 'there is too little to go by: 0 of the unit "text to compare", and 4 are needed'
    few = retested(inside, wrong, np.zeros(40, dtype=int), units_of(np.arange(40) // 14, "group"), 0.95)
    assert (few.value, np.isnan(few.p), few.status) == (made.value, True, "too_few_units")


def test_planted_effects_are_found_again_and_those_that_are_gone_are_not():
    """One-sided: of rows in groups an effect has p <= 5 %, no effect hardly ever, and one the other way p near 1."""
    p_values = {
        effect: [
            retested(inside, losses, strata, units_of(codes, "group"), 0.95).p
            for inside, losses, strata, codes in (drawn(seed, effect) for seed in range(100))
        ]
        for effect in (0.5, 0.0, -0.5)
    }
    shares = {effect: np.mean(np.array(values) <= 0.05) for effect, values in p_values.items()}
    assert shares[0.5] > 0.95
    assert shares[0.0] <= 0.1
    assert min(p_values[-0.5]) > 0.5
