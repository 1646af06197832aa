"""Job `gender_survey` on made-up corpora: its numbers against others worked out from the vectors it published."""

from itertools import combinations

import numpy as np
import pytest
from scipy.stats import t, ttest_ind

from tiltmeter.jobs.runtime.config import ConfigError
from tiltmeter.operators.statistics.correlation import cluster_order

TINY = [
    *("job=gender_survey", "embedding.num_replicas=3", "embedding.trainer.epochs=2", "embedding.trainer.dimensions=6"),
    "embedding.min_count=5",
    "embedding.num_starts=3",
]
LANGUAGES = ("en", "fr", "wo")
ABSENT = "wo"
"""None of whose defining words is in its corpus."""

PAIRS = {
    "woman-man": ("aa", "ba"),
    "mother-father": ("ca", "da"),
    "queen-king": ("ea", "fa"),
    "madam-sir": ("ga", "qqq"),
}
FORMS = {
    "nurse": {"feminine": ["ha"], "masculine": ["ia"]},
    "teacher": {"feminine": ["ja", "ka"], "masculine": ["la"]},
    "writer": {"neutral": ["ma"]},
    "judge": {"masculine": ["na", "qqqq"], "neutral": ["oa"]},
    "pilot": {"neutral": ["qqqqq"]},
}


@pytest.fixture(scope="module")
def lists(word_lists):
    """Overrides that put made-up words, which begin with the language's code, in the place of its survey."""

    def of(language):
        prefix = "none" if language == ABSENT else language
        survey = {
            "script": "Latn",
            "source": "made up",
            "defining": {name: {"feminine": prefix + f, "masculine": prefix + m} for name, (f, m) in PAIRS.items()},
            "professions": {
                name: {side: [language + word for word in words] for side, words in forms.items()}
                for name, forms in FORMS.items()
            },
        }
        return word_lists(language, gender_survey=survey)

    return of


@pytest.fixture(scope="module")
def outcome(run_job, made_up, write_lines, several_corpora, lists, tmp_path_factory):
    folder = tmp_path_factory.mktemp("gender")
    files = {code: write_lines(folder / f"{code}.jsonl", made_up(code)) for code in LANGUAGES}
    files["es"] = write_lines(folder / "es.jsonl", [{"id": "1", "text": "pocas palabras"}])
    words = [override for language in LANGUAGES for override in lists(language)]
    return run_job(*TINY, *several_corpora(files), *words, f"store={folder}/store", f"run_dir={folder}/run")


def test_a_corpus_too_small_is_a_row_and_a_warning_and_the_others_go_on(outcome):
    [row] = outcome.rows("corpus_slices")
    names = ("corpus", "language", "whole", "field", "value", "status", "num_documents")
    assert [row[name] for name in names] == ["es", "es", "es", "", None, "too_small", 1]
    assert row["reason"].startswith("has 0 different words that occur embedding.min_count=5 times")
    assert {row["corpus"] for row in outcome.rows("corpora")} == {*LANGUAGES}
    report = (outcome.path / "report.html").read_text()
    assert "es (es) is left out: has 0 different words" in report
    assert "beside each other" not in report


class _ByHand:
    """One language in one replica, from the published vectors."""

    def __init__(self, outcome, language, replica):
        name = f"replica_{replica:04d}" if replica >= 0 else f"start_{-replica:04d}"
        rows = outcome.parts(language)[f"{language}_{name}.parquet"].to_pylist()
        vectors = {row["word"]: np.array(row["vector"], float) for row in rows if row["vector"]}
        self.unit = {word: vector / np.linalg.norm(vector) for word, vector in vectors.items()}
        self.language = language
        self.counts = {row["word"]: row["count"] for row in outcome.rows("vocabulary", language=language)}
        self.num_tokens = outcome.rows("corpora", language=language)[0]["num_tokens"]

    def direction(self, without=None):
        pairs = [(self.language + f, self.language + m) for name, (f, m) in PAIRS.items() if name != without]
        halves = np.stack([(self.unit[f] - self.unit[m]) / 2 for f, m in pairs if m in self.unit])
        _, values, components = np.linalg.svd(halves)
        shares = values**2 / (values**2).sum()
        return components[0] * np.sign((halves @ components[0]).sum()), shares[:2]

    def by_gender(self, profession, direction):
        sides = [
            np.mean([self.unit[word] @ direction for word in self.words(words)]) for words in FORMS[profession].values()
        ]
        return np.mean(sides)

    def by_form(self, profession, direction):
        return np.mean([self.unit[word] @ direction for word in self.forms(profession)])

    def by_count(self, profession, direction):
        words = self.forms(profession)
        biases, counts = [self.unit[word] @ direction for word in words], [self.counts[word] for word in words]
        return np.average(biases, weights=counts)

    def words(self, listed):
        """Those of the words that have a vector."""
        return [self.language + word for word in listed if self.language + word in self.unit]

    def forms(self, profession):
        return [word for words in FORMS[profession].values() for word in self.words(words)]

    def biases(self, bias, without=None):
        """Of the professions that have a form, by one of the weights."""
        direction, _ = self.direction(without)
        return np.array([bias(name, direction) for name in FORMS if name != "pilot"])

    def direct_bias(self, without=None):
        return np.abs(self.biases(self.by_count, without)).mean()


WEIGHTS = ("count", "form", "gender")


@pytest.fixture(scope="module", params=["en", "fr"])
def by_hand(outcome, request):
    return _ByHand(outcome, request.param, 0)


@pytest.mark.parametrize("weights", WEIGHTS)
def test_professions_take_the_mean_of_their_forms_by_all_weights(outcome, by_hand, weights):
    direction, _ = by_hand.direction()
    bias = getattr(by_hand, f"by_{weights}")
    for row in outcome.rows("gender_professions", language=by_hand.language):
        if row["profession"] == "pilot":
            assert (row["status"], row["bias"], row["forms"]) == ("missing_words", None, [])
        else:
            assert row[f"bias_by_{weights}"] == pytest.approx(bias(row["profession"], direction), abs=1e-5)
            assert (row["status"], row["weights"]) == ("ok", "count")


def test_what_is_not_asked_otherwise_is_weighted_by_count(outcome, by_hand):
    for row in outcome.rows("gender_professions", language=by_hand.language, status="ok"):
        assert row["bias"] == row["bias_by_count"]
        assert row["count"] == sum(by_hand.counts[word] for word in row["forms"])
    [row] = outcome.rows("gender_professions", language=by_hand.language, profession="teacher")
    assert row["forms"] == [by_hand.language + word for word in ("ja", "ka", "la")]
    [row] = outcome.rows("gender_languages", language=by_hand.language)
    assert (row["direct_bias"], row["mean_bias"]) == (row["direct_bias_by_count"], row["mean_bias_by_count"])


@pytest.mark.parametrize("weights", WEIGHTS)
def test_the_language_has_its_mean_with_and_without_sign_by_all_weights(outcome, by_hand, weights):
    biases = by_hand.biases(getattr(by_hand, f"by_{weights}"))
    [row] = outcome.rows("gender_languages", language=by_hand.language)
    assert row[f"direct_bias_by_{weights}"] == pytest.approx(np.abs(biases).mean(), abs=1e-5)
    assert row[f"mean_bias_by_{weights}"] == pytest.approx(biases.mean(), abs=1e-5)


def test_the_forms_of_professions_are_a_share_of_the_corpus(outcome, by_hand):
    [row] = outcome.rows("gender_languages", language=by_hand.language)
    words = {by_hand.language + word for forms in FORMS.values() for listed in forms.values() for word in listed}
    count = sum(by_hand.counts.get(word, 0) for word in words)
    assert row["profession_share"] == pytest.approx(count / by_hand.num_tokens)


def test_the_language_has_its_direction_and_direct_bias(outcome, by_hand):
    [row] = outcome.rows("gender_languages", language=by_hand.language)
    direction, (first, second) = by_hand.direction()
    assert (row["first_share"], row["second_share"]) == pytest.approx((first, second), abs=1e-5)
    assert row["gap"] == pytest.approx(first - second, abs=1e-5)
    assert row["direct_bias"] == pytest.approx(by_hand.direct_bias(), abs=1e-5)
    complete = [(f, m) for f, m in PAIRS.values() if m != "qqq"]
    for side, name in enumerate(("female_words", "male_words")):
        words = [by_hand.language + pair[side] for pair in complete]
        assert row[name] == pytest.approx(np.mean([by_hand.unit[word] @ direction for word in words]), abs=1e-5)
    assert (row["num_pairs"], row["num_professions"], row["script"]) == (3, 4, "Latn")
    assert row["missing_words"] == [f"{by_hand.language}qqq"]
    aligned = np.mean(
        [(by_hand.unit[by_hand.language + f] - by_hand.unit[by_hand.language + m]) @ direction > 0 for f, m in complete]
    )
    assert row["agreement"] == pytest.approx(aligned)
    assert bool(row["warning"]) == (first < 2 * second or aligned < 2 / 3)


def test_intervals_are_those_of_the_replicas(outcome, by_hand):
    replicas = [_ByHand(outcome, by_hand.language, number).direct_bias() for number in (1, 2, 3)]
    [row] = outcome.rows("gender_languages", language=by_hand.language)
    ends = row["direct_bias_percentile_low"], row["direct_bias_percentile_high"]
    assert ends == pytest.approx(tuple(np.quantile(replicas, [0.025, 0.975])), abs=1e-5)
    # A mean of sizes has its interval around it, whatever resampling does to it.
    low, high = row["direct_bias"] + _around_the_mean(replicas) - np.mean(replicas)
    ends = max(low, 0.0), min(high, 1.0)
    assert (row["direct_bias_low"], row["direct_bias_high"]) == pytest.approx(ends, abs=1e-4)
    shift = (np.mean(replicas) - row["direct_bias"]) / np.std(replicas, ddof=1)
    assert row["direct_bias_shift"] == pytest.approx(shift, abs=0.02)


def test_a_mean_that_resampling_shifts_by_more_than_its_spread_has_its_interval_around_it(outcome, by_hand):
    hands = [_ByHand(outcome, by_hand.language, number) for number in (0, 1, 2, 3)]
    seen = set()
    for row in outcome.rows("gender_professions", language=by_hand.language, status="ok"):
        biases = [hand.by_count(row["profession"], hand.direction()[0]) for hand in hands]
        assert row["bias_shift"] == pytest.approx(_shift_of_cosines(biases[0], biases[1:]), abs=0.05)
        expected = _ends_of_cosines(biases[0], biases[1:])
        assert (row["bias_low"], row["bias_high"]) == pytest.approx(expected, abs=1e-3)
        seen.add(abs(row["bias_shift"]) > 1)
    assert False in seen


def _shift_of_cosines(original, replicas):
    moved = np.arctanh(replicas)
    return (moved.mean() - np.arctanh(original)) / moved.std(ddof=1)


def _ends_of_cosines(original, replicas):
    """Around the mean of the replicas and up to the number; around the number where they lie off it."""
    ends, at = _around_the_mean(np.arctanh(replicas)), np.arctanh(original)
    if abs(_shift_of_cosines(original, replicas)) > 1:
        ends = ends + at - np.mean(np.arctanh(replicas))
    return tuple(np.tanh([min(ends[0], at), max(ends[1], at)]))


def test_forms_on_both_sides_do_not_cancel_in_the_direct_bias_of_forms(outcome, by_hand):
    [row] = outcome.rows("gender_languages", language=by_hand.language)
    direction, _ = by_hand.direction()
    sizes = []
    for name in FORMS:
        if words := by_hand.forms(name):
            biases, counts = [by_hand.unit[word] @ direction for word in words], [by_hand.counts[w] for w in words]
            sizes.append(np.average(np.abs(biases), weights=counts))
    assert len(sizes) == row["num_professions"]
    assert row["direct_bias_of_forms"] == pytest.approx(np.mean(sizes), abs=1e-5)
    assert row["direct_bias_of_forms"] > row["direct_bias"]
    assert row["direct_bias_of_forms_low"] < row["direct_bias_of_forms"] < row["direct_bias_of_forms_high"]


def _around_the_mean(values):
    return np.mean(values) + t.ppf(0.975, len(values) - 1) * np.std(values, ddof=1) * np.array([-1, 1])


def test_training_and_sampling_are_told_apart_where_there_are_several_starts(outcome, by_hand):
    replicas, starts = (
        [_ByHand(outcome, by_hand.language, number).direct_bias() for number in numbers]
        for numbers in ((1, 2, 3), (0, -1, -2))
    )
    [row] = outcome.rows("gender_languages", language=by_hand.language)
    assert row["direct_bias_sd_training"] == pytest.approx(np.std(starts, ddof=1), abs=1e-6)
    sampling = max(0, np.var(replicas, ddof=1) - np.var(starts, ddof=1)) ** 0.5
    assert row["direct_bias_sd_sampling"] == pytest.approx(sampling, abs=1e-4)


def test_every_interval_holds_its_estimate_within_the_range_of_the_number(outcome):
    tables = ("gender_languages", "gender_professions", "gender_words", "gender_pairs", "language_correlation")
    rows = [(row, name) for table in tables for row in outcome.rows(table, status="ok") for name in row]
    checked = [(row, name.removesuffix("_low")) for row, name in rows if f"{name.removesuffix('_low')}_high" in row]
    for row, name in checked:
        if name in row and row[f"{name}_low"] is not None:
            assert -1 <= row[f"{name}_low"] <= row[name] <= row[f"{name}_high"] <= 1, name
    assert len(checked) > 100


def test_leaving_out_a_pair_changes_direction_and_direct_bias(outcome, by_hand):
    full, all_shares = by_hand.direction()
    for row in outcome.rows("gender_pairs", language=by_hand.language):
        if row["pair"] == "madam-sir":
            assert (row["status"], row["change"]) == ("missing_words", None)
            continue
        without = by_hand.direct_bias(row["pair"])
        assert row["direct_bias"] == pytest.approx(without, abs=1e-5)
        assert row["change"] == pytest.approx(without - by_hand.direct_bias(), abs=1e-5)
        direction, (first, second) = by_hand.direction(row["pair"])
        assert (row["similarity"], row["first_share"]) == pytest.approx((full @ direction, first), abs=1e-5)
        assert row["gap"] == pytest.approx(first - second, abs=1e-5)
        assert row["gap_change"] == pytest.approx(first - second - (all_shares[0] - all_shares[1]), abs=1e-5)


def test_every_word_of_the_lists_has_a_row(outcome, by_hand):
    direction, _ = by_hand.direction()
    rows = outcome.rows("gender_words", language=by_hand.language)
    assert len(rows) == 2 * len(PAIRS) + sum(len(words) for forms in FORMS.values() for words in forms.values())
    for row in rows:
        if row["word"] in by_hand.unit:
            assert row["bias"] == pytest.approx(by_hand.unit[row["word"]] @ direction, abs=1e-5)
        else:
            assert row["status"] == "missing_words"


def _correlation(outcome, weights, replica):
    """Of English and French in one replica."""
    hands = [_ByHand(outcome, language, replica) for language in ("en", "fr")]
    return np.corrcoef([hand.biases(getattr(hand, f"by_{weights}")) for hand in hands])[0, 1]


@pytest.mark.parametrize("weights", WEIGHTS)
def test_languages_are_correlated_over_the_professions_that_both_have(outcome, weights):
    original, *replicas = (_correlation(outcome, weights, replica) for replica in range(4))
    column = f"correlation_by_{weights}"
    for one, other in (("en", "fr"), ("fr", "en")):
        [row] = outcome.rows("language_correlation", language_1=one, language_2=other)
        assert row[column] == pytest.approx(original, abs=1e-4)
        ends = row[f"{column}_percentile_low"], row[f"{column}_percentile_high"]
        assert ends == pytest.approx(tuple(np.quantile(replicas, [0.025, 0.975])), abs=1e-4)
        ends = _ends_of_cosines(original, replicas)
        assert (row[f"{column}_low"], row[f"{column}_high"]) == pytest.approx(ends, abs=1e-3)
        assert (row["num_professions"], row["status"]) == (4, "ok")
        assert (row["correlation"], row["weights"]) == (row["correlation_by_count"], "count")


def test_languages_stand_in_the_order_of_their_clustering(outcome):
    rows = outcome.rows("language_correlation")
    published = np.array([row["correlation"] for row in rows], float).reshape(len(LANGUAGES), len(LANGUAGES))
    order = [LANGUAGES[at] for at in cluster_order(published).order]
    for row in rows:
        places = row["position_1"], row["position_2"]
        assert places == (order.index(row["language_1"]), order.index(row["language_2"]))


def test_a_language_without_defining_words_gives_what_can_be_given(outcome):
    [row] = outcome.rows("gender_languages", language=ABSENT)
    assert (row["status"], row["num_pairs"], row["num_professions"], row["direct_bias"]) == ("no_direction", 0, 4, None)
    assert "no defining pair has both words" in row["reason"]
    professions = outcome.rows("gender_professions", language=ABSENT)
    assert {row["status"] for row in professions} == {"no_direction", "missing_words"}
    assert sum(row["count"] or 0 for row in professions) > 0
    [row] = outcome.rows("language_correlation", language_1="en", language_2=ABSENT)
    assert (row["status"], row["num_professions"], row["correlation"]) == ("too_few_professions", 0, None)


@pytest.fixture(scope="module")
def alone(run_job, made_up, write_lines, one_corpus, lists, word_lists, tmp_path_factory):
    """One language, with words that are too rare for a vector, and the original lists beside the survey's."""
    folder = tmp_path_factory.mktemp("alone")
    path = write_lines(folder / "en.jsonl", [*made_up("en"), {"id": "rare", "text": "enqqqq enqqqqq enqqqqq enqqq"}])
    original = {
        "definitional_pairs": [["enaa", "enba"], ["enca", "enda"]],
        "professions": ["enma", "enoa", "enha", "enia", "enqqqqq"],
    }
    words = [*lists("en"), *word_lists("en", gender=original)]
    return run_job(*TINY, *one_corpus("en", path), *words, f"store={folder}/store", f"run_dir={folder}/run")


def test_the_professions_are_tested_against_the_original_ones(alone):
    hand = _ByHand(alone, "en", 0)
    pairs = np.stack([hand.unit["enaa"] - hand.unit["enba"], hand.unit["enca"] - hand.unit["enda"]])
    _, _, components = np.linalg.svd(pairs)
    original = components[0] * np.sign((pairs @ components[0]).sum())
    biases = np.array([hand.unit[word] @ original for word in ("enma", "enoa", "enha", "enia")])
    modified = hand.biases(hand.by_count)
    samples = {"bias": (biases, modified), "size": (np.abs(biases), np.abs(modified))}
    for row in alone.rows("gender_sets"):
        first, second = samples.pop(row["score"])
        test = ttest_ind(first, second, equal_var=False)
        assert (row["t"], row["df"]) == pytest.approx((test.statistic, test.df), rel=1e-3)
        assert row["p"] == pytest.approx(
            _share_of_deals(np.concatenate([first, second]), abs(test.statistic)), abs=0.02
        )
        assert (row["original_mean"], row["modified_mean"]) == pytest.approx((first.mean(), second.mean()), abs=1e-5)
        assert (row["original_professions"], row["modified_professions"], row["status"]) == (4, 4, "ok")
        assert row["similarity"] == pytest.approx(original @ hand.direction()[0], abs=1e-5)
    assert not samples


def _share_of_deals(values, t):
    """Of all ways to deal eight words into two lists of four, those with a t as large."""
    deals = [np.isin(np.arange(8), chosen) for chosen in combinations(range(8), 4)]
    found = [abs(ttest_ind(values[deal], values[~deal], equal_var=False).statistic) for deal in deals]
    return np.mean(np.array(found) >= t * (1 - 1e-4))


def test_words_too_rare_for_a_vector_have_a_count_all_the_same(alone):
    counts = {row["word"]: row["count"] for row in alone.rows("vocabulary")}
    for word, count in (("enqqqq", 1), ("enqqqqq", 2), ("enqqq", 1)):
        [row] = alone.rows("gender_words", word=word)
        assert (row["bias"], row["count"], row["status"]) == (None, count, "missing_words")
    [pilot] = alone.rows("gender_professions", profession="pilot")
    assert (pilot["bias"], pilot["count"], pilot["missing_words"]) == (None, 2, ["enqqqqq"])
    [judge] = alone.rows("gender_professions", profession="judge")
    assert (judge["count"], judge["forms"]) == (counts["enna"] + 1 + counts["enoa"], ["enna", "enoa"])
    hand = _ByHand(alone, "en", 0)
    assert judge["bias"] == pytest.approx(hand.by_count("judge", hand.direction()[0]), abs=1e-5)


def test_one_language_is_correlated_with_itself(alone):
    [row] = alone.rows("language_correlation")
    assert (row["language_1"], row["language_2"], row["position_1"], row["position_2"]) == ("en", "en", 0, 0)
    assert (row["correlation"], row["num_professions"], row["status"]) == (pytest.approx(1), 4, "ok")


def test_a_language_without_lists_is_refused(configured):
    with pytest.raises(ConfigError, match=r"wordset.sw: job=gender_survey needs gender_survey in the language sw"):
        configured("job=gender_survey", "corpus=file", "corpus.language=sw", "corpus.path=x")
