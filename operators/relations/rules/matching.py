"""Whether a rule matches between the given arguments of a sentence.

The arguments are given, so that a surface rule is not searched for: its sides are run over the tokens beside and
between the arguments only, all ways at once, as a set of places where each may have arrived. This takes time
proportional to the length of the rule times that of the sentence, whatever the rule; nothing is tried twice. The same
holds for trees, from the leaves of a rule to its root: two nodes of a rule depend on each other only by the branch
between them.
"""

from tiltmeter.operators.relations.instances import ROOT, Instance, Span
from tiltmeter.operators.relations.rules.grammar import (
    Argument,
    Branch,
    DependencyRule,
    Edge,
    Group,
    Item,
    Node,
    Quantifier,
    Rule,
    Side,
    SurfaceRule,
    Token,
    Value,
)
from tiltmeter.operators.relations.rules.reading import Reading, span_bits
from tiltmeter.operators.relations.rules.regexes import full_match

_ONCE = Quantifier(1, 1)


def matches(rule: Rule, instance: Instance) -> bool:
    """Whether a rule matches an instance.

    A surface rule of both arguments matches where its sides cover the tokens between the arguments without a gap, and
    what stands right in front of the first and right behind the second; a rule of one argument, what stands beside it.
    A dependency rule matches where the tree has all that it names; an argument is there where one of its tokens is.

    Raises:
        RegexTimeout: naming the expression and the word, if their match takes too long.

    >>> from tiltmeter.operators.relations.instances import Sentence, Span
    >>> from tiltmeter.operators.relations.rules.parsing import parsed
    >>> sentence = Sentence(("Ada", ",", "wife", "of", "William", "King", ",", "wrote"))
    >>> instance = Instance(sentence, subject=Span(0, 1), object=Span(4, 6))
    >>> matches(parsed('SUBJ "," /wife|husband/ "of" OBJ'), instance)
    True
    >>> matches(parsed('SUBJ "wife" "of" OBJ'), instance)
    False
    """
    return matches_reading(rule, Reading(instance))


def matches_reading(rule: Rule, reading: Reading) -> bool:
    """As :func:`matches`, of an instance that several rules look at."""
    if isinstance(rule, DependencyRule):
        return reading.instance.sentence.heads is not None and _node_bits(rule.root, reading) != 0
    return _matches_surface(rule, reading)


def places_after(side: Side, starts: int, region: int, reading: Reading) -> int:
    """Where a side may end that starts in one of the places of ``starts``; a place p lies in front of token p.

    Args:
        region: bits of the tokens that it may read.
    """
    for item in side:
        if not starts:
            break
        starts = places_after_item(item, starts, region, reading)
    return starts


def places_after_item(item: Item, starts: int, region: int, reading: Reading) -> int:
    """As :func:`places_after`, of one item."""
    quantifier = item.quantifier or _ONCE
    places = starts
    for _ in range(quantifier.low):
        places = _after_atom(item.atom, places, region, reading)
    ends, repeats = places, 0
    while places and (quantifier.high is None or repeats < quantifier.high - quantifier.low):
        places = _after_atom(item.atom, places, region, reading) & ~ends
        ends |= places
        repeats += 1
    return ends


def _after_atom(atom: Token | Group, starts: int, region: int, reading: Reading) -> int:
    if isinstance(atom, Token):
        return (starts & region & reading.token_bits(atom)) << 1
    ends = 0
    for option in atom.options:
        ends |= places_after(option, starts, region, reading)
    return ends


def _matches_surface(rule: SurfaceRule, reading: Reading) -> bool:
    arguments = rule.arguments
    if len(arguments) > 1 and arguments[0].role != reading.roles()[0]:
        return False
    if not all(map(reading.holds, arguments)):
        return False
    spans = [reading.instance.span(argument.role) for argument in arguments]
    return all(
        _side_matches(side, place, reading) for side, place in zip(rule.sides, _regions(spans, reading), strict=True)
    )


def _regions(spans: list[Span], reading: Reading) -> list[tuple[int, int, int]]:
    """Of each side the places where it may start and where it may end, and the tokens that it may read."""
    borders = [0, *(border for span in spans for border in span), reading.length]
    tokens = [Span(start, end) for start, end in zip(borders[::2], borders[1::2], strict=True)]
    starts, ends = [1 << span.start for span in tokens], [1 << span.end for span in tokens]
    starts[0], ends[-1] = (ends[0] << 1) - 1, -1
    return list(zip(starts, ends, map(span_bits, tokens), strict=True))


def _side_matches(side: Side, place: tuple[int, int, int], reading: Reading) -> bool:
    starts, ends, region = place
    return places_after(side, starts, region, reading) & ends != 0


def _node_bits(node: Node, reading: Reading) -> int:
    """The tokens that can be this node, with all that starts from it."""
    bits = reading.token_bits(node.token)
    if isinstance(node.token, Argument) and node.token.is_single:
        bits *= reading.holds(Argument(node.token.role, is_single=True))
    for branch in node.branches:
        if not bits:
            break
        bits &= _branch_bits(branch, reading)
    return bits


def _branch_bits(branch: Branch, reading: Reading) -> int:
    """The tokens from which a branch can start."""
    if isinstance(branch, Edge):
        return reading.all_bits if branch.is_optional else _edge_bits(branch, reading)
    bits = 0
    for option in branch.options:
        together = reading.all_bits
        for inner in option:
            together &= _branch_bits(inner, reading)
        bits |= together
    return bits


def _edge_bits(edge: Edge, reading: Reading) -> int:
    targets, bits = _node_bits(edge.target, reading), 0
    sentence = reading.instance.sentence
    for dependent, (head, name) in enumerate(zip(sentence.heads or (), sentence.deprels or (), strict=True)):
        start, target = (dependent, head) if edge.is_to_head else (head, dependent)
        if head != ROOT and targets >> target & 1 and is_named(edge.relation, name):
            bits |= 1 << start
    return bits


def is_named(relation: Value, name: str) -> bool:
    """Whether the name of a dependency is what a rule says."""
    return full_match(relation.text, name) if relation.is_regex else relation.text == name
