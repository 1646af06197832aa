"""Settings of the network that tells relations and writes rules, and of its training.

The defaults are ours; what Tang and Surdeanu (2021, *Interpretability Rules: Jointly Bootstrapping a Neural Relation
Extractor with an Explanation Decoder*) report is in the comments of ``conf/job/relation_rules.yaml``.
"""

from typing import Annotated, Literal

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

_CONFIG = ConfigDict(extra="forbid")
_Size = Annotated[int, Field(ge=1, le=4096)]
_Share = Annotated[float, Field(ge=0.0, lt=1.0)]
_Positive = Annotated[float, Field(gt=0.0, allow_inf_nan=False)]


@dataclass(frozen=True, config=_CONFIG)
class EncoderConfig:
    """How a sentence with two arguments is read.

    Attributes:
        words, pos, ner: dimensions of the embeddings.
        min_count: of a word in the training part, with fewer of which it is unknown.
        untyped: what stands for an argument whose type is not known: a mask, as for others, or its words, which are
            ``read`` with its role in place of their named entities.
        lstm, lstm_layers: units per direction, and layers.
        gcn, gcn_layers: units and layers of the graph convolution.
        prune: how far from the path between the arguments a token may be; None: the whole tree.
        ffn, ffn_layers: of the classifier.
    """

    words: _Size = 100
    pos: _Size = 30
    ner: _Size = 30
    min_count: Annotated[int, Field(ge=1)] = 2
    untyped: Literal["masked", "read"] = "masked"
    lstm: _Size = 100
    lstm_layers: Annotated[int, Field(ge=1, le=8)] = 1
    gcn: _Size = 100
    gcn_layers: Annotated[int, Field(ge=1, le=8)] = 1
    prune: Annotated[int, Field(ge=0)] | None = 1
    ffn: _Size = 100
    ffn_layers: Annotated[int, Field(ge=1, le=8)] = 1


@dataclass(frozen=True, config=_CONFIG)
class DecoderConfig:
    """How a rule is written.

    Attributes:
        layers, hidden: of the LSTM; together as many numbers as the vectors of both arguments.
        embedding: of a symbol.
        ffn: units of the output layer.
        output: what the output layer sees: the context of equation 9, or the state beside it.
        max_length: symbols of a rule at most.
        beam: rules that the constrained decoder follows at a time.
    """

    layers: Annotated[int, Field(ge=1, le=8)] = 2
    hidden: _Size = 100
    embedding: _Size = 100
    ffn: _Size = 100
    output: Literal["context", "context_and_state"] = "context_and_state"
    max_length: Annotated[int, Field(ge=1, le=1000)] = 100
    beam: Annotated[int, Field(ge=1, le=100)] = 5


@dataclass(frozen=True, config=_CONFIG)
class TrainingConfig:
    """How the network is trained.

    Attributes:
        optimizer: Adam, or Adagrad and plain descent of the published recipe.
        rate: of learning.
        transformer_rate: of the weights of a transformer.
        decay: what the rate is multiplied by after an epoch whose F1 on development is not above the last one's.
        decay_from: first epoch, from 1, after which that may be.
        dropout: of layers of the LSTM and of all graph convolutions but the last.
        word_dropout: share of words that training takes for unknown.
        batch: instances.
        max_epochs: passes over the training part at most.
        patience: epochs without a score higher by 0.001, after which training ends, unless F1 is 0; None: all epochs.
        max_gradient_norm: to which longer gradients are shortened.
        pooled_penalty: weight of the squared norm of the pooled vectors.
    """

    optimizer: Literal["adam", "adagrad", "sgd"] = "adam"
    rate: _Positive = 1e-3
    transformer_rate: _Positive = 2e-5
    decay: Annotated[float, Field(gt=0.0, le=1.0)] = 1.0
    decay_from: Annotated[int, Field(ge=1)] = 1
    dropout: _Share = 0.5
    word_dropout: _Share = 0.04
    batch: Annotated[int, Field(ge=1)] = 50
    max_epochs: Annotated[int, Field(ge=1)] = 100
    patience: Annotated[int, Field(ge=1)] | None = 5
    max_gradient_norm: _Positive = 5.0
    pooled_penalty: Annotated[float, Field(ge=0.0, allow_inf_nan=False)] = 0.0
