"""Logarithms and exponentials of one's own: near those of numpy, and the same bits with any instructions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fixtures.processors import printed_on_each
from tiltmeter.operators.compute.elementary import exponential, logarithm

UNITS = 3
"""In the last place, of which numpy's own functions may be wrong by one."""


def assert_near(found, wanted):
    assert (np.abs(found - wanted) <= UNITS * np.spacing(np.abs(wanted))).all()


@given(st.lists(st.floats(5e-324, 1.7e308), min_size=1))
def test_logarithms_are_near_those_of_numpy(values):
    assert_near(logarithm(np.array(values)), np.log(values))


@given(st.lists(st.floats(-745.0, 709.0), min_size=1))
def test_exponentials_are_near_those_of_numpy(values):
    assert_near(exponential(np.array(values)), np.exp(values))


def test_values_by_hand_and_shapes():
    assert logarithm(np.array([[1.0], [0.5]])).tolist() == [[0.0], [-0.6931471805599453]]
    assert exponential(np.array([[0.0], [-800.0]])).tolist() == [[1.0], [0.0]]
    assert logarithm(np.nextafter([1.0, 1.0], [0.0, 2.0])).tolist() == [-(2.0**-53), 2.0**-52]


DIGEST = """
import hashlib
import numpy as np
from tiltmeter.operators.compute.elementary import exponential, logarithm

exponents = np.random.default_rng(0).uniform(-700.0, 700.0, 100_000)
print(*(hashlib.md5(found.tobytes()).hexdigest() for found in (exponential(exponents), logarithm(np.exp2(exponents)))))
"""


@pytest.mark.long
def test_bits_do_not_depend_on_instructions(tmp_path):
    """Of 64-bit numbers: rounded to 32 bits, as training takes them, hardly any difference would be seen."""
    found = printed_on_each(DIGEST, tmp_path)
    assert len({tuple(digests) for digests in found.values()}) == 1
