"""What workers of a release are told: where the key and the rows are, and what defines the noise."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tiltmeter.jobs.embedding.private_vectors.release.key_file import read_key
from tiltmeter.jobs.embedding.private_vectors.release.rows import RowFiles, Rows
from tiltmeter.operators.compute.arrays import FloatArray
from tiltmeter.operators.embedding.private_release.secrets import noisy_rows
from tiltmeter.storage.errors import InputError


@dataclass(frozen=True)
class Secret:
    """What is said here is in no unit's identity.

    Attributes:
        key_file: where the key is; the key itself does not travel.
        about: what defines the release.
        projection: of the mechanism.
    """

    key_file: Path
    files: RowFiles
    about: Mapping[str, Any]
    projection: FloatArray | None

    def read(self) -> tuple[bytes, Rows]:
        """The key, and the rows as the release began with them.

        Raises:
            InputError: if they have changed since.
        """
        key, rows = read_key(self.key_file), self.files.read()
        if rows.digest(key) != self.about["content"]:
            raise InputError("what is released has changed since the run began; start it again")
        return key, rows

    def images(self, vectors: FloatArray) -> FloatArray:
        """Phi x of vectors."""
        return vectors if self.projection is None else vectors @ self.projection.T


def written(images: FloatArray, key: bytes, about: Mapping[str, Any], start: int) -> FloatArray:
    """What a release writes of rows from one on; audits have planted rows written by it, too.

    Args:
        images: ``[n, m]``.
        about: with ``law``, ``scale`` and ``step``; all of it defines the noise.
        start: number of the first row, at the beginning of a block.
    """
    return noisy_rows(images, key, about, start, about["law"], about["scale"], about["step"])
