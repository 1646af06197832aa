"""Beginnings of rules over trees that can still become a rule that matches a given sentence.

What has been written is, for each bracket that is open, the tokens that its node can be. A symbol is allowed if tokens
remain for all of them from which dependencies of the vocabulary lead to the arguments that are missing, within as many
symbols as are left.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from tiltmeter.operators.relations.instances import ROLES, ROOT, Role
from tiltmeter.operators.relations.rules.matching import is_named
from tiltmeter.operators.relations.rules.reading import Reading
from tiltmeter.operators.relations.rules.vocabulary import RuleVocabulary

MOST_STEPS = 6
"""From the outermost node to an argument."""

_BRANCH = 2
"""Symbols of the shortest branch."""


def bits_of(bits: int) -> Iterator[int]:
    """The tokens of a set, in their order.

    >>> list(bits_of(0b1010))
    [1, 3]
    """
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest


class _Tree:
    """What all prefixes of one instance share.

    Attributes:
        targets: of each name of a dependency, by the token where it starts, the tokens to which it leads.
        passing: of each token, the symbols of nodes that it can be.
        costs: of each argument, by the token, how many symbols lead from it there.
        branching: the tokens from which a branch can start.
    """

    def __init__(self, reading: Reading, vocabulary: RuleVocabulary, most_symbols: int) -> None:
        self.reading, self.vocabulary, self.most_symbols = reading, vocabulary, most_symbols
        self.may_nest = {"(", ")"} <= vocabulary.marks
        self.targets = {symbol: self._targets(symbol) for symbol in vocabulary.edges}
        self.targets = {symbol: targets for symbol, targets in self.targets.items() if targets}
        self.passing = vocabulary.passing(reading)
        self.arguments: dict[str, int] = {}
        for symbol, argument in vocabulary.arguments.items():
            is_long = argument.is_single and len(range(*reading.instance.span(argument.role))) > 1
            self.arguments[symbol] = 0 if is_long else reading.token_bits(argument)
        self.passable = sum(1 << place for place, symbols in enumerate(self.passing) if symbols)
        self.costs = {role: self._costs(role) for role in ROLES}
        self.branching = 0
        for symbol in self.targets:
            self.branching |= self.starts(symbol, self.passable)

    def starts(self, symbol: str, targets: int) -> int:
        """The tokens from which a dependency leads to one of these."""
        return sum(1 << start for start, reached in self.targets[symbol].items() if reached & targets)

    def reached(self, symbol: str, starts: int) -> int:
        """The tokens to which a dependency leads from one of these."""
        bits = 0
        for start, targets in self.targets[symbol].items():
            bits |= targets if starts >> start & 1 else 0
        return bits

    def role(self, symbol: str) -> Role:
        return self.vocabulary.arguments[symbol].role

    def _targets(self, symbol: str) -> dict[int, int]:
        edge, sentence = self.vocabulary.edges[symbol], self.reading.instance.sentence
        targets: dict[int, int] = {}
        if edge.is_optional:
            return targets
        for dependent, (head, name) in enumerate(zip(sentence.heads or (), sentence.deprels or (), strict=True)):
            if head != ROOT and is_named(edge.relation, name):
                start, target = (dependent, head) if edge.is_to_head else (head, dependent)
                targets[start] = targets.get(start, 0) | 1 << target
        return targets

    def _costs(self, role: Role) -> dict[int, int]:
        """A way of n dependencies has n names, n - 1 tokens in brackets, and the argument."""
        ends = 0
        for symbol, bits in self.arguments.items():
            ends |= bits if self.role(symbol) == role else 0
        costs: dict[int, int] = {}
        for steps in range(1, (MOST_STEPS if self.may_nest else 1) + 1):
            starts = 0
            for symbol in self.targets:
                starts |= self.starts(symbol, ends)
            for place in bits_of(starts):
                costs.setdefault(place, 4 * steps - 2)
            ends = starts & self.passable
        return costs


class _Frame(NamedTuple):
    """A node whose branches are being written.

    Attributes:
        places: the tokens that it can be.
        edge: the symbol of the dependency that led to it; None: it is the outermost.
        has_branch: whether one is complete.
    """

    places: int
    edge: str | None
    has_branch: bool = False


@dataclass(frozen=True)
class TreePrefix:
    """The symbols that have been written of a rule over a tree.

    Attributes:
        edge: the dependency that was written last, and waits for its node; None: there is none.
        is_nested: whether that node is in brackets, and so has branches.
        missing: the arguments that have not been written.
    """

    _tree: _Tree
    _frames: tuple[_Frame, ...] = ()
    edge: str | None = None
    is_nested: bool = False
    missing: frozenset[Role] = frozenset(ROLES)
    num_symbols: int = 0

    @classmethod
    def start(cls, reading: Reading, vocabulary: RuleVocabulary, most_symbols: int) -> "TreePrefix | None":
        """The empty prefix; None where the sentence has no tree, or the vocabulary no dependency."""
        if reading.instance.sentence.heads is None or not vocabulary.edges:
            return None
        return cls(_Tree(reading, vocabulary, most_symbols))

    @property
    def is_complete(self) -> bool:
        """Whether what has been written is a rule."""
        is_open = self.edge is not None or len(self._frames) != 1
        return not is_open and not self.missing and self._frames[0].has_branch

    def allowed(self) -> frozenset[str]:
        """The symbols that may be written next, without the end."""
        if not self._frames or self.edge is not None:
            nodes = self._node_symbols()
            return nodes | {"("} if self._may_open() else nodes
        edges = frozenset(symbol for symbol in self._tree.targets if self._written(edge=symbol)._may_follow())
        return edges | {")"} if self._may_close() else edges

    def advance(self, symbol: str) -> "TreePrefix":
        """The prefix with one more symbol, which is allowed."""
        if symbol == "(":
            return self._written(edge=self.edge, is_nested=True)
        if symbol == ")":
            return self._written(frames=self._closed())
        if symbol in self._tree.vocabulary.edges:
            return self._written(edge=symbol)
        return self._with_node(symbol, self._places(symbol))

    def _may_open(self) -> bool:
        may_nest = self.edge is not None and not self.is_nested and self._tree.may_nest
        return may_nest and bool(replace(self, is_nested=True)._node_symbols(1))

    def _may_close(self) -> bool:
        """What is missing must be near enough to the brackets outside."""
        is_done = len(self._frames) > 1 and self._frames[-1].has_branch
        return is_done and self._written(frames=self._closed())._is_viable(0)

    def _may_follow(self) -> bool:
        return bool(self._node_symbols()) or self._may_open()

    def _written(
        self, *, frames: tuple[_Frame, ...] | None = None, edge: str | None = None, is_nested: bool = False
    ) -> "TreePrefix":
        frames = self._frames if frames is None else frames
        return replace(self, _frames=frames, edge=edge, is_nested=is_nested, num_symbols=self.num_symbols + 1)

    def _places(self, symbol: str) -> int:
        """The tokens that a node can be which is written next."""
        tree = self._tree
        if symbol in tree.arguments:
            places = tree.arguments[symbol]
        else:
            places = tree.reading.token_bits(tree.vocabulary.tokens[symbol])
        return places & self._candidates()

    def _candidates(self) -> int:
        if self.edge is None:
            return self._tree.reading.all_bits
        return self._tree.reached(self.edge, self._frames[-1].places)

    def _node_symbols(self, num_more: int = 0) -> frozenset[str]:
        """The nodes that may be written next, where so many symbols are written before."""
        tree = self._tree
        viable = frozenset(
            place
            for place in bits_of(self._candidates() & tree.passable)
            if self._with_place(1 << place, self.missing)._is_viable(num_more)
        )
        tokens = frozenset().union(*(tree.passing[place] for place in viable))
        return tokens | frozenset(
            symbol
            for symbol, places in tree.arguments.items()
            if tree.role(symbol) in self.missing
            and any(
                self._with_place(1 << place, self.missing - {tree.role(symbol)})._is_viable(num_more)
                for place in bits_of(places & self._candidates())
            )
        )

    def _with_node(self, symbol: str, places: int) -> "TreePrefix":
        is_argument = symbol in self._tree.arguments
        return self._with_place(places, self.missing - {self._tree.role(symbol)} if is_argument else self.missing)

    def _with_place(self, places: int, missing: frozenset[Role]) -> "TreePrefix":
        """With a node that can be these tokens."""
        if self.edge is None or self.is_nested:
            frames = (*self._frames, _Frame(places, self.edge))
        else:
            outer = self._frames[-1]
            starts = outer.places & self._tree.starts(self.edge, places)
            frames = (*self._frames[:-1], outer._replace(places=starts, has_branch=True))
        return replace(self._written(frames=frames), missing=missing)

    def _closed(self) -> tuple[_Frame, ...]:
        outer, inner = self._frames[-2:]
        starts = outer.places & self._tree.starts(inner.edge or "", inner.places)
        return (*self._frames[:-2], outer._replace(places=starts, has_branch=True))

    def _is_viable(self, num_more: int) -> bool:
        """Whether a rule can be completed, where so many symbols are written besides; a node was written last."""
        left = self._tree.most_symbols - self.num_symbols - num_more - (len(self._frames) - 1)
        unknown = dict.fromkeys(self.missing, float("inf"))
        return self._least(0, self._frames[0].places, unknown) <= left

    def _least(self, level: int, places: int, costs: Mapping[Role, float]) -> float:
        """The fewest symbols that complete a rule whose nodes from this bracket on are to be found.

        Args:
            places: the tokens that the node of the bracket can be.
            costs: how many symbols lead to each missing argument from the brackets outside.
        """
        least = float("inf")
        for place in bits_of(places):
            here = {role: self._tree.costs[role].get(place, float("inf")) for role in costs}
            both = {role: min(cost, here[role]) for role, cost in costs.items()}
            if level == len(self._frames) - 1:
                least = min(least, sum(both.values()) + self._branch_cost(place, here, both))
            else:
                inner = self._frames[level + 1]
                reached = self._tree.reached(inner.edge or "", 1 << place) & inner.places
                least = min(least, self._least(level + 1, reached, both))
        return least

    def _branch_cost(self, place: int, here: Mapping[Role, float], both: Mapping[Role, float]) -> float:
        """How many symbols more the innermost bracket takes, which closes only behind a branch."""
        if len(self._frames) == 1 or self._frames[-1].has_branch:
            return 0
        shortest = _BRANCH if self._tree.branching >> place & 1 else float("inf")
        return min([shortest, *(here[role] - both[role] for role in here if here[role] < float("inf"))])
