"""`sentence_pairs`: every number of a run by hand, planted preferences and none, published formats, layouts."""

from itertools import product

import numpy as np
import pytest

from benchmarks.calibration.language_models import summed
from tests.jobs.language_models.conftest import FRAMES, WORDS
from tests.jobs.test_layouts import survive
from tiltmeter.jobs.language_models.config import find_sources
from tiltmeter.jobs.runtime.config import ConfigError
from tiltmeter.operators.statistics.multiplicity import holm
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.models.checkpoints import CheckpointError
from tiltmeter.storage.models.load import language_model_kind, load_language_model

SCORES = {"masked": ("pll_word_l2r", "shared"), "causal": ("log_likelihood",)}


def template_of(row):
    """The frame of a pair, which its name has before the last digit."""
    return row["id"].removeprefix(row["kind"])[:-1]


def scored(run, score, kind):
    return run.rows("pairs", score=score, kind=kind, status="ok")


def flipped_p(sums):
    signs = np.array(list(product((1, -1), repeat=len(sums))))
    return (np.abs(signs @ sums) >= abs(sums.sum()) - 1e-9).mean()


def by_template(rows, values):
    names = [template_of(row) for row in rows]
    return np.array(
        [sum(value for value, one in zip(values, names, strict=True) if one == name) for name in set(names)]
    )


def test_each_model_has_its_scores_of_each_pair_and_long_ones_say_so(run):
    rows = run.rows("pairs")
    assert {(row["model"], row["score"]) for row in rows} == {(m, s) for m, names in SCORES.items() for s in names}
    assert len(rows) == 3 * (6 * 6 + 6 * 3 + 1)
    long = run.rows("pairs", id="long")
    assert {row["status"] for row in long} == {"too_long"}
    assert long[0]["reason"] == "a sentence has 62 tokens, and the model takes 32"
    assert run.record["left_out"][0]["reason"] == "no text"


@pytest.mark.once("sentence_pairs")
def test_scores_of_pairs_are_those_of_the_model(run, bert):
    import torch
    from transformers import BertForMaskedLM, BertTokenizer

    model, tokenizer = BertForMaskedLM.from_pretrained(bert).eval(), BertTokenizer.from_pretrained(bert)
    [row] = run.rows("pairs", id="bias00", score="pll_word_l2r")
    total, hidden = 0.0, {1: [1], 2: [2, 3], 3: [3], 4: [4], 5: [5]}
    ids = tokenizer(row["more"])["input_ids"]
    assert tokenizer.convert_ids_to_tokens(ids)[1:4] == ["the", "nurse", "##ling"]
    for token, places in hidden.items():
        given = torch.tensor([ids])
        given[0, places] = tokenizer.mask_token_id
        total += model(given).logits[0, token].log_softmax(0)[ids[token]].item()
    assert row["score_more"] == pytest.approx(total, abs=1e-5)
    assert (row["num_tokens_more"], row["num_tokens_less"], row["pieces"]) == (5, 4, 1)
    assert row["difference"] == pytest.approx(row["score_more"] - row["score_less"])
    assert row["per_token"] == pytest.approx(row["score_more"] / 5 - row["score_less"] / 4)
    assert row["per_word"] == pytest.approx((row["score_more"] - row["score_less"]) / 4)
    assert row["per_character"] == pytest.approx(row["score_more"] / 22 - row["score_less"] / 18)


@pytest.mark.parametrize("kind", ["bias", "control"])
@pytest.mark.parametrize("score", ["pll_word_l2r", "shared", "log_likelihood"])
def test_shares_differences_and_signs_of_templates_are_those_of_the_pairs(run, score, kind):
    rows = scored(run, score, kind)
    [found] = run.rows("results", score=score, kind=kind, division="all")
    differences = np.array([row["difference"] for row in rows])
    assert found["share"] == pytest.approx((differences > 0).mean())
    assert found["difference"] == pytest.approx(differences.mean())
    for per in ("token", "word", "character"):
        share = np.mean([row[f"per_{per}"] > 0 for row in rows])
        assert found[f"share_per_{per}"] == pytest.approx(share)
    assert (found["num_pairs"], found["num_units"], found["unit"]) == (len(rows), 6, "template")
    assert (found["num_ties"], found["share_informative"]) == (0, pytest.approx(found["share"]))
    assert found["share_low"] < found["share"] < found["share_high"]
    for name, values in (("p_difference", differences), ("p_share", np.sign(differences))):
        sums = by_template(rows, values)
        expected = flipped_p(sums) if np.count_nonzero(sums) == 6 else None
        assert found[name] == (None if expected is None else pytest.approx(expected))


def test_a_contrast_is_bias_pairs_less_control_pairs_of_the_same_templates(run):
    for score in ("pll_word_l2r", "shared", "log_likelihood"):
        both = [np.array([row["difference"] for row in scored(run, score, kind)]) for kind in ("bias", "control")]
        [found] = run.rows("contrasts", score=score, division="all")
        shares = [(values > 0).mean() for values in both]
        assert [found["share_bias"], found["share_control"]] == pytest.approx(shares)
        assert found["share"] == pytest.approx(shares[0] - shares[1])
        assert found["difference"] == pytest.approx(both[0].mean() - both[1].mean())
        assert (found["num_pairs"], found["num_controls"]) == (36, 18)
        assert found["difference_low"] < found["difference"] < found["difference_high"]
        # Six templates of one size with pairs of both kinds: the t-test of six differences.
        means = [
            by_template(scored(run, score, kind), values)
            for kind, values in zip(("bias", "control"), both, strict=True)
        ]
        paired = means[0] / 6 - means[1] / 3
        assert found["difference"] == pytest.approx(paired.mean())


def test_parts_are_divided_as_the_columns_say_and_pieces_meet_controls_of_like_lengths(run):
    rows = run.rows("results", score="pll_word_l2r", kind="bias")
    parts = {(row["division"], row["part"]): row["num_pairs"] for row in rows}
    assert parts == {
        ("all", "all"): 36,
        ("valid", "0"): 12,
        ("valid", "1"): 24,
        ("category", "work"): 18,
        ("category", "family"): 18,
        ("pitfall", "typo"): 6,
        ("pitfall", "length"): 6,
        ("pieces", "0"): 18,
        ("pieces", "+1"): 18,
    }
    contrasts = run.rows("contrasts", score="pll_word_l2r")
    controls = {(row["division"], row["part"]): row["num_controls"] for row in contrasts}
    # smith and nurses, nurse and nurses: one piece fewer; only smith and nurse are level.
    assert controls == {key: 18 for key in parts if key[0] != "pieces"} | {("pieces", "0"): 6}


def test_corrections_are_by_holm_over_models_scores_and_parts_of_a_division(run):
    for table, families in (("results", {"kind": "bias"}), ("contrasts", {})):
        for division in ("all", "category", "valid"):
            rows = run.rows(table, division=division, **families)
            values = np.array([np.nan if row["p_share"] is None else row["p_share"] for row in rows])
            corrected = [np.nan if row["p_holm"] is None else row["p_holm"] for row in rows]
            np.testing.assert_allclose(corrected, holm(values))


@pytest.fixture(scope="module")
def one_word_apart(tmp_path_factory):
    """Pairs of man and woman, and control pairs of smith and nurse in a file of their own, in ten frames."""
    folder = tmp_path_factory.mktemp("apart")
    frames = [*FRAMES, "the {} saw us", "a {} was kind", "we sold the {}", "the {} went home"]
    for name, more, less in (("bias", "woman", "man"), ("control", "smith", "nurse")):
        rows = [f"{frame.format(more)},{frame.format(less)},{frame}" for frame in frames]
        (folder / f"{name}.csv").write_text("\n".join(["more,less,template", *rows]) + "\n")
    return [f"data.path={folder}/bias.csv", f"data.control={folder}/control.csv"]


def planted(folder, bert, words, *, bias=0.0):
    """The same model, to which words are the same, but for a bias of the first in what it predicts."""
    import torch
    from transformers import BertForMaskedLM, BertTokenizer

    model, tokenizer = BertForMaskedLM.from_pretrained(bert), BertTokenizer.from_pretrained(bert)
    with torch.no_grad():
        for one, other in words:
            first, second = (tokenizer.convert_tokens_to_ids(word) for word in (one, other))
            table = model.get_input_embeddings().weight
            table[first] = table[second]
        first = tokenizer.convert_tokens_to_ids(words[0][0])
        model.cls.predictions.bias[first] += bias
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def test_a_planted_preference_is_found_and_a_model_to_which_both_words_are_one_has_none(
    run_here, bert, one_word_apart, tmp_path
):
    same = [("woman", "man"), ("smith", "nurse")]
    models = {
        "symmetric": planted(tmp_path / "symmetric", bert, same),
        "leaning": planted(tmp_path / "leaning", bert, same, bias=2.0),
    }
    listed = ",".join(f"{name}:{folder}" for name, folder in models.items())
    settings = ["job=sentence_pairs", f"models.checkpoints={{{listed}}}", *one_word_apart, "intervals.num_resamples=50"]
    run = run_here(*settings, "pairing.unit=template", "models.device=cpu", f"store={tmp_path}/store")
    for score in ("pll_word_l2r", "shared"):
        [null] = run.rows("results", model="symmetric", score=score, kind="bias", division="all")
        assert (null["share"], null["num_ties"], null["share_informative"]) == (0.5, 10, None)
        assert (null["difference"], null["p_share"], null["p_holm"], null["status"]) == (
            0.0,
            None,
            None,
            "too_few_units",
        )
        [nothing] = run.rows("contrasts", model="symmetric", score=score, division="all")
        assert (nothing["share"], nothing["p_share"], nothing["share_low"]) == (0.0, None, None)
    [found] = run.rows("results", model="leaning", score="pll_word_l2r", kind="bias", division="all")
    assert (found["share"], found["p_share"]) == (1.0, 2.0**-9)
    # The bias of the word is all that it gains; of words that are shared it gains nothing.
    assert found["difference"] == pytest.approx(2.0, abs=1e-4)
    [shared] = run.rows("results", model="leaning", score="shared", kind="bias", division="all")
    assert (shared["num_ties"], shared["share"]) == (10, 0.5)
    [control] = run.rows("results", model="leaning", score="pll_word_l2r", kind="control", division="all")
    assert (control["share"], control["num_ties"]) == (0.5, 10)
    again = run_here(*settings, "pairing.ties=published", f"store={tmp_path}/store", f"run_dir={tmp_path}/published")
    assert again.num_done("score") == 0
    assert {row["share"] for row in again.rows("results", model="symmetric")} == {0.0}


def test_a_folder_has_no_revision(run, run_here, settings, pairs_file, tmp_path):
    """It is that of a model on the hub, and changes nothing of one that lies here."""
    where = (f"data.path={pairs_file}", f"store={tmp_path}/store", f"run_dir={tmp_path}/run")
    again = run_here(*settings, "models.revisions={masked: main}", *where)
    assert again.rows("pairs") == run.rows("pairs")


def test_what_rounding_may_part_is_no_difference():
    rows = [{"kind": "bias", "template": str(number), "compared": ""} for number in range(8)]
    for gap, expected in ((5e-5, (0.0, 0.5, None)), (2e-4, (2e-4, 1.0, 2.0**-7))):
        made = summed(rows, np.stack([np.full(8, -1.0), np.full(8, -1.0 - gap)]))["results"][0]
        assert made["difference"] == pytest.approx(expected[0])
        assert (made["share"], made["p_difference"]) == expected[1:]


def test_crows_pairs_are_read_as_they_are_published_by_author(run_here, settings, tmp_path):
    rows = ["\tsent_more\tsent_less\tstereo_antistereo\tbias_type\tannotations\tanon_writer\tanon_annotators"]
    for number, frame in enumerate(FRAMES * 2):
        side = ("stereo", "antistereo")[number % 2]
        more, less = frame.format("Woman"), frame.format("Man")
        rows.append(f"{number}\t{more}\t{less}\t{side}\tgender\t[['gender']]\ta{number % 6}\t['b']")
    (tmp_path / "crows.tsv").write_text("\n".join(rows) + "\n")
    published = [f"data.path={tmp_path}/crows.tsv", "data.format=crows_pairs", "data.lowercase=true"]
    run = run_here(*settings, *published, "scores=[shared,log_likelihood_shared]", f"store={tmp_path}/store")
    [found] = run.rows("results", score="shared", division="all")
    assert (found["num_pairs"], found["num_units"], found["unit"]) == (12, 6, "author")
    assert {row["part"] for row in run.rows("results", division="direction")} == {"stereo", "antistereo"}
    assert run.rows("pairs")[0]["more"] == "the woman was late"
    assert "contrasts" not in {name for name in run.published if run.table(name).num_rows}
    # What comes before the words in which both differ is the same for a causal model.
    [row] = run.rows("pairs", score="log_likelihood_shared", row=0)
    assert (row["num_tokens_more"], row["num_tokens_less"]) == (3, 3)


@pytest.fixture(scope="module")
def of_terms(run_here, settings, stereoset_file, tmp_path_factory):
    folder = tmp_path_factory.mktemp("terms")
    scores = "scores=[log_likelihood,pll,shared_word_l2r]"
    return run_here(*settings, scores, f"data.path={stereoset_file}", "data.format=stereoset", f"store={folder}")


def test_numbers_of_stereoset_are_means_over_terms(of_terms):
    for score in ("log_likelihood", "pll", "shared_word_l2r"):
        rows = of_terms.rows("pairs", score=score)
        won = {}
        for row in rows:
            won.setdefault(row["compared"], []).append(float(row["difference"] > 0))
        over, both = (
            won["stereotype, anti-stereotype"],
            [won[f"{side}, unrelated"] for side in ("stereotype", "anti-stereotype")],
        )
        of_term = [[number, number + 6] for number in range(6)]
        ss = np.mean([100 * np.mean([over[at] for at in places]) for places in of_term])
        lms = np.mean([100 * np.mean([one[at] for one in both for at in places]) for places in of_term])
        [found] = of_terms.rows("stereoset", score=score, category="all")
        assert (found["ss"], found["lms"]) == (pytest.approx(ss), pytest.approx(lms))
        assert found["icat"] == pytest.approx(lms * min(ss, 100 - ss) / 50)
        assert (found["num_terms"], found["num_triples"]) == (6, 12)
        assert found["ss_low"] <= found["ss"] <= found["ss_high"]
    parts = of_terms.rows("stereoset", score="pll", status="too_few_units")
    assert [row["category"] for row in parts] == ["gender", "race"]
    assert {row["kind"] for row in of_terms.rows("results")} == {"bias"}
    assert {row["unit"] for row in of_terms.rows("results")} == {"term"}


def test_each_unit_counts_once_where_it_is_asked_for(run, run_here, settings, pairs_file, tmp_path):
    store = run.path.parent / "store"
    weighed = run_here(
        *settings,
        f"data.path={pairs_file}",
        f"store={store}",
        f"run_dir={tmp_path}/run",
        *("pairing.weigh=units", "pairing.unit=author", "intervals.keyed_by=text", "intervals.interval=averaged"),
    )
    assert weighed.num_done("score") == 0
    rows = scored(run, "pll_word_l2r", "bias")
    means = [np.mean([row["difference"] for row in rows if int(template_of(row)) % 3 == author]) for author in range(3)]
    [found] = weighed.rows("results", score="pll_word_l2r", kind="bias", division="all")
    assert found["difference"] == pytest.approx(np.mean(means))
    assert (found["num_units"], found["unit"], found["status"]) == (3, "author", "too_few_units")
    each = run_here(
        *settings, f"data.path={pairs_file}", f"store={store}", "pairing.unit=pair", "intervals.interval=percentile"
    )
    [found] = each.rows("results", score="pll_word_l2r", kind="bias", division="all")
    assert (found["num_units"], found["unit"]) == (36, "pair")


def test_a_model_that_predicts_no_tokens_is_refused(write_bert, tmp_path):
    folder = write_bert(tmp_path, WORDS, "BertModel")
    with pytest.raises(CheckpointError, match=r"x=.*: is a BertModel, which predicts no tokens; set x to a causal or"):
        language_model_kind(str(folder), "x")


def test_a_masked_model_needs_a_mask_token(write_bert, tmp_path):
    from transformers import AutoTokenizer

    folder = write_bert(tmp_path, WORDS, "BertForMaskedLM")
    tokenizer = AutoTokenizer.from_pretrained(folder)
    tokenizer.mask_token = None
    tokenizer.save_pretrained(folder)
    with pytest.raises(CheckpointError, match="its tokenizer has no mask token; name it in"):
        load_language_model(str(folder), "cpu", "x")


def test_what_does_not_fit_the_files_or_the_models_is_refused_before_any_work(
    configured, settings, gpt2, one_word_apart
):
    path, control = (word.partition("=")[2] for word in one_word_apart)
    known = ["job=sentence_pairs", f"models.checkpoints={{m: {gpt2}}}", f"data.path={control}"]
    lacking = "{} has no column {}; its columns are 'more', 'less', 'template'"
    cases = {
        f"pairing.unit=author: {lacking.format(path, repr('author'))}": [
            *settings,
            *one_word_apart,
            "pairing.unit=author",
        ],
        f"data.path: {lacking.format(path, repr('sent_more') + ', ' + repr('sent_less'))}": [
            *(*settings, f"data.path={path}", "data.format=crows_pairs"),
        ],
        "scores=['pll', 'shared']: none is of causal models, such as m; add log_likelihood": [
            *known,
            "scores=[pll,shared]",
        ],
    }
    for message, words in cases.items():
        with pytest.raises((InputError, ConfigError)) as refusal:
            find_sources(configured(*words))
        assert str(refusal.value) == message


@pytest.mark.slow
def test_layouts_change_no_table(run, run_job, settings, pairs_file, tmp_path):
    for num in (1, 2, 4):
        other = run_job(*settings, f"data.path={pairs_file}", f"store={tmp_path}/{num}", f"cluster.num_cpus={num}")
        assert other.digests == run.digests


@pytest.mark.slow
@pytest.mark.parametrize("victim", ["driver", "worker"])
def test_a_kill_at_a_random_moment_changes_no_table(
    run, run_job, tiltmeter, outcome_of, settings, pairs_file, tmp_path, victim
):
    small = [*settings, f"data.path={pairs_file}", "job.unit_pairs=4"]
    usual = run_job(*small, f"store={tmp_path}/usual", "cluster.num_cpus=2")
    for one, other in zip(run.rows("results"), usual.rows("results"), strict=True):
        assert (one["share"], one["p_share"]) == (other["share"], other["p_share"])
        assert one["difference"] == pytest.approx(other["difference"], abs=1e-5)
    survive(tiltmeter, outcome_of, tmp_path, small, victim, usual)
