"""Tang and Surdeanu 2021: the released rules, what comes of BLEU without reading, and rules on public sentences."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import nltk.translate.bleu_score

from benchmarks.command import DATA
from benchmarks.papers.figures import Figure, compared
from tiltmeter.operators.relations import floors
from tiltmeter.operators.relations.bleu import corpus_bleu, published_tokens
from tiltmeter.operators.relations.induction import Induction, induced_rules
from tiltmeter.operators.relations.instances import NO_RELATION, Instance
from tiltmeter.operators.relations.rows import instance_of
from tiltmeter.operators.relations.rules.foreign.translation import Written, translated
from tiltmeter.operators.relations.rules.grammar import NamedRule, SurfaceRule
from tiltmeter.operators.relations.rules.index import RuleIndex
from tiltmeter.operators.relations.rules.parsing import parsed
from tiltmeter.operators.relations.rules.printing import printed
from tiltmeter.storage.relations.rules import read_mappings, read_rule_tags, read_rules
from tiltmeter.storage.relations.sentences import read_relations

TITLE = "Tang and Surdeanu 2021, Interpretability Rules"
PAGE = "relation_rules"

_TACRED, _CONLL = "relations/tacred_rules", "relations/conll04"
_RULES, _GRAMMAR = f"{_TACRED}/rules.json", f"{_CONLL}/grammars/master.yml"
_PARTS = ("train", "dev", "test")
DATA_FILES = [
    _RULES,
    _GRAMMAR,
    *(f"{_TACRED}/mappings_{part}.txt" for part in (*_PARTS, "train_ssl")),
    *(f"{_CONLL}/{name.format(part)}" for part in _PARTS for name in ("conll04_{}.json", "rule_tags_{}.txt")),
]

_NUM_SPECIAL = 4
"""Symbols of the released vocabulary beside the tokens of rules."""

_TYPES = {"Person": "Peop", "Organization": "Org", "Location": "Loc", "Misc": "Other"}
_PRINTED_BLEU = {
    "rule-only data, joint": 90.3,
    "rule-only data, without classifier": 88.3,
    "rules and TACRED, joint": 92.4,
    "rules and TACRED, without classifier": 91.6,
}
_NOT_PRINTED, _RELEASE = "–", "the print differs from the release"


class Scores(NamedTuple):
    """Of what rules say of pairs."""

    precision: float
    recall: float
    f1: float

    def __str__(self) -> str:
        return " / ".join(f"{100 * value:.1f}" for value in self)


def figures() -> list[Figure]:
    """What the paper prints, beside what its own files or public sentences come to."""
    return [*_language(), *_rows(), *_floors(), *_public()]


def _language() -> Iterator[Figure]:
    texts = read_rules(str(DATA / _RULES))
    rules, others = translated(Written(text.rule_id, "", text.pattern) for text in texts)
    read_back = [rule for rule in rules if parsed(printed(rule.rule)) == rule.rule]
    num_surface = sum(isinstance(rule.rule, SurfaceRule) for rule in read_back)
    yield compared("section 4", "surface rules that parse and print back", 4528, num_surface)
    yield compared("section 4", "dependency rules that do", 169, len(read_back) - num_surface, otherwise=_RELEASE)
    yield Figure("", "released rules that are not understood", _NOT_PRINTED, str(len(others)), "")
    vocabulary = {token for text in texts for token in published_tokens(text.pattern)}
    size = len(vocabulary) + _NUM_SPECIAL
    yield compared("table 4", "symbols of the decoder, on the published tokenisation", 1141, size)
    prints = {printed(rule.rule) for rule in rules}
    yield Figure("", "different rules among the released", _NOT_PRINTED, str(len(prints)), "")


def _rows() -> Iterator[Figure]:
    rule_only = _mappings("train_ssl")
    matched = sum(row is not None for row in rule_only)
    yield compared("appendix", "positive rows of rule-only data", 3850, matched)
    yield compared("appendix", "negative rows of rule-only data", 12311, len(rule_only) - matched)
    training = _mappings("train")
    right, hits = (sum(bool(row) for row in training), sum(row is not None for row in training))
    yield Figure("", "precision of the rules in training, %", _NOT_PRINTED, f"{100 * right / hits:.1f}", "")
    num_test = sum(bool(row) for row in _mappings("test"))
    yield compared("section 4", "test rows with a rule", 750, num_test, otherwise=_RELEASE)


def _floors() -> Iterator[Figure]:
    texts = {text.rule_id: tuple(published_tokens(text.pattern)) for text in read_rules(str(DATA / _RULES))}
    training = [row for row in _mappings("train") if row]
    frequent, constant = floors.frequent_rules(training), texts[floors.most_frequent_rule(training)]
    test = [row for row in _mappings("test") if row]
    floor = floors.floor_scores(test, frequent, texts)
    for name, bleu in _PRINTED_BLEU.items():
        verdict = "below what comes of not reading" if bleu < 100 * floor.bleu else "above by so little"
        yield Figure("table 1", f"BLEU, {name}; beside it the floor", f"{bleu}", f"{100 * floor.bleu:.1f}", verdict)
    for part, rows in (("development", [row for row in _mappings("dev") if row]), ("test", test)):
        scores = floors.floor_scores(rows, frequent, texts)
        values = {"BLEU": scores.bleu, "exact": scores.exact, "exact, mean over rules": scores.exact_by_rule}
        values["exact, mean over relations"] = scores.exact_by_relation
        values["BLEU of one rule for all"] = floors.rule_scores(rows, [constant] * len(rows), texts).bleu
        for name, value in values.items():
            yield Figure("", f"floor of {part} ({scores.num} rows): {name}", _NOT_PRINTED, f"{value:.4f}", "")
    yield Figure("", "largest difference of BLEU from NLTK's", _NOT_PRINTED, f"{_difference(frequent, texts):.0e}", "")


def _difference(frequent: dict[str, str], texts: dict[str, tuple[str, ...]]) -> float:
    """Of the floors of development and test, of all rows and of each one alone."""
    largest = 0.0
    for part in ("dev", "test"):
        rows = [row for row in _mappings(part) if row]
        references = [[list(texts[rule]) for _, rule in row] for row in rows]
        written = [list(texts.get(frequent.get(floors.relation_key(row[0][0]), ""), ())) for row in rows]
        pairs = [(references, written), *(([one], [other]) for one, other in zip(references, written, strict=True))]
        largest = max(largest, *(abs(corpus_bleu(*pair) - _of_nltk(*pair)) for pair in pairs))
    return largest


def _of_nltk(references: Sequence[Sequence[Sequence[str]]], written: Sequence[Sequence[str]]) -> float:
    return float(nltk.translate.bleu_score.corpus_bleu(references, written))


def _public() -> Iterator[Figure]:
    for part in _PARTS:
        tags = [tag.relation for tag in read_rule_tags(str(DATA / f"{_CONLL}/rule_tags_{part}.txt"))]
        scores = _scores(tags, _sentences(part))
        yield Figure("", f"CoNLL04, {part}: the published grammars' tags, P / R / F1", _NOT_PRINTED, str(scores), "")
    shape = "the same shape on TACRED's test: rules alone, P / R / F1"
    yield Figure("table 1", shape, "86.9 / 23.2 / 36.6", _NOT_PRINTED, "")
    yield from _translated_grammar()
    rules = [rule.rule for rule in induced_rules(_sentences("train"), Induction(), seed=0)]
    for part in ("dev", "test"):
        name = f"CoNLL04, {part}: {len(rules)} rules mined from training, P / R / F1"
        yield Figure("", name, _NOT_PRINTED, str(_scores(_said(rules, _sentences(part)), _sentences(part))), "")


def _translated_grammar() -> Iterator[Figure]:
    """The one rule of the grammars that needs no tree, beside the tags that rest on its comma."""
    grammar = [rule for rule in read_rules(str(DATA / _GRAMMAR)) if rule.relation[:5] not in ("SUBJ_", "OBJ_O")]
    written = (Written(rule.rule_id, rule.relation, rule.pattern, rule.language) for rule in grammar)
    rules = [rule for rule in translated(written, types=_TYPES)[0] if isinstance(rule.rule, SurfaceRule)]
    sentences, tags = _sentences("test"), read_rule_tags(str(DATA / f"{_CONLL}/rule_tags_test.txt"))
    said = _said(rules, sentences)
    both = sum(ours == tag.relation != NO_RELATION for ours, tag in zip(said, tags, strict=True))
    ours, theirs = _hits(said), _hits([tag.relation for tag in tags])
    name = "CoNLL04, test: hits of the grammars' rule over tokens, and of these tagged alike"
    yield Figure("", name, str(theirs), f"{ours}, {both}", "the other hits need trees")


def _said(rules: Sequence[NamedRule], instances: Sequence[Instance]) -> list[str]:
    index = RuleIndex(rules)
    matches = (index.matching(instance) for instance in instances)
    return [matched[0].relation if matched else NO_RELATION for matched in matches]


def _hits(relations: Sequence[str]) -> int:
    return sum(relation != NO_RELATION for relation in relations)


def _scores(said: Sequence[str], instances: Sequence[Instance]) -> Scores:
    gold = [instance.relation for instance in instances]
    hits, positive = _hits(said), _hits(gold)
    right = sum(one == other != NO_RELATION for one, other in zip(said, gold, strict=True))
    return Scores(right / hits, right / positive, 2 * right / (hits + positive))


def _sentences(part: str) -> list[Instance]:
    return [instance_of(row) for row in read_relations(str(DATA / f"{_CONLL}/conll04_{part}.json"))]


def _mappings(part: str) -> list[floors.Matched | None]:
    return list(read_mappings(str(DATA / f"{_TACRED}/mappings_{part}.txt")))
