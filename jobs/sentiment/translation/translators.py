"""Round trips through another language: which engine makes them, and how a worker starts it."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Annotated, Any, Literal, NamedTuple

import pydantic
from pydantic import ConfigDict, Field

from tiltmeter.jobs.runtime.resources import Device
from tiltmeter.jobs.sentiment.translation import apertium
from tiltmeter.jobs.sentiment.translation.apertium import Apertium, TranslationError
from tiltmeter.operators.sentiment import dictionary, seq2seq
from tiltmeter.operators.sentiment.dictionary import translate_words
from tiltmeter.operators.sentiment.seq2seq import Seq2SeqConfig, translate_texts
from tiltmeter.storage.models.checkpoints import Checkpoint, find_checkpoint
from tiltmeter.storage.models.load import load_translator

Language = Annotated[str, Field(pattern=r"^[a-z]{2,3}(-[a-z0-9]{1,8})*$")]
Translate = Callable[[Sequence[str]], Sequence[str | None]]
"""A translation of each text, None where there is none."""
_Model = Annotated[str, Field(min_length=1)]


@pydantic.dataclasses.dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class ApertiumTranslator:
    """The rule-based engine Apertium, as it is installed on each node.

    Attributes:
        language: the intermediate one.
        if_missing: whether a run without the engine is refused, or goes on without this round trip and says so.
    """

    kind: Literal["apertium"]
    language: Language
    if_missing: Literal["refuse", "leave_out"] = "refuse"


@pydantic.dataclasses.dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class MarianTranslator:
    """Sequence-to-sequence models of transformers, such as opus-mt (one for each direction) or NLLB (one for both).

    Attributes:
        language: the intermediate one.
        there, back: models on the hub, or local folders.
        revision_there, revision_back: of a model on the hub: a branch, a tag or a commit.
        device: where to run; ``auto`` takes the cluster's GPUs if it has any.
        generation_there, generation_back: how texts are generated, and the language codes of models that need them.
    """

    kind: Literal["marian"]
    language: Language
    there: _Model
    back: _Model
    revision_there: str | None = None
    revision_back: str | None = None
    device: Device = "auto"
    generation_there: Seq2SeqConfig = Field(default_factory=Seq2SeqConfig)
    generation_back: Seq2SeqConfig = Field(default_factory=Seq2SeqConfig)


@pydantic.dataclasses.dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class DictionaryTranslator:
    """Word by word, by lists of words.

    Attributes:
        language: the intermediate one.
        there, back: translations of words and phrases; others stay as they are.
    """

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


class RoundTrip(NamedTuple):
    """Both legs, and whether a worker needs a GPU for them."""

    there: Leg
    back: Leg
    device: Device = "cpu"


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
    settings = {"operator": seq2seq.VERSION, "version": checkpoint.version, "config": config}
    return Leg(settings, partial(_open_model, name, checkpoint, config, setting))


def _open_model(
    name: str, source: Checkpoint, config: Seq2SeqConfig, setting: str, _: ExitStack, device: str
) -> Translate:
    checkpoint = find_checkpoint(name, source.version, setting)
    model, tokenizer = load_translator(checkpoint.folder, device, setting)
    return lambda texts: translate_texts(model, tokenizer, texts, config)
