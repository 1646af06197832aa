"""Sentences of the page: what they may say, and what they must."""

import polars as pl

from tests.fixtures.tables.relations import ruled
from tiltmeter.jobs.relations.page.findings import doubts, findings


def frames(**changes):
    made = {name: pl.from_arrow(table) for name, table in ruled().items()}
    is_difference = pl.col("model") == "joint - no_decoder"
    values = [
        pl.when(is_difference).then(pl.lit(value)).otherwise(pl.col(name)).alias(name)
        for name, value in changes.items()
    ]
    return made | {"measures": made["measures"].with_columns(values)}


def of_difference(**changes):
    texts = (text.replace("\xa0", " ") for text in findings(frames(**changes)))
    return next(text for text in texts if "without a decoder" in text)


def test_a_difference_is_named_with_its_null_its_unit_and_both_p():
    text = of_difference(low=0.001, high=0.02, p_value=0.02, p_adjusted=0.04)
    assert "is better than a model without a decoder" in text
    assert "p = 0.020 of both having one F1 on other sentences and by other trainings" in text
    assert "p = 0.040 of all differences on this part (Holm)" in text
    assert "not surely better or worse" in of_difference()
    assert "on other documents" in of_difference(unit="document")


def test_without_a_p_value_the_page_says_what_is_missing():
    reason = 'there is too little to go by: 12 of the unit "sentence", and 20 are needed'
    text = of_difference(low=None, high=None, p_value=None, p_adjusted=None, reason=reason)
    assert text.startswith("Whether the joint model is better than a model without a decoder can't be told")
    assert "20 are needed" in text


def test_one_training_and_best_epochs_at_either_end_are_said():
    made = frames()
    assert "The best epoch is the last in 1 of 1 model; more of them may be better" in " ".join(doubts(made))
    assert not any("of this one training" in text for text in doubts(made))
    once = made | {"measures": made["measures"].with_columns(sd_training=pl.lit(None, pl.Float64))}
    assert any("of this one training" in text for text in doubts(once))
    assert not any("other trainings" in text for text in findings(once))
