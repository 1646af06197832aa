"""Words of a small classifier: never the characters of a script that writes no spaces."""

import pytest

from tiltmeter.operators.classifiers.small import SmallEncoderConfig, Vocabulary


@pytest.mark.parametrize("text", ["她是一名护士。", "彼女は看護師です。", "เธอเป็นพยาบาล"])
def test_a_script_without_spaces_gives_no_vocabulary_of_characters(text):
    config = SmallEncoderConfig(min_count=1)
    with pytest.raises(ValueError, match=r"\d\d% of the words .* single characters .* train a checkpoint"):
        Vocabulary.of([text, "A word"], config)
    assert "nurse" in Vocabulary.of([text, " ".join(100 * ["the nurse"])], config).words
    assert Vocabulary.of([], config).words == ()
