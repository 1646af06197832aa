"""Job `psychophysics` on files of replicas: its tables hang together, and its correlations are scipy's."""

from itertools import permutations

import numpy as np
import pytest
from scipy.stats import pearsonr, spearmanr, t

from tiltmeter.operators.psychophysics.forced_choice import flip_points
from tiltmeter.operators.psychophysics.pooling import over_combinations, pooled
from tiltmeter.operators.psychophysics.resamples import psychometrics_of

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
def folder(replicas, write_vectors, tmp_path_factory):
    """With a file for each replica."""
    folder = tmp_path_factory.mktemp("psychophysics")
    for number, vectors in enumerate(replicas):
        write_vectors(folder / f"replica{number}.bin", WORDS, vectors)
    return folder


@pytest.fixture(scope="module")
def overrides(word_lists, folder):
    occupations = {"source": "made up", "year": 2000, "percent_women": WOMEN}
    return [
        *("job=psychophysics", "embedding=file", f"embedding.path={folder}/*.bin", "embedding.replicas=true"),
        *word_lists("en", cue_pairs=PAIRS, occupations=occupations),
        *("job.num_resamples=50", "seed=3", f"store={folder}/store"),
    ]


@pytest.fixture(scope="module")
def outcome(run_job, overrides, folder):
    return run_job(*overrides, f"run_dir={folder}/run")


@pytest.fixture(scope="module")
def flips(replicas):
    """Of a word and two cues, in every replica but the original."""

    def of(word, cue_1, cue_2):
        return flip_points(*(replicas[1:, WORDS.index(name)] for name in (word, cue_1, cue_2)))

    return of


def test_all_cue_pairs_are_measured_those_of_gender_and_others(outcome, flips):
    rows = outcome.rows("psychometrics", status="ok")
    assert len(rows) == 4 * 3
    for row in rows:
        assert row["pse"] == pytest.approx(flips(row["word"], row["cue_1"], row["cue_2"]).mean())
        assert row["is_gender"] == (row["cue_1"] != "love")
        assert row["num_replicas"] == NUM_REPLICAS


def test_every_estimate_and_interval_is_that_of_the_flips_of_the_row(outcome, flips):
    for row in outcome.rows("psychometrics", status="ok"):
        of_row = flips(row["word"], row["cue_1"], row["cue_2"])
        found = psychometrics_of(of_row[np.newaxis], seed=3, num_resamples=50)
        reach = t.ppf(0.975, NUM_REPLICAS - 1) * of_row.std(ddof=1)
        assert (row["pse_low"], row["pse_high"]) == pytest.approx((of_row.mean() - reach, of_row.mean() + reach))
        ends = row["pse_percentile_low"], row["pse_percentile_high"]
        assert ends == pytest.approx(tuple(np.quantile(of_row, [0.025, 0.975])))
        assert (row["pse_sd_training"], row["pse_sd_sampling"]) == (None, None)
        assert row["pse_shift"] == pytest.approx((of_row.mean() - row["flip_original"]) / of_row.std(ddof=1))
        assert {name: row[name] for name in found._fields} == pytest.approx(
            {name: float(column[0]) for name, column in found._asdict().items()}
        )


def test_the_points_are_the_share_of_replicas_that_have_flipped(outcome, flips):
    points = outcome.rows("psychometric_points")
    curves = {(row["word"], row["cue_1"], row["cue_2"]): [] for row in outcome.rows("psychometrics", status="ok")}
    for row in points:
        curves[row["word"], row["cue_1"], row["cue_2"]].append((row["alpha"], row["share"]))
    for key, curve in curves.items():
        alphas, shares = np.array(curve).T
        assert alphas == pytest.approx(np.linspace(0, 1, 101))
        assert shares == pytest.approx([np.mean(flips(*key) < alpha) for alpha in alphas])


def test_an_occupation_without_a_vector_keeps_its_rows(outcome):
    for table in ("psychometrics", "pooled_psychometrics"):
        rows = outcome.rows(table, word="guard")
        assert rows
        assert {row["pse"] for row in rows} == {None}
    assert {row["status"] for row in outcome.rows("psychometrics", word="guard")} == {"missing_words"}
    assert {row["status"] for row in outcome.rows("pooled_psychometrics", word="guard")} == {"too_few_pairs"}


def test_gender_pairs_are_pooled_and_no_others(outcome, flips):
    for row in outcome.rows("pooled_psychometrics", status="ok"):
        found = pooled(np.stack([flips(row["word"], *pair) for pair in PAIRS])[np.newaxis])
        for name in ("pse", "pse_low", "pse_high", "pse_cues_low", "jnd", "sd_pairs", "sd_replicas", "sd_rest"):
            assert row[name] == pytest.approx(float(getattr(found, name)[0]))
        over_pairs = np.mean([flips(row["word"], *pair) for pair in PAIRS], axis=0)
        ends = row["pse_percentile_low"], row["pse_percentile_high"]
        assert ends == pytest.approx(tuple(np.quantile(over_pairs, [0.025, 0.975])))
        rows = [outcome.rows("psychometrics", word=row["word"], cue_1=one, cue_2=two)[0] for one, two in PAIRS]
        original = np.mean([of_pair["flip_original"] for of_pair in rows])
        assert row["pse_shift"] == pytest.approx((over_pairs.mean() - original) / over_pairs.std(ddof=1))
        assert (row["num_pairs"], row["num_replicas"]) == (2, NUM_REPLICAS)


def test_every_female_cue_is_held_against_every_male_one_if_that_is_asked_for(run_job, overrides, folder, flips):
    outcome = run_job(*overrides, "job.combinations=all", f"run_dir={folder}/all")
    pairs = [*PAIRS, ("she", "man"), ("woman", "he")]
    rows = outcome.rows("psychometrics", status="ok", is_gender=True)
    assert {(row["cue_1"], row["cue_2"]) for row in rows} == set(pairs)
    for row in outcome.rows("pooled_psychometrics", status="ok"):
        measured = np.stack([flips(row["word"], *pair) for pair in pairs])[np.newaxis]
        mean = over_combinations(pooled(measured[:, :2]), pooled(measured))
        assert row["pse"] == pytest.approx(measured.mean())
        for name in ("pse_low", "pse_high", "jnd", "sd_pairs", "num_pairs"):
            assert row[name] == pytest.approx(float(getattr(mean, name)[0]))
    assert len(outcome.rows("validation", measure="pse", against="share_men")) == len(pairs) + 1


@pytest.mark.parametrize("pair", [*PAIRS, (None, None)])
def test_pse_is_held_against_the_share_of_men_and_jnd_against_its_dispersion(outcome, pair):
    source = outcome.rows("psychometrics" if pair[0] else "pooled_psychometrics", status="ok")
    rows = [row for row in source if pair[0] is None or (row["cue_1"], row["cue_2"]) == pair]
    men = np.array([1 - WOMEN[row["word"]] / 100 for row in rows])
    for measure, against, other in (("pse", "share_men", men), ("jnd", "dispersion", np.sqrt(men * (1 - men)))):
        found = outcome.rows("validation", measure=measure, against=against, cue_1=pair[0], cue_2=pair[1])
        [row] = found
        values = [occupation[measure] for occupation in rows]
        assert (row["pearson"], row["spearman"]) == pytest.approx(
            (pearsonr(values, other)[0], spearmanr(values, other)[0])
        )
        for kind, correlate in (("pearson", pearsonr), ("spearman", spearmanr)):
            orders = [abs(correlate(values, order)[0]) for order in permutations(other)]
            assert row[f"{kind}_p"] == pytest.approx(np.mean(np.array(orders) >= abs(row[kind]) - 1e-6))
        assert (row["num_occupations"], row["status"]) == (4, "ok")


@pytest.mark.parametrize("pair", [*PAIRS, (None, None)])
def test_the_interval_of_a_correlation_is_that_of_the_replicas(outcome, flips, pair):
    words = sorted(word for word in WOMEN if word != "guard")
    men = [1 - WOMEN[word] / 100 for word in words]
    asked = PAIRS if pair[0] is None else [pair]
    leanings = np.array([[flips(word, *cues) for cues in asked] for word in words]).mean(axis=1)
    [row] = outcome.rows("validation", measure="pse", against="share_men", cue_1=pair[0], cue_2=pair[1])
    for kind, correlate in (("pearson", pearsonr), ("spearman", spearmanr)):
        of_replicas = [correlate(replica, men)[0] for replica in leanings.T]
        ends = row[f"{kind}_percentile_low"], row[f"{kind}_percentile_high"]
        assert ends == pytest.approx(tuple(np.quantile(of_replicas, [0.025, 0.975])), abs=1e-6)
        if np.abs([row[kind], *of_replicas]).max() < 0.999:
            moved = np.arctanh(of_replicas)
            reach = t.ppf(0.975, NUM_REPLICAS - 1) * moved.std(ddof=1)
            low, high = np.tanh([moved.mean() - reach, moved.mean() + reach])
            ends, original = (min(low, row[kind]), max(high, row[kind])), np.arctanh(row[kind])
            shift = (moved.mean() - original) / moved.std(ddof=1)
            assert row[f"{kind}_shift"] == pytest.approx(shift, abs=1e-3)
            if abs(shift) > 1:
                ends = tuple(np.tanh([original - reach, original + reach]))
            assert (row[f"{kind}_low"], row[f"{kind}_high"]) == pytest.approx(ends, abs=1e-4)
        assert -1 <= row[f"{kind}_low"] <= row[kind] <= row[f"{kind}_high"] <= 1


def test_pse_is_compared_with_wefat_and_weat_on_the_same_vectors(outcome, replicas):
    unit = replicas[0] / np.linalg.norm(replicas[0], axis=1, keepdims=True)
    vector = dict(zip(WORDS, unit.astype(np.float64), strict=True))
    female, male = (np.stack([vector[pair[side]] for pair in PAIRS]) for side in (0, 1))
    words = sorted(word for word in WOMEN if word in vector)
    cosines = {word: (female @ vector[word], male @ vector[word]) for word in words}
    effects = {word: (f.mean() - m.mean()) / np.concatenate([f, m]).std(ddof=1) for word, (f, m) in cosines.items()}
    pse = {row["word"]: row["pse"] for row in outcome.rows("pooled_psychometrics", status="ok")}
    [row] = outcome.rows("validation", measure="pse", against="wefat")
    assert row["pearson"] == pytest.approx(pearsonr([pse[w] for w in words], [effects[w] for w in words])[0], abs=1e-6)
    [row] = outcome.rows("validation", measure="wefat", against="share_men")
    men = [1 - WOMEN[word] / 100 for word in words]
    assert row["pearson"] == pytest.approx(pearsonr([effects[w] for w in words], men)[0], abs=1e-6)
    scores = {word: f.mean() - m.mean() for word, (f, m) in cosines.items()}
    of_women, of_men = ([scores[w] for w in words if (WOMEN[w] > 50) == side] for side in (True, False))
    [row] = outcome.rows("occupation_contrast", test="occupations")
    spread = np.std([*of_women, *of_men], ddof=1)
    assert row["effect_size"] == pytest.approx((np.mean(of_women) - np.mean(of_men)) / spread, abs=1e-5)
    assert row["missing_words"] == ["guard"]


def test_a_survey_of_files_without_replicas_leaves_the_forced_choice_out(run_job, word_lists, word_sets, folder):
    sets = {"target_x": ["nurse", "writer"], "target_y": ["lawyer", "driver"]}
    test = word_sets(**sets, attribute_a=["she", "woman"], attribute_b=["he", "man"])
    survey = run_job(
        *("job=survey", "embedding=file", f"embedding.path={folder}/replica0.bin", f"store={folder}/store"),
        *word_lists("en", associations={"occupations": test}),
        f"run_dir={folder}/survey",
    )
    assert {row["status"] for row in survey.rows("associations")} == {"ok"}
    assert {row["status"] for row in survey.rows("gender_languages")} == {"ok"}
    assert not {"psychometrics", "psychometric_points", "pooled_psychometrics"} & survey.published
    assert {row["measure"] for row in survey.rows("validation")} == {"wefat"}
