"""Relations between two arguments of a sentence, and rules that explain them (Tang and Surdeanu 2021).

Sentence, Span, Instance  what a relation is read from
NamedRule                 a rule with the relation that it stands for
parsed, printed           between a rule and its one print
rule_symbols              the symbols that a decoder writes of it
matches                   whether a rule matches an instance
RuleIndex                 which of thousands of rules match
RulePrefix                what a decoder may write next, so that the rule matches, of a :class:`RuleVocabulary`

>>> rule = parsed('SUBJ "," /wife|husband/ "of" OBJ')
>>> rule_symbols(rule)
('SUBJ', '","', '/wife|husband/', '"of"', 'OBJ')
>>> matches(rule, Instance(Sentence(("Ada", ",", "wife", "of", "King")), subject=Span(0, 1), object=Span(4, 5)))
True
"""

from tiltmeter.operators.relations.instances import Instance, Sentence, Span
from tiltmeter.operators.relations.rules.grammar import NamedRule
from tiltmeter.operators.relations.rules.index import RuleIndex
from tiltmeter.operators.relations.rules.matching import matches
from tiltmeter.operators.relations.rules.parsing import parsed
from tiltmeter.operators.relations.rules.prefixes import RulePrefix
from tiltmeter.operators.relations.rules.printing import printed, rule_symbols

__all__ = [
    "Instance",
    "NamedRule",
    "RuleIndex",
    "RulePrefix",
    "Sentence",
    "Span",
    "matches",
    "parsed",
    "printed",
    "rule_symbols",
]
