"""Release mode: secret noise, published on a grid, and nothing of what is private anywhere else.

Units are named by digests under the key, never by the content of the input: the digest of a word's vector is as good as
the word. One stage reads, perturbs and writes, so that the store never holds what is not to be given away.
"""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from tiltmeter.cluster.stages import Stage
from tiltmeter.cluster.work import Tables
from tiltmeter.jobs.embedding.private_vectors.config import PrivateVectorsRun
from tiltmeter.jobs.embedding.private_vectors.release.audit import examined
from tiltmeter.jobs.embedding.private_vectors.release.key_file import check_key_everywhere, key_path, read_key
from tiltmeter.jobs.embedding.private_vectors.release.mechanism import (
    ReleaseMechanism,
    check_grid,
    for_any_vectors,
    for_words,
    nominal,
)
from tiltmeter.jobs.embedding.private_vectors.release.privacy import privacy_of, spend
from tiltmeter.jobs.embedding.private_vectors.release.rows import RowFiles, Rows
from tiltmeter.jobs.embedding.private_vectors.release.secret import Secret, written
from tiltmeter.jobs.embedding.private_vectors.sources import PrivateSources
from tiltmeter.jobs.embedding.private_vectors.tables import RELEASED
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.rows import Row
from tiltmeter.operators.embedding.private_release.secrets import (
    BLOCK_ROWS,
    VERSION,
    generator_versions,
    grid_step,
    keyed_digest,
)
from tiltmeter.storage.store.ledger import Store, Unit

_BLOCKS_AT_ONCE = 16


def release(run: Run[PrivateVectorsRun, PrivateSources]) -> None:
    """Give the rows away, once every node has the key and the account allows it, and look at what was written."""
    config, runner = run.config, run.runner
    path = key_path(config)
    key, files = read_key(path), RowFiles.of(config, run.sources)
    check_key_everywhere(runner, path, key)
    rows = files.read()
    width, num_rows = rows.vectors.shape[1], rows.num
    mechanism = for_words(runner, config, run.sources) if files.words else for_any_vectors(config, width)
    check_grid(config, mechanism, rows.vectors)
    privacy = privacy_of(config, rows, mechanism)
    about = _derivation(config, rows.digest(key), mechanism)
    del rows
    name = keyed_digest(key, about).hex()
    account = spend(config, runner.store, name, mechanism.promise)
    starts = range(0, num_rows, BLOCK_ROWS * _BLOCKS_AT_ONCE)
    units = [Unit(VERSION, f"rows from {start}", {"release": name, "start": start}) for start in starts]
    secret = Secret(path, files, about, mechanism.projection)
    finished = runner.run_whole(Stage("release", _Releasing(secret), {"rows": units}, batch_size=None))["rows"]
    run.publish("released", [done.tables["released"] for done in finished])
    row = account | privacy._asdict() | _row(config, mechanism, num_rows, width)
    run.publish_all(examined(runner, config, secret, name, row, finished))


def _derivation(config: PrivateVectorsRun, content: str, mechanism: ReleaseMechanism) -> dict[str, Any]:
    """Everything that defines the release: no two of them share noise, not even of one name on changed rows."""
    made, chosen = mechanism.specification, config.release
    rows = b"" if mechanism.projection is None else np.ascontiguousarray(mechanism.projection).tobytes()
    return {
        **made._asdict(),
        "epsilon": nominal(config),
        "mechanism": chosen.mechanism,
        "name": chosen.name,
        "input": chosen.input,
        "step": grid_step(made.deviation),
        "map": hashlib.sha256(rows).hexdigest(),
        "content": content,
        "version": VERSION,
        "generators": generator_versions(),
    }


@dataclass(frozen=True)
class _Releasing:
    """Reads, perturbs and yields."""

    secret: Secret

    def __call__(self, _: Store, units: Sequence[Unit]) -> Iterator[tuple[Unit, Tables]]:
        """The table ``released`` of some blocks of rows for each unit; the rows are read once for all."""
        key, rows = self.secret.read()
        for unit in units:
            yield unit, [("released", pa.concat_tables(list(self._blocks(key, rows, unit.config["start"]))))]

    def _blocks(self, key: bytes, rows: Rows, start: int) -> Iterator[pa.Table]:
        for first in range(start, min(start + BLOCK_ROWS * _BLOCKS_AT_ONCE, rows.num), BLOCK_ROWS):
            block = rows.block(first, first + BLOCK_ROWS)
            noisy = written(self.secret.images(block), key, self.secret.about, first)
            numbers = pa.array(range(first, first + len(block)), pa.int64())
            flat = pa.ListArray.from_arrays(np.arange(0, noisy.size + 1, noisy.shape[1], dtype=np.int32), noisy.ravel())
            yield pa.table([numbers, flat], schema=RELEASED)


def _row(config: PrivateVectorsRun, mechanism: ReleaseMechanism, num_rows: int, width: int) -> Row:
    chosen, made = config.release, mechanism.specification
    return {
        "release": chosen.name,
        "input": chosen.input,
        "mechanism": chosen.mechanism,
        "dimensions": made.num_dimensions,
        "epsilon": mechanism.promise.epsilon,
        "sensitivity": made.sensitivity,
        "delta": mechanism.promise.delta,
        "scale": made.scale,
        "step": grid_step(made.deviation),
        "radius": chosen.radius,
        "rounding_delta": mechanism.rounding(num_rows, width),
        "num_rows": num_rows,
        "guarantee": mechanism.guarantee,
        "reach": mechanism.promise.reach,
    }
