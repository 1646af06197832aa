"""The rule language: what rules consist of. :mod:`.printing` writes them, :mod:`.parsing` reads what it writes.

    rule      := surface | dependency
    surface   := side argument side (argument side)?      the arguments in the order in which they stand
    side      := item*                                    item  := (token | group) quantifier?
    group     := "(" side ("|" side)* ")"                 quantifier := ? | * | + | {n} | {n,m} | {n,}
    token     := "literal" | /regex/ | [] | [test (& test)*]
    argument  := (SUBJ | OBJ) [test (& test)*]? {1}?      every token of it passes the tests; {1}: it is one token
    test      := (word | lemma | pos | ner) (="literal" | =~/regex/)

    dependency := node branch+                            node := token | argument
    branch    := edge target | "(" branch+ ("|" branch+)* ")"
    edge      := ?? (> | <) (name | "name" | /regex/)     >: to a dependent, <: to the head; ? in front: if there is one
    target    := node | "(" node branch+ ")"

A regular expression matches a whole value. Branches start from the node in front of them, as in Semgrex. A surface rule
stands beside the arguments without a gap; one that has a single argument leaves open where the other is.
"""

from dataclasses import dataclass

from tiltmeter.operators.relations.instances import FIELDS, Field, Role
from tiltmeter.operators.relations.rules.regexes import RuleError, check_regex, slashes_bare

LANGUAGE = "relation rules/1"
"""The version of what rules mean."""

MOST_REPETITIONS = 100


@dataclass(frozen=True, order=True)
class Value:
    """What is compared with a word, an annotation or the name of a dependency: a text, or an expression for all of it.

    Raises:
        RuleError: if the expression can't be used.
    """

    text: str
    is_regex: bool = False

    def __post_init__(self) -> None:
        if self.is_regex:
            object.__setattr__(self, "text", slashes_bare(self.text))
            check_regex(self.text)


@dataclass(frozen=True, order=True)
class Test:
    """What the value of a field must be.

    Raises:
        RuleError: if there is no such field.
    """

    __test__ = False

    field: Field
    value: Value

    def __post_init__(self) -> None:
        if self.field not in FIELDS:
            raise RuleError(f"rules test {', '.join(FIELDS)}, and not {self.field!r}")


def _sorted(tests: tuple[Test, ...]) -> tuple[Test, ...]:
    return tuple(sorted(set(tests)))


@dataclass(frozen=True)
class Token:
    """One token that passes all tests, of which the order says nothing; without tests any token."""

    tests: tuple[Test, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "tests", _sorted(self.tests))


@dataclass(frozen=True)
class Argument:
    """An argument, each of whose tokens passes all tests.

    Attributes:
        is_single: whether it must be one token.
    """

    role: Role
    tests: tuple[Test, ...] = ()
    is_single: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "tests", _sorted(self.tests))


@dataclass(frozen=True)
class Quantifier:
    """How often an item stands there one behind the other; ``high`` None: any number of times.

    Raises:
        RuleError: if the numbers are out of order or above 100.
    """

    low: int
    high: int | None

    def __post_init__(self) -> None:
        high = MOST_REPETITIONS if self.high is None else self.high
        if not 0 <= self.low <= high <= MOST_REPETITIONS or high == 0:
            raise RuleError(f"an item repeats {self.low} to {self.high} times: must be in order, 1 to 100 at most")


@dataclass(frozen=True)
class Group:
    """One of the options.

    Raises:
        RuleError: if there is none.
    """

    options: tuple["Side", ...]

    def __post_init__(self) -> None:
        if not self.options:
            raise RuleError("a group has no options: must have one at least")


@dataclass(frozen=True)
class Item:
    """A token or a group; ``quantifier`` None: once."""

    atom: Token | Group
    quantifier: Quantifier | None = None


Side = tuple[Item, ...]


@dataclass(frozen=True)
class SurfaceRule:
    """What stands before, between and behind the arguments.

    Attributes:
        sides: one more than there are arguments.
        arguments: one or two of different roles, in the order in which they stand.

    Raises:
        RuleError: if their numbers do not fit, or a role comes twice.
    """

    sides: tuple[Side, ...]
    arguments: tuple[Argument, ...]

    def __post_init__(self) -> None:
        roles = [argument.role for argument in self.arguments]
        if not roles or len(set(roles)) != len(roles):
            raise RuleError("a rule has each argument at most once, and one at least")
        if len(self.sides) != len(roles) + 1:
            raise RuleError(f"a rule of {len(roles)} arguments has {len(roles) + 1} sides, and not {len(self.sides)}")


@dataclass(frozen=True)
class Edge:
    """A dependency that leads to another node.

    Attributes:
        relation: its name.
        target: what it leads to.
        is_to_head: whether the target is the head, and not a dependent.
        is_optional: whether the rule holds without it too.
    """

    relation: Value
    target: "Node"
    is_to_head: bool = False
    is_optional: bool = False


@dataclass(frozen=True)
class Choice:
    """One of the options, each of which is some branches.

    Raises:
        RuleError: if there is none, or one is empty.
    """

    options: tuple[tuple["Branch", ...], ...]

    def __post_init__(self) -> None:
        if not self.options or not all(self.options):
            raise RuleError("a choice between branches has an empty option")


Branch = Edge | Choice


@dataclass(frozen=True)
class Node:
    """A token of the tree, with what starts from it; of an argument, any of its tokens."""

    token: Token | Argument
    branches: tuple[Branch, ...] = ()


@dataclass(frozen=True)
class DependencyRule:
    """What must be in the tree.

    Raises:
        RuleError: if it has no dependency, or no argument.
    """

    root: Node

    def __post_init__(self) -> None:
        if not self.root.branches:
            raise RuleError("a dependency rule has no dependency")
        if not any(isinstance(node.token, Argument) for node in nodes(self.root)):
            raise RuleError("a dependency rule has no argument")


Rule = SurfaceRule | DependencyRule


@dataclass(frozen=True)
class NamedRule:
    """A rule with the relation that it stands for.

    Attributes:
        rule_id: what it is called; no two of a set are called the same.
        source: where it comes from, such as ``file`` or ``induced``.
    """

    rule_id: str
    relation: str
    rule: Rule
    source: str = ""


def nodes(node: Node) -> list[Node]:
    """It and all below, in the order of their print."""
    return [node, *(below for branch in node.branches for below in _below(branch))]


def _below(branch: Branch) -> list[Node]:
    if isinstance(branch, Edge):
        return nodes(branch.target)
    return [node for option in branch.options for inner in option for node in _below(inner)]


def roles(rule: Rule) -> tuple[Role, ...]:
    """Which arguments a rule names, each once, in the order of its print."""
    if isinstance(rule, SurfaceRule):
        return tuple(argument.role for argument in rule.arguments)
    arguments = [node.token.role for node in nodes(rule.root) if isinstance(node.token, Argument)]
    return tuple(dict.fromkeys(arguments))
