"""Candidates for every word of the texts, along each direction and each of its controls."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Tables, each
from tiltmeter.jobs.adversary import tables
from tiltmeter.jobs.adversary.config import (
    AdversarySources,
    CandidateConfig,
    Controls,
    DirectionKind,
    Directions,
    GenderAdversaryRun,
)
from tiltmeter.jobs.adversary.texts import stop_words
from tiltmeter.jobs.adversary.vocabularies import Vocabulary, constraints_of, word_pairs
from tiltmeter.jobs.embedding.vectors import matrix
from tiltmeter.jobs.runtime.rows import Row, table_of
from tiltmeter.operators.classifiers.adversary import candidates as adversary_candidates
from tiltmeter.operators.classifiers.adversary import constraints as adversary_constraints
from tiltmeter.operators.classifiers.adversary import controls as adversary_controls
from tiltmeter.operators.classifiers.adversary import words as adversary_words
from tiltmeter.operators.classifiers.adversary.candidates import (
    Candidates,
    Crossings,
    nearest_candidates,
    shifted_candidates,
    unit_rows,
)
from tiltmeter.operators.classifiers.adversary.controls import matched_pairs, sphere_directions, without_gender
from tiltmeter.operators.classifiers.adversary.words import Gender, gender_signs
from tiltmeter.operators.compute.arrays import FloatArray
from tiltmeter.operators.embedding import counter_fitting
from tiltmeter.operators.embedding.counter_fitting import counter_fitted
from tiltmeter.storage.bad_records import BadRecords
from tiltmeter.storage.store.ledger import Store, TableRef, Unit
from tiltmeter.storage.vectors.files import read_embedding

NEIGHBOURS = "neighbours"
_OPERATORS = (adversary_candidates, adversary_constraints, adversary_controls, adversary_words, counter_fitting)
_CONTROLS_OF_UNIT = 25
_ROWS_AT_ONCE = 50_000
_DEPTH = 4
"""Candidates along controls for each that a direction can have, of which those that are as frequent are taken."""


class Near(NamedTuple):
    """Attributes:
    along: candidates along the directions, of the schema ``NEAR``, one table for each embedding.
    controls: the same along their controls.
    pairs: whose differences the controls are.
    """

    along: Sequence[TableRef]
    controls: Sequence[TableRef]
    pairs: Sequence[TableRef]


def direction_name(kind: DirectionKind | str, gender: str) -> str:
    """What tables call a direction.

    >>> direction_name("pair", "female")
    'pair_to_female'
    """
    return f"{kind}_to_{gender}"


def genders(config: Directions) -> list[Gender]:
    """Towards which words are replaced, in order."""
    return ["female", "male"] if config.both else ["female"]


def find_candidates(
    runner: Runner,
    config: GenderAdversaryRun,
    sources: AdversarySources,
    words: TableRef,
    counts: TableRef,
    vectors: Sequence[TableRef],
) -> Near:
    """Of all words, in all embeddings; along control directions in the original alone.

    Args:
        words: that may be replaced.
        counts: of all words of the texts.
        vectors: of the embedding and its replicas.
    """
    settings = {
        "operators": [module.VERSION for module in _OPERATORS],
        "direction": config.direction,
        "candidates": config.candidates,
        "lists": {name: file.identity for name, file in sources.lists.files.items()},
        "words": config.words,
    }
    inputs = {"words": [words], "counts": [counts]}
    units = [
        _unit(f"replica {number}", {**settings, "replica": number}, inputs, ref) for number, ref in enumerate(vectors)
    ]
    starts = range(0, config.controls.number if config.direction.shifts else 0, _CONTROLS_OF_UNIT)
    drawn = {**settings, "replica": 0, "controls": config.controls, "seed": config.seed}
    controls = [_unit(f"controls from {start}", {**drawn, "start": start}, inputs, vectors[0]) for start in starts]
    done = runner.run_whole(Stage("find candidates", each(_find), {"candidates": [*units, *controls]}))["candidates"]
    along, others = done[: len(units)], done[len(units) :]
    return Near(
        *([unit.tables[name] for unit in part] for part, name in ((along, "near"), (others, "near"), (others, "pairs")))
    )


def _unit(name: str, settings: Row, inputs: Mapping[str, list[TableRef]], vectors: TableRef) -> Unit:
    return Unit("adversary_near/2", name, settings, {**inputs, "vectors": [vectors]})


def _find(store: Store, unit: Unit) -> Tables:
    config, table = unit.config, store.read(unit.input("vectors"))
    table = table.filter(table["vector"].is_valid())
    vectors = matrix(table["vector"]).astype(np.float64)
    counts = dict(zip(*store.read(unit.input("counts")).to_pydict().values(), strict=True))
    vocabulary = Vocabulary.made(table["word"].to_pylist(), vectors, config, counts)
    words = [word for word in store.read(unit.input("words"))["word"].to_pylist() if word in vocabulary.rows]
    if "controls" in config:
        named = [control for kind in config["direction"].shifts for control in _controls(vocabulary, kind, config)]
        yield "pairs", table_of([_pair_row(one) for one in named], tables.PAIRS)
    else:
        named = [shift for kind in config["direction"].shifts for shift in _shifts(vocabulary, kind, config)]
    yield "near", _table(chain(_along(vocabulary, words, named, config), _neighbours(vocabulary, words, config)))


def _table(rows: Iterator[Row]) -> pa.Table:
    """Rows of a part at a time: as they are, they take ten times their memory."""
    parts = [tables.NEAR.empty_table()]
    while some := list(islice(rows, _ROWS_AT_ONCE)):
        parts.append(pa.Table.from_pylist(some, tables.NEAR))
    return pa.concat_tables(parts).combine_chunks()


class _Shift(NamedTuple):
    direction: str
    control: int
    shift: FloatArray
    words: str = ""


def _pair_row(shift: _Shift) -> Row:
    return {"direction": shift.direction, "control": shift.control, "words": shift.words}


def _shifts(vocabulary: Vocabulary, kind: DirectionKind, config: Mapping[str, Any]) -> Iterator[_Shift]:
    direction = vocabulary.direction(kind, config["direction"])
    for gender in genders(config["direction"]):
        yield _Shift(direction_name(kind, gender), -1, direction if gender == "female" else -direction)


def _controls(vocabulary: Vocabulary, kind: DirectionKind, config: Mapping[str, Any]) -> Iterator[_Shift]:
    """As long as the direction that they are controls of."""
    settings: Controls = config["controls"]
    start, length = config["start"], float(np.linalg.norm(vocabulary.direction(kind, config["direction"])))
    end = min(start + _CONTROLS_OF_UNIT, settings.number)
    drawn, names = _drawn(vocabulary, kind, config, end)
    for number in range(start, end):
        shift = drawn[number] * (length / (np.linalg.norm(drawn[number]) or 1.0))
        for gender in genders(config["direction"]):
            yield _Shift(direction_name(kind, gender), number, shift if gender == "female" else -shift, names[number])


def _drawn(
    vocabulary: Vocabulary, kind: DirectionKind, config: Mapping[str, Any], end: int
) -> tuple[FloatArray, list[str]]:
    settings: Controls = config["controls"]
    if settings.kind == "sphere":
        return sphere_directions(end, vocabulary.vectors.shape[1], 1.0, config["seed"]), [""] * end
    pair = vocabulary.known(config["direction"].pairs_of(kind))[0]
    pool = vocabulary.rows_without({*config["words"].gendered().genders, *stop_words(), *map(str.lower, pair)})
    ranks = vocabulary.rows[pair[0]], vocabulary.rows[pair[1]]
    pairs = matched_pairs(end, ranks, pool, settings.window, config["seed"])
    names = [f"{vocabulary.words[second]} \u2212 {vocabulary.words[first]}" for first, second in pairs]
    drawn = vocabulary.vectors[pairs[:, 1]] - vocabulary.vectors[pairs[:, 0]]
    if settings.kind == "neutral_pairs":
        drawn = without_gender(drawn, vocabulary.subspace(config["direction"]))
    return drawn, names


def _along(
    vocabulary: Vocabulary, words: Sequence[str], shifts: Sequence[_Shift], config: Mapping[str, Any]
) -> Iterator[Row]:
    if not shifts or not words:
        return
    settings: CandidateConfig = config["candidates"]
    rows = np.array([vocabulary.rows[word] for word in words], dtype=np.int64)
    stacked = np.stack([shift.shift for shift in shifts])
    near = shifted_candidates(
        vocabulary.vectors,
        rows,
        stacked,
        top=_DEPTH * settings.top + settings.exclude if "controls" in config else settings.top,
        exclude=settings.exclude,
        genders=gender_signs(vocabulary.words, config["words"].gendered()),
        crossings=_crossings(config),
        pool=vocabulary.pool,
    )
    yield from _rows(vocabulary, words, shifts, near, config)


def _crossings(config: Mapping[str, Any]) -> Crossings:
    """What becomes of words of the other gender, along gender or along the controls."""
    if "controls" in config:
        return "barred" if config["controls"].kind == "neutral_pairs" else "excluded"
    return "kept" if config["candidates"].keep_counterparts else "excluded"


def _neighbours(vocabulary: Vocabulary, words: Sequence[str], config: Mapping[str, Any]) -> Iterator[Row]:
    """In the vectors that are given for them, if there are any, counter-fitted where synonyms are given."""
    if NEIGHBOURS not in config["direction"].kinds or "controls" in config or not words:
        return
    if file := config["lists"].get("neighbour_vectors"):
        names, vectors = read_embedding(file["uri"], bad=BadRecords())
        vocabulary = Vocabulary.made(names, np.asarray(vectors, dtype=np.float64), config)
        words = [word for word in words if word in vocabulary.rows]
    if "synonyms" in config["lists"]:
        synonyms, antonyms = (vocabulary.pairs(word_pairs(config, name)) for name in ("synonyms", "antonyms"))
        fitted = counter_fitted(vocabulary.vectors, synonyms, antonyms, config["candidates"].counter_fitting)
        vocabulary = vocabulary._replace(vectors=fitted)
    rows = np.array([vocabulary.rows[word] for word in words], dtype=np.int64)
    near = nearest_candidates(vocabulary.vectors, rows, top=config["candidates"].neighbours)
    shift = _Shift(NEIGHBOURS, -1, np.zeros(vocabulary.vectors.shape[1]))
    yield from _rows(vocabulary, words, [shift], near, config)


def _rows(
    vocabulary: Vocabulary, words: Sequence[str], shifts: Sequence[_Shift], near: Candidates, config: Mapping[str, Any]
) -> Iterator[Row]:
    unit = unit_rows(vocabulary.vectors)
    leanings = unit @ vocabulary.leaning(config["direction"])
    constraints = constraints_of(config)
    for number, shift in enumerate(shifts):
        same = {"direction": shift.direction, "control": shift.control, "replica": config["replica"]}
        for place, word in enumerate(words):
            row = vocabulary.rows[word]
            for rank, candidate in enumerate(near.words[number, place].tolist()):
                if candidate == adversary_candidates.NONE:
                    break
                yield same | {
                    "word": word,
                    "rank": rank,
                    "candidate": vocabulary.words[candidate],
                    "cosine": float(near.cosines[number, place, rank]),
                    "leaning": float(leanings[candidate] - leanings[row]),
                    "removed_by": constraints(word, vocabulary.words[candidate], float(unit[candidate] @ unit[row])),
                    "num_near": int(near.num_excluded[number, place]),
                }
