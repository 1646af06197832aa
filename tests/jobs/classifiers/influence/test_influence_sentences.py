"""Sentences and pages of `word_influence`."""

import polars as pl

from tests.fixtures.tables.influence import influence
from tiltmeter.jobs.classifiers.influence.findings import sentences


def said():
    return list(sentences({name: pl.from_arrow(table) for name, table in influence().items()}))


def test_a_difference_that_random_words_have_too_is_no_finding():
    [sentence] = [sentence for sentence in said() if "gay" in sentence]
    assert "they differ, but no more than random words do" in sentence
    assert "10.00%" in sentence
    assert "2.00%" in sentence


def test_a_word_that_the_teacher_does_not_know_is_said_nothing_about():
    [sentence] = [sentence for sentence in said() if "queer" in sentence]
    assert sentence.startswith("Nothing is said about")


def changed(**columns):
    probes = pl.from_arrow(influence()["probes"]).head(1)
    [sentence] = sentences({"probes": probes.with_columns(**{name: pl.lit(value) for name, value in columns.items()})})
    return sentence


def test_random_words_that_the_teacher_was_not_asked_about_make_no_finding():
    sentence = changed(p_random=None, p_random_holm=None, num_random=20)
    assert "the teacher judged 20 random words there, and 50 are needed" in sentence
    assert "leans" not in sentence


def test_what_could_have_been_shown_is_said_before_no_difference_is():
    assert "the least that could come" not in changed(p_holm=0.4)
    assert "with 4 sentences that differ, p\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}0.12 is the least" in changed(
        p_holm=0.4, num_differing=4
    )


def test_too_few_sentences_have_their_rates_and_no_test():
    sentence = changed(p_holm=None, p_value=None, status="too_few_units", reason="2 differ, and 6 are needed")
    assert "no test is made, as 2 differ, and 6 are needed" in sentence
    assert "10.00%" in sentence


def test_an_interval_without_a_side_is_not_said_to_be_like_random_words():
    sentence = changed(p_random_holm=0.01, difference_low=-0.1)
    assert "more than random words do, but the interval names no side" in sentence


def test_shares_stand_beside_what_they_are_held_against():
    text = " ".join(said())
    for share in ("96.0%", "69.0%", "99.3%", "96.2%", "10.0%"):
        assert share in text


def test_a_student_that_follows_hardly_better_than_the_context_is_said_to():
    students = pl.from_arrow(influence()["students"])
    assert "Their intervals overlap" not in next(sentences({"students": students}))
    weak = students.with_columns(low=pl.when(measure="all_correct").then(0.7).otherwise("low"))
    assert "only what the teacher confirms counts" in next(sentences({"students": weak}))


def test_a_finding_names_its_side():
    tables = influence()
    probes = pl.from_arrow(tables["probes"]).with_columns(p_random_holm=pl.lit(0.001))
    [sentence] = list(sentences({"probes": probes.head(1)}))
    assert "it leans against the probe" in sentence
    reversed_ = probes.head(1).with_columns(
        difference=-pl.col("difference"), difference_low=-0.1, difference_high=-0.06
    )
    [sentence] = list(sentences({"probes": reversed_}))
    assert "it leans against the control" in sentence
