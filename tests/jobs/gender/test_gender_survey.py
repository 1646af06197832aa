"""Job `gender_survey` on made-up corpora: every number is worked out from the vectors that it published."""

from functools import cache, cached_property

import numpy as np
import pytest
from scipy.stats import ttest_ind

from tests.fixtures.numbers import LINEAR, SHARE, SIZE, Scale, check_intervals, correlated, in_replicas
from tiltmeter.operators.gender.sets import dealt
from tiltmeter.operators.statistics.correlation import cluster_order

TINY = [
    *("job=gender_survey", "embedding.num_replicas=3", "embedding.trainer.epochs=2", "embedding.trainer.dimensions=6"),
    *("embedding.min_count=5", "embedding.num_starts=3"),
]
LANGUAGES = ("en", "fr", "de", "wo")
ABSENT = "wo"
"""None of whose defining words is in its corpus."""

PAIRS = {"woman-man": ("aa", "ba"), "mother-father": ("ca", "da"), "queen-king": ("ea", "fa")}
PAIRS["madam-sir"] = ("ga", "qqq")
FORMS = {
    "nurse": {"feminine": ["ha"], "masculine": ["ia"]},
    "teacher": {"feminine": ["ja", "ka"], "masculine": ["la"]},
    "writer": {"neutral": ["ma"]},
    "judge": {"masculine": ["na", "qqqq"], "neutral": ["oa"]},
    "pilot": {"neutral": ["qqqqq"]},
}
ORIGINAL_PAIRS = {"first": ("aa", "ba"), "second": ("ca", "da")}
ORIGINAL = [f"{letter}a" for letter in "hijlmnopqrstuvwx"]
"""Professions: with the survey's four there are too many ways to deal them than that each could be tried."""


@pytest.fixture(scope="module")
def lists(word_lists):
    """Overrides that put made-up words, which begin with the language's code, in the place of its survey."""

    def of(language):
        prefix = "none" if language == ABSENT else language
        pairs = {name: {"feminine": prefix + f, "masculine": prefix + m} for name, (f, m) in PAIRS.items()}
        forms = {
            name: {side: [language + word for word in words] for side, words in forms.items()}
            for name, forms in FORMS.items()
        }
        survey = {"script": "Latn", "source": "made up", "defining": pairs, "professions": forms}
        return word_lists(language, gender_survey=survey)

    return of


@pytest.fixture(scope="module")
def outcome(run_here, made_up, write_lines, several_corpora, lists, tmp_path_factory):
    """Several languages, with all forms of a profession weighted alike."""
    folder = tmp_path_factory.mktemp("gender")
    files = {code: write_lines(folder / f"{code}.jsonl", made_up(code)) for code in LANGUAGES}
    files["es"] = write_lines(folder / "es.jsonl", [{"id": "1", "text": "pocas palabras"}])
    words = [override for language in LANGUAGES for override in lists(language)]
    places = [f"store={folder}/store", f"run_dir={folder}/run"]
    return run_here(*TINY, *several_corpora(files), *words, "job.weights=form", "job.level=0.9", *places)


@pytest.fixture(scope="module")
def alone(run_here, made_up, write_lines, one_corpus, lists, word_lists, tmp_path_factory):
    """One language, with words that are too rare for a vector, and the original lists beside the survey's."""
    folder = tmp_path_factory.mktemp("alone")
    path = write_lines(folder / "en.jsonl", [*made_up("en"), {"id": "rare", "text": "enqqqq enqqqqq enqqqqq enqqq"}])
    original = {
        "definitional_pairs": [[f"en{f}", f"en{m}"] for f, m in ORIGINAL_PAIRS.values()],
        "professions": [*(f"en{word}" for word in ORIGINAL), "enqqqqq"],
    }
    words = [*lists("en"), *word_lists("en", gender=original)]
    otherwise = ["job.weights=gender", "job.exponent=2", "job.level=0.8", "job.interval=centred", "seed=4"]
    places = [f"store={folder}/store", f"run_dir={folder}/run"]
    return run_here(*TINY, *one_corpus("en", path), *words, *otherwise, *places)


RUNS = {"outcome": ("form", 1, 0.9, "averaged"), "alone": ("gender", 2, 0.8, "centred")}
"""By the name of the fixture: weights, exponent, level and method that were asked for."""


@pytest.fixture(scope="module", params=RUNS)
def asked(request):
    """A run, and what it was asked for."""
    return request.getfixturevalue(request.param), RUNS[request.param]


def test_a_corpus_too_small_is_a_row_and_a_warning_and_the_others_go_on(outcome):
    [row] = outcome.rows("corpus_slices")
    names = ("corpus", "language", "whole", "field", "value", "status", "num_documents")
    assert [row[name] for name in names] == ["es", "es", "es", "", None, "too_small", 1]
    assert row["reason"].startswith("has 0 different words that occur embedding.min_count=5 times")
    assert {row["corpus"] for row in outcome.rows("corpora")} == {*LANGUAGES}
    report = (outcome.path / "report.html").read_text()
    assert "es (es) is left out: has 0 different words" in report
    assert "beside each other" not in report


# --- every number by hand -------------------------------------------------------------------------------------------


class _ByHand:
    """One language in one embedding, from the published vectors: 0 is the original, below are its further starts."""

    def __init__(self, outcome, language, replica, weights, exponent):
        name = f"replica_{replica:04d}" if replica >= 0 else f"start_{-replica:04d}"
        rows = outcome.parts(language)[f"{language}_{name}.parquet"].to_pylist()
        vectors = {row["word"]: np.array(row["vector"], float) for row in rows if row["vector"]}
        self.unit = {word: vector / np.linalg.norm(vector) for word, vector in vectors.items()}
        self.counts = {row["word"]: row["count"] for row in outcome.rows("vocabulary", language=language)}
        self.language, self.weights, self.exponent = language, weights, exponent

    def direction(self, pairs=PAIRS, without=None):
        """The direction, and the shares of variance along the first two components."""
        known = [pair for name, pair in self.known(pairs).items() if name != without]
        halves = np.stack([(self.unit[f] - self.unit[m]) / 2 for f, m in known])
        _, values, components = np.linalg.svd(halves)
        shares = values**2 / (values**2).sum()
        return components[0] * np.sign((halves @ components[0]).sum()), shares[:2]

    def known(self, pairs):
        spelled = {name: [self.language + word for word in pair] for name, pair in pairs.items()}
        return {name: pair for name, pair in spelled.items() if all(word in self.unit for word in pair)}

    def along(self, words, direction):
        """Biases of those of the words that have a vector."""
        known = [self.language + word for word in words if self.language + word in self.unit]
        return np.array([self.unit[word] @ direction for word in known]), [self.counts[word] for word in known]

    def profession(self, name, weights, direction, exponent=None):
        """The mean over its forms of their biases, or of the sizes of these; NaN without a form."""
        sides = [self.along(words, direction) for words in FORMS[name].values()]
        sides = [(np.abs(biases) ** exponent if exponent else biases, counts) for biases, counts in sides if counts]
        if not sides:
            return np.nan
        biases, counts = (np.concatenate(part) for part in zip(*sides, strict=True))
        means = {
            "count": np.average(biases, weights=counts),
            "form": biases.mean(),
            "gender": np.mean([side.mean() for side, _ in sides]),
        }
        return means[weights]

    def professions(self, weights, direction, exponent=None):
        return np.array([self.profession(name, weights, direction, exponent) for name in FORMS if name != "pilot"])

    def direct_bias(self, weights, direction):
        return (np.abs(self.professions(weights, direction)) ** self.exponent).mean()

    def weighted(self, name, measure):
        """By what was asked for, and by all weights."""
        return {name: measure(self.weights)} | {f"{name}_by_{weights}": measure(weights) for weights in WEIGHTS}

    @cached_property
    def whole(self):
        return self.direction()

    def of_gender_words(self, row):
        return {"bias": self.unit[row["word"]] @ self.whole[0]}

    def of_gender_professions(self, row):
        return self.weighted("bias", lambda weights: self.profession(row["profession"], weights, self.whole[0]))

    def of_gender_languages(self, _):
        direction, (first, second) = self.whole
        sides = np.array([[self.unit[word] @ direction for word in pair] for pair in self.known(PAIRS).values()])
        return {
            **self.weighted("direct_bias", lambda by: self.direct_bias(by, direction)),
            **self.weighted("mean_bias", lambda by: self.professions(by, direction).mean()),
            "direct_bias_of_forms": self.professions(self.weights, direction, self.exponent).mean(),
            **dict(zip(("female_words", "male_words"), sides.mean(axis=0), strict=True)),
            "first_share": first,
            "second_share": second,
            "gap": first - second,
            "agreement": np.mean(sides[:, 0] > sides[:, 1]),
        }

    def of_gender_pairs(self, row):
        (whole, (first, second)), (direction, others) = self.whole, self.direction(without=row["pair"])
        bias, gap = self.direct_bias(self.weights, direction), others[0] - others[1]
        return {
            "direct_bias": bias,
            "change": bias - self.direct_bias(self.weights, whole),
            "similarity": whole @ direction,
            "first_share": others[0],
            "gap": gap,
            "gap_change": gap - (first - second),
        }

    def samples(self, score):
        """The biases of the original professions and of the survey's, each along the direction of its own pairs."""
        original, _ = self.along(ORIGINAL, self.direction(ORIGINAL_PAIRS)[0])
        both = original, self.professions(self.weights, self.whole[0])
        return both if score == "bias" else tuple(map(np.abs, both))

    def of_gender_sets(self, row):
        original, modified = self.samples(row["score"])
        return {
            "original_mean": original.mean(),
            "modified_mean": modified.mean(),
            "t": ttest_ind(original, modified, equal_var=False).statistic,
            "similarity": self.direction(ORIGINAL_PAIRS)[0] @ self.whole[0],
        }


WEIGHTS = ("count", "form", "gender")
EMBEDDINGS, STARTS = (0, 1, 2, 3), (0, -1, -2)
"""The original with its replicas, and from each random start."""

TABLES = ("gender_words", "gender_professions", "gender_languages", "gender_pairs", "gender_sets")


@pytest.fixture(scope="module")
def by_hand(asked):
    """The languages of the run by their code, in each embedding."""
    run, (weights, exponent, *_) = asked
    return cache(lambda language, replica: _ByHand(run, language, replica, weights, exponent))


def _holds(row, name, values, starts, draws):
    """A number in the original and its replicas, and what training and sampling move."""
    assert [row[name], *draws] == pytest.approx(values, abs=1e-5), name
    training, total = np.var(starts, ddof=1), np.var(values[1:], ddof=1)
    assert row[f"{name}_sd_training"] == pytest.approx(training**0.5, abs=1e-5), name
    assert row[f"{name}_sd_sampling"] == pytest.approx(max(total - training, 0.0) ** 0.5, abs=1e-3), name


@pytest.mark.long
@pytest.mark.parametrize("table", TABLES)
def test_every_number_is_that_of_the_published_vectors_in_every_embedding(asked, by_hand, table):
    run, (weights, *_) = asked
    seen = []
    for row, name, draws in in_replicas(run, table):
        values, starts = (
            [getattr(by_hand(row["language"], replica), f"of_{table}")(row)[name] for replica in replicas]
            for replicas in (EMBEDDINGS, STARTS)
        )
        _holds(row, name, values, starts, draws)
        assert (row["num_replicas"], row.get("weights", weights)) == (3, weights)
        seen.append(row)
    measured = run.rows(table, status="ok")
    assert all(row in seen for row in measured)
    assert bool(measured) == (table != "gender_sets" or weights == "gender"), "one run has no original lists of its own"


COSINE, SIZE_OF_COSINE = correlated(), Scale(low=-1.0, high=1.0, is_size=True)


def _every(name, scale):
    return dict.fromkeys((name, *(f"{name}_by_{weights}" for weights in WEIGHTS)), scale)


SCALES = {
    "gender_words": {"bias": COSINE},
    "gender_professions": _every("bias", COSINE),
    "gender_languages": {
        **_every("direct_bias", SIZE),
        **_every("mean_bias", COSINE),
        **dict.fromkeys(("direct_bias_of_forms", "agreement"), SIZE),
        **dict.fromkeys(("female_words", "male_words"), SIZE_OF_COSINE),
        **dict.fromkeys(("first_share", "second_share", "gap"), SHARE),
    },
    "gender_pairs": {
        **dict.fromkeys(("change", "similarity", "gap_change"), COSINE),
        **dict.fromkeys(("first_share", "gap"), SHARE),
        "direct_bias": SIZE,
    },
    "language_correlation": _every("correlation", COSINE),
}
SETS = {
    **dict.fromkeys(("original_mean", "modified_mean"), lambda row: COSINE if row["score"] == "bias" else SIZE),
    "t": LINEAR,
    "similarity": COSINE,
}


def test_intervals_are_by_the_level_and_the_method_that_are_asked_for(asked):
    run, (weights, _, level, method) = asked
    sets = {"gender_sets": SETS} if weights == "gender" else {}
    check_intervals(run, SCALES | sets, level, method)


# --- what else the rows say -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("language", ["en", "fr"])
def test_rows_say_what_they_rest_on(outcome, language):
    counts = {row["word"]: row["count"] for row in outcome.rows("vocabulary", language=language)}
    [row] = outcome.rows("gender_languages", language=language)
    words = {language + word for forms in FORMS.values() for listed in forms.values() for word in listed}
    num_tokens = outcome.rows("corpora", language=language)[0]["num_tokens"]
    assert row["profession_share"] == pytest.approx(sum(counts.get(word, 0) for word in words) / num_tokens)
    assert (row["num_pairs"], row["num_professions"], row["script"], row["exponent"]) == (3, 4, "Latn", 1)
    assert row["missing_words"] == [f"{language}qqq"]
    doubtful = row["first_share"] < 2 * row["second_share"], row["agreement"] < 2 / 3
    assert bool(row["warning"]) == any(doubtful)
    assert ("carries less than 2 times" in row["warning"], "only" in row["warning"]) == doubtful
    for row in outcome.rows("gender_professions", language=language):
        listed = [language + word for words in FORMS[row["profession"]].values() for word in words]
        assert row["forms"] == [word for word in listed if counts.get(word)]
        assert row["missing_words"] == [word for word in listed if not counts.get(word)]
        assert row["count"] == sum(counts.get(word) or 0 for word in listed)
        assert row["status"] == ("missing_words" if row["profession"] == "pilot" else "ok")
    rows = outcome.rows("gender_words", language=language)
    assert len(rows) == 2 * len(PAIRS) + sum(len(words) for forms in FORMS.values() for words in forms.values())
    assert {row["status"] for row in rows if row["word"].endswith("qqq")} == {"missing_words"}
    assert [row["count"] for row in rows] == [counts.get(row["word"]) for row in rows]
    [lost] = outcome.rows("gender_pairs", language=language, pair="madam-sir")
    assert (lost["status"], lost["change"]) == ("missing_words", None)


def _correlation(one, other, weights):
    """Over the professions of two languages in one embedding."""
    return np.corrcoef([hand.professions(weights, hand.whole[0]) for hand in (one, other)])[0, 1]


@pytest.mark.parametrize("asked", ["outcome"], indirect=True)
def test_languages_are_correlated_over_the_professions_that_both_have(asked, by_hand):
    run, _ = asked
    seen = set()
    for row, name, draws in in_replicas(run, "language_correlation"):
        weights = name.removeprefix("correlation_by_") if "_by_" in name else "form"
        values, starts = (
            [_correlation(*(by_hand(row[f"language_{side}"], at) for side in (1, 2)), weights) for at in embeddings]
            for embeddings in (EMBEDDINGS, STARTS)
        )
        _holds(row, name, values, starts, draws)
        assert (row["num_professions"], row["status"], row["weights"]) == (4, "ok", "form")
        assert (row["model_1"], row["model_2"]) == (row["language_1"], row["language_2"])
        seen.add((row["language_1"], row["language_2"]))
    assert len(seen) == 3 * 3


def test_languages_stand_in_the_order_of_their_clustering(outcome):
    rows = outcome.rows("language_correlation")
    published = np.array([row["correlation"] for row in rows], float).reshape(len(LANGUAGES), len(LANGUAGES))
    codes = list(dict.fromkeys(row["language_1"] for row in rows))
    order = [codes[at] for at in cluster_order(published).order]
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


@pytest.mark.parametrize("asked", ["alone"], indirect=True)
def test_the_professions_are_tested_against_the_original_ones(asked, by_hand):
    run, _ = asked
    rows = run.rows("gender_sets")
    assert [row["score"] for row in rows] == ["bias", "size"]
    for row in rows:
        first, second = by_hand("en", 0).samples(row["score"])
        assert row["df"] == pytest.approx(ttest_ind(first, second, equal_var=False).df, rel=1e-3)
        assert row["p"] == pytest.approx(dealt(first, second, level=0.8, seed=4).p, abs=1.5e-4)
        assert (row["original_professions"], row["modified_professions"], row["status"]) == (len(ORIGINAL), 4, "ok")


def test_words_too_rare_for_a_vector_have_a_count_all_the_same(alone):
    counts = {row["word"]: row["count"] for row in alone.rows("vocabulary")}
    for word, count in (("enqqqq", 1), ("enqqqqq", 2), ("enqqq", 1)):
        [row] = alone.rows("gender_words", word=word)
        assert (row["bias"], row["count"], row["status"]) == (None, count, "missing_words")
    [pilot] = alone.rows("gender_professions", profession="pilot")
    assert (pilot["bias"], pilot["count"], pilot["missing_words"]) == (None, 2, ["enqqqqq"])
    [judge] = alone.rows("gender_professions", profession="judge")
    assert (judge["count"], judge["forms"]) == (counts["enna"] + 1 + counts["enoa"], ["enna", "enoa"])


def test_one_language_is_correlated_with_itself(alone):
    [row] = alone.rows("language_correlation")
    assert (row["language_1"], row["language_2"], row["position_1"], row["position_2"]) == ("en", "en", 0, 0)
    assert (row["correlation"], row["num_professions"], row["status"]) == (pytest.approx(1), 4, "ok")
