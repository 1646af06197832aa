"""Types of arrays that many operators take and give."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
IndexArray = NDArray[np.signedinteger]
"""Places of something in something else: where there are millions of them, in 32 bits each."""
BoolArray = NDArray[np.bool_]
LossArray = NDArray[Any]
"""What a model gets wrong: truth values, or losses as numbers."""
