"""The settings of encoders of words and sentences: ``conf/embedding/encoder.yaml``, ``seat.yaml``, ``ceat.yaml``."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal, Self

import pydantic
from pydantic import Field

from tiltmeter.jobs.runtime.resources import Device
from tiltmeter.jobs.runtime.settings.fields import Count, Text, settings
from tiltmeter.operators.embedding.bootstrap import ResamplingSettings
from tiltmeter.operators.embedding.encoders.sentences import Pooled
from tiltmeter.operators.embedding.encoders.words import EncoderConfig
from tiltmeter.storage.corpora.sources import language_extras
from tiltmeter.storage.models.checkpoints import Checkpoint, CheckpointError, find_checkpoint
from tiltmeter.storage.models.sentence_folders import is_static, stated_pooling

ENCODER = "embedding.model"
"""The setting that names encoders."""

SLOT = "_"
"""What a template has in the word's place."""

Language = Annotated[str, Field(pattern=r"^[a-z]{2,3}(-[a-z0-9]{1,8})*$")]


@settings
class Encoders:
    """Encoders of words and sentences."""

    model: Text | Annotated[tuple[Text, ...], Field(min_length=1)]
    revision: str | None
    device: Device
    encoder: EncoderConfig

    @property
    def extras(self) -> Mapping[str, str]:
        """Models need one."""
        return {"model": "models"}

    @pydantic.model_validator(mode="after")
    def _what_files_state_is_of_the_last_layer(self) -> Self:
        if self.encoder.pooling == "stated" and (self.encoder.layers != (-1,) or self.encoder.pool_special):
            raise ValueError(
                "embedding.encoder.pooling=stated: is of the last layer and of all tokens, as the model's files say; "
                "set embedding.encoder.layers=[-1] and embedding.encoder.pool_special=false"
            )
        return self

    @property
    def models(self) -> tuple[str, ...]:
        """The models, however many."""
        return (self.model,) if isinstance(self.model, str) else self.model

    @property
    def places(self) -> list[str]:
        """Folders by their absolute path, names on the hub as they are."""
        return [
            str(folder.resolve()) if (folder := Path(model).expanduser()).is_dir() else model for model in self.models
        ]

    def checkpoints(self) -> dict[str, Checkpoint]:
        """Where each model lies, by the name that tables give it.

        Raises:
            CheckpointError: if a model can't be found, or two have one name.
        """
        checkpoints: dict[str, Checkpoint] = {}
        for place in self.places:
            checkpoint, name = find_checkpoint(place, self.revision, ENCODER), _encoder_model(place)
            self._check_pooling(checkpoint.folder)
            if checkpoints.setdefault(name, checkpoint) is not checkpoint:
                raise CheckpointError(
                    f"{ENCODER}: two models are called {name!r}, by which the tables tell them apart: rename a "
                    "folder, or run them separately"
                )
        return checkpoints

    def _check_pooling(self, folder: str) -> None:
        if self.encoder.pooling == "stated":
            stated_pooling(folder, ENCODER)
        elif is_static(folder, ENCODER):
            raise CheckpointError(
                f"{ENCODER}={folder}: is a table of vectors, which has no layers: set embedding.encoder.pooling=stated"
            )


@settings
class EncoderEmbedding(Encoders):
    """Encoders that are given single words."""

    kind: Literal["encoder"]
    language: Language

    @property
    def extras(self) -> Mapping[str, str]:
        """Those of the models, and that of the language."""
        return {**super().extras, **language_extras(self.language)}


@settings
class SentenceEmbedding(Encoders):
    """Encoders that are given sentences, of which each word's vector is the mean."""

    pooled: Pooled
    special: bool
    centred: bool
    published: bool
    num_replicas: Annotated[int, Field(ge=2, le=4096)]

    @pydantic.model_validator(mode="after")
    def _what_files_state_is_of_sentences(self) -> Self:
        if self.encoder.pooling == "stated" and (self.pooled == "word" or not self.special):
            raise ValueError(
                "embedding.encoder.pooling=stated: is of whole sentences with the tokens around them; set "
                "embedding.pooled=text and embedding.special=true, or embedding.encoder.pooling=mean"
            )
        return self


@settings
class TemplateEmbedding(SentenceEmbedding):
    """Sentences that are templates with a word put in."""

    kind: Literal["templates"]
    language: Language
    templates: dict[str, tuple[Text, ...]]

    @property
    def extras(self) -> Mapping[str, str]:
        """Those of the models, and that of the language."""
        return {**super().extras, **language_extras(self.language)}

    @pydantic.model_validator(mode="after")
    def _templates_have_a_slot(self) -> Self:
        key = f"embedding.templates.{self.language}"
        listed = self.templates.get(self.language, ())
        if not listed:
            known = ", ".join(sorted(self.templates))
            raise ValueError(f"{key}: there are templates for {known}; give some with {SLOT} for the word, in a list")
        if wrong := [text for text in listed if text.count(SLOT) != 1]:
            raise ValueError(
                f"{key}: {wrong[0]!r} has {wrong[0].count(SLOT)} places for a word ({SLOT}), and must have 1"
            )
        if len(set(listed)) < len(listed):
            raise ValueError(f"{key}: a template comes twice; name each once")
        return self


@settings
class ContextEmbedding(SentenceEmbedding):
    """Sentences that are contexts of a word in a corpus."""

    kind: Literal["contexts"]
    num_contexts: Count
    window: Count
    fold_case: bool
    resampling: ResamplingSettings


def _encoder_model(place: str) -> str:
    """The last part of a folder's path; a hub name as it is."""
    return Path(place).name if Path(place).is_dir() else place


InSentences = TemplateEmbedding | ContextEmbedding
