"""Stages and sentences of `word_influence` on tables by hand: what is drawn, judged, masked, and said of it."""

import itertools
from functools import partial
from types import SimpleNamespace

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from benchmarks.calibration.adversary import Held
from benchmarks.calibration.influence import PAIR, among_random, followed, interchanged, probed, ratio, texts_of
from tests.fixtures.tables.influence import influence
from tiltmeter.jobs.classifiers.influence.page import page
from tiltmeter.jobs.classifiers.influence.probes import OfProbes, SumUpProbes
from tiltmeter.jobs.classifiers.influence.questions import Judged, context_of
from tiltmeter.jobs.classifiers.influence.students import DivideTexts, LoadedTeacher, TeacherModel, TrainStudent
from tiltmeter.jobs.classifiers.influence.students import texts_of as texts_of_part
from tiltmeter.jobs.classifiers.splits import drawn_order
from tiltmeter.operators.classifiers.influence.probes import Answers, probe, unusual
from tiltmeter.operators.classifiers.influence.records import Context, StudentConfig, written
from tiltmeter.operators.statistics.units import units_of


def answers(words):
    return Answers(*(words[word] for word in PAIR))


@pytest.mark.parametrize("whole", [True, False])
def test_a_checkpoint_that_judged_all_and_a_teacher_that_judged_itself_say_the_same(whole):
    contexts = interchanged(0, 300)
    row = probed(contexts, whole=whole)
    found = probe(answers(contexts.teacher), units_of(contexts.codes, "sentence"), level=0.95)
    assert row["num_checked"] == 300
    assert row["num_differing"] == found.num_differing
    assert row["p_value"] == row["p_holm"] == pytest.approx(found.difference.p)
    assert (row["low"], row["high"]) == pytest.approx((found.rate.low, found.rate.high))
    assert row["student_rate"] == pytest.approx(answers(contexts.student).forward.mean())


def test_contexts_of_few_groups_have_no_test_and_their_row_says_of_what():
    contexts = interchanged(2, 300)
    few = contexts._replace(codes=contexts.codes * 0 + np.arange(300) % 5)
    for whole in (True, False):
        row = probed(few, whole=whole, unit="speaker")
        assert row["p_value"] is row["p_holm"] is None
        assert row["status"] == "too_few_units"
        assert "speaker" in row["reason"]
        assert row["reason"].endswith("6 are needed")


def test_random_words_are_judged_by_the_teacher_in_the_contexts_of_the_pair():
    """To the student all words are alike, so that any difference would be unusual among what it says."""
    contexts = among_random(0, 400, 0.0)
    same = dict.fromkeys(contexts.student, contexts.student[PAIR[0]])
    for whole, num_checked in ((True, 1000), (False, 1000), (False, 150)):
        row = probed(contexts._replace(student=same), whole=whole, num_checked=num_checked)
        assert row["num_random"] == 60
        assert 0.02 < row["p_random"] <= 1.0
    random = [word for word in contexts.teacher if word not in PAIR]
    shares = np.array([contexts.teacher[word].mean() for word in random])
    row = probed(contexts, whole=False)
    assert row["p_random"] == row["p_random_holm"] == pytest.approx(unusual(row["difference"], shares))
    assert row["p_random"] != row["p_value"], "of one pair there is nothing to correct"


def test_claims_of_one_sentence_are_no_ten_witnesses():
    contexts = interchanged(3, 300)
    alike = {word: np.ones(300, bool) if word == PAIR[0] else np.zeros(300, bool) for word in PAIR}
    apart = probed(contexts._replace(teacher=alike, student=alike, codes=np.arange(300)), whole=True)
    together = probed(contexts._replace(teacher=alike, student=alike, codes=np.arange(300) // 100), whole=True)
    assert apart["accuracy_joint"] == together["accuracy_joint"] == 1.0
    assert apart["accuracy_joint_low"] == pytest.approx(0.025 ** (1 / 100), abs=1e-6)
    assert together["accuracy_joint_low"] is None or together["accuracy_joint_low"] < 0.6


def test_a_student_of_one_sentence_has_no_interval_and_says_of_what():
    texts = texts_of(1, 60, 3.0)
    alone = followed(texts._replace(rows=[row | {"cluster": 0} for row in texts.rows]))["test", "per_word"]
    assert alone["low"] is alone["high"] is None
    assert alone["status"] == "too_few_units"
    assert "sentence" in alone["reason"]


def test_texts_keep_how_they_stand_and_groups_tie_them_together():
    texts = [
        ("Don't   look,\tnow!", "ann"),
        ("A  Welsh film", "bob"),
        ("welcome ", "ann"),
        ("now", None),
        ("soon", None),
    ]
    rows = [
        {"text": text, "group": group, "label": "x", "part": part, "status": "ok"}
        for part in ("training", "development", "test")
        for label in "xy"
        for text, group in texts
    ]
    for number, row in enumerate(rows):
        row["label"] = "xy"[number // 5 % 2]
    held = Held()
    work = DivideTexts(texts=held.put(pa.Table.from_pylist(rows)), max_words=3, shares={}, seed=0)
    training = texts_of_part(held, held.put(dict(work.tables(held))["prepared"]), "training")
    expected = ["Don't   look,", "A  Welsh film", "welcome", "now", "soon"]
    assert [written(row.spaced, "?") for row in training[:5]] == expected
    clusters = [row.cluster for row in training[:5]]
    assert (clusters[0], len({*clusters})) == (clusters[2], 4)
    context = context_of({"words": ["Don't", "look", ","], "text": training[0].text, "place": 1})
    assert written(context.replaced(), "?") == "Don't   ?,"


def _judged(asked, texts):
    asked += [text[0] for text in texts]
    return np.array([text[0] < "d" for text in texts], np.int64)


def test_what_is_drawn_depends_on_the_seed_and_on_what_it_is_for():
    """And words that take the place of others are frequent ones that nobody asked about."""
    known, units = {"ADJ": [*"Abcdefghij"], "NOUN": [*"xyz"]}, units_of(np.arange(120) // 3, "sentence")
    about = {"words": {"probed": ["B"], "positive": ["a"]}, "tag": "ADJ", "max_words": 8, "num_random": 4}
    about |= {"positive": None, "vocabulary": "vocabulary"}
    answer = Judged([*"abcdefghij"], np.ones(10, bool), np.zeros(2), np.zeros((10, 1)), np.arange(10) % 3 % 2, None)
    drawn = {name: set() for name in ("order", "random", "sample", "checked")}
    for seed, name in itertools.product((1, 2), "xy"):
        asked = []
        teacher = SimpleNamespace(labels=partial(_judged, asked))
        row = ratio(Context((name,), 0), answer, teacher, seed=seed, level=0.9, num_checked=5)
        assert row["agreement"] == np.mean([(word < "d") == (word in "beh") for word in asked])
        drawn["checked"].add(tuple(asked))
        drawn["order"].add(tuple(drawn_order("abcdefgh", seed, name)))
        sample = SumUpProbes.sample(SimpleNamespace(seed=seed, teacher=TeacherModel(name), num_checked=9), units)
        assert (len(sample), {*units.codes[sample]} & {*np.delete(units.codes, sample)}) == (9, set())
        drawn["sample"].add(tuple(sample))
        words = OfProbes(**about, seed=seed).random_words(known)
        assert len(words) == 4
        assert {*words} < {*"cdefgh"}
        drawn["random"].add(tuple(words))
    assert {name: len(of) for name, of in drawn.items()} == {"order": 4, "random": 2, "sample": 4, "checked": 4}


def test_students_of_a_checkpoint_begin_from_what_it_reads_words_as():
    """Spelt as texts mostly spell them; a word that it does not know begins anywhere."""
    asked = []

    def vectors(words, dimensions):
        asked.extend([*words, dimensions])
        return {word: np.array([float(len(word)), -1.0]) for word in words if word != "qqq"}

    loaded = LoadedTeacher(None, None, None, None, vectors)
    of_tables = {"teacher": TeacherModel("0"), "texts": "texts", "vocabulary": "vocabulary", "language": "en"}
    work = TrainStudent(**of_tables, student=StudentConfig(dimensions=2), seed=0, min_count=1, max_vocabulary=9)
    vocabulary, made = work.first_vectors(loaded, [["Welsh", "film"], ["Film", "film", "qqq"]])
    assert sorted(map(str, asked)) == ["2", "Welsh", "film", "qqq"]
    of = {word: made[vocabulary.number(word)] for word in ("welsh", "film", "qqq")}
    np.testing.assert_allclose(of["welsh"] / of["film"], [5 / 4, 1.0], rtol=1e-5)
    assert of["qqq"][0] / of["qqq"][1] != pytest.approx(-3.0)


# --- sentences of tables that are other than those of the page's model -----------------------------------------------

USUAL = {name: pl.from_arrow(table) for name, table in influence().items()}
PROBES = USUAL["probes"].head(1)
LOW = pl.when(measure="all_correct").then(0.7).otherwise("low")
FEW = {"p_holm": None, "p_value": None, "status": "too_few_units", "reason": "2 differ, and 6 are needed"}
TURNED = {"difference": -PROBES["difference"][0], "difference_low": -0.1, "difference_high": -0.06}
CASES = {
    "random words differ as much, and a word is unknown": {},
    "random words that the teacher was not asked about": {"p_random": None, "p_random_holm": None, "num_random": 20},
    "no difference": {"p_holm": 0.4},
    "no difference could be shown": {"p_holm": 0.4, "num_differing": 4},
    "too few sentences": FEW,
    "an interval without a side": {"p_random_holm": 0.01, "difference_low": -0.1},
    "against the probe": {"p_random_holm": 0.001},
    "against the control": {"p_random_holm": 0.001} | TURNED,
}


def test_sentences(check_sentences):
    said = {
        case: page.sentences(
            {"probes": PROBES.with_columns(**{name: pl.lit(value) for name, value in changed.items()})}
            if changed
            else USUAL
        )
        for case, changed in CASES.items()
    }
    weak = USUAL["students"].with_columns(low=LOW)
    said["a student that hardly follows better than the context"] = page.sentences({"students": weak})
    check_sentences(said)
