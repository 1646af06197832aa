"""Release mode: secret noise, published on a grid, and nothing of what is private anywhere else.

Units are named by digests under the key, never by the content of the input: the digest of a word's vector is as good as
the word. One stage reads, perturbs and writes, so that the store never holds what is not to be given away.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from tiltmeter.cluster.stages import Stage
from tiltmeter.cluster.work import Tables, each
from tiltmeter.jobs.embedding.private_vectors.config import PrivateVectorsRun
from tiltmeter.jobs.embedding.private_vectors.release.key_file import key_path, read_key
from tiltmeter.jobs.embedding.private_vectors.release.mechanism import (
    ReleaseMechanism,
    check_grid,
    for_any_vectors,
    for_words,
)
from tiltmeter.jobs.embedding.private_vectors.release.rows import RowFiles, Rows
from tiltmeter.jobs.embedding.private_vectors.sources import PrivateSources
from tiltmeter.jobs.embedding.private_vectors.tables import RELEASED, RELEASES
from tiltmeter.jobs.runtime.config import ConfigError
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.rows import Row, table_of
from tiltmeter.operators.compute.arrays import FloatArray
from tiltmeter.operators.embedding.private_release.mechanisms import DESIGNS
from tiltmeter.operators.embedding.private_release.secrets import (
    BLOCK_ROWS,
    VERSION,
    generator_versions,
    grid_step,
    keyed_digest,
    noisy_block,
)
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.store.accounts import enter
from tiltmeter.storage.store.ledger import Store, Unit

_BLOCKS_AT_ONCE = 16
_UNITS = {"norm": "epsilon per unit of distance", "gaussian": "epsilon per unit of distance, with slack"}
"""Of what is spent, by the noise's law."""


def release(run: Run[PrivateVectorsRun, PrivateSources]) -> None:
    """Give the rows away, once the account allows it; publishes ``releases`` and ``released``."""
    config, runner = run.config, run.runner
    key, files = read_key(key_path(config)), RowFiles.of(config, run.sources)
    rows = files.read()
    width, num_rows = rows.vectors.shape[1], rows.num
    mechanism = for_words(runner, config, run.sources) if files.words else for_any_vectors(config, width)
    check_grid(config, mechanism, rows.vectors)
    about = _derivation(config, rows.digest(key), mechanism)
    del rows
    name = keyed_digest(key, about).hex()
    spent = _spend(run, name)
    starts = range(0, num_rows, BLOCK_ROWS * _BLOCKS_AT_ONCE)
    units = [Unit(VERSION, f"rows from {start}", {"release": name, "start": start}) for start in starts]
    work = _Releasing(key_path(config), files, about, mechanism.projection)
    finished = runner.run_whole(Stage("release", work, {"rows": units}, batch_size=None))["rows"]
    run.publish("released", [done.tables["released"] for done in finished])
    account = _row(config, mechanism, spent, num_rows, width)
    unit = Unit("releases/2", "account", {"row": account})
    [entered] = runner.run_whole(Stage("account", each(_write), {"account": [unit]}))["account"]
    run.publish("releases", [entered.tables["releases"]])


def _derivation(config: PrivateVectorsRun, content: str, mechanism: ReleaseMechanism) -> dict[str, Any]:
    """Everything that defines the release: no two of them share noise, not even of one name on changed rows."""
    made, chosen = mechanism.specification, config.release
    rows = b"" if mechanism.projection is None else np.ascontiguousarray(mechanism.projection).tobytes()
    return {
        **made._asdict(),
        "epsilon": chosen.epsilon,
        "mechanism": chosen.mechanism,
        "name": chosen.name,
        "input": chosen.input,
        "step": grid_step(made.deviation),
        "map": hashlib.sha256(rows).hexdigest(),
        "content": content,
        "version": VERSION,
        "generators": generator_versions(),
    }


def _spend(run: Run[PrivateVectorsRun, PrivateSources], name: str) -> float:
    chosen = run.config.release
    unit = _UNITS[DESIGNS[chosen.mechanism].law]
    limit = chosen.max_epsilon
    balance = enter(run.runner.store, chosen.input, name, chosen.epsilon, limit, unit=unit, setting="release.input")
    if balance is None:
        raise ConfigError(
            f"release.epsilon={chosen.epsilon:g}: with what other releases of {chosen.input!r} have spent, this is "
            f"more than release.max_epsilon={chosen.max_epsilon:g}; lower it, or raise release.max_epsilon if you may"
        )
    return balance.spent


@dataclass(frozen=True)
class _Releasing:
    """Reads, perturbs and yields; what it is told here is in no unit's identity.

    Attributes:
        key_file: where the secret is; the secret itself does not travel.
        about: what defines the release.
        projection: of the mechanism.
    """

    key_file: Path
    files: RowFiles
    about: Mapping[str, Any]
    projection: FloatArray | None

    def __call__(self, _: Store, units: Sequence[Unit]) -> Iterator[tuple[Unit, Tables]]:
        """The table ``released`` of some blocks of rows for each unit; the rows are read once for all."""
        key, rows = read_key(self.key_file), self.files.read()
        if rows.digest(key) != self.about["content"]:
            raise InputError("what is released has changed since the run began; start it again")
        for unit in units:
            yield unit, [("released", pa.concat_tables(list(self._blocks(key, rows, unit.config["start"]))))]

    def _blocks(self, key: bytes, rows: Rows, start: int) -> Iterator[pa.Table]:
        law, scale, step = (self.about[name] for name in ("law", "scale", "step"))
        for first in range(start, min(start + BLOCK_ROWS * _BLOCKS_AT_ONCE, rows.num), BLOCK_ROWS):
            block = rows.block(first, first + BLOCK_ROWS)
            images = block if self.projection is None else block @ self.projection.T
            noisy = noisy_block(images, key, self.about, first // BLOCK_ROWS, law, scale, step)
            numbers = pa.array(range(first, first + len(block)), pa.int64())
            flat = pa.ListArray.from_arrays(np.arange(0, noisy.size + 1, noisy.shape[1], dtype=np.int32), noisy.ravel())
            yield pa.table([numbers, flat], schema=RELEASED)


def _row(config: PrivateVectorsRun, mechanism: ReleaseMechanism, spent: float, num_rows: int, width: int) -> Row:
    chosen, made = config.release, mechanism.specification
    return {
        "release": chosen.name,
        "input": chosen.input,
        "mechanism": chosen.mechanism,
        "dimensions": made.num_dimensions,
        "epsilon": chosen.epsilon,
        "spent": spent,
        "max_epsilon": chosen.max_epsilon,
        "sensitivity": made.sensitivity,
        "delta": mechanism.delta,
        "scale": made.scale,
        "step": grid_step(made.deviation),
        "rounding_delta": mechanism.rounding(num_rows, width),
        "num_rows": num_rows,
        "guarantee": mechanism.guarantee,
    }


def _write(_: Store, unit: Unit) -> Tables:
    yield "releases", table_of([unit.config["row"]], RELEASES)
