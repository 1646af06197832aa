"""Rules made of what rules said that were run elsewhere: a relation, and the tokens of a sentence that it rests on.

What is known of such a rule is which tokens it looked at. The rule that is made has these as words, where they stand
between the arguments or beside them, any number of other tokens in each gap, and the types of the arguments.
"""

from collections.abc import Iterable, Sequence

from tiltmeter.operators.relations.instances import NO_RELATION, Instance, Role
from tiltmeter.operators.relations.rules.grammar import (
    Argument,
    Item,
    Quantifier,
    Side,
    SurfaceRule,
    Test,
    Token,
    Value,
)
from tiltmeter.operators.relations.rules.printing import printed

VERSION = "tag_rules/1"

_ANY = Item(Token(), Quantifier(0, None))


def tag_rule(instance: Instance, tokens: Iterable[int]) -> SurfaceRule:
    """The rule that has these tokens of an instance.

    Args:
        tokens: places in the sentence, from 0; those inside of an argument say nothing but its type.

    >>> from tiltmeter.operators.relations.instances import Sentence, Span
    >>> from tiltmeter.operators.relations.rules.printing import printed
    >>> sentence = Sentence(("Ada", ",", "young", "wife", "of", "King"))
    >>> instance = Instance(sentence, Span(0, 1), Span(5, 6), subject_type="Peop", object_type="Peop")
    >>> printed(tag_rule(instance, [3]))
    'SUBJ[ner="Peop"] [] * "wife" [] * OBJ[ner="Peop"]'
    """
    words, places = instance.sentence.tokens, sorted(set(tokens))
    roles: tuple[Role, Role] = ("subject", "object") if instance.is_subject_first else ("object", "subject")
    start, end = instance.between
    first, second = instance.span(roles[0]), instance.span(roles[1])
    between = _side(words, [place for place in places if start <= place < end], start, end)
    before = _side(words, [place for place in places if place < first.start], None, first.start)
    behind = _side(words, [place for place in places if place >= second.end], second.end, None)
    return SurfaceRule((before, between, behind), tuple(_argument(instance, role) for role in roles))


def tag_rules(tags: Iterable[tuple[Instance, str | None, Iterable[int]]]) -> list[tuple[str, str, str]]:
    """Name, relation and print of the rules of all tags that say a relation, each once, in the order of their prints.

    Args:
        tags: of each instance the relation that rules say, None if nothing is known, and the tokens it rests on.
    """
    made = {
        (printed(tag_rule(instance, tokens)), relation)
        for instance, relation, tokens in tags
        if relation is not None and relation != NO_RELATION
    }
    return [(f"t{number}", relation, text) for number, (text, relation) in enumerate(sorted(made), start=1)]


def _argument(instance: Instance, role: Role) -> Argument:
    kind = instance.subject_type if role == "subject" else instance.object_type
    return Argument(role, () if kind is None else (Test("ner", Value(kind)),))


def _side(words: Sequence[str], places: Sequence[int], start: int | None, end: int | None) -> Side:
    """Words at their places, and gaps where others stand; a side that is open starts or ends with its word."""
    items: list[Item] = []
    before = start
    for place in places:
        if before is not None and place > before:
            items.append(_ANY)
        items.append(Item(Token((Test("word", Value(words[place])),))))
        before = place + 1
    if before is not None and end is not None and end > before and (places or start is not None):
        items.append(_ANY)
    return tuple(items)
