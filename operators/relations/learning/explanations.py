"""Rules that a model writes of instances, how good each is, and what a prediction does without the tokens it names."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from tiltmeter.operators.relations.instances import Instance
from tiltmeter.operators.relations.learning.decoding import Writer, Written
from tiltmeter.operators.relations.learning.examples import END
from tiltmeter.operators.relations.learning.models import RelationModel
from tiltmeter.operators.relations.masking import masked_tokens
from tiltmeter.operators.relations.naming import named_tokens
from tiltmeter.operators.relations.rules.matching import matches as is_match
from tiltmeter.operators.relations.rules.parsing import from_symbols, parsed
from tiltmeter.operators.relations.rules.prefixes import RulePrefix, RuleVocabulary
from tiltmeter.operators.relations.rules.printing import printed, rule_symbols
from tiltmeter.operators.relations.rules.regexes import RegexTimeout, RuleError

Decoder = Literal["published", "constrained", "retrieval"]
"""Free, bound to match the instance, or picked among known rules."""


class Question(NamedTuple):
    """An instance of which rules are written.

    Attributes:
        predicted: relation, by the model; of one without a classifier, the one that holds.
        references: prints of the rules that match and say what holds.
        known: prints of all known rules that match.
    """

    instance: Instance
    predicted: str
    references: frozenset[str]
    known: tuple[str, ...]


@dataclass
class Explanation:
    """What is written of an instance, None of what is not known.

    Attributes:
        is_exact: whether it is a reference; None where there is none.
        status, reason: why there is no rule, in a word and in a sentence.
        tokens: that it names.
        comprehensiveness, random_comprehensiveness, sufficiency: falls of the probability of what is predicted where
            these are hidden, as many others, or all others (:mod:`..masking`).
    """

    is_exact: bool | None
    status: str = "ok"
    reason: str = ""
    rule: str | None = None
    parses: bool | None = None
    matches: bool | None = None
    log_probability: float | None = None
    tokens: Sequence[str] | None = None
    comprehensiveness: float | None = None
    random_comprehensiveness: float | None = None
    sufficiency: float | None = None


class RuleWriter:
    """A model that writes, with what it needs for it; ``seed``: of the tokens that are drawn."""

    def __init__(self, model: RelationModel, seed: int) -> None:
        self._model, self._seed = model, seed
        self._writer = Writer(model.network, model.vocabulary.symbols, model.decoder.max_length)
        self._symbols = RuleVocabulary(model.vocabulary.symbols[END + 1 :])

    def explain(self, question: Question, decoder: Decoder) -> Explanation:
        """What a decoder writes of an instance, and how good it is."""
        made = Explanation(is_exact=False if question.references else None)
        try:
            self._explain(made, question, decoder)
        except RegexTimeout as error:
            made.status, made.reason = "timeout", str(error)
        return made

    def _explain(self, made: Explanation, question: Question, decoder: Decoder) -> None:
        """Nothing of it is filled in before all expressions have been run that may take too long."""
        written = self._written(question, decoder)
        if written.symbols is None:
            made.status, made.reason = "no_rule", written.reason
            return
        try:
            rule = from_symbols(written.symbols)
        except RuleError as error:
            made.status, made.reason = "no_parse", str(error)
            made.rule, made.log_probability = " ".join(written.symbols), written.log_probability
            made.parses = made.matches = False
            return
        matches, places = is_match(rule, question.instance), named_tokens(rule, question.instance)
        made.rule, made.log_probability = printed(rule), written.log_probability
        made.parses, made.matches = True, matches
        if question.references:
            made.is_exact = made.rule in question.references
        self._hide(made, question, places)

    def _written(self, question: Question, decoder: Decoder) -> Written:
        example = self._model.reader.example(question.instance)
        if decoder == "published":
            return self._writer.free(example)
        if decoder == "constrained":
            most = self._model.decoder.max_length
            prefix = RulePrefix.start(question.instance, self._symbols, most_symbols=most)
            return self._writer.constrained(example, prefix, self._model.decoder.beam)
        return self._writer.among(example, [rule_symbols(parsed(text)) for text in question.known])

    def _hide(self, made: Explanation, question: Question, places: Sequence[int]) -> None:
        """The tokens that it names, and what is predicted without them."""
        instance = question.instance
        made.tokens = [instance.sentence.tokens[place] for place in places]
        number = self._model.vocabulary.numbers["relations"].get(question.predicted)
        if self._model.network.classifier is None or number is None or not places:
            return
        masked = masked_tokens(instance, places, self._seed)
        shares = self._model.probabilities([instance] * 4, [(), *masked])[:, number]
        made.comprehensiveness, made.random_comprehensiveness, made.sufficiency = (shares[0] - shares[1:]).tolist()
