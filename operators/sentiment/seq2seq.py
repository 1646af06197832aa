"""Translation by models with encoder and decoder: Marian's, one for a pair of languages, and those with codes for many.

The latter, such as NLLB and M2M100, are told the source language by a token in what they read, and the target language
by the token that their output is made to begin with.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

from tiltmeter.operators.compute.batching import length_batches, longest_input

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

VERSION = "seq2seq/1"

_SHOWN_CODES = 8


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class Seq2SeqConfig:
    """How texts are translated.

    Attributes:
        source_code, target_code: languages as the model's tokenizer calls them, such as ``eng_Latn`` in NLLB and ``en``
            in M2M100; None for a model of one pair of languages.
        num_beams: translations that are followed at a time, of which the most probable remains; 1 takes the most
            probable token each time. None is the model's own number.
        max_new_tokens: where a translation ends that has not ended before, or where the model has no more positions.
        max_tokens: that the model is given at a time, in texts of like length.
    """

    source_code: str | None = None
    target_code: str | None = None
    num_beams: Annotated[int, Field(ge=1)] | None = None
    max_new_tokens: Annotated[int, Field(ge=1)] = 512
    max_tokens: Annotated[int, Field(ge=1)] = 512


def translate_texts(
    model: "PreTrainedModel", tokenizer: "PreTrainedTokenizerBase", texts: Sequence[str], config: Seq2SeqConfig
) -> list[str | None]:
    """Translate each text by itself, without drawing anything at random.

    A text is translated once, however often it comes, and one of blanks alone is left as it is. The other texts do not
    matter, unless two translations are as probable within rounding.

    Args:
        model: with encoder and decoder; it runs on the device where it lies, is left in evaluation mode, and loses its
            own ``max_length``, for ``max_new_tokens`` takes its place.
        tokenizer: the model's; it is left set to the source language.

    Returns:
        A translation for each text; None for one that has more tokens than the model takes: its end would be lost.

    Raises:
        ValueError: if the model needs codes and has none, or a code is not one of the model's.
    """
    model.train(False)
    codes = _codes(tokenizer)
    _check_codes(config, codes)
    if codes:
        tokenizer.src_lang = config.source_code
    longest = longest_input(model, tokenizer)
    unique = [text for text in dict.fromkeys(texts) if text.strip()]
    inputs = [dict(tokenizer(text, verbose=False)) for text in unique]
    lengths = np.array([len(entry["input_ids"]) for entry in inputs], dtype=np.int64)
    fitting = np.flatnonzero(lengths <= longest)
    settings = _settings(config, codes, longest)
    by_text: dict[str, str | None] = dict.fromkeys(unique)
    for batch in length_batches(lengths[fitting], config.max_tokens):
        rows = fitting[batch].tolist()
        padded = tokenizer.pad([inputs[row] for row in rows], return_tensors="pt", verbose=False)
        translations = tokenizer.batch_decode(_generated(model, padded, settings), skip_special_tokens=True)
        by_text |= zip([unique[row] for row in rows], translations, strict=True)
    return [by_text.get(text, text) for text in texts]


def _codes(tokenizer: Any) -> dict[str, int]:
    """The token of each language; none for a model of one pair of languages."""
    if not hasattr(tokenizer, "src_lang"):
        return {}
    if named := getattr(tokenizer, "lang_code_to_id", None):
        return dict(named)
    return {token: tokenizer.convert_tokens_to_ids(token) for token in tokenizer.extra_special_tokens}


def _check_codes(config: Seq2SeqConfig, codes: Mapping[str, int]) -> None:
    for name, code in (("source_code", config.source_code), ("target_code", config.target_code)):
        if codes and code not in codes:
            some = ", ".join(sorted(codes)[:_SHOWN_CODES])
            raise ValueError(
                f"{name}={code}: must be a language code of the model, one of {some}, ...; set {name} to it"
            )
        if code is not None and not codes:
            raise ValueError(f"{name}={code}: the model's tokenizer has no language codes; set {name}=null")


def _settings(config: Seq2SeqConfig, codes: Mapping[str, int], longest: int) -> dict[str, Any]:
    """What the model's own settings for generating are overruled by."""
    settings = {
        "max_new_tokens": min(config.max_new_tokens, longest),
        "num_beams": config.num_beams,
        "forced_bos_token_id": codes[config.target_code] if config.target_code else None,
    }
    return {"do_sample": False} | {name: value for name, value in settings.items() if value is not None}


def _generated(model: Any, inputs: Any, settings: Mapping[str, Any]) -> Any:
    """``[texts, tokens]``."""
    import torch  # takes seconds

    from tiltmeter.operators.compute.onednn import linear_by_onednn

    model.generation_config.max_length = None
    with torch.inference_mode(), linear_by_onednn():
        return model.generate(**inputs.to(model.device), **settings)
