import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tiltmeter.operators.compute.generators import keyed_bits, keyed_generator

words = st.integers(0, 2**64 - 1)


@given(words, st.integers(0, 20), st.lists(words, min_size=4, max_size=4))
def test_bits_are_numpys_of_the_key_and_the_counter(seed, stream, counter):
    number = sum(word << (64 * place) for place, word in enumerate(counter))
    reference = np.random.Philox(key=seed | stream << 64, counter=number)
    assert keyed_bits(seed, stream, counter).random_raw(4).tolist() == reference.random_raw(4).tolist()


@given(words, st.lists(words, max_size=3))
def test_keys_fill_the_counter_from_its_second_word_on(seed, key):
    counter = [0, *key, 0, 0, 0][:4]
    reference = np.random.Generator(keyed_bits(seed, 5, counter))
    assert keyed_generator(seed, 5, *key).random() == reference.random()
