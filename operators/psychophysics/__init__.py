"""Forced choice with bootstrap replicas as the observers (Liang and Acuna 2020).

psychometrics     points of subjective equality and just noticeable differences of words between two cues, with
                  intervals, from vectors: :class:`Psychometrics`
psychometrics_of  the same from flips
flip_points       the mixture of two cues at which each replica changes its answer
response_curve    share of the replicas that answer with the second cue at each mixture
moments           PSE and JND from mean and standard deviation of the flips
curve             those read off the response curve
fitted            those of a cumulative normal or logistic curve that is fitted to it
pooled            mean PSE of words over several pairs of cues (mixed model)

>>> import numpy as np
>>> cook = np.array([[[3.0, 1.0]], [[2.0, 1.0]], [[2.5, 1.0]]])  # [replicas, words, dims]
>>> she, he = np.tile([1.0, 0.0], (3, 1)), np.tile([0.0, 1.0], (3, 1))
>>> psychometrics(cook, she, he).pse.round(2)
array([0.77])
"""

from tiltmeter.operators.psychophysics.experiment import psychometrics
from tiltmeter.operators.psychophysics.fitting import fitted
from tiltmeter.operators.psychophysics.forced_choice import curve, flip_points, moments, response_curve
from tiltmeter.operators.psychophysics.pooling import pooled
from tiltmeter.operators.psychophysics.resamples import Psychometrics, psychometrics_of

__all__ = [
    "Psychometrics",
    "curve",
    "fitted",
    "flip_points",
    "moments",
    "pooled",
    "psychometrics",
    "psychometrics_of",
    "response_curve",
]
