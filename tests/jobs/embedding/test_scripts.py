"""A script without spaces makes no vocabulary of characters."""

import polars as pl
import pytest

from tiltmeter.jobs.embedding.config import WordSetError
from tiltmeter.jobs.embedding.corpora import check_segmented
from tiltmeter.jobs.embedding.sources import find_text
from tiltmeter.storage.corpora.corpora import CorpusConfig


@pytest.mark.parametrize("language", ["th", "ja", "km"])
def test_its_language_is_refused_before_files_are_looked_for(language, tmp_path):
    corpus = CorpusConfig("mine", language, f"{tmp_path}/none.txt", "text")
    with pytest.raises(WordSetError, match=rf"corpus\.language={language}, of mine: .* -spaced to the code"):
        find_text(corpus, None, fold_case=True, store=str(tmp_path))


def test_its_characters_are_refused_under_another_language():
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
