"""The stage that looks at what a release has written: is it what its certificate says, and whom does it name?

The certificate is the row of ``releases``: the scale that the noise should have is made of its epsilon and Delta, and
the map is the one that is published. Rows are shortened here by its radius, whatever the release did.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Tables
from tiltmeter.jobs.embedding.private_vectors.config import PrivateVectorsRun
from tiltmeter.jobs.embedding.private_vectors.deniability import named_share, naming_caps
from tiltmeter.jobs.embedding.private_vectors.release.rows import Rows
from tiltmeter.jobs.embedding.private_vectors.release.secret import Secret, written
from tiltmeter.jobs.embedding.private_vectors.tables import MAP, RELEASE_AUDITS, RELEASES
from tiltmeter.jobs.runtime.rows import Row, table_of
from tiltmeter.operators.compute.arrays import FloatArray
from tiltmeter.operators.embedding.private_release import deniability, residuals
from tiltmeter.operators.embedding.private_release.mechanisms import DESIGNS, Anchor, Specification, specified
from tiltmeter.operators.embedding.private_release.projections import clipped
from tiltmeter.operators.embedding.private_release.residuals import Check, cosine_check, radius_check, stretch_check
from tiltmeter.operators.embedding.private_release.secrets import BLOCK_ROWS, keyed_digest, secret_generator
from tiltmeter.operators.embedding.private_release.sensitivity import distinct_rows
from tiltmeter.operators.statistics.multiplicity import holm
from tiltmeter.storage.store.ledger import Finished, Store, TableRef, Unit

_AUDITED = 4 * BLOCK_ROWS
_NAMED = 1000
_STRETCHED = 400
_LEVEL = 1e-5
"""A wrong release has p-values far below it; a right one is given away 100,000 times before it is denied once."""
_SLACK = 1 + 1e-9


def examined(
    runner: Runner,
    config: PrivateVectorsRun,
    secret: Secret,
    name: str,
    certificate: Row,
    finished: Sequence[Finished],
) -> dict[str, list[TableRef]]:
    """The tables ``releases``, ``release_audits`` and, where there is a map, ``map``."""
    settings = {
        "release": name,
        "certificate": certificate,
        "words": config.deniability.words,
        "draws": config.deniability.draws,
        "level": config.job.level,
        "versions": [residuals.VERSION, deniability.VERSION],
        "columns": [RELEASES.names, RELEASE_AUDITS.names],
    }
    unit = Unit("release_audits/1", "what was written", settings, {"released": [finished[0].tables["released"]]})
    [done] = runner.run_whole(Stage("audit release", _Examining(secret), {"release": [unit]}))["release"]
    return {table: [done.tables[table]] for table in ("releases", "release_audits", "map") if table in done.tables}


@dataclass(frozen=True)
class _Examining:
    """Reads the rows beside what was written of them."""

    secret: Secret

    def __call__(self, store: Store, units: Sequence[Unit]) -> Iterator[tuple[Unit, Tables]]:
        """The tables of :func:`examined`."""
        for unit in units:
            settings, certificate = unit.config, unit.config["certificate"]
            column = store.read(unit.input("released"))["vector"].combine_chunks()[:_AUDITED]
            vectors = column.flatten().to_numpy().reshape(len(column), -1)
            key, rows = self.secret.read()
            subject = _Subject.of(self.secret, rows, certificate["radius"])
            checks = list(_checks(subject, key, certificate, vectors))
            named = _named(subject, key, settings, vectors)
            row = certificate | named | {"warning": _warning(certificate, named, checks)}
            row = {column: value for column, value in row.items() if column in RELEASES.names}
            tables = [("releases", table_of([row], RELEASES)), ("release_audits", table_of(checks, RELEASE_AUDITS))]
            if self.secret.projection is not None:
                lines = [{"row": number, "vector": line} for number, line in enumerate(self.secret.projection.tolist())]
                tables.append(("map", pa.Table.from_pylist(lines, MAP)))
            yield unit, tables


@dataclass(frozen=True)
class _Subject:
    """What a release is of, as the certificate says it.

    Attributes:
        secret: of the release.
        vectors: ``[p, d]`` the vocabulary that an attacker knows, or the private vectors; no two are equal.
        images: ``[p, m]`` of these.
        rows: ``[n, m]`` images of the first rows that were given away.
    """

    secret: Secret
    vectors: FloatArray
    images: FloatArray
    rows: FloatArray

    @classmethod
    def of(cls, secret: Secret, rows: Rows, radius: float | None) -> "_Subject":
        whole = replace(rows, radius=None)
        given = whole.block(0, min(rows.num, _AUDITED))
        vectors = rows.vectors
        if radius:
            given, vectors = clipped(given, radius), clipped(vectors, radius)
        vectors = vectors[distinct_rows(vectors)]
        return cls(secret, vectors, secret.images(vectors), secret.images(given))


def _checks(subject: _Subject, key: bytes, certificate: Mapping[str, Any], vectors: FloatArray) -> Iterator[Row]:
    sensitivity = certificate["sensitivity"]
    # Of normal noise the certificate is an epsilon at the largest distance that there may be.
    anchor = Anchor(certificate["reach"] or 1.0, 1.0, certificate["delta"])
    made = specified(DESIGNS[certificate["mechanism"]], vectors.shape[1], sensitivity, certificate["epsilon"], anchor)
    noise = vectors - subject.rows[: len(vectors)]
    checks = {"radius": radius_check(noise, made.law, made.scale)}
    checks |= {name: cosine_check(*pairs) for name, pairs in _pairs(subject, key, noise).items() if len(pairs[0])}
    p_values = np.array([check.p for check in checks.values()])
    far = residuals.most_stretched(subject.vectors, subject.secret.projection, _STRETCHED)
    stretch = stretch_check(far, subject.secret.projection, sensitivity)
    for (name, check), adjusted in zip(checks.items(), holm(p_values), strict=True):
        yield _check_row(name, check) | {
            "p_value": check.p,
            "p_holm": float(adjusted),
            "verdict": "not the specified law" if adjusted <= _LEVEL else "within",
        }
    is_beyond = stretch.value > sensitivity * _SLACK
    yield _check_row("stretch", stretch) | {"verdict": "above the claim" if is_beyond else "within"}


def _check_row(name: str, check: Check) -> Row:
    about = {"check": name, "value": check.value, "expected": check.expected, "num_compared": check.num}
    return about | {"level": _LEVEL}


def _pairs(subject: _Subject, key: bytes, noise: FloatArray) -> dict[str, tuple[FloatArray, FloatArray]]:
    """Noise of rows that must have nothing to do with each other."""
    about, images = subject.secret.about, subject.rows[: len(noise)]
    half, blocks = len(noise) // 2, len(noise) - BLOCK_ROWS
    renamed = written(images, key, {**about, "name": f"{about['name']}, written again to be audited"}, 0)
    rekeyed = written(images, keyed_digest(key, {"for": "audit"}), about, 0)
    return {
        "rows": (noise[: 2 * half : 2], noise[1 : 2 * half : 2]),
        "blocks": (noise[: max(min(blocks, BLOCK_ROWS), 0)], noise[BLOCK_ROWS : 2 * BLOCK_ROWS]),
        "another_name": (noise, renamed - images),
        "another_key": (noise, rekeyed - images),
    }


# --- whom it names --------------------------------------------------------------------------------------------------


def _named(subject: _Subject, key: bytes, settings: Mapping[str, Any], vectors: FloatArray) -> Row:
    """By an attacker who knows all words and the map: of the rows that were given away, and of words released anew."""
    about, images = subject.secret.about, subject.images
    generator = secret_generator(key, {**about, "for": "attacker"}, 0)
    tried = generator.permutation(len(vectors))[:_NAMED]
    hits = deniability.are_named(vectors[tried], subject.rows[tried], images)
    named = {"named": float(hits.mean()), "num_named": len(hits)}
    words, num_draws = generator.permutation(len(images))[: settings["words"]], settings["draws"]
    if not len(words) or len(images) < 2:
        return named
    repeated = np.repeat(words, num_draws)
    drawn = written(images[repeated], key, {**about, "for": "attacker"}, 0)
    anew = deniability.are_named(drawn, images[repeated], images)
    made = Specification(about["law"], images.shape[1], about["sensitivity"], about["scale"])
    return named | named_share(anew, repeated, settings["level"]) | naming_caps(images, words, made)


def _warning(certificate: Mapping[str, Any], named: Mapping[str, Any], checks: Sequence[Row]) -> str:
    """What stands in the way of giving it away; empty if nothing does."""
    sentences = []
    if wrong := [row["check"] for row in checks if row["verdict"] != "within"]:
        sentences.append(f"it is not what it says ({', '.join(wrong)}): don't give it away")
    nearest = certificate["exact_nearest"]
    if nearest is not None and nearest > 1:
        sentences.append(f"near vectors have an exact epsilon of {nearest:.3g}, which is no privacy in the usual sense")
    if named["named"] > 0.5:
        sentences.append("an attacker who knows the vocabulary names more than half of what was given away")
    return "; ".join(sentences)
