"""What a text classifier learnt: attributions, and what they give away of the speaker.

transformers_classifier  a sequence classifier of transformers, as a :class:`TextClassifier`
attribute                what each word of a text adds to a decision, by the method of an :class:`AttributionConfig`
predict                  probabilities of the classes
emotion_privacy          what a private model no longer explains itself by of words that give the speaker away (EP)
emotion_generalization   how well the signs of an attribution agree with a lexicon of valence (EG)
swapped                  a text with words and their counterparts exchanged, from :func:`swaps`

Networks and their training are in :mod:`.classifiers.networks` and :mod:`.classifiers.training`, planted decoys in
:mod:`.classifiers.decoys`. Nothing here imports torch before it is used.

>>> import numpy as np
>>> general, private = np.array([0.6, -0.2, 0.2]), np.array([-0.1, 0.2, 0.4])
>>> emotion_privacy(general, private, is_listed=np.array([True, False, False])).ep
0.6
"""

from tiltmeter.operators.classifiers.attribution.attribute import (
    Attribution,
    attribute,
    predict,
    transformers_classifier,
)
from tiltmeter.operators.classifiers.attribution.records import AttributionConfig, TextClassifier
from tiltmeter.operators.classifiers.privacy.metrics import emotion_generalization, emotion_privacy
from tiltmeter.operators.classifiers.privacy.swaps import swapped, swaps

__all__ = [
    "Attribution",
    "AttributionConfig",
    "TextClassifier",
    "attribute",
    "emotion_generalization",
    "emotion_privacy",
    "predict",
    "swapped",
    "swaps",
    "transformers_classifier",
]
