"""A picture of texts and draws: the plane in which texts vary most.

Figure 6 of Liang and Acuna 2020 shows draws of a posterior along principal components. A sphere has none of its own,
so those of texts are taken, and texts are shown beside the draws.
"""

from typing import NamedTuple

import numpy as np

from tiltmeter.operators.compute.arrays import FloatArray


class Plane(NamedTuple):
    """Attributes:
    mean: ``[dimensions]``.
    axes: ``[2, dimensions]``, orthonormal.
    """

    mean: FloatArray
    axes: FloatArray

    def places(self, vectors: FloatArray) -> FloatArray:
        """``[vectors, 2]``, where vectors are projected to."""
        return np.asarray((vectors - self.mean) @ self.axes.T)


def principal_plane(vectors: FloatArray) -> Plane:
    """The plane through the mean in which vectors vary most: their first two principal components.

    The sign of each is such that its largest coordinate is positive, so that pictures of two runs can be compared.

    Args:
        vectors: ``[vectors, dimensions]``, at least two of each.

    >>> principal_plane(np.array([[0.0, -3.0, 0.0], [1.0, 0.0, 0.0], [0.0, 3.0, 0.0]])).axes.round(6) + 0.0
    array([[0., 1., 0.],
           [1., 0., 0.]])
    """
    mean = vectors.mean(axis=0)
    axes = np.linalg.svd(vectors - mean, full_matrices=False)[2][:2]
    axes *= np.sign(axes[:, np.abs(axes).argmax(axis=1)].diagonal())[:, np.newaxis]
    return Plane(mean, axes)
