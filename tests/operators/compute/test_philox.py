import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tiltmeter.operators.compute.philox import philox, unit_interval

words = st.integers(0, 2**64 - 1)


@given(st.tuples(words, words), st.tuples(words, words, words, words))
def test_bits_are_those_of_numpy(key, counter):
    # numpy steps its counter before it draws.
    before = (sum(word << (64 * index) for index, word in enumerate(counter)) - 1) % 2**256
    reference = np.random.Philox(key=key[0] | key[1] << 64, counter=before)
    assert list(philox(*map(np.uint64, (*key, *counter)))) == list(reference.random_raw(4))


def test_unit_interval_has_its_ends_right():
    assert unit_interval(np.uint64(0)) == 0.0
    assert unit_interval(np.uint64(2**64 - 1)) == 1.0 - 2.0**-53
