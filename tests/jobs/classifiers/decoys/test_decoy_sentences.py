"""What the page says of decoys, with one and with several of each thing."""

import polars as pl
import pyarrow as pa
import pytest

from tiltmeter.jobs.classifiers.decoys import tables
from tiltmeter.jobs.classifiers.decoys.findings import adoption, overall, soonest


def utility(*rows):
    made = [
        {"decoy": "zq", "method": method, "selection": selection, "num_instances": num, "soonest": 0.75}
        | {"num_instances_low": num - 1, "num_instances_high": num + 1, "adopted": True}
        for method, selection, num in rows
    ]
    return pl.DataFrame(pa.Table.from_pylist(made, tables.UTILITY))


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        (
            [("lime", "random", 2.0), ("random", "random", 3.0)],
            "“zq” is found soonest with LIME on instances chosen at random: {}. In 75% of the resamples nothing else",
        ),
        (
            [(method, "clustering", 2.0) for method in ("lime", "occlusion")] + [("random", "random", 3.0)],
            "“zq” is found soonest with LIME and occlusion on instances chosen by clusters of relevance: {}. In 75%",
        ),
        (
            [(method, "random", 2.0) for method in ("lime", "random")],
            "Whatever explains “zq” and in whatever order, it takes 2.0 instances on average [1.0, 3.0] to find it.",
        ),
    ],
)
def test_what_finds_a_decoy_soonest(rows, sentence):
    [said] = soonest(utility(*rows))
    assert said.startswith(sentence.format("after 2.0 instances on average [1.0, 3.0]"))


def test_methods_are_compared_over_the_decoys_that_are_adopted():
    [sentence] = overall(utility(("lime", "random", 2.0), ("occlusion", "random", 4.0)))
    assert sentence.startswith(
        "Over 1 adopted decoy and instances chosen at random, LIME finds decoys soonest, after 2.00"
    )


@pytest.mark.parametrize(
    ("adopted", "words"),
    [
        ([True], "adopted by its model"),
        ([False], "not adopted by its model"),
        ([False, False], "adopted by none of 2 models"),
        ([True, False, True], "adopted by 2 of 3 models"),
    ],
)
def test_by_how_many_models_a_decoy_is_adopted(adopted, words):
    rows = [{"decoy": "zq", "model": str(at), "adopted": is_adopted} for at, is_adopted in enumerate(adopted)]
    [sentence] = adoption(pl.DataFrame(pa.Table.from_pylist(rows, tables.DECOYS)))
    assert sentence.startswith(f"The decoy “zq” is {words}: where it contradicts")
