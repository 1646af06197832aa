"""The job `word_influence` on made-up reviews: what its tables say, counted again by what the models answer.

Of classifiers that it trains and, with three classes, of several checkpoints at once.
"""

import json
import random
from collections import Counter
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from scipy.special import expit

from tests.jobs.classifiers.rows import write_rows
from tests.jobs.test_layouts import survive
from tiltmeter.cluster.stages import UnitsFailed
from tiltmeter.jobs.classifiers import training
from tiltmeter.jobs.classifiers.influence import probes, questions
from tiltmeter.jobs.classifiers.influence.questions import MaskWords, context_of
from tiltmeter.jobs.classifiers.influence.students import StudentModel, TeacherModel
from tiltmeter.jobs.classifiers.splits import drawn_order
from tiltmeter.operators.classifiers.attribution.attribute import attribute
from tiltmeter.operators.classifiers.attribution.records import AttributionConfig
from tiltmeter.operators.classifiers.influence import student_training
from tiltmeter.operators.classifiers.influence.all_correct import length_groups
from tiltmeter.operators.classifiers.influence.calibration import calibrated_confidence, calibrated_odds, sure_cuts
from tiltmeter.operators.classifiers.influence.clusters import SampledClusters
from tiltmeter.operators.classifiers.influence.masking import random_scores
from tiltmeter.operators.classifiers.influence.probes import Answers, probe, sampled_probe
from tiltmeter.operators.classifiers.influence.records import MASK, Context, StudentConfig
from tiltmeter.operators.classifiers.influence.scores import counterfactuals, hybrid, hybrid_sum
from tiltmeter.operators.classifiers.influence.teachers import transformers_teacher
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.statistics.intervals import FISHER
from tiltmeter.operators.statistics.means import share
from tiltmeter.operators.statistics.text_intervals import ResampleSettings
from tiltmeter.operators.statistics.units import units_of
from tiltmeter.storage.models.load import load_classifier

GOOD = ("lovely", "fine", "great", "charming", "splendid", "bright")
BAD = ("awful", "dull", "poor", "boring", "dreadful", "bleak")
PLAIN = ("red", "wooden", "early", "local", "round", "modern")
NOUNS = ("film", "plot", "cast", "music", "movie", "scene", "story", "ending")
SMALL = [
    *("seed=3", "intervals.level=0.9", "intervals.num_resamples=100"),
    *("models.encoder.dimensions=12", "models.encoder.hidden=12", "models.encoder.dropout=0", "models.masked=0.25"),
    *("models.training.max_epochs=8", "models.training.learning_rate=0.02", "models.training.max_tokens=256"),
    *("num_students=2", "student.hidden=12", "student.max_epochs=12", "student.random_words=3"),
    *("student.replacements=0.3", "student.batch_size=64", "student.learning_rate=0.01"),
    *("ratios.num_contexts=60", "ratios.unit_contexts=25", "ratios.max_words=7", "ratios.max_checked=3"),
    *("probes.control=[lovely, red]", "probes.probe=[wooden, unheard, bleak]", "probes.unit_contexts=150"),
    *("probes.clearly_positive=[round, modern]", "probes.clearly_negative=[local, early]", "probes.max_claims=3"),
    *("masking.num_samples=20", "masking.max_words=5", "masking.max_texts=9", "masking.budget=4"),
]
CONFIG = StudentConfig(hidden=12, random_words=3)


def review(rng, label):
    word = rng.choice(GOOD if label == "positive" else BAD)
    return f"the {rng.choice(PLAIN)} {rng.choice(NOUNS)} has {rng.choice(('a', 'one'))} {word} {rng.choice(NOUNS)}"


def write_reviews(path, seed, num, wrong):
    """Three of four are negative; each has a part of it as another text, and a share of both is labelled wrong."""
    rng, rows = random.Random(seed), []
    for number in range(num):
        is_positive = number % 4 == 0
        text = review(rng, "positive" if is_positive else "negative")
        label = "positive" if is_positive != (rng.random() < wrong) else "negative"
        rows += [[f"{text} no {seed}{number}", label], [f"{text[4:]} no {seed}{number}", label]]
    return write_rows(path, [["review", "class"], *rows, ["", "positive"], ["a film", ""]])


@pytest.fixture(scope="module")
def reviews(tmp_path_factory):
    """Labels are wrong of one text of twelve that models learn from, and of one of three that they are tested with."""
    folder = tmp_path_factory.mktemp("reviews")
    learnt = write_reviews(folder / "learnt.csv", 1, 220, 1 / 12)
    tested = write_reviews(folder / "tested.csv", 2, 45, 1 / 3)
    return ["job=word_influence", f"data.path={learnt}", f"data.test={tested}", "data.text=review", "data.label=class"]


@pytest.fixture(scope="module")
def influence(run_here, reviews, tmp_path_factory):
    place = tmp_path_factory.mktemp("influence")
    watched = [(training, "train"), (student_training, "train_student"), (MaskWords, "coverages")]
    watched += [(questions, "num_masked"), (probes, "sampled_contexts")]
    return run_here(*reviews, *SMALL, f"store={place}/store", f"run_dir={place}/run", watched=watched)


class Told:
    """What the models of a run answer, and its texts by their part."""

    def __init__(self, run, taught_by=None, config=CONFIG):
        store, [(_, trained)] = run.pool.store, (taught_by or run).units("influence_teacher")
        teacher = TeacherModel("0", trained=trained.tables["model"])
        self.loaded = teacher.load(store)
        self.teacher = self.loaded.teacher
        students = [done.tables for _, done in run.units("influence_student")]
        self.is_masked = config.convention == "masked"
        self.students = [StudentModel(teacher, 0, tables, config, "en").load(store).student for tables in students]
        [texts] = (taught_by or run).made("influence_texts", "prepared")
        self.rows = {row["row"]: row for row in texts}
        parts = ("training", "development", "test")
        self.parts = {part: [row for row in texts if row["part"] == part] for part in parts}
        self.known = {}
        for row in run.rows("vocabularies", status="ok"):
            self.known.setdefault(row["part_of_speech"], []).append(row["written"])

    def logits(self, contexts, words, number=0):
        """A student's."""
        student = self.students[number]
        base = self.teacher.states([context.replaced() if self.is_masked else context.text for context in contexts])
        return self.teacher.logits(base + student.changes(student.contexts(contexts), student.words(words)))

    def label(self, text):
        return self.teacher.classes[self.teacher.labels([text])[0]]

    def labels(self, contexts, words):
        """The teacher's."""
        return self.teacher.labels([context.replaced(word) for context, word in zip(contexts, words, strict=True)])

    def replaced(self, context, words):
        """The student's logits, and the teacher's class, of a context with each of these words but its own."""
        words = [word for word in words if word.lower() != context.word.lower()]
        contexts = [context] * len(words)
        return words, self.logits(contexts, words), self.labels(contexts, words)


@pytest.fixture(scope="module")
def told(influence):
    return Told(influence)


def vectors_of(network, prefix=""):
    return network.get_parameter(f"{prefix}embedding.weight").detach().numpy()


def test_teachers_learn_training_texts_and_stop_by_those_for_development(influence, told):
    [call] = influence.calls["train"]
    classes = call["heads"]["label"].classes
    assert (classes, call["seed"]) == (("negative", "positive"), 3)
    vocabulary = told.loaded.vocabulary
    counts = Counter(word.lower() for row in told.parts["training"] for word in row["words"])
    assert {*vocabulary.words} == {word for word, num in counts.items() if num > 1}
    for name in ("training", "development"):
        rows, labelled = told.parts[name], call[name]
        assert [classes[number] for number in labelled.labels["label"]] == [row["label"] for row in rows]
        read = [[*text.inputs["input_ids"]] for text in labelled.texts]
        written = [[vocabulary.number(word) for word in row["words"]] for row in rows]
        hidden = [one == 0 for these in read for one in these]
        assert [a if a else b for x, y in zip(read, written, strict=True) for a, b in zip(x, y, strict=True)] == [
            number for these in written for number in these
        ]
        assert np.mean(hidden) == pytest.approx(0.25 if name == "training" else 0.0, abs=0.03)


def test_students_learn_training_texts_and_are_measured_by_others(influence, told):
    calls = influence.calls["train_student"]
    assert [call["seed"] for call in calls] == [3, 4]
    for call in calls:
        lessons = {"training": call["lessons"](0), "development": call["held_out"]}
        for part, these in lessons.items():
            tags = {tuple(row["words"]): row["tags"] for row in told.parts[part]}
            assert {tuple(lesson.context.text) for lesson in these} == tags.keys()
            for lesson in these:
                assert lesson.words[0] == lesson.context.word
                choices = told.known.get(tags[tuple(lesson.context.text)][lesson.context.place], [lesson.context.word])
                assert len(lesson.words) == 1 + 3
                assert set(lesson.words[1:]) <= set(choices)
        assert (call["config"].replacements, call["config"].max_epochs) == (0.3, 12)
    vectors = vectors_of(told.loaded.network, "encoder.")
    assert all(np.array_equal(call["vectors"], vectors) for call in calls)
    assert all(np.array_equal(vectors_of(student.network)[:-1], vectors) for student in told.students)
    first, second = ([lesson.words for lesson in call["lessons"](0)] for call in calls)
    assert first != second


@pytest.fixture(scope="module")
def check(influence):
    """Holds a number, its interval and its draws against what the run's resamples of clusters make of items."""
    kept = {}
    for draw in influence.rows("draws"):
        kept.setdefault((draw["table"], draw["column"]), []).append((json.loads(draw["key"]), draw["values"]))

    def checked(table, row, columns, rate):
        known = [None if np.isnan(number) else pytest.approx(number) for number in rate[:3]]
        assert [row[column] for column in columns] == known
        found = [values for key, values in kept[table, columns[0]] if key.items() <= row.items()]
        assert found == ([pytest.approx(list(rate.resamples))] if rate.resamples.size else [])

    return checked


def resampled(clusters, about):
    """The clusters of items by number, and their resamples."""
    codes = np.unique(clusters, return_inverse=True)[1]
    settings = ResampleSettings(0.9, num_resamples=100)
    return codes, SampledClusters(int(codes.max()) + 1, settings, 3, document_key(f"0\n{about}"), "sentence")


def test_agreement_is_that_of_students_and_teacher_place_by_place(influence, told, check):
    rows = {(row["seed"], row["split"], row["measure"]): row for row in influence.rows("students")}
    assert {key[0] for key in rows} == {0, 1}
    for seed, part in ((0, "test"), (1, "test"), (0, "development")):
        texts = told.parts[part]
        contexts = [Context(tuple(row["words"]), place) for row in texts for place in range(len(row["words"]))]
        of = np.repeat(np.arange(len(texts)), [len(row["words"]) for row in texts])
        tags = np.array([tag for row in texts for tag in row["tags"]])
        lengths = np.array([len(row["words"]) for row in texts])[of]
        given = told.teacher.labels([row["words"] for row in texts])[of]
        gold = np.array([told.teacher.classes.index(row["label"]) for row in texts])[of]
        logits = told.logits(contexts, [context.word for context in contexts], seed)
        alone, said = told.teacher.labels([context.replaced() for context in contexts]), logits.argmax(axis=1)
        by_length = {f"{part}:{name}": group for name, group in length_groups(lengths).items() if group.any()}
        groups = {part: lengths > 0} | by_length
        tagged = groups | {f"{part}:{tag}": tags == tag for tag in {*tags}}
        shares = [
            *((part, "all_correct_gold", said == gold), (part, "teacher_accuracy", given == gold)),
            (part, "teacher_accuracy_masked", alone == gold),
        ]
        for ending, is_right in {"": said == given, "_context_only": alone == given}.items():
            shares += [(group, f"all_correct{ending}", is_right) for group in groups]
            shares += [(group, f"per_word{ending}", is_right) for group in tagged]
        codes, sampled = resampled([row["cluster"] for row in texts], part)
        for group, measure, is_right in shares:
            row, numbers, values = rows[seed, group, measure], of[tagged[group]], is_right[tagged[group]]
            if measure.startswith("all_correct") or measure == "teacher_accuracy":
                numbers = np.unique(numbers)
                values = np.array([is_right[of == number].all() for number in numbers])
            assert row["num"] == values.size
            check("students", row, ("value", "low", "high"), sampled.rate(values, codes[numbers]))
        error = float(told.students[seed].network.margin_error)
        sureness = {"_published": expit(np.abs(logits[:, 1] - logits[:, 0])), "": calibrated_confidence(logits, error)}
        for ending, sure in sureness.items():
            bins = np.minimum((20 * sure).astype(int), 19)
            row, gap = rows[seed, part, f"calibration_error{ending}"], sure - (said == given)
            gap = sampled.binned_gap(gap, bins, codes[of])
            check("students", row, ("value", "low", "high"), gap)
        mine = {(split, measure) for number, split, measure in rows if number == seed and split.startswith(part)}
        assert mine == {share[:2] for share in shares} | {(part, f"calibration_error{name}") for name in sureness}
    test, development = (rows[0, part, "teacher_accuracy"]["value"] for part in ("test", "development"))
    assert test < 0.8 < development
    assert rows[0, "test", "all_correct"]["value"] > 0.7 > rows[0, "test", "all_correct_context_only"]["value"]


def test_ratios_and_counterfactuals_are_of_all_words_in_the_place(influence, told):
    """Of the most frequent ones of its part of speech, by brute force."""
    keys = ("row", "place")
    counters = {tuple(row[key] for key in keys): row for row in influence.rows("counterfactuals")}
    rows, influences = influence.rows("unlike_ratios", status="ok"), influence.rows("influences")
    assert len(rows) == len(influences) == len(counters) == 60
    assert [row["row"] for row in rows] == sorted(row["row"] for row in rows)
    tags = {"ADJ", "NOUN", "VERB"}
    places = [(one["row"], place) for one in told.parts["test"] for place, tag in enumerate(one["tags"]) if tag in tags]
    drawn = drawn_order([f"{' '.join(told.rows[row]['words'])}\n{place}" for row, place in places], 3, "contexts")
    assert {(row["row"], row["place"]) for row in rows} == {places[number] for number in drawn[:60]}
    assert {row["part_of_speech"] for row in rows} == tags
    growth = told.students[0].error_growth
    for row in rows:
        text, place = told.rows[row["row"]], row["place"]
        context = Context(tuple(text["words"]), place)
        assert (row["part_of_speech"], row["word"]) == (text["tags"][place], text["words"][place])
        label = int(told.teacher.labels([text["words"]])[0])
        assert row["label"] == told.teacher.classes[label]
        words, logits, truth = told.replaced(context, told.known[row["part_of_speech"]][:7])
        said = logits.argmax(axis=1)
        numbers = [np.mean(said != label), np.mean(truth != label), np.mean(said == truth)]
        assert [row[name] for name in ("ratio", "teacher_ratio", "agreement")] == pytest.approx(numbers)
        assert row["teacher_low"] == row["teacher_ratio"] == row["teacher_high"]
        assert row["num_checked"] == row["num_words"] == len(words)
        counter, called = counters[row["row"], place], said != label
        assert (counter["num"], counter["chance"]) == (called.sum(), row["teacher_ratio"])
        base = told.teacher.logits(told.teacher.states([context.replaced()]))[0]
        sure = counterfactuals(logits, label, None, 3, sure_cuts(logits, base, label, growth, 0.95))
        assert counter["num_sure"] == sure.num_sure
        if called.any():
            published = counterfactuals(logits, label, None, 3).words
            accuracies = [np.mean(truth[places] != label) for places in (called, published)]
            assert [counter["accuracy_all"], counter["accuracy_published"]] == pytest.approx(accuracies)
        if sure.num_sure:
            assert counter["words"] == [words[number] for number in sure.words]
            assert counter["accuracy"] == np.mean(truth[sure.words] != label)
    assert {row["status"] for row in counters.values()} >= {"ok", "no_counterfactual"}


def test_influence_is_what_a_word_changes_along_the_classes(influence, told):
    student = told.students[0]
    side = told.teacher.weight[1] - told.teacher.weight[0]
    for row in influence.rows("influences"):
        context = Context(tuple(told.rows[row["row"]]["words"]), row["place"])
        [change] = student.changes(student.contexts([context]), student.words([context.word]))
        assert row["score"] == pytest.approx(np.tanh(change @ side / 2), abs=1e-5)
        assert row["support"] == (row["score"] if row["label"] == "positive" else -row["score"])


def test_probes_are_of_training_texts_that_the_filter_leaves(influence, told, check):
    """By what both models answer with each word in the place of each adjective of a positive text."""
    contexts = [
        (Context(tuple(row["words"]), place), row["cluster"])
        for row in told.parts["training"]
        for place, tag in enumerate(row["tags"])
        if tag == "ADJ"
    ]
    common, steps, kept = told.known["ADJ"][:7], [], []
    asked = ("lovely", "red", "wooden", "bleak")
    for context, cluster in contexts:
        steps.append("all")
        if not told.teacher.labels([context.text])[0]:
            continue
        words = [*dict.fromkeys((*common, *PLAIN, *asked))]
        said = dict(zip(words, told.logits([context] * len(words), words), strict=True))
        is_positive = {word: logits.argmax() == 1 for word, logits in said.items()}
        is_against = any(not is_positive[word] for word in ("round", "modern"))
        reversed_ = is_against and any(is_positive[word] for word in ("local", "early"))
        steps[-1] = "positive" if reversed_ else "not_reversed"
        if not reversed_ and not all(is_positive[word] for word in common):
            steps[-1] = "changeable"
            words = (*asked, *common)
            truth = dict(zip(words, told.labels([context] * len(words), words) == 1, strict=True))
            kept.append(SimpleNamespace(said=is_positive, truth=truth, cluster=cluster, odds=said))
    order = ["all", "positive", "not_reversed", "changeable"]
    counted = {row["step"]: row["num_contexts"] for row in influence.rows("probe_contexts")}
    assert counted == {step: sum(order.index(one) >= order.index(step) for one in steps) for step in order}
    assert len({*counted.values()}) == 4
    codes, sampled = resampled([one.cluster for one in kept], "probes")
    units = units_of(codes, "sentence")
    unasked = [word for word in common if word not in (*asked, "round", "modern", "local", "early")]
    flags = [row for part in influence.made("influence_probes", "flags") for row in part if row["step"] == "changeable"]
    shares = np.mean([row["random"] for row in flags], axis=0)
    assert sorted(shares) == pytest.approx(sorted(np.mean([one.truth[word] for one in kept]) for word in unasked))
    counts = Counter(word.lower() for row in told.parts["training"] for word in row["words"])
    rows = {(row["control"], row["probe"]): row for row in influence.rows("probes")}
    assert rows.keys() == {(a, b) for a in ("lovely", "red") for b in ("wooden", "unheard", "bleak")}
    for (control, word), row in rows.items():
        if word == "unheard":
            assert (row["status"], row["count_control"], row["count_probe"]) == ("unknown_word", counts[control], 0)
            continue
        said = np.array([[one.said[control], one.said[word]] for one in kept])
        truth = np.array([[one.truth[control], one.truth[word]] for one in kept])
        both = {"student_rate": said, "rate": truth}
        for name, flags in both.items():
            assert row[name] == pytest.approx(np.mean(flags[:, 0] & ~flags[:, 1]))
            assert row[f"{name}_reversed"] == pytest.approx(np.mean(flags[:, 1] & ~flags[:, 0]))
        differences = truth[:, 0].astype(int) - truth[:, 1]
        check("probes", row, ("rate", "low", "high"), sampled.rate(truth[:, 0] & ~truth[:, 1], codes))
        names = ("difference", "difference_low", "difference_high")
        check("probes", row, names, sampled.rate(differences, codes, FISHER))
        found = probe(Answers(*truth.T), units, level=0.9)
        assert (row["num_differing"], row["num_random"]) == (found.num_differing, len(unasked))
        assert row["p_value"] == (None if np.isnan(found.difference.p) else pytest.approx(found.difference.p))
        assert (row["num_contexts"], row["num_checked"]) == (len(kept), len(kept))
        assert row["num_clusters"] == len({one.cluster for one in kept})
        assert (row["count_control"], row["count_probe"]) == (counts[control], counts[word])
        odds = [[expit(one.odds[w][1] - one.odds[w][0]) for w in (control, word)] for one in kept]
        claimed = [number for number, (a, b) in enumerate(said) if a and not b]
        claimed.sort(key=lambda number: -odds[number][0] * (1 - odds[number][1]))
        assert row["num_claims"] == min(3, len(claimed))
        if claimed:
            best = truth[claimed[:3]]
            joint = share(best[:, 0] & ~best[:, 1], units.part(np.array(claimed[:3])), level=0.9)
            accuracies = [best[:, 0].mean(), (~best[:, 1]).mean(), *joint[:3]]
            columns = ("control", "probe", "joint", "joint_low", "joint_high")
            known = [None if np.isnan(number) else pytest.approx(number) for number in accuracies]
            assert [row[f"accuracy_{name}"] for name in columns] == known
    assert len({row["rate"] for row in rows.values()}) > 2
    tested = sorted(row["p_value"] for row in rows.values() if row["p_value"] is not None)
    holm = np.minimum(1, np.maximum.accumulate(np.array(tested) * np.arange(len(tested), 0, -1)))
    assert sorted(row["p_holm"] for row in rows.values() if row["p_holm"] is not None) == pytest.approx(list(holm))


def test_words_are_masked_where_the_teacher_is_wrong_in_the_order_of_each_score(influence, told):
    teacher = told.teacher
    for call, student in zip(influence.calls["coverages"], told.students, strict=True):
        rows, supports = [vars(row) for row in call["rows"]], call["supports"]
        texts = [row["words"] for row in rows]
        labels = teacher.labels(texts)
        assert len(rows) == 9
        wrong = [row["row"] for row in told.parts["test"] if told.label(row["words"]) != row["label"]]
        order = drawn_order([" ".join(told.rows[number]["words"]) for number in wrong], 3, "masking")
        assert [row["row"] for row in rows] == [wrong[place] for place in sorted(order[:9])] != wrong[:9]
        assert all(row["part"] == "test" for row in rows)
        assert all(teacher.classes[label] != row["label"] for label, row in zip(labels, rows, strict=True))
        lime = AttributionConfig(method="lime", num_samples=20)
        explained = attribute(told.loaded.classifier, [row["text"] for row in rows], lime, targets=[*labels], seed=3)
        number = told.students.index(student)
        for at, (row, label) in enumerate(zip(rows, labels, strict=True)):
            contexts = [Context(tuple(row["words"]), place) for place in range(len(row["words"]))]
            changes = student.changes(student.contexts(contexts), student.words(row["words"]))
            scores = np.tanh(changes @ (teacher.weight[1] - teacher.weight[0]) / 2) * (1 if label else -1)
            ratios = np.zeros(len(contexts))
            for place, (context, tag) in enumerate(zip(contexts, row["tags"], strict=True)):
                some = [word for word in told.known.get(tag, [])[:5] if word.lower() != context.word.lower()]
                if some:
                    ratios[place] = np.mean(told.logits([context] * len(some), some, number).argmax(axis=1) != label)
            expected = {
                "influence": scores,
                "unlike_ratios": ratios,
                "hybrid": hybrid(ratios, scores),
                "hybrid_sum": hybrid_sum(ratios, scores),
                "hybrid_of_texts": hybrid(ratios, scores, of_places=False),
                "lime": explained[at].values,
                "random": random_scores(row["words"], 3),
            }
            assert supports.keys() == expected.keys()
            for name, values in expected.items():
                np.testing.assert_allclose(supports[name][at], values, atol=1e-5, err_msg=name)


def test_masking_counts_the_texts_whose_class_changes(influence, told, check):
    calls = influence.calls["coverages"]
    methods, nums = list(calls[0]["supports"]), {}
    for place, call in enumerate(influence.calls["num_masked"]):
        given, least, method = told.teacher.labels(call["texts"]), [], methods[place % len(methods)]
        for text, order, values in zip(
            call["texts"], call["orders"], calls[place // len(methods)]["supports"][method], strict=True
        ):
            alike = [[at] if method in ("lime", "random") else np.equal(text, word) for at, word in enumerate(text)]
            largest = [values[places].max() for places in alike]
            assert order.tolist() == sorted(range(len(text)), key=lambda at: -largest[at])
        for text, order, label in zip(call["texts"], call["orders"], given, strict=True):
            texts = [[MASK if at in {*order[:num]} else word for at, word in enumerate(text)] for num in (1, 2, 3, 4)]
            turned = np.flatnonzero(told.teacher.labels(texts) != label)
            least.append(1 + turned[0] if turned.size else np.inf)
        nums[place // len(methods), method] = np.array(least)
    assert {row["budget"] for row in influence.rows("masking")} == {1, 2, 3, 4}
    for row in influence.rows("masking"):
        codes, sampled = resampled([text.cluster for text in calls[row["seed"]]["rows"]], "masking")
        covered, by_lime = (nums[row["seed"], method] <= row["budget"] for method in (row["method"], "lime"))
        less = sampled.rate(covered.astype(int) - by_lime, codes, FISHER)
        for name, rate in (("coverage", sampled.rate(covered, codes)), ("less_lime", less)):
            check("masking", row, (name, f"{name}_low", f"{name}_high"), rate)
        left_out = nums[row["seed"], row["method"]][covered]
        assert row["mean_masked"] == (pytest.approx(left_out.mean()) if left_out.size else None)
        assert row["num_texts"] == 9


def test_every_word_of_training_texts_has_its_count(influence, told):
    pairs = [pair for row in told.parts["training"] for pair in zip(row["tags"], row["words"], strict=True)]
    counts = Counter((tag, word.lower()) for tag, word in pairs)
    rows = influence.rows("vocabularies")
    assert {(row["part_of_speech"], row["word"]): row["count"] for row in rows} == counts
    assert len(rows) == len(counts)
    for row in rows:
        assert (row["status"] == "ok") == told.teacher.is_known(row["written"])
    # A sentence and its part go together.
    [texts] = influence.made("influence_texts", "prepared")
    assert len({(row["cluster"], row["part"]) for row in texts}) == len({row["cluster"] for row in texts})
    sizes = {part: len(rows) for part, rows in told.parts.items()}
    assert sizes["test"] == 90
    assert sizes["development"] / 440 == pytest.approx(0.1, abs=0.04)


def test_conventions_as_published_and_parts_of_what_may_be_asked(run_here, reviews, influence, told, tmp_path):
    """Changes of the state of the whole text, scores with a bias, tuned vectors, and places each by itself."""
    chosen = ("student.convention=published", "student.tune_vectors=true", "student.width=3", "influence_bias=true")
    chosen += ("masking.by_word=false", "masking.max_texts=25", "probes.max_contexts=60", "num_students=1")
    run = run_here(
        *(*reviews, *SMALL, *chosen, f"store={influence.path.parent}/store", f"run_dir={tmp_path}/run"),
        watched=[(MaskWords, "coverages"), (questions, "num_masked")],
    )
    published = Told(run, influence, replace(CONFIG, width=3, convention="published"))
    [student], teacher = published.students, published.teacher
    assert np.abs(vectors_of(student.network)[:-1] - vectors_of(published.loaded.network, "encoder.")).max() > 0.01
    side, bias = teacher.weight[1] - teacher.weight[0], teacher.bias[1] - teacher.bias[0]
    for row in run.rows("influences"):
        context = Context(tuple(told.rows[row["row"]]["words"]), row["place"])
        [change] = student.changes(student.contexts([context]), student.words([context.word]))
        assert row["score"] == pytest.approx(np.tanh((change @ side + bias) / 2), abs=1e-5)
    for row in run.rows("unlike_ratios", status="ok"):
        context = Context(tuple(told.rows[row["row"]]["words"]), row["place"])
        _, logits, _ = published.replaced(context, told.known[row["part_of_speech"]][:7])
        assert row["ratio"] == pytest.approx(np.mean(logits.argmax(axis=1) != teacher.classes.index(row["label"])))
    rows = told.parts["test"]
    contexts = [Context(tuple(row["words"]), place) for row in rows for place in range(len(row["words"]))]
    said = published.logits(contexts, [context.word for context in contexts]).argmax(axis=1)
    [agreement] = run.rows("students", split="test", measure="per_word")
    assert agreement["value"] == pytest.approx(np.mean(said == teacher.labels([context.text for context in contexts])))
    [call], orders = run.calls["coverages"], [masked["orders"] for masked in run.calls["num_masked"]]
    for of, by_text in zip(orders, call["supports"].values(), strict=True):
        assert [order.tolist() for order in of] == [np.argsort(-values, kind="stable").tolist() for values in by_text]
    assert any(len({*text.words}) < len(text.words) for text in call["rows"]), "some words come twice"
    assert [row["num_contexts"] for row in run.rows("probe_contexts", step="all")] == [60]


def test_a_teacher_that_knows_no_word_leaves_rows_with_reasons(run_here, reviews, tmp_path):
    """Its vocabulary is empty: every word is the same to it."""
    settings = ("models.encoder.min_count=100000", "models.training.max_epochs=1", "student.max_epochs=1")
    run = run_here(*reviews, *SMALL, *settings, "student.width=1", f"store={tmp_path}/store", f"run_dir={tmp_path}/run")
    assert {row["status"] for row in run.rows("vocabularies")} == {"unknown_word"}
    for name in ("unlike_ratios", "counterfactuals"):
        assert {row["status"] for row in run.rows(name)} == {"no_words"}
        assert all("knows no other word" in row["reason"] for row in run.rows(name))
    assert {row["status"] for row in run.rows("probes")} == {"unknown_word"}
    assert {row["count_control"] for row in run.rows("probes", control="red")} != {0}
    assert len(run.rows("probe_contexts")) == 4


@pytest.mark.once("word_influence")
def test_parts_of_speech_and_groups_that_a_file_brings_go_first(run_here, tmp_path):
    """By which words in -ly are adjectives, punctuation at a word has its own, and a row with too few says so."""
    rng, path = random.Random(0), tmp_path / "tagged.csv"
    rows = [[f"{rng.choice(GOOD[:3])} {noun}.", "UH NNP", "fine"] for noun in NOUNS * 4]
    rows += [[f"{rng.choice(BAD[:3])} {noun}", "UH NNP", "bad"] for noun in NOUNS * 4]
    rows += [["a dull film", "DT JJ", "bad"], ["a dull film", "DT JJ FILM", "bad"], ["a fine film", "", "fine"]]
    about = [f"{first[0].replace('f', 'l')} {noun}" for first, *_, noun in (row[0].strip(".").split() for row in rows)]
    write_rows(path, [["text", "tags", "label", "about"], *([*row, of] for row, of in zip(rows, about, strict=True))])
    settings = ("masking.max_texts=0", "probes.control=[]", "probes.probe=[]", "ratios.parts_of_speech=[X]")
    settings += ("data.group=about",)
    run = run_here(
        *("job=word_influence", f"data.path={path}", "data.tags=tags", *SMALL, *settings, "student.width=7"),
        *(f"store={tmp_path}/store", f"run_dir={tmp_path}/run"),
    )
    words = {row["word"]: row["part_of_speech"] for row in run.rows("vocabularies")}
    assert {words[word] for word in words if word in GOOD + BAD} == {"X"}
    assert {words[word] for word in words if word in NOUNS} == {"NOUN"}
    assert words["."] == "."
    assert {row["word"] for row in run.rows("unlike_ratios")} <= {*GOOD, *BAD}
    assert [row["reason"] for row in run.rows("texts", status="tags")] == [
        "2 tags for the 3 words between its spaces",
        "'FILM' is no part of speech",
        "0 tags for the 3 words between its spaces",
    ]
    few = {row["reason"] for row in run.rows("students") if row["reason"]}
    assert {reason.partition(" of the unit ")[2] for reason in few} == {'"about", and 2 are needed'}


def test_the_teacher_may_judge_a_sample(run_here, reviews, influence, told, tmp_path):
    """The student judges all; claims go by calibrated chances here."""
    settings = ("exact=never", "ratios.num_checked=4", "ratios.unit_contexts=99")
    settings += ("probes.num_checked=15", "probes.confidence=calibrated")
    sampled = run_here(
        *(*reviews, *SMALL, *settings, f"store={influence.path.parent}/store", f"run_dir={tmp_path}/run"),
        watched=[(questions, "powered_rate"), (probes, "sampled_contexts")],
    )
    assert sampled.num_done("train students") == 0
    exact = {(row["row"], row["place"]): row for row in influence.rows("unlike_ratios")}
    rows = sampled.rows("unlike_ratios", status="ok")
    held = [
        row["teacher_low"] <= exact[row["row"], row["place"]]["teacher_ratio"] <= row["teacher_high"] for row in rows
    ]
    assert sum(held) / len(held) >= 0.9
    for row, call in zip(
        sorted(rows, key=lambda row: row["part_of_speech"]), sampled.calls["powered_rate"], strict=True
    ):
        assert row["ratio"] == exact[row["row"], row["place"]]["ratio"]
        assert (row["num_checked"], call["level"]) == (min(4, row["num_words"]), 0.9)
        unlike, like = call["strata"]
        assert (unlike.num, unlike.num + like.num) == (round(row["ratio"] * row["num_words"]), row["num_words"])
        assert unlike.num_checked == min(max(2, 4 - like.num), unlike.num)
    flags = [row for part in influence.made("influence_probes", "flags") for row in part if row["step"] == "changeable"]
    claims = [row for part in sampled.made("influence_probes", "flags") for row in part if row["step"] == "changeable"]
    calibrated = calibrated_odds(np.array([row["odds"] for row in flags]), float(told.students[0].network.margin_error))
    np.testing.assert_allclose([row["odds"] for row in claims], calibrated, rtol=1e-4, atol=1e-4)
    [judged] = [call["result"] for call in sampled.calls["sampled_contexts"]]
    units = units_of(np.array([row["cluster"] for row in flags]), "sentence")
    assert set(units.codes[judged]).isdisjoint(np.delete(units.codes, judged))
    asked = ["lovely", "red", "wooden", "bleak"]
    for pair in (("lovely", "wooden"), ("lovely", "bleak"), ("red", "bleak")):
        [row] = sampled.rows("probes", control=pair[0], probe=pair[1])
        said, truth = (
            [np.array([row[of] for row in flags])[:, asked.index(word)] for word in pair]
            for of in ("student", "teacher")
        )
        expected = sampled_probe(Answers(*said), judged, Answers(*(of[judged] for of in truth)), units, level=0.9)
        numbers = (expected.rate, expected.rate.low, expected.rate.high)
        assert 15 <= row["num_checked"] == judged.size < len(flags)
        assert [row["rate"], row["low"], row["high"]] == pytest.approx([expected.rate.value, *numbers[1:]])
        ends = [row[f"difference{end}"] for end in ("", "_low", "_high")]
        assert ends == pytest.approx([expected.difference.value, expected.difference.low, expected.difference.high])
        assert row["p_value"] == (None if np.isnan(expected.difference.p) else pytest.approx(expected.difference.p))
        assert row["student_rate"] == np.mean(said[0] & ~said[1])


def test_shards_change_nothing_but_last_bits(run_here, reviews, influence, tmp_path):
    other = run_here(
        *(*reviews, *SMALL, "ratios.unit_contexts=13", "probes.unit_contexts=37"),
        *(f"store={influence.path.parent}/store", f"run_dir={tmp_path}/run"),
    )
    for name in ("unlike_ratios", "counterfactuals", "probes", "probe_contexts", "draws"):
        assert other.rows(name) == influence.rows(name)
    for one, same in zip(other.rows("influences"), influence.rows("influences"), strict=True):
        assert one["score"] == pytest.approx(same["score"], abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("num_workers", [1, 2, 4])
def test_workers_change_no_table(run_job, reviews, influence, tmp_path, num_workers):
    settings = (f"cluster.num_cpus={num_workers}", f"store={tmp_path}/store", f"run_dir={tmp_path}/run")
    assert run_job(*reviews, *SMALL, *settings).digests == influence.digests


@pytest.mark.slow
@pytest.mark.parametrize("victim", ["driver", "worker"])
def test_a_kill_at_a_random_moment_changes_no_table(influence, tiltmeter, outcome_of, tmp_path, reviews, victim):
    survive(tiltmeter, outcome_of, tmp_path, [*reviews, *SMALL], victim, influence)


def test_texts_of_one_class_are_refused(run_here, tmp_path):
    (tmp_path / "one.csv").write_text("text,label\n" + "".join(f"a film no {number},fine\n" for number in range(40)))
    with pytest.raises(UnitsFailed, match=r"must be of two at least; set data\.label"):
        run_here("job=word_influence", f"data.path={tmp_path}/one.csv", f"store={tmp_path}", f"run_dir={tmp_path}/run")


# --- checkpoints: versions of a classifier of three classes ----------------------------------------------------------

ADJECTIVES = ("lovely", "awful", *PLAIN)
OTHERS = ("the", "a", "has", "one", "no", ".")
CLASSES = ("bad", "good", "mixed")
SETTINGS = [
    *("num_students=1", "student.hidden=8", "student.max_epochs=10", "student.dimensions=8"),
    *("student.random_words=2", "student.learning_rate=0.02"),
    *("ratios.num_contexts=30", "ratios.max_words=20", "ratios.parts_of_speech=[NOUN, ADJ]", "masking.num_samples=20"),
    *("masking.max_texts=10", "masking.max_words=8", "intervals.num_resamples=50", "probes.positive=good"),
    *("probes.control=[lovely]", "probes.probe=[awful, modern]", "probes.num_checked=4"),
    *("probes.clearly_positive=[]", "probes.clearly_negative=[]"),
]


@pytest.fixture(scope="module")
def checkpoints(write_bert, tmp_path_factory):
    """Two versions of a classifier that have learnt nothing, and so turn with nearly any word."""
    place = tmp_path_factory.mktemp("checkpoints")
    names = {"id2label": dict(enumerate(CLASSES)), "label2id": {name: number for number, name in enumerate(CLASSES)}}
    words, head = [*NOUNS, *ADJECTIVES, *OTHERS], "BertForSequenceClassification"
    folders = {
        name: write_bert(place / name, words, head, initializer_range=spread, **names)
        for name, spread in (("checkpoint", 1.0), ("after", 1.5))
    }
    for folder in folders.values():
        make_classes_equally_likely(folder)
    return folders


def make_classes_equally_likely(folder):
    model, tokenizer = load_classifier(folder, "cpu", "models.checkpoint")
    teacher, rng = transformers_teacher(model, tokenizer), random.Random(1)
    logits = teacher.logits(teacher.states([plain_review(rng).split() for _ in range(60)]))
    model.classifier.bias.data -= torch.tensor(np.median(logits, axis=0), dtype=torch.float32)
    model.save_pretrained(folder)


def plain_review(rng):
    kinds = (ADJECTIVES, NOUNS, ADJECTIVES, NOUNS)
    return "the {} {} has one {} {}".format(*(rng.choice(words) for words in kinds))


@pytest.fixture(scope="module")
def versions(run_here, checkpoints, tmp_path_factory):
    rng, place = random.Random(0), tmp_path_factory.mktemp("versions")
    rows = [(plain_review(rng), label) for label in CLASSES * 40]
    path = write_rows(place / "texts.csv", [["text", "label"], *rows])
    named = (f"models.checkpoint={checkpoints['checkpoint']}", f"models.checkpoints={{after: {checkpoints['after']}}}")
    given = ("job=word_influence", f"data.path={path}", *named, "models.revision=x", "models.device=auto")
    return run_here(
        *(*given, *SETTINGS, f"store={place}/store", f"run_dir={place}/run"), watched=[(probes, "sampled_probe")]
    )


@pytest.mark.parametrize("name", ["checkpoint", "after"])
def test_ratios_are_those_of_the_checkpoint_itself(versions, checkpoints, name):
    """By brute force: all words of the part of speech, put into the text."""
    teacher = transformers_teacher(*load_classifier(checkpoints[name], "cpu", "models.checkpoint"))
    texts = {row["row"]: row["text"].split() for row in versions.rows("texts")}
    words = {row["word"]: row["part_of_speech"] for row in versions.rows("vocabularies", model=name, status="ok")}
    rows = versions.rows("unlike_ratios", model=name, status="ok")
    assert len(rows) == 30
    for row in rows:
        text, place = texts[row["row"]], row["place"]
        others = [word for word, tag in words.items() if tag == row["part_of_speech"] and word != text[place]]
        labels = teacher.labels([[*text[:place], word, *text[place + 1 :]] for word in others])
        expected = np.mean(np.array(teacher.classes)[labels] != row["label"])
        assert row["teacher_low"] == row["teacher_ratio"] == row["teacher_high"] == pytest.approx(expected)
        assert row["num_checked"] == row["num_words"] == len(others)
    scores = versions.rows("influences", model=name)
    assert all(row["score"] == row["support"] for row in scores), "log odds of the text's class"
    assert len({row["label"] for row in scores}) > 1


def test_probes_are_about_the_class_that_is_asked_for(versions, checkpoints):
    """By what the checkpoint says of each context with each word."""
    [(_, drawn)] = versions.units("influence_probe_contexts")
    contexts = {row["context"]: context_of(row) for ref in drawn.tables.values() for row in versions.read(ref)}
    calls = iter(versions.calls["sampled_probe"])
    for unit, done in versions.units("influence_probes"):
        name = unit.config["teacher"]
        teacher = transformers_teacher(*load_classifier(checkpoints[name], "cpu", "models.checkpoint"))
        steps = {row["context"]: row["step"] for row in versions.read(done.tables["flags"])}
        good = teacher.labels([contexts[number].text for number in steps]) == 1
        assert [step != "all" for step in steps.values()] == good.tolist()
        kept = [contexts[number] for number, step in steps.items() if step == "changeable"]
        for row in versions.rows("probes", model=name):
            call = next(calls)
            for word, said in zip((row["control"], row["probe"]), call["truth"], strict=True):
                labels = teacher.labels([kept[place].replaced(word) for place in call["rows"]])
                assert said.tolist() == (labels == 1).tolist()
            assert row["p_random"] is row["p_random_holm"] is None, "there are no more than 50 adjectives"
    assert any(row["num_checked"] < row["num_contexts"] for row in versions.rows("probes"))
