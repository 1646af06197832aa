"""Measures of bias on files of vectors, known ones and those of packages: what they get, and what becomes of it."""

import numpy as np
import pyarrow as pa
import pytest

from tiltmeter.jobs.association import measures
from tiltmeter.jobs.association.config import AssociationConfig, AssociationRun
from tiltmeter.jobs.association.measures import MeasureBias
from tiltmeter.jobs.embedding.lookup import Vectors
from tiltmeter.jobs.runtime.config import ConfigError
from tiltmeter.operators.association.measures import BiasMeasure, Exchange
from tiltmeter.operators.text.wordsets import Association, NamedWords
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.store.ledger import Unit

WORDS = ("rose", "tulip", "ant", "wasp", "love", "joy", "war", "pain")
SIDES = {"target_x": "rose tulip absent", "target_y": "ant wasp", "attribute_a": "love joy", "attribute_b": "war pain"}
TEST = Association("made up", **{name: NamedWords(name, tuple(words.split())) for name, words in SIDES.items()})
NUM_EMBEDDINGS = 6
VECTORS = np.random.default_rng(1).normal(size=(NUM_EMBEDDINGS, len(WORDS), 3)).astype(np.float32)


@pytest.fixture
def measured(store, monkeypatch):
    """The row of a measure on an original and five replicas."""
    refs = []
    for number, vectors in enumerate(VECTORS):
        words = pa.array(WORDS)
        columns = [words, words, pa.array([1] * len(WORDS)), pa.array(vectors.tolist(), pa.list_(pa.float32(), 3))]
        table = pa.table(columns, ["word", "spelled", "count", "vector"])
        refs.append(store.commit(Unit("made/1", "made", {"number": number}), [("vectors", table)]).tables["vectors"])

    def measure(brought, version="", **settings):
        monkeypatch.setattr(measures.extensions, "_imported", lambda *_: brought)
        monkeypatch.setattr(measures.extensions, "entry_points", lambda **_: [_Point()])
        model, version = Vectors("small", "en", refs), version or brought.version
        how = {"query": "plants", "test": TEST, "settings": AssociationConfig(**settings), "seed": 0}
        rows = list(MeasureBias(label="ours", model=model, measure="ours", version=version, **how).rows(store))
        return rows[0] if len(rows) == 1 else rows

    return measure


class _Point:
    name, value = "ours", "ours:MEASURE"


def _first_coordinate(groups):
    return groups.x[:, :, 0].sum(axis=1) - 2 * groups.y[:, :, 0].sum(axis=1) + groups.a[:, 1, 2] * groups.b[:, 0, 1]


def test_a_measure_gets_the_vectors_of_every_replica_and_each_number_is_its_own(measured):
    row = measured(BiasMeasure("ours/1", "it leans", _first_coordinate, neutral=None))
    by_hand = [
        float(v[0, 0] + v[1, 0] - 2 * (v[2, 0] + v[3, 0]) + v[5, 2] * v[6, 1]) for v in VECTORS.astype(np.float64)
    ]
    cells = row.value.cells(next(column for column in row.columns if column.name == "value"))
    assert cells["value"] == pytest.approx(by_hand[0])
    assert row.value.resamples == pytest.approx(np.array(by_hand[1:]))
    assert (row.num_replicas, row.num_words, row.missing_words, row.neutral) == (5, 8, ["absent"], None)
    assert (row.status, row.larger) == ("ok", "it leans")


def test_words_that_are_too_few_have_no_number(measured):
    row = measured(BiasMeasure("ours/1", "it leans", _first_coordinate), min_share=0.9)
    assert (row.status, row.value, row.num_replicas) == ("too_few_words", None, 0)
    assert row.reason == "target_x (target_x) has 2 of its 3 words left, and needs 3"


def test_a_measure_without_a_number_for_the_original_says_so(measured):
    row = measured(BiasMeasure("ours/1", "it leans", lambda _: np.full(NUM_EMBEDDINGS, np.nan)))
    assert (row.status, row.num_replicas) == ("undefined", 0)


def test_one_number_for_all_embeddings_is_refused(measured):
    with pytest.raises(ValueError, match=r"measures=ours: gives numbers of shape \[\] for 6 embeddings, and must give"):
        measured(BiasMeasure("ours/1", "it leans", lambda groups: groups.x.mean()))


def test_a_measure_of_another_version_than_where_the_run_began_is_refused(measured):
    with pytest.raises(InputError, match="measures=ours: is ours/1 here, and ours/2 where the run began"):
        measured(BiasMeasure("ours/1", "it leans", _first_coordinate), version="ours/2")


def test_a_p_value_comes_of_the_null_hypothesis_that_a_measure_declares(measured):
    """Of the original alone: all six ways to deal two words to X and two to Y."""

    def difference(groups):
        return groups.x[:, :, 0].sum(axis=1) - groups.y[:, :, 0].sum(axis=1)

    row = measured(BiasMeasure("ours/1", "it leans", difference, null=Exchange("targets")))
    first = VECTORS[0, :4, 0].astype(np.float64)
    sums = [abs(2 * (first[i] + first[j]) - first.sum()) for i in range(4) for j in range(i)]
    observed = abs(first[:2].sum() - first[2:].sum())
    assert row.p_value == sum(other >= observed - 1e-9 for other in sums) / 6
    assert (row.null, row.p_method, row.num_partitions, row.p_max_t) == ("targets", "exact", 6, None)
    without = measured(BiasMeasure("ours/1", "it leans", difference))
    assert (without.null, without.p_value) == ("its package states no null hypothesis", None)


def test_a_measure_of_words_has_a_row_for_each_target(measured):
    def second(groups):
        return np.concatenate([groups.x, groups.y], axis=1)[:, :, 1]

    rows = measured(BiasMeasure("ours/1", "it leans", second, null=Exchange("attributes"), of_words=True))
    assert [row.word for row in rows] == ["rose", "tulip", "ant", "wasp"]
    cells = [row.value.cells(next(one for one in row.columns if one.name == "value")) for row in rows]
    assert [cell["value"] for cell in cells] == pytest.approx(VECTORS[0, :4, 1].tolist())
    assert {"low", "high", "value_shift"} <= cells[0].keys()
    assert [row.p_max_t for row in rows] == [1.0] * 4, "attributes play no part in it"
    with pytest.raises(ValueError, match="6 embeddings, and must give one for each and target"):
        measured(BiasMeasure("ours/1", "it leans", _first_coordinate, of_words=True))


def test_a_measure_that_takes_each_set_compares_targets_and_attributes_by_each_of_the_others(measured):
    def marked(groups):
        assert groups.b.shape[1] == 0
        return groups.x[:, 0, 0] + 10 * groups.y[:, 0, 0] + 100 * groups.a[:, 0, 0]

    rows = measured(BiasMeasure("ours/1", "it leans", marked, takes="each"))
    sides = [(row.groups, row.attributes) for row in rows]
    assert sides == [
        ("target_x, target_y", "attribute_a"),
        ("target_x, target_y", "attribute_b"),
        ("attribute_a, attribute_b", "target_x"),
        ("attribute_a, attribute_b", "target_y"),
    ]
    x, y, a, b = VECTORS[0, ::2, 0].astype(np.float64)
    by_hand = [x + 10 * y + 100 * a, x + 10 * y + 100 * b, a + 10 * b + 100 * x, a + 10 * b + 100 * y]
    values = [row.value.cells(next(one for one in row.columns if one.name == "value"))["value"] for row in rows]
    assert values == pytest.approx(by_hand, rel=1e-6)
    assert [row.missing_words for row in rows] == [["absent"], ["absent"], ["absent"], []]


PAIRED = Association(
    "pairs",
    NamedWords("x", ("rose", "lost", "tulip")),
    NamedWords("y", ("ant", "wasp", "gone")),
    NamedWords("a", ("love", "joy")),
    NamedWords("b", ("war",)),
)


def test_a_pair_of_which_a_word_is_lost_is_left_out_whole(measured, monkeypatch):
    """By position after lost words were dropped, tulip would be paired with wasp."""
    monkeypatch.setitem(globals(), "TEST", PAIRED)
    seen = []

    def pairs(groups):
        seen.append((groups.x[0, :, 0].tolist(), groups.y[0, :, 0].tolist()))
        return groups.x[:, :, 0].sum(axis=1)

    rows = measured(BiasMeasure("ours/1", "it leans", pairs, takes="each", in_pairs=True), min_words=1)
    assert seen[0] == ([float(VECTORS[0, 0, 0])], [float(VECTORS[0, 2, 0])])
    assert [row.status for row in rows] == ["ok", "ok", "no_pairs", "no_pairs"]
    assert rows[2].reason == "a has 2 words and b 1: a pair is what stands in one place of both"
    few = measured(BiasMeasure("ours/1", "it leans", pairs, takes="each", in_pairs=True), min_words=1, min_share=0.5)
    assert few[0].reason == "1 of 3 pairs of x and y are left, and 2 are needed"


def test_a_known_measure_needs_no_package_and_an_unknown_one_is_told_from_it():
    assert measures.find_measure("rnd").version == "rnd/1"
    assert measures.find_measure("ect").null == Exchange("targets", "less"), "halves that cohere more are no finding"
    with pytest.raises(InputError, match=r"measures=rnsd: no installed package brings it; there is .*rnsb"):
        measures.find_measure("rnsd")


# --- words of files ---------------------------------------------------------------------------------------------------


def _arranged(sides):
    composed = {
        "embedding": {"kind": "file"},
        "wordset": {"en": {"associations": {"made_up": sides}, "language": "en"}},
    }
    return AssociationRun.arranged(composed, [])["wordset"]["en"]["associations"]["made_up"]


def test_a_set_of_words_may_name_a_file_of_which_words_of_both_are_left_out(tmp_path):
    """As the opinion lexicon comes: lines about it, one in another encoding, a word twice, and words in both."""
    (tmp_path / "good.txt").write_text("; about\n;\n\nfine\n odd \na+\nfine\n")
    (tmp_path / "bad.txt").write_bytes("poor\nodd\nnaïve\n".encode("latin-1"))
    given = {"name": "x", "words": ["odd"]}
    sides = {"source": "made up", "target_x": given, "target_y": given}
    sides |= {f"attribute_{one}": {"name": one, "file": str(tmp_path / f"{file}.txt")} for one, file in FILES.items()}
    assert _arranged(sides) == {
        "source": "made up",
        "target_x": given,
        "target_y": given,
        "attribute_a": {"name": "a", "words": ["fine", "a+"]},
        "attribute_b": {"name": "b", "words": ["poor", "naïve"]},
    }


FILES = {"a": "good", "b": "bad"}


def test_a_file_of_words_that_is_not_there_or_has_none_is_refused(tmp_path):
    setting = "wordset.en.associations.made_up.target_x.file"
    with pytest.raises(ConfigError) as refused:
        _arranged({"target_x": {"name": "x", "file": f"{tmp_path}/none.txt"}})
    assert str(refused.value) == (f"{setting}={tmp_path}/none.txt: there is no such file; name one with a word a line")
    (tmp_path / "empty.txt").write_text("; about\n\n")
    with pytest.raises(ConfigError) as refused:
        _arranged({"target_x": {"name": "x", "file": f"{tmp_path}/empty.txt"}})
    assert str(refused.value) == f"{setting}={tmp_path}/empty.txt: has no word; it needs one a line"


def test_the_opinion_lexicon_has_its_published_sizes_but_for_words_of_both(data_file):
    files = {side: data_file(f"sentiment/huliu/{side}-words.txt") for side in ("positive", "negative")}
    sides = {
        f"attribute_{one}": {"name": one, "file": str(path)} for one, path in zip("ab", files.values(), strict=True)
    }
    positive, negative = (named["words"] for named in _arranged(sides).values())
    assert (len(positive), len(negative)) == (2006 - 3, 4783 - 3)
    assert {"a+", "abound"} <= {*positive}
    assert "naïve" in negative
