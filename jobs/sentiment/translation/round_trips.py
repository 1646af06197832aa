"""Round trips of texts through another language: their engines, and words that tell gender or race, which they lose."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import polars as pl
import pyarrow as pa
from pydantic import Field

from tiltmeter.cluster.work import Tables
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.keep_loaded import resident
from tiltmeter.jobs.runtime.resources import Device, uses_gpus
from tiltmeter.jobs.runtime.settings.fields import Text, settings
from tiltmeter.jobs.runtime.work import Subject, Work
from tiltmeter.jobs.sentiment.rating.tables import ProtectedWords, Translations, arrow_table
from tiltmeter.jobs.sentiment.translation import apertium
from tiltmeter.jobs.sentiment.translation.apertium import Apertium, TranslationError
from tiltmeter.operators.sentiment import dictionary, protected_words, seq2seq
from tiltmeter.operators.sentiment.dictionary import translate_words
from tiltmeter.operators.sentiment.protected_words import first_words, lost_words
from tiltmeter.operators.sentiment.seq2seq import Seq2SeqConfig, translate_texts
from tiltmeter.storage.models.checkpoints import Checkpoint, find_checkpoint
from tiltmeter.storage.models.load import load_translator
from tiltmeter.storage.store.identity import digest
from tiltmeter.storage.store.ledger import Store, TableRef

Language = Annotated[str, Field(pattern=r"^[a-z]{2,3}(-[a-z0-9]{1,8})*$")]
Translate = Callable[[Sequence[str]], Sequence[str | None]]
"""A translation of each text, None where there is none."""

_TOO_LONG = "the text, or its translation, has more tokens than the model takes"
_TEXTS = pa.schema([(name, pa.string()) for name in ("text", "intermediate", "round_trip")])


# --- engines --------------------------------------------------------------------------------------------------------


@settings
class ApertiumTranslator:
    """The rule-based engine Apertium, as it is installed on each node."""

    kind: Literal["apertium"]
    language: Language
    if_missing: Literal["refuse", "leave_out"] = "refuse"


@settings
class MarianTranslator:
    """Sequence-to-sequence models of transformers, such as opus-mt (one for each direction) or NLLB (one for both).

    Attributes:
        there, back: models on the hub, or local folders.
        revision_there, revision_back: of a model on the hub: a branch, a tag or a commit.
        generation_there, generation_back: how texts are generated, and the language codes of models that need them.
    """

    kind: Literal["marian"]
    language: Language
    there: Text
    back: Text
    revision_there: str | None = None
    revision_back: str | None = None
    device: Device = "auto"
    generation_there: Seq2SeqConfig = Field(default_factory=Seq2SeqConfig)
    generation_back: Seq2SeqConfig = Field(default_factory=Seq2SeqConfig)
    extras: ClassVar = {"kind": "models"}


@settings
class DictionaryTranslator:
    """Word by word, by translations of words and phrases; others stay as they are."""

    kind: Literal["dictionary"]
    language: Language
    there: dict[str, str]
    back: dict[str, str]


Translator = Annotated[ApertiumTranslator | MarianTranslator | DictionaryTranslator, Field(discriminator="kind")]


class Leg(NamedTuple):
    """One direction of a round trip, found before any work.

    Attributes:
        identity: whatever decides what comes out.
        load: starts the engine in a worker, on a device as torch names it; the stack takes what has to be closed.
    """

    identity: Mapping[str, Any]
    load: Callable[[ExitStack, str], Translate]


@dataclass(frozen=True)
class RoundTrip(Subject):
    """Both legs, where they may run, and whether a worker needs a GPU for them."""

    there: Leg
    back: Leg
    device: Device = "cpu"
    on_gpu: bool = False

    @property
    def identity(self) -> dict[str, Any]:
        """Settings of every unit that goes through it."""
        return {"there": self.there.identity, "back": self.back.identity, "on_gpu": self.on_gpu}

    def load(self, closing: ExitStack) -> tuple[Translate, Translate]:
        """Start both engines in a worker."""
        device = "cuda" if self.on_gpu else "cpu"
        return self.there.load(closing, device), self.back.load(closing, device)


def find_round_trip(name: str, translator: Translator, language: str) -> RoundTrip | str:
    """Look for the engines; if they are missing and may be left out, why they are.

    Args:
        name: of the round trip, for messages.
        language: of the sentences.

    Raises:
        TranslationError: if an engine or a language pair is not installed.
        CheckpointError: if a model can't be found.
    """
    if isinstance(translator, DictionaryTranslator):
        return RoundTrip(_by_dictionary(translator.there), _by_dictionary(translator.back))
    if isinstance(translator, MarianTranslator):
        setting = f"translator.{name}"
        there = _by_model(translator.there, translator.revision_there, translator.generation_there, f"{setting}.there")
        back = _by_model(translator.back, translator.revision_back, translator.generation_back, f"{setting}.back")
        return RoundTrip(there, back, translator.device)
    pairs = [(language, translator.language), (translator.language, language)]
    try:
        there, back = (_by_engine(apertium.direction(*pair)) for pair in pairs)
    except TranslationError as error:
        if translator.if_missing == "leave_out":
            return str(error)
        raise
    return RoundTrip(there, back)


def _by_dictionary(words: Mapping[str, str]) -> Leg:
    return Leg({"operator": dictionary.VERSION, "words": words}, partial(_open_dictionary, words))


def _open_dictionary(words: Mapping[str, str], _: ExitStack, __: str) -> Translate:
    return partial(translate_words, words=words)


def _by_engine(direction: str) -> Leg:
    return Leg({"apertium": direction, "version": apertium.version(direction)}, partial(_open_engine, direction))


def _open_engine(direction: str, closing: ExitStack, _: str) -> Translate:
    return closing.enter_context(Apertium(direction)).translate


def _by_model(name: str, revision: str | None, config: Seq2SeqConfig, setting: str) -> Leg:
    checkpoint = find_checkpoint(name, revision, setting)
    # The number of texts that a model is given together changes nothing that matters.
    identity = {"operator": seq2seq.VERSION, "version": checkpoint.version, "config": config}
    return Leg(identity, partial(_open_model, name, checkpoint, config, setting))


def _open_model(
    name: str, source: Checkpoint, config: Seq2SeqConfig, setting: str, _: ExitStack, device: str
) -> Translate:
    checkpoint = find_checkpoint(name, source.version, setting)
    model, tokenizer = load_translator(checkpoint.folder, device, setting)
    return lambda texts: translate_texts(model, tokenizer, texts, config)


# --- texts there and back -------------------------------------------------------------------------------------------


class TranslateTexts(Work, unit="round_trip/1"):
    """A chunk of texts there and back."""

    trip: RoundTrip
    texts: TableRef

    def tables(self, store: Store) -> Tables:
        """The texts, beside what they become."""
        texts = store.read(self.texts)["text"].to_pylist()
        with resident(digest(self.trip.identity), self.trip.load) as (there, back):
            table = _round_trip(texts, there, back)
        yield "texts", table


def _round_trip(texts: list[str], there: Translate, back: Translate) -> pa.Table:
    intermediate = there(texts)
    returned = dict(zip(known, back(known), strict=True)) if (known := [text for text in intermediate if text]) else {}
    round_trip = [text if text is None else returned.get(text, text) for text in intermediate]
    return pa.table([texts, intermediate, round_trip], schema=_TEXTS)


def translate(
    run: Run[Any, Any], trips: Mapping[str, RoundTrip], chunks: Sequence[TableRef]
) -> dict[str, list[TableRef]]:
    """Take every chunk of texts there and back; tables ``text, intermediate, round_trip`` by round trip.

    Round trips of which a unit failed are missing.
    """
    translations: dict[str, list[TableRef]] = {}
    for name, trip in trips.items():
        on_gpu = uses_gpus(trip.device, run.runner.pool.num_gpus, f"translator.{name}.device")
        works = [
            TranslateTexts(label=f"{name} texts {number}", group=name, trip=replace(trip, on_gpu=on_gpu), texts=chunk)
            for number, chunk in enumerate(chunks)
        ]
        done = run.do(works, stage=f"translate {name}", complete=False, batch_size=None)
        if not run.runner.failures.get(name):
            translations[name] = done.refs("texts")
    return translations


# --- words that are lost --------------------------------------------------------------------------------------------


class TraceWords(
    Work, unit=f"trace/{protected_words.VERSION}", stage="trace words", makes=[Translations, ProtectedWords]
):
    """The words of sentences that tell gender or race after a round trip."""

    sentences: TableRef
    texts: Sequence[TableRef]
    variant: str

    def tables(self, store: Store) -> Tables:
        """A row for each sentence, and one for each word of a data set."""
        sentences = pl.DataFrame(store.read(self.sentences))
        texts = pl.concat([pl.DataFrame(store.read(ref)) for ref in self.texts])
        rows = sentences.join(texts, on="text", how="left", maintain_order="left")
        rows = rows.with_columns(pl.col("protected_words").fill_null([]), variant=pl.lit(self.variant))
        protected, returned = rows["protected_words"].to_list(), rows["round_trip"].fill_null("").to_list()
        traces = {
            "lost_words": lost_words(returned, protected),
            "first_before": first_words(rows["text"].to_list(), protected),
            "first_after": first_words(returned, protected),
        }
        rows = rows.with_columns(pl.Series(name, words, pl.List(pl.String)) for name, words in traces.items())
        ok, has_words = pl.col("round_trip").is_not_null(), pl.col("protected_words").list.len() > 0
        rows = rows.with_columns(
            pl.when(ok).then("lost_words").alias("lost_words"),
            pl.when(ok & has_words).then(pl.col("lost_words").list.len() == 0).alias("survived"),
            pl.when(ok).then(pl.lit("ok")).otherwise(pl.lit("too_long")).alias("status"),
            pl.when(ok).then(pl.lit("")).otherwise(pl.lit(_TOO_LONG)).alias("reason"),
        )
        yield "translations", arrow_table(Translations, rows)
        yield "protected_words", arrow_table(ProtectedWords, _counted(rows.filter(ok)))


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
    return counted.with_columns(
        pl.when(pl.col(total) > 0).then(100.0 * pl.col(part) / pl.col(total)).alias(name)
        for name, (part, total) in shares.items()
    )


def trace(run: Run[Any, Any], sentences: TableRef, translated: Mapping[str, Sequence[TableRef]]) -> None:
    """Publish tables ``translations`` and ``protected_words``, a part for each round trip."""
    columns = sentences.select("sentence", "group", "dataset", "text", "protected_words")
    run.do(
        (
            TraceWords(label=name, group=name, sentences=columns, texts=refs, variant=name)
            for name, refs in translated.items()
        ),
        complete=False,
    )
