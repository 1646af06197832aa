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


def test_shares_stand_beside_what_they_are_held_against():
    text = " ".join(said())
    for share in ("96.0%", "69.0%", "99.3%", "96.2%", "10.0%"):
        assert share in text


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
