"""The model of docs/scale.md, on runs that are made up to follow its laws."""

import numpy as np
import pytest

from benchmarks.scaling import (
    STAGES,
    Measured,
    constants,
    modelled_seconds,
    other_seconds,
    power_law,
)

RATES = {"read": 1e-8, "tokens": 2e-6, "co-occurrence": 5e-6, "merge": 1e-6, "train": 1e-7}
"""Core-seconds for each unit of what a stage goes through."""

SHARDS = {"read": 4e6, "tokens": 3e6, "co-occurrence": 3e6, "merge": 2e6}
"""What a unit goes through."""

OTHER_SECONDS = 7.0


def made_up_run(tokens, num_workers):
    """A run whose stages take what the laws say, with an even number of workers dealt by hand."""
    amounts = {"tokens": tokens, "text_bytes": 6 * tokens, "words": 40 * tokens**0.5}
    amounts |= {"rows": 2 * tokens, "pairs": 30 * tokens**0.8, "updates": 90 * tokens}
    work = {stage: RATES[stage] * amounts[quantity] for stage, quantity in STAGES.items()}
    units = {stage: int(np.ceil(amounts[STAGES[stage]] / size)) for stage, size in SHARDS.items()} | {"train": 33}
    walls = {stage: -(-units[stage] // num_workers) * work[stage] / units[stage] for stage in STAGES}
    seconds = OTHER_SECONDS + sum(walls.values())
    return Measured(num_workers, **amounts, seconds=seconds, peak_bytes=0, peak_worker_bytes={}, num_units=units,
                    stage_seconds=walls, core_seconds=work, stored_bytes={})  # fmt: skip


@pytest.fixture(scope="module")
def runs():
    """Of one, three and twelve million tokens, in whole shards."""
    return [made_up_run(tokens, workers) for tokens in (1_000_000, 3_000_000, 12_000_000) for workers in (1, 2)]


def test_constants_and_laws_are_found_again(runs):
    assert constants(runs) == pytest.approx(RATES)
    assert power_law(runs, "words") == pytest.approx((40, 0.5))
    assert other_seconds(runs) == pytest.approx(OTHER_SECONDS)


@pytest.mark.parametrize("num_workers", [1, 2, 5, 40])
def test_a_run_that_the_model_is_not_fitted_to_takes_what_it_says(runs, num_workers):
    run = made_up_run(24_000_000, num_workers)
    expected = modelled_seconds(runs, run.tokens, run.text_bytes, num_workers)
    assert expected == pytest.approx(run.seconds)
