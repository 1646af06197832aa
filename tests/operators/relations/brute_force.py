"""Whether a rule matches, by trying all ways one after the other: slow, and as the grammar is worded."""

import re
from itertools import product

from tiltmeter.operators.relations.rules.grammar import Argument, Choice, DependencyRule, Edge, Group


def matches(rule, instance):
    if isinstance(rule, DependencyRule):
        return instance.sentence.heads is not None and any(
            _holds(rule.root, place, instance) for place in range(len(instance.sentence.tokens))
        )
    spans = [instance.span(argument.role) for argument in rule.arguments]
    if spans != sorted(spans) or not all(_argument_holds(argument, instance) for argument in rule.arguments):
        return False
    length = len(instance.sentence.tokens)
    borders = [0, *(border for span in spans for border in span), length]
    regions = list(zip(borders[::2], borders[1::2], strict=True))
    for number, (side, (start, end)) in enumerate(zip(rule.sides, regions, strict=True)):
        starts = range(start, end + 1) if number == 0 else [start]
        ends = range(start, end + 1) if number == len(regions) - 1 else [end]
        if not any(_covers(side, first, last, instance) for first, last in product(starts, ends)):
            return False
    return True


def _argument_holds(argument, instance):
    start, end = instance.span(argument.role)
    if argument.is_single and end - start != 1:
        return False
    return all(_passes(argument.tests, place, instance) for place in range(start, end))


def _covers(side, start, end, instance):
    if start > end:
        return False
    if not side:
        return start == end
    item, rest = side[0], side[1:]
    low, high = (1, 1) if item.quantifier is None else (item.quantifier.low, item.quantifier.high)
    return any(
        _repeats(item.atom, low, high, start, middle, instance) and _covers(rest, middle, end, instance)
        for middle in range(start, end + 1)
    )


def _repeats(atom, low, high, start, end, instance):
    """One way or another, low to high times; what is empty is repeated as often as needed."""
    if low == 0 and start == end:
        return True
    if high == 0:
        return False
    fewer, less = max(low - 1, 0), None if high is None else high - 1
    for middle in range(start, end + 1):
        if middle == start and low == 0:
            continue
        if _is_atom(atom, start, middle, instance) and (
            _repeats(atom, fewer, less, middle, end, instance) or (fewer == 0 and middle == end)
        ):
            return True
    return False


def _is_atom(atom, start, end, instance):
    if isinstance(atom, Group):
        return any(_covers(option, start, end, instance) for option in atom.options)
    return end == start + 1 and _passes(atom.tests, start, instance)


def _passes(tests, place, instance):
    for test in tests:
        values = instance.values[test.field]
        if values is None or not _equals(test.value, values[place]):
            return False
    return True


def _equals(value, text):
    return re.fullmatch(value.text, text) is not None if value.is_regex else value.text == text


def _holds(node, place, instance):
    if isinstance(node.token, Argument):
        start, end = instance.span(node.token.role)
        if not start <= place < end or (node.token.is_single and end - start != 1):
            return False
    return _passes(node.token.tests, place, instance) and all(
        _starts(branch, place, instance) for branch in node.branches
    )


def _starts(branch, place, instance):
    if isinstance(branch, Choice):
        return any(all(_starts(inner, place, instance) for inner in option) for option in branch.options)
    return branch.is_optional or any(
        _holds(branch.target, other, instance) for other in _reached(branch, place, instance)
    )


def _reached(edge: Edge, place, instance):
    sentence = instance.sentence
    for other in range(len(sentence.tokens)):
        dependent, head = (place, other) if edge.is_to_head else (other, place)
        if sentence.heads[dependent] == head and _equals(edge.relation, sentence.deprels[dependent]):
            yield other
