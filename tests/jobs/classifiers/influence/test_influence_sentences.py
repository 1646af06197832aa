"""Sentences of `word_influence` on tables that are other than those of its page's model."""

import polars as pl

from tests.fixtures.tables.influence import influence
from tiltmeter.jobs.classifiers.influence.page import page

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
    check_sentences(
        said | {"a student that hardly follows better than the context": page.sentences({"students": weak})}
    )
