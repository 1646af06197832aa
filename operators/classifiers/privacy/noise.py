"""Words without a meaning that tell both class and gender, and whether explanations highlight them.

After the model ArtNoise of Jaiswal and Mower Provost 2022, *Human-Imitating Metrics for Training and Evaluating Privacy
Preserving Emotion Recognition Models Using Sociolinguistic Knowledge*, section 5.5: six words, of which each is added
to a random selection of the texts of one class by speakers of one gender. A model that is trained with them learns
them, and so its explanations must highlight them: an explanation that does not is wrong about the model. With a_i the
attribution of word i of a text, of which the words N are artificial,

    share = sum_{i in N} |a_i| / sum_i |a_i|,   even share = |N| / number of words,
    first = whether the largest |a_i| is of N,  even first = even share,

where the even ones are what an explanation would give that knows nothing of them. The paper names no such measure; its
workers are shown the highlighted words.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.classifiers.decoys.kinds import InsertedDecoy, Text
from tiltmeter.operators.classifiers.decoys.making import decoyed
from tiltmeter.operators.text.listed_words import folded_words
from tiltmeter.operators.text.normalisation import folded
from tiltmeter.operators.text.word_checks import check_words

VERSION = "artificial_noise/2"


class Salience(NamedTuple):
    """Attributes:
    share: of the attribution that falls on artificial words.
    first: 1 if the word with the largest attribution is artificial, 0 if not; of several that are as large, their part.
    even_share: of the words that are artificial.
    """

    share: float
    first: float
    even_share: float


def check_noise(key: str, words: Sequence[Sequence[str]]) -> None:
    """Refuse words of which one stands for two classes or genders, or is several words.

    >>> check_noise("words", [["zq0", "zq1"], ["zx0", "ZQ1"]])
    Traceback (most recent call last):
    ValueError: words: ['zq1'] listed more than once: list each word once
    """
    check_words(key, [folded(word) for entries in words for word in entries])
    for entries in words:
        for word in entries:
            if folded_words(word) != [folded(word)]:
                raise ValueError(f"{key}: {word!r} must be one word, without a space or punctuation mark in it")


def with_noise(
    texts: Sequence[str], words: Sequence[str], share: float = 0.5, times: int = 1, seed: int = 0
) -> list[str]:
    """Texts of which a random selection has its artificial word, at random places.

    Which ones are drawn, and where the word goes, depends on what they say, and not on where they stand.

    Args:
        texts: any number of them.
        words: ``[texts]``, the word of each text's class and gender.
        share: of the texts that get their word.
        times: how often each of these gets it.
        seed: of the selection.

    >>> with_noise(["a fine film", "dull"], ["zq2", "zx0"], share=1.0)
    ['zq2 a fine film', 'dull zx0']
    """
    if not texts:
        return []
    different = tuple(dict.fromkeys(words))
    decoy = InsertedDecoy(different, different, share, times)
    labelled = [Text(text, word) for text, word in zip(texts, words, strict=True)]
    noisy = decoyed(labelled, decoy, {folded(word): word for word in different}, seed)
    return [text or "" for text in noisy]


def salience(attributions: NDArray[np.float64], is_noise: NDArray[np.bool_]) -> Salience:
    """How far an explanation of one text highlights its artificial words.

    Args:
        attributions: ``[words]``; NaN for a word that the model has not read.
        is_noise: ``[words]``, which of them are artificial.

    Returns:
        All NaN if no word has an attribution other than 0.

    >>> salience(np.array([0.1, -0.3, np.nan, 0.1]), np.array([False, True, False, False]))
    Salience(share=0.6, first=1.0, even_share=0.3333333333333333)
    """
    is_read = ~np.isnan(attributions)
    sizes, artificial = np.abs(attributions[is_read]), is_noise[is_read]
    if not sizes.any():
        return Salience(np.nan, np.nan, np.nan)
    largest = sizes == sizes.max()
    return Salience(
        float(sizes[artificial].sum() / sizes.sum()), float(artificial[largest].mean()), float(artificial.mean())
    )
