"""Round trips of texts, unit by unit, and what they did to the words that tell gender or race."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

import polars as pl
import pyarrow as pa

from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Tables, each
from tiltmeter.jobs.runtime.keep_loaded import resident
from tiltmeter.jobs.runtime.resources import uses_gpus
from tiltmeter.jobs.sentiment.rating import tables
from tiltmeter.jobs.sentiment.rating.sentences import Texts
from tiltmeter.jobs.sentiment.translation.translators import RoundTrip, Translate
from tiltmeter.operators.sentiment import protected_words
from tiltmeter.operators.sentiment.protected_words import first_words, lost_words
from tiltmeter.storage.store.identity import digest
from tiltmeter.storage.store.ledger import Store, TableRef, Unit

_TOO_LONG = "the text, or its translation, has more tokens than the model takes"
_TEXTS = pa.schema([(name, pa.string()) for name in ("text", "intermediate", "round_trip")])


def translate(runner: Runner, round_trips: Mapping[str, RoundTrip], texts: Texts) -> dict[str, list[TableRef]]:
    """Take every chunk of texts there and back; tables ``text, intermediate, round_trip`` by round trip.

    Round trips of which a unit failed are missing.
    """
    translations: dict[str, list[TableRef]] = {}
    for name, trip in round_trips.items():
        on_gpu = uses_gpus(trip.device, runner.pool.num_gpus, f"translator.{name}.device")
        units = [_unit(name, trip, number, chunk, on_gpu) for number, chunk in enumerate(texts.chunks)]
        work = _Translating(trip, "cuda" if on_gpu else "cpu")
        done = runner.run(Stage(f"translate {name}", work, {name: units}, None, on_gpu))[name]
        if not runner.failures[name]:
            translations[name] = [unit.tables["texts"] for unit in done]
    return translations


def _unit(name: str, trip: RoundTrip, number: int, chunk: TableRef, on_gpu: bool) -> Unit:
    settings = {"there": trip.there.identity, "back": trip.back.identity, "on_gpu": on_gpu}
    return Unit("round_trip/1", f"{name} texts {number}", settings, {"texts": [chunk]})


@dataclass(frozen=True)
class _Translating:
    trip: RoundTrip
    device: str

    def __call__(self, store: Store, units: Sequence[Unit]) -> Iterator[tuple[Unit, Tables]]:
        key = digest([self.trip.there.identity, self.trip.back.identity, self.device])
        for unit in units:
            texts = store.read(unit.input("texts"))["text"].to_pylist()
            with resident(key, self._load) as (there, back):
                table = _round_trip(texts, there, back)
            yield unit, [("texts", table)]

    def _load(self, closing: ExitStack) -> tuple[Translate, Translate]:
        there, back = (leg.load(closing, self.device) for leg in (self.trip.there, self.trip.back))
        return there, back


def _round_trip(texts: list[str], there: Translate, back: Translate) -> pa.Table:
    intermediate = there(texts)
    returned = dict(zip(known, back(known), strict=True)) if (known := [text for text in intermediate if text]) else {}
    round_trip = [text if text is None else returned.get(text, text) for text in intermediate]
    return pa.table([texts, intermediate, round_trip], schema=_TEXTS)


def trace(runner: Runner, texts: Texts, translated: Mapping[str, Sequence[TableRef]]) -> dict[str, list[TableRef]]:
    """Tables ``translations`` and ``protected_words``, a part for each round trip."""
    columns = texts.sentences.select("sentence", "group", "dataset", "text", "protected_words")
    units = {
        name: [
            Unit(f"trace/{protected_words.VERSION}", name, {"variant": name}, {"sentences": [columns], "texts": refs})
        ]
        for name, refs in translated.items()
    }
    done = runner.run(Stage("trace words", each(_trace), units))
    finished = [unit for name in units for unit in done[name]]
    return {name: [unit.tables[name] for unit in finished] for name in ("translations", "protected_words")}


def _trace(store: Store, unit: Unit) -> Tables:
    sentences = pl.DataFrame(store.read(unit.input("sentences")))
    texts = pl.concat([pl.DataFrame(store.read(ref)) for ref in unit.inputs["texts"]])
    rows = sentences.join(texts, on="text", how="left", maintain_order="left")
    rows = rows.with_columns(pl.col("protected_words").fill_null([]))
    protected, returned = rows["protected_words"].to_list(), rows["round_trip"].fill_null("").to_list()
    traces = {
        "lost_words": lost_words(returned, protected),
        "first_before": first_words(rows["text"].to_list(), protected),
        "first_after": first_words(returned, protected),
    }
    rows = rows.with_columns(
        *(pl.Series(name, words, pl.List(pl.String)) for name, words in traces.items()),
        pl.lit(unit.config["variant"]).alias("variant"),
    )
    ok, has_words = pl.col("round_trip").is_not_null(), pl.col("protected_words").list.len() > 0
    rows = rows.with_columns(
        pl.when(ok).then("lost_words").alias("lost_words"),
        pl.when(ok & has_words).then(pl.col("lost_words").list.len() == 0).alias("survived"),
        pl.when(ok).then(pl.lit("ok")).otherwise(pl.lit("too_long")).alias("status"),
        pl.when(ok).then(pl.lit("")).otherwise(pl.lit(_TOO_LONG)).alias("reason"),
    )
    yield "translations", rows.select(tables.TRANSLATIONS.names).to_arrow().cast(tables.TRANSLATIONS)
    yield "protected_words", _counted(rows.filter(ok)).to_arrow().cast(tables.PROTECTED_WORDS)


def _counted(rows: pl.DataFrame) -> pl.DataFrame:
    words = rows.explode("protected_words").drop_nulls("protected_words").rename({"protected_words": "word"})
    lost, first, still_first = (
        pl.col(name).list.contains(pl.col("word")) for name in ("lost_words", "first_before", "first_after")
    )
    kinds = {"num_lost": lost, "num_starting": first, "num_not_starting": first & ~still_first}
    counted = words.group_by("variant", "group", "dataset", "word", maintain_order=True).agg(
        pl.len().cast(pl.Int64).alias("num_texts"),
        *(kind.sum().cast(pl.Int64).alias(name) for name, kind in kinds.items()),
    )
    shares = {"percent_lost": ("num_lost", "num_texts"), "percent_not_starting": ("num_not_starting", "num_starting")}
    percent = [
        pl.when(pl.col(total) > 0).then(100.0 * pl.col(part) / pl.col(total)).alias(name)
        for name, (part, total) in shares.items()
    ]
    return counted.with_columns(*percent).select(tables.PROTECTED_WORDS.names)
