"""Relations between two arguments of a sentence, and rules that explain them (Tang and Surdeanu 2021).

Sentence, Span, Instance  what a relation is read from
NamedRule                 a rule with the relation that it stands for
parsed, printed           between a rule and its one print
rule_symbols              the symbols that a decoder writes of it

>>> from_symbols(rule_symbols(parsed('SUBJ "," "wife" "of" OBJ'))) == parsed('SUBJ ","  "wife" "of" OBJ')
True
"""

from tiltmeter.operators.relations.instances import Instance, Sentence, Span
from tiltmeter.operators.relations.rules.grammar import NamedRule
from tiltmeter.operators.relations.rules.parsing import from_symbols, parsed
from tiltmeter.operators.relations.rules.printing import printed, rule_symbols

__all__ = ["Instance", "NamedRule", "Sentence", "Span", "from_symbols", "parsed", "printed", "rule_symbols"]
