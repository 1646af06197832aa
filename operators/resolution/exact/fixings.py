"""What is known of pairs of nodes in a clique partitioning problem: together, apart, and all that follows from it."""

from typing import NamedTuple

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from tiltmeter.operators.compute.arrays import BoolArray

VERSION = "fixings/1"


class Fixings(NamedTuple):
    """Pairs that share a part, and pairs that do not, in all partitions that are looked at.

    Attributes:
        together: ``[nodes, nodes]``, an equivalence.
        apart: ``[nodes, nodes]``, symmetric, the same for nodes that are together.
    """

    together: BoolArray
    apart: BoolArray

    @property
    def free(self) -> BoolArray:
        return ~(self.together | self.apart)


def closed(together: BoolArray, apart: BoolArray) -> Fixings | None:
    """The transitive closure: a node is apart from whomever one that it is together with is apart from.

    Args:
        together, apart: ``[nodes, nodes]``, true for a pair in either order.

    Returns:
        None if a pair would be both.

    >>> together, apart = np.zeros((2, 3, 3), dtype=bool)
    >>> together[0, 1] = apart[1, 2] = True
    >>> closed(together, apart).apart.astype(int)
    array([[0, 0, 1],
           [0, 0, 1],
           [1, 1, 0]])
    """
    num_groups, group = connected_components(coo_array(together), directed=False)
    groups_apart = np.zeros((num_groups, num_groups), dtype=np.bool_)
    left, right = np.nonzero(apart)
    groups_apart[group[left], group[right]] = True
    groups_apart |= groups_apart.T
    if groups_apart.diagonal().any():
        return None
    return Fixings(group[:, np.newaxis] == group, groups_apart[np.ix_(group, group)])
