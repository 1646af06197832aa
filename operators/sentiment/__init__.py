"""How sentiment systems depend on gender and race (Lakkaraju et al. 2023), and systems to try it on.

rate                  ranks and ratings of systems from their scores of one data set, in one call: :class:`Ratings`
weighted_rejections   how often tests find that scores differ between protected values
deconfounding_impact  what deconfounding does to the mean score of each emotion
partial_order         ranks of systems by their raw scores
complete_order        levels of them
make_sentences        sentences of persons and emotions from templates, of a :class:`.templates.SyntheticSentences`
lost_words            protected words that a translation has lost
vader_scores          scores by VADER's lexicon
textblob_scores       scores by TextBlob's

>>> scores = [[0.1, 0.2, 0.1, 0.2], [0.9, 0.8, -0.9, -0.8]]  # [systems, texts]
>>> rate(scores, ["she", "she", "he", "he"], num_levels=2).levels
array([1, 2])
"""

from tiltmeter.operators.sentiment.deconfounding import deconfounding_impact
from tiltmeter.operators.sentiment.lexicons import textblob_scores, vader_scores
from tiltmeter.operators.sentiment.protected_words import lost_words
from tiltmeter.operators.sentiment.ranking import complete_order, partial_order
from tiltmeter.operators.sentiment.ratings import Ratings, rate
from tiltmeter.operators.sentiment.rejection import weighted_rejections
from tiltmeter.operators.sentiment.sentences import make_sentences

__all__ = [
    "Ratings",
    "complete_order",
    "deconfounding_impact",
    "lost_words",
    "make_sentences",
    "partial_order",
    "rate",
    "textblob_scores",
    "vader_scores",
    "weighted_rejections",
]
