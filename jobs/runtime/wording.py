"""Words that the whole of `jobs` writes alike: on pages, on a terminal, in tables of changes."""

from collections.abc import Sequence

_VERBS = {"be": ("is", "are"), "have": ("has", "have"), "do": ("does", "do"), "go": ("goes", "go")}
"""Of one and of any other number of things; the others take an s."""


def plural(num: int, noun: str) -> str:
    """A number of things.

    >>> plural(1, "pair"), plural(1204, "pair"), plural(0, "near miss")
    ('1 pair', '1,204 pairs', '0 near misses')
    """
    return f"{num:,} {noun if num == 1 else plural_form(noun)}"


def listed(names: Sequence[str], last: str = "and") -> str:
    """Names as a sentence lists them.

    >>> listed(["a"]), listed(["a", "b", "c"]), listed(["a", "b"], "or"), listed([])
    ('a', 'a, b and c', 'a or b', '')
    """
    return f" {last} ".join([*([", ".join(names[:-1])] if names[1:] else []), *names[-1:]])


def plural_form(noun: str) -> str:
    """A noun for any number of things but one.

    >>> plural_form("bias"), plural_form("effect size")
    ('biases', 'effect sizes')
    """
    return f"{noun}{'es' if noun.endswith('s') else 's'}"


def verb(num: int, infinitive: str) -> str:
    """A verb that agrees with a number of things.

    >>> verb(1, "lie"), verb(2, "lie"), verb(1, "be"), verb(0, "be"), verb(1, "go"), verb(1, "have")
    ('lies', 'lie', 'is', 'are', 'goes', 'has')
    """
    singular, others = _VERBS.get(infinitive, (f"{infinitive}s", infinitive))
    return singular if num == 1 else others
