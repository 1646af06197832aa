"""Entity resolution as clique partitioning, solved exactly and explained (Vadrevu et al. 2021).

partition          clusters from scored pairs, with their objective and a bound, in one call: a :class:`Partition`
weights_of         weights from match probabilities
train_scorer       what agreements of records mean, from labelled pairs, for a :class:`Scorer`
score_pairs        match probabilities of the pairs of records that blocking rules propose
partition_metrics  precision, recall and more against true clusters
Problem            the pairs of a graph, for what follows
merges             what holds each cluster together
near_misses        what kept records out of clusters

>>> import numpy as np
>>> clusters = partition(["ann", "ann", "bea"], ["anne", "bea", "anne"], weights_of(np.array([0.9, 0.1, 0.2])))
>>> clusters.records.tolist(), clusters.clusters.tolist(), clusters.status
(['ann', 'anne', 'bea'], [0, 0, 1], 'proven')
"""

from tiltmeter.operators.resolution.clustering import Partition, partition
from tiltmeter.operators.resolution.explanations import merges, near_misses
from tiltmeter.operators.resolution.pairs import weights_of
from tiltmeter.operators.resolution.problem import Problem
from tiltmeter.operators.resolution.quality.metrics import partition_metrics
from tiltmeter.operators.resolution.records.scorer import Scorer
from tiltmeter.operators.resolution.records.scoring import score_pairs, train_scorer

__all__ = [
    "Partition",
    "Problem",
    "Scorer",
    "merges",
    "near_misses",
    "partition",
    "partition_metrics",
    "score_pairs",
    "train_scorer",
    "weights_of",
]
