"""What job `association` says of all tests together, and of tests that are too large to count."""

from statistics import mean, stdev

import numpy as np
import pytest

from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.statistics.partitions.permutation import monte_carlo_p_value, permutation_p_value

ATTRIBUTES = {"attribute_a": {"love": 0, "peace": 10, "joy": 20}, "attribute_b": {"war": 90, "pain": 80, "rot": 75}}
TARGETS = {
    "forth": {"target_x": {"rose": 5, "tulip": 25, "daisy": 30}, "target_y": {"ant": 70, "wasp": 65, "flea": 85}},
    "back": {"target_x": {"gun": 88, "sword": 40, "axe": 60}, "target_y": {"harp": 12, "lute": 50, "drum": 33}},
    "many": {
        "target_x": {f"m{number}": 2.5 * number for number in range(24)},
        "target_y": {f"n{number}": 9 + 3.1 * number for number in range(20)},
    },
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
        *("job.similarities=[cosine]", "job.statistics=[mean]", "job.relative_width=0.002"),
    ]


@pytest.fixture(scope="module")
def outcome(run_here, overrides, tmp_path_factory):
    return run_here(*overrides, "job.significance=0.1", f"run_dir={tmp_path_factory.mktemp('run')}/run")


def _scores(name):
    """Of both targets of a test, by the directions of its words."""
    x, y, *sides = TESTS[name].values()

    def score(angle):
        near_a, near_b = (np.cos(np.deg2rad(angle - np.array(list(side.values())))).mean() for side in sides)
        return near_a - near_b

    return [np.array([score(angle) for angle in side.values()]) for side in (x, y)]


def _effect_size(name):
    of_x, of_y = _scores(name)
    return (mean(of_x) - mean(of_y)) / stdev([*of_x, *of_y])


def test_the_tests_are_what_they_are_meant_to_be(outcome):
    rows = {row["test"]: row for row in outcome.rows("associations")}
    assert {name: row["status"] for name, row in rows.items()} == {
        "forth": "ok",
        "back": "ok",
        "many": "ok",
        "crowd": "too_many_words",
        "gone": "too_few_words",
    }
    for name in TARGETS:
        assert rows[name]["effect_size"] == pytest.approx(_effect_size(name), abs=1e-5)
    # X has the three largest scores of six: of the 20 partitions only its own is as large.
    assert rows["forth"]["p_value"] == pytest.approx(1 / 20)
    assert rows["back"]["effect_size"] < 0 < rows["forth"]["effect_size"]
    # Of the many partitions there are bounds, as near to each other as is asked for.
    many = rows["many"]
    assert (many["p_method"], many["num_targets"]) == ("certified", 44)
    assert many["p_low"] < many["p_high"] == many["p_value"] < many["p_low"] * 1.00201
    assert many["p_value"] == pytest.approx(permutation_p_value(*_scores("many"), 0.001).value, rel=0.002)


def test_the_summary_takes_mean_and_sample_deviation_of_effect_sizes_and_of_their_size(outcome):
    effects = [_effect_size(name) for name in ("forth", "back", "many")]
    [row] = outcome.rows("association_summary")
    assert row["num_tests"] == 3
    assert row["mean_effect_size"] == pytest.approx(mean(effects), abs=1e-5)
    assert row["sd_effect_size"] == pytest.approx(stdev(effects), abs=1e-5)
    assert row["mean_absolute_effect_size"] == pytest.approx(mean(map(abs, effects)), abs=1e-5)
    assert row["sd_absolute_effect_size"] == pytest.approx(stdev(map(abs, effects)), abs=1e-5)
    assert (row["similarity"], row["statistic"], row["ddof"]) == ("cosine", "mean", 1)


def test_significant_is_what_lies_below_the_level_that_is_set(outcome, run_here, overrides, tmp_path):
    [row] = outcome.rows("association_summary")
    assert (row["num_significant"], row["significance"]) == (2, 0.1)
    at_level = run_here(*overrides, "job.significance=0.05", "tests=[forth]", f"run_dir={tmp_path}/run")
    [row] = at_level.rows("association_summary")
    assert (row["num_tests"], row["num_significant"], row["significance"]) == (1, 0, 0.05)
    assert (row["mean_effect_size"], row["sd_effect_size"]) == (row["mean_absolute_effect_size"], None)


def test_over_a_thousand_targets_have_an_effect_size_and_no_p_value(outcome):
    [row] = outcome.rows("associations", test="crowd")
    assert (row["num_targets"], row["p_value"], row["p_method"]) == (1001, None, None)
    assert row["effect_size"] is not None
    assert "over 1000 targets are too many for a p-value: draw some instead (job.p_value=monte_carlo)" in row["reason"]


def test_over_a_thousand_targets_are_drawn_from_as_the_reason_says(run_here, overrides, tmp_path):
    """By the seed of the run and the name of the test; either direction counts, if that is asked for."""
    how = ["job.p_value=monte_carlo", "job.num_draws=199", "job.alternative=two-sided", "seed=3"]
    rows = run_here(*overrides, *how, "tests=[crowd,back,many]", f"run_dir={tmp_path}/run").rows("associations")
    assert [row["test"] for row in rows] == ["crowd", "back", "many"]
    for row in rows:
        expected = monte_carlo_p_value(*_scores(row["test"]), 199, 3, document_key(row["test"]), "two-sided")
        assert (row["status"], row["p_method"], row["alternative"]) == ("ok", "monte_carlo", "two-sided")
        numbers = [row[name] for name in ("p_value", "p_low", "p_high", "p_standard_error")]
        assert numbers == pytest.approx([*expected[:3], expected.standard_error])
