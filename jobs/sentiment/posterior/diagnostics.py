"""What the draws of each posterior say of themselves, and how they agree with exact ones."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Tables, each
from tiltmeter.jobs.runtime.rows import OK, Row, failed, table_of
from tiltmeter.jobs.sentiment.posterior.chains import EXACT, Drawn, Posterior, load_draws
from tiltmeter.jobs.sentiment.posterior.classifiers import load_network
from tiltmeter.jobs.sentiment.posterior.tables import DIAGNOSTICS
from tiltmeter.operators.compute.arrays import FloatArray
from tiltmeter.operators.compute.generators import keyed_generator
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.compute.philox import Stream
from tiltmeter.operators.sentiment.posterior import diagnostics
from tiltmeter.operators.sentiment.posterior.diagnostics import Diagnostics, agreement, bfmi, diagnosed, faults
from tiltmeter.operators.sentiment.posterior.networks import Network, scores
from tiltmeter.storage.store.ledger import Store, TableRef, Unit

_NUM_PROJECTIONS = 3


class Quantity(NamedTuple):
    """Attributes:
    name: of a number of each draw.
    values: ``[chains, draws]``.
    """

    name: str
    values: FloatArray


def diagnose(runner: Runner, drawn: Drawn, models: Sequence[TableRef]) -> dict[Posterior, TableRef]:
    """Of each posterior that was drawn from, its part of the table ``diagnostics``."""
    units = {key: _unit(drawn, models, key) for key, refs in drawn.draws.items() if refs}
    done = runner.run_whole(Stage("diagnose", each(_diagnose), {"chains": list(units.values())}))["chains"]
    return {key: unit.tables["diagnostics"] for key, unit in zip(units, done, strict=True)}


def _unit(drawn: Drawn, models: Sequence[TableRef], key: Posterior) -> Unit:
    chains = drawn.draws[key]
    exact = drawn.draws[key._replace(sampler=EXACT)] if key.sampler != EXACT else []
    inputs = {"draws": chains, "exact": exact, "model": [models[key.seed]], "chains": drawn.chains[key]}
    settings = {"operator": diagnostics.VERSION, "posterior": key.row}
    return Unit("posterior_diagnosis/1", " ".join(map(str, key)), settings, inputs)


def _diagnose(store: Store, unit: Unit) -> Tables:
    network = load_network(store, unit.input("model"))
    draws = load_draws(store, unit.inputs["draws"])
    quantities = list(_quantities(network, draws))
    rows = [diagnosed(quantity.values) for quantity in quantities]
    status = _status(store, unit, rows)
    exact = list(_quantities(network, load_draws(store, refs))) if (refs := unit.inputs["exact"]) else None
    made = [
        unit.config["posterior"]
        | {"quantity": quantity.name}
        | row._asdict()
        | (_agreement(quantity, row, exact[number]) if exact else {})
        | status
        for number, (quantity, row) in enumerate(zip(quantities, rows, strict=True))
    ]
    yield "diagnostics", table_of(made, DIAGNOSTICS)


def _agreement(quantity: Quantity, row: Diagnostics, exact: Quantity) -> Row:
    held = agreement(quantity.values, row, exact.values.ravel())
    return {"z_exact": held.z, "ks_p": held.ks_p}


def _status(store: Store, unit: Unit, rows: list[Diagnostics]) -> Row:
    """Exact draws are independent by construction, and have nothing to converge to."""
    if unit.config["posterior"]["sampler"] == EXACT:
        return OK
    chains = [row for ref in unit.inputs["chains"] for row in store.read(ref).to_pylist()]
    energies = np.stack([np.asarray(store.read(ref.select("energy"))["energy"]) for ref in unit.inputs["draws"]])
    diverged, saturated = (sum(row[name] for row in chains) for name in ("num_diverged", "num_saturated"))
    problems = faults(rows, diverged, saturated, bfmi(energies))
    return failed("not_converged", "; ".join(problems)) if problems else OK


def _quantities(network: Network, draws: FloatArray) -> Iterator[Quantity]:
    """Every coordinate, f(s), the norm, and projections in directions that are the same for all."""
    for dimension in range(draws.shape[2]):
        yield Quantity(f"dimension {dimension}", draws[:, :, dimension])
    yield Quantity("score", scores(network, draws))
    yield Quantity("norm", np.linalg.norm(draws, axis=2))
    generator = keyed_generator(0, Stream.POSTERIOR_DRAW, document_key("projections"))
    for number in range(_NUM_PROJECTIONS):
        yield Quantity(f"projection {number}", draws @ generator.standard_normal(draws.shape[2]))
