"""Word vectors, bootstrapped: resampled counts, GloVe, encoders, and how near vectors lie to each other.

cosine               cosine similarity
pairwise             four measures between words and attributes
unit_vectors         vectors of length 1
line_multiplicities  how often each line of a corpus counts in each bootstrap replica
count_pairs          co-occurrences of all replicas, by a :class:`CooccurrenceConfig`
GloveTraining        vectors from these, by a :class:`GloveConfig`
encode_words         vectors of words from a model of transformers, by an :class:`EncoderConfig`

Word2vec and fastText are in :mod:`.embedding.word2vec` and :mod:`.embedding.fasttext`.

>>> import numpy as np
>>> cosine(np.array([[1.0, 0.0], [1.0, 1.0]]), np.array([0.0, 2.0])).round(2)
array([0.  , 0.71])
"""

from tiltmeter.operators.embedding.bootstrap import line_multiplicities
from tiltmeter.operators.embedding.cooccurrence import CooccurrenceConfig, count_pairs
from tiltmeter.operators.embedding.encoders.words import EncoderConfig, encode_words
from tiltmeter.operators.embedding.glove import GloveConfig, GloveTraining
from tiltmeter.operators.embedding.similarity import cosine, pairwise, unit_vectors

__all__ = [
    "CooccurrenceConfig",
    "EncoderConfig",
    "GloveConfig",
    "GloveTraining",
    "cosine",
    "count_pairs",
    "encode_words",
    "line_multiplicities",
    "pairwise",
    "unit_vectors",
]
