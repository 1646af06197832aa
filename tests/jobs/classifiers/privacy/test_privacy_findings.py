"""What is said of the orders that the paper expects."""

from types import SimpleNamespace

import polars as pl

from tests.fixtures.tables import explanations
from tiltmeter.jobs.classifiers.privacy.page.findings import findings

NOTHING = SimpleNamespace(path=None)
CONFIG = SimpleNamespace(
    data=SimpleNamespace(group=None),
    intervals=SimpleNamespace(num_resamples=9, level=0.95, interval="centred"),
    models=SimpleNamespace(names=()),
    unbiased=NOTHING,
    lexicon=NOTHING,
)


def test_a_difference_beside_its_interval_finds_nothing():
    frames = {name: pl.DataFrame(table) for name, table in explanations.metrics().items()}
    turned = pl.when(corpus="across").then(-pl.col("difference")).otherwise("difference").alias("difference")
    frames["orderings"] = frames["orderings"].with_columns(turned)
    sentences = findings(frames, CONFIG).findings[0].items
    assert "Within the corpus, EP higher than 0: found for PrivEP." in sentences
    assert "In the other corpus, EP higher than 0: left open by contradictory numbers for PrivEP." in sentences
    assert any(
        item.startswith("Explanations highlight the artificial words that ArtNoise learnt: 0.6") for item in sentences
    )


def test_explanations_that_do_not_show_artificial_words_are_doubted():
    frames = {name: pl.DataFrame(table) for name, table in explanations.metrics().items()}
    frames["noise"] = frames["noise"].with_columns(highlighted=False)
    lead = findings(frames, CONFIG)
    assert any(item.startswith("Explanations do not highlight the artificial words") for item in lead.findings[0].items)
    assert any(item.startswith("Explanations that do not show the artificial words") for item in lead.doubts[0].items)


def doubts(**changed):
    frames = {name: pl.DataFrame(table) for name, table in explanations.metrics().items()}
    config = SimpleNamespace(**(vars(CONFIG) | {"data": SimpleNamespace(group="speaker")}))
    return list(findings(frames | changed, config).doubts[0].items)


def test_one_man_and_one_woman_are_two_people():
    said = doubts()
    [two] = [sentence for sentence in said if sentence.startswith("Within the corpus, the speakers are")]
    assert two == (
        "Within the corpus, the speakers are 1 female and 1 male: numbers are of these 2 people, and say nothing "
        "of others. An interval of the UAR of gender needs 4 of each gender, other intervals 4 in all, and a p-value 6 "
        "that differ."
    )
    assert any("EP and EG compare what speaks for different things" in sentence for sentence in said)
    assert "In the other corpus, 8 units and 1 test of a measure allow no p after Holm below 0.0078." in said


def test_without_a_p_value_the_page_says_what_one_needs_and_nothing_is_found_or_not_found():
    frames = {name: pl.DataFrame(table) for name, table in explanations.metrics().items()}
    gone = {name: pl.lit(None, pl.Float64) for name in ("p", "p_holm", "difference_low", "difference_high")}
    orderings = frames["orderings"].with_columns(**gone, found=pl.lit(None, pl.Boolean), status=pl.lit("too_few_units"))
    assert "No difference has a p-value: one needs 6 speakers (texts, where nobody is named) that differ." in doubts(
        orderings=orderings
    )
    sentences = findings(frames | {"orderings": orderings}, CONFIG).findings[0].items
    assert "Within the corpus, EP higher than 0: left open by too few speakers or texts for PrivEP." in sentences
