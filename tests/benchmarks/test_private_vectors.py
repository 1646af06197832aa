"""What the recorded run of table 1 says of noise without any vector."""

import json
from pathlib import Path

import pytest

from benchmarks.papers import private_vectors


@pytest.fixture(scope="module")
def questions():
    rows = json.loads(Path(private_vectors.__file__).with_suffix(".json").read_text())["table_1"]
    return {(row["mechanism"], row["dimensions"], row["noise_per"]): row for row in rows if row["task"] == "TREC"}


def test_a_table_of_noise_alone_classifies_questions(questions):
    values = {num: questions["noise_only norm", num, "word"]["value"] for num in (300, 54)}
    assert values == pytest.approx({300: 0.71, 54: 0.58}, abs=0.03)


def test_noise_by_occurrence_is_right_by_chance(questions):
    chance = questions["constant", 0, "none"]["value"]
    assert chance == 0.188
    for num in (300, 54):
        row = questions["noise_only norm", num, "occurrence"]
        assert row["low"] < chance < row["high"]


def test_what_is_printed_for_questions_is_less_than_noise_alone_by_one_mechanism_and_more_by_the_other():
    verdicts = {figure.printed: figure.verdict for figure in private_vectors.figures()}
    assert (verdicts["53.20"], verdicts["73.00"]) == ("less than noise alone", "more than noise alone")


def test_figure_4_has_one_verdict_over_all_its_rows():
    *rows, whole = [figure for figure in private_vectors.figures() if figure.place == "figure 4"]
    assert {row.verdict for row in rows} == {"see all rows"}
    assert whole.ours.startswith("ahead in 13 of 15 rows, by 0.9 points")
    assert whole.verdict == "ahead, not surely"
