"""Sentences that are made up, with what holds in them and with rules for some of it: to try things without any file.

Each says one thing of two made-up names, such as "Vela Moras was born in Tarfen last year .", and is two instances, one
for each order of its names: the statement holds in one of them. Rules know some of the wordings of a relation alone, so
that there is something to learn from labels, and from other wordings of what rules say.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from tiltmeter.operators.compute.generators import keyed_generator
from tiltmeter.operators.compute.philox import Stream
from tiltmeter.operators.relations.instances import NO_RELATION, Instance, Sentence, Span

VERSION = "synthetic_relations/1"


class _Wording(NamedTuple):
    """Attributes:
    relation: that holds.
    types: of subject and object.
    text: with S and O for them.
    is_known: whether a rule knows it.
    """

    relation: str
    types: tuple[str, str]
    text: str
    is_known: bool = True


_PERSON_PLACE, _PERSON_GROUP = ("PERSON", "PLACE"), ("PERSON", "GROUP")
_PERSONS, _GROUP_PLACE = ("PERSON", "PERSON"), ("GROUP", "PLACE")
_WORDINGS = (
    _Wording("born_in", _PERSON_PLACE, "S was born in O"),
    _Wording("born_in", _PERSON_PLACE, "S , a native of O ,"),
    _Wording("born_in", _PERSON_PLACE, "S , who was born near O ,", is_known=False),
    _Wording("works_for", _PERSON_GROUP, "S works for O"),
    _Wording("works_for", _PERSON_GROUP, "S , an engineer at O ,"),
    _Wording("works_for", _PERSON_GROUP, "S , an engineer who works at O ,", is_known=False),
    _Wording("married_to", _PERSONS, "S married O"),
    _Wording("married_to", _PERSONS, "S and his wife O"),
    _Wording("married_to", _PERSONS, "S , who married O ,", is_known=False),
    _Wording("based_in", _GROUP_PLACE, "S is based in O"),
    _Wording("based_in", _GROUP_PLACE, "S , with offices in O ,"),
    _Wording("based_in", _GROUP_PLACE, "S , which is based near O ,", is_known=False),
    *(_Wording(NO_RELATION, _PERSON_PLACE, text) for text in ("S went to O", "S wrote about O")),
    *(_Wording(NO_RELATION, _PERSON_GROUP, text) for text in ("S sued O", "S spoke about O")),
    *(_Wording(NO_RELATION, _PERSONS, text) for text in ("S met O", "S and his lawyer O")),
    *(_Wording(NO_RELATION, _GROUP_PLACE, text) for text in ("S sold a house in O", "S left O")),
)
_BEFORE = ("", "", "yesterday", "in March ,", "they say that", "as we know ,")
_BEHIND = (".", "last year .", "again .", ", they say .", "and was happy .")
_SYLLABLES = ("ta", "mo", "ra", "vel", "fen", "li", "kor", "sa", "dun", "bre", "ni", "gol")


def synthetic_instances(num_sentences: int, part: int, seed: int) -> list[Instance]:
    """Two instances of each sentence, in the order of their first names.

    Args:
        part: which part of the data, so that no two parts share draws.

    >>> [one, other] = synthetic_instances(1, part=0, seed=0)
    >>> one.sentence is other.sentence, {one.relation, other.relation} - {"no_relation"} <= set(relations())
    (True, True)
    """
    draws = keyed_generator(seed, Stream.RELATION_STUDY, part)
    return [one for number in range(num_sentences) for one in _sentence(draws, number)]


def relations() -> list[str]:
    """Of the sentences, without ``no_relation``."""
    return sorted({wording.relation for wording in _WORDINGS} - {NO_RELATION})


def synthetic_rules() -> Iterator[tuple[str, str, str]]:
    """Number, relation and text of a rule for each wording that rules know.

    >>> next(synthetic_rules())
    ('s1', 'born_in', 'SUBJ[ner="PERSON"] "was" "born" "in" OBJ[ner="PLACE"]')
    """
    known = [one for one in _WORDINGS if one.is_known and one.relation != NO_RELATION]
    for number, wording in enumerate(known, start=1):
        arguments = {"S": f'SUBJ[ner="{wording.types[0]}"]', "O": f'OBJ[ner="{wording.types[1]}"]'}
        yield (
            f"s{number}",
            wording.relation,
            " ".join(arguments.get(word, f'"{word}"') for word in wording.text.split()),
        )


def _sentence(draws: np.random.Generator, number: int) -> list[Instance]:
    wording = _WORDINGS[draws.integers(len(_WORDINGS))]
    names = {"S": _name(draws, wording.types[0]), "O": _name(draws, wording.types[1])}
    before, behind = _BEFORE[draws.integers(len(_BEFORE))], _BEHIND[draws.integers(len(_BEHIND))]
    tokens: list[str] = []
    spans: dict[str, Span] = {}
    for word in [*before.split(), *wording.text.split(), *behind.split()]:
        if word in names:
            spans[word] = Span(len(tokens), len(tokens) + len(names[word]))
        tokens += names.get(word, [word])
    ner = ["O"] * len(tokens)
    for letter, kind in zip("SO", wording.types, strict=True):
        ner[spans[letter].start : spans[letter].end] = [kind] * len(names[letter])
    sentence, (first, second) = Sentence(tuple(tokens), ner=tuple(ner)), wording.types
    document = str(number)
    return [
        Instance(sentence, spans["S"], spans["O"], wording.relation, first, second, document, 2 * number),
        Instance(sentence, spans["O"], spans["S"], NO_RELATION, second, first, document, 2 * number + 1),
    ]


def _name(draws: np.random.Generator, kind: str) -> list[str]:
    words = 2 if kind == "PERSON" else 1
    return [
        "".join(_SYLLABLES[place] for place in draws.integers(len(_SYLLABLES), size=2)).title() for _ in range(words)
    ]
