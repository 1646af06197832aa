"""The one print of a rule, and the symbols that it consists of, which are what a decoder writes."""

import json

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
    Test,
    Token,
    Value,
)

_NAMES = {"subject": "SUBJ", "object": "OBJ"}
_SIGNS = {(0, 1): "?", (0, None): "*", (1, None): "+"}


def printed(rule: Rule) -> str:
    """The print of a rule, from which :func:`.parsing.parsed` makes the same rule.

    >>> from tiltmeter.operators.relations.rules.parsing import parsed
    >>> printed(parsed('SUBJ [word="," ]   [lemma=~/wife|husband/ & pos="NN"] ? OBJ[ner="PERSON"]'))
    'SUBJ "," [lemma=~/wife|husband/ & pos="NN"] ? OBJ[ner="PERSON"]'
    """
    return " ".join(rule_symbols(rule))


def rule_symbols(rule: Rule) -> tuple[str, ...]:
    """The print in its parts: arguments, tokens, quantifiers, dependencies, brackets and ``|``, each one symbol.

    >>> from tiltmeter.operators.relations.rules.parsing import parsed
    >>> rule_symbols(parsed('SUBJ "," ("wife"|"spouse")? OBJ'))
    ('SUBJ', '","', '(', '"wife"', '|', '"spouse"', ')', '?', 'OBJ')
    """
    if isinstance(rule, DependencyRule):
        return tuple(_node_symbols(rule.root))
    symbols = _side_symbols(rule.sides[0])
    for argument, side in zip(rule.arguments, rule.sides[1:], strict=True):
        symbols += [token_symbol(argument), *_side_symbols(side)]
    return tuple(symbols)


def token_symbol(token: Token | Argument) -> str:
    """The one symbol of a token or an argument."""
    tests = " & ".join(map(_test_text, token.tests))
    if isinstance(token, Argument):
        return _NAMES[token.role] + (f"[{tests}]" if tests else "") + ("{1}" if token.is_single else "")
    match token.tests:
        case (Test(field="word", value=value),):
            return _value_text(value)
        case _:
            return f"[{tests}]"


def quantifier_symbol(quantifier: Quantifier) -> str:
    low, high = quantifier.low, quantifier.high
    if low == high:
        return f"{{{low}}}"
    return _SIGNS.get((low, high)) or f"{{{low},{'' if high is None else high}}}"


def edge_symbol(edge: Edge) -> str:
    """Its optionality, direction and name."""
    is_plain = not edge.relation.is_regex and all(mark.isalnum() or mark in ":_" for mark in edge.relation.text)
    name = edge.relation.text if is_plain and edge.relation.text else _value_text(edge.relation)
    return ("?" if edge.is_optional else "") + ("<" if edge.is_to_head else ">") + name


def _test_text(test: Test) -> str:
    return f"{test.field}={'~' if test.value.is_regex else ''}{_value_text(test.value)}"


def _value_text(value: Value) -> str:
    if value.is_regex:
        return f"/{value.text.replace('/', chr(92) + '/')}/"
    return json.dumps(value.text, ensure_ascii=False)


def _side_symbols(side: Side) -> list[str]:
    return [symbol for item in side for symbol in _item_symbols(item)]


def _item_symbols(item: Item) -> list[str]:
    symbols = _group_symbols(item.atom) if isinstance(item.atom, Group) else [token_symbol(item.atom)]
    return symbols if item.quantifier is None else [*symbols, quantifier_symbol(item.quantifier)]


def _group_symbols(group: Group) -> list[str]:
    options = [symbol for option in group.options for symbol in ["|", *_side_symbols(option)]]
    return ["(", *options[1:], ")"]


def _node_symbols(node: Node) -> list[str]:
    return [token_symbol(node.token), *(symbol for branch in node.branches for symbol in _branch_symbols(branch))]


def _branch_symbols(branch: Branch) -> list[str]:
    if isinstance(branch, Edge):
        target = _node_symbols(branch.target)
        return [edge_symbol(branch), *(["(", *target, ")"] if branch.target.branches else target)]
    options = [
        symbol
        for option in branch.options
        for symbol in ["|", *(inner for branch in option for inner in _branch_symbols(branch))]
    ]
    return ["(", *options[1:], ")"]
