"""Sentences of the page of tables that are not the usual ones: what they may say, and what they must."""

import os
from pathlib import Path

import polars as pl

from tests.fixtures.tables.relations import ruled
from tiltmeter.jobs.relations.page import doubts, findings

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
