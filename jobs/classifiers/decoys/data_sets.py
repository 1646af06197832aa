"""Data sets with decoys: what belongs to which part, each decoy's texts, and those in which it contradicts a class."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Tables, each
from tiltmeter.jobs.classifiers.decoys import tables
from tiltmeter.jobs.classifiers.decoys.config import DecoyBenchmarkRun
from tiltmeter.jobs.classifiers.splits import split_schema, units_of_texts
from tiltmeter.jobs.classifiers.tables import SENTENCES
from tiltmeter.operators.classifiers.decoys import kinds as decoys
from tiltmeter.operators.classifiers.decoys import making as decoy_making
from tiltmeter.operators.classifiers.decoys.kinds import (
    Decoy,
    DeletedDecoy,
    Text,
    indicated,
    resolved,
)
from tiltmeter.operators.classifiers.decoys.making import contradicted, decoyed
from tiltmeter.operators.classifiers.decoys.measures import measure, measure_pooled
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.text import perplexity as ngram_perplexity
from tiltmeter.operators.text.listed_words import folded_words
from tiltmeter.operators.text.perplexity import KneserNey
from tiltmeter.storage.store.ledger import Store, TableRef, Unit


@dataclass(frozen=True)
class DecoyData:
    """What the unit of a decoy has made.

    Attributes:
        texts: of the schema ``SPLIT``.
        probes: of the schema ``PROBES``.
        words: of the schema ``DECOY_WORDS``, a row for each of its words.
        measures: of the schema ``MEASURES``, one row.
        pools: test texts to be explained, each of the schema ``tiltmeter.jobs.classifiers.attributions.SENTENCES``.
    """

    texts: TableRef
    probes: TableRef
    words: TableRef
    measures: TableRef
    pools: Sequence[TableRef]


def make_decoys(
    runner: Runner, config: DecoyBenchmarkRun, texts: TableRef, left_out: frozenset[str]
) -> dict[str, DecoyData]:
    """The data of each decoy; of what failed, or is left out, nothing."""
    explained = config.explanations
    settings = {
        "operators": [decoys.VERSION, decoy_making.VERSION, ngram_perplexity.VERSION],
        "language_model": config.language_model,
        "seed": config.seed,
        "pools": [explained.num_pools, explained.pool_size],
    }
    units = {
        name: [Unit("decoy/2", name, {"name": name, "decoy": decoy, **settings}, {"texts": [texts]})]
        for name, decoy in config.decoys.items()
        if name not in left_out
    }
    done = runner.run_whole(Stage("make decoys", each(_make), units))
    return {name: _data(finished.tables) for name, [finished] in done.items()}


def _data(refs: Mapping[str, TableRef]) -> DecoyData:
    pools = [refs[name] for name in sorted(refs) if name.startswith("pool_")]
    return DecoyData(refs["texts"], refs["probes"], refs["words"], refs["measures"], pools)


def _make(store: Store, unit: Unit) -> Tables:
    rows, config = store.read(unit.input("texts")).to_pylist(), unit.config
    texts = [Text(row["text"], row["label"]) for row in rows]
    learnt = [text for row, text in zip(rows, texts, strict=True) if row["part"] == "training"]
    model = KneserNey([folded_words(text) for text, _ in learnt], config["language_model"].order, _discount(config))
    decoy = resolved(config["decoy"], learnt)
    indicates = indicated(decoy, learnt)
    changed = decoyed(texts, decoy, indicates, config["seed"], model)
    kept = [row | {"text": text} for row, text in zip(rows, changed, strict=True) if text is not None]
    yield "texts", pa.Table.from_pylist(kept, split_schema(rows))
    yield "probes", _probes(rows, decoy, indicates, config["seed"], model)
    before, after = _training_texts(rows, changed)
    yield "words", _words(config["name"], decoy, indicates, before, after)
    yield "measures", _measures(decoy, indicates, before, after, _naturalness(rows, changed, model))
    yield from _pools(kept, config["seed"], *config["pools"])


def _discount(config: Mapping[str, Any]) -> float:
    return float(config["language_model"].discount)


def _probes(
    rows: Sequence[dict[str, Any]],
    decoy: Decoy,
    indicates: Mapping[str, str],
    seed: int,
    model: KneserNey,
) -> pa.Table:
    test = [row for row in rows if row["part"] == "test"]
    texts = contradicted([Text(row["text"], row["label"]) for row in test], decoy, indicates, seed, model)
    pairs = list(zip(test, texts, strict=True))
    probes = [row | {"text": text, "has_decoy": True} for row, text in pairs if text is not None]
    if isinstance(decoy, DeletedDecoy):
        plain = [row for row, text in pairs if text is None and row["label"] == decoy.label]
    else:
        plain = [row for row, text in pairs if text is not None]
    return pa.Table.from_pylist([*probes, *(row | {"has_decoy": False} for row in plain)], tables.PROBES)


def _training_texts(
    rows: Sequence[Mapping[str, Any]], changed: Sequence[str | None]
) -> tuple[Sequence[Text], Sequence[Text]]:
    """As they were, and as the decoy leaves them."""
    pairs = [(row, text) for row, text in zip(rows, changed, strict=True) if row["part"] == "training"]
    before = [Text(row["text"], row["label"]) for row, _ in pairs]
    return before, [Text(text, row["label"]) for row, text in pairs if text is not None]


def _words(
    name: str, decoy: Decoy, indicates: Mapping[str, str], before: Sequence[Text], after: Sequence[Text]
) -> pa.Table:
    rows = [
        {"decoy": name, "word": word, "indicates": label}
        | _numbers(measure(before, word, decoy.match)._asdict(), "{}_before")
        | _numbers(measure(after, word, decoy.match)._asdict(), "{}")
        for word, label in indicates.items()
    ]
    return pa.Table.from_pylist(rows, tables.DECOY_WORDS)


def _measures(
    decoy: Decoy,
    indicates: Mapping[str, str],
    before: Sequence[Text],
    after: Sequence[Text],
    naturalness: Mapping[str, float | None],
) -> pa.Table:
    words = ", ".join(f"{word}: {label}" for word, label in indicates.items())
    pooled = _numbers(measure_pooled(before, indicates, decoy.match)._asdict(), "pooled_{}_before")
    pooled |= _numbers(measure_pooled(after, indicates, decoy.match)._asdict(), "pooled_{}")
    return pa.Table.from_pylist([{"words": words, **pooled, **naturalness}], tables.MEASURES)


def _numbers(measures: Mapping[str, Any], column: str) -> dict[str, Any]:
    """By the name of their column; nothing in place of NaN."""
    return {column.format(name): None if value != value else value for name, value in measures.items()}


def _naturalness(
    rows: Sequence[Mapping[str, Any]], changed: Sequence[str | None], model: KneserNey
) -> dict[str, float | None]:
    """Of the test texts, which the language model has not learnt."""
    test = [(row["text"], text) for row, text in zip(rows, changed, strict=True) if row["part"] == "test"]
    is_deleted = any(text is None for _, text in test)
    pairs = test if is_deleted else [(before, after) for before, after in test if before != after]
    remaining = [after for _, after in pairs if after is not None]
    if not remaining:
        return dict.fromkeys(("perplexity_before", "perplexity", "perplexity_shift"))
    before, after = (model.perplexity(map(folded_words, texts)) for texts in ([text for text, _ in pairs], remaining))
    return {"perplexity_before": before, "perplexity": after, "perplexity_shift": after / before}


def _pools(rows: Sequence[Mapping[str, Any]], seed: int, num: int, size: int) -> Iterator[tuple[str, pa.Table]]:
    """Test texts to be explained, in pools, in an order that depends on what they say; no group is in two pools."""
    test = [row for row in rows if row["part"] == "test"]
    test.sort(key=lambda row: (document_key(f"{seed}\nexplained\n{row['text']}"), row["row"]))
    pools = _filled(test, size)[:num]
    if len(pools) < 2:
        units = units_of_texts(test)
        subject = "" if units.kind == "text" else f" of {units.num} groups, of which none is in two pools"
        raise ValueError(
            f"{len(test)} test texts{subject}: must be at least two times explanations.pool_size={size}; lower it, or "
            "set data.test to a file with more"
        )
    for number, part in enumerate(pools):
        sentences = [{"sentence": row["row"], "text": row["text"], "gold": row["label"]} for row in part]
        yield f"pool_{number:05d}", pa.Table.from_pylist(sentences, SENTENCES)


def _filled(rows: Sequence[Mapping[str, Any]], size: int) -> list[list[Mapping[str, Any]]]:
    """Pools of so many rows, filled group by group as their first rows come; what is left of a group is left out."""
    groups: dict[int, list[Mapping[str, Any]]] = {}
    for row, unit in zip(rows, units_of_texts(rows).codes.tolist(), strict=True):
        groups.setdefault(unit, []).append(row)
    pools: list[list[Mapping[str, Any]]] = []
    pool: list[Mapping[str, Any]] = []
    for group in groups.values():
        pool += group
        if len(pool) >= size:
            pools.append(pool[:size])
            pool = []
    return pools
