"""Rules that a trained decoder writes of an instance: free, bound to match it, or picked among known ones.

Each instance is decoded by itself, in arrays whose shapes depend on nothing else, so that it gets the same bits alone
and among others. (The published code views states of a batch as ``[layers, batch, numbers]`` where they lie as
``[batch, layers x numbers]``: instance i starts from the arguments of instance i // 2.)

What is no symbol of a rule (padding, the unknown, the start) has probability 0: training never asks for it, and what
little it learns may like it best.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, Protocol, Self

import numpy as np

from tiltmeter.operators.compute.generators import one_thread
from tiltmeter.operators.relations.learning.examples import END, START, Example, batch_of

if TYPE_CHECKING:
    from torch import Tensor

    from tiltmeter.operators.relations.learning.networks import Encoded, RelationNetwork

VERSION = "rule_decoding/2"


class Prefix(Protocol):
    """The beginning of a rule, as the automaton of one instance sees it."""

    @property
    def is_complete(self) -> bool:
        """Whether what is there already is a rule that matches."""

    @property
    def reason(self) -> str | None:
        """Why there can be no rule; None where there can."""

    def allowed(self) -> Collection[str]:
        """Symbols after which a rule that matches the instance can still come."""

    def advance(self, symbol: str) -> Self:
        """With one more symbol."""


class Written(NamedTuple):
    """What a decoder writes of an instance.

    Attributes:
        symbols: of the rule; None if there is none.
        log_probability: of all symbols and the end, in nats; NaN without a rule.
        reason: why there is no rule; empty if there is.
    """

    symbols: tuple[str, ...] | None
    log_probability: float
    reason: str = ""


@dataclass(frozen=True)
class Writer:
    """A trained network that writes rules.

    Attributes:
        symbols: of the vocabulary, by their numbers.
        max_length: symbols of a rule at most.
    """

    network: "RelationNetwork"
    symbols: Sequence[str]
    max_length: int

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {symbol: number for number, symbol in enumerate(self.symbols) if number > END}

    def free(self, example: Example) -> Written:
        """The likeliest symbol at each step, as published: it may be no rule, or match nothing.

        It ends where the end is likeliest, or with the longest rule that may be.
        """
        steps, row = _Steps(self.network, example, 1), _Row()
        while len(row.numbers) <= self.max_length and (not row.numbers or row.numbers[-1] != END):
            [scores] = steps.follow([row])
            best = int(scores.argmax())
            row = _Row((*row.numbers, best), row.total + float(scores[best]))
        return self._written(row)

    def constrained(self, example: Example, prefix: Prefix, beam: int) -> Written:
        """The rule of the largest mean log probability per symbol that a beam search finds, which follows beginnings
        alone that a rule matching the instance can have.

        Args:
            prefix: no symbol yet.
            beam: beginnings that are followed at a time.
        """
        if prefix.reason is not None:
            return Written(None, float("nan"), prefix.reason)
        steps = _Steps(self.network, example, beam)
        rows, ended = [_Row(prefix=prefix)], list[_Row]()
        while rows and len(rows[0].numbers) <= self.max_length:
            followers = list(self._followers(rows, steps.follow(rows)))
            ended += [row for row in followers if row.numbers[-1] == END]
            kept = sorted((row for row in followers if row.numbers[-1] != END), key=_Row.by_mean)[:beam]
            if len(ended) >= beam:
                break
            rows = [row.reached(self.symbols) for row in kept]
            steps.keep([row.parent for row in rows])
        if not ended:
            return Written(None, float("nan"), "no rule of symbols that training has seen was found that matches it")
        return self._written(min(ended, key=_Row.by_mean))

    def scores(self, example: Example, rules: Sequence[Sequence[str]]) -> list[float]:
        """Mean log probability per symbol, the end included, of known rules; minus infinity with unknown symbols."""
        return [self._score(example, [self._numbers.get(symbol, -1) for symbol in rule]) for rule in rules]

    def among(self, example: Example, rules: Sequence[Sequence[str]]) -> Written:
        """The known rule of the largest mean log probability per symbol; of equals, the first."""
        scores = self.scores(example, rules)
        best = max(range(len(rules)), key=scores.__getitem__, default=-1)
        if best < 0 or not np.isfinite(scores[best]):
            return Written(None, float("nan"), "no known rule matches it whose symbols training has seen")
        return Written(tuple(rules[best]), scores[best] * (len(rules[best]) + 1))

    def _score(self, example: Example, numbers: Sequence[int]) -> float:
        if min(numbers, default=-1) < 0:
            return -np.inf
        steps, row = _Steps(self.network, example, 1), _Row()
        for number in [*numbers, END]:
            [scores] = steps.follow([row])
            row = _Row((*row.numbers, number), row.total + float(scores[number]))
        return row.mean

    def _followers(self, rows: Sequence["_Row"], scores: "Tensor") -> Iterator["_Row"]:
        for place, (row, after) in enumerate(zip(rows, scores, strict=True)):
            numbers = [self._numbers[symbol] for symbol in row.automaton.allowed() if symbol in self._numbers]
            for number in sorted(numbers) + [END] * row.automaton.is_complete:
                yield _Row((*row.numbers, number), row.total + float(after[number]), row.prefix, place)

    def _written(self, row: "_Row") -> Written:
        return Written(tuple(self.symbols[number] for number in row.numbers if number > END), row.total)


class _Row(NamedTuple):
    """The beginning of a rule: numbers of symbols, their log probability, where they lead, and which row they continue.

    ``prefix`` is that of the row which is continued, until :meth:`reached`.
    """

    numbers: tuple[int, ...] = ()
    total: float = 0.0
    prefix: Prefix | None = None
    parent: int = 0

    @property
    def mean(self) -> float:
        return self.total / len(self.numbers)

    @property
    def automaton(self) -> Prefix:
        """That of a row which has one.

        Raises:
            ValueError: if it has none.
        """
        if self.prefix is None:
            raise ValueError("a beginning that is free has no automaton")
        return self.prefix

    def by_mean(self) -> tuple[float, tuple[int, ...]]:
        """The best first; of equals, that of the smallest numbers."""
        return -self.mean, self.numbers

    def reached(self, symbols: Sequence[str]) -> "_Row":
        return self._replace(prefix=self.automaton.advance(symbols[self.numbers[-1]]))


class _Steps:
    """The decoder on one instance, as many rows at a time as the beam is wide, whether they are needed or not."""

    def __init__(self, network: "RelationNetwork", example: Example, num_rows: int) -> None:
        import torch

        if network.decoder is None:
            raise ValueError("a network without a decoder writes no rules")
        network.eval()
        self._decoder, self._num_rows = network.decoder, num_rows
        with one_thread(), torch.inference_mode():
            encoded = network.encoder(batch_of([example]))
            self._encoded: Encoded = type(encoded)(*(part.expand(num_rows, *part.shape[1:]) for part in encoded))
            self._state = self._decoder.start(self._encoded)

    def follow(self, rows: Sequence[_Row]) -> "Tensor":
        """Log probabilities ``[rows, symbols]`` of what comes next."""
        import torch

        last = [row.numbers[-1] if row.numbers else START for row in rows]
        given = torch.tensor(last + [START] * (self._num_rows - len(rows)))[:, None]
        with one_thread(), torch.inference_mode():
            scores, self._state = self._decoder(given, self._state, self._encoded)
            scores = scores[: len(rows), 0].double()
            scores[:, :END] = -torch.inf
            return torch.log_softmax(scores, dim=1)

    def keep(self, parents: Sequence[int]) -> None:
        """Go on from these rows."""
        places = [*parents, *[0] * (self._num_rows - len(parents))]
        self._state = self._state[0][:, places].contiguous(), self._state[1][:, places].contiguous()
