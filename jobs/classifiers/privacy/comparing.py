"""How far each model differs from others, speaker by speaker, and how sure that is."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Tables, each
from tiltmeter.jobs.classifiers.privacy import tables
from tiltmeter.jobs.classifiers.privacy.estimates import DIFFERENCE_SCALES, Estimates, TextValues
from tiltmeter.jobs.classifiers.privacy.measuring import GENERAL, RESEEDED
from tiltmeter.jobs.runtime.rows import OK, failed, table_of
from tiltmeter.operators.classifiers.privacy import spoken
from tiltmeter.operators.statistics import multiplicity
from tiltmeter.operators.statistics.multiplicity import benjamini_hochberg, holm
from tiltmeter.storage.store.ledger import Store, TableRef, Unit

CONTROL = "GenderCtrl"
PRIVATE = ("PrivAdv", "PrivAug", "PrivBias", "PrivEP", "PrivAdvEP")
EXPECTED = {
    **{(name, GENERAL, "gender_uar"): "lower" for name in PRIVATE},
    (CONTROL, GENERAL, "gender_uar"): "higher",
    **{(name, GENERAL, "ep"): "higher" for name in PRIVATE},
    (CONTROL, GENERAL, "ep"): "lower",
    **{(name, CONTROL, "ep"): "higher" for name in PRIVATE},
    ("PrivAug", GENERAL, "eg"): "higher",
    **{(name, GENERAL, "eg"): "lower" for name in ("PrivAdv", "PrivBias", CONTROL)},
}
"""What the paper expects of EP (sections 8.1 and 8.3), and the orders of EG and of the UAR of gender in its table 1."""

Row = dict[str, Any]


def comparisons(
    config: Mapping[str, Any], corpus: str, estimates: Estimates, others: Mapping[str, Estimates]
) -> Iterator[Row]:
    """Rows of the table ``orderings``, but for the adjusted p-values.

    Args:
        config: of the unit, with the model and the intervals.
        corpus: one of those that were measured.
        estimates: of the model.
        others: of the models that it is compared with, by their names.
    """
    for against, measure in _pairs(config["model"], others):
        measured = estimates[None, measure]
        if against == tables.RANDOM_LISTS:
            difference = measured - estimates[None, "ep_random"]
        elif (against, measure) == (GENERAL, "ep"):
            difference = measured  # General's against itself is 0
        else:
            difference = measured - others[against][None, measure]
        about = {"model": config["model"], "against": against, "corpus": corpus, "measure": measure}
        yield about | _comparison(about, difference, config)


def _pairs(model: str, others: Mapping[str, Estimates]) -> Iterator[tuple[str, str]]:
    """What a model is compared with, and in what."""
    if model in (GENERAL, RESEEDED) or GENERAL not in others:
        return
    yield from ((GENERAL, measure) for measure in tables.MEASURES if measure != "ep_random")
    yield from ((against, "ep") for against in (CONTROL, RESEEDED) if against in others and against != model)
    yield tables.RANDOM_LISTS, "ep"


def _comparison(about: Row, difference: TextValues, config: Mapping[str, Any]) -> Row:
    scale = DIFFERENCE_SCALES[about["measure"]]
    result = difference.inferred(config, scale)
    row = difference.columns("difference", result, config, scale)
    if row["difference"] is None:
        return row | failed("no_value", "the measure has no value: see models")
    p, too_few = difference.spoken.p_of_none(result)
    seeds = difference.spoken.seeds
    row |= {"p": p, "num_units": result.num_units, "sd_training": seeds.std(ddof=1) if seeds.size > 1 else np.nan}
    expected = EXPECTED.get((about["model"], about["against"], about["measure"]))
    is_sure = row["difference_low"] is not None
    row |= {"expected": expected, "found": _is_found(expected, row) if expected and is_sure else None}
    return row | (failed("too_few_units", too_few.reason) if too_few else OK)


def _is_found(expected: str, row: Row) -> bool:
    return bool(row["difference_high"] < 0 if expected == "lower" else row["difference_low"] > 0)


def adjust(runner: Runner, compared: Sequence[TableRef]) -> list[TableRef]:
    """The table ``orderings`` of all models, with p-values that are adjusted for their number."""
    versions = {"operators": [spoken.VERSION, multiplicity.VERSION]}
    unit = Unit("privacy_orderings/2", "orderings", versions, {"orderings": list(compared)})
    [done] = runner.run_whole(Stage("adjust", each(_adjust), {"orderings": [unit]}))["orderings"]
    return [done.tables["orderings"]]


def _adjust(store: Store, unit: Unit) -> Tables:
    rows = [row for ref in unit.inputs["orderings"] for row in store.read(ref).to_pylist()]
    yield "orderings", table_of(adjusted(rows), tables.ORDERINGS)


def adjusted(rows: Sequence[Row]) -> list[Row]:
    """Rows with p-values that are adjusted for the tests of one corpus and measure: a column of the paper's table 1."""
    tested = np.array([np.nan if row.get("p") is None else row["p"] for row in rows], dtype=np.float64)
    keys = [(row["corpus"], row["measure"]) for row in rows]
    results = list(rows)
    for key in dict.fromkeys(keys):
        places = [place for place, other in enumerate(keys) if other == key]
        p_values = tested[places]
        for place, p_holm, p_bh in zip(places, holm(p_values), benjamini_hochberg(p_values), strict=True):
            results[place] = rows[place] | {"p_holm": float(p_holm), "p_benjamini_hochberg": float(p_bh)}
    return results
