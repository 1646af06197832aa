"""What a run prints of rated systems when it ends."""

import io
import math

import pyarrow as pa
import pytest
from rich.console import Console

from tiltmeter.jobs.report.terminal import print_outcome
from tiltmeter.jobs.sentiment.rating import tables
from tiltmeter.storage.store.runs import opened


def rating(system, score, rank, level, *, variant="original", group="gender_race_confounded", protected="gender_race"):
    row = {"variant": variant, "group": group, "protected": protected, "system": system, "measure": "die"}
    return row | {"raw_score": score, "rank": rank, "rating": level, "num_levels": 3, "status": "ok", "reason": ""}


RATINGS = [
    rating("textblob", 5.8, 1, 1),
    rating("biased_female", math.inf, 2, 3),
    rating("biased_female", 266.7, 1, 1, variant="es"),
    rating("textblob", None, None, None, variant="es"),
    rating("[bold]", 0.0, 1, 1, group="[/other]", protected="race"),
]
COMPARISON = {"variant": "es", "group": "gender", "protected": "gender", "system": "textblob", "measure": "wrs"}
COMPARISON |= {"original_score": 0.0, "raw_score": 4.8, "change": 4.8, "change_low": 0.6, "change_high": 7.8}
COMPARISON |= {"original_rating": 1, "rating": 2, "status": "ok", "reason": ""}


@pytest.fixture(scope="module")
def printed(tmp_path_factory):
    """The lines on a terminal of 80 columns."""
    console = Console(file=io.StringIO(), width=80)
    with opened(tmp_path_factory.mktemp("run") / "run") as run:
        run.begin(["ratings", "comparisons"], job="sentiment_rating", versions={})
        run.write_table("ratings", pa.Table.from_pylist(RATINGS, tables.RATINGS))
        run.write_table("comparisons", pa.Table.from_pylist([COMPARISON], tables.COMPARISONS))
        run.record |= {"units": {"done": 1, "reused": 0, "failed": 0}, "seconds": 1.0}
        print_outcome(console, run)
    return console.file.getvalue().splitlines()


def cells(line):
    return [cell.strip() for cell in line.strip("│┃").replace("┃", "│").split("│")]


def test_systems_stand_in_their_order_with_rating_and_raw_score_by_variant(printed):
    assert cells(printed[2]) == ["group, attribute", "system", "original", "es"]
    assert [cells(line) for line in printed[4:6]] == [
        ["gender_race_confounded", "textblob", "1 (5.8%)", "–"],
        ["by gender and race", "biased_female", "3 (∞)", "1 (266.7%)"],
    ]


def test_names_that_look_like_markup_are_printed_as_they_are(printed):
    assert cells(printed[7]) == ["[/other]", "[bold]", "1 (0.0%)", "–"]


def test_changes_have_a_sentence_for_each_round_trip(printed):
    text = " ".join(line.rstrip() for line in printed)
    assert "After the round trip es, 1 raw score can be compared with the original's: 1 is higher (textblob 1)." in text
