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
