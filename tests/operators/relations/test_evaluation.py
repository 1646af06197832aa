"""Scores of relations and of written rules, by hand and against scikit-learn and NLTK; BLEU and floors."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nltk.translate import bleu_score
from sklearn.metrics import f1_score, precision_score, recall_score

from tiltmeter.operators.relations.bleu import bleu, bleu_counts, corpus_bleu, published_tokens
from tiltmeter.operators.relations.evaluation import count_relations, estimates, measured, statistics
from tiltmeter.operators.relations.floors import floor_scores, frequent_rules, mean_by, most_frequent_rule, rule_scores
from tiltmeter.operators.relations.rules.foreign.writing import foreign_print
from tiltmeter.operators.relations.rules.parsing import parsed
from tiltmeter.operators.relations.written_measures import shares_of
from tiltmeter.operators.statistics.units import each, units_of

NAMES = ["no_relation", "a", "b(e1,e2)", "b(e2,e1)"]


def drawn(num=200, seed=0):
    draws = np.random.default_rng(seed)
    gold, predicted = (np.array(NAMES)[draws.integers(4, size=num)].tolist() for _ in range(2))
    return gold, predicted, units_of(np.arange(num) // 4, "sentence")


def test_micro_scores_are_those_of_scikit_learn():
    gold, predicted, units = drawn()
    values = measured(count_relations(gold, predicted, units, NAMES).totals())
    for name, score in (("precision", precision_score), ("recall", recall_score), ("f1", f1_score)):
        assert values["all", name] == pytest.approx(score(gold, predicted, labels=NAMES[1:], average="micro"))
        for relation, single in zip(NAMES[1:], score(gold, predicted, labels=NAMES[1:], average=None), strict=True):
            assert values[relation, name] == pytest.approx(single)
    assert values["macro", "f1"] == pytest.approx(f1_score(gold, predicted, labels=NAMES[1:], average="macro"))


def test_official_score_takes_directions_together_and_asks_for_the_right_one():
    gold = ["b(e1,e2)", "b(e1,e2)", "b(e2,e1)", "a"]
    predicted = ["b(e1,e2)", "b(e2,e1)", "b(e2,e1)", "no_relation"]
    values = measured(count_relations(gold, predicted, each(4, "sentence"), NAMES).totals())
    assert values["official", "f1"] == pytest.approx((2 * 2 / (3 + 3) + 0.0) / 2)


def test_a_part_without_relations_has_no_measures_and_no_error():
    none = count_relations(["no_relation"] * 3, ["no_relation"] * 3, each(3, "sentence"), NAMES[:1])
    values, found = measured(none.totals()), statistics([none])
    assert np.isnan(values["all", "f1"])
    assert np.isnan(found["all", "f1"].value)
    assert values["macro", "f1"] == found["macro", "f1"].value == found["official", "f1"].value == 0.0
    assert found["all", "f1"].inferred(each(3, "sentence"), 0.95).status == "too_few_units"


def test_influences_are_how_measures_move_with_the_weight_of_a_unit():
    """Of all measures, mean over two runs, by differences; resamples draw sentences."""
    runs = [count_relations(*drawn(seed=seed), NAMES) for seed in (0, 1)]
    estimate = estimates(runs, seed=0, about=1, num_resamples=20)["all", "f1"]
    assert (estimate.num_texts, estimate.resamples.shape) == (50, (20,))
    assert estimate.value == pytest.approx(np.mean([measured(run.totals())["all", "f1"] for run in runs]))
    step, ones = 1e-5, np.ones(50)
    steps = np.concatenate([ones + step * np.eye(50), ones - step * np.eye(50)])
    moved = [measured(run.totals(steps)) for run in runs]
    a, made = NAMES[1:].index("a"), statistics(runs)
    assert made["a", "recall"].weights.tolist() == np.mean([run.gold[:, a] for run in runs], axis=0).tolist()
    for key, statistic in made.items():
        above, below = np.mean([run[key] for run in moved], axis=0).reshape(2, 50)
        np.testing.assert_allclose(statistic.influence, 50 * (above - below) / (2 * step), atol=1e-6)
        assert statistic.seeds.tolist() == pytest.approx([float(measured(run.totals())[key]) for run in runs])
        assert statistic.value == pytest.approx(statistic.seeds.mean())
        once = [measured(run.totals(np.ones((2, 50), dtype=np.int32)))[key] for run in runs]
        np.testing.assert_allclose(np.mean(once, axis=0), [statistic.value] * 2)


def answer(**changes):
    row = {"rule": 'SUBJ "a" "b" OBJ', "rule_id": "r", "parses": True, "matches": True, "is_faithful": True}
    row |= {"is_exact": True, "comprehensiveness": 0.5, "random_comprehensiveness": 0.1, "sufficiency": 0.2}
    row |= {"unit": 0, "seed": 0, "gold": "x", "predicted": "x", "floor_rule": 'SUBJ "a" OBJ'}
    return row | {"references": ['SUBJ "a" "b" OBJ']} | changes


NOTHING = {"rule": None, "parses": None, "matches": None, "rule_id": None, "is_faithful": None}
FALLS = {"comprehensiveness": None, "random_comprehensiveness": None, "sufficiency": None}
ANSWERS = [
    answer(),
    answer(unit=1),
    answer(unit=2, is_exact=False, rule='SUBJ "a" OBJ', references=['SUBJ "c" OBJ'], gold="y"),
    answer(**NOTHING, **FALLS, unit=3, is_exact=False, predicted="no_relation"),
    answer(unit=4, is_exact=None, references=[], parses=False, matches=False),
]


def test_shares_of_written_rules_by_hand():
    values = {name: (one.value, floor, num) for name, one, _, _, floor, num, _ in shares_of(ANSWERS, "sentence", 0, 10)}
    assert values["writes"] == (0.8, None, 5)
    assert values["parses"] == (0.75, None, 4)
    assert values["is_exact"] == (0.5, 0.0, 4)
    assert values["is_exact_by_relation"][0] == pytest.approx((2 / 3 + 0) / 2)
    assert values["is_exact_by_rule"][0] == pytest.approx((2 / 3 + 0) / 2)
    assert values["comprehensiveness"] == (0.5, None, 4)


def test_sentences_of_an_estimate_are_those_that_it_draws():
    """In the order in which they come, whatever their numbers, and each once."""
    again = [answer(unit=9), *ANSWERS, answer(unit=9)]
    drawn = {share.measure: share for share in shares_of(again, "sentence", 0, 10)}
    sentences = {"writes": [9, 0, 1, 2, 3, 4], "parses": [9, 0, 1, 2, 4]}
    sentences |= {"is_exact": [9, 0, 1, 2, 3], "bleu": [9, 0, 1, 2]}
    assert {name: drawn[name].drawn for name in sentences} == sentences
    assert all(share.estimate.num_texts == len(share.drawn) for share in drawn.values())


def test_answers_of_one_sentence_are_a_unit_and_each_seed_has_its_value():
    """Two models write of five sentences; what differs between them is in the interval."""
    other = [row | {"seed": 1, "is_exact": row["is_exact"] and row["unit"] == 0} for row in ANSWERS]
    found = {one.measure: one for one in shares_of([*ANSWERS, *other], "sentence", 0, 10)}
    exact = found["is_exact"]
    assert (exact.units.num, exact.units.kind, exact.num) == (4, "sentence", 8)
    assert exact.statistic.seeds.tolist() == [0.5, 0.25]
    assert exact.statistic.value == 0.375
    sums = exact.units.sums(exact.statistic.influence)
    np.testing.assert_allclose(sums, [2 - 0.75, 1 - 0.75, -0.75, -0.75])
    rule = found["is_exact_by_rule"].statistic
    assert rule.value == pytest.approx((3 / 6 + 0) / 2)
    assert rule.influence.sum() == pytest.approx(0.0)


def test_bleu_and_its_floor_are_those_of_the_whole():
    values = {name: (one.value, floor, num) for name, one, _, _, floor, num, _ in shares_of(ANSWERS, "sentence", 0, 10)}
    asked = ANSWERS[:3]

    def tokens(text):
        return published_tokens(foreign_print(parsed(text)))

    assert tokens('SUBJ "a" OBJ') == published_tokens('( ([ { kbpentity:true } ]+ ) "a" ([ { slotvalue:true } ]+ ) )')
    references = [[tokens(text) for text in row["references"]] for row in asked]
    for name, place in (("rule", 0), ("floor_rule", 1)):
        whole = corpus_bleu(references, [tokens(row[name]) for row in asked])
        assert values["bleu"][place] == pytest.approx(whole)
    assert values["bleu_all"][2] == 4
    assert values["bleu_all"][0] < values["bleu"][0]
    no_rule = {one.measure: one.estimate for one in shares_of([answer(rule='SUBJ "a" OBJ OBJ')], "sentence", 0, 10)}
    assert 0.0 < no_rule["bleu"].value < 1.0, "of its own tokens"


# --- BLEU and floors --------------------------------------------------------------------------------------------------

tokens = st.lists(st.sampled_from("abc"), max_size=9)
pairs = st.lists(st.tuples(st.lists(tokens, min_size=1, max_size=3), tokens), min_size=1, max_size=5)


def of_nltk(corpus):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return bleu_score.corpus_bleu(*map(list, zip(*corpus, strict=True)))


@pytest.mark.long
@given(pairs)
def test_bleu_is_that_of_nltk(corpus):
    assert corpus_bleu(*zip(*corpus, strict=True)) == pytest.approx(of_nltk(corpus), rel=1e-12, abs=1e-12)


def test_counts_add_up_in_resamples_and_nothing_written_scores_nothing():
    counts = np.stack([bleu_counts([list("abcde")], list(text)) for text in ("abcde", "abxde", "edcba")])
    weights = np.array([[1, 1, 1], [2, 1, 0]])
    drawn = ("abcde", "abxde", "edcba"), ("abcde", "abcde", "abxde")
    expected = [of_nltk([([list("abcde")], list(text)) for text in texts]) for texts in drawn]
    assert bleu(weights @ counts) == pytest.approx(expected, rel=1e-12)
    assert corpus_bleu([[["a"]]], [[]]) == 0.0
    with pytest.raises(ValueError, match="one reference at least"):
        bleu_counts([], ["a"])


def test_published_tokens_have_no_commas():
    assert published_tokens('"," "president"') == published_tokens('"" "president"')
    text = "( ([ { x:true } ]+ ) /(a|b)-c/ )"
    assert " ".join(published_tokens(text)) == "( ( [ { x : true } ] + ) / ( a | b ) - c / )"


TEXTS = {"r1": list("abcde"), "r2": list("abcdf"), "r3": list("vwxyz"), "r4": list("vwxyz!")}
TRAINING = [[("a/b", "r1"), ("a/b", "r2")], [("a/b", "r2")], [("c", "r3")], []]


def test_the_floor_is_the_most_frequent_rule_of_a_relation_by_hand():
    assert frequent_rules(TRAINING) == {"ab": "r2", "c": "r3"}
    assert most_frequent_rule(TRAINING) == "r2"
    with pytest.raises(ValueError, match="no rule agrees"):
        most_frequent_rule([[]])
    rows = [[("ab", "r1"), ("ab", "r2")], [("ab", "r1")], [("c", "r4")], [("new", "r1")]]
    scores = floor_scores(rows, frequent_rules(TRAINING), TEXTS)
    written = [TEXTS["r2"], TEXTS["r2"], TEXTS["r3"], []]
    references = [[TEXTS["r1"], TEXTS["r2"]], [TEXTS["r1"]], [TEXTS["r4"]], [TEXTS["r1"]]]
    assert scores.bleu == corpus_bleu(references, written)
    assert (scores.exact, scores.num) == (0.25, 4)
    # r1 comes first three times and was hit once, r4 never; of the relation ab half, of c and new none.
    assert scores.exact_by_rule == pytest.approx((1 / 3 + 0) / 2)
    assert scores.exact_by_relation == pytest.approx((1 / 2 + 0 + 0) / 3)


def test_what_is_written_right_has_all():
    rows = [[("a", "r1")], [("c", "r3")]]
    assert rule_scores(rows, [TEXTS["r1"], TEXTS["r3"]], TEXTS) == (1.0, 1.0, 1.0, 1.0, 2)
    assert mean_by([1, 1, 2], np.array([True, False, False])) == 0.25, "groups weigh alike"
    with pytest.raises(ValueError, match="no instance"):
        rule_scores([], [], TEXTS)
