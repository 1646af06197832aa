"""Words that the whole of `jobs` writes alike: on pages, on a terminal, in tables of changes."""


def plural(num: int, noun: str) -> str:
    """A number of things.

    >>> plural(1, "pair"), plural(1204, "pair"), plural(0, "near miss")
    ('1 pair', '1,204 pairs', '0 near misses')
    """
    ending = "" if num == 1 else "es" if noun.endswith("s") else "s"
    return f"{num:,} {noun}{ending}"
