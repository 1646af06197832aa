"""The network of Tang and Surdeanu (2021): one encoder of a sentence with two arguments, a classifier of the relation,
and a decoder that writes a rule.

With x_i the embeddings of word, named entity and part of speech of token i, side by side (section 3 of the paper),

    H = BiLSTM(x),    h_i <- ReLU(sum_j Ã_ij W h_j / d_i + b),    Ã = A + I,    d_i = sum_j Ã_ij,

with A the pruned tree, or nothing without one, so that each token is left to itself. The pooled vector is the largest
value, number by number, over all tokens of the tree, the subject's, and the object's. A decoder of LSTM layers starts
from the vectors of subject and object, each instance from its own, looks at H by attention,

    a_t = softmax_j(h_j' W s_t),    C_t = sum_j a_t(j) h_j,

and gives the next symbol a probability by C_t (equation 9), or by C_t and its state s_t.

A transformer may read in place of the BiLSTM: the state of a token is that of its first piece, beside its annotations.
"""

from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import dropout

from tiltmeter.operators.relations.learning.examples import PADDING, UNKNOWN, Batch, Sizes

if TYPE_CHECKING:
    from tiltmeter.operators.relations.learning.settings import DecoderConfig, EncoderConfig

VERSION = "relation_network/1"


class Encoded(NamedTuple):
    """Attributes:
    tokens: ``[examples, tokens, gcn]``.
    subject, object: ``[examples, gcn]``.
    pooled: ``[examples, 3 gcn]``.
    kept: ``[examples, tokens]``, tokens that attention may look at.
    """

    tokens: Tensor
    subject: Tensor
    object: Tensor
    pooled: Tensor
    kept: Tensor


class Encoder(nn.Module):
    """BiLSTM or a transformer, graph convolution and pooling."""

    words: nn.Embedding | None

    def __init__(
        self, config: "EncoderConfig", sizes: Sizes, drop: float, word_drop: float, transformer: nn.Module | None
    ) -> None:
        super().__init__()
        self.words = None
        if transformer is None:
            self.words = nn.Embedding(sizes.words, config.words, padding_idx=PADDING, sparse=True)
        self.pos = nn.Embedding(sizes.pos, config.pos, padding_idx=PADDING)
        self.ner = nn.Embedding(sizes.ner, config.ner, padding_idx=PADDING)
        width = config.words + config.pos + config.ner
        widths = [width, *[2 * config.lstm] * (config.lstm_layers - 1)] if transformer is None else []
        self.forwards = nn.ModuleList(nn.LSTM(size, config.lstm, batch_first=True) for size in widths)
        self.backwards = nn.ModuleList(nn.LSTM(size, config.lstm, batch_first=True) for size in widths)
        read = 2 * config.lstm if transformer is None else _width(transformer) + config.ner + config.pos
        widths = [read, *[config.gcn] * (config.gcn_layers - 1)]
        self.graph = nn.ModuleList(nn.Linear(size, config.gcn) for size in widths)
        self.transformer = transformer
        self._drop, self._word_drop = drop, word_drop

    def forward(self, batch: Batch) -> Encoded:
        """States of tokens, and pooled vectors."""
        states = self._read(batch)
        for number, layer in enumerate(self.graph):
            mixed = states if batch.adjacency is None else batch.adjacency @ states
            states = torch.relu(layer(mixed))
            if number < len(self.graph) - 1:
                states = dropout(states, self._drop, self.training)
        subject, object_ = (_largest(states, mask) for mask in (batch.subject, batch.object))
        pooled = torch.cat([_largest(states, batch.kept), subject, object_], dim=1)
        return Encoded(states, subject, object_, pooled, batch.kept)

    def _read(self, batch: Batch) -> Tensor:
        if self.words is not None:
            return self._recurrent(self._embedded(batch, self.words), batch.reversed_places)
        if self.transformer is None or batch.pieces is None or batch.first_pieces is None:
            raise ValueError("a transformer reads examples that have pieces")
        states = self.transformer(input_ids=batch.pieces, attention_mask=batch.are_pieces).last_hidden_state
        parts = [_reordered(states, batch.first_pieces), self.ner(batch.ner), self.pos(batch.pos)]
        return dropout(torch.cat(parts, dim=2), self._drop, self.training)

    def _embedded(self, batch: Batch, vectors: nn.Embedding) -> Tensor:
        words = batch.words
        if self.training and self._word_drop:
            dropped = (torch.rand(words.shape) < self._word_drop) & (words != PADDING)
            words = words.masked_fill(dropped, UNKNOWN)
        parts = [vectors(words), self.ner(batch.ner), self.pos(batch.pos)]
        return dropout(torch.cat(parts, dim=2), self._drop, self.training)

    def _recurrent(self, states: Tensor, reversed_places: Tensor) -> Tensor:
        for there, back in zip(self.forwards, self.backwards, strict=True):
            left = there(states)[0]
            right = _reordered(back(_reordered(states, reversed_places))[0], reversed_places)
            states = dropout(torch.cat([left, right], dim=2), self._drop, self.training)
        return states


class Decoder(nn.Module):
    """An LSTM with attention that writes a rule."""

    def __init__(self, config: "DecoderConfig", width: int, num_symbols: int) -> None:
        super().__init__()
        if config.layers * config.hidden != 2 * width:
            raise ValueError(
                f"decoder: {config.layers} layers of {config.hidden} can't start from two vectors of {width} numbers; "
                f"set decoder.hidden to {2 * width // config.layers}"
            )
        self.symbols = nn.Embedding(num_symbols, config.embedding, padding_idx=PADDING)
        self.lstm = nn.LSTM(config.embedding, config.hidden, config.layers, batch_first=True)
        self.attention = nn.Linear(config.hidden, width, bias=False)
        self._sees_state = config.output == "context_and_state"
        seen = width + config.hidden * self._sees_state
        self.output = nn.Sequential(nn.Linear(seen, config.ffn), nn.ReLU(), nn.Linear(config.ffn, num_symbols))

    def start(self, encoded: Encoded) -> tuple[Tensor, Tensor]:
        """States ``[layers, examples, hidden]`` before the first symbol: each example's from its own arguments."""
        both = torch.cat([encoded.subject, encoded.object], dim=1)
        hidden = both.view(len(both), self.lstm.num_layers, -1).transpose(0, 1).contiguous()
        return hidden, torch.zeros_like(hidden)

    def forward(
        self, symbols: Tensor, state: tuple[Tensor, Tensor], encoded: Encoded
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """Scores ``[examples, steps, symbols]`` of what follows each of the ``[examples, steps]`` symbols."""
        hidden, state = self.lstm(self.symbols(symbols), state)
        scores = self.attention(hidden) @ encoded.tokens.transpose(1, 2)
        scores = scores.masked_fill(~encoded.kept[:, None, :], -torch.inf)
        seen = torch.softmax(scores, dim=2) @ encoded.tokens
        return self.output(torch.cat([seen, hidden], dim=2) if self._sees_state else seen), state


class RelationNetwork(nn.Module):
    """Encoder, and a classifier or a decoder or both.

    Raises:
        ValueError: if the decoder can't start from the vectors of the arguments.
    """

    def __init__(
        self,
        encoder: "EncoderConfig",
        decoder: "DecoderConfig | None",
        sizes: Sizes,
        *,
        classifies: bool = True,
        drop: float = 0.0,
        word_drop: float = 0.0,
        transformer: nn.Module | None = None,
    ) -> None:
        super().__init__()
        self.encoder = Encoder(encoder, sizes, drop, word_drop, transformer)
        widths = [3 * encoder.gcn, *[encoder.ffn] * encoder.ffn_layers]
        hidden = [layer for size, following in pairwise(widths) for layer in (nn.Linear(size, following), nn.ReLU())]
        self.classifier = nn.Sequential(*hidden, nn.Linear(widths[-1], sizes.relations)) if classifies else None
        self.decoder = None if decoder is None else Decoder(decoder, encoder.gcn, sizes.symbols)


def _width(transformer: nn.Module) -> int:
    config: Any = transformer.config
    return int(config.hidden_size)


def _largest(states: Tensor, mask: Tensor) -> Tensor:
    """Over the tokens of a mask: ``[examples, numbers]``."""
    return states.masked_fill(~mask[:, :, None], -torch.inf).amax(dim=1)


def _reordered(states: Tensor, places: Tensor) -> Tensor:
    return states.gather(1, places[:, :, None].expand(-1, -1, states.shape[2]))
