"""Words that the whole of `jobs` writes alike: on pages, on a terminal, in tables of changes."""

from collections.abc import Sequence


def plural(num: int, noun: str) -> str:
    """A number of things.

    >>> plural(1, "pair"), plural(1204, "pair"), plural(0, "near miss")
    ('1 pair', '1,204 pairs', '0 near misses')
    """
    ending = "" if num == 1 else "es" if noun.endswith("s") else "s"
    return f"{num:,} {noun}{ending}"


def listed(names: Sequence[str], last: str = "and") -> str:
    """Names as a sentence lists them.

    >>> listed(["a"]), listed(["a", "b", "c"]), listed(["a", "b"], "or"), listed([])
    ('a', 'a, b and c', 'a or b', '')
    """
    return f" {last} ".join([*([", ".join(names[:-1])] if names[1:] else []), *names[-1:]])
