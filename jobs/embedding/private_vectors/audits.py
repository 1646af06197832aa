"""Audits: of mechanisms, by histograms of scores of many releases, and of what a release has written.

Rows of a pair of words are planted and written by what writes a release (:func:`.noisy_rows`), under keys made of the
public seed: each batch under a name of its own, its companions in other blocks of rows, and all once more by another
name and once more by another key. What is claimed of a pair is epsilon times its distance, as the table ``mechanisms``
has it, whatever noise was made for it.

Of a release the certificate is the row of ``releases``: the scale that the noise should have is made of its epsilon and
Delta, and the map is the one that is published. Rows are shortened here by its radius, whatever the release did.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tiltmeter.cluster.work import Tables
from tiltmeter.jobs.embedding.private_vectors.mechanisms import Mechanism, Noise
from tiltmeter.jobs.embedding.private_vectors.sources import Secret
from tiltmeter.jobs.embedding.private_vectors.tables import Audits, ReleaseAudits, ReleasedMap, Releases, ScoreCounts
from tiltmeter.jobs.embedding.private_vectors.utility import attacker_columns
from tiltmeter.jobs.embedding.private_vectors.vocabulary import PrivateRun, columns_of, words_and_vectors
from tiltmeter.jobs.embedding.vectors import vector_column
from tiltmeter.jobs.runtime.rows import Row
from tiltmeter.jobs.runtime.table import tables_of
from tiltmeter.jobs.runtime.work import Done, Work, aside
from tiltmeter.operators.compute.arrays import FloatArray
from tiltmeter.operators.compute.generators import keyed_generator
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.compute.philox import Stream
from tiltmeter.operators.embedding.private_release import (
    bounds,
    deniability,
    noise,
    profile,
    residuals,
    scores,
    verdicts,
)
from tiltmeter.operators.embedding.private_release import secrets as keys
from tiltmeter.operators.embedding.private_release.mechanisms import (
    DESIGNS,
    Anchor,
    Specification,
    exact_epsilon,
    specified,
)
from tiltmeter.operators.embedding.private_release.projections import clipped
from tiltmeter.operators.embedding.private_release.scores import SCORES, Planted, Score, pair_rows
from tiltmeter.operators.embedding.private_release.secrets import BLOCK_ROWS, Rows, noisy_rows
from tiltmeter.operators.embedding.private_release.sensitivity import distinct_rows
from tiltmeter.operators.embedding.private_release.verdicts import audit_pair
from tiltmeter.storage.store.ledger import Store, TableRef

_AUDITED = 4 * BLOCK_ROWS
_NAMED = 1000
_STRETCHED = 400


# --- mechanisms of the study ----------------------------------------------------------------------------------------


def audit_mechanisms(run: PrivateRun, vocabulary: TableRef, mechanisms: Sequence[Mechanism]) -> None:
    """Publish the table ``audits``, of every mechanism at the nominal epsilon of the audit."""
    config, audit = run.config, run.config.audit
    asked = [item for item in mechanisms if (item.compared_at, item.epsilon) == ("nominal", audit.epsilon)]
    pairs = [f"{kind} {number}" for number in range(audit.pairs) for kind in ("nearest", "random")]
    if not (asked and pairs):
        return
    choice = ChoosePairs(group="pairs", label="pairs", pairs=pairs, seed=config.seed, vocabulary=vocabulary)
    words = run.do([choice]).one("pairs")
    groups = {f"{item.name}, {pair}": (item, pair) for item in asked for pair in pairs}
    counted = run.do(
        (
            DrawReleases(
                group=group,
                label=f"{group}, {side} {batch}",
                **_about(item, pair, config.seed, words),
                side=side,
                number=batch,
                draws=min(audit.batch, audit.draws - start),
            )
            for group, (item, pair) in groups.items()
            for side in ("first", "second")
            for batch, start in enumerate(range(0, audit.draws, audit.batch))
        ),
        batch_size=None,
    )
    run.do(
        (
            JudgePair(
                group=group,
                label=group,
                **_about(*groups[group], config.seed, words),
                row=groups[group][0].row,
                epsilon=audit.epsilon,
                delta=config.deltas[0],
                level=audit.level,
                family=len(groups),
                first=_counts(done, "first"),
                second=_counts(done, "second"),
            )
            for group, done in counted.groups.items()
        ),
        batch_size=None,
    )


def _about(item: Mechanism, pair: str, seed: int, words: TableRef) -> dict[str, Any]:
    return {"mechanism": item.noise, "name": item.name, "pair": pair, "seed": seed, "pairs": words}


def _counts(done: "Done[DrawReleases]", side: str) -> list[TableRef]:
    return [unit.tables["counts"] for work, unit in done.pairs if work.side == side]


class ChoosePairs(Work, unit="private_pairs/1", stage="choose pairs"):
    """The few words of all pairs: whoever draws releases need not read the others."""

    pairs: Sequence[str]
    seed: int
    vocabulary: TableRef

    def tables(self, store: Store) -> Tables:
        words, vectors = words_and_vectors(store, self.vocabulary)
        rows = {}
        for pair in self.pairs:
            kind, number = pair.split()
            generator = keyed_generator(self.seed, Stream.PRIVATE_STUDY, document_key("pairs"), int(number))
            rows[pair] = pair_rows(vectors, generator.permutation(len(vectors)), is_nearest=kind == "nearest")
        flat = [row for part in rows.values() for row in part]
        columns = {
            "pair": pa.array([pair for pair, part in rows.items() for _ in part], pa.string()),
            "word": pa.array([words[row] for row in flat], pa.string()),
            "vector": vector_column(vectors[flat]),
        }
        yield "pairs", pa.table(columns)


class OfPair(Work):
    """What is done with one pair of words, by one mechanism."""

    mechanism: Noise
    name: str
    pair: str
    seed: int
    noise: Sequence[str] = (noise.VERSION, keys.VERSION)
    pairs: TableRef

    def planted(self, store: Store) -> tuple[str, Planted]:
        """The two words, and what is planted of them."""
        table = store.read(self.pairs)
        words, vectors = columns_of(table.filter(pc.equal(table["pair"], self.pair)))
        images = self.mechanism.images(store, vectors)
        return f"{words[0]}, {words[1]}", Planted(vectors, images, self.mechanism.specification)


class DrawReleases(OfPair, unit=scores.VERSION, stage="draw releases", makes=[ScoreCounts]):
    """How often releases of a word of the pair have which score, of one batch."""

    side: str
    number: int
    draws: int

    def rows(self, store: Store) -> Iterator[ScoreCounts]:
        _, planted = self.planted(store)
        about = {"name": self.name, "mechanism": planted.made._asdict(), "pair": self.pair}
        name = json.dumps(about | {"side": self.side, "batch": self.number}, sort_keys=True)
        for score, counts in planted.counts(self.seed, name, self.side, self.draws).items():
            for place in np.flatnonzero(counts).tolist():
                yield ScoreCounts(score=score, bin=place, count=int(counts[place]))


class JudgePair(OfPair, unit=verdicts.VERSION, stage="judge", makes=[Audits]):
    """What all batches say together of a mechanism and a pair.

    Attributes:
        family: pairs and mechanisms that share the level.
        first, second: counts of the batches of either word.
    """

    row: Row
    epsilon: float
    delta: float
    level: float
    family: int
    versions: Sequence[str] = (bounds.VERSION, profile.VERSION)
    columns: Sequence[str] = tuple(Audits.schema().names)
    first: Sequence[TableRef]
    second: Sequence[TableRef]

    def rows(self, store: Store) -> Iterator[Audits]:
        words, planted = self.planted(store)
        made, pair = planted.made, planted.pair
        counts, num_draws = self._added(store, scores.score_edges(pair))
        claimed = self.epsilon * planted.distance if made.law == "norm" else inf
        level = bounds.share_of_level(self.level, self.family)
        results = audit_pair(pair, claimed, counts, level, step=planted.step)
        excess = planted.most_stretched_claim(self.epsilon)
        exact = exact_epsilon(made, pair.distance, self.delta)
        about = {name: value for name, value in self.row.items() if name != "compared_at"}
        for score, result in results.items():
            row = Audits(**about, choice=self.pair, pair=words, score=score, num_draws=num_draws)
            row.claimed, row.exact = claimed, exact
            row.audited, row.audited_low, row.audited_high = result.loss
            row.verdict = "above the claim" if score == "likelihood" and excess > 1 else result.verdict
            row.level, row.family = self.level, self.family * len(results)
            yield row

    def _added(self, store: Store, edges: Mapping[Score, FloatArray]) -> tuple[dict[Score, bounds.Counts], int]:
        sides = {score: [np.zeros(len(edges[score]) - 1, np.int64) for _ in range(4)] for score in SCORES}
        for number, refs in enumerate((self.first, self.second)):
            for batch, ref in enumerate(refs):
                place = number + 2 * (batch % bounds.CHOOSING > 0)
                for part in store.read(ref).to_pylist():
                    sides[part["score"]][place][part["bin"]] += part["count"]
        added = {score: bounds.Counts(*counts) for score, counts in sides.items()}
        return added, int(added["repeated"].chosen_first.sum() + added["repeated"].first.sum())


# --- what a release has written -------------------------------------------------------------------------------------


class ExamineRelease(
    Work, unit="release_audits/1", stage="audit release", makes=[Releases, ReleaseAudits, ReleasedMap]
):
    """Whether what was written is what its certificate says, and whom it names, as words are released anew, too."""

    release: str
    certificate: Row
    words: int
    draws: int
    level: float
    versions: Sequence[str] = (residuals.VERSION, deniability.VERSION)
    columns: Sequence[Sequence[str]] = tuple(tuple(table.schema().names) for table in (Releases, ReleaseAudits))
    released: TableRef
    secret: Secret = aside(default=None)

    def tables(self, store: Store) -> Tables:
        kinds = [Releases, ReleaseAudits, *([ReleasedMap] if self.secret.projection is not None else [])]
        return tables_of(self.rows(store), kinds)

    def rows(self, store: Store) -> Iterator[Releases | ReleaseAudits | ReleasedMap]:
        column = store.read(self.released)["vector"].combine_chunks()[:_AUDITED]
        vectors = column.flatten().to_numpy().reshape(len(column), -1)
        key, rows = self.secret.read()
        subject = _Subject.of(self.secret, rows, self.certificate["radius"])
        checks = list(_checks(subject, key, self.certificate, vectors))
        named = _named(subject, key, vectors, self.words, self.draws, self.level)
        known = {name: value for name, value in self.certificate.items() if name != "reach"}
        yield Releases(**known, **named, warning=_warning(self.certificate, named, checks))
        yield from checks
        if self.secret.projection is not None:
            for number, line in enumerate(self.secret.projection.tolist()):
                yield ReleasedMap(row=number, vector=line)


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
        given, vectors = replace(rows, radius=None).block(0, min(rows.num, _AUDITED)), rows.vectors
        if radius:
            given, vectors = clipped(given, radius), clipped(vectors, radius)
        vectors = vectors[distinct_rows(vectors)]
        return cls(secret, vectors, secret.images(vectors), secret.images(given))


def _checks(subject: _Subject, key: bytes, certificate: Row, vectors: FloatArray) -> Iterator[ReleaseAudits]:
    # Of normal noise the certificate is an epsilon at the largest distance that there may be.
    anchor = Anchor(certificate["reach"] or 1.0, 1.0, certificate["delta"])
    design, claim = DESIGNS[certificate["mechanism"]], certificate["sensitivity"]
    made = specified(design, vectors.shape[1], claim, certificate["epsilon"], anchor)
    images, projection = subject.rows[: len(vectors)], subject.secret.projection
    far = residuals.most_stretched(subject.vectors, projection, _STRETCHED)
    stretch = residuals.stretch_check(far, projection, claim)
    checks = residuals.release_checks(vectors - images, images, key, subject.secret.about, made, stretch)
    for name, (check, p_holm, verdict) in checks.items():
        row = ReleaseAudits(check=name, value=check.value, expected=check.expected, num_compared=check.num)
        row.p_value, row.p_holm, row.verdict, row.level = check.p, p_holm, verdict, residuals.LEVEL
        yield row


def _named(subject: _Subject, key: bytes, vectors: FloatArray, num_words: int, num_draws: int, level: float) -> Row:
    """By an attacker who knows all words and the map: of the rows that were given away, and of words released anew."""
    about, images = subject.secret.about, subject.images
    generator = keys.secret_generator(key, {**about, "for": "attacker"}, 0)
    tried = generator.permutation(len(vectors))[:_NAMED]
    hits = deniability.are_named(vectors[tried], subject.rows[tried], images)
    named: Row = {"named": float(hits.mean()), "num_named": len(hits)}
    words = generator.permutation(len(images))[:num_words]
    if not len(words) or len(images) < 2:
        return named
    repeated = np.repeat(words, num_draws)
    drawn = noisy_rows(images[repeated], key, {**about, "for": "attacker"}, 0)
    made = Specification(about["law"], images.shape[1], about["sensitivity"], about["scale"])
    return named | attacker_columns(deniability.are_named(drawn, images[repeated], images), words, images, made, level)


def _warning(certificate: Row, named: Row, checks: Sequence[ReleaseAudits]) -> str:
    """What stands in the way of giving it away; empty if nothing does."""
    sentences = []
    if wrong := [row.check for row in checks if row.verdict != "within"]:
        sentences.append(f"it is not what it says ({', '.join(wrong)}): don't give it away")
    nearest = certificate["exact_nearest"]
    if nearest is not None and nearest > 1:
        sentences.append(f"near vectors have an exact epsilon of {nearest:.3g}, which is no privacy in the usual sense")
    if named["named"] > 0.5:
        sentences.append("an attacker who knows the vocabulary names more than half of what was given away")
    return "; ".join(sentences)
