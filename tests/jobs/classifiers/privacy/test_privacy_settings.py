"""Which settings fit together, and what other corpora take over from the data."""

import pytest

from tiltmeter.jobs.classifiers.privacy.config import ExplanationWords
from tiltmeter.jobs.runtime.config import ConfigError
from tiltmeter.storage.errors import InputError

FIVE = "data.bins={low: [1, 2.75], mid: [2.75, 3.25], high: [3.25, 5]}"


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (["data.genders=null"], "data.gender: nothing says who is of which gender"),
        (["classes=[low, high]"], "models.noise.words: must have a list for each gender, of 2 words, one for each"),
        (["models.noise.words=[[zq0, zx0], [zq1, zx1], [zq2, zx2]]"], "a list for each gender, of 3 words"),
        (["models.noise.words=[[zq0, zq1, zq2], [zx0, zx1, zq2]]"], "models.noise.words.*'zq2'.*listed more than once"),
        (["data.valence={sad: down}"], "data.valence: 'down' is no class"),
        (["data.bins={low: [1, 3], mid: [2, 4], high: [4, 5]}"], "data.bins: low and mid overlap from 2 to 3"),
        (["data.bins={low: [1, 3], high: [3, 5]}"], "data.bins: has low, high; must have the classes in their order"),
        (["across.bins={high: [1, 2], mid: [2, 4], low: [4, 5]}"], "across.bins: has high, mid, low; must have"),
        (["data.bins={low: [1, 2], mid: [2, 4], high: [4, x]}"], "data.bins.high"),
        ([FIVE, "data.valence={sad: low}"], "data.valence: is for labels that are names, data.bins for ratings"),
        (["explanations.listed=[insults]"], "explanations.listed: there is no list 'insults'"),
        (["intervals.interval=percentile"], "percentile: must be averaged or centred with data.group: of few groups"),
        (["splits.test=0.9"], "splits.development and splits.test add up"),
        (["models.vectors=x", "models.checkpoint=y"], "models.vectors=x: a checkpoint has its own"),
        (["lexicon.low=1"], "lexicon.low=1: must be less than"),
        (["lexicon.bins=[0.6, 0.4]"], r"lexicon.bins=\[0.6, 0.4\]: must rise between lexicon.low=0 and lexicon.high=1"),
        (["lexicon.bins=[0.5]"], r"lexicon.bins=\[0.5\]: must have 2 items, one fewer than classes"),
        (["models.names=[PrivAdvEP]"], "PrivAdvEP is trained for EP, which compares with General; add General"),
        (["explanations.metrics.scale=count"], "explanations.metrics.scale=count: has no gradient"),
        (["explanations.metrics.threshold=2"], "explanations.metrics.threshold"),
        (["explanation_words.swaps.pronouns=[[he, she], [him, she]]"], "'she' is in two pairs"),
        (["models.augmentation.swaps=[verbs]"], "models.augmentation.swaps: there is no list 'verbs'; lists are pro"),
        (["models.augmentation.copies=all"], "models.augmentation.copies=all: must be each or changed"),
        (["models.names=[General, Generic]"], "models.names.*Generic"),
    ],
)
def test_settings_that_do_not_fit_are_refused(configured, dialogues, wrong, message):
    with pytest.raises(ConfigError, match=message):
        configured(*dialogues, *wrong)


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


def test_what_another_corpus_does_not_say_is_as_in_the_data(configured, dialogues):
    bins = "across.bins={low: [1, 2], mid: [2, 4], high: [4, 5]}"
    corpora = configured(*dialogues, "data.valence={sad: low}", "data.limit=9", "across.text=said", bins).corpora
    assert list(corpora) == ["data", "across"]
    across, data = corpora["across"], corpora["data"]
    assert (across.text, across.label, across.group, across.genders) == ("said", "label", data.group, data.genders)
    assert (across.limit, across.valence, across.bins["mid"]) == (None, None, (2, 4))
    assert (data.text, data.bins, data.valence) == ("text", None, {"sad": "low"})


def test_a_lexicon_with_other_columns_is_refused_before_any_work(run_here, dialogues, tmp_path):
    with pytest.raises(InputError, match=r"lexicon.path: .* has no column 'valence'; its columns are 'Word', 'Val"):
        run_here(*dialogues, "lexicon.valence=valence", f"store={tmp_path}")
