"""Which decoys the texts have no place for: told before anything is trained."""

from collections.abc import Mapping, Sequence

import pyarrow as pa

from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Tables, each
from tiltmeter.jobs.classifiers.decoys import tables
from tiltmeter.jobs.classifiers.decoys.config import USUAL_DECOYS, DecoyBenchmarkRun
from tiltmeter.operators.classifiers.decoys import kinds as decoys
from tiltmeter.operators.classifiers.decoys.kinds import Decoy, Text, resolved
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.store.ledger import Store, TableRef, Unit

LEFT_OUT = "left_out"
"""Status of a usual decoy that the texts have no place for."""


def left_out_decoys(runner: Runner, config: DecoyBenchmarkRun, texts: TableRef) -> tuple[TableRef, frozenset[str]]:
    """Rows of the table ``decoys`` for usual ones that do not fit the texts, and their names.

    Args:
        texts: of the schema ``SPLIT``.

    Raises:
        InputError: if a decoy that somebody chose does not fit, or none does.
    """
    unit = Unit("decoy_fit/1", "decoys", {"operator": decoys.VERSION, "decoys": config.decoys}, {"texts": [texts]})
    [done] = runner.run_whole(Stage("fit decoys", each(_fit), {"decoys": [unit]}))["decoys"]
    reasons = {row["decoy"]: row["reason"] for row in runner.store.read(done.tables["left_out"]).to_pylist()}
    check_fit(config.decoys, reasons)
    return done.tables["left_out"], frozenset(reasons)


def check_fit(chosen: Mapping[str, Decoy], reasons: Mapping[str, str]) -> None:
    """Refuse decoys that do not fit the texts, if they are no usual ones or if none is left.

    Args:
        chosen: all of the run.
        reasons: why some do not fit.

    Raises:
        InputError: with all of these reasons.
    """
    refused = [name for name in reasons if chosen[name] != USUAL_DECOYS.get(name)]
    if len(reasons) == len(chosen):
        refused = list(reasons)
    if refused:
        raise InputError("; ".join(f"decoys.{name}: {reasons[name]}" for name in refused))


def _fit(store: Store, unit: Unit) -> Tables:
    rows = store.read(unit.input("texts")).to_pylist()
    learnt = [Text(row["text"], row["label"]) for row in rows if row["part"] == "training"]
    rows = [
        {"decoy": name, "status": LEFT_OUT, "reason": reason}
        for name, reason in misfits(unit.config["decoys"], learnt).items()
    ]
    yield "left_out", pa.Table.from_pylist(rows, tables.DECOYS)


def misfits(chosen: Mapping[str, Decoy], texts: Sequence[Text]) -> dict[str, str]:
    """The decoys that training texts have no place for, and why."""
    reasons = {}
    for name, decoy in chosen.items():
        try:
            resolved(decoy, texts)
        except ValueError as error:
            reasons[name] = str(error)
    return reasons
