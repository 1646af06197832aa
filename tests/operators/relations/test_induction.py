import pytest

from tests.operators.relations import brute_force
from tiltmeter.operators.compute.generators import keyed_generator
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.compute.philox import Stream
from tiltmeter.operators.relations.induction import Induction, Matches, induced_rules
from tiltmeter.operators.relations.instances import Instance, Sentence, Span
from tiltmeter.operators.relations.rules.printing import printed

FILLERS = ["the", "a", "old", "of", "and", "with", "new", "big"]


def corpus(num, relation_of):
    """Sentences of two names with up to four words between, of which "sails" and "for" may be some."""
    generator = keyed_generator(0, Stream.RELATION_RULES, 1)
    instances = []
    for number in range(num):
        middle = [str(word) for word in generator.choice(FILLERS, generator.integers(0, 3))]
        sails = bool(generator.integers(2))
        words = [*middle[:1], *(["sails", "for"] if sails else ["waits", "for"]), *middle[1:]]
        tokens = ("Ada", *words, "Acme", ".")
        instances.append(
            Instance(
                Sentence(tokens),
                Span(0, 1),
                Span(len(tokens) - 2, len(tokens) - 1),
                relation_of(sails, generator),
                *("PERSON", "COMPANY"),
                document=f"d{number}",
                row=number,
            )
        )
    return instances


def test_what_tells_a_relation_becomes_its_rule():
    instances = corpus(80, lambda sails, _: "employee" if sails else "no_relation")
    [rule] = induced_rules(instances, Induction(), seed=2)
    assert (rule.rule.rule_id, rule.rule.relation, rule.rule.source) == ("employee#1", "employee", "induced")
    assert '"sails"' in printed(rule.rule.rule)
    assert 'OBJ[ner="COMPANY"]' in printed(rule.rule.rule)
    for counts, is_first in ((rule.proposed, True), (rule.confirmed, False)):
        half = [one for one in instances if document_key(f"2\nhalf\n{one.document}") % 2 != is_first]
        matched = [one for one in half if brute_force.matches(rule.rule.rule, one)]
        assert counts == (len(matched), sum(one.relation == "employee" for one in matched))
        assert counts.matched == counts.right > 10


def test_chance_is_precise_where_it_was_chosen_and_not_in_the_other_half():
    instances = corpus(400, lambda _, generator: "x" if generator.random() < 0.5 else "no_relation")
    taken = Induction(min_precision=0.7, min_confirmed=0.0)
    rules = induced_rules(instances, taken, seed=0)
    matched, right = (sum(rule.confirmed[place] for rule in rules) for place in (0, 1))
    proposed = Matches(*(sum(rule.proposed[place] for rule in rules) for place in (0, 1)))
    assert len(rules) > 3
    assert proposed.laplace > 0.7
    assert Matches(matched, right).laplace < 0.6
    strict = induced_rules(instances, Induction(min_precision=0.7, min_confirmed=0.7), seed=0)
    assert len(strict) < len(rules) / 2


def test_the_order_of_instances_does_not_matter():
    instances = corpus(60, lambda sails, _: "employee" if sails else "no_relation")
    texts = [
        {(printed(rule.rule.rule), rule.confirmed) for rule in induced_rules(each, Induction(max_instances=10), seed=3)}
        for each in (instances, instances[::-1])
    ]
    assert texts[0] == texts[1]
    assert texts[0]


def test_annotations_generalise_words():
    def instance(name, word, lemma, relation):
        sentence = Sentence(("Ada", word, "Acme"), lemmas=("Ada", lemma, "Acme"), pos=("N", "V", "N"))
        return Instance(sentence, Span(0, 1), Span(2, 3), relation, document=name)

    instances = [instance(f"d{number}", f"sail{number}", "sail", "x") for number in range(30)]
    instances += [instance(f"o{number}", "saw", "see", "no_relation") for number in range(30)]
    [rule] = induced_rules(instances, Induction(), seed=0)
    assert printed(rule.rule.rule) == 'SUBJ [lemma="sail"] OBJ'


@pytest.mark.parametrize("no_type", ["O", ""])
def test_no_type_is_none_that_a_rule_could_ask_for(no_type):
    def instance(name, lemma, ner, relation):
        sentence = Sentence(("Ada", name, "Acme"), lemmas=("Ada", lemma, "Acme"), ner=("PERSON", ner, "COMPANY"))
        return Instance(sentence, Span(0, 1), Span(2, 3), relation, document=name)

    instances = [instance(f"d{at}", ("sail", "steer")[at % 2], no_type, "x") for at in range(60)]
    instances += [instance(f"o{at}", "see", "DATE", "no_relation") for at in range(30)]
    rules = {printed(rule.rule.rule) for rule in induced_rules(instances, Induction(), seed=0)}
    assert rules == {'SUBJ [lemma="sail"] OBJ', 'SUBJ [lemma="steer"] OBJ'}


@pytest.mark.parametrize("change", [{"min_support": 40}, {"max_between": 1}, {"min_precision": 1.0}])
def test_what_is_too_rare_too_far_or_not_precise_is_not_taken(change):
    instances = corpus(60, lambda sails, _: "employee" if sails else "no_relation")
    assert induced_rules(instances, Induction(**change), seed=0) == []
    for relation in ("no_relation", None):
        assert induced_rules(corpus(20, lambda *_, relation=relation: relation), Induction(), seed=0) == []
