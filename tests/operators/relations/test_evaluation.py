"""Scores of relations and of written rules, by hand and against scikit-learn and NLTK-like counts."""

import numpy as np
import pytest
from sklearn.metrics import f1_score, precision_score, recall_score

from tiltmeter.operators.relations.bleu import corpus_bleu, published_tokens
from tiltmeter.operators.relations.evaluation import count_relations, estimates, measured, statistics
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


def test_interval_rests_on_sentences_and_on_the_mean_over_seeds():
    runs = [count_relations(*drawn(seed=seed), NAMES) for seed in (0, 1)]
    estimate = estimates(runs, seed=0, about=1, num_resamples=20)["all", "f1"]
    assert estimate.num_texts == 50
    assert estimate.resamples.shape == (20,)
    assert estimate.value == pytest.approx(np.mean([measured(run.totals())["all", "f1"] for run in runs]))


def test_influences_are_how_measures_move_with_the_weight_of_a_unit():
    """Of all measures, mean over two runs, by differences."""
    runs = [count_relations(*drawn(seed=seed), NAMES) for seed in (0, 1)]
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
    sentences = {
        "writes": [9, 0, 1, 2, 3, 4],
        "parses": [9, 0, 1, 2, 4],
        "is_exact": [9, 0, 1, 2, 3],
        "bleu": [9, 0, 1, 2],
    }
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
