"""Association tests of word embeddings (Caliskan et al. 2017), by any measure and any statistic.

weat          test of two sets of targets and two of attributes: effect size, p-value and scores, a :class:`WEAT`
associations  how much nearer words lie to attributes A than to attributes B
effect_size   how far apart the associations of two target sets lie, in standard deviations
weat_score    difference of the sums of their associations
wefat         each word's association in standard deviations of its own
precision     inverse covariance of word vectors, for the Mahalanobis distance
enlarged      an attribute set with its nearest neighbours, to estimate that from

>>> import numpy as np
>>> flowers, insects = np.array([[0.9, 0.1], [0.8, 0.3]]), np.array([[0.2, 0.9], [0.1, 0.7]])
>>> pleasant, unpleasant = np.array([[1.0, 0.2]]), np.array([[0.1, 1.0]])
>>> test = weat(flowers, insects, pleasant, unpleasant)
>>> test.effect_size.round(2), test.p_value.round(3)
(np.float64(1.72), np.float64(0.167))
"""

from tiltmeter.operators.association.covariance import enlarged, precision
from tiltmeter.operators.association.scores import associations, effect_size, weat_score, wefat
from tiltmeter.operators.association.word_sets import WEAT, weat

__all__ = ["WEAT", "associations", "effect_size", "enlarged", "precision", "weat", "weat_score", "wefat"]
