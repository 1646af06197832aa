"""Which settings fit together, and what other corpora take over from the data."""

import pytest

from tiltmeter.jobs.classifiers.privacy.config import ExplanationWords
from tiltmeter.storage.errors import InputError


def test_pairs_without_a_name_are_refused():
    with pytest.raises(
        ValueError, match=r"pairs stand in lists with a name: set it as in 'explanation_words.swaps={mine"
    ):
        ExplanationWords(lists={"politeness": ("please",)}, swaps=[["he", "she"]])


# --- corpora ---------------------------------------------------------------------------------------------------------


def test_corpora_of_the_paper_come_with_their_columns_scales_and_genders(configured):
    words = ["+spoken@data=iemocap", "+spoken@across=muse", "+spoken@unbiased=msp_improv"]
    paths = [f"{name}.path={name}.csv" for name in ("data", "across", "unbiased")]
    config = configured("job=privacy_metrics", *words, *paths, "across.label=muse_valence")
    corpora = config.corpora
    assert [corpora[name].path for name in ("data", "across", "unbiased")] == ["data.csv", "across.csv", "unbiased.csv"]
    assert (
        corpora["data"].bins == corpora["unbiased"].bins == {"low": (1, 2.75), "mid": (2.75, 3.25), "high": (3.25, 5)}
    )
    assert corpora["across"].bins == {"low": (1, 3.75), "mid": (3.75, 4.25), "high": (4.25, 9)}
    assert (corpora["data"].label, corpora["across"].label) == ("valence", "muse_valence")
    assert {data.gender for data in corpora.values()} == {"gender"}
    assert all(data.gender_codes == {"F": "female", "M": "male"} for data in corpora.values())


def test_a_lexicon_with_other_columns_is_refused_before_any_work(run_here, dialogues, tmp_path):
    with pytest.raises(InputError, match=r"lexicon.path: .* has no column 'valence'; its columns are 'Word', 'Val"):
        run_here(*dialogues, "lexicon.valence=valence", f"store={tmp_path}")


def test_a_lexicon_of_another_scale_is_refused_before_any_work(run_here, dialogues, tmp_path):
    rows = "".join(f"w{number},{number / 20}\n" for number in range(21))
    (tmp_path / "words.csv").write_text(f"Word,Valence\n{rows}")
    settings = [f"lexicon.path={tmp_path}/words.csv", "lexicon.high=0.45", f"store={tmp_path}/store"]
    with pytest.raises(InputError, match=r"11 of 21 records are bad .* no valence from 0 to 0.45, as lexicon.low and"):
        run_here(*dialogues, *settings)
