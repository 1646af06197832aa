"""Tokens that are hidden to see what a prediction rests on (DeYoung et al. 2020, *ERASER*, section 4).

Comprehensiveness is the fall of a probability where the tokens of an explanation are hidden; sufficiency, where all
others are. Hiding anything may lower a probability, so as many tokens that are drawn are hidden beside.
"""

from collections.abc import Sequence
from typing import NamedTuple

from tiltmeter.operators.compute.generators import keyed_generator
from tiltmeter.operators.compute.philox import Stream
from tiltmeter.operators.relations.instances import Instance

VERSION = "relation_masking/1"

_DRAWN = 1 << 32
"""Of what is drawn for studies: beside the parts of made-up data."""


class Masked(NamedTuple):
    """Places of tokens that are hidden: those named, as many drawn, and all others but the arguments."""

    named: tuple[int, ...]
    drawn: tuple[int, ...]
    others: tuple[int, ...]


def masked_tokens(instance: Instance, named: Sequence[int], seed: int) -> Masked:
    """What is hidden of an instance.

    Args:
        named: tokens of the explanation, none of them in an argument.
        seed: of the draw, which depends on the instance's number beside.
    """
    arguments = {place for span in (instance.subject, instance.object) for place in range(*span)}
    outside = [place for place in range(len(instance.sentence.tokens)) if place not in arguments]
    order = keyed_generator(seed, Stream.RELATION_STUDY, _DRAWN, instance.row).permutation(len(outside))
    drawn = sorted(outside[place] for place in order[: len(named)].tolist())
    others = [place for place in outside if place not in set(named)]
    return Masked(tuple(named), tuple(drawn), tuple(others))
