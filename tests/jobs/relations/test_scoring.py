"""What is made up in place of a run: predictions and their measures, rules in texts, and sentences of the page."""

import os
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.stats import t

from tests.fixtures.corpora import parquet
from tests.fixtures.tables.relations import ruled
from tiltmeter.jobs.relations.config import find_sources
from tiltmeter.jobs.relations.measures import Guess, Part, Scoring, Variant
from tiltmeter.jobs.relations.page import doubts, findings
from tiltmeter.jobs.relations.tables import Annotations, Rules
from tiltmeter.jobs.relations.texts import CountInTexts
from tiltmeter.jobs.runtime.table import cells_of
from tiltmeter.operators.relations.evaluation import independent_units
from tiltmeter.storage.errors import InputError
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
    for row in rows_of(part, measure="f1"):
        assert row["status"] == "too_few_units"
        assert ("20 are needed" if per_document is None else "6 are needed") in row["reason"]
        assert np.isnan([row["low"], row["high"], np.nan if row["p_value"] is None else row["p_value"]]).all()
        assert not any(name.endswith("draws") for name in row)


def test_models_that_say_the_same_have_no_p_and_one_seed_no_spread():
    part = part_of(60, {"joint": (0.8,)})
    same = replace(part, by_rules=part.predicted(Variant("joint", 1.0, 0)))
    [row] = rows_of(same, model="joint - rules")
    assert (row["value"], np.isnan(row["p_value"]), bool(row["reason"])) == (0.0, True, True)
    for models, name, has_none in (((0.8,), "joint", True), ((0.5, 0.8), "joint", False), ((0.8, 0.5), "rules", True)):
        [row] = rows_of(part_of(60, {"joint": models}), model=name, relation="all", measure="f1")
        assert np.isnan(row["sd_training"]) == has_none


# --- rules in texts that have few facts -----------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["text", "jsonl", "wikiextractor", "parquet"])
def test_texts_are_read_in_the_form_that_is_chosen(configured, tmp_path, form):
    """Whatever their file is called."""
    (tmp_path / "a.txt").write_bytes(parquet({"text": ["Ada"]}) if form == "parquet" else b"Ada met King .\n")
    settings = [f"texts.path={tmp_path}/a.txt", f"texts.format={form.replace('text', 'auto')}"]
    assert [one.format for one in find_sources(configured("job=relation_rules", *settings)).corpus.sources] == [form]
    with pytest.raises(InputError, match="there is no file"):
        find_sources(configured("job=relation_rules", "texts.path=none.jsonl", *settings[1:]))


def test_agreement_is_of_all_matches_and_precision_of_those_that_are_known():
    keys = {"rule_id": "r", "split": "training", "relation": "x"}
    made = dict.fromkeys(("counts", "examples", "timeouts", "totals", "rules"), ())
    work = CountInTexts(level=0.9, most_examples=3, corpus="texts", has_facts=True, **made)
    of_one = Counter(num=4, num_agreeing=2, num_known=2, num_right=1)
    documents = {"a": of_one, "b": Counter(num=4, num_agreeing=1, num_known=1, num_right=1)}
    row = work.counted(Rules(**keys, text="SUBJ [] OBJ"), documents, {})
    assert [row.support, row.agreement, row.num_known] == [8, 3 / 8, 3]
    assert row.precision.value == pytest.approx(2 / 3)
    for text, reason in (("SUBJ >obj OBJ", "it needs trees, which texts have not"), ("SUBJ [] OBJ", "it is slow")):
        row = work.counted(Rules(**keys, text=text), documents, {"r": "it is slow"})
        assert (row.status, row.reason) == ("no_tree" if ">" in text else "timeout", reason)
        assert row.support is None


# --- sentences of the page ------------------------------------------------------------------------------------------

MODELS = Path(__file__).with_name("sentences.txt")
REASON = 'there is too little to go by: 12 of the unit "sentence", and 20 are needed'
CASES = {
    "a difference that is sure": {"low": 0.001, "high": 0.02, "p_value": 0.02, "p_adjusted": 0.04},
    "over documents": {"unit": "document"},
    "without a p-value": dict.fromkeys(("low", "high", "p_value", "p_adjusted")) | {"reason": REASON},
}
IN_TEXTS = [("tags", 0.25, 12), ("decoded", 1.0, 3), ("decoded", 0.5, 2)]
"""Sources, precisions and numbers of known pairs of more rules in texts."""


def sentences(values, measures=None, in_texts=()):
    """Of tables whose difference from a model without a decoder has other values."""
    frames = {name: pl.from_arrow(table) for name, table in ruled().items()}
    is_other = pl.col("model") == "joint - no_decoder"
    others = {name: pl.when(is_other).then(pl.lit(value)).otherwise(pl.col(name)) for name, value in values.items()}
    frames["measures"] = frames["measures"].with_columns(**others, **(measures or {}))
    rule = frames["rules"].filter(split="texts").head(1)
    more = [rule.with_columns(source=pl.lit(s), precision=p, num_known=pl.lit(num)) for s, p, num in in_texts]
    frames["rules"] = pl.concat([frames["rules"], *more], how="vertical_relaxed")
    return [*findings(frames), *doubts(frames)]


def test_the_page_says_of_other_tables_what_it_said():
    """Sentences that are not among the usual ones; TILTMETER_MODELS=write writes them."""
    usual, text = sentences({}), ""
    made = {case: sentences(values) for case, values in CASES.items()}
    made["one training"] = sentences({}, {"sd_training": pl.lit(None, pl.Float64)})
    made["rules of unlike use in texts"] = sentences({}, in_texts=IN_TEXTS)
    for case, every in made.items():
        text += "\n".join([f"# {case}", *(one for one in every if one not in usual)]) + "\n"
    if os.environ.get("TILTMETER_MODELS") == "write":
        MODELS.write_text(text)
    assert text.splitlines() == MODELS.read_text().splitlines()
