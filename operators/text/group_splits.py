"""Division of texts into parts that share no group, such as a speaker, each with groups of every stratum."""

from collections import Counter
from collections.abc import Mapping, Sequence

from tiltmeter.operators.compute.keys import document_key

VERSION = "group_splits/1"


def split_groups(
    groups: Sequence[str], strata: Sequence[str], shares: Mapping[str, float], seed: int
) -> dict[str, str]:
    """The part of each group.

    Within a stratum, groups come in an order that depends on the seed and their names alone; each goes to the part that
    lacks most of its share of the stratum's texts. The last ones go to parts that have none yet.

    Args:
        groups: ``[texts]``, the group of each.
        strata: ``[texts]``, the stratum of each; all texts of a group are of one.
        shares: of the texts that each part should have; they add up to 1.
        seed: of the order.

    Raises:
        ValueError: if a stratum has fewer groups than there are parts, or a group is of two strata.

    >>> result = split_groups(["a", "b", "c", "d"], ["x", "x", "y", "y"], {"training": 0.5, "test": 0.5}, seed=0)
    >>> sorted(result.items())
    [('a', 'training'), ('b', 'test'), ('c', 'test'), ('d', 'training')]
    """
    sizes = Counter(zip(strata, groups, strict=True))
    parts: dict[str, str] = {}
    for stratum in sorted(set(strata)):
        members = {group: num for (other, group), num in sizes.items() if other == stratum}
        if twice := sorted(members.keys() & parts.keys()):
            raise ValueError(f"the group {twice[0]!r} is of two strata, {stratum!r} among them: each must be of one")
        parts |= _split(stratum, members, shares, seed)
    return parts


def _split(stratum: str, sizes: Mapping[str, int], shares: Mapping[str, float], seed: int) -> dict[str, str]:
    if len(sizes) < len(shares):
        raise ValueError(
            f"{len(sizes)} groups of {stratum!r}: must be at least {len(shares)}, one for each of {', '.join(shares)}"
        )
    missing = {part: share * sum(sizes.values()) for part, share in shares.items()}
    order = sorted(sizes, key=lambda group: (document_key(f"{seed}\n{group}"), group))
    parts: dict[str, str] = {}
    for number, group in enumerate(order):
        empty = [part for part in shares if part not in parts.values()]
        open_parts = empty if len(empty) == len(order) - number else list(shares)
        parts[group] = max(open_parts, key=lambda part: missing[part])
        missing[parts[group]] -= sizes[group]
    return parts
