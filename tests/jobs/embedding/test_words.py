"""Words of the lists in the text: phrases, capitals, spellings, the absent ones; and scripts without spaces."""

import polars as pl
import pytest

from tiltmeter.jobs.embedding.config import WordSetError
from tiltmeter.jobs.embedding.corpora import check_segmented
from tiltmeter.jobs.embedding.sources import find_text
from tiltmeter.storage.corpora.corpora import CorpusConfig

TINY = [
    "job=bootstrap",
    "embedding.num_replicas=2",
    "embedding.min_count=2",
    "embedding.trainer={dimensions: 4, epochs: 1}",
]
TEXTS = {
    "wo": ["Am na benn Doom ju jigéen, doom ju góor ak Yaay.", "Doom ju jigéen ji am na doom.", "Doom ju Jigéen."],
    "ar": ["رأى عَالِم الفَلَك نجما", "عالم الفلك في المدينة", "قال عالم إن الفلك بعيد", "رأى نجما في المدينة"],
    "de": ["Die Frau sah den Mann und den Mann.", "Die Frau und das Mädchen.", "Das Mädchen sah die Mutter."],
    # The lists have Farsi's kaf and yeh, in ملکه and in آقای; the first line has the Arabic ones.
    "fa": ["ملكه و آقاي شهر", "ملکه و آقای شهر", "زن و مرد شهر"],
}
FILLER = ["x y z", "z y", "y x"] * 8  # lines that are lost from a replica leave others
SIR = "wordset.fa.gender_survey.defining.madam-sir.masculine='آقای'"
DEFINING, PROFESSIONS = "gender_survey.defining", "gender_survey.professions"


@pytest.fixture(scope="module")
def folded(run_here, write_lines, several_corpora, tmp_path_factory):
    """Rows of the table `vocabulary` by language and word, and the words with a vector, with and without folding."""
    folder = tmp_path_factory.mktemp("words")
    files = {
        code: write_lines(folder / f"{code}.jsonl", [{"id": "1", "text": "\n".join(lines + FILLER)}])
        for code, lines in TEXTS.items()
    }

    def run(fold_case):
        arguments = [*several_corpora(files), *TINY, SIR, f"embedding.fold_case={fold_case}"]
        done = run_here(*arguments, f"store={folder}/store")
        rows = {
            (row.pop("corpus"), row.pop("word")): row for row in done.table("vocabulary").drop("language").to_pylist()
        }
        vectors = {
            (code, row["word"]): row["vector"]
            for code in files
            for row in done.parts(code)[f"{code}_replica_0000.parquet"].to_pylist()
        }
        return rows, vectors

    return {fold_case: run(fold_case) for fold_case in (True, False)}


def listed(count, status, name=DEFINING):
    return {"count": count, "lists": [name], "status": status}


LISTED = {
    ("wo", "doom ju jigéen"): listed(3, "ok"),
    ("wo", "yaay"): listed(1, "too_rare"),
    ("wo", "doom ju góor"): listed(1, "too_rare"),
    ("wo", "xale bu góor"): listed(0, "absent"),
    ("ar", "عالم الفلك"): listed(2, "ok", PROFESSIONS),
    ("ar", "عالمة الفلك"): listed(0, "absent", PROFESSIONS),
    ("de", "frau"): listed(2, "ok"),
    ("de", "mann"): listed(2, "ok"),
    ("de", "mutter"): listed(1, "too_rare"),
    ("de", "königin"): listed(0, "absent"),
    ("fa", "ملکه"): listed(2, "ok"),
    ("fa", "آقای"): listed(2, "ok"),
    ("fa", "زن"): listed(1, "too_rare"),
}


@pytest.mark.once("bootstrap")
def test_listed_words_without_a_vector_keep_a_row_that_says_why_and_a_phrase_is_one_word(folded):
    rows, vectors = folded[True]
    assert {key: rows[key] for key in LISTED} == LISTED
    assert vectors.keys() == {key for key, row in rows.items() if row["status"] == "ok"}
    assert {len(vector) for vector in vectors.values() if vector} == {4}
    unlisted = [row for row in rows.values() if not row["lists"]]
    assert unlisted
    assert all(row["status"] == "ok" and row["count"] >= 2 for row in unlisted)
    for language, word in (("wo", "doom ju jigéen"), ("ar", "عالم الفلك")):
        assert not [part for part in word.split() if (language, part) in vectors], "each less than twice on its own"
    assert not [word for language, word in rows if language == "fa" and set(word) & set("كي")], "the list's letters"


@pytest.mark.parametrize(("fold_case", "words"), [(True, ("frau", "mann")), (False, ("Frau", "Mann"))])
def test_german_nouns_are_found_whether_case_is_folded_or_not(folded, fold_case, words):
    rows, vectors = folded[fold_case]
    assert [rows["de", word] for word in words] == [listed(2, "ok")] * 2
    assert vectors.keys() >= {("de", word) for word in words}
    assert {word for language, word in rows if language == "de" and word.lower() in ("frau", "mann")} == set(words)


@pytest.mark.parametrize("language", ["th", "ja", "km"])
def test_a_language_without_spaces_is_refused_before_files_are_looked_for(language, tmp_path):
    corpus = CorpusConfig("mine", language, f"{tmp_path}/none.txt", "text")
    with pytest.raises(WordSetError, match=rf"corpus\.language={language}, of mine: .* -spaced to the code"):
        find_text(corpus, None, fold_case=True, store=str(tmp_path))


def test_characters_without_spaces_are_refused_under_another_language():
    counted = pl.DataFrame({"word": ["ก", "ที่", "nurse"], "count": [20, 20, 60]})
    with pytest.raises(ValueError, match=r"corpus mine: 40% of its words .* corpus\.language=en has no dictionary"):
        check_segmented(counted, "mine", "en")
    check_segmented(counted.with_columns(count=pl.Series([10, 10, 80])), "mine", "en")


def test_a_slice_is_asked_for_in_any_form(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"id": 1, "text": "a b", "source": "caf\u00e9"}\n')
    corpus = CorpusConfig("mine", "en", f"{tmp_path}/a.jsonl", "jsonl", slices="source", slice_values=("cafe\u0301",))
    slicing = find_text(corpus, None, fold_case=True, store=str(tmp_path)).slicing
    assert slicing is not None
    assert slicing.values == slicing.names("café") == ("café",)
