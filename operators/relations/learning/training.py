"""Joint training of relations and rules: what an instance is called, and what is written of it, of one encoder.

    loss = mean over instances of [ CE(relation) + sum over its rules of CE(rule) / (number of rules x length) ]

The second part is of instances that have a rule alone (section 3.3 of Tang and Surdeanu 2021; each rule is divided by
its own length). All runs in one thread, so that the same arguments give the same bits on one type of processor.

An epoch is as good as both of its parts on development instances,

    score = F1 + exp(-CE(rule)),    CE(rule) the mean over its instances with rules of sum CE(symbols) / length,

both from 0 to 1: the second is the mean probability (geometric) of a symbol of a rule. F1 alone ties as soon as
relations are told right, long before rules are written right. (The released code adds BLEU to F1; the paper says F1.)
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiltmeter.operators.compute.batching import length_batches
from tiltmeter.operators.compute.generators import keyed_generator, one_thread, torch_random
from tiltmeter.operators.compute.philox import Stream
from tiltmeter.operators.relations.learning.examples import END, PADDING, START, Example, Sizes, batch_of

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module
    from torch.optim import Optimizer

    from tiltmeter.operators.relations.learning.networks import Encoded, RelationNetwork
    from tiltmeter.operators.relations.learning.settings import DecoderConfig, EncoderConfig, TrainingConfig

VERSION = "relation_training/2"

NO_RELATION = 0
"""Number of the relation that means none."""

_TOKENS_AT_A_TIME = 4096
_INITIAL, _ORDER = 0, 1
"""What is drawn: initial weights and dropout, and the order of instances."""


@dataclass(frozen=True)
class Labelled:
    """Attributes:
    examples: instances.
    relations: ``[examples]``, numbers of their relations.
    rules: of each, the symbols of the rules that match it, without start and end.
    """

    examples: Sequence[Example]
    relations: NDArray[np.int64]
    rules: Sequence[Sequence[Sequence[int]]]


class Epoch(NamedTuple):
    """One pass.

    Attributes:
        relation_loss, rule_loss: means over batches of both parts of what is minimised.
        f1: micro, without ``no_relation``, on the development part; NaN without a classifier.
        development_rule_loss: mean loss of its rules; NaN without a decoder, or rules.
        rate: of learning.
    """

    relation_loss: float
    rule_loss: float
    f1: float
    development_rule_loss: float
    rate: float

    @property
    def score(self) -> float:
        """What tells the best epoch: see above; a part that is not there counts 0.

        >>> Epoch(0.0, 0.0, 0.5, 0.0, 0.1).score, Epoch(0.0, 0.0, 0.5, float("nan"), 0.1).score
        (1.5, 0.5)
        """
        return float(np.nansum([self.f1, np.exp(-self.development_rule_loss)]))


def best_epoch(history: Sequence[Epoch]) -> int:
    """Of the largest score, from 0; of equals the last, which has learnt more.

    >>> best_epoch([Epoch(2.0, 0.0, f1, float("nan"), 0.1) for f1 in (0.5, 1.0, 1.0, 0.9)])
    2
    """
    return max(range(len(history)), key=lambda place: (history[place].score, place))


def build(
    encoder: "EncoderConfig",
    decoder: "DecoderConfig | None",
    training: "TrainingConfig",
    sizes: Sizes,
    seed: int,
    *,
    classifies: bool = True,
    transformer: "Module | None" = None,
    vectors: Mapping[int, NDArray[np.float32]] = MappingProxyType({}),
) -> "RelationNetwork":
    """A new network, whose weights depend on the seed alone, but for what it is given.

    Args:
        transformer: that reads in place of the BiLSTM.
        vectors: of words by their numbers, of as many numbers as ``encoder.words`` says; the others are drawn.
    """
    import torch

    from tiltmeter.operators.relations.learning.networks import RelationNetwork

    drops = {"drop": training.dropout, "word_drop": training.word_dropout}
    with torch_random(seed, Stream.RELATION_TRAINING, _INITIAL):
        network = RelationNetwork(encoder, decoder, sizes, classifies=classifies, transformer=transformer, **drops)
    if vectors and network.encoder.words is not None:
        rows = torch.from_numpy(np.stack(list(vectors.values())))
        network.encoder.words.weight.data[torch.tensor(list(vectors))] = rows
    return network


def train(
    network: "RelationNetwork", data: Labelled, development: Labelled, config: "TrainingConfig", seed: int
) -> list[Epoch]:
    """Train as long as the score of the development part rises; the network is left with the weights of the best epoch.

    While the F1 of the best epoch is 0, nothing is known yet that could get worse, and training goes on. The rate falls
    after each epoch whose F1 (without a classifier, whose score) is not above that of the one before.

    Returns:
        All epochs.

    Raises:
        ValueError: if there is no instance, none has a rule where there is no classifier, or training diverges.
    """
    if not data.examples or not development.examples:
        raise ValueError("training and development must have an instance each at least")
    if network.classifier is None and not (any(data.rules) and any(development.rules)):
        raise ValueError("without a classifier, training and development must have an instance with a rule each")
    with one_thread(), torch_random(seed, Stream.RELATION_TRAINING, _ORDER):
        return _Training(network, data, config, seed).run(development)


def relation_probabilities(network: "RelationNetwork", examples: Sequence[Example]) -> NDArray[np.float64]:
    """``[examples, relations]``.

    Raises:
        ValueError: if the network has no classifier.
    """
    import torch

    if network.classifier is None:
        raise ValueError("a network without a classifier tells no relations")
    network.eval()
    parts: dict[int, NDArray[np.float64]] = {}
    with one_thread(), torch.inference_mode():
        for rows in length_batches([example.words.size for example in examples], _TOKENS_AT_A_TIME):
            logits = network.classifier(network.encoder(batch_of([examples[row] for row in rows])).pooled)
            parts |= dict(zip(rows.tolist(), torch.softmax(logits.double(), dim=1).numpy(), strict=True))
    return np.array([parts[row] for row in range(len(examples))])


def micro_f1(gold: NDArray[np.int64], predicted: NDArray[np.int64]) -> float:
    """Of all relations but ``no_relation``; 0 if nothing is right."""
    right = int(((gold == predicted) & (gold != NO_RELATION)).sum())
    return 2.0 * right / max(1, int((gold != NO_RELATION).sum() + (predicted != NO_RELATION).sum()))


class _Training:
    def __init__(self, network: "RelationNetwork", data: Labelled, config: "TrainingConfig", seed: int) -> None:
        self._network, self._data, self._config = network, data, config
        self._optimizers = _optimizers(network, config)
        self._order = keyed_generator(seed, Stream.RELATION_TRAINING, _ORDER)

    def run(self, development: Labelled) -> list[Epoch]:
        """All epochs."""
        history: list[Epoch] = []
        best: dict[str, Tensor] = {}
        while len(history) < self._config.max_epochs and not self._is_done(history):
            rate = self._optimizers[0].param_groups[0]["lr"]
            history.append(Epoch(*self._pass(), *held_out(self._network, development), rate))
            if best_epoch(history) == len(history) - 1:
                best = {name: tensor.clone() for name, tensor in self._network.state_dict().items()}
            if len(history) > 1 and len(history) >= self._config.decay_from and not _rises(*history[-2:]):
                self._slow_down()
        self._network.load_state_dict(best)
        self._network.eval()
        return history

    def _is_done(self, history: Sequence[Epoch]) -> bool:
        """Whether a score (nearly) as large as any is too many epochs old."""
        if not history or self._config.patience is None:
            return False
        scores = np.array([epoch.score for epoch in history])
        first = int(np.argmax(scores > scores.max() - _SMALL_RISE))
        return len(history) - 1 - first >= self._config.patience and history[first].f1 != 0.0

    def _slow_down(self) -> None:
        for optimizer in self._optimizers:
            for group in optimizer.param_groups:
                group["lr"] *= self._config.decay

    def _pass(self) -> tuple[float, float]:
        """Means over the batches of both losses, during one epoch."""
        import torch

        self._network.train()
        losses = []
        for rows in self._batches():
            relation_loss, rule_loss, penalty = self._losses(rows)
            for optimizer in self._optimizers:
                optimizer.zero_grad()
            torch.autograd.backward(relation_loss + rule_loss + penalty)
            _shorten(self._network, self._config.max_gradient_norm)
            for optimizer in self._optimizers:
                optimizer.step()
            losses.append((relation_loss.item(), rule_loss.item()))
        relation_mean, rule_mean = np.mean(losses, axis=0).tolist()
        if not np.isfinite(relation_mean + rule_mean):
            raise ValueError("training diverges: set training.rate to a smaller one")
        return relation_mean, rule_mean

    def _batches(self) -> Iterator[NDArray[np.int64]]:
        """Instances of about one length together: so many at a time in an order that is drawn, then cut by length."""
        size = self._config.batch
        lengths = np.array([example.words.size for example in self._data.examples])
        order = self._order.permutation(lengths.size)
        near = np.argsort(lengths[order] // _LENGTHS_ALIKE, kind="stable")
        batches = np.split(order[near], range(size, lengths.size, size))
        for place in self._order.permutation(len(batches)).tolist():
            yield batches[place]

    def _losses(self, rows: NDArray[np.int64]) -> tuple["Tensor", "Tensor", "Tensor"]:
        import torch
        from torch.nn.functional import cross_entropy

        encoded = self._network.encoder(batch_of([self._data.examples[row] for row in rows]))
        relation_loss = encoded.pooled.new_zeros(())
        if self._network.classifier is not None:
            relations = torch.from_numpy(self._data.relations[rows])
            relation_loss = cross_entropy(self._network.classifier(encoded.pooled), relations)
        rule_loss = relation_loss.new_zeros(())
        if self._network.decoder is not None:
            rule_loss = rule_losses(self._network, encoded, [self._data.rules[row] for row in rows]).sum() / len(rows)
        return relation_loss, rule_loss, self._config.pooled_penalty * encoded.pooled.square().sum(dim=1).mean()


_SMALL_RISE = 1e-3
"""Of the score, for which no epoch is waited for."""

_LENGTHS_ALIKE = 4
"""Lengths that come into one batch, so that little is padded and batches still differ from epoch to epoch."""


def rule_losses(network: "RelationNetwork", encoded: "Encoded", rules: Sequence[Sequence[Sequence[int]]]) -> "Tensor":
    """Of each rule: the cross entropy of its symbols and its end, divided by their number and by that of the rules
    of its instance; in the order of instances."""
    import torch
    from torch.nn.functional import cross_entropy

    targets = [(place, rule, len(all_rules)) for place, all_rules in enumerate(rules) for rule in all_rules]
    if not targets or network.decoder is None:
        return encoded.pooled.new_zeros((0,))
    places = torch.tensor([place for place, _, _ in targets])
    longest = 1 + max(len(rule) for _, rule, _ in targets)
    given, following = (torch.full((len(targets), longest), PADDING) for _ in range(2))
    for number, (_, rule, _) in enumerate(targets):
        given[number, : len(rule) + 1] = torch.tensor([START, *rule])
        following[number, : len(rule) + 1] = torch.tensor([*rule, END])
    of_rules = type(encoded)(*(part[places] for part in encoded))
    scores, _ = network.decoder(given, network.decoder.start(of_rules), of_rules)
    losses = cross_entropy(scores.transpose(1, 2), following, ignore_index=PADDING, reduction="none").sum(dim=1)
    divisors = torch.tensor([(len(rule) + 1) * number for _, rule, number in targets])
    return losses / divisors


def _rises(before: Epoch, after: Epoch) -> bool:
    return after.score > before.score if np.isnan(after.f1) else after.f1 > before.f1


def held_out(network: "RelationNetwork", data: Labelled) -> tuple[float, float]:
    """F1 of relations and mean loss of rules, of a part that is not learnt from; NaN without what tells them."""
    f1 = rule_loss = float("nan")
    if network.classifier is not None:
        f1 = micro_f1(data.relations, relation_probabilities(network, data.examples).argmax(axis=1))
    if network.decoder is not None and any(data.rules):
        rule_loss = _mean_rule_loss(network, data)
    return f1, rule_loss


def _mean_rule_loss(network: "RelationNetwork", data: Labelled) -> float:
    import torch

    network.eval()
    total = 0.0
    rows = [row for row, rules in enumerate(data.rules) if rules]
    with torch.inference_mode():
        for block in length_batches([data.examples[row].words.size for row in rows], _TOKENS_AT_A_TIME):
            here = [rows[place] for place in block]
            encoded = network.encoder(batch_of([data.examples[row] for row in here]))
            total += float(rule_losses(network, encoded, [data.rules[row] for row in here]).sum())
    return total / len(rows)


def _shorten(network: "RelationNetwork", longest: float) -> None:
    """Gradients whose norm is too large, all by one factor; those of words have rows of the batch's words alone."""
    import torch

    gradients = [parameter.grad for parameter in network.parameters() if parameter.grad is not None]
    dense = []
    for gradient in gradients:
        if gradient.is_sparse:
            gradient.data = gradient.coalesce()
        dense.append(gradient._values() if gradient.is_sparse else gradient)
    norm = torch.linalg.vector_norm(torch.stack([torch.linalg.vector_norm(values) for values in dense]))
    if norm > longest:
        for values in dense:
            values.mul_(longest / norm)


def _optimizers(network: "RelationNetwork", config: "TrainingConfig") -> list["Optimizer"]:
    """Of all weights, or, with Adam, of words and of the others."""
    from torch.optim import SGD, Adagrad, Adam, SparseAdam

    transformer = network.encoder.transformer
    pretrained = [] if transformer is None else list(transformer.parameters())
    given = {id(parameter) for parameter in pretrained}
    others = [parameter for parameter in network.parameters() if id(parameter) not in given]
    groups = [{"params": others}] + ([{"params": pretrained, "lr": config.transformer_rate}] if pretrained else [])
    if config.optimizer == "adagrad":
        return [Adagrad(groups, lr=config.rate)]
    if config.optimizer == "sgd":
        return [SGD(groups, lr=config.rate)]
    if network.encoder.words is None:
        return [Adam(groups, lr=config.rate)]
    words = network.encoder.words.weight
    dense = [parameter for parameter in others if parameter is not words]
    return [Adam(dense, lr=config.rate), SparseAdam([words], lr=config.rate)]
