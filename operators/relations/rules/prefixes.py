"""Beginnings of rules that can still become a rule that matches a given sentence: what a decoder may write next.

Rules over tokens (:mod:`.surface_prefixes`) and, where the sentence has a tree and the vocabulary names of
dependencies, rules over trees (:mod:`.tree_prefixes`) begin alike; a prefix is of both kinds until a symbol tells. Each
prefix can be completed, and each rule that is completed parses, matches, and has both arguments.

Each part that is written matches something of this sentence: an optional word that isn't there is not written, though
the rule would match with it; nor are optional dependencies and choices between them.
"""

from dataclasses import dataclass, replace

from tiltmeter.operators.relations.instances import Instance
from tiltmeter.operators.relations.rules.grammar import Rule
from tiltmeter.operators.relations.rules.parsing import from_symbols
from tiltmeter.operators.relations.rules.reading import Reading
from tiltmeter.operators.relations.rules.regexes import RuleError
from tiltmeter.operators.relations.rules.surface_prefixes import SurfacePrefix
from tiltmeter.operators.relations.rules.tree_prefixes import TreePrefix
from tiltmeter.operators.relations.rules.vocabulary import END, RuleVocabulary

__all__ = ["END", "RulePrefix", "RuleVocabulary"]


@dataclass(frozen=True)
class RulePrefix:
    """The symbols that have been written for an instance; made by :meth:`start`, continued by :meth:`advance`.

    Attributes:
        reason: why no rule can be written for this instance; None: one can.
        symbols: what has been written, without :data:`END`.
        is_ended: whether :data:`END` was, so that nothing more is allowed.
    """

    _kinds: tuple[SurfacePrefix | TreePrefix, ...]
    reason: str | None
    symbols: tuple[str, ...] = ()
    is_ended: bool = False

    @classmethod
    def start(
        cls, instance: Instance, vocabulary: RuleVocabulary, *, most_symbols: int = 100, most_depth: int = 1
    ) -> "RulePrefix":
        """The empty prefix.

        Args:
            vocabulary: the symbols that may be written.
            most_symbols: how many a rule may have, without :data:`END`.
            most_depth: how many brackets may stand inside of each other in a rule over tokens.

        Raises:
            RegexTimeout: if an expression of the vocabulary takes too long with a word of the sentence.

        >>> from tiltmeter.operators.relations.instances import Sentence, Span
        >>> instance = Instance(Sentence(("Ada", ",", "wife", "of", "King")), Span(0, 1), Span(4, 5))
        >>> symbols = ["SUBJ", "OBJ", '","', '"wife"', '"son"', "/wife|son/", '"of"', "[]", "+"]
        >>> prefix = RulePrefix.start(instance, RuleVocabulary(symbols))
        >>> prefix = prefix.advance("SUBJ").advance('","')
        >>> sorted(prefix.allowed())
        ['"wife"', '+', '/wife|son/', '[]']
        >>> prefix = prefix.advance("/wife|son/").advance('"of"').advance("OBJ")
        >>> prefix.allowed() == {END}
        True
        """
        reading = Reading(instance)
        surface = SurfacePrefix.start(reading, vocabulary, most_symbols, most_depth)
        tree = TreePrefix.start(reading, vocabulary, most_symbols)
        kinds: tuple[SurfacePrefix | TreePrefix, ...] = () if surface.reason else (surface,)
        kinds += (tree,) if tree and tree.allowed() else ()
        return cls(kinds, None if kinds else surface.reason)

    @property
    def is_complete(self) -> bool:
        """Whether what has been written is a rule."""
        return any(kind.is_complete for kind in self._kinds)

    def rule(self) -> Rule:
        """The rule that has been written.

        Raises:
            RuleError: if it is not complete.
        """
        return from_symbols(self.symbols)

    def allowed(self) -> frozenset[str]:
        """The symbols that may be written next, :data:`END` included where a rule is complete; none behind it."""
        if self.is_ended:
            return frozenset()
        ends = frozenset([END]) if self.is_complete else frozenset()
        return ends.union(*(kind.allowed() for kind in self._kinds))

    def advance(self, symbol: str) -> "RulePrefix":
        """The prefix with one more symbol.

        Raises:
            RuleError: if it is not allowed.
        """
        if symbol == END and self.is_complete and not self.is_ended:
            return replace(self, is_ended=True)
        kinds = () if self.is_ended else tuple(kind.advance(symbol) for kind in self._kinds if symbol in kind.allowed())
        if not kinds:
            raise RuleError(f"{symbol!r} may not be written behind {' '.join(self.symbols)!r}")
        return replace(self, _kinds=kinds, symbols=(*self.symbols, symbol))
