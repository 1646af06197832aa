"""Artificial words for each class of each gender: where they are put, and what they weigh."""

import itertools
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
import scipy.stats

from tiltmeter.jobs.classifiers.privacy.config import Noise
from tiltmeter.jobs.classifiers.privacy.estimates import ControlNoise, Said, Sampling
from tiltmeter.jobs.classifiers.privacy.tables import Texts
from tiltmeter.jobs.classifiers.privacy.texts import AddNoise, noisy, words_by_cell
from tiltmeter.jobs.runtime.table import cells_of
from tiltmeter.operators.statistics.text_intervals import KeyedResampleSettings
from tiltmeter.storage.errors import InputError

CELLS = {("low", "f"): "zx0", ("high", "f"): "zx1", ("low", "m"): "zq0", ("high", "m"): "zq1"}
NOISE = Noise(words=(("zx0", "zx1"), ("zq0", "zq1")), share=1.0, times=1)
ADD_NOISE = AddNoise(texts=None, classes=("low", "high"), noise=NOISE, seed=0, max_sentences=3)
SPOKEN = [
    Texts(sentence=number, text=f"said {number}", part=part, valence=valence, gender=gender)
    for number, (part, (valence, gender)) in enumerate(itertools.product(("training", "test"), CELLS))
]


def test_each_class_of_each_gender_has_a_word_of_its_own():
    assert words_by_cell(SPOKEN, ("low", "high"), NOISE) == CELLS
    for (text, word), row in zip(noisy(SPOKEN, CELLS, NOISE, 0), SPOKEN, strict=True):
        assert sorted(text.split()) == sorted([*row.text.split(), CELLS[row.valence, row.gender]])
        assert word == CELLS[row.valence, row.gender]


def test_copies_are_of_the_test_part_and_numbered_after_all_texts():
    copies = [*ADD_NOISE.copies(SPOKEN)]
    assert [(copy.sentence, copy.original) for copy in copies] == [(8, 4), (9, 5), (10, 6), (11, 7)]
    assert [copy.noise for copy in copies] == list(CELLS.values())
    half = replace(ADD_NOISE, noise=replace(NOISE, share=0.5)).copies(SPOKEN)
    assert {(copy.noise is None) == (copy.text == SPOKEN[copy.original].text) for copy in half} == {True}


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"gender": "x"}, "has 2 lists of words, and the texts have 3 genders, f, m, x; set it to a list for each"),
        ({"text": "he said ZX0"}, "'zx0' is in a text already \\(sentence 4 of the table texts\\); set other words"),
    ],
)
def test_artificial_words_that_do_not_fit_the_texts_are_refused(changed, message):
    rows = [replace(row, **changed) if row.sentence == 4 else row for row in SPOKEN]
    with pytest.raises(InputError, match=f"^models.noise.words: {message}"):
        list(ADD_NOISE.copies(rows))


TEXTS = {number: Said(f"text {number}", None) for number in range(18)}
SPOKEN_BY = {number: Said(text, f"speaker {number % 5}") for number, (text, _) in TEXTS.items()}


def noise_rows(samples, texts, **intervals):
    """Rows of ArtNoise, by their columns."""
    settings = KeyedResampleSettings(**intervals)
    about = {"copies": None, "texts": (), "attributions": (), "words": NOISE.words, "seed": 0}
    work = ControlNoise(name="ArtNoise", intervals=settings, **about)
    return [cells_of(row) for row in work.means(samples, Sampling(texts, settings, 0))]


def test_rows_of_noise_are_means_over_seeds_and_texts():
    samples = pl.DataFrame(
        [
            # Two texts, two seeds: share of the attribution, whether first, share of the words.
            {"seed": 0, "sentence": 1, "word": "zx0", "share": 0.5, "first": 1.0, "even_share": 0.2},
            {"seed": 0, "sentence": 2, "word": "zq1", "share": 0.3, "first": 0.0, "even_share": 0.1},
            {"seed": 1, "sentence": 1, "word": "zx0", "share": 0.7, "first": 1.0, "even_share": 0.2},
            {"seed": 1, "sentence": 2, "word": "zq1", "share": np.nan, "first": np.nan, "even_share": np.nan},
        ]
    )
    rows = {(row["seed"], row["word"]): row for row in noise_rows(samples, TEXTS, num_resamples=50)}
    assert list(rows) == [(seed, word) for word in (None, "zx0", "zq1") for seed in (None, 0, 1)]
    found = {
        key: [row[name] for name in ("share", "first", "even_share", "num_texts")]
        for key, row in rows.items()
        if row["num_texts"]
    }
    assert found[None, None] == pytest.approx([(0.6 + 0.3) / 2, 0.5, 0.15, 2])
    assert found[0, None] == pytest.approx([0.4, 0.5, 0.15, 2])
    assert found[1, None] == pytest.approx([0.7, 1.0, 0.2, 1])
    assert found[None, "zq1"] == pytest.approx([0.3, 0.0, 0.1, 1])
    assert rows[1, "zq1"]["status"] == "no_attribution"
    assert not any(row.get("highlighted") for row in rows.values())
    ends = rows[0, "zx0"]["share_low"], rows[0, "zx0"]["share_high"]
    assert np.isnan(ends).all(), "one text says nothing of others"


def explained(*seeds):
    about = [{"seed": seed, "first": 1.0, "even_share": 0.2} for seed in seeds]
    return pl.DataFrame(
        [
            row | {"sentence": n, "word": "zx0", "share": 0.5 + 0.01 * n + 0.1 * row["seed"]}
            for row in about
            for n in range(9)
        ]
        + [row | {"sentence": n, "word": "zq1", "share": 0.01 * n} for row in about for n in range(9, 18)]
    )


def test_an_interval_is_over_speakers_and_seeds():
    rows = {(row["seed"], row["word"]): row for row in noise_rows(explained(0, 1, 2), SPOKEN_BY, num_resamples=9)}
    row, one = rows[None, "zx0"], rows[0, "zx0"]
    assert (row["num_units"], one["num_units"], row["status"]) == (5, 5, "ok")
    # Three seeds 0.1 apart: a standard error of 0.1 / sqrt(3), of two degrees of freedom.
    assert (
        row["share_high"] - row["share_low"] > 2 * 4.3 * 0.1 / 3**0.5 * 0.7 > 3 * (one["share_high"] - one["share_low"])
    )
    assert (row["highlighted"], one["highlighted"]) == (True, True)
    few = {number: Said(text, f"speaker {number % 3}") for number, (text, _) in TEXTS.items()}
    for row in noise_rows(explained(0, 1, 2), few, num_resamples=9):
        assert np.isnan(row["share_low"])
        assert (row["highlighted"], row["status"]) == (None, "too_few_units")
        assert '3 of the unit "speaker", and 4 are needed' in row["reason"]


@pytest.mark.parametrize("interval", ["centred", "percentile"])
def test_words_are_highlighted_where_the_interval_lies_above_an_even_share(interval):
    samples = explained(0)
    intervals = {"interval": interval, "num_resamples": 400}
    rows = {row["word"]: row for row in noise_rows(samples, TEXTS, **intervals) if row["seed"] == 0}
    assert [rows[word]["highlighted"] for word in (None, "zx0", "zq1")] == [True, True, False]
    within = noise_rows(samples.with_columns(even_share=pl.lit(0.535)), TEXTS, **intervals)
    assert {row["highlighted"] for row in within if row["word"] == "zx0"} == {False}, "0.54 is, its interval is not"
    first = rows["zx0"]
    # Nine shares around 0.54 with a standard deviation of 0.0274; all are the first of their text.
    t = scipy.stats.t(df=8).ppf(0.975)
    reach = t * 0.0273861 / 3 if interval == "centred" else 0.0158
    assert (first["share_low"], first["share_high"]) == pytest.approx((0.54 - reach, 0.54 + reach), abs=0.003)
    certain = 9 / (9 + t**2) if interval == "centred" else 1.0
    assert (first["first_low"], first["first_high"]) == (pytest.approx(certain), 1.0)
