"""Which tokens of a sentence a rule names: what it would be about, if it explains a relation."""

from collections.abc import Iterator

from tiltmeter.operators.relations.instances import Instance
from tiltmeter.operators.relations.rules.grammar import DependencyRule, Group, Rule, Side, SurfaceRule, Token, nodes
from tiltmeter.operators.relations.rules.reading import Reading

VERSION = "rule_naming/1"


def named_tokens(rule: Rule, instance: Instance) -> tuple[int, ...]:
    """Tokens outside of the arguments that pass a test of the rule, on the side where it stands.

    Sides that are open reach as far as the rule has tokens there. A token without tests names nothing.

    >>> from tiltmeter.operators.relations.instances import Sentence, Span
    >>> from tiltmeter.operators.relations.rules.parsing import parsed
    >>> sentence = Sentence(("Ada", ",", "young", "wife", "of", "King"))
    >>> named_tokens(parsed('SUBJ []* "wife" []* OBJ'), Instance(sentence, Span(0, 1), Span(5, 6)))
    (3,)
    """
    reading = Reading(instance)
    arguments = {place for span in (instance.subject, instance.object) for place in range(*span)}
    if isinstance(rule, DependencyRule):
        tests = [node.token for node in nodes(rule.root) if isinstance(node.token, Token) and node.token.tests]
        places = {place for token in tests for place in _places(reading.token_bits(token))}
    else:
        places = set(_surface(rule, reading))
    return tuple(sorted(places - arguments))


def _surface(rule: SurfaceRule, reading: Reading) -> Iterator[int]:
    spans = [reading.instance.span(argument.role) for argument in rule.arguments]
    last = len(rule.sides) - 1
    for number, side in enumerate(rule.sides):
        tokens = list(_tokens(side))
        start = spans[number - 1].end if number else max(0, spans[0].start - len(tokens))
        end = spans[number].start if number < last else min(reading.length, spans[-1].end + len(tokens))
        for token in tokens:
            yield from (place for place in _places(reading.token_bits(token)) if token.tests and start <= place < end)


def _tokens(side: Side) -> Iterator[Token]:
    for item in side:
        if isinstance(item.atom, Group):
            for option in item.atom.options:
                yield from _tokens(option)
        else:
            yield item.atom


def _places(bits: int) -> Iterator[int]:
    return (place for place in range(bits.bit_length()) if bits >> place & 1)
