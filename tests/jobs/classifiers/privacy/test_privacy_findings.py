"""What is said of the promises of approaches to privacy."""

from types import SimpleNamespace

import polars as pl

from tests.fixtures.tables import explanations
from tiltmeter.jobs.classifiers.privacy.page.findings import findings


def test_a_difference_beside_its_interval_keeps_no_promise():
    frames = {name: pl.DataFrame(table) for name, table in explanations.metrics().items()}
    turned = pl.when(corpus="across").then(-pl.col("difference")).otherwise("difference").alias("difference")
    frames["orderings"] = frames["orderings"].with_columns(turned)
    nothing = SimpleNamespace(path=None)
    config = SimpleNamespace(
        data=SimpleNamespace(group=None),
        intervals=SimpleNamespace(num_resamples=9, level=0.95),
        models=SimpleNamespace(names=()),
        unbiased=nothing,
        lexicon=nothing,
    )
    sentences = findings(frames, config).findings[0].items
    assert "Within the corpus, a lower EP than General's: found for PrivEP." in sentences
    assert "In the other corpus, a lower EP than General's: left open by contradictory numbers for PrivEP." in sentences
