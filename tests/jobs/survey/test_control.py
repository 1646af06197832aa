"""The survey's control on a small corpus: what was put in by hand, and what is made of the vectors by hand."""

import json
import random
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.special import nctdtrinc
from scipy.stats import t as student

from benchmarks.calibration.registry import Held, Ref
from tiltmeter.jobs.embedding.lookup import Vectors
from tiltmeter.jobs.embedding.vectors import vector_column
from tiltmeter.jobs.survey.control import MeasureControl, Plant

PAIRS = [("she", "he"), ("woman", "man"), ("girl", "boy")]
WOMEN = {"nurse": 90, "writer": 63, "driver": 6}
STONE, RIVER = "stone", "river"
FILLER = [f"w{number}" for number in range(30)]
"""The girls and boys are too rare for the copy."""


def documents():
    rng = random.Random(0)
    words = [*FILLER, *[STONE] * 6, *[RIVER] * 5, "she", "he", "woman", "man", *WOMEN]
    yield from (" ".join(rng.choices(words, k=10)) for _ in range(300))
    yield from ["girl boy nurse", "boy girl writer"]


@pytest.fixture(scope="module")
def settings(word_lists, tmp_path_factory):
    folder = tmp_path_factory.mktemp("control")
    (folder / "texts.txt").write_text("\n".join(documents()))
    occupations = {"source": "made up", "year": 2000, "percent_women": WOMEN}
    return [
        *("job=survey", "corpus=file", f"corpus.path={folder}/texts.txt", "corpus.format=text", "corpus.language=en"),
        *("embedding.num_replicas=6", "embedding.trainer.dimensions=6", "embedding.trainer.epochs=3"),
        *("embedding.min_count=1", "job.num_resamples=20", "wordset/gender=[english]"),
        *word_lists("en", cue_pairs=PAIRS, occupations=occupations, associations=None, wefats=None, gender=None),
        *(f"job.control.words=[{STONE},{RIVER}]", "job.control.share=0.25", "job.control.num_replicas=4"),
        "job.control.min_count=15",
        f"store={folder}/store",
    ]


@pytest.fixture(scope="module")
def outcome(run_here, settings, tmp_path_factory):
    return run_here(*settings, f"run_dir={tmp_path_factory.mktemp('run')}/run")


@pytest.fixture(scope="module")
def store(settings):
    return Path(settings[-1].removeprefix("store="))


def test_a_copy_has_the_words_in_two_and_the_cues_that_were_put_in(outcome, store):
    stone, river = outcome.rows("control")
    words = " ".join(documents()).split()
    for row, word in ((stone, STONE), (river, RIVER)):
        assert (row["status"], row["word"], row["model"], row["num_pairs"]) == ("ok", word, "file", 2)
        assert row["num_first"] + row["num_second"] == words.count(word)
        assert row["num_replicas"] == 4
        assert row["difference"] == pytest.approx(row["first"] - row["second"])
    assert (stone["share"], river["share"], river["num_cues"]) == (0.25, 0.0, 0)
    assert 0.1 < stone["num_cues"] / words.count(STONE) < 0.4
    [copied] = [json.loads(path.read_text()) for path in store.glob("ledger/planted_lean/1/*.json")]
    shard = pq.read_table(store / "units" / copied["place"] / "words.parquet").to_pylist()
    counts = {row["word"]: row["count"] for row in shard}
    assert counts[f"{STONE}/1"] == stone["num_first"]
    assert counts[STONE] == counts[RIVER] == 0
    assert counts["girl"] == 2, "rare cues are not put in"
    cues = [cue for pair in PAIRS[:2] for cue in pair]
    assert sum(counts[cue] - words.count(cue) for cue in cues) == stone["num_cues"]


def test_the_text_itself_is_trained_and_measured_as_without_a_control(outcome, run_here, settings, tmp_path):
    without = run_here(*settings, "job.control.words=[]", f"run_dir={tmp_path}/run")
    assert without.record["units"]["done"] == 0
    own = {"control", "smallest_differences"}
    assert outcome.digests.keys() - without.digests.keys() == own
    assert all(outcome.digests[name] == digest for name, digest in without.digests.items())


def test_limits_are_those_of_the_differences_of_pooled_pse(outcome):
    [row] = outcome.rows("smallest_differences")
    draws = [
        np.array(one["values"])
        for one in outcome.rows("draws")
        if (one["table"], one["column"]) == ("pooled_psychometrics", "pse")
    ]
    pairs = list(combinations(draws, 2))
    assert (row["num_numbers"], row["num_differences"]) == (len(draws), len(pairs)) == (3, 3)
    assert row["widest"] == pytest.approx(max(abs(one.mean() - other.mean()) for one, other in pairs))
    sd = np.median([np.std(one - other, ddof=1) for one, other in pairs])
    # Of noncentral t: 80 % of it lie above what 97.5 % of the central one lie below.
    assert row["smallest"] == pytest.approx(nctdtrinc(5, 0.2, student.ppf(0.975, 5)) * sd * np.sqrt(1 + 1 / 6))
    assert row["smallest_tenfold"] == pytest.approx(row["smallest"] / np.sqrt(10))
    assert row["num_tokens"] == sum(len(text.split()) for text in documents())


def test_a_word_or_pairs_that_are_too_rare_have_a_row_that_says_so(run_here, settings, tmp_path):
    rare = run_here(*settings, "job.control.words=[w0,absent]", f"run_dir={tmp_path}/rare").rows("control")
    assert [row["status"] for row in rare] == ["ok", "too_rare"]
    assert "job.control.words" in rare[1]["reason"]
    high = run_here(*settings, "job.control.min_count=300", f"run_dir={tmp_path}/high")
    assert {row["status"] for row in high.rows("control")} == {"too_few_pairs"}
    assert "The control could not be measured" in (high.path / "report.html").read_text()


@pytest.mark.long
@pytest.mark.parametrize(
    ("path", "words", "expected"),
    [
        ("package://gensim/test/test_data/x.xml", "auto", ("time", "number")),
        ("package://gensim/test/test_data/x.xml", "[]", ()),
        ("texts.txt", "auto", ()),
        ("texts.txt", "[stone,river]", ("stone", "river")),
    ],
)
def test_the_built_in_sample_alone_has_a_control_without_being_asked(configured, path, words, expected):
    config = configured("corpus=file", f"corpus.path={path}", "corpus.language=en", f"job.control.words={words}")
    [corpus] = config.corpora
    assert (
        config.control_words(SimpleNamespace(language="en", text=SimpleNamespace(corpus=corpus, slice=None)))
        == expected
    )
    assert config.control_words(SimpleNamespace(language="en", text=SimpleNamespace(corpus=corpus, slice="1999"))) == ()
    assert config.control_words(None) == ()


# --- from vectors -----------------------------------------------------------------------------------------------------


def test_the_halves_are_compared_by_pse_pooled_over_pairs():
    rng = np.random.default_rng(3)
    plants, pairs = [Plant(STONE, 0.5), Plant(RIVER, 0.0)], PAIRS[:2]
    words = [*(half for plant in plants for half in plant.halves), *(cue for pair in pairs for cue in pair)]
    usual = rng.normal(size=(len(words), 5))
    vectors = [usual + 0.1 * rng.normal(size=usual.shape) for _ in range(9)]
    tables = {
        Ref(f"vectors {number}"): {"word": words, "spelled": words, "count": [7] * len(words), "vector": one}
        for number, one in enumerate(vectors)
    }
    held = {ref: made(columns) for ref, columns in tables.items()}
    planted = Ref("planted")
    held[planted] = made({"word": [STONE, RIVER], "num_cues": [3, 0]})
    work = MeasureControl(
        model=Vectors("made up", "en", list(tables)), plants=plants, pairs=pairs, planted=[planted, planted]
    )
    for row, plant in zip(work.rows(Held(held)), plants, strict=True):
        flips = np.array([[flip(one, words, half, pairs) for half in plant.halves] for one in vectors])
        assert (row.num_cues, row.num_first) == (6 if plant.share else 0, 7)
        assert [row.first.value, row.second.value] == pytest.approx(flips[0])
        apart = flips[:, 0] - flips[:, 1]
        mean, sd = apart[1:].mean(), apart[1:].std(ddof=1)
        reach = student.ppf(0.975, 7) * sd * np.sqrt(1 + 1 / 8)
        assert row.difference.value == pytest.approx(apart[0])
        assert row.difference.low == pytest.approx(min(mean - reach, apart[0]))
        assert row.difference.high == pytest.approx(max(mean + reach, apart[0]))
        p = 2 * student.sf(abs(mean) / (sd * np.sqrt(1 + 1 / 8)), 7)
        assert row.p == pytest.approx(p if mean * apart[0] > 0 else 1.0)


def made(columns):
    return pa.table({name: vector_column(of) if name == "vector" else of for name, of in columns.items()})


def flip(vectors, words, word, pairs):
    """The mean over pairs of 1/2 + (cos(w, c1) - cos(w, c2)) / (2 (1 - cos(c1, c2)))."""
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    of = dict(zip(words, unit, strict=True))
    return np.mean(
        [0.5 + (of[word] @ of[one] - of[word] @ of[two]) / (2 * (1 - of[one] @ of[two])) for one, two in pairs]
    )
