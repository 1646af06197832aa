"""Job `association` along the direction of pairs: what its rows say of the vectors, and what becomes of analogies."""

import numpy as np
import pytest

from tiltmeter.jobs.association.config import AssociationConfig
from tiltmeter.jobs.association.directions import Direction, directions, measured_along
from tiltmeter.jobs.association.measures import find_measure
from tiltmeter.operators.association.analogies import answer, generated
from tiltmeter.operators.association.direction_measures import clustering, direct_bias, indirect_bias
from tiltmeter.operators.association.exchange import Others, direction_p
from tiltmeter.operators.association.measures import Exchange, Groups
from tiltmeter.operators.compute.generators import keyed_generator
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.compute.philox import Stream
from tiltmeter.operators.text.wordsets import GenderSurvey, GenderWords, WordSets
from tiltmeter.storage.errors import InputError

PAIRS = [["she", "he"], ["woman", "lost"], ["girl", "boy"], ["aunt", "uncle"]]
PROFESSIONS = [*(f"job{number}" for number in range(12)), "absent"]
OTHERS = [f"other{number}" for number in range(24)]
SIDES = {"target_x": OTHERS[:6], "target_y": OTHERS[6:12], "attribute_a": OTHERS[12:18], "attribute_b": OTHERS[18:]}
WORDS = ["she", "he", "woman", "girl", "boy", "aunt", "uncle", *PROFESSIONS[:-1], *OTHERS]
MEASURES = ("direct_bias", "direction_share", "indirect_bias", "clustering", "clustering_left")
VECTORS = np.random.default_rng(11).normal(size=(2, len(WORDS), 8)).astype(np.float32)


@pytest.fixture(scope="module")
def outcome(run_here, word_lists, word_sets, write_vectors, tmp_path_factory):
    """Two models; a pair lacks a word, and a profession is missing."""
    folder = tmp_path_factory.mktemp("directions")
    for number, vectors in enumerate(VECTORS):
        write_vectors(folder / f"d{number}.vec", WORDS, vectors, "word2vec_text")
    lists = word_lists(
        "en",
        **dict.fromkeys(("wefats", "gender_survey", "occupations", "cue_pairs", "other_cue_pairs")),
        associations={"made_up": word_sets(**SIDES)},
        gender={"definitional_pairs": PAIRS, "professions": PROFESSIONS},
    )
    how = [f"embedding.path={folder}/*.vec", "job.similarities=[cosine]", "job.statistics=[mean]"]
    how += [f"measures=[{','.join(MEASURES)},ripa_component,analogies]"]
    return run_here("job=association", "embedding=file", *lists, *how, f"store={folder}/s", f"run_dir={folder}/run")


def _vectors(model, words):
    return VECTORS[model : model + 1, [WORDS.index(word) for word in words]].astype(np.float64)


def _groups(model, b=()):
    x, y = zip(*(pair for pair in PAIRS if "lost" not in pair), strict=True)
    return Groups(*(_vectors(model, words) for words in (x, y, PROFESSIONS[:-1], b)))


def test_every_number_is_that_of_the_pairs_and_words_that_are_there(outcome):
    rows = {row["measure"]: row for row in outcome.rows("measures", query="gender", model="d1") if row["word"] is None}
    assert list(rows) == [name for name in MEASURES if name != "indirect_bias"]
    assert rows["direct_bias"]["value"] == pytest.approx(direct_bias(_groups(1))[0], rel=1e-5)
    assert rows["clustering"]["value"] == clustering(_groups(1))[0]
    assert rows["clustering_left"]["value"] == clustering(_groups(1), is_left=True)[0]
    row = rows["direct_bias"]
    assert (row["groups"], row["attributes"], row["num_words"]) == ("she, he", "professions", 18)
    assert (row["missing_words"], row["status"]) == (["lost", "absent"], "ok")
    assert rows["direction_share"]["p_value"] is None


def test_measures_of_queries_and_along_directions_are_one_table(outcome):
    rows = outcome.rows("measures", model="d0", measure="ripa_component")
    assert [row["query"] for row in rows] == ["made_up"] * 4
    assert [row["p_value"] for row in rows] == [None] * 4


def test_p_is_among_directions_of_words_that_are_in_no_pair_and_not_measured(outcome):
    """Occurrences in files are not known, so that any of them may stand for any."""
    [row] = outcome.rows("measures", query="gender", model="d0", measure="direct_bias")
    every = np.tile(np.arange(24), (3, 1))
    others = Others(_vectors(0, sorted(OTHERS)), every, every)
    generator = keyed_generator(0, Stream.DIRECTIONS, document_key("gender"))
    p = direction_p(find_measure("direct_bias"), _groups(0), Exchange("directions"), others, 199, generator)
    assert (row["p_value"], row["num_partitions"]) == (pytest.approx(p.value[0]), 200)
    assert (row["p_method"], row["null"], row["p_max_t"]) == ("monte_carlo", "directions", None)


def test_indirect_bias_is_of_each_word_and_the_one_that_is_nearest(outcome):
    rows = outcome.rows("measures", query="gender", model="d0", measure="indirect_bias")
    assert [row["word"] for row in rows] == PROFESSIONS[:-1]
    [words] = _vectors(0, PROFESSIONS[:-1])
    units = words / np.linalg.norm(words, axis=1, keepdims=True)
    near = [PROFESSIONS[place] for place in (units @ units.T - 2 * np.eye(12)).argmax(axis=1)]
    assert [row["attributes"] for row in rows] == near
    assert [row["value"] for row in rows] == pytest.approx(indirect_bias(_groups(0, near))[0], rel=1e-4)
    assert all(row["p_max_t"] >= row["p_value"] for row in rows)


def test_analogies_are_of_all_listed_words_by_the_first_pair(outcome):
    rows = outcome.rows("analogies", model="d1")
    words = [*WORDS[:19], *sorted(OTHERS)]
    [vectors] = _vectors(1, words)
    made = generated(vectors, (0, 1), 20)
    assert [(row["first"], row["second"], row["rank"]) for row in rows] == [
        (words[one.first], words[one.second], rank) for rank, one in enumerate(made, start=1)
    ]
    said = answer(vectors, 0, 1, made[0].first)
    row = rows[0]
    assert (row["answer"], row["any_answer"]) == (words[said.word], words[said.any_word])
    assert (row["input_rank"], row["num_words"], row["seeds"]) == (said.input_rank, 43, "she, he")
    assert (row["parallel"], row["distance"]) == pytest.approx((made[0].score, made[0].distance), rel=1e-5)
    assert (row["share"], row["num_replicas"]) == (None, 0)


def test_the_page_says_what_p_is_among_and_that_analogies_measure_nothing(outcome):
    page = (outcome.path / "report.html").read_text()
    assert "Direct bias: a larger value says that words lie further along the direction, to either side" in page
    assert "p is the share of directions that give as much" in page
    assert "she is to x as he is to y (gender)." in page
    assert "They illustrate and measure nothing" in page


class _Lookup:
    """Vectors of words whose occurrences are known."""

    num_replicas, num_embeddings = 0, 1

    def __init__(self, words):
        self.counts = {word: 1 + place for place, word in enumerate(words)}

    def __contains__(self, word):
        return word in self.counts

    def present(self, words):
        return [word for word in words if word in self]

    def missing(self, words):
        return [word for word in words if word not in self]


DIRECTION = Direction((("she", "he"), ("woman", "man")), ("nurse", "cook", "judge"), ("a", "b"))


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["she", "he", "woman", "nurse", "cook"], "1 of 2 pairs are left, and 2 are needed"),
        (["she", "he", "woman", "man", "nurse"], "1 of 3 words are left, and 2 are needed"),
    ],
)
def test_too_few_pairs_or_words_have_no_number(words, reason):
    how = ({"model": "m", "language": "en", "measure": "direct_bias", "query": "gender"}, find_measure("direct_bias"))
    [row] = measured_along(_Lookup(words), *how, DIRECTION, AssociationConfig(), 0)
    assert (row.status, row.reason, row.value) == ("too_few_words", reason, None)
    assert row.null == "0 other listed words have a vector, and 20 are needed to draw directions from"


def test_directions_are_those_of_both_lists_and_the_rest_of_the_words():
    gender = GenderWords((("she", "he"),), ("nurse",))
    forms = {"nurse": {"feminine": ("nurse",), "masculine": ("male nurse",), "note": ""}}
    survey = {"defining": {"one": {"feminine": "girl", "masculine": "boy"}}, "professions": forms}
    survey = GenderSurvey(script="Latn", source="made up", **survey)
    found = directions(WordSets("en", gender=gender, gender_survey=survey, cue_pairs=(("her", "him"),)))
    assert found == {
        "gender": Direction((("she", "he"),), ("nurse",), ("boy", "girl", "her", "him", "male nurse")),
        "gender_survey": Direction((("girl", "boy"),), ("nurse", "male nurse"), ("he", "her", "him", "she")),
    }
    assert directions(WordSets("en", cue_pairs=(("her", "him"),))) == {}


def test_a_direction_that_no_list_gives_is_refused(run_here, word_lists, word_sets, write_vectors, tmp_path):
    write_vectors(tmp_path / "v.vec", WORDS, VECTORS[0], "word2vec_text")
    lists = dict.fromkeys(("wefats", "gender", "gender_survey", "occupations"))
    how = word_lists("en", **lists, associations={"made_up": word_sets(**SIDES)})
    with pytest.raises(InputError) as refused:
        run_here("job=association", "embedding=file", *how, f"embedding.path={tmp_path}/v.vec", "measures=[clustering]")
    assert str(refused.value) == (
        "measures=clustering: is along the direction of pairs of words, and no word list of ['en'] has any (gender, or "
        "gender_survey): choose one (wordset=[<name>,...]), or leave it out"
    )
