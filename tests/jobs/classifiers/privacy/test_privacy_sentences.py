"""What the page says of models that give gender away, with one and with several of each thing."""

from types import SimpleNamespace

import polars as pl
import pyarrow as pa
import pytest

from tiltmeter.jobs.classifiers.privacy import tables
from tiltmeter.jobs.classifiers.privacy.page.findings import findings
from tiltmeter.jobs.report.html.elements import Bullets

CONFIG = SimpleNamespace(
    data=SimpleNamespace(group=None),
    intervals=SimpleNamespace(num_resamples=10, level=0.95, interval="centred"),
    models=SimpleNamespace(names=["General"]),
    lexicon=SimpleNamespace(path=None),
)


def said(of_kind, eps, **more):
    means = [{"model": name, "corpus": "within", "ep": ep, "status": "ok"} for name, ep in eps.items()]
    frames = {"models": pl.DataFrame(pa.Table.from_pylist(means, tables.MODELS))} | more
    texts = pl.DataFrame(pa.Table.from_pylist([], tables.TEXTS))
    [bullets] = of_kind(findings(frames | {"texts": texts}, CONFIG).parts[1].blocks, Bullets)
    return list(bullets.items)


@pytest.mark.parametrize(
    ("eps", "sentences"),
    [
        ({"General": 0.5}, []),
        (
            {"General": 0.5, "PrivEP": 0.25},
            ["Within the corpus, the EP is lowest for PrivEP (0.250) and highest for General (0.500)."],
        ),
        (
            {"A": 0.5, "B": 0.25, "C": 0.25},
            ["Within the corpus, the EP is lowest for B (0.250) and C (0.250) and highest for A (0.500)."],
        ),
        ({"General": 0.5, "PrivEP": 0.5}, ["Within the corpus, the EP is the same for all models, 0.500."]),
    ],
)
def test_which_models_give_away_least_and_most(of_kind, eps, sentences):
    assert said(of_kind, eps) == sentences
