"""What a text classifier learnt: attributions, and what they give away of the speaker.

transformers_classifier  a sequence classifier of transformers, as a :class:`TextClassifier`
attribute                what each word of a text adds to a decision, by the method of an :class:`AttributionConfig`
predict                  probabilities of the classes
explanation_privacy      share of an attribution that falls on words which give the speaker away (EP)
explanation_generality   share that falls on words of a lexicon with the right sign (EG)
swapped                  a text with words and their counterparts exchanged, from :func:`swaps`

Networks and their training are in :mod:`.classifiers.networks` and :mod:`.classifiers.training`, planted decoys in
:mod:`.classifiers.decoys`. Nothing here imports torch before it is used.

>>> import numpy as np
>>> explanation_privacy(np.array([0.6, -0.2, 0.2]), is_listed=np.array([True, False, False])).__round__(2)
0.6
"""

from tiltmeter.operators.classifiers.attribution.attribute import (
    Attribution,
    attribute,
    predict,
    transformers_classifier,
)
from tiltmeter.operators.classifiers.attribution.records import AttributionConfig, TextClassifier
from tiltmeter.operators.classifiers.privacy.metrics import explanation_generality, explanation_privacy
from tiltmeter.operators.classifiers.privacy.swaps import swapped, swaps

__all__ = [
    "Attribution",
    "AttributionConfig",
    "TextClassifier",
    "attribute",
    "explanation_generality",
    "explanation_privacy",
    "predict",
    "swapped",
    "swaps",
    "transformers_classifier",
]
