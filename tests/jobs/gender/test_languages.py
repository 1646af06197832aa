"""How languages are correlated, from biases made by hand: those that all have, by the weights that are asked for."""

import numpy as np
import pyarrow as pa
import pytest

from tiltmeter.jobs.gender.languages import CorrelateLanguages
from tiltmeter.operators.statistics.intervals import IntervalSettings
from tiltmeter.storage.store.ledger import Store, Unit

NAMES = ["cook", "judge", "nurse", "pilot", "smith"]
BIASES = {
    "form": {"en": [1, 2, 3, 4, 5], "fr": [1, 2, 3, 5, 4], "de": [3, 5, 1, 2, 4]},
    "count": {"en": [3, 5, 1, 2, 4], "fr": [1, 2, 3, 4, 5], "de": [1, 2, 3, 5, 4]},
    "gender": {"en": [5, 2, 3, 4, 1], "fr": [1, 5, 3, 2, 4], "de": [1, 4, 3, 5, 2]},
}
REPLICAS = {"en": [0, 1, 2, 3, -1, -2], "fr": [0, 1, 3, -1], "de": [0, 1, 2, 3, -1]}
"""The original, replicas, and below 0 its further starts; one language lacks a replica, and others have more starts."""


def _biases(weights, language, replica):
    noise = np.random.default_rng(10 + replica).normal(size=len(NAMES)) * (replica != 0)
    return np.array(BIASES[weights][language]) / 10 + 0.05 * noise * (1 + ("en", "fr", "de").index(language))


@pytest.fixture
def rows(tmp_path):
    store, refs = Store(str(tmp_path)), []
    for language, replicas in REPLICAS.items():
        keys = [(name, replica) for name in NAMES for replica in replicas]
        columns = {"profession": pa.array([name for name, _ in keys])}
        columns["replica"] = pa.array([at for _, at in keys], pa.int16())
        for weights in BIASES:
            biases = np.stack([_biases(weights, language, replica) for replica in replicas], axis=1)
            columns[f"bias_by_{weights}"] = biases.ravel()
        unit = Unit("made_up/1", language, {"language": language})
        refs.append(store.commit(unit, [("biases", pa.table(columns))]).tables["biases"])
    settings = {"intervals": IntervalSettings(), "weights": "form", "draws": None}
    (_, table), *_ = CorrelateLanguages(languages=list(REPLICAS), biases=refs, **settings).tables(store)
    return table.to_pylist()


def test_replicas_that_all_languages_have_are_paired_by_their_number(rows):
    for row in rows:
        of_replicas = [
            np.corrcoef(*(_biases("form", row[f"language_{side}"], replica) for side in (1, 2)))[0, 1]
            for replica in (1, 3)
        ]
        ends = [row["correlation_percentile_low"], row["correlation_percentile_high"]]
        assert ends == pytest.approx(np.quantile(of_replicas, [0.025, 0.975]).tolist(), abs=1e-6)
        assert row["num_professions"] == 5


def test_the_order_is_by_the_weights_that_are_asked_for(rows):
    """By form English and French are alike, and German is nearer to English; by count French and German are alike."""
    assert {row["language_1"]: row["position_1"] for row in rows} == {"en": 1, "fr": 0, "de": 2}
    assert {row["language_2"]: row["position_2"] for row in rows} == {"en": 1, "fr": 0, "de": 2}
