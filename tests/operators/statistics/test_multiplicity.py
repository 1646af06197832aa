import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiltmeter.operators.statistics.multiplicity import benjamini_hochberg, holm, least_possible

P_VALUES = st.lists(st.floats(0, 1) | st.just(np.nan), max_size=12)


def holm_by_steps(p, alpha):
    """Rejections of the procedure as Holm gives it: step by step, until the first test that does not reject."""
    rejected = set()
    for step, test in enumerate(sorted(range(len(p)), key=p.__getitem__)):
        if p[test] > alpha / (len(p) - step):
            break
        rejected.add(test)
    return rejected


def benjamini_hochberg_by_steps(p, alpha):
    """Rejections of the procedure: up to the largest j with p_(j) <= j/m alpha."""
    order = sorted(range(len(p)), key=p.__getitem__)
    reached = [j for j, test in enumerate(order, 1) if p[test] <= j / len(p) * alpha]
    return set(order[: max(reached, default=0)])


def test_benjamini_and_hochbergs_own_example() -> None:
    # On a treatment of heart attacks: of fifteen tests theirs rejects four at 0.05, and Bonferroni's three.
    p = np.array([
        0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590,
        1.0,
    ])  # fmt: skip
    assert (benjamini_hochberg(p) <= 0.05).sum() == 4
    assert (holm(p) <= 0.05).sum() == 3
    assert benjamini_hochberg(p)[3] == pytest.approx(0.0095 * 15 / 4)


@pytest.mark.parametrize(
    ("adjust", "by_steps"), [(holm, holm_by_steps), (benjamini_hochberg, benjamini_hochberg_by_steps)]
)
@given(p=st.lists(st.integers(0, 1000), max_size=10), alpha=st.sampled_from([0.0503, 0.2007, 0.4001]))
def test_rejects_what_the_step_procedures_reject(adjust, by_steps, p, alpha) -> None:
    # No multiple of p = k / 1000 falls on such an alpha, where rounding would decide.
    p = np.array(p) / 1000
    assert set(np.flatnonzero(adjust(p) <= alpha).tolist()) == by_steps(p.tolist(), alpha)


@pytest.mark.parametrize("adjust", [holm, benjamini_hochberg])
def test_pairs_without_a_test_do_not_belong_to_the_family(adjust) -> None:
    with_gaps = adjust(np.array([np.nan, 0.01, np.nan, 0.2]))
    np.testing.assert_array_equal(with_gaps[[1, 3]], adjust(np.array([0.01, 0.2])))


@pytest.mark.parametrize(
    ("kind", "num", "least"), [("flips", 6, 2.0**-5), ("controls", 99, 1 / 100), ("flips", 1, 1.0)]
)
def test_the_least_p_is_that_of_holm_where_all_tests_have_it(kind, num, least):
    for num_tests in (1, 4, 200):
        assert least_possible(kind, num, num_tests) == pytest.approx(holm(np.full(num_tests, least))[0])


@pytest.mark.parametrize("adjust", [holm, benjamini_hochberg])
@pytest.mark.parametrize("wrong", [-0.1, 1.5])
def test_what_is_no_p_value_is_refused(adjust, wrong) -> None:
    with pytest.raises(ValueError, match=rf"p_values hold {wrong}: must lie in \[0, 1\]"):
        adjust(np.array([0.5, wrong]))
