"""Speed of thousands of rules over sentences on one core, beside one rule after the other and spaCy's Matcher.

    python -m benchmarks.rule_matching [--instances <number>] [--brute-force <pairs>]

The rules are the released ones over tokens and trees; the sentences those of UD English-EWT with words, lemmas, tags
and trees, in each of which two nouns at most eight tokens apart are drawn as arguments, of types that are drawn too.
Speed is in pairs of a rule and an instance per second, the best of three passes. A part of the pairs, half of them of
instances that some rule matches, is matched by brute force as well. spaCy is left out where it is not installed; the
project doesn't need it. It is given the rules over tokens without brackets, of which it finds every match, also those
in which an argument is there in part.
"""

import argparse
import importlib.util
import time
from collections.abc import Callable, Iterator, Sequence, Sized
from typing import Any

import polars as pl

from benchmarks.command import DATA
from tests.operators.relations import brute_force
from tiltmeter.operators.compute.generators import keyed_generator
from tiltmeter.operators.compute.philox import Stream
from tiltmeter.operators.relations.instances import Instance, Sentence, Span
from tiltmeter.operators.relations.rules.foreign.translation import Written, translated
from tiltmeter.operators.relations.rules.grammar import Argument, Group, Item, NamedRule, SurfaceRule, Test, Token
from tiltmeter.operators.relations.rules.index import RuleIndex
from tiltmeter.operators.relations.rules.matching import matches
from tiltmeter.operators.relations.rules.printing import quantifier_symbol
from tiltmeter.storage.relations.rules import read_rules

_RULES, _SENTENCES = "relations/tacred_rules/rules.json", "ud_english_ewt/sentences.parquet"
_TYPES = ["PERSON", "ORGANIZATION", "CITY", "TITLE", "DATE"]
_MOST_BETWEEN = 8
_PASSES = 3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--instances", type=int, default=2_000)
    parser.add_argument("--brute-force", type=int, default=100_000, help="pairs")
    arguments = parser.parse_args()
    rules = released_rules()
    instances = list(drawn_instances(arguments.instances))
    index = RuleIndex(rules)
    print(f"{len(rules)} rules, {len(instances)} instances")
    _report("index", rules, instances, lambda: [index.matching_numbers(each) for each in instances])
    few = instances[:20]
    _report("one after the other", rules, few, lambda: [_one_by_one(rules, each) for each in few])
    half = max(1, arguments.brute_force // len(rules) // 2)
    matched = [each for each in instances if index.matching_numbers(each)]
    _compare(rules, index, [*matched[:half], *instances[-half:]])
    surface = [rule for rule in rules if isinstance(rule.rule, SurfaceRule) and _is_flat(rule.rule)]
    if importlib.util.find_spec("spacy"):
        _beside_spacy(surface, instances)


def released_rules() -> list[NamedRule]:
    """All that are released."""
    texts = read_rules(str(DATA / _RULES))
    rules, _ = translated(Written(text.rule_id, "", text.pattern) for text in texts)
    return rules


def drawn_instances(num: int) -> Iterator[Instance]:
    """Pairs of nouns, one of each sentence that has some near enough."""
    draws = keyed_generator(0, Stream.RELATION_RULES, 2)
    rows = pl.read_parquet(DATA / _SENTENCES).iter_rows(named=True)
    for row in rows:
        if num == 0:
            return
        nouns = [place for place, tag in enumerate(row["upos"]) if tag in ("NOUN", "PROPN")]
        pairs = [(a, b) for a in nouns for b in nouns if a != b and abs(a - b) <= _MOST_BETWEEN + 1]
        if pairs:
            subject, object_ = pairs[draws.integers(len(pairs))]
            kinds = [str(kind) for kind in draws.choice(_TYPES, 2)]
            yield Instance(_sentence(row), Span(subject, subject + 1), Span(object_, object_ + 1), None, *kinds)
            num -= 1


def _sentence(row: dict[str, Any]) -> Sentence:
    columns = (tuple(row[name]) for name in ("tokens", "lemma", "xpos"))
    heads = tuple(head - 1 for head in row["head"])
    return Sentence(*columns, ("O",) * len(heads), heads, tuple(row["deprel"]))


def _report(name: str, rules: Sequence[Any], instances: Sequence[Any], work: Callable[[], Sequence[Sized]]) -> float:
    seconds, found = _timed(work)
    speed = len(rules) * len(instances) / seconds
    print(f"{name:24} {speed:14,.0f} pairs/s   {seconds / len(instances) * 1e3:8.2f} ms an instance   {found} matches")
    return speed


def _timed(work: Callable[[], Sequence[Any]]) -> tuple[float, int]:
    best, found = float("inf"), 0
    for _ in range(_PASSES):
        start = time.perf_counter()
        found = sum(map(len, work()))
        best = min(best, time.perf_counter() - start)
    return best, found


def _one_by_one(rules: Sequence[NamedRule], instance: Instance) -> list[int]:
    return [number for number, rule in enumerate(rules) if matches(rule.rule, instance)]


def _compare(rules: Sequence[NamedRule], index: RuleIndex, instances: Sequence[Instance]) -> None:
    differences, found = 0, 0
    for instance in instances:
        expected = {number for number, rule in enumerate(rules) if brute_force.matches(rule.rule, instance)}
        differences += len(expected ^ {*index.matching_numbers(instance)})
        found += len(expected)
    print(f"brute force on {len(rules) * len(instances):,} pairs: {differences} differences, {found} matches")


def _is_flat(rule: SurfaceRule) -> bool:
    return not any(isinstance(item.atom, Group) for side in rule.sides for item in side)


def _beside_spacy(rules: Sequence[NamedRule], instances: Sequence[Instance]) -> None:
    import spacy
    from spacy.matcher import Matcher

    nlp = spacy.blank("en")
    matcher = Matcher(nlp.vocab)
    for rule in rules:
        matcher.add(rule.rule_id, [list(_spacy_pattern(rule.rule))])
    texts = [_spacy_doc(nlp.vocab, each) for each in instances]
    index = RuleIndex(rules)
    ours = _report("index, flat rules", rules, instances, lambda: [index.matching_numbers(each) for each in instances])
    few = texts[:200]
    theirs = _report("spaCy's Matcher", rules, few, lambda: [{name for name, _, _ in matcher(text)} for text in few])
    print(f"{ours / theirs:.1f} times spaCy's Matcher")
    names = [{nlp.vocab.strings[name] for name, _, _ in matcher(text)} for text in few]
    same = sum(names[n] == {rule.rule_id for rule in index.matching(instances[n])} for n in range(len(few)))
    print(f"the same rules in {same} of {len(few)} instances")


def _spacy_pattern(rule: SurfaceRule) -> Iterator[dict[str, Any]]:
    yield from map(_spacy_item, rule.sides[0])
    for argument, side in zip(rule.arguments, rule.sides[1:], strict=True):
        yield _spacy_argument(argument)
        yield from map(_spacy_item, side)


def _spacy_argument(argument: Argument) -> dict[str, Any]:
    mark = {"DEP": argument.role} | _spacy_tests(argument.tests)
    return mark if argument.is_single else mark | {"OP": "+"}


def _spacy_item(item: Item) -> dict[str, Any]:
    assert isinstance(item.atom, Token)
    tests = _spacy_tests(item.atom.tests)
    return tests if item.quantifier is None else tests | {"OP": quantifier_symbol(item.quantifier)}


def _spacy_tests(tests: Sequence[Test]) -> dict[str, Any]:
    names = {"word": "ORTH", "lemma": "LEMMA", "pos": "TAG", "ner": "ENT_TYPE"}
    return {
        "TEXT" if test.field == "word" and test.value.is_regex else names[test.field]: {
            "REGEX": f"^(?:{test.value.text})$"
        }
        if test.value.is_regex
        else test.value.text
        for test in tests
    }


def _spacy_doc(vocab: Any, instance: Instance) -> Any:
    from spacy.tokens import Doc

    sentence = instance.sentence
    deps, ents = ["x"] * len(sentence.tokens), ["O"] * len(sentence.tokens)
    for role, kind in (("subject", instance.subject_type), ("object", instance.object_type)):
        span = instance.subject if role == "subject" else instance.object
        deps[span.start : span.end] = [role] * (span.end - span.start)
        ents[span.start : span.end] = [f"B-{kind}"] + [f"I-{kind}"] * (span.end - span.start - 1)
    return Doc(
        vocab,
        words=list(sentence.tokens),
        lemmas=list(sentence.lemmas or ()),
        tags=list(sentence.pos or ()),
        deps=deps,
        heads=[0] * len(deps),
        ents=ents,
    )


if __name__ == "__main__":
    main()
