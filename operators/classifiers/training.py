"""Training of a text classifier with one head or several, of any encoder: a small one, or a model of transformers.

With r(x) the representation of a text x, and heads h, each of which knows the classes y_h of some texts, the encoder
and the ordinary heads minimise

    sum_h w_h mean_x c_h(y_h) CE(h(r(x)), y_h),

with CE the cross entropy, w_h the weight of a head, and c_h(y) = n / (K n_y) the weight of a class that n_y of the n
texts have, of K classes, or 1. An adversarial head minimises its own loss, while the encoder maximises w_h times that
loss (gradient reversal, Ganin and Lempitsky 2015). All runs in one thread: several would divide sums among them, and
last bits would depend on their number.

The optimiser is RMSprop (Tieleman and Hinton 2012) or AdamW (Loshchilov and Hutter 2019). Of the T steps of all epochs,
the first W = ceil(warmup T), one at least, raise the learning rate to its full height, and the others may let
it fall: step t takes min(t / W, 1) of it by a constant schedule, min(t / W, (T + 1 - t) / (T + 1 - W)) by a linear one.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict, Field, ValidationInfo, field_validator
from pydantic.dataclasses import dataclass

from tiltmeter.operators.classifiers.records import Head
from tiltmeter.operators.compute.batching import length_batches
from tiltmeter.operators.compute.generators import keyed_generator, one_thread, torch_random
from tiltmeter.operators.compute.philox import Stream
from tiltmeter.operators.text.tokenised import TokenisedText

if TYPE_CHECKING:
    from torch import Tensor
    from torch.optim import Optimizer

    from tiltmeter.operators.classifiers.networks import HeadedNetwork

VERSION = "classifier_training/1"

UNLABELLED = -1
"""In place of the class of a text for a head that learns nothing from it."""

_TRAINING = 2
"""Of what is drawn in training a classifier: batches and dropout."""


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class TrainingConfig:
    """How a classifier is trained.

    Attributes:
        learning_rate: at its full height. Word vectors and small networks take 1e-3, a model of transformers some 2e-5.
        max_epochs: passes over the training texts at most.
        patience: epochs without a new smallest loss of the first head on the development texts, after which it ends,
            with the weights of the smallest; None: it takes all epochs, and keeps the last weights.
        max_tokens: in a batch, padding included; a longer text is a batch by itself.
        batch_size: texts in a batch, whatever their length, drawn anew in each epoch; None: as ``max_tokens`` says.
        optimizer: RMSprop or AdamW.
        weight_decay: of AdamW, on matrices; biases and the gains of normalisation have none.
        warmup: share of all steps in which the learning rate rises.
        schedule: of the learning rate after that.
        max_gradient_norm: to which longer gradients are shortened; None: they are not.
        class_weights: ``balanced``: every class weighs the same in the loss; ``equal``: every text does.
    """

    learning_rate: Annotated[float, Field(gt=0.0, le=1.0)] = 1e-3
    max_epochs: Annotated[int, Field(ge=1)] = 50
    patience: Annotated[int, Field(ge=1)] | None = 5
    max_tokens: Annotated[int, Field(ge=1)] = 1024
    batch_size: Annotated[int, Field(ge=1)] | None = None
    optimizer: Literal["rmsprop", "adamw"] = "rmsprop"
    weight_decay: Annotated[float, Field(ge=0.0, lt=1.0)] = 0.0
    warmup: Annotated[float, Field(ge=0.0, le=1.0)] = 0.0
    schedule: Literal["constant", "linear"] = "constant"
    max_gradient_norm: Annotated[float, Field(gt=0.0, allow_inf_nan=False)] | None = None
    class_weights: Literal["balanced", "equal"] = "balanced"

    @field_validator("weight_decay")
    @classmethod
    def _of_adamw(cls, weight_decay: float, info: ValidationInfo) -> float:
        if weight_decay and info.data.get("optimizer") == "rmsprop":
            raise ValueError("must be 0 with RMSprop, which has none, or the optimizer adamw")
        return weight_decay


def learning_rate_factor(step: int, num_steps: int, config: TrainingConfig) -> float:
    """Share of the learning rate that a step takes, as above.

    Args:
        step: from 1 on.
        num_steps: of all epochs.

    >>> config = TrainingConfig(warmup=0.4, schedule="linear")
    >>> [learning_rate_factor(step, 5, config) for step in range(1, 6)]
    [0.5, 1.0, 0.75, 0.5, 0.25]
    """
    num_rising = max(1, math.ceil(config.warmup * num_steps))
    rising = min(1.0, step / num_rising)
    if config.schedule == "constant":
        return rising
    return min(rising, (num_steps + 1 - step) / (num_steps + 1 - num_rising))


class Labelled(NamedTuple):
    """Attributes:
    texts: as the network reads them.
    labels: number of each text's class, by head; ``UNLABELLED`` where it has none.
    """

    texts: Sequence[TokenisedText]
    labels: Mapping[str, NDArray[np.int64]]


class Epoch(NamedTuple):
    """One pass over the training texts.

    Attributes:
        loss: mean over its batches of all that is minimised, an adversarial head's own loss included.
        development_loss: of the first head on the development texts, after it.
        development_uar: unweighted average recall of the first head there: the mean share of each class that is found.
    """

    loss: float
    development_loss: float
    development_uar: float


Penalty = Callable[["HeadedNetwork", "Mapping[str, Tensor]", NDArray[np.int64]], "Tensor"]
"""Added to what is minimised: a number, from the network, the inputs of a batch, and its rows of the training texts."""


def train(
    network: "HeadedNetwork",
    heads: Mapping[str, Head],
    training: Labelled,
    development: Labelled,
    config: TrainingConfig,
    seed: int,
    penalty: Penalty | None = None,
) -> list[Epoch]:
    """Train a network, whether new or trained before, as long as its loss on the development texts falls.

    The network runs on the device where it lies, and is left with the weights of the best epoch, or the last if all are
    taken, in evaluation mode.
    On one type of processor the same arguments give the same bits.

    Args:
        network: with these heads, the first of which is the one that tells when to stop.
        heads: what each learns.
        training: what is learnt from.
        development: what tells when to stop.
        config: of the optimiser.
        seed: of the batches and dropout.
        penalty: what else is minimised.

    Returns:
        All epochs.

    Raises:
        ValueError: if there are no texts, one has no token, a class of a head has no training text, the development
            texts have no class of the first head, or training diverges.
    """
    _check(heads, training, development)
    with (
        one_thread(),
        torch_random(seed, Stream.CLASSIFIER_TRAINING, _TRAINING, device=next(network.parameters()).device),
    ):
        return _Training(network, heads, training, config, seed, penalty).run(development)


class _Training:
    def __init__(
        self,
        network: "HeadedNetwork",
        heads: Mapping[str, Head],
        training: Labelled,
        config: TrainingConfig,
        seed: int,
        penalty: Penalty | None,
    ) -> None:
        import torch

        self._network, self._heads, self._training = network, heads, training
        self._config, self._penalty = config, penalty
        self._device = next(network.parameters()).device
        self._labels = {name: torch.from_numpy(training.labels[name]).to(self._device) for name in heads}
        self._weights = {name: self._class_weights(name) for name in heads}
        self._order = keyed_generator(seed, Stream.CLASSIFIER_TRAINING, _TRAINING)
        self._optimizer = _optimizer(network, config)
        num_steps = config.max_epochs * len(self._sorted_into_batches(np.arange(len(training.texts))))
        self._schedule = torch.optim.lr_scheduler.LambdaLR(
            self._optimizer, lambda num_taken: learning_rate_factor(num_taken + 1, num_steps, config)
        )

    def _class_weights(self, name: str) -> "Tensor":
        import torch

        counts = _counts(self._training.labels[name], len(self._heads[name].classes))
        if self._config.class_weights == "equal":
            return torch.ones(counts.size, device=self._device)
        return torch.tensor(counts.sum() / (counts.size * counts), dtype=torch.float32, device=self._device)

    def run(self, development: Labelled) -> list[Epoch]:
        """All epochs."""
        history: list[Epoch] = []
        best: dict[str, Tensor] = {}
        since_best, patience = 0, self._config.patience
        while len(history) < self._config.max_epochs and (patience is None or since_best < patience):
            history.append(Epoch(self._pass(), *self._measured(development)))
            since_best = len(history) - 1 - int(np.argmin([epoch.development_loss for epoch in history]))
            if since_best == 0 and patience is not None:
                best = {name: tensor.clone() for name, tensor in self._network.state_dict().items()}
        if best:
            self._network.load_state_dict(best)
        return history

    def _pass(self) -> float:
        """Mean over the batches of what is minimised, during one epoch."""
        import torch

        self._network.train()
        losses = []
        for rows in self._batches():
            loss = self._loss(rows)
            self._optimizer.zero_grad()
            torch.autograd.backward(loss)
            if self._config.max_gradient_norm is not None:
                torch.nn.utils.clip_grad_norm_(self._network.parameters(), self._config.max_gradient_norm)
            self._optimizer.step()
            self._schedule.step()
            losses.append(loss.detach())
        mean = float(sum(losses)) / len(losses)
        if not np.isfinite(mean):
            raise ValueError("training diverges: set the learning rate to a smaller one")
        return mean

    def _batches(self) -> Iterator[NDArray[np.int64]]:
        """Which texts come together, and when, is drawn."""
        batches = self._sorted_into_batches(self._order.permutation(len(self._training.texts)))
        for place in self._order.permutation(len(batches)).tolist():
            yield batches[place]

    def _sorted_into_batches(self, order: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        """Rows of texts of about one length, or so many as they come; their number does not depend on the order."""
        size = self._config.batch_size
        if size is not None:
            return np.split(order, range(size, len(order), size))
        lengths = np.array([len(self._training.texts[row].word_of) for row in order])
        return [order[batch] for batch in length_batches(lengths, self._config.max_tokens)]

    def _loss(self, rows: NDArray[np.int64]) -> "Tensor":
        from tiltmeter.operators.classifiers.networks import network_inputs, reversed_gradient

        inputs = network_inputs(self._network, [self._training.texts[row] for row in rows])
        representation = self._network.representation(**inputs)
        loss = representation.new_zeros(())
        for name, head in self._heads.items():
            seen = reversed_gradient(representation, head.weight) if head.adversarial else representation
            own_loss = self._cross_entropy(name, self._network.heads[name](seen), self._labels[name][rows])
            loss = loss + (own_loss if head.adversarial else head.weight * own_loss)
        return loss if self._penalty is None else loss + self._penalty(self._network, inputs, rows)

    def _cross_entropy(self, name: str, logits: "Tensor", labels: "Tensor") -> "Tensor":
        """Mean over the texts that have a class; 0 if none has."""
        from torch.nn.functional import cross_entropy

        total = cross_entropy(logits, labels, self._weights[name], ignore_index=UNLABELLED, reduction="sum")
        return total / (labels != UNLABELLED).sum().clamp(min=1)

    def _measured(self, development: Labelled) -> tuple[float, float]:
        """Loss and unweighted average recall of the first head."""
        import torch
        from sklearn.metrics import recall_score

        from tiltmeter.operators.classifiers.networks import outputs

        name = self._network.main
        labels = development.labels[name]
        logits = outputs(self._network, development.texts, self._config.max_tokens).logits[name]
        scores = torch.from_numpy(logits).to(self._device)
        loss = self._cross_entropy(name, scores, torch.from_numpy(labels).to(self._device))
        known = labels != UNLABELLED
        gold, predicted = labels[known], logits[known].argmax(axis=1)
        return loss.item(), float(recall_score(gold, predicted, labels=np.unique(gold), average="macro"))


def _optimizer(network: "HeadedNetwork", config: TrainingConfig) -> "Optimizer":
    import torch

    if config.optimizer == "rmsprop":
        return torch.optim.RMSprop(network.parameters(), lr=config.learning_rate)
    parameters = list(network.parameters())
    groups = [
        {"params": [tensor for tensor in parameters if tensor.ndim > 1], "weight_decay": config.weight_decay},
        {"params": [tensor for tensor in parameters if tensor.ndim < 2], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=config.learning_rate)


def _counts(labels: NDArray[np.int64], num_classes: int) -> NDArray[np.int64]:
    return np.bincount(labels[labels != UNLABELLED], minlength=num_classes)


def _check(heads: Mapping[str, Head], training: Labelled, development: Labelled) -> None:
    from tiltmeter.operators.classifiers.networks import check_tokens

    for part, (texts, labels) in {"training": training, "development": development}.items():
        if not texts or any(len(numbers) != len(texts) for numbers in labels.values()):
            raise ValueError(f"{len(texts)} {part} texts: must be at least one, with as many labels of each head")
        check_tokens(texts)
    for name, head in heads.items():
        counts = _counts(training.labels[name], len(head.classes))
        if not counts.all():
            missing = head.classes[int(counts.argmin())]
            raise ValueError(f"the class {missing!r} of {name} has no training text; set data.path to other texts")
    main = next(iter(heads))
    if (development.labels[main] == UNLABELLED).all():
        raise ValueError(f"no development text has a class of {main}; set data.path to other texts")
