"""Words of the lists in the text: phrases, capitals, spellings; and what becomes of the absent ones."""

import pytest

from tests.jobs.embedding.tiny import BOOTSTRAP

TINY = [*BOOTSTRAP, "embedding.trainer.epochs=1"]
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


@pytest.mark.parametrize(
    ("language", "word", "count", "name"),
    [("wo", "doom ju jigéen", 3, DEFINING), ("ar", "عالم الفلك", 2, PROFESSIONS)],
)
def test_a_phrase_is_counted_and_gets_a_vector_as_one_word(folded, language, word, count, name):
    rows, vectors = folded[True]
    assert rows[language, word] == listed(count, "ok", name)
    assert len(vectors[language, word]) == 4
    for part in word.split():
        assert (language, part) not in vectors, "occurs less than twice on its own"


@pytest.mark.parametrize(("fold_case", "words"), [(True, ("frau", "mann")), (False, ("Frau", "Mann"))])
def test_german_nouns_are_found_whether_case_is_folded_or_not(folded, fold_case, words):
    rows, vectors = folded[fold_case]
    for word in words:
        assert rows["de", word] == listed(2, "ok")
        assert ("de", word) in vectors
    spellings = {word for language, word in rows if language == "de" and word.lower() in ("frau", "mann")}
    assert spellings == set(words)


def test_both_spellings_of_farsi_letters_are_the_list_s(folded):
    rows, vectors = folded[True]
    for word in ("ملکه", "آقای"):
        assert rows["fa", word] == listed(2, "ok")
        assert ("fa", word) in vectors
    assert not [word for language, word in rows if language == "fa" and set(word) & set("كي")]


def test_listed_words_without_a_vector_keep_a_row_that_says_why(folded):
    rows, vectors = folded[True]
    expected = {
        ("wo", "yaay"): listed(1, "too_rare"),
        ("wo", "doom ju góor"): listed(1, "too_rare"),
        ("wo", "xale bu góor"): listed(0, "absent"),
        ("ar", "عالمة الفلك"): listed(0, "absent", PROFESSIONS),
        ("de", "mutter"): listed(1, "too_rare"),
        ("de", "königin"): listed(0, "absent"),
        ("fa", "زن"): listed(1, "too_rare"),
    }
    assert {key: rows[key] for key in expected} == expected
    assert vectors.keys() == {key for key, row in rows.items() if row["status"] == "ok"}
    unlisted = [row for row in rows.values() if not row["lists"]]
    assert unlisted
    assert all(row["status"] == "ok" and row["count"] >= 2 for row in unlisted)
