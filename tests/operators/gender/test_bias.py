import numpy as np
import pytest

from tiltmeter.operators.gender import direct_bias, gender_bias, gender_direction, projection


def test_all_is_what_the_functions_give_one_by_one():
    rng = np.random.default_rng(0)
    female, male, words = (rng.normal(size=(3, num, 5)) for num in (4, 4, 6))
    words[1, 2] = np.nan
    result, direction = gender_bias(female, male, words, exponent=2.0), gender_direction(female, male)
    assert np.array_equal(result.direction.direction, direction.direction)
    assert np.array_equal(result.biases, projection(words, direction.direction), equal_nan=True)
    assert np.array_equal(result.direct_bias, direct_bias(words, direction.direction, 2.0))
    alone = gender_bias(female[1], male[1], words[1], 2.0)
    assert alone.direct_bias == result.direct_bias[1]
    assert np.array_equal(alone.biases, result.biases[1], equal_nan=True)
    assert alone.direction.num_pairs == 4
    with pytest.raises(ValueError, match="at least one pair"):
        gender_bias(female[1], male[1, :3], words[1])
