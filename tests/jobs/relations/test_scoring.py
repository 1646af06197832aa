"""Measures of predictions that are made up: their unit, their seeds, their tests, and what is compared with what."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import t

from tiltmeter.jobs.relations.measures import Guess, Part, Scoring, Variant
from tiltmeter.jobs.relations.tables import Annotations
from tiltmeter.jobs.runtime.table import cells_of
from tiltmeter.operators.relations.evaluation import independent_units
from tiltmeter.storage.store.identity import digest

NAMES = ["no_relation", "a", "b"]
LEVEL = 0.95


def part_of(num_sentences, models, *, seed=0, per_document=None, split="test"):
    """Two pairs of arguments in each sentence; of each model, the share of relations that it tells right, by seed."""
    draws = np.random.default_rng(seed)
    rows = [
        Annotations(split=split, instance=number, sentence=number // 2, tokens=[f"s{number // 2}"])
        for number in range(2 * num_sentences)
    ]
    for row in rows:
        row.document = None if per_document is None else f"d{row.sentence // per_document}"
    gold = draws.choice(NAMES, size=len(rows), p=[0.3, 0.4, 0.3])
    said = {
        (name, number): np.where(draws.random(len(rows)) < share, gold, draws.choice(NAMES, size=len(rows)))
        for name, shares in models.items()
        for number, share in enumerate(shares)
    }
    guesses = {
        Variant(name, 1.0, number): [Guess(str(one), 0.9) for one in values]
        for (name, number), values in said.items()
        if name != "rules"
    }
    units = independent_units([row.document for row in rows], [row.sentence for row in rows])
    by_rules = [str(one) for one in said.get(("rules", 0), gold)]
    return Part(split, rows, [[]] * len(rows), units, gold.tolist(), by_rules, guesses)


def rows_of(part, **keys):
    """Of its measures."""
    rows = Scoring(level=LEVEL, seed=0, num_resamples=20, share=1.0).relations(part)
    return [row for row in map(cells_of, rows) if all(row[name] == value for name, value in keys.items())]


def f1_of(part, name, weights):
    """Mean over seeds of micro F1, with each unit counted so often."""
    runs = (
        [part.counts(part.by_rules)]
        if name == "rules"
        else [part.counts(part.predicted(variant)) for variant in part.chosen(name, 1.0)]
    )
    sums = [[weights @ table.sum(axis=1) for table in (run.right, run.predicted, run.gold)] for run in runs]
    return np.array([2 * right / (predicted + gold) for right, predicted, gold in sums]), runs


def test_a_difference_is_inferred_from_influences_of_units_and_both_sides_seeds():
    """Influences by how F1 moves with the weight of a sentence; seeds as T7 of the methods has them."""
    part = part_of(60, {"joint": (0.9, 0.8, 0.85), "no_decoder": (0.75, 0.7, 0.8), "rules": (0.5,)})
    ones, step = np.ones(60), 1e-4
    for other, num_seeds in (("no_decoder", 3), ("rules", 1)):
        [row] = rows_of(part, model=f"joint - {other}")
        (joint, runs), (second, others) = (f1_of(part, name, ones) for name in ("joint", other))
        moved = [
            60 * np.array([(f1_of(part, name, ones + step * one)[0] - values).mean() / step for one in np.eye(60)])
            for name, values in (("joint", joint), (other, second))
        ]
        sizes = sum(
            np.mean([(run.predicted + run.gold).sum(axis=1) for run in side], axis=0) for side in (runs, others)
        )
        influence = moved[0] - moved[1]
        of_units = (influence**2 / (1 - sizes / sizes.sum())).sum() / 60**2
        df = sizes.sum() ** 2 / (sizes**2).sum() - 1
        terms = [(of_units, df), (joint.var(ddof=1) / 3, 2)]
        terms += [(second.var(ddof=1) / 3, 2)] if num_seeds > 1 else []
        variance = sum(one for one, _ in terms)
        df = variance**2 / sum(one**2 / degrees for one, degrees in terms)
        assert row["value"] == pytest.approx(joint.mean() - second.mean())
        assert row["p_value"] == pytest.approx(2 * t.sf(abs(row["value"]) / np.sqrt(variance), df), rel=0.01)
        reach = t.ppf(0.975, df) * np.sqrt(variance)
        assert [row["low"], row["high"]] == pytest.approx([row["value"] - reach, row["value"] + reach], abs=1e-3)


def test_one_seed_has_no_spread_between_seeds():
    for models, name in (((0.8,), "joint"), ((0.5, 0.8), "joint"), ((0.8, 0.5), "rules")):
        [row] = rows_of(part_of(60, {"joint": models}), model=name, relation="all", measure="f1")
        assert np.isnan(row["sd_training"]) == (len(models) == 1 or name == "rules")


def test_documents_are_the_units_where_they_hold_several_sentences():
    """The same as if each document were one sentence."""
    part = part_of(80, {"joint": (0.8,), "rules": (0.6,)}, per_document=4)
    assert (part.units.kind, part.units.num) == ("document", 20)
    texts = [[[f"d{unit}", [f"s{4 * unit + place}"]] for place in range(4)] for unit in range(20)]
    assert part.unit_digests == [digest(sentences) for sentences in texts]
    [row] = rows_of(part, model="joint - rules")
    assert (row["unit"], row["num_units"]) == ("document", 20)
    [alone] = rows_of(part_of(80, {"joint": (0.8,), "rules": (0.6,)}), model="joint - rules")
    assert (alone["unit"], alone["num_units"], alone["value"]) == ("sentence", 80, row["value"])
    assert alone["p_value"] != row["p_value"]
    single = part_of(80, {"joint": (0.8,), "rules": (0.6,)}, per_document=1)
    assert single.units.kind == "sentence"


@pytest.mark.parametrize(("sentences", "per_document"), [(15, None), (40, 10)])
def test_too_few_units_have_no_interval_and_no_p(sentences, per_document):
    part = part_of(sentences, {"joint": (0.9,), "rules": (0.3,)}, per_document=per_document)
    need = "20 are needed" if per_document is None else "6 are needed"
    for row in rows_of(part, measure="f1"):
        assert row["status"] == "too_few_units"
        assert need in row["reason"]
        assert np.isnan([row["low"], row["high"], np.nan if row["p_value"] is None else row["p_value"]]).all()
        assert not any(name.endswith("draws") for name in row)


def test_models_that_say_the_same_have_no_p():
    part = part_of(60, {"joint": (0.8,)})
    part = replace(part, by_rules=part.predicted(Variant("joint", 1.0, 0)))
    [row] = rows_of(part, model="joint - rules")
    assert row["value"] == 0.0
    assert np.isnan(row["p_value"])
    assert row["reason"]
