"""What the page says of decoys, with one and with several of each thing, and of numbers that contradict each other."""

from types import SimpleNamespace

import polars as pl
import pyarrow as pa

from tiltmeter.jobs.classifiers.decoys import tables
from tiltmeter.jobs.classifiers.decoys.findings import adoption, orderings, overall, soonest
from tiltmeter.jobs.classifiers.decoys.page import intervals
from tiltmeter.jobs.classifiers.decoys.tables import CHANCE, LEFT_OUT

PAIR = [("lime", "random", 2.0, 1.0, 3.0), ("random", "random", 3.0, 2.0, 4.0)]
SOONEST = {
    "one": PAIR,
    "two": [(method, "clustering", 2.0, 1.0, 3.0) for method in ("lime", "occlusion")] + PAIR[1:],
    "all": [(method, "random", 2.0, 1.0, 3.0) for method in ("lime", "random")],
    "an average beside its interval": [("lime", CHANCE, 0.5, 1.0, 3.0)],
}
ORDERS = {
    "apart": (2.0, 1.0, 3.0),
    "apart, with an average on the other side": (4.0, 1.0, 3.0),
    "apart, with an average beyond the other": (9.0, 1.0, 3.0),
}
NONE = [
    {"decoy": "movie", "status": LEFT_OUT, "reason": "there is none"},
    {"decoy": "mine", "model": "0", "status": "no_decoy_rows", "reason": "no test text has it"},
    {"decoy": "zx", "model": "0", "status": "ok", "adopted": True, "accuracy_on_decoy_rows": 0.1}
    | {"accuracy_original_on_decoy_rows": 0.8},
]
INTERVALS = {"texts": ("centred", None, 3), "groups": ("centred", "who", 3), "one": ("centred", None, 1)}
INTERVALS |= {"percentiles": ("percentile", None, 3)}


def utility(rows):
    names = ("method", "selection", "num_instances", "num_instances_low", "num_instances_high")
    made = [{"decoy": "zq", "soonest": 0.75, "adopted": True} | dict(zip(names, row, strict=True)) for row in rows]
    return pl.DataFrame(pa.Table.from_pylist(made, tables.Utility.schema()))


def found(way):
    decoys = pl.DataFrame({"decoy": ["zq"], "pooled_coverage": [0.1], "perplexity_shift": [1.5]})
    return orderings({"utility": utility([("lime", CHANCE, *way), (CHANCE, CHANCE, 6.0, 5.0, 7.0)]), "decoys": decoys})


def adopted(*answers, others=()):
    rows = [{"decoy": "zq", "model": str(at), "adopted": is_adopted} for at, is_adopted in enumerate(answers)]
    return adoption(pl.DataFrame(pa.Table.from_pylist([*rows, *others], tables.Decoys.schema())))


def said_of_intervals(interval, group, number):
    settings = SimpleNamespace(level=0.95, interval=interval, num_resamples=9)
    others = {"data": SimpleNamespace(group=group), "models": SimpleNamespace(number=number)}
    return [intervals(SimpleNamespace(intervals=settings, **others))]


def test_sentences(check_sentences):
    said = {f"soonest: {case}": soonest(utility(rows)) for case, rows in SOONEST.items()}
    said["over decoys"] = overall(utility([PAIR[0], ("occlusion", "random", 4.0, 3.0, 5.0)]))
    for answers in ([True], [False], [False, False], [True, False, True]):
        said[f"adopted: {answers}"] = adopted(*answers)
    said["left out, untested and adopted"] = adopted(others=NONE)
    said |= {f"intervals {case}": found(way) for case, way in ORDERS.items()}
    check_sentences(said | {f"intervals of {case}": said_of_intervals(*of) for case, of in INTERVALS.items()})
