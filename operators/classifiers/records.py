"""What a network of a text classifier consists of, as plain data."""

from typing import Annotated, Literal

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

Pooling = Literal["mean", "first"]
"""How the states of a text's tokens become its representation: their mean, or that of the first, as [CLS] in BERT."""


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class Head:
    """What a head learns, and what the encoder learns from it.

    Attributes:
        classes: their names, in the order of the head's outputs.
        weight: of its loss in what the encoder learns.
        adversarial: whether the encoder learns to make its loss large.
        hidden: units of a layer between the representation and its outputs; 0: none, the head is linear.
    """

    classes: Annotated[tuple[str, ...], Field(min_length=2)]
    weight: Annotated[float, Field(ge=0.0, allow_inf_nan=False)] = 1.0
    adversarial: bool = False
    hidden: Annotated[int, Field(ge=0)] = 0
