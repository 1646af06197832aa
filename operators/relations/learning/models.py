"""Models: a network that says which relation holds and writes rules of it, with what it reads and writes by."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.compute.arrays import FloatArray
from tiltmeter.operators.relations.instances import Instance
from tiltmeter.operators.relations.learning.readers import InstanceReader
from tiltmeter.operators.relations.learning.settings import DecoderConfig, EncoderConfig, TrainingConfig
from tiltmeter.operators.relations.learning.training import Labelled, build, relation_probabilities
from tiltmeter.operators.relations.learning.vocabularies import Vocabulary

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    from tiltmeter.operators.relations.learning.networks import RelationNetwork

    Transformer = tuple[PreTrainedModel, PreTrainedTokenizerBase]

Kind = Literal["joint", "no_decoder", "no_classifier"]
"""With both parts, or without the one that writes rules or that says relations."""

_MOST_PIECES = 512


@dataclass(frozen=True)
class RelationModel:
    """Attributes:
    network: whose weights say it all.
    reader: of instances, with the vocabulary.
    """

    kind: Kind
    encoder: EncoderConfig
    decoder: DecoderConfig
    network: "RelationNetwork"
    reader: InstanceReader

    @classmethod
    def new(
        cls,
        kind: Kind,
        encoder: EncoderConfig,
        decoder: DecoderConfig,
        vocabulary: Vocabulary,
        transformer: "Transformer | None",
        training: TrainingConfig | None = None,
        seed: int = 0,
        vectors: Mapping[str, NDArray[np.float32]] = MappingProxyType({}),
    ) -> Self:
        """One that is not trained yet.

        Args:
            transformer: that reads in place of the BiLSTM, and its tokenizer; None: there is none.
            training: how it is going to be trained; None: not at all.
            seed: of its weights.
            vectors: of words, from which it starts.
        """
        reader, loaded = InstanceReader(vocabulary, encoder.prune), None
        if transformer is not None:
            loaded, tokenizer = transformer
            most: int = getattr(loaded.config, "max_position_embeddings", _MOST_PIECES)
            reader = InstanceReader(vocabulary, encoder.prune, tokenizer, min(most, _MOST_PIECES))
        known = {number: vectors[word] for word, number in vocabulary.numbers["words"].items() if word in vectors}
        network = build(
            encoder,
            None if kind == "no_decoder" else decoder,
            training or TrainingConfig(),
            vocabulary.sizes,
            seed,
            classifies=kind != "no_classifier",
            transformer=loaded,
            vectors=known,
        )
        return cls(kind, encoder, decoder, network, reader)

    @property
    def vocabulary(self) -> Vocabulary:
        """Of words, annotations, relations and symbols."""
        return self.reader.vocabulary

    def labelled(
        self, instances: Sequence[Instance], labels: Sequence[str], rules: Sequence[Sequence[Sequence[str]]]
    ) -> Labelled:
        """Instances as it learns them, each with its relation and the symbols of its rules."""
        numbers = self.vocabulary.numbers["relations"]
        return Labelled(
            [self.reader.example(one) for one in instances],
            np.array([numbers.get(label, len(numbers)) for label in labels], dtype=np.int64),
            [[self.vocabulary.rule(rule) for rule in of_one] for of_one in rules],
        )

    def probabilities(self, instances: Sequence[Instance], hidden: Sequence[Sequence[int]]) -> FloatArray:
        """Of all relations, with tokens hidden: ``[instances, relations]``."""
        pairs = zip(instances, hidden, strict=True)
        return relation_probabilities(self.network, [self.reader.example(one, tokens) for one, tokens in pairs])

    def description(self) -> dict[str, Any]:
        """What :meth:`of` makes it of once more, but for its weights."""
        parts = {"encoder": asdict(self.encoder), "decoder": asdict(self.decoder)}
        return {"vocabulary": asdict(self.vocabulary), "model": self.kind, **parts}

    @classmethod
    def of(
        cls, described: Mapping[str, Any], weights: Mapping[str, NDArray[Any]], transformer: "Transformer | None"
    ) -> Self:
        """One that was trained, ready to predict."""
        import torch

        entries = described["vocabulary"]
        entries |= {name: tuple(listed) for name, listed in entries.items() if isinstance(listed, list)}
        encoder, decoder = EncoderConfig(**described["encoder"]), DecoderConfig(**described["decoder"])
        model = cls.new(described["model"], encoder, decoder, Vocabulary(**entries), transformer)
        model.network.load_state_dict({name: torch.from_numpy(weight.copy()) for name, weight in weights.items()})
        model.network.eval()
        return model
