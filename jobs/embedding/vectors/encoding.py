"""Contextual encoders as embeddings: which models, and the stage that gives them the listed words."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import pydantic
from pydantic import ConfigDict, Field

from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Tables
from tiltmeter.jobs.embedding.vectors.selection import Selection, neighbours, vectors_table
from tiltmeter.jobs.runtime.resources import Device, uses_gpus
from tiltmeter.operators.association import covariance
from tiltmeter.operators.embedding import encoders
from tiltmeter.operators.embedding.encoders import EncoderConfig, encode_words
from tiltmeter.storage.models.checkpoints import Checkpoint, CheckpointError, find_checkpoint
from tiltmeter.storage.models.load import load_encoder
from tiltmeter.storage.store.ledger import Finished, Store, Unit

_SETTING = "embedding.model"
_Model = Annotated[str, Field(min_length=1)]


@pydantic.dataclasses.dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class EncoderEmbedding:
    """Contextual encoders, each given single words.

    Attributes:
        model: a name on the hub or a local folder, or several; each is a model by itself.
        language: of the words, which chooses the word lists.
        revision: of a model on the hub: a branch, a tag or a commit.
        device: where to run; ``auto`` takes the cluster's GPUs if it has any.
        encoder: which layers, and how a word's tokens become one vector.
    """

    kind: Literal["encoder"]
    model: _Model | Annotated[tuple[_Model, ...], Field(min_length=1)]
    language: Annotated[str, Field(pattern=r"^[a-z]{2,3}(-[a-z0-9]{1,8})*$")] = "en"
    revision: str | None = None
    device: Device = "auto"
    encoder: EncoderConfig = Field(default_factory=EncoderConfig)

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
            checkpoint, name = find_checkpoint(place, self.revision, _SETTING), _shown(place)
            if checkpoints.setdefault(name, checkpoint) is not checkpoint:
                raise CheckpointError(
                    f"{_SETTING}: two models are called {name!r}, by which the tables tell them apart: rename a "
                    "folder, or run them separately"
                )
        return checkpoints


def _shown(place: str) -> str:
    """The last part of a folder's path; a hub name as it is."""
    return Path(place).name if Path(place).is_dir() else place


def encode(
    runner: Runner, config: EncoderEmbedding, checkpoints: Mapping[str, Checkpoint], selection: Selection
) -> dict[str, list[Finished]]:
    """Take the selected words' vectors out of each model; models that fail are missing.

    Raises:
        UnitsFailed: if all fail.
    """
    on_gpu = uses_gpus(config.device, runner.pool.num_gpus)
    units = {
        name: [_unit(name, checkpoint.version, config, selection, on_gpu)] for name, checkpoint in checkpoints.items()
    }
    # Workers look for the models themselves, as they may be on other nodes.
    places = {checkpoint.version: place for checkpoint, place in zip(checkpoints.values(), config.places, strict=True)}
    return runner.run_whole(Stage("encode", _Encoding(places, "cuda" if on_gpu else "cpu"), units, on_gpu=on_gpu))


def _unit(name: str, version: str, config: EncoderEmbedding, selection: Selection, on_gpu: bool) -> Unit:
    settings: dict[str, Any] = {"version": version, "encoder": config.encoder, "selection": selection, "on_gpu": on_gpu}
    if selection.attribute_sets:
        settings["neighbours"] = covariance.VERSION
    return Unit(encoders.VERSION, name, settings)


@dataclass(frozen=True)
class _Encoding:
    """Attributes:
    places: where to find a model, by its version.
    device: where to run.
    """

    places: Mapping[str, str]
    device: str

    def __call__(self, _: Store, units: Sequence[Unit]) -> Iterator[tuple[Unit, Tables]]:
        """Each unit's tables."""
        for unit in units:
            yield unit, self._tables(unit)

    def _tables(self, unit: Unit) -> Tables:
        config, selection = unit.config, unit.config["selection"]
        place = self.places[config["version"]]
        # A version on the hub is a commit, which a folder does not ask for.
        checkpoint = find_checkpoint(place, config["version"], _SETTING)
        if checkpoint.version != config["version"]:
            raise CheckpointError(f"{_SETTING}={place}: has changed since the run began; start it again")
        model, tokenizer = load_encoder(checkpoint.folder, self.device, _SETTING)
        vectors = encode_words(model, tokenizer, selection.words, config["encoder"])
        known = np.flatnonzero(np.isfinite(vectors).all(axis=1))
        words = [selection.words[row] for row in known]
        yield "vectors", vectors_table(dict(zip(words, words, strict=True)), vectors[known])
        if selection.attribute_sets:
            yield "neighbours", neighbours(selection, {word: row for row, word in enumerate(words)}, vectors[known])
