"""The job `privacy_metrics` on made-up dialogues."""

import csv
import random

import pytest

from tiltmeter.cluster.stages import UnitsFailed
from tiltmeter.jobs.classifiers.privacy.training import balanced, noisy, swapped_copies
from tiltmeter.jobs.runtime.config import ConfigError
from tiltmeter.storage.errors import InputError

TELLS = {"negative": ("awful", "sad", "dull"), "neutral": ("usual", "plain", "round"), "positive": ("lovely", "glad")}
SPEAKERS = {f"{gender}{number}": gender for gender in ("female", "male") for number in range(5)}
SMALL = [
    *("models.num_seeds=1", "models.encoder.dimensions=8", "models.encoder.hidden=8", "models.encoder.dropout=0"),
    *("models.encoder.min_count=1", "models.encoder.max_words=8", "models.training.max_epochs=8"),
    *("models.training.learning_rate=0.03", "intervals.num_resamples=100", "explanations.max_sentences=40"),
    *("explanations.attribution.num_steps=8", "models.names=[General, PrivAdvEP]", "models.ep_weight=3"),
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


def test_models_learn_valence_and_those_that_minimise_ep_leave_the_listed_words(outcome):
    means = {(row["model"], row["corpus"]): row for row in outcome.rows("models", seed=None)}
    assert len(means) == 2 * 2
    general, private = (means[name, "within"] for name in ("General", "PrivAdvEP"))
    assert general["valence_uar"] > 0.9
    assert private["ep"] < general["ep"] / 2
    for row in means.values():
        for name in ("valence_uar", "gender_uar", "ep", "eg"):
            assert 0 <= row[f"{name}_low"] <= row[name] <= row[f"{name}_high"] <= 1
        assert row["eg"] <= row["lexicon_share"]
    [kept] = outcome.rows("orderings", model="PrivAdvEP", measure="ep", corpus="within")
    assert (kept["expected"], kept["found"]) == ("lower", True)
    assert kept["difference"] == pytest.approx(private["ep"] - general["ep"])


def test_ep_is_the_mean_over_the_samples_and_the_sum_over_words_on_one_list(outcome):
    samples = outcome.rows("samples", model="General", corpus="within")
    [mean] = outcome.rows("models", model="General", corpus="within", seed=0)
    assert mean["ep"] == pytest.approx(sum(row["ep"] for row in samples) / len(samples))
    assert mean["num_explained"] == len(samples) == 40
    words = {(row["word"], row["list"]): row for row in outcome.rows("ep_words", model="General", corpus="within")}
    assert {"sorry", "damn", "he", "it"} <= {word for word, _ in words}
    once = {word: row["share"] for (word, _), row in words.items()}
    assert sum(once.values()) == pytest.approx(mean["ep"])
    stopped = {row["word"] for row in outcome.rows("ep_words", model="PrivAdvEP", corpus="within", stopped=True)}
    assert stopped & {"sorry", "damn"}


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
    assert "Within the corpus, a lower EP than General&#39;s: found for PrivAdvEP." in page
    assert "PrivAdvEP stopped using" in page
    assert "The parts share no speaker" in page


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (["data.genders=null"], "data.gender: nothing says who is of which gender"),
        (["classes=[low, high]"], "models.noise.words: must have 2 items"),
        (["data.valence={sad: down}"], "data.valence: 'down' is no class"),
        (["explanations.listed=[insults]"], "explanations.listed: there is no list 'insults'"),
        (["splits.test=0.9"], "splits.development and splits.test add up"),
        (["models.vectors=x", "models.checkpoint=y"], "models.vectors=x: a checkpoint has its own"),
        (["lexicon.low=1"], "lexicon.low=1: must be less than"),
        (["explanation_words.swaps=[[he, she], [him, she]]"], "'she' is in two pairs"),
        (["models.names=[General, Generic]"], "models.names.*Generic"),
    ],
)
def test_settings_that_do_not_fit_are_refused(configured, dialogues, wrong, message):
    with pytest.raises(ConfigError, match=message):
        configured(*dialogues, *wrong)


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
    assert balanced(ROWS[::-1], 0) == [] or {row["valence"] for row in balanced(ROWS[::-1], 0)} == {"low"}


def test_copies_are_of_texts_that_change():
    copies = swapped_copies(ROWS, [("he", "she")])
    assert len(copies) == 8
    assert copies[0] == {"text": "he 0", "valence": "low", "gender": "f"}


def test_only_texts_of_a_class_have_its_artificial_words():
    from tiltmeter.jobs.classifiers.privacy.config import Noise

    noise = Noise((("zq0", "zx0"), ("zq1", "zx1")), share=1.0)
    config = {"classes": ("low", "high"), "noise": {"noise": noise}, "seed": 0}
    for row, before in zip(noisy(ROWS, config), ROWS, strict=True):
        added = set(row["text"].split()) - set(before["text"].split())
        assert len(added) == 1
        assert added <= ({"zq0", "zx0"} if row["valence"] == "low" else {"zq1", "zx1"})
    assert len({word for row in noisy(ROWS, config) for word in row["text"].split() if word.startswith("z")}) > 2


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
    assert {row["model"] for row in means} == set(names.split(","))
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
    [mean] = found["given"].rows("models", seed=None, corpus="within")
    assert mean["valence_uar"] > 0.9
