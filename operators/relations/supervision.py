"""What a model is told of an instance: by rules alone, or by labels and rules."""

from collections import Counter
from collections.abc import Container, Sequence

import numpy as np

from tiltmeter.operators.compute.arrays import BoolArray
from tiltmeter.operators.relations.instances import NO_RELATION, Instance

VERSION = "rule_supervision/1"


def rule_relation(relations: Sequence[str]) -> str:
    """What most rules say that match an instance; of equals, the first in alphabetical order.

    >>> rule_relation(["b", "a", "b"]), rule_relation([])
    ('b', 'no_relation')
    """
    counts = Counter(relations)
    return min(counts, key=lambda name: (-counts[name], name), default=NO_RELATION)


def supervised_by_rules(
    instances: Sequence[Instance],
    sentences: Sequence[int],
    relations: Sequence[str],
    inverses: Container[str] | None = None,
) -> BoolArray:
    """Which instances a model learns from that knows no labels.

    Those of which rules say something, and all other pairs of the same sentences as instances of ``no_relation``:
    there, rules had the chance to say something. A pair of which rules speak in the other direction is left out, since
    many relations are symmetric, and others would be called something else that way round; with ``inverses``, only
    where rules speak of one of these relations.

    Args:
        sentences: number of each instance's sentence.
        relations: what rules say of each.
        inverses: relations that hold the other way too, as themselves or as another one; None: any may.

    Returns:
        ``[instances]``.
    """
    positive = [relation != NO_RELATION for relation in relations]
    spoken_of = {number for number, is_positive in zip(sentences, positive, strict=True) if is_positive}
    pairs = {
        (number, instance.object, instance.subject)
        for number, instance, relation in zip(sentences, instances, relations, strict=True)
        if relation != NO_RELATION and (inverses is None or relation in inverses)
    }
    return np.array(
        [
            is_positive or (number in spoken_of and (number, instance.subject, instance.object) not in pairs)
            for number, instance, is_positive in zip(sentences, instances, positive, strict=True)
        ],
        dtype=np.bool_,
    )
