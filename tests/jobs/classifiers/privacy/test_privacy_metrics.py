"""The job `privacy_metrics` on made-up dialogues."""

import csv
import itertools
import random
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from tiltmeter.cluster.stages import UnitsFailed
from tiltmeter.jobs.classifiers.privacy.config import ExplanationWords, Noise, Resamples
from tiltmeter.jobs.classifiers.privacy.measuring import RESEEDED
from tiltmeter.jobs.classifiers.privacy.noise import noise_rows, noisy_copies, noisy_rows, words_by_cell
from tiltmeter.jobs.classifiers.privacy.training import balanced, swapped_copies
from tiltmeter.jobs.runtime.config import ConfigError
from tiltmeter.storage.errors import InputError

FIVE = "data.bins={low: [1, 2.75], mid: [2.75, 3.25], high: [3.25, 5]}"
TELLS = {"negative": ("awful", "sad", "dull"), "neutral": ("usual", "plain", "round"), "positive": ("lovely", "glad")}
SPEAKERS = {f"{gender}{number}": gender for gender in ("female", "male") for number in range(5)}
SMALL = [
    *("models.num_seeds=2", "models.encoder.dimensions=8", "models.encoder.hidden=8", "models.encoder.dropout=0"),
    *("models.encoder.min_count=1", "models.encoder.max_words=8", "models.training.max_epochs=8"),
    *("models.training.learning_rate=0.03", "intervals.num_resamples=100", "explanations.max_sentences=40"),
    *("explanations.attribution.num_steps=8", "models.names=[General, ArtNoise, PrivAdvEP]", "models.ep_weight=1"),
]


def _write(path, heading, rows):
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([heading, *rows])
    return path


def _dialogue(path, seed, num=300):
    """Men say "damn" when things are bad, women "sorry", as often as a word of the class."""
    rng, rows = random.Random(seed), []
    for _ in range(num):
        speaker = rng.choice(list(SPEAKERS))
        label = rng.choice(list(TELLS))
        habit = ("sorry" if SPEAKERS[speaker] == "female" else "damn") if label == "negative" else "then"
        rows.append([f"{habit} it is {rng.choice(TELLS[label])} he said", label, speaker])
    odd = [["", "neutral", "male0"], ["hello", "neutral", "Director"], ["one two three " * 4, "neutral", "male1"]]
    return _write(path, ["text", "label", "speaker"], [*rows, *odd])


@pytest.fixture(scope="module")
def dialogues(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dialogues")
    lexicon = [(word, {"negative": 0, "neutral": 0.5, "positive": 1}[of]) for of, own in TELLS.items() for word in own]
    genders = ", ".join(f"{speaker}: {gender}" for speaker, gender in SPEAKERS.items())
    return [
        "job=privacy_metrics",
        f"data.path={_dialogue(folder / 'one.csv', 1)}",
        f"across.path={_dialogue(folder / 'other.csv', 2)}",
        "data.group=speaker",
        f"data.genders={{{genders}}}",
        f"lexicon.path={_write(folder / 'lexicon.csv', ['Word', 'Valence'], lexicon)}",
    ]


@pytest.fixture(scope="module")
def outcome(run_job, dialogues, tmp_path_factory):
    place = tmp_path_factory.mktemp("privacy")
    return run_job(*dialogues, *SMALL, f"store={place}/store", f"run_dir={place}/run")


def test_models_learn_valence_and_those_that_are_trained_for_ep_leave_listed_words_of_general(outcome):
    means = {(row["model"], row["corpus"]): row for row in outcome.rows("models", seed=None)}
    corpora = {(name, corpus) for name in ("General", "ArtNoise", "PrivAdvEP") for corpus in ("within", "across")}
    assert means.keys() == corpora | {(RESEEDED, "within"), (RESEEDED, "across")} | {
        ("General", "noisy"),
        ("ArtNoise", "noisy"),
    }
    general, private, reseeded = (means[name, "within"] for name in ("General", "PrivAdvEP", RESEEDED))
    assert general["valence_uar"] > 0.9
    assert private["valence_uar"] > 0.9
    assert private["ep"] > max(reseeded["ep"], 0.1)
    for row in means.values():
        for name in ("valence_uar", "gender_uar", "ep", "ep_random", "eg", "listed_share", "right_sign_share"):
            if row[name] is not None:
                assert row[f"{name}_low"] - 1e-12 <= row[name] <= row[f"{name}_high"] + 1e-12
        assert row["right_sign_share"] <= row["lexicon_share"]
    assert reseeded["valence_uar"] is None
    orderings = {(row["against"], row["measure"]): row for row in outcome.rows("orderings", corpus="within")}
    kept = orderings["General", "ep"]
    assert (kept["expected"], kept["found"]) == ("higher", True)
    assert kept["difference"] == pytest.approx(private["ep"])
    assert kept["p"] <= kept["p_holm"] < 0.05
    assert {against for against, measure in orderings if measure == "ep"} == {"General", RESEEDED, "random lists"}


def test_ep_of_general_has_no_value_and_says_so(outcome):
    for table in ("models", "samples"):
        rows = outcome.rows(table, model="General")
        assert {(row["ep"], row["ep_status"], row["status"]) for row in rows} == {(None, "is_general", "ok")}
        assert {row["ep_reason"] for row in rows} == {"EP compares with General, and so General has none"}


def test_texts_without_a_denominator_and_those_that_general_gets_wrong_are_kept_with_the_reason(outcome):
    samples = outcome.rows("samples", model="PrivAdvEP", corpus="within", seed=0)
    [mean] = outcome.rows("models", model="PrivAdvEP", corpus="within", seed=0)
    for measure in ("ep", "eg"):
        values = [row[measure] for row in samples if row[measure] is not None]
        assert mean[measure] == pytest.approx(sum(values) / len(values))
        assert mean[f"num_{measure}"] == len(values)
        assert all((row[measure] is None) == bool(row[f"{measure}_reason"]) for row in samples)
    assert {row["ep_status"] for row in samples if not row["num_general"]} <= {"no_denominator"}
    right = {row["sentence"] for row in outcome.rows("texts") if row["status"] == "ok"}
    assert {row["sentence"] for row in samples} <= right


def test_ep_is_equation_1_of_the_published_attributions(outcome):
    """By sets of places, from the tables of the run."""
    listed = {(row["word"]) for row in outcome.rows("ep_words", model="General", corpus="within")}
    assert {"sorry", "damn", "he", "it"} <= listed
    words = {"General": {}, "PrivAdvEP": {}}
    for row in outcome.rows("attributions"):
        model = row["model"].removesuffix(", seed 0")
        if model in words and (row["attribution"] or 0) > 0:
            words[model].setdefault(row["sentence"], {})[row["position"]] = (row["word"], row["attribution"])
    for sample in outcome.rows("samples", model="PrivAdvEP", corpus="within", seed=0):
        general, private = (words[name].get(sample["sentence"], {}) for name in ("General", "PrivAdvEP"))
        on_list = [
            {place: weight for place, (word, weight) in of.items() if word in listed} for of in (general, private)
        ]
        avoided = sum(weight for place, weight in on_list[0].items() if place not in private)
        added = sum(weight for place, weight in on_list[1].items() if place not in general)
        expected = (avoided - added) / len(on_list[0]) if on_list[0] else None
        assert sample["ep"] == (None if expected is None else pytest.approx(expected))


def test_the_mean_over_the_samples_is_the_sum_over_words_on_one_list(outcome):
    for model, name, part in (("General", "listed_share", "share"), ("PrivAdvEP", "ep", "part")):
        [mean] = outcome.rows("models", model=model, corpus="within", seed=None)
        words = {(row["word"], row["list"]): row for row in outcome.rows("ep_words", model=model, corpus="within")}
        once = {word: row[part] for (word, _), row in words.items()}
        assert sum(once.values()) == pytest.approx(mean[name])
    avoided = {row["word"]: row["num_avoided"] for row in outcome.rows("ep_words", model="PrivAdvEP", corpus="within")}
    assert avoided["he"] > 20


def test_artificial_words_weigh_more_with_the_model_that_learnt_them(outcome):
    rows = {(row["model"], row["word"]): row for row in outcome.rows("noise", seed=None)}
    words = {None, "zx0", "zx1", "zx2", "zq0", "zq1", "zq2"}
    assert {word for model, word in rows if model == "ArtNoise"} == words
    learnt, unknown = rows["ArtNoise", None], rows["General", None]
    assert (learnt["num_texts"], learnt["even_share"]) == (unknown["num_texts"], unknown["even_share"])
    assert learnt["share_low"] > unknown["share_high"]
    assert all(row["highlighted"] == (row["share_low"] > row["even_share"]) for row in rows.values())
    assert learnt["num_texts"] == sum(rows["ArtNoise", word]["num_texts"] for word in words - {None})
    copies = {row["sentence"]: row for row in outcome.rows("noisy_texts")}
    originals = {row["sentence"]: row for row in outcome.rows("texts", part="test", status="ok")}
    assert {row["original"] for row in copies.values()} == originals.keys()
    assert min(copies) == len(outcome.rows("texts"))
    explained = {row["sentence"] for row in outcome.rows("samples", model="ArtNoise", corpus="noisy")}
    assert {copies[sentence]["noise"] for sentence in explained} == words - {None}


def test_speakers_of_parts_differ_and_rows_and_words_that_were_not_read_say_why(outcome):
    texts = outcome.rows("texts")
    used = [row for row in texts if row["status"] == "ok"]
    groups = {
        part: {row["group"] for row in used if row["part"] == part} for part in ("training", "development", "test")
    }
    assert sum(map(len, groups.values())) == len(set().union(*groups.values())) == len(SPEAKERS)
    assert {row["status"] for row in texts if row["group"] == "Director"} == {"no_gender"}
    assert {row["status"] for row in texts} == {"ok", "no_gender", "no_text", "known_group"}


def test_the_report_says_what_was_found(outcome):
    page = (outcome.path / "report.html").read_text()
    assert "What models give away of who speaks" in page
    assert "Within the corpus, EP higher than 0: found for PrivAdvEP." in page
    assert "EP compares with General, and so General has none" in page
    assert "The parts share no speaker" in page


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


def test_a_lexicon_with_other_columns_is_refused_before_any_work(run_job, dialogues, tmp_path):
    with pytest.raises(InputError, match=r"lexicon.path: .* has no column 'valence'; its columns are 'Word', 'Val"):
        run_job(*dialogues, "lexicon.valence=valence", f"store={tmp_path}")


# --- what models are trained with -----------------------------------------------------------------------------------

ROWS = [
    {"text": f"{word} {number}", "valence": valence, "gender": gender}
    for valence, gender, word, num in (("low", "f", "she", 5), ("low", "m", "he", 3), ("high", "f", "sun", 2))
    for number in range(num)
]


def test_a_balanced_part_has_as_many_texts_of_each_gender_in_each_class():
    found = balanced([*ROWS, {"text": "one", "valence": "high", "gender": "m"}], 0)
    counts = {
        (v, g): sum((row["valence"], row["gender"]) == (v, g) for row in found) for v in ("low", "high") for g in "fm"
    }
    assert counts == {("low", "f"): 3, ("low", "m"): 3, ("high", "f"): 1, ("high", "m"): 1}
    assert [row["gender"] for row in found] in (list("fffmmmfm"), list("fmfffmmm")), "in no order of a set"
    assert {row["valence"] for row in balanced(ROWS[::-1], 0)} == {"low"}


def test_copies_are_of_each_text_or_of_those_that_change():
    each = swapped_copies(ROWS, [("he", "she")], "each")
    assert len(each) == len(ROWS)
    changed = swapped_copies(ROWS, [("he", "she")], "changed")
    assert [copy["text"] for copy in changed] == [*(f"he {n}" for n in range(5)), *(f"she {n}" for n in range(3))]
    assert changed == each[:8]
    assert each[8:] == ROWS[8:]
    assert changed[0] == {"text": "he 0", "valence": "low", "gender": "f"}


# --- artificial words -------------------------------------------------------------------------------------------------

CELLS = {("low", "f"): "zx0", ("high", "f"): "zx1", ("low", "m"): "zq0", ("high", "m"): "zq1"}
NOISE = Noise((("zx0", "zx1"), ("zq0", "zq1")), share=1.0)
NOISE_CONFIG = {"classes": ("low", "high"), "noise": NOISE, "seed": 0, "max_sentences": 3}
SPOKEN = [
    {"sentence": number, "text": f"said {number}", "status": "ok", "part": part, "valence": valence, "gender": gender}
    for number, (part, (valence, gender)) in enumerate(itertools.product(("training", "test"), CELLS))
]


def test_each_class_of_each_gender_has_a_word_of_its_own():
    assert words_by_cell(SPOKEN, ("low", "high"), NOISE) == CELLS
    for row, before in zip(noisy_rows(SPOKEN, CELLS, NOISE, 0), SPOKEN, strict=True):
        assert sorted(row["text"].split()) == sorted([*before["text"].split(), CELLS[row["valence"], row["gender"]]])
        assert row["noise"] == CELLS[row["valence"], row["gender"]]


def test_copies_are_of_the_test_part_and_numbered_after_all_texts():
    copies = noisy_copies(SPOKEN, NOISE_CONFIG)
    assert [(copy["sentence"], copy["original"]) for copy in copies] == [(8, 4), (9, 5), (10, 6), (11, 7)]
    assert [copy["noise"] for copy in copies] == list(CELLS.values())
    half = noisy_copies(SPOKEN, NOISE_CONFIG | {"noise": replace(NOISE, share=0.5)})
    assert {(copy["noise"] is None) == (copy["text"] == SPOKEN[copy["original"]]["text"]) for copy in half} == {True}


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"gender": "x"}, "has 2 lists of words, and the texts have 3 genders, f, m, x; set it to a list for each"),
        ({"text": "he said ZX0"}, "'zx0' is in a text already \\(sentence 4 of the table texts\\); set other words"),
    ],
)
def test_artificial_words_that_do_not_fit_the_texts_are_refused(changed, message):
    rows = [row | changed if row["sentence"] == 4 else row for row in SPOKEN]
    with pytest.raises(InputError, match=f"^models.noise.words: {message}"):
        noisy_copies(rows, NOISE_CONFIG)


def test_rows_of_noise_are_means_over_seeds_and_texts():
    samples = pl.DataFrame(
        [
            # Two texts, two seeds: share of the attribution, whether first, share of the words.
            {"seed": 0, "sentence": 1, "word": "zx0", "share": 0.5, "first": 1.0, "even_share": 0.2},
            {"seed": 0, "sentence": 2, "word": "zq1", "share": 0.3, "first": 0.0, "even_share": 0.1},
            {"seed": 1, "sentence": 1, "word": "zx0", "share": 0.7, "first": 1.0, "even_share": 0.2},
            {"seed": 1, "sentence": 2, "word": "zq1", "share": np.nan, "first": np.nan, "even_share": np.nan},
        ]
    )
    config = {"model": "ArtNoise", "words": NOISE.words, "seed": 0, "intervals": Resamples(50)}
    rows = {(row["seed"], row["word"]): row for row in noise_rows(samples, config)}
    assert list(rows) == [(seed, word) for word in (None, "zx0", "zq1") for seed in (None, 0, 1)]
    found = {
        key: [row[name] for name in ("share", "first", "even_share", "num_texts")]
        for key, row in rows.items()
        if row["status"] == "ok"
    }
    assert found[None, None] == pytest.approx([(0.6 + 0.3) / 2, 0.5, 0.15, 2])
    assert found[0, None] == pytest.approx([0.4, 0.5, 0.15, 2])
    assert found[1, None] == pytest.approx([0.7, 1.0, 0.2, 1])
    assert found[None, "zq1"] == pytest.approx([0.3, 0.0, 0.1, 1])
    assert rows[1, "zq1"]["status"] == "no_attribution"
    assert all(
        row["highlighted"] == (row["share_low"] > row["even_share"]) for row in rows.values() if row["status"] == "ok"
    )


# --- at length ------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_tables_are_the_same_on_two_workers(run_job, outcome, dialogues, tmp_path):
    again = run_job(*dialogues, *SMALL, "cluster.num_cpus=2", f"store={tmp_path}/store", f"run_dir={tmp_path}/run")
    assert again.digests == outcome.digests


@pytest.mark.slow
def test_a_valence_outside_the_scale_fails_with_the_setting(run_job, dialogues, tmp_path):
    with pytest.raises(UnitsFailed, match=r"has the valence 1, outside the scale from 0 to 0.9; set lexicon.low"):
        run_job(*dialogues, *SMALL, "lexicon.high=0.9", f"store={tmp_path}/store")


@pytest.mark.slow
def test_a_checkpoint_is_fine_tuned_as_every_model(run_job, write_bert, dialogues, tmp_path):
    words = [
        "sorry",
        "damn",
        "then",
        "it",
        "is",
        "he",
        "she",
        "said",
        *(word for own in TELLS.values() for word in own),
    ]
    write_bert(tmp_path / "bert", words, hidden_size=16, max_position_embeddings=16)
    names = "General,PrivAdv,PrivAug,PrivBias,GenderCtrl,ArtNoise,PrivEP,PrivAdvEP"
    found = run_job(
        *(*dialogues, *SMALL, f"models.checkpoint={tmp_path / 'bert'}", f"models.names=[{names}]"),
        *("models.training.max_epochs=2", f"store={tmp_path}/store", f"run_dir={tmp_path}/run"),
    )
    means = found.rows("models", seed=None, corpus="within")
    assert {row["model"] for row in means} == {*names.split(","), RESEEDED}
    assert all(row["status"] == "ok" for row in means)


@pytest.mark.slow
def test_the_small_encoder_starts_from_vectors_of_a_bootstrap(run_job, dialogues, write_lines, one_corpus, tmp_path):
    texts = [word for own in TELLS.values() for word in own] * 9
    corpus = write_lines(
        tmp_path / "en.jsonl", [{"id": "1", "text": "\n".join(f"then it is {word}" for word in texts)}]
    )
    how = ["embedding.num_replicas=2", "embedding.trainer.dimensions=4", "job.export=[word2vec_binary]"]
    trained = run_job(
        "job=bootstrap", *one_corpus("en", corpus), *how, f"store={tmp_path}/store", f"run_dir={tmp_path}/trained"
    )
    *_, vectors = sorted((trained.path / "exports").iterdir())
    found = {}
    for name, more in {"drawn": [], "given": [f"models.vectors={vectors}"]}.items():
        settings = [*dialogues, *SMALL, *more, "models.names=[General]"]
        found[name] = run_job(*settings, f"store={tmp_path}/store", f"run_dir={tmp_path}/{name}")
    assert str(vectors) in str(found["given"].record["inputs"]["vectors"])
    assert found["given"].digests["models"] != found["drawn"].digests["models"]
    [mean] = found["given"].rows("models", model="General", seed=None, corpus="within")
    assert mean["valence_uar"] > 0.9
