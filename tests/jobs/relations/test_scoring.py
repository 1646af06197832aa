"""Measures of predictions that are made up: their unit, their seeds, their tests, and what is compared with what."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import beta, t

from tiltmeter.jobs.relations import measuring, writing
from tiltmeter.jobs.relations.material import Guess, Part, Variant, floor_of, read_part
from tiltmeter.jobs.relations.rules import PartHits, part_hits
from tiltmeter.jobs.relations.scoring import Scoring
from tiltmeter.jobs.relations.supervising import read_rules
from tiltmeter.jobs.relations.tables import COMPILED, EXPLANATIONS, MATCHES, PREDICTED, READ
from tiltmeter.operators.relations.evaluation import independent_units
from tiltmeter.storage.store.ledger import Unit

NAMES = ["no_relation", "a", "b"]
LEVEL = 0.95


def part_of(num_sentences, models, *, seed=0, per_document=None, split="test"):
    """Two pairs of arguments in each sentence; of each model, the share of relations that it tells right, by seed."""
    draws = np.random.default_rng(seed)
    rows = [
        {"instance": 2 * sentence + pair, "sentence": sentence, "tokens": [f"s{sentence}"], "rules": []}
        | {"document": None if per_document is None else f"d{sentence // per_document}"}
        for sentence in range(num_sentences)
        for pair in range(2)
    ]
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
    units = independent_units([row["document"] for row in rows], [row["sentence"] for row in rows])
    by_rules = [str(one) for one in said.get(("rules", 0), gold)]
    return Part(split, rows, units, gold.tolist(), by_rules, guesses)


def rows_of(part, **keys):
    """Of its measures."""
    rows = Scoring(LEVEL, 0, 20, 1.0).relations(part)
    return [row for row in rows if all(row[name] == value for name, value in keys.items())]


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


def test_p_and_interval_of_a_difference_agree():
    for seed in range(20):
        part = part_of(40, {"joint": (0.8,), "rules": (0.65,)}, seed=seed)
        [row] = rows_of(part, model="joint - rules")
        assert (row["p_value"] < 0.05) == (row["low"] > 0.0 or row["high"] < 0.0)


def test_seeds_are_in_the_interval_and_one_seed_says_so():
    [one] = rows_of(part_of(60, {"joint": (0.8,)}), model="joint", relation="all", measure="f1")
    [three] = rows_of(part_of(60, {"joint": (0.5, 0.8, 0.95)}), model="joint", relation="all", measure="f1")
    assert np.isnan(one["sd_training"])
    assert three["sd_training"] > 0.1
    assert three["high"] - three["low"] > 1.5 * (one["high"] - one["low"])
    [rules] = rows_of(part_of(60, {"joint": (0.8,)}), model="rules", relation="all", measure="f1")
    assert np.isnan(rules["sd_training"])


def test_holm_is_over_all_differences_of_a_part():
    part = part_of(60, {"joint": (0.8,), "no_decoder": (0.7,), "rules": (0.6,)})
    p = {row["model"]: (row["p_value"], row["p_adjusted"]) for row in rows_of(part) if " - " in row["model"]}
    small, large = sorted(p.values())
    assert len(p) == 2
    assert small[1] == pytest.approx(2 * small[0])
    assert large[1] == pytest.approx(max(large[0], small[1]))


def test_documents_are_the_units_where_they_hold_several_sentences():
    """The same as if each document were one sentence."""
    part = part_of(80, {"joint": (0.8,), "rules": (0.6,)}, per_document=4)
    assert (part.units.kind, part.units.num) == ("document", 20)
    assert len({*part.unit_digests}) == 20
    [row] = rows_of(part, model="joint - rules")
    assert (row["unit"], row["num_units"]) == ("document", 20)
    [alone] = rows_of(part_of(80, {"joint": (0.8,), "rules": (0.6,)}), model="joint - rules")
    assert (alone["unit"], alone["num_units"]) == ("sentence", 80)
    assert alone["value"] == row["value"]
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
        assert np.isnan(row["low"])
        assert np.isnan(row["high"])
        assert np.isnan(row.get("p_value", np.nan))
        assert not any(name.endswith("draws") for name in row)


def test_models_that_say_the_same_have_no_p():
    part = part_of(60, {"joint": (0.8,)})
    part = Part(part.split, part.rows, part.units, part.gold, part.predicted(Variant("joint", 1.0, 0)), part.guesses)
    [row] = rows_of(part, model="joint - rules")
    assert row["value"] == 0.0
    assert np.isnan(row["p_value"])
    assert row["reason"]


def test_learning_curve_has_the_interval_of_its_share_and_seeds():
    part = part_of(60, {"joint": (0.7, 0.9)}, split="development")
    [row] = [row for row in Scoring(LEVEL, 0, 20, 1.0).curve(part, 1.0) if row["measure"] == "f1"]
    [same] = rows_of(part, model="joint", relation="all", measure="f1")
    assert {name: row[name] for name in ("value", "low", "high", "sd_training", "num_units")} == pytest.approx(
        {name: same[name] for name in ("value", "low", "high", "sd_training", "num_units")}
    )


def test_precision_of_a_rule_is_inferred_over_documents_that_hold_several_sentences():
    """Ten documents of six sentences, in each of which a rule is always right or always wrong, are ten things."""
    relations, units = ["a"] * 42 + ["b"] * 18, np.repeat(np.arange(10), 6)
    of_documents, of_sentences = (
        PartHits({"r": relations}, {"r": codes.tolist()}, Counter(relations), kind).columns("r", "a", LEVEL)
        for codes, kind in ((units, "document"), (np.arange(60), "sentence"))
    )
    assert of_documents["precision"] == of_sentences["precision"] == 0.7
    assert of_documents["support"] == 60
    variance = 0.7 * 0.3 / 10 / (1 - 1 / 10)
    num = 60 * 0.7 * 0.3 / (59 * variance) * (t.ppf(0.975, 59) / t.ppf(0.975, 9)) ** 2
    assert 7 < num < 8, "Korn and Graubard's number of independent ones, of 60"
    ends = [of_documents["precision_low"], of_documents["precision_high"]]
    assert ends == pytest.approx([beta.ppf(0.025, 0.7 * num, 0.3 * num + 1), beta.ppf(0.975, 0.7 * num + 1, 0.3 * num)])
    ends = [of_sentences["precision_low"], of_sentences["precision_high"]]
    assert ends == pytest.approx([beta.ppf(0.025, 42, 19), beta.ppf(0.975, 43, 18)])


def test_units_of_hits_are_documents_of_the_part(made):
    """Of pairs of sentences in a document."""
    rows = made["test"].to_pylist()
    table = pa.Table.from_pylist([row | {"document": f"d{row['sentence'] // 2}"} for row in rows], READ)
    hits = part_hits(Held(made | {"test": table}), "test", ["test_matches"])
    assert hits.kind == "document"
    assert hits.units["often"] == [0, 0, 1, 1, 2, 2, 3, 3]
    assert part_hits(Held(made), "test", ["test_matches"]).kind == "sentence"


# --- wiring: which part, which rules, which references --------------------------------------------------------------


class Held:
    """In place of a store: tables by the names that stand for references."""

    def __init__(self, tables):
        self._tables = tables

    def read(self, name):
        return self._tables[name]


RULES = {"often": ("a", 'SUBJ "is" OBJ'), "rare": ("a", 'SUBJ "was" OBJ'), "other": ("b", "SUBJ /is|was/ OBJ")}


def read_rows(split, words, relations):
    """Instances that say a word between their arguments."""
    for number, (word, relation) in enumerate(zip(words, relations, strict=True)):
        spans = {"subject_start": 0, "subject_end": 1, "object_start": 2, "object_end": 3}
        row = {"split": split, "instance": number, "sentence": number, "tokens": [f"A{number}", word, "B"]} | spans
        yield row | {"document": "", "relation": relation, "status": "ok", "reason": ""}


def matched(split, words):
    """By the rules above: the last one matches whatever they say."""
    names = {"is": ("often", "other"), "was": ("rare", "other")}
    return [
        {"split": split, "instance": place, "rule_id": name} for place, word in enumerate(words) for name in names[word]
    ]


@pytest.fixture
def made():
    """Training says "is" of a, the test part "was"; a rule of b matches everything, and is wrong of a."""
    words = {"training": ["is"] * 30 + ["was"] * 10, "development": ["is"] * 24, "test": ["is"] * 8 + ["was"] * 24}
    words = {"training": words["training"] + ["is"] * 2, "development": words["development"], "test": words["test"]}
    relations = {split: ["a"] * len(said) for split, said in words.items()}
    relations["training"][-2:] = ["b", "b"]
    tables = {
        "rules": pa.Table.from_pylist(
            [
                {"rule_id": name, "relation": relation, "text": text, "source": "file", "status": "ok", "reason": ""}
                for name, (relation, text) in RULES.items()
            ],
            COMPILED,
        )
    }
    for split, said in words.items():
        tables[split] = pa.Table.from_pylist(list(read_rows(split, said, relations[split])), READ)
        tables[f"{split}_matches"] = pa.Table.from_pylist(matched(split, said), MATCHES)
    guesses = [
        {"split": split, "instance": place, "seed": 0, "predicted": relations[split][place], "probability": 0.9}
        for split in ("development", "test")
        for place in range(len(words[split]))
    ]
    tables["predicted joint 1.0 0"] = pa.Table.from_pylist(guesses, PREDICTED)
    return tables


def unit_of(made, **config):
    settings = {"share": 1.0, "seed": 0, "level": LEVEL, "num_resamples": 20} | config
    return Unit("made/1", "made", settings, {name: [name] for name in made})


def test_floor_is_the_rule_that_is_frequent_in_training_for_the_relation_that_holds(made):
    """That is "is", which is right of 8 of 32 test instances: "was" would be of 24, and a rule of b of none."""
    rows = [
        {"split": "test", "instance": place, "model": "joint", "seed": 0, "decoder": "published", "predicted": "a"}
        | {"rule": RULES["often"][1], "parses": True, "matches": place < 8, "is_exact": place < 8, "status": "ok"}
        for place in range(32)
    ]
    made["explanations"] = pa.Table.from_pylist(rows, EXPLANATIONS)
    unit = unit_of(made, variants=[["joint", 1.0, 0, "predicted joint 1.0 0"]])
    measures = dict(measuring._measure(Held(made), unit))["measures"].to_pylist()
    [exact] = [row for row in measures if row["measure"] == "is_exact"]
    assert (exact["value"], exact["floor"], exact["num"]) == (0.25, 0.25, 32)
    assert exact["low"] < 0.25 < exact["high"]
    [recall] = [row for row in measures if (row["model"], row["split"], row["measure"]) == ("rules", "test", "recall")][
        :1
    ]
    assert recall["value"] == 1.0


def test_references_are_rules_of_the_relation_that_holds(made):
    """Not the rule of b, which matches too."""
    unit = unit_of(made | {"predicted": made["predicted joint 1.0 0"]}, low=0, high=100)
    asked = list(writing._asked(Held(made | {"predicted": made["predicted joint 1.0 0"]}), unit))
    assert [one.references for one in asked[:1] + asked[-1:]] == [
        frozenset([RULES["often"][1]]),
        frozenset([RULES["rare"][1]]),
    ]
    assert {len(one.known) for one in asked} == {2}
    parts = {
        split: read_part(Held(made), unit_of(made, variants=[]), split, read_rules(Held(made), unit, 1.0))
        for split in ("training", "test")
    }
    floor = floor_of(parts["training"], parts["test"], read_rules(Held(made), unit, 1.0))
    assert floor.columns(31, "a") == {"references": [RULES["rare"][1]], "floor_rule": RULES["often"][1]}
