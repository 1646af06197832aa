"""What the page says of models that give gender away, of tables that are other than those of its page's model."""

from types import SimpleNamespace

import polars as pl
import pyarrow as pa

from tests.fixtures.tables import explanations
from tiltmeter.jobs.classifiers.privacy.page import findings
from tiltmeter.jobs.classifiers.privacy.tables import RESEEDED, Models, Texts
from tiltmeter.jobs.report.html.elements import Bullets

NOTHING = SimpleNamespace(path=None)
CONFIG = {
    "intervals": SimpleNamespace(num_resamples=9, level=0.95, interval="centred"),
    "models": SimpleNamespace(names=()),
    "unbiased": NOTHING,
    "lexicon": NOTHING,
}
USUAL = {name: pl.DataFrame(table) for name, table in explanations.metrics().items()}
TURNED = pl.when(corpus="across").then(-pl.col("difference")).otherwise("difference").alias("difference")
GONE = {name: pl.lit(None, pl.Float64) for name in ("p", "p_holm", "difference_low", "difference_high")}
UNTESTED = USUAL["orderings"].with_columns(**GONE, found=pl.lit(None, pl.Boolean), status=pl.lit("too_few_units"))
ORDERINGS, MODELS = USUAL["orderings"], USUAL["models"].filter(pl.col("seed").is_null(), model="PrivEP")
LOWER = {"against": RESEEDED, "difference": -0.1, "difference_low": -0.2, "difference_high": -0.05, "found": False}
BESIDE_RESEEDED = [
    ORDERINGS,
    ORDERINGS.with_columns(**{name: pl.lit(value) for name, value in LOWER.items()}),
    ORDERINGS.with_columns(model=pl.lit("GRL"), against=pl.lit(RESEEDED)),
]
"""PrivEP has a higher EP than General and a lower one than General by another seed, GRL a higher one than that."""
CASES = {
    "General with other random numbers": {
        "models": pl.concat([USUAL["models"], MODELS.with_columns(model=pl.lit(RESEEDED))]),
        "orderings": pl.concat(BESIDE_RESEEDED),
    },
    "a difference beside its interval": {"orderings": USUAL["orderings"].with_columns(TURNED)},
    "artificial words that are not shown": {"noise": USUAL["noise"].with_columns(highlighted=False)},
    "no p-value": {"orderings": UNTESTED},
}
EPS = {
    "one model": {"General": 0.5},
    "two": {"General": 0.5, "PrivEP": 0.25},
    "two of three alike": {"A": 0.5, "B": 0.25, "C": 0.25},
    "alike": {"General": 0.5, "PrivEP": 0.5},
}


def lead(frames, group="speaker"):
    return findings(frames, SimpleNamespace(data=SimpleNamespace(group=group), **CONFIG))


def test_sentences(check_sentences, of_kind):
    leads = {case: lead(USUAL | changed, None) for case, changed in CASES.items()}
    leads |= {"of people": lead(USUAL), "of people, without a p-value": lead(USUAL | {"orderings": UNTESTED})}
    said = {case: [*of.findings[0].items, *of.doubts[0].items] for case, of in leads.items()}
    texts = pl.DataFrame(pa.Table.from_pylist([], Texts.schema()))
    for case, eps in EPS.items():
        means = [{"model": name, "corpus": "within", "ep": ep, "status": "ok"} for name, ep in eps.items()]
        frames = {"models": pl.DataFrame(pa.Table.from_pylist(means, Models.schema())), "texts": texts}
        [bullets] = of_kind(lead(frames, None).parts[1].blocks, Bullets)
        said[f"EP of {case}"] = bullets.items
    check_sentences(said)
