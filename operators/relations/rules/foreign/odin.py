"""The part of Odin (Valenzuela-Escárcega et al. 2016) in which the rules for CoNLL04 are published: a trigger with the
ways that lead from it to the arguments, and sequences of tokens. Its expressions match any part of a word."""

from collections.abc import Iterator, Mapping
from itertools import product
from typing import NamedTuple

import regex

from tiltmeter.operators.relations.instances import Role
from tiltmeter.operators.relations.rules.foreign.lexing import Parts, test_of, value_of
from tiltmeter.operators.relations.rules.grammar import (
    Argument,
    Branch,
    DependencyRule,
    Edge,
    Item,
    Node,
    Rule,
    SurfaceRule,
    Test,
    Token,
    Value,
)
from tiltmeter.operators.relations.rules.parsing import parsed_quantifier
from tiltmeter.operators.relations.rules.regexes import RuleError

_EXPRESSION, _TEXT = r"/(?:[^/\\]|\\.)*/", r'"(?:[^"\\]|\\.)*"'
_PARTS = regex.compile(rf"\s*(?:{_EXPRESSION}|{_TEXT}|\(\?=|[<>]|[()\[\]=?&*+]|@?\w+:(?=\s)|[\w:]+)\s*")
_ROLES: dict[str, Role] = {"subject": "subject", "object": "object"}


class _Step(NamedTuple):
    relation: Value
    is_to_head: bool
    is_optional: bool


class _Way(NamedTuple):
    """How a trigger leads to an argument, and what must start from that."""

    argument: Argument
    steps: tuple[_Step, ...]
    branches: tuple[Branch, ...]


def rules_of_odin(pattern: str, *, over_tokens: bool, types: Mapping[str, str] | None = None) -> list[Rule]:
    """The rules of a pattern: one for each choice of its optional steps.

    Args:
        over_tokens: whether it is a sequence of tokens, and not a trigger with ways.
        types: what the types of arguments are called in the data, by the part of their labels behind ``SUBJ_`` and
            ``OBJ_``; those that are not listed are called as they are there.

    Raises:
        RuleError: quoting it and saying what is not understood.

    >>> from tiltmeter.operators.relations.rules.printing import printed
    >>> pattern = "trigger = [lemma=live] subject: SUBJ_Person = nsubj object: OBJ_Loc = nmod? obl"
    >>> for rule in rules_of_odin(pattern, over_tokens=False, types={"Person": "PER"}):
    ...     print(printed(rule))
    [lemma="live"] >nsubj SUBJ[ner="PER"] >nmod ( [] >obl OBJ[ner="Loc"] )
    [lemma="live"] >nsubj SUBJ[ner="PER"] >obl OBJ[ner="Loc"]
    """
    try:
        parts = Parts(pattern, _PARTS)
        return [_sequence(parts, types or {})] if over_tokens else list(_triggered(parts, types or {}))
    except RuleError as error:
        raise RuleError(f"{pattern[:200]!r} is not understood as Odin's: {error}") from error


def _sequence(parts: Parts, types: Mapping[str, str]) -> SurfaceRule:
    sides: list[list[Item]] = [[]]
    arguments = []
    while parts.next:
        if parts.next == "[":
            token = Token(_tests(parts))
            quantifier = parsed_quantifier(parts.take()) if parts.next in ("?", "*", "+") else None
            sides[-1].append(Item(token, quantifier))
        else:
            arguments.append(_argument(parts.take().lstrip("@").rstrip(":"), parts.take(), types))
            sides.append([])
    return SurfaceRule(tuple(map(tuple, sides)), tuple(arguments))


def _triggered(parts: Parts, types: Mapping[str, str]) -> Iterator[Rule]:
    parts.take("trigger")
    parts.take("=")
    trigger = Token(_tests(parts))
    ways = []
    while parts.next:
        name, label, _ = parts.take().rstrip(":"), parts.take(), parts.take("=")
        argument = _argument(name, label, types)
        ways.append(_Way(argument, tuple(_steps(parts)), tuple(_lookaheads(parts))))
    for chosen in product(*(_choices(way.steps) for way in ways)):
        yield DependencyRule(Node(trigger, tuple(map(_branch, ways, chosen))))


def _choices(steps: tuple[_Step, ...]) -> list[tuple[_Step, ...]]:
    """The ways with and without each optional step, of one step at least."""
    options = [((step,), ()) if step.is_optional else ((step,),) for step in steps]
    choices = [tuple(step for part in parts for step in part) for parts in product(*options)]
    return [choice for choice in choices if choice]


def _branch(way: _Way, steps: tuple[_Step, ...]) -> Edge:
    node = Node(way.argument, way.branches)
    for step in reversed(steps[1:]):
        node = Node(Token(), (Edge(step.relation, node, step.is_to_head),))
    return Edge(steps[0].relation, node, steps[0].is_to_head)


def _steps(parts: Parts) -> Iterator[_Step]:
    while parts.next and parts.next != "(?=" and not parts.next.endswith(":"):
        is_to_head = parts.skip("<")
        parts.skip(">")
        relation = _value(parts.take())
        yield _Step(relation, is_to_head, parts.skip("?"))


def _lookaheads(parts: Parts) -> Iterator[Branch]:
    while parts.skip("(?="):
        [step] = _steps_until_bracket(parts)
        target = Node(Token(_tests(parts)))
        parts.take(")")
        yield Edge(step.relation, target, step.is_to_head)


def _steps_until_bracket(parts: Parts) -> list[_Step]:
    is_to_head = parts.skip("<")
    return [_Step(_value(parts.take()), is_to_head, is_optional=False)]


def _argument(name: str, label: str, types: Mapping[str, str]) -> Argument:
    if name not in _ROLES:
        raise RuleError(f"{name!r} is no argument: must be {' or '.join(_ROLES)}")
    kind = label.partition("_")[2] or label
    return Argument(_ROLES[name], (Test("ner", Value(types.get(kind, kind))),))


def _tests(parts: Parts) -> tuple[Test, ...]:
    parts.take("[")
    tests: list[Test] = []
    while not parts.skip("]"):
        name, _, written = parts.take(), parts.take("="), parts.take()
        tests.append(Test(test_of(name, written).field, _value(written)))
        if parts.next != "]":
            parts.take("&")
    return tuple(tests)


def _value(written: str) -> Value:
    value = value_of(written)
    return Value(f".*(?:{value.text}).*", is_regex=True) if value.is_regex else value
