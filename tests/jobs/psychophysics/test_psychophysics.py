"""Job `psychophysics` on files of replicas: every number by hand from their vectors, by default and otherwise."""

from itertools import permutations

import numpy as np
import pytest
from scipy.stats import pearsonr, spearmanr

from tests.fixtures.numbers import LINEAR, check_intervals, correlated, in_replicas
from tiltmeter.operators.psychophysics.forced_choice import flip_points
from tiltmeter.operators.psychophysics.pooling import over_combinations, pooled
from tiltmeter.operators.psychophysics.resamples import psychometrics_of

NUM_REPLICAS, DIMS = 6, 5
WOMEN = {"nurse": 90, "writer": 63, "clerk": 50, "lawyer": 35, "driver": 6, "guard": 22}
"""Of one no embedding has a vector."""

KNOWN = sorted(word for word in WOMEN if word != "guard")
MEN = np.array([1 - WOMEN[word] / 100 for word in KNOWN])
PAIRS, OTHERS = [("she", "he"), ("woman", "man")], [("love", "hate"), ("love", "peace")]
EVERY = [*PAIRS, ("she", "man"), ("woman", "he")]
CUES = [cue for pair in PAIRS for cue in pair]
WORDS = [*KNOWN, *CUES, "love", "hate"]
CORRELATIONS = {"pearson": pearsonr, "spearman": spearmanr}


@pytest.fixture(scope="module")
def replicas():
    """``[1 + replicas, words, dims]``"""
    rng = np.random.default_rng(0)
    moved = rng.normal(size=(1, len(WORDS), DIMS)), 0.2 * rng.normal(size=(1 + NUM_REPLICAS, len(WORDS), DIMS))
    return sum(moved).astype(np.float32)


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
        *word_lists("en", cue_pairs=PAIRS, other_cue_pairs=OTHERS, occupations=occupations),
        *("job.num_resamples=50", "seed=3", f"store={folder}/store"),
    ]


@pytest.fixture(scope="module")
def outcome(run_here, overrides, folder):
    return run_here(*overrides, "job.level=0.9", f"run_dir={folder}/run")


@pytest.fixture(scope="module")
def otherwise(run_here, overrides, folder):
    """Every female cue against every male one, and all else not as it is by default."""
    settings = ["job.level=0.8", "job.interval=centred", "job.width=quartiles", "job.ddof=0"]
    return run_here(*overrides, "job.combinations=all", *settings, f"run_dir={folder}/all")


RUNS = {"outcome": (0.9, "averaged", "window", PAIRS), "otherwise": (0.8, "centred", "quartiles", EVERY)}
"""By the name of the fixture: level, method and width that were asked for, and the gender pairs."""


@pytest.fixture(scope="module", params=RUNS)
def asked(request):
    """A run, and what it was asked for."""
    return request.getfixturevalue(request.param), *RUNS[request.param]


@pytest.fixture(scope="module")
def flips(replicas):
    """Of a word and two cues, in the original and every replica."""
    return lambda word, *cues: flip_points(*(replicas[:, WORDS.index(name)] for name in (word, *cues)))


@pytest.fixture(scope="module")
def effects(replicas):
    """Of each known occupation by WEFAT with the cues as attributes, ``[embeddings, occupations]``."""

    def measure(ddof):
        unit = replicas / np.linalg.norm(replicas, axis=2, keepdims=True)
        to_cues = np.einsum("ewd,ecd->ewc", unit[:, : len(KNOWN)], unit[:, len(KNOWN) : len(KNOWN) + 4])
        # Female and male cues take turns.
        gaps = to_cues[..., 0::2].mean(axis=2) - to_cues[..., 1::2].mean(axis=2)
        return gaps, gaps / to_cues.std(axis=2, ddof=ddof)

    return measure


def _percentiles(row):
    return [row["pse_percentile_low"], row["pse_percentile_high"]]


@pytest.mark.long
def test_every_estimate_and_interval_is_that_of_the_flips_of_the_row(asked, flips):
    outcome, level, method, width, pairs = asked
    rows = outcome.rows("psychometrics", status="ok")
    keys = {(word, *pair) for word in KNOWN for pair in (*pairs, OTHERS[0])}
    assert {(row["word"], row["cue_1"], row["cue_2"]) for row in rows} == keys
    for row in rows:
        original, *in_row = flips(row["word"], row["cue_1"], row["cue_2"])
        found = psychometrics_of(np.array([in_row]), 3, 50, level, width, method)
        expected = {name: float(column[0]) for name, column in found._asdict().items()}
        assert {name: row[name] for name in expected} == pytest.approx(expected)
        assert row["pse"] == pytest.approx(np.mean(in_row))
        assert _percentiles(row) == pytest.approx(np.quantile(in_row, [(1 - level) / 2, (1 + level) / 2]))
        assert (row["pse_sd_training"], row["pse_sd_sampling"]) == (None, None)
        assert row["flip_original"] == pytest.approx(original)
        assert row["pse_shift"] == pytest.approx((np.mean(in_row) - original) / np.std(in_row, ddof=1))
        assert row["is_gender"] == (row["cue_1"] != "love")
        assert (row["percent_women"], row["num_replicas"]) == (WOMEN[row["word"]], NUM_REPLICAS)


@pytest.mark.once("psychophysics")
def test_the_points_are_the_share_of_replicas_that_have_flipped(outcome, flips):
    curves = {(row["word"], row["cue_1"], row["cue_2"]): [] for row in outcome.rows("psychometrics", status="ok")}
    for row in outcome.rows("psychometric_points"):
        curves[row["word"], row["cue_1"], row["cue_2"]].append((row["alpha"], row["share"]))
    for key, curve in curves.items():
        alphas, shares = np.array(curve).T
        assert alphas == pytest.approx(np.linspace(0, 1, 101))
        assert shares == pytest.approx([np.mean(flips(*key)[1:] < alpha) for alpha in alphas])


def test_what_has_no_vector_keeps_its_rows_and_is_named(outcome):
    lacking = [row for row in outcome.rows("psychometrics") if row["status"] != "ok"]
    assert len(lacking) == len(PAIRS) + 1 + len(WOMEN)
    for row in lacking:
        missing = [word for word in (row["word"], row["cue_2"]) if word in ("guard", "peace")]
        assert (row["status"], row["pse"]) == ("missing_words", None)
        assert row["reason"] == f"not in the vocabulary: {', '.join(map(repr, missing))}"
    [row] = outcome.rows("pooled_psychometrics", word="guard")
    assert (row["status"], row["pse"]) == ("too_few_pairs", None)
    assert row["reason"] == "measured with 0 gender cue pairs, and 2 are needed"


def test_gender_pairs_are_pooled_and_no_others(asked, flips):
    """The listed pairs say how wide the interval over all combinations is."""
    outcome, level, _, _, pairs = asked
    rows = outcome.rows("pooled_psychometrics", status="ok")
    assert [row["word"] for row in rows] == KNOWN
    for row in rows:
        of_pairs = np.stack([flips(row["word"], *pair) for pair in pairs])
        measured = of_pairs[np.newaxis, :, 1:]
        found = over_combinations(pooled(measured[:, :2], level), pooled(measured, level))
        expected = {name: float(column[0]) for name, column in found._asdict().items()}
        assert {name: row[name] for name in expected} == pytest.approx(expected)
        original, *replicas = of_pairs.mean(axis=0)
        assert _percentiles(row) == pytest.approx(np.quantile(replicas, [(1 - level) / 2, (1 + level) / 2]))
        assert row["pse_shift"] == pytest.approx((np.mean(replicas) - original) / np.std(replicas, ddof=1))
        assert (row["num_pairs"], row["percent_women"]) == (len(pairs), WOMEN[row["word"]])


def _correlations(values, others):
    return {
        name: [correlate(*both)[0] for both in zip(values, others, strict=True)]
        for name, correlate in CORRELATIONS.items()
    }


def test_leanings_are_held_against_the_labour_market_and_wefat_in_every_replica(asked, flips, effects):
    outcome, _, _, _, pairs = asked
    _, wefat = effects(ddof=0 if pairs == EVERY else 1)
    men = np.tile(MEN, (1 + NUM_REPLICAS, 1))
    of_pairs = {pair: np.array([flips(word, *pair) for word in KNOWN]).T for pair in pairs}
    # Of the original it is the mean of the replicas that is published, and in the table.
    of_pairs = {pair: np.vstack([values[1:].mean(axis=0), values[1:]]) for pair, values in of_pairs.items()}
    pse = np.mean(list(of_pairs.values()), axis=0)
    expected = {("pse", "share_men", *pair): (values, men) for pair, values in of_pairs.items()} | {
        ("pse", "share_men", None, None): (pse, men),
        ("wefat", "share_men", None, None): (wefat, men),
        ("pse", "wefat", None, None): (pse, wefat),
    }
    seen = set()
    for row, name, values in in_replicas(outcome, "validation"):
        key = tuple(row[column] for column in ("measure", "against", "cue_1", "cue_2"))
        assert [row[name], *values] == pytest.approx(_correlations(*expected[key])[name], abs=1e-5)
        seen.add(key)
    assert seen == set(expected)


@pytest.mark.parametrize("pair", [*PAIRS, (None, None)])
def test_jnd_is_held_against_the_dispersion_of_the_share_and_p_counts_orders(outcome, pair):
    table = "psychometrics" if pair[0] else "pooled_psychometrics"
    rows = [row for row in outcome.rows(table, status="ok") if not pair[0] or (row["cue_1"], row["cue_2"]) == pair]
    for measure, against, other in (("pse", "share_men", MEN), ("jnd", "dispersion", np.sqrt(MEN * (1 - MEN)))):
        [row] = outcome.rows("validation", measure=measure, against=against, cue_1=pair[0], cue_2=pair[1])
        values = [occupation[measure] for occupation in rows]
        for kind, correlate in CORRELATIONS.items():
            assert row[kind] == pytest.approx(correlate(values, other)[0])
            orders = [abs(correlate(values, order)[0]) for order in permutations(other)]
            assert row[f"{kind}_p"] == pytest.approx(np.mean(np.array(orders) >= abs(row[kind]) - 1e-6))
        assert (row["num_occupations"], row["status"]) == (len(KNOWN), "ok")


def test_intervals_are_by_the_level_and_the_method_that_are_asked_for(asked):
    outcome, level, method, _, _ = asked
    # Of 2 and 2 targets (one has no vector), d is at most the root of 4 (4 - ddof) / 4.
    scale = correlated(2.0 if level == 0.8 else 3.0**0.5)
    correlations = {"pearson": correlated(), "spearman": correlated()}
    contrast = {"score": LINEAR, "effect_size": scale}
    check_intervals(outcome, {"validation": correlations, "occupation_contrast": contrast}, level, method)


@pytest.mark.parametrize(("run", "ddof"), [("outcome", 1), ("otherwise", 0)])
def test_occupations_of_most_women_are_held_against_those_of_most_men(request, effects, run, ddof):
    """Those of as many women as men are in neither set."""
    outcome = request.getfixturevalue(run)
    gaps, _ = effects(ddof)
    women, men = (gaps[:, [WOMEN[word] > 50 if side else WOMEN[word] < 50 for word in KNOWN]] for side in (True, False))
    spread = np.concatenate([women, men], axis=1).std(axis=1, ddof=ddof)
    numbers = {
        "score": women.sum(axis=1) - men.sum(axis=1),
        "effect_size": (women.mean(axis=1) - men.mean(axis=1)) / spread,
    }
    for row, name, values in in_replicas(outcome, "occupation_contrast"):
        assert [row[name], *values] == pytest.approx(numbers[name].tolist(), abs=1e-5)
        assert (row["num_targets"], row["missing_words"], row["ddof"]) == (4, ["guard"], ddof)


def test_a_survey_of_files_without_replicas_leaves_the_forced_choice_out(run_here, word_lists, word_sets, folder):
    sets = {"target_x": ["nurse", "writer"], "target_y": ["lawyer", "driver"]}
    test = word_sets(**sets, attribute_a=["she", "woman"], attribute_b=["he", "man"])
    survey = run_here(
        *("job=survey", "embedding=file", f"embedding.path={folder}/replica0.bin", f"store={folder}/store"),
        *word_lists("en", associations={"occupations": test}, gender_survey=None),
        f"run_dir={folder}/survey",
    )
    assert {row["status"] for row in survey.rows("associations")} == {"ok"}
    assert [(row["status"], row["script"]) for row in survey.rows("gender_languages")] == [("ok", "Latn")]
    assert not {"psychometrics", "psychometric_points", "pooled_psychometrics"} & survey.published
    assert {row["measure"] for row in survey.rows("validation")} == {"wefat"}


def test_each_of_two_corpora_is_measured_by_its_own_replicas_and_starts(
    run_here, made_up, write_lines, word_lists, tmp_path
):
    documents, pairs = made_up("en", 30), [("enaa", "enba"), ("enca", "enda")]
    women = dict(zip(("enea", "enfa", "enga", "enha"), (90, 63, 35, 6), strict=True))
    files = {name: write_lines(tmp_path / f"{name}.jsonl", documents[at::2]) for at, name in enumerate("ab")}
    occupations = {"source": "made up", "year": 2000, "percent_women": women}
    outcome = run_here(
        *("job=psychophysics", "~corpus", "embedding.num_replicas=3", "embedding.num_starts=3", "job.num_resamples=20"),
        *("embedding.min_count=2", "embedding.trainer.dimensions=4", "embedding.trainer.epochs=2"),
        *(f"+corpus.{name}={{name: {name}, language: en, path: {path}}}" for name, path in files.items()),
        *word_lists("en", cue_pairs=pairs, other_cue_pairs=None, occupations=occupations, associations=None),
        *(f"store={tmp_path}/store", f"run_dir={tmp_path}/run"),
    )
    men = [1 - women[word] / 100 for word in sorted(women)]
    for corpus in files:
        known = {(row["replica"], row["word"]): row["vector"] for row in outcome.rows("embeddings", corpus=corpus)}
        words = (*women, *pairs[0], *pairs[1])
        series = {name: np.array([known[at, name] for at in (0, 1, 2, 3, -1, -2)]) for name in words}
        keys = [(word, *pair) for word in women for pair in pairs]
        flips = {key: flip_points(*(series[name] for name in key)) for key in keys}
        for row in outcome.rows("psychometrics", model=corpus):
            values = flips[row["word"], row["cue_1"], row["cue_2"]]
            assert (row["flip_original"], row["pse"]) == pytest.approx((values[0], values[1:4].mean()), abs=1e-5)
            assert row["pse_sd_training"] == pytest.approx(values[[0, 4, 5]].std(ddof=1), abs=1e-5)
        means = {word: np.mean([flips[word, *pair] for pair in pairs], axis=0) for word in sorted(women)}
        for row in outcome.rows("pooled_psychometrics", model=corpus):
            values = means[row["word"]]
            assert row["pse"] == pytest.approx(values[1:4].mean(), abs=1e-5)
            assert row["pse_sd_training"] == pytest.approx(values[[0, 4, 5]].std(ddof=1), abs=1e-5)
        [row] = outcome.rows("validation", model=corpus, measure="pse", against="share_men", cue_1=None)
        of_starts = [pearsonr([values[at] for values in means.values()], men)[0] for at in (0, 4, 5)]
        assert row["pearson_sd_training"] == pytest.approx(np.std(of_starts, ddof=1), abs=1e-4)
