"""Job `psychophysics` on files of replicas: its tables hang together, and its correlations are scipy's."""

import numpy as np
import pytest
from pyarrow import fs
from scipy.stats import pearsonr, spearmanr

from operators.pooling import pooled
from operators.psychophysics import flip_points
from storage.embedding_files import EmbeddingFile, write_embedding

NUM_REPLICAS, DIMS = 6, 5
WOMEN = {"nurse": 90, "writer": 63, "lawyer": 35, "driver": 6, "guard": 22}
PAIRS = [("she", "he"), ("woman", "man")]
CUES = [cue for pair in PAIRS for cue in pair]
WORDS = [*(word for word in WOMEN if word != "guard"), *CUES, "love", "hate"]


@pytest.fixture(scope="module")
def replicas():
    """``[1 + replicas, words, dims]``"""
    rng = np.random.default_rng(0)
    return (
        rng.normal(size=(1, len(WORDS), DIMS)) + 0.2 * rng.normal(size=(1 + NUM_REPLICAS, len(WORDS), DIMS))
    ).astype(np.float32)


@pytest.fixture(scope="module")
def outcome(run_job, replicas, tmp_path_factory):
    folder = tmp_path_factory.mktemp("psychophysics")
    for number, vectors in enumerate(replicas):
        path = str(folder / f"replica{number}.bin")
        write_embedding(
            fs.LocalFileSystem(), path, EmbeddingFile(list(WORDS), vectors), "word2vec_binary", setting="path"
        )
    women = ", ".join(f"{word}: {percent}" for word, percent in WOMEN.items())
    return run_job(
        *("job=psychophysics", "embedding=file", f"embedding.path={folder}/*.bin", "embedding.replicas=true"),
        *("wordset.en.cue_pairs=[[she,he],[woman,man]]", "~wordset.en.occupations.percent_women"),
        *(f"+wordset.en.occupations.percent_women={{{women}}}", "job.num_resamples=50"),
        *(f"store={folder}/store", f"run_dir={folder}/run"),
    )


@pytest.fixture(scope="module")
def flips(replicas):
    """Of a word and two cues, in every replica but the original."""

    def of(word, cue_1, cue_2):
        return flip_points(*(replicas[1:, WORDS.index(name)] for name in (word, cue_1, cue_2)))

    return of


def _rows(outcome, table, **wanted):
    return [row for row in outcome.table(table).to_pylist() if all(row[key] == value for key, value in wanted.items())]


def test_all_cue_pairs_are_measured_those_of_gender_and_others(outcome, flips):
    rows = _rows(outcome, "psychometrics", status="ok")
    assert len(rows) == 4 * 3
    for row in rows:
        assert row["pse"] == pytest.approx(flips(row["word"], row["cue_1"], row["cue_2"]).mean())
        assert row["is_gender"] == (row["cue_1"] != "love")
        assert row["num_replicas"] == NUM_REPLICAS


def test_an_occupation_without_a_vector_keeps_its_rows(outcome):
    for table in ("psychometrics", "pooled_psychometrics"):
        rows = _rows(outcome, table, word="guard")
        assert rows
        assert {row["pse"] for row in rows} == {None}
    assert {row["status"] for row in _rows(outcome, "psychometrics", word="guard")} == {"missing_words"}
    assert {row["status"] for row in _rows(outcome, "pooled_psychometrics", word="guard")} == {"too_few_pairs"}


def test_gender_pairs_are_pooled_and_no_others(outcome, flips):
    for row in _rows(outcome, "pooled_psychometrics", status="ok"):
        found = pooled(np.stack([flips(row["word"], *pair) for pair in PAIRS])[np.newaxis])
        for name in ("pse", "pse_low", "pse_high", "jnd", "sd_pairs", "sd_replicas", "sd_rest"):
            assert row[name] == pytest.approx(float(getattr(found, name)[0]))
        assert (row["num_pairs"], row["num_replicas"]) == (2, NUM_REPLICAS)


@pytest.mark.parametrize("pair", [*PAIRS, (None, None)])
def test_pse_is_held_against_the_share_of_men_and_jnd_against_its_dispersion(outcome, pair):
    source = _rows(outcome, "psychometrics" if pair[0] else "pooled_psychometrics", status="ok")
    rows = [row for row in source if pair[0] is None or (row["cue_1"], row["cue_2"]) == pair]
    men = np.array([1 - WOMEN[row["word"]] / 100 for row in rows])
    for measure, against, other in (("pse", "share_men", men), ("jnd", "dispersion", men * (1 - men))):
        found = _rows(outcome, "validation", measure=measure, against=against, cue_1=pair[0], cue_2=pair[1])
        [row] = found
        values = [occupation[measure] for occupation in rows]
        assert (row["pearson"], row["pearson_p"]) == pytest.approx(tuple(pearsonr(values, other)))
        assert (row["spearman"], row["spearman_p"]) == pytest.approx(tuple(spearmanr(values, other)))
        assert (row["num_occupations"], row["status"]) == (4, "ok")
        if measure == "pse":
            assert -1 <= row["pearson_low"] <= row["pearson_high"] <= 1


def test_pse_is_compared_with_wefat_and_weat_on_the_same_vectors(outcome, replicas):
    unit = replicas[0] / np.linalg.norm(replicas[0], axis=1, keepdims=True)
    vector = dict(zip(WORDS, unit.astype(np.float64), strict=True))
    female, male = (np.stack([vector[pair[side]] for pair in PAIRS]) for side in (0, 1))
    words = sorted(word for word in WOMEN if word in vector)
    cosines = {word: (female @ vector[word], male @ vector[word]) for word in words}
    effects = {word: (f.mean() - m.mean()) / np.concatenate([f, m]).std(ddof=1) for word, (f, m) in cosines.items()}
    pse = {row["word"]: row["pse"] for row in _rows(outcome, "pooled_psychometrics", status="ok")}
    [row] = _rows(outcome, "validation", measure="pse", against="wefat")
    assert row["pearson"] == pytest.approx(pearsonr([pse[w] for w in words], [effects[w] for w in words])[0], abs=1e-6)
    [row] = _rows(outcome, "validation", measure="wefat", against="share_men")
    men = [1 - WOMEN[word] / 100 for word in words]
    assert row["pearson"] == pytest.approx(pearsonr([effects[w] for w in words], men)[0], abs=1e-6)
    scores = {word: f.mean() - m.mean() for word, (f, m) in cosines.items()}
    of_women, of_men = ([scores[w] for w in words if (WOMEN[w] > 50) == side] for side in (True, False))
    [row] = _rows(outcome, "occupation_contrast", test="occupations")
    spread = np.std([*of_women, *of_men], ddof=1)
    assert row["effect_size"] == pytest.approx((np.mean(of_women) - np.mean(of_men)) / spread, abs=1e-5)
    assert row["missing_words"] == ["guard"]
