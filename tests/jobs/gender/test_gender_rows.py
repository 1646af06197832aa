"""The rows of a language from vectors made by hand, and how languages are correlated from biases made by hand."""

import numpy as np
import pyarrow as pa
import pytest

from tiltmeter.jobs.embedding.lookup import Lookup
from tiltmeter.jobs.embedding.vectors import vector_column
from tiltmeter.jobs.gender.config import GenderConfig
from tiltmeter.jobs.gender.languages import CorrelateLanguages
from tiltmeter.jobs.gender.rows import GenderRows
from tiltmeter.jobs.runtime.table import cells_of
from tiltmeter.operators.statistics.intervals import IntervalSettings
from tiltmeter.operators.text.wordsets import DefiningPair, GenderSurvey, WordForms
from tiltmeter.storage.store.ledger import Store, Unit

VECTORS = {
    "frau": (1.0, 0.0),
    "mann": (-1.0, 0.0),
    "ärztin": (0.6, 0.8),
    "arzt": (-0.28, 0.96),
    "doktor": (-0.8, 0.6),
    "person": (0.6, -0.8),
}
COUNTS = {"frau": 50, "mann": 50, "ärztin": 10, "arzt": 20, "doktor": 30, "person": 40}
SURVEY = GenderSurvey(
    "Latn",
    "made up",
    {"woman-man": DefiningPair("frau", "mann")},
    {
        "doctor": WordForms(("ärztin",), ("arzt", "doktor")),
        "person": WordForms(neutral=("person",)),
        "pilot": WordForms(neutral=("pilot",)),
    },
)
MODEL = {"model": "dewiki", "language": "de"}
DOCTOR = {"form": (0.6 - 0.28 - 0.8) / 3, "gender": (0.6 - 0.54) / 2}


@pytest.fixture
def rows(tmp_path):
    """Of a language whose words have these counts, measured by these weights, and of such replicas."""

    def of(weights, counts, survey=SURVEY, replicas=()):
        store, refs = Store(str(tmp_path)), []
        for number, embedding in enumerate((VECTORS, *replicas)):
            words, vectors = pa.array(VECTORS, pa.string()), np.array([*embedding.values()], np.float32)
            numbers = pa.array([counts.get(word) for word in VECTORS], pa.int64())
            table = pa.table([words, words, numbers, vector_column(vectors)], ["word", "spelled", "count", "vector"])
            unit = Unit("vectors/1", "", {"counts": counts, "number": number})
            refs.append(store.commit(unit, [("vectors", table)]).tables["vectors"])
        num_tokens = 1000 if counts else None
        lookup = Lookup(store, {"vectors": refs})
        return GenderRows(MODEL, lookup, survey, GenderConfig(exponent=1.0, weights=weights), num_tokens)

    return of


def test_the_share_of_professions_counts_a_word_of_two_once(rows):
    assert cells_of(rows("count", COUNTS).language_row())["profession_share"] == pytest.approx(0.1)
    twice = SURVEY.professions | {"physician": WordForms(masculine=("arzt",))}
    survey = GenderSurvey("Latn", "made up", SURVEY.defining, twice)
    assert cells_of(rows("count", COUNTS, survey).language_row())["profession_share"] == pytest.approx(0.1)
    assert cells_of(rows("count", {}).language_row())["profession_share"] is None


def test_forms_without_counts_have_no_bias_by_count_and_say_what_to_set(rows):
    survey = rows("count", {})
    doctor, person, _ = map(cells_of, survey.profession_rows())
    assert (doctor["status"], person["status"]) == ("no_counts", "ok"), "a single form needs no count"
    assert doctor["reason"].endswith("set job.weights=form or job.weights=gender")
    assert np.isnan(doctor["bias"])
    language = cells_of(survey.language_row())
    assert (language["num_professions"], language["direct_bias"]) == (1, pytest.approx(0.6))
    for weights, bias in DOCTOR.items():
        assert doctor[f"bias_by_{weights}"] == pytest.approx(bias, abs=1e-6)
        other, *_ = map(cells_of, rows(weights, {}).profession_rows())
        assert (other["status"], other["bias"]) == ("ok", pytest.approx(bias, abs=1e-6))


def test_what_makes_the_direction_doubtful_is_told_of_the_original(rows):
    """One of its two pairs is contrary; those of the replica are not, but differ along two directions."""
    pairs = {"woman-man": DefiningPair("frau", "mann"), "doctor": DefiningPair("arzt", "ärztin")}
    listed = pairs | {"pilots": DefiningPair("pilotin", "pilot")}
    replica = VECTORS | {"arzt": (-0.28, 0.96), "ärztin": (-0.28, -0.96)}
    survey = rows("count", COUNTS, GenderSurvey("Latn", "made up", listed, SURVEY.professions), [replica] * 2)
    row = cells_of(survey.language_row())
    few = "the gender direction rests on 2 of 3 pairs"
    assert row["warning"] == f"{few}; only 50% of the pairs have their female word on its female side"
    assert (row["num_pairs"], row["missing_words"]) == (2, ["pilotin", "pilot"])


def test_a_language_of_which_no_profession_has_counts_says_so(rows):
    survey = GenderSurvey("Latn", "made up", SURVEY.defining, {"doctor": SURVEY.professions["doctor"]})
    language = cells_of(rows("count", {}, survey).language_row())
    assert (language["status"], language["num_professions"]) == ("no_counts", 0)
    assert language["first_share"] == 1


def test_pairs_of_a_language_without_a_profession_have_their_gap(rows):
    pairs = SURVEY.defining | {"lady-sir": DefiningPair("ärztin", "doktor")}
    listed = GenderSurvey("Latn", "made up", pairs, {})
    alone, *_ = map(cells_of, rows("count", COUNTS, listed).pair_rows())
    assert (alone["status"], alone["gap"]) == ("ok", pytest.approx(1)), "of one pair that remains"
    assert np.isnan(alone["change"])


# --- correlations: over what all languages have, by the weights that are asked for ------------------------------------

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
def correlated(tmp_path):
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


def test_replicas_that_all_languages_have_are_paired_by_their_number(correlated):
    for row in correlated:
        of_replicas = [
            np.corrcoef(*(_biases("form", row[f"language_{side}"], replica) for side in (1, 2)))[0, 1]
            for replica in (1, 3)
        ]
        ends = [row["correlation_percentile_low"], row["correlation_percentile_high"]]
        assert ends == pytest.approx(np.quantile(of_replicas, [0.025, 0.975]).tolist(), abs=1e-6)
        assert row["num_professions"] == 5


def test_the_order_is_by_the_weights_that_are_asked_for(correlated):
    """By form English and French are alike, and German is nearer to English; by count French and German are alike."""
    assert {row["language_1"]: row["position_1"] for row in correlated} == {"en": 1, "fr": 0, "de": 2}
    assert {row["language_2"]: row["position_2"] for row in correlated} == {"en": 1, "fr": 0, "de": 2}
