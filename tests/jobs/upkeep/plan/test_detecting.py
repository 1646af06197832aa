"""The smallest difference from the draws of earlier runs, by hand."""

from datetime import UTC, datetime
from math import sqrt
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

from tiltmeter.jobs.runtime.draws import draws_of, with_draws
from tiltmeter.jobs.upkeep.plan.detecting import difference_rows
from tiltmeter.jobs.upkeep.plan.rates import EarlierRun
from tiltmeter.operators.statistics.differences import noncentrality
from tiltmeter.storage.store.tables import column

SCHEMA = pa.schema([column("word", pa.string(), "the word", key=True), column("bias", pa.float64(), "its bias")])
REPLICAS = {"paired_by": "replicas", "seed": 0}

NURSE, KING, QUEEN = [1.0, 2.0, 3.0, 4.0], [0.0, 0.0, 4.0, 4.0], [0.0, 0.0, 6.0]


def ran(values, scheme=REPLICAS, job="association", status="succeeded", hour=22):
    """A run that left these draws of the biases of words."""
    rows = [{"word": word, "bias": 0.0} | draws_of("bias", np.array(draws)) for word, draws in values.items()]
    table = dict(with_draws({"biases": (rows, SCHEMA)}, scheme))["draws"]
    run = SimpleNamespace(
        job=job,
        status=status,
        tables={"draws": []},
        read=lambda _store, _name: table,
        started=datetime(2026, 11, 20, hour, tzinfo=UTC),
    )
    return EarlierRun(run, (), size=1.0, growth=1.0)


def rows(*runs, planned=4):
    return {row.replicas: vars(row) for row in difference_rows(None, runs, "association", planned)}


def test_one_run_says_what_runs_show_that_share_no_draws():
    found = rows(ran({"nurse": NURSE, "king": KING, "queen": QUEEN}))
    assert list(found) == [4, 8, 16, 32, 64, 128]
    row = found[4]
    assert (row["table"], row["column"], row["num_numbers"], row["is_planned"]) == ("biases", "bias", 3, True)
    # The middle one of sqrt(5/3), sqrt(16/3) and sqrt(12), which has a draw less.
    assert row["sd"] == pytest.approx(sqrt(16 / 3))
    assert row["smallest_unpaired"] == pytest.approx(noncentrality(6) * sqrt(2 * 16 / 3 * (1 + 1 / 4)))
    assert (row["sd_paired"], row["smallest_paired"], row["status"]) == (None, None, "ok")
    assert row["reason"].startswith("no second run shares draws with it")
    assert found[32]["smallest_unpaired"] == pytest.approx(noncentrality(62) * sqrt(2 * 16 / 3 * (1 + 1 / 32)))
    assert not found[32]["is_planned"]


def test_two_runs_that_share_draws_say_what_their_differences_spread_by():
    moved = {"nurse": [1.0, 2.0, 3.0, 6.0], "king": [0.0, 0.0, 4.0, 5.0], "queen": [9.0, 0.0, 6.0]}
    [row, *_] = rows(ran(moved, hour=23), ran({"nurse": NURSE, "king": KING, "queen": QUEEN})).values()
    # Differences 0, 0, 0 and 2 have variance 1, those of the others 1/4 and 27.
    assert row["sd_paired"] == pytest.approx(1.0)
    assert row["smallest_paired"] == pytest.approx(noncentrality(3) * sqrt(1 + 1 / 4))
    assert row["basis"] == "the run of 2026-11-20 23:00 UTC, and that of 2026-11-20 22:00 UTC"


@pytest.mark.parametrize(
    ("earlier", "reason"),
    [
        (ran({"nurse": NURSE}), "the two runs that share draws have the same numbers"),
        (ran({"nurse": KING}, REPLICAS | {"seed": 1}), "no second run shares draws with it"),
        (ran({"nurse": KING}, None), "no second run shares draws with it"),
        (ran({"queen": KING}), "no second run shares draws with it"),
    ],
    ids=["same numbers", "other seed", "nobody knows", "other words"],
)
def test_runs_that_tell_nothing_of_paired_differences_say_why(earlier, reason):
    [row, *_] = rows(ran({"nurse": NURSE}), earlier).values()
    assert row["smallest_paired"] is None
    assert row["reason"].startswith(reason)


def test_texts_are_as_many_as_they_are_and_lie_around_their_difference():
    texts = {"paired_by": "items", "seed": 0}
    [row] = rows(ran({"nurse": NURSE}, texts), ran({"nurse": [1.0, 2.0, 3.0, 6.0]}, texts), planned=None).values()
    assert (row["replicas"], row["is_planned"]) == (4, True)
    assert row["smallest_paired"] == pytest.approx(noncentrality(3))
    assert row["smallest_unpaired"] == pytest.approx(noncentrality(6) * sqrt(2 * 5 / 3))


@pytest.mark.parametrize(
    ("num", "paired", "unpaired"),
    [(9.0, noncentrality(3), noncentrality(6)), (3.0, np.inf, np.inf), (4.0, np.inf, noncentrality(6))],
)
def test_texts_as_few_as_they_are_show_a_larger_difference_or_none(num, paired, unpaired):
    """Between runs with more and fewer of the same texts."""
    texts = {"paired_by": "items", "seed": 0}
    sides = ((NURSE, 9.0), ([1.0, 2.0, 3.0, 6.0], num))
    before, after = (ran({"nurse": draws}, texts | {"num_items": items}) for draws, items in sides)
    [row] = rows(after, before, planned=None).values()
    assert (row["sd_paired"], row["reason"]) == (pytest.approx(1.0), "")
    assert row["smallest_paired"] == pytest.approx(paired)
    assert row["smallest_unpaired"] == pytest.approx(unpaired * sqrt(2 * 14 / 3))


@pytest.mark.parametrize("run", [ran({"nurse": NURSE}, status="failed"), ran({"nurse": NURSE}, job="survey")])
def test_before_a_first_run_there_is_only_the_ratio_to_a_standard_deviation(run):
    found = rows(run, planned=10)
    assert list(found) == [8, 10, 16, 32, 64, 128]
    assert found[10]["smallest_unpaired"] == pytest.approx(noncentrality(18) * sqrt(2 * 1.1))
    assert found[10]["smallest_paired"] == pytest.approx(noncentrality(9) * sqrt(1.1))
    assert {row["status"] for row in found.values()} == {"unknown"}
    assert [num for num, row in found.items() if row["is_planned"]] == [10]
