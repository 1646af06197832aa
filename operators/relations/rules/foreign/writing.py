"""Our rules in Tokensregex and Semgrex, as the released rules are written: for measures on their tokens."""

from tiltmeter.operators.relations.rules.grammar import (
    Argument,
    Branch,
    DependencyRule,
    Edge,
    Group,
    Item,
    Node,
    Rule,
    Side,
    Test,
    Token,
    Value,
)
from tiltmeter.operators.relations.rules.printing import quantifier_symbol

_MARKS = {"subject": "kbpentity", "object": "slotvalue"}
_NAMES = {"subject": "entity", "object": "slot"}


def foreign_print(rule: Rule) -> str:
    """A rule over tokens in Tokensregex, one over trees in Semgrex, of which :mod:`.translation` makes the same rule.

    >>> from tiltmeter.operators.relations.rules.parsing import parsed
    >>> foreign_print(parsed('SUBJ "," [lemma=~/wife/] OBJ[ner="PERSON"]'))
    '( ([ { kbpentity:true } ]+ ) "," [{lemma:/wife/}] ([ { slotvalue:true; ner:"PERSON" } ]+ ) )'
    >>> foreign_print(parsed('[lemma="wed"] >nsubj SUBJ >/d?obj/ OBJ'))
    '{lemma:wed} >nsubj {}=entity >/d?obj/ {}=slot'
    """
    if isinstance(rule, DependencyRule):
        return _node(rule.root)
    parts = _side(rule.sides[0])
    for argument, side in zip(rule.arguments, rule.sides[1:], strict=True):
        parts += [_argument(argument), *_side(side)]
    return " ".join(["(", *parts, ")"])


def _argument(argument: Argument) -> str:
    tests = "".join(f"; {test.field}:{_quoted(test.value)}" for test in argument.tests)
    return f"([ {{ {_MARKS[argument.role]}:true{tests} }} ]{'' if argument.is_single else '+'} )"


def _side(side: Side) -> list[str]:
    return [_item(item) for item in side]


def _item(item: Item) -> str:
    atom = _group(item.atom) if isinstance(item.atom, Group) else _token(item.atom)
    return atom if item.quantifier is None else atom + quantifier_symbol(item.quantifier)


def _group(group: Group) -> str:
    return f"( {' | '.join(' '.join(_side(option)) for option in group.options)} )"


def _token(token: Token) -> str:
    match token.tests:
        case ():
            return "[]"
        case (Test(field="word", value=value),):
            return _quoted(value)
        case tests:
            return f"[{{{'; '.join(f'{test.field}:{_quoted(test.value)}' for test in tests)}}}]"


def _quoted(value: Value) -> str:
    if value.is_regex:
        return _expression(value)
    return '"' + value.text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _expression(value: Value) -> str:
    return f"/{value.text.replace('/', chr(92) + '/')}/"


def _plain(value: Value) -> str:
    """As Semgrex writes it: without quotes where it can do so."""
    if value.is_regex:
        return _expression(value)
    return value.text if value.text.replace("_", "").isalnum() else _quoted(value)


def _node(node: Node) -> str:
    return " ".join([_braces(node.token), *map(_branch, node.branches)])


def _braces(token: Token | Argument) -> str:
    tests = ";".join(f"{'tag' if test.field == 'pos' else test.field}:{_plain(test.value)}" for test in token.tests)
    return f"{{{tests}}}" + (f"={_NAMES[token.role]}" if isinstance(token, Argument) else "")


def _branch(branch: Branch) -> str:
    if isinstance(branch, Edge):
        sign = ("?" if branch.is_optional else "") + ("<" if branch.is_to_head else ">")
        target = _node(branch.target)
        return f"{sign}{_plain(branch.relation)} {f'( {target} )' if branch.target.branches else target}"
    options = (" ".join(map(_branch, option)) for option in branch.options)
    return f"[ {' | '.join(options)} ]"
