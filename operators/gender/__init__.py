"""The gender direction of an embedding, and bias along it (Bolukbasi et al. 2016; Matthews et al. 2021).

gender_bias        gender direction of pairs and direct bias of words along it, in one call: a :class:`GenderBias`
gender_direction   first principal component of definitional pairs, and how well it stands for gender
projection         cosine of words with the direction
direct_bias        mean size of these cosines
without_each_pair  what becomes of both when a pair is left out
count_weights      bias of a profession with several forms, weighted by how often each occurs
form_weights       the same, every form weighted equally
gender_weights     the same, every gender weighted equally
compare_sets       t-test of the biases of one set of professions against those of another

>>> import numpy as np
>>> she, he = np.array([[2.0, 1.0]]), np.array([[-2.0, 1.0]])
>>> gender_bias(she, he, words=np.array([[3.0, 4.0], [-4.0, 3.0]])).biases.round(2)
array([ 0.6, -0.8])
"""

from tiltmeter.operators.embedding.direction import gender_direction, projection
from tiltmeter.operators.gender.bias import GenderBias, gender_bias
from tiltmeter.operators.gender.direction import direct_bias, without_each_pair
from tiltmeter.operators.gender.professions import count_weights, form_weights, gender_weights
from tiltmeter.operators.gender.sets import compare_sets

__all__ = [
    "GenderBias",
    "compare_sets",
    "count_weights",
    "direct_bias",
    "form_weights",
    "gender_bias",
    "gender_direction",
    "gender_weights",
    "projection",
    "without_each_pair",
]
