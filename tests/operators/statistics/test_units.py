import numpy as np
import pytest

from tiltmeter.operators.statistics.units import Units, each, kish, units_of


def test_items_without_a_name_are_units_of_their_own_whatever_others_are_called():
    units = units_of([None, "item", None, 0, "item", 2], "speaker")
    assert units.codes.tolist() == [0, 1, 2, 3, 1, 4]
    assert (units.num, units.kind) == (5, "speaker")


def test_a_part_keeps_who_belongs_together():
    units = units_of(["a", "b", "a", "c", "b"], "speaker")
    part = units.part(np.array([4, 0, 1]))
    assert part.codes.tolist() == [1, 0, 1]
    assert part.num == 2
    assert units.part(np.zeros(5, dtype=bool)).num == 0


def test_sums_of_several_series():
    units = units_of(np.array([7, 7, 3]), "document")
    assert units.sums(np.array([[1.0, 2.0, 4.0], [0.0, 1.0, 1.0]])).tolist() == [[4.0, 3.0], [1.0, 1.0]]
    assert units.sizes.tolist() == [1, 2]


@pytest.mark.parametrize(("sizes", "effective"), [([5, 5, 5], 3.0), ([3, 1], 1.6), ([], 0.0)])
def test_kish(sizes, effective):
    assert kish(np.array(sizes)) == pytest.approx(effective)


def test_each_says_it_aloud():
    assert each(3, "text") == Units(pytest.approx(np.arange(3)), 3, "text")
    with pytest.raises(TypeError):
        each(3)
