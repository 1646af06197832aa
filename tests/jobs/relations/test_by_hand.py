"""What a run publishes, by hand: from made-up sentences and rules, its models, and other tables; see `tests/golden`."""

import json
from collections import Counter
from functools import cached_property
from glob import glob
from itertools import chain
from types import SimpleNamespace

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from sklearn.metrics import f1_score, precision_score, recall_score

from benchmarks.calibration.adversary import Held
from tiltmeter.jobs.relations.measures import Part
from tiltmeter.jobs.relations.models import joint_models, load_model, variants
from tiltmeter.jobs.relations.rules import Rule
from tiltmeter.jobs.runtime.work import Done
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.relations.evaluation import (
    calibration_error,
    count_relations,
    estimates,
    f1_difference,
    independent_units,
    statistics,
)
from tiltmeter.operators.relations.naming import named_tokens
from tiltmeter.operators.relations.rules.matching import matches
from tiltmeter.operators.relations.rules.parsing import parsed
from tiltmeter.operators.relations.rules.printing import printed
from tiltmeter.operators.relations.rules.regexes import RuleError
from tiltmeter.operators.relations.synthetic import synthetic_instances
from tiltmeter.operators.relations.written_measures import floor_rules, shares_of
from tiltmeter.operators.statistics.means import share, share_of_counts
from tiltmeter.operators.statistics.multiplicity import holm
from tiltmeter.operators.statistics.text_intervals import cut, spread_out
from tiltmeter.operators.statistics.units import each, units_of

from .conftest import FACTS, INSTANCES, RULES, SMALL, words

NO = "no_relation"
PARTS = ("training", "development", "test")
FALLS = ("comprehensiveness", "random_comprehensiveness", "sufficiency")
PRECISION = ("precision", "precision_low", "precision_high")


def numbers(row, *names):
    """Of a row, NaN where there is none."""
    return [np.nan if row[name] is None else row[name] for name in names]


def most(relations):
    """The most frequent; of equals the first."""
    return min(sorted({*relations}), key=lambda name: -relations.count(name), default=NO)


class ByHand:
    """Instances, what rules match in them, and the models of a run."""

    def __init__(self, run, config):
        self.run, self.config = run, config
        sizes = (80, 40, 40)
        self.parts = {
            split: synthetic_instances(size, part, 3)
            for part, (split, size) in enumerate(zip(PARTS, sizes, strict=True))
        }
        self.rules = {name: (relation, printed(parsed(text))) for name, relation, text in RULES}
        self.matching = {split: [self.names(one) for one in part] for split, part in self.parts.items()}

    def names(self, instance):
        return sorted(name for name, (_, text) in self.rules.items() if matches(parsed(text), instance))

    def used(self, share_of_rules):
        counts = Counter(name for names in self.matching["training"] for name in names)
        order = sorted(counts, key=lambda name: (-counts[name], name))
        return set(order[: round(share_of_rules * len(order))])

    def known(self, split, share_of_rules=0.75):
        """Of each instance the rules that models learn from and that match it."""
        used = self.used(share_of_rules)
        return [[name for name in names if name in used] for names in self.matching[split]]

    def gold(self, split):
        return [one.relation for one in self.parts[split]]

    def units(self, split):
        part = self.parts[split]
        return independent_units([one.document for one in part], [number // 2 for number in range(len(part))])

    @cached_property
    def models(self):
        """By (model, share, seed), with what they predict."""
        made = {}
        for path in glob(f"{self.run.path.parent}/store/units/relation_model/**/training.parquet", recursive=True):
            first, place = pl.read_parquet(path).row(0, named=True), path.removesuffix("training.parquet")
            held = Held()
            trained = load_model(held, held.put(pa.table(pl.read_parquet(f"{place}model.parquet").to_arrow())))
            predicted = glob(f"{place}predicted.parquet")
            rows = pl.read_parquet(predicted[0]).to_dicts() if predicted else []
            made[first["model"], first["share"], first["seed"]] = trained, rows
        return made

    def predicted(self, split, seed, model="joint", share_of_rules=0.75):
        _, rows = self.models[model, share_of_rules, seed]
        return [row for row in rows if row["split"] == split]

    def counts(self, split, kind, share_of_rules=0.75):
        """Of rules alone, or of the models of each seed."""
        if kind == "rules":
            said = [[most([self.rules[name][0] for name in names]) for names in self.known(split)]]
        else:
            said = [
                [row["predicted"] for row in self.predicted(split, seed, kind, share_of_rules)] for seed in range(2)
            ]
        everything = {*self.gold(split), *(self.rules[name][0] for name in self.rules), *chain.from_iterable(said)}
        counted = [count_relations(self.gold(split), one, self.units(split), sorted(everything)) for one in said]
        return said, counted


@pytest.fixture(scope="session")
def by_hand(ruled, configured):
    return ByHand(ruled, configured(*SMALL))


def test_models_that_speak_for_all_are_the_joint_ones_of_the_usual_share(by_hand):
    made = variants(by_hand.config)
    works = [SimpleNamespace(model=model, share=of_rules) for model, of_rules, _ in made]
    done = Done([(work, SimpleNamespace(tables={"model": one})) for work, one in zip(works, made, strict=True)])
    assert joint_models(by_hand.config, done) == [("joint", 0.75, 0), ("joint", 0.75, 1)]
    assert {*made} == {*by_hand.models}


def test_instances_have_their_rules_and_the_vote_of_the_joint_models(ruled, by_hand):
    assert 4 <= len(by_hand.used(0.5)) < len(by_hand.used(0.75)) < len(by_hand.used(1.0))
    for split, part in by_hand.parts.items():
        rows = ruled.rows("instances", split=split)
        for row, one, names in zip(rows, part, by_hand.known(split), strict=True):
            assert [row[role] for role in ("subject", "object")] == [words(one, role) for role in ("subject", "object")]
            assert (row["sentence"], row["relation"]) == (" ".join(one.sentence.tokens), one.relation)
            assert (row["rules"], row["encoder"]) == (names, "no tree")
            assert row["rule_relation"] == most([by_hand.rules[name][0] for name in names])
            votes = Counter()
            for seed in range(2) if split != "training" else ():
                [said] = [said for said in by_hand.predicted(split, seed) if said["instance"] == row["instance"]]
                votes[said["predicted"]] += said["probability"] / 2
            best = max(sorted(votes), key=votes.get, default=None)
            assert row["predicted"] == best
            assert row["probability"] == (pytest.approx(votes[best]) if best else None)


def test_models_are_those_of_their_best_epochs_the_last_of_equal_ones(ruled):
    epochs = {}
    for row in ruled.rows("training"):
        epochs.setdefault((row["model"], row["share"], row["seed"]), []).append(row)
    assert len(epochs) == 8
    for rows in epochs.values():
        [best] = [row for row in rows if row["is_best"]]
        f1, loss = numbers(best, "f1", "development_rule_loss")
        assert best["score"] == pytest.approx(np.nansum([f1, np.exp(-loss)]))
        last = max(row["epoch"] for row in rows if row["score"] == max(one["score"] for one in rows))
        assert best["epoch"] == last
        assert ("is the last of 5: more" in best["warning"]) == (last == 5)
        assert ("is the first of" in best["warning"]) == (last == 1)


def rows_by_texts(ruled, by_hand):
    """Of the table `rules`: what each stands for, known ones and new ones."""
    new = sorted(
        {row["rule"] for row in ruled.rows("explanations") if row["parses"]}
        - {by_hand.rules[name][1] for name in by_hand.used(0.75)}
    )
    hits = {text: [one.relation for one in by_hand.parts["training"] if matches(parsed(text), one)] for text in new}
    implied = {text: most(relations) for text, relations in hits.items() if relations}
    known = [(name, *rule, "file", name in by_hand.used(0.75), PARTS) for name, rule in by_hand.rules.items()]
    return known + [
        (f"new {number}", implied[text], text, "decoded", False, ("training", "test"))
        for number, text in enumerate(sorted(implied), start=1)
    ]


def test_rules_are_counted_on_each_part(ruled, by_hand):
    rows = {(row["rule_id"], row["split"]): row for row in ruled.rows("rules") if row["split"] != "texts"}
    expected = rows_by_texts(ruled, by_hand)
    assert any(source == "decoded" for _, _, _, source, *_ in expected)
    for name, relation, text, source, is_used, splits in expected:
        for split in splits:
            row = rows.pop((name, split))
            assert [row[key] for key in ("relation", "text", "source", "is_used")] == [relation, text, source, is_used]
            part = by_hand.parts[split]
            hits = [number for number, one in enumerate(part) if matches(parsed(text), one)]
            right = np.array([part[number].relation == relation for number in hits], dtype=bool)
            units = units_of(by_hand.units(split).codes[hits], "sentence")
            precision = share(right, units, level=0.9)
            ends = [precision.value, precision.low, precision.high]
            assert numbers(row, *PRECISION) == pytest.approx(ends, nan_ok=True)
            gold = by_hand.gold(split).count(relation)
            assert (row["support"], row["recall"]) == (len(hits), right.sum() / gold if gold else None)
    assert not rows


def asked_of(by_hand, model, seed):
    """Instances of which rules are written: what is predicted, known rules that match, and those that are right."""
    for number, (one, names) in enumerate(zip(by_hand.parts["test"], by_hand.known("test"), strict=True)):
        known = sorted({by_hand.rules[name][1] for name in names})
        references = sorted({by_hand.rules[name][1] for name in names if by_hand.rules[name][0] == one.relation})
        predicted = by_hand.predicted("test", seed)[number]["predicted"] if model == "joint" else one.relation
        if references or (model == "joint" and predicted != NO):
            yield number, one, predicted, known, references


@pytest.mark.parametrize("model", ["joint", "no_classifier"])
def test_explanations_are_judged_by_what_they_match_and_by_the_known_rules(ruled, by_hand, model):
    """What decoders write and how much a prediction rests on it is as it was recorded."""
    implied = {text: (name, relation) for name, relation, text, *_ in reversed(rows_by_texts(ruled, by_hand))}
    rows = {(row["seed"], row["instance"], row["decoder"]): row for row in ruled.rows("explanations", model=model)}
    for seed in range(2):
        for number, one, predicted, known, references in asked_of(by_hand, model, seed):
            for kind in ("published", "constrained", "retrieval"):
                row = rows.pop((seed, number, kind))
                assert row["predicted"] == predicted
                if (text := row["rule"]) is None:
                    assert (row["status"], row["is_exact"]) == ("no_rule", False if references else None)
                    continue
                assert row["is_exact"] == (text in references if references else None)
                assert kind != "retrieval" or text in known
                try:
                    rule = parsed(text)
                except RuleError:
                    assert (kind, row["parses"], row["matches"], row["rule_id"]) == ("published", False, False, None)
                    continue
                assert (printed(rule), row["parses"], row["matches"]) == (text, True, matches(rule, one))
                name, relation = implied.get(text, (None, None))
                assert row["implied_relation"] == relation
                assert row["rule_id"] == (name if name in by_hand.rules else None)
                assert row["is_faithful"] == (None if relation is None else relation == predicted)
                named = named_tokens(rule, one)
                assert row["tokens"] == [one.sentence.tokens[place] for place in named]
                rests = [row[name] is not None for name in FALLS]
                assert rests == [model == "joint" and len(named) > 0] * 3
    assert not rows


def row_of(ruled, model, split, relation, measure, decoder=""):
    keys = {"model": model, "split": split, "relation": relation, "measure": measure, "decoder": decoder}
    [row] = ruled.rows("measures", **keys)
    [draw] = ruled.rows("draws", table="measures", key=json.dumps({name: row[name] for name in KEYS})) or [None]
    return row, draw


KEYS = ("model", "decoder", "split", "relation", "measure")


def _check_number(row, draw, inferred, estimate, num_units, about, spread=np.nan):
    assert numbers(row, "value", "low", "high", "sd_training") == pytest.approx(
        [inferred.value, inferred.low, inferred.high, spread], nan_ok=True
    )
    assert (row["num_units"], row["unit"]) == (num_units, "sentence")
    assert (draw is None) == np.isnan(inferred.low)
    if draw is not None:
        assert draw["values"] == pytest.approx(spread_out(estimate).tolist(), nan_ok=True)
        scheme = json.loads(draw["scheme"])
        known = {"seed": 3, "about": about, "paired_by": "items", "num_items": num_units}
        assert {name: scheme[name] for name in known} == known


@pytest.mark.parametrize("split", ["development", "test"])
def test_measures_of_relations_are_of_their_part_and_of_each_seed(ruled, by_hand, split):
    gold, units, about = by_hand.gold(split), by_hand.units(split), document_key(split)
    seen, values = 0, {}
    for kind in ("rules", "joint", "no_decoder"):
        said, counts = by_hand.counts(split, kind)
        made, drawn = statistics(counts), estimates(counts, 3, about, 20)
        values[kind] = counts, drawn["all", "f1"]
        labels = list(counts[0].relations)
        for measure, score in (("precision", precision_score), ("recall", recall_score), ("f1", f1_score)):
            micro = np.mean([score(gold, one, labels=labels, average="micro") for one in said])
            assert row_of(ruled, kind, split, "all", measure)[0]["value"] == pytest.approx(micro)
        for (relation, measure), statistic in made.items():
            row, draw = row_of(ruled, kind, split, relation, measure)
            num_units = np.count_nonzero(statistic.weights)
            inferred = statistic.inferred(each(units.num, "sentence"), 0.9)
            _check_number(row, draw, inferred, drawn[relation, measure], num_units, split, statistic.spread)
            assert row["num"] == (gold.count(relation) if relation in labels else len(gold) - gold.count(NO))
            seen += 1
    p_values = {}
    for other in ("no_decoder", "rules"):
        row, draw = row_of(ruled, f"joint - {other}", split, "all", "f1")
        (joint, one), (counts, two) = values["joint"], values[other]
        inferred = f1_difference(joint, counts, "sentence", 0.9)
        difference = one._replace(value=one.value - two.value, resamples=one.resamples - two.resamples)
        known = sum((counts.gold + counts.predicted).sum(axis=1) for counts in (*joint, *counts))
        _check_number(row, draw, inferred, difference, np.count_nonzero(known), split)
        assert (row["p_value"], row["num"]) == (pytest.approx(inferred.p), len(gold))
        p_values[other] = row
    adjusted = holm(np.array([row["p_value"] for row in p_values.values()]))
    assert [row["p_adjusted"] for row in p_values.values()] == pytest.approx(adjusted.tolist())
    seen += 2 + _check_calibration(ruled, by_hand, split)
    assert len(ruled.rows("measures", split=split, decoder="")) == seen


def _check_calibration(ruled, by_hand, split):
    has_rule = np.array([bool(names) for names in by_hand.known(split)])
    for name, kept in (("with_rule", has_rule), ("without_rule", ~has_rule)):
        errors = []
        for seed in range(2):
            said = by_hand.predicted(split, seed)
            right = np.array([row["predicted"] == gold for row, gold in zip(said, by_hand.gold(split), strict=True)])
            errors.append(calibration_error(np.array([row["probability"] for row in said])[kept], right[kept]))
        row, _ = row_of(ruled, "joint", split, "all", f"calibration_error_{name}")
        assert (row["value"], row["num"]) == (pytest.approx(np.mean(errors)), kept.sum())
    return 2


def test_the_floor_of_a_relation_is_the_commonest_rule_that_says_it():
    """Not one of another relation that matches beside it; the references are those of what holds."""
    rules = {name: Rule(relation, f"text {name}", ()) for name, relation in zip("abcd", "RRSS", strict=True)}
    names = [["a", "c", "d"], ["b", "c"], ["b", "c"]]
    part = Part("training", [None] * 3, names, each(3, "sentence"), ["S", "R", "R"], ["R", "R", "R"], {})
    assert floor_rules(part.by_rules, part.agreeing(part.by_rules, rules)) == {"R": "text b"}
    assert part.agreeing(part.gold, rules) == [["text c", "text d"], ["text b"], ["text b"]]


@pytest.mark.parametrize("model", ["joint", "no_classifier"])
def test_measures_of_what_is_written_have_the_floor_of_training(ruled, by_hand, model):
    counts = {}
    for names in by_hand.known("training"):
        said = most([by_hand.rules[name][0] for name in names])
        for name in names:
            relation, text = by_hand.rules[name]
            counts.setdefault(said, Counter())[text] += relation == said
    floors = {relation: min(sorted(texts), key=lambda text: -texts[text]) for relation, texts in counts.items()}
    for decoder in ("published", "constrained", "retrieval"):
        answers = []
        for row in ruled.rows("explanations", model=model, decoder=decoder):
            one, names = by_hand.parts["test"][row["instance"]], by_hand.known("test")[row["instance"]]
            right = sorted(by_hand.rules[name][1] for name in names if by_hand.rules[name][0] == one.relation)
            more = {"unit": row["instance"] // 2, "gold": one.relation, "references": right}
            answers.append(row | more | {"floor_rule": floors.get(one.relation, "")})
        made = list(shares_of(answers, "sentence", 3, 20))
        assert {one.measure for one in made} >= {"writes", "is_exact", "is_exact_by_relation", "bleu", "bleu_all"}
        for one in made:
            row, draw = row_of(ruled, model, "test", "all", one.measure, decoder)
            scale = (cut(-1.0, 1.0),) if one.measure in FALLS else ()
            inferred, spread = one.statistic.inferred(one.units, 0.9, *scale), one.statistic.spread
            _check_number(row, draw, inferred, one.estimate, one.units.num, "written rules", spread)
            assert (row["num"], row["floor"]) == (one.num, one.floor if one.floor is None else pytest.approx(one.floor))
        assert len(ruled.rows("measures", model=model, decoder=decoder)) == len(made)


# --- texts ----------------------------------------------------------------------------------------------------------


def said_in_texts(by_hand):
    """What the joint models say of each pair, by the mean of their probabilities."""
    models = [by_hand.models["joint", 0.75, seed][0] for seed in range(2)]
    shares = np.mean([model.probabilities(INSTANCES, [()] * len(INSTANCES)) for model in models], axis=0)
    return [models[0].vocabulary.relations[place] for place in shares.argmax(axis=1)]


def facts_of(instance):
    """Relations of a pair that are known; None where it is not in the list."""
    pair = words(instance, "subject"), words(instance, "object")
    known = {relation for subject, relation, object_ in FACTS if (subject, object_) == pair}
    return known or None


def test_rules_are_counted_in_texts_with_what_models_and_facts_say(ruled, by_hand):
    said, rows = said_in_texts(by_hand), ruled.rows("rules", split="texts")
    assert {row["source"] for row in rows} == {"file", "decoded"}
    is_matched = np.zeros(len(INSTANCES), dtype=bool)
    for row in rows:
        hits = [number for number, one in enumerate(INSTANCES) if matches(parsed(row["text"]), one)]
        is_matched[hits] = True
        agreeing = [said[number] == row["relation"] for number in hits]
        facts = {number: known for number in hits if (known := facts_of(INSTANCES[number])) is not None}
        assert (row["support"], row["num_known"]) == (len(hits), len(facts))
        assert row["agreement"] == (pytest.approx(np.mean(agreeing)) if hits else None)
        documents = sorted({number // 10 for number in hits})
        right, known = (
            np.array([sum(test(facts[n]) for n in facts if n // 10 == one) for one in documents])
            for test in (lambda relations, row=row: row["relation"] in relations, lambda _: True)
        )
        precision = share_of_counts(right, known, level=0.9, kind="document")
        ends = [precision.value, precision.low, precision.high]
        assert numbers(row, *PRECISION) == pytest.approx(ends, nan_ok=True)
        for shown in ruled.rows("text_matches", rule_id=row["rule_id"]):
            places = [(INSTANCES[number].subject.start, number % 10 // 2, str(number // 10)) for number in hits]
            number = hits[places.index(tuple(shown[name] for name in ("subject_start", "line", "document")))]
            assert (shown["predicted"], shown["relation"]) == (said[number], row["relation"])
            assert shown["is_fact"] == (row["relation"] in facts[number] if number in facts else None)
    [totals] = ruled.rows("texts")
    assert (totals["num_sentences"], totals["num_pairs"], totals["num_matched"]) == (60, 120, is_matched.sum())
    assert len({row["agreement"] for row in rows if row["support"]} - {1.0}) > 0
    assert {row["rule_id"] for row in ruled.rows("text_matches")} == {row["rule_id"] for row in rows if row["support"]}
