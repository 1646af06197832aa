"""What job `association` says of all tests together, and of tests that are too large to count."""

from statistics import mean, stdev

import numpy as np
import pytest

ATTRIBUTES = {"attribute_a": {"love": 0, "peace": 10, "joy": 20}, "attribute_b": {"war": 90, "pain": 80, "rot": 75}}
TARGETS = {
    "forth": {"target_x": {"rose": 5, "tulip": 25, "daisy": 30}, "target_y": {"ant": 70, "wasp": 65, "flea": 85}},
    "back": {"target_x": {"gun": 88, "sword": 40, "axe": 60}, "target_y": {"harp": 12, "lute": 50, "drum": 33}},
    "crowd": {
        "target_x": {f"x{number}": number / 9 for number in range(500)},
        "target_y": {f"y{number}": 35 + number / 10 for number in range(501)},
    },
}
"""Words by the direction of their vectors in a plane, in degrees: cosines are those of the differences."""

MISSING = {"target_x": {"rose": 5, "absent": 0, "missing": 0}, "target_y": TARGETS["forth"]["target_y"]}
TESTS = {name: targets | ATTRIBUTES for name, targets in (TARGETS | {"gone": MISSING}).items()}


@pytest.fixture(scope="module")
def overrides(write_vectors, word_lists, word_sets, tmp_path_factory):
    folder = tmp_path_factory.mktemp("summary")
    angles = {
        word: angle
        for targets in (*TARGETS.values(), ATTRIBUTES)
        for side in targets.values()
        for word, angle in side.items()
    }
    radians = np.deg2rad(list(angles.values()))
    path = write_vectors(folder / "plane.bin", angles, np.stack([np.cos(radians), np.sin(radians)], axis=1))
    tests = {name: word_sets(**{side: list(words) for side, words in test.items()}) for name, test in TESTS.items()}
    return [
        *("job=association", "embedding=file", f"embedding.path={path}", f"store={folder}/store"),
        *word_lists("en", associations=tests, wefats=None),
        *("job.similarities=[cosine]", "job.statistics=[mean]"),
    ]


@pytest.fixture(scope="module")
def outcome(run_job, overrides, tmp_path_factory):
    return run_job(*overrides, "job.significance=0.1", f"run_dir={tmp_path_factory.mktemp('run')}/run")


def _effect_size(x, y, a, b):
    """Of words by their directions."""

    def score(angle):
        near_a, near_b = (np.cos(np.deg2rad(angle - np.array(list(side.values())))).mean() for side in (a, b))
        return near_a - near_b

    of_x, of_y = ([score(angle) for angle in side.values()] for side in (x, y))
    return (mean(of_x) - mean(of_y)) / stdev([*of_x, *of_y])


def test_the_tests_are_what_they_are_meant_to_be(outcome):
    rows = {row["test"]: row for row in outcome.rows("associations")}
    assert {name: row["status"] for name, row in rows.items()} == {
        "forth": "ok",
        "back": "ok",
        "crowd": "too_many_words",
        "gone": "too_few_words",
    }
    for name in TARGETS:
        assert rows[name]["effect_size"] == pytest.approx(_effect_size(*TESTS[name].values()), abs=1e-5)
    # X has the three largest scores of six: of the 20 partitions only its own is as large.
    assert rows["forth"]["p_value"] == pytest.approx(1 / 20)
    assert rows["back"]["effect_size"] < 0 < rows["forth"]["effect_size"]


def test_the_summary_takes_mean_and_sample_deviation_of_effect_sizes_and_of_their_size(outcome):
    effects = [_effect_size(*TESTS[name].values()) for name in ("forth", "back")]
    [row] = outcome.rows("association_summary")
    assert row["num_tests"] == 2
    assert row["mean_effect_size"] == pytest.approx(mean(effects), abs=1e-5)
    assert row["sd_effect_size"] == pytest.approx(stdev(effects), abs=1e-5)
    assert row["mean_absolute_effect_size"] == pytest.approx(mean(map(abs, effects)), abs=1e-5)
    assert row["sd_absolute_effect_size"] == pytest.approx(stdev(map(abs, effects)), abs=1e-5)
    assert (row["similarity"], row["statistic"], row["ddof"]) == ("cosine", "mean", 1)


def test_significant_is_what_lies_below_the_level_that_is_set(outcome, run_job, overrides, tmp_path):
    [row] = outcome.rows("association_summary")
    assert (row["num_significant"], row["significance"]) == (1, 0.1)
    at_level = run_job(*overrides, "job.significance=0.05", "tests=[forth]", f"run_dir={tmp_path}/run")
    [row] = at_level.rows("association_summary")
    assert (row["num_tests"], row["num_significant"], row["significance"]) == (1, 0, 0.05)
    assert (row["mean_effect_size"], row["sd_effect_size"]) == (row["mean_absolute_effect_size"], None)


def test_over_a_thousand_targets_have_an_effect_size_and_no_p_value(outcome):
    [row] = outcome.rows("associations", test="crowd")
    assert (row["num_targets"], row["p_value"], row["p_method"]) == (1001, None, None)
    assert row["effect_size"] is not None
    assert "over 1000 targets are too many for a p-value: draw some instead (job.p_value=monte_carlo)" in row["reason"]


def test_over_a_thousand_targets_are_drawn_from_as_the_reason_says(run_job, overrides, tmp_path):
    drawn = run_job(
        *overrides, "job.p_value=monte_carlo", "job.num_draws=99", "tests=[crowd]", f"run_dir={tmp_path}/run"
    )
    [row] = drawn.rows("associations")
    assert (row["status"], row["p_method"], row["p_value"]) == ("ok", "monte_carlo", pytest.approx(0.01))
