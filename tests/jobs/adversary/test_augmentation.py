"""Found texts as texts to train on: every number of the table, the sample, and what training with them does."""

import json
from collections import Counter

import numpy as np
import polars as pl
import pytest

from benchmarks.calibration.adversary import retrained, trainings
from tiltmeter.jobs.adversary import augmentation_page, page
from tiltmeter.jobs.adversary.retraining import ARMS, MEASURES, is_source, two_way
from tiltmeter.jobs.adversary.tables import Part
from tiltmeter.operators.classifiers.adversary.words import folded
from tiltmeter.operators.classifiers.augmentation import (
    Variant,
    balanced_sample,
    change_norm,
    normal_form,
    random_positions,
    random_swaps,
)
from tiltmeter.operators.classifiers.characters import DEFENCES, stress
from tiltmeter.operators.compute.generators import keyed_generator
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.compute.philox import Stream
from tiltmeter.operators.statistics.intervals import FISHER, LOGIT
from tiltmeter.operators.statistics.means import mean
from tiltmeter.operators.statistics.multiplicity import holm
from tiltmeter.operators.statistics.units import units_of
from tiltmeter.operators.text.perplexity import KneserNey

from .by_hand import ByHand
from .conftest import words_and_vectors
from .planted_weakness import trained_again

SETTINGS = [
    *("augmentation.sample=true", "augmentation.retrain=true", "augmentation.seeds=2"),
    "characters.kinds=[swap, drop, insert, neighbour, homoglyph, invisible, capital]",
    *("characters.numbers=[1, 2]", "characters.draws=3"),
]
KEY = ("row", "victim", "direction", "search")


@pytest.fixture(scope="module")
def augmented(attacked, run_here, adversary, tmp_path_factory):
    """The usual run again, whose attacks are in its store."""
    place, store = tmp_path_factory.mktemp("augmented"), attacked.path.parent / "store"
    return run_here(*adversary, *SETTINGS, f"store={store}", f"run_dir={place}/run")


def keyed(rows):
    return {tuple(row[name] for name in KEY): row for row in rows}


def test_found_texts_are_those_of_all_flips_with_their_norm_and_fluency(augmented, adversary, configured, labelled):
    rows, attacks = keyed(augmented.rows("augmentation")), keyed(augmented.rows("attacks"))
    assert [*rows] == [key for key, row in attacks.items() if row["status"] in ("flipped", "flipped_minimal")]
    texts = {(row["row"], row["victim"]): row for row in augmented.rows("texts")}
    changes = {}
    for row in augmented.rows("substitutions"):
        changes.setdefault(tuple(row[name] for name in KEY), []).append(row)
    vectors = {word: np.float32(vector) for word, vector in zip(*words_and_vectors(), strict=True)}
    config = configured(*adversary).language_model
    hand = ByHand(configured(*adversary), labelled)
    model = KneserNey([folded(row["text"].split()) for row in hand.learnt()], config.order, config.discount)
    for key, row in rows.items():
        text = texts[key[:2]]
        assert [row[name] for name in ("label", "group", "is_correct")] == [
            text[name] for name in ("label", "group", "is_correct")
        ]
        assert (row["text"], row["words_changed"]) == (attacks[key]["changed_text"], attacks[key]["num_changes"])
        assert row["is_flagged"] == any(change["is_flagged"] for change in changes[key])
        before, after = folded(text["text"].split()), folded(row["text"].split())
        gain = model.log_probabilities(after).sum() - model.log_probabilities(before).sum()
        assert row["fluency"] == pytest.approx(gain / len(before))
        pairs = [(one, other) for one, other in zip(before, after, strict=True) if one != other]
        apart = np.concatenate([vectors[other] - vectors[one] for one, other in pairs])
        assert row["norm"] == pytest.approx(np.linalg.norm(apart), rel=1e-5)
    assert max(row["words_changed"] for row in rows.values()) > 1
    assert np.isnan(change_norm([("film", "plot"), ("film", "unheard")], vectors))


def test_the_sample_has_each_text_once_as_many_of_every_class_and_one_of_a_source(augmented, attacked):
    rows = augmented.rows("augmentation")
    sample = [row for row in rows if row["is_sampled"]]
    assert sample
    assert all(row["is_correct"] and not row["is_flagged"] for row in sample)
    sound = {row["label"] for row in rows if row["is_correct"] and not row["is_flagged"]}
    counts = Counter(row["label"] for row in sample)
    assert len(set(counts.values())) == 1
    assert counts.keys() <= sound
    assert max(Counter(row["row"] for row in sample).values()) == 1
    assert len({normal_form(row["text"]) for row in sample}) == len(sample)
    exported = pl.read_parquet(augmented.path / "exports/augmentation.parquet").to_dicts()
    lines = [json.loads(line) for line in (augmented.path / "exports/augmentation.jsonl").read_text().splitlines()]
    assert exported == lines
    assert [[row["text"], row["label"]] for row in exported] == [[row["text"], row["label"]] for row in sample]
    assert {row["is_sampled"] for row in attacked.rows("augmentation")} == {None}
    assert not (attacked.path / "exports").exists()


def test_a_sample_leaves_out_what_a_source_says_and_what_has_two_classes():
    variants = [Variant(0, "a", "A film"), Variant(1, "b", "a  film"), Variant(0, "a", "two"), Variant(0, "a", "three")]
    variants += [Variant(1, "b", "four"), Variant(2, "b", "five"), Variant(3, "b", "said")]
    assert balanced_sample(variants[:2], [], 9, 0) == []
    sample = balanced_sample(variants, ["SAID"], 2, 0)
    assert sample == [2, 3, 4, 5]
    assert len(balanced_sample(variants, ["SAID"], 1, 0)) == 2


def test_random_swaps_keep_to_the_lists_and_random_positions_do_not():
    tokens, space, draws = ["a", "b", "c", "-"], {0: ["x", "y"], 2: ["z"]}, np.random.default_rng(0)
    swaps = Counter(random_swaps(tokens, space, 1, draws) for _ in range(4000))
    assert set(swaps) == {"x b c -", "y b c -", "a b z -"}
    assert [swaps[text] / 4000 for text in ("x b c -", "y b c -", "a b z -")] == pytest.approx(
        [0.25, 0.25, 0.5], abs=0.03
    )
    placed = Counter(random_positions(tokens, ["q"], 1, draws) for _ in range(3000))
    assert {text: share / 3000 for text, share in placed.items()} == pytest.approx(
        {"q b c -": 1 / 3, "a q c -": 1 / 3, "a b q -": 1 / 3}, abs=0.03
    )
    assert random_swaps(tokens, space, 3, draws).split()[1::2] == ["b", "-"]


def test_an_interval_over_both_is_as_wide_as_resamples_of_both():
    """Owen's bootstrap: rows and columns are drawn with replacement, each for itself."""
    draws = np.random.default_rng(0)
    values = 0.3 * draws.normal(size=(30, 1)) + draws.normal(size=(1, 80)) + 0.5 * draws.normal(size=(30, 80))
    resampled = [values[np.ix_(draws.integers(30, size=30), draws.integers(80, size=80))].mean() for _ in range(4000)]
    assert two_way(values, [None] * 80, 0.95).variance == pytest.approx(np.var(resampled), rel=0.12)
    assert two_way(values, [None] * 80, 0.95).variance > 1.1 * values.mean(axis=0).var(ddof=1) / 80
    grouped = two_way(values, [f"group {number // 8}" for number in range(80)], 0.95)
    assert grouped.num_units == 10


def test_intervals_of_rates_end_at_their_borders_and_those_of_differences_lie_around_them():
    """By Student's t those of shares are as wide to either side, and may end beyond 1."""
    for number in range(3):
        made = trainings(number)
        rate, difference = made["copies", "", "transfer"].value, made["found", "copies", "transfer"].value
        assert 0.0 < rate.low < rate.value < rate.high <= 1.0
        assert rate.value - rate.low > 1.05 * (rate.high - rate.value), "further from the border"
        assert difference.value - difference.low == pytest.approx(difference.high - difference.value)
    [one] = {two_way(np.ones((3, 9)), [None] * 9, 0.95, LOGIT)[1:3]}
    assert 0.5 < one[0] < one[1] == 1.0


def test_sources_and_held_out_texts_share_no_group(augmented):
    texts = {row["row"]: row for row in augmented.rows("texts", victim="linear")}
    parts = [Part(row=row["row"], text=row["text"], label=row["label"], group=row["group"]) for row in texts.values()]
    halves = {half: {part.group for part in parts if is_source(part, 3) == half} for half in (True, False)}
    assert all(halves.values())
    assert not halves[True] & halves[False]
    [held] = {row["num_texts"] for row in augmented.rows("retraining", victim="linear", measure="accuracy")}
    assert held == sum(not is_source(part, 3) for part in parts)


def test_every_arm_adds_as_many_and_the_difference_is_that_of_the_arms(augmented):
    rows = augmented.rows("retraining", victim="linear")
    levels = {(row["arm"], row["measure"]): row for row in rows if not row["against"]}
    assert {arm for arm, _ in levels} == set(ARMS)
    assert {measure for _, measure in levels} == set(MEASURES)
    [num] = {row["num_added"] for (arm, _), row in levels.items() if arm != "none"}
    assert num > 0
    assert levels["none", "accuracy"]["num_added"] == 0
    assert levels["found", "accuracy"]["found_share"] == 1.0
    assert levels["copies", "accuracy"]["found_share"] == 0.0
    claims = [row for row in rows if row["against"]]
    assert {row["against"] for row in claims} == {"random_swaps", "copies"}
    for row in claims:
        arms = [levels[arm, row["measure"]]["value"] for arm in ("found", row["against"])]
        assert row["value"] == pytest.approx(arms[0] - arms[1])
        assert row["num_seeds"] == 2
    tested = [row for row in augmented.rows("retraining") if row["against"] and row["measure"] in MEASURES[:2]]
    expected = holm(np.array([np.nan if row["p_value"] is None else row["p_value"] for row in tested]))
    assert [np.nan if row["p_adjusted"] is None else row["p_adjusted"] for row in tested] == pytest.approx(
        expected.tolist(), nan_ok=True
    )
    assert {row["p_adjusted"] for row in rows if row["measure"] in MEASURES[2:]} == {None}


def test_the_page_tells_a_difference_or_what_could_have_been_seen(augmented):
    frame = pl.DataFrame(augmented.rows("retraining", victim="linear"))
    few = [*augmentation_page.retrained(frame)]
    assert len(few) == 4
    assert all("nothing is told, as there is too little to go by" in sentence for sentence in few)
    is_claim = pl.col("against") != ""
    told = frame.with_columns(p_adjusted=pl.when(is_claim).then(0.01), detectable=0.1, value=-0.2, status=pl.lit("ok"))
    said = [*augmentation_page.retrained(told)]
    assert [sentence.rpartition(": ")[2] for sentence in said] == 2 * [
        "found texts make fewer right.",
        "found texts leave less to flip.",
    ]
    assert "no difference that 2 seeds can show" in " ".join(
        augmentation_page.retrained(told.with_columns(p_adjusted=pl.lit(0.06)))
    )


def test_a_difference_that_is_planted_is_told_and_one_that_is_not_is_none():
    for lead in (0.3, 0.0):
        found = retrained(0, lead)
        assert found["value"]
        assert (found["p_value"] < 0.01) == (found["p_adjusted"] < 0.04) == (lead > 0.0)


def test_rates_of_changed_characters_are_means_over_texts_of_each_victim(augmented, adversary, configured, labelled):
    config = configured(*adversary, *SETTINGS)
    hand = ByHand(config, labelled)
    about = {row["row"]: row for row in augmented.rows("texts", victim="linear")}
    rows = {(row["victim"], row["kind"], row["number"], row["defence"]): row for row in augmented.rows("characters")}
    for name in hand.linear:
        made, reader = {}, hand.reader(name)
        for row, text in about.items():
            draws = keyed_generator(3, Stream.CHARACTER_CHANGE, document_key(text["text"]))
            for one in stress(reader, text["text"].split(), config.characters, draws):
                made.setdefault((name, one.kind, one.number, one.defence), []).append((row, one))
        for key, of_texts in made.items():
            row, units = rows.pop(key), units_of([about[text]["group"] for text, _ in of_texts], "group")
            bare = dict(made[*key[:3], "none"])
            flips, random = (
                np.array([getattr(one, part) for _, one in of_texts]) for part in ("flips", "random_flips")
            )
            averted = np.array([bare[text].flips for text, _ in of_texts]) - flips
            expected = {"flip_rate": (flips, LOGIT), "random_rate": (random, LOGIT), "excess": (flips - random, FISHER)}
            expected |= {} if key[3] == "none" else {"averted": (averted, FISHER)}
            for column, (values, scale) in expected.items():
                number = mean(values, units, level=0.9, scale=scale)
                ends = [row[f"{column}{end}"] for end in ("", "_low", "_high")]
                assert ends == pytest.approx([number.value, number.low, number.high]), (key, column)
            assert (row["num_texts"], row["status"]) == (len(of_texts), "ok")
            for column in ("unmoved", "pieces", "unknown", "unknown_before"):
                assert row[column] == pytest.approx(np.mean([getattr(one, column) for _, one in of_texts]))
    assert not rows
    assert {row["averted"] for row in augmented.rows("characters", defence="none")} == {None}


def test_what_a_linear_victim_folds_away_moves_nothing_and_a_skeleton_undoes_what_cannot_be_seen(augmented):
    rows = {(row["kind"], row["defence"]): row for row in augmented.rows("characters", victim="linear", number=1)}
    assert {rows["capital", defence]["unmoved"] for defence in DEFENCES} == {1.0}
    assert {rows[key]["flip_rate"] for key in (("invisible", "normal_form"), ("homoglyph", "skeleton"))} == {0.0}
    assert rows["homoglyph", "none"]["flip_rate"] == rows["homoglyph", "normal_form"]["flip_rate"] > 0.0
    assert rows["homoglyph", "none"]["unknown"] > rows["homoglyph", "none"]["unknown_before"]
    assert rows["invisible", "none"]["pieces"] > 1.0 == rows["invisible", "normal_form"]["pieces"]
    said = [*page.spelling(pl.DataFrame(augmented.rows("characters")))]
    assert [one.partition(",")[0] for one in said] == ["linear", "linear_masked"]
    assert said[0].endswith("0.0% by capital (0.0%). That says nothing of gender.")


def beats_swaps(rows):
    row = rows["found", "random_swaps", "flip_rate"]
    return row.status == "ok" and row.p_adjusted <= 0.05 and row.value.value < 0.0


@pytest.mark.slow
def test_found_texts_beat_random_swaps_where_a_weakness_is_planted_and_not_where_classes_are_dealt_anew():
    planted, dealt = (trained_again(0, permuted, num_trainings=4) for permuted in ("", "found"))
    assert beats_swaps(planted)
    assert planted["none", "", "flip_rate"].value.value > 0.7
    assert planted["found", "random_swaps", "flip_rate"].value.high < -0.4
    assert planted["found", "random_swaps", "accuracy"].value.low > 0.05
    assert not beats_swaps(dealt)
    assert dealt["found", "random_swaps", "flip_rate"].detectable < 0.15
    assert dealt["found", "random_swaps", "flip_rate"].num_added == planted["found", "", "flip_rate"].num_added > 30
    nothing = [trained_again(seed, "all", num_trainings=4) for seed in (0, 1, 4)]
    for rows in nothing:
        assert not beats_swaps(rows)
        assert rows["found", "random_swaps", "accuracy"].p_adjusted > 0.05
        assert rows["found", "random_swaps", "accuracy"].num_added > 10
