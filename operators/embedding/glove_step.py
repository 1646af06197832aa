"""One step of AdaGrad on a pair of GloVe, in vectors of sixteen whose every operation IEEE 754 defines.

A compiler that may reorder sums or take the processor's approximate root gives other bits on another processor. Here
nothing is left to it: products are fused into two sums in turn, these are added lane by lane as a tree, and no root is
taken at all. In place of the sum of squared steps G, its r = G^(-1/2) is kept. With p = s r, the update of a step s,

    G' = G + s^2 = G (1 + p^2),    r' = r (1 + u)^(-1/2) = r + r u (-1/2 + 3 u / 8 - 5 u^2 / 16 + ...),    u = p^2;

where u > 1/64, at which what the series leaves out is 2e-8 of r, r' is r / sqrt(1 + u).

Row by row, AdaGrad keeps one G of a whole row, to which the mean of its squared steps is added: for a word
``g^2 (|c|^2 + 1) / (d + 1)``, with g the gradient of the scalar product times the learning rate, and 1 the factor of
its bias. It stands behind the biases in a lane of its own, in which the other side has a 0.
"""

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias, cast

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from tiltmeter.operators.compute.cache_lines import FLOATS_PER_LINE

LANES = 16
"""Rows have whole vectors of so many; a processor with shorter ones takes them in parts."""

_FLOAT, _INT64 = ir.FloatType(), ir.IntType(64)
_VECTOR, _MASK = ir.VectorType(_FLOAT, LANES), ir.IntType(LANES)
_ALIGNMENT = 4 * FLOATS_PER_LINE
_SERIES_UP_TO = 1 / 64


def _all(value: float) -> ir.Constant:
    return ir.Constant(_VECTOR, [value] * LANES)


def _lane(number: int) -> ir.Constant:
    return ir.Constant(ir.IntType(32), number)


def place_of_sum(side: int, dimensions: int) -> int:
    """The lane of a row in which its sum of mean squared steps stands, where there is one for the row."""
    return dimensions + 2 + side


class _Rows:
    """Code on the rows of a word and a context, each values and then, if any, roots."""

    def __init__(self, builder: Any, addresses: list[Any], width: int) -> None:
        self.builder, self.addresses, self.width = builder, addresses, width
        self._fma, self._sqrt = self._function("fma", 3), self._function("sqrt", 1)

    def _function(self, name: str, num: int, kind: Any = _VECTOR) -> ir.Function:
        """One of LLVM's own, of so many vectors or numbers."""
        module, full = self.builder.module, f"llvm.{name}.{'f32' if kind is _FLOAT else f'v{LANES}f32'}"
        return module.globals.get(full) or ir.Function(module, ir.FunctionType(kind, [kind] * num), full)

    def _address(self, side: int, start: int) -> Any:
        address = self.builder.gep(self.addresses[side], [ir.Constant(_INT64, start)])
        return self.builder.bitcast(address, _VECTOR.as_pointer())

    def load(self, side: int, start: int) -> Any:
        return self.builder.load(self._address(side, start), align=_ALIGNMENT)

    def store(self, side: int, start: int, vector: Any) -> None:
        self.builder.store(vector, self._address(side, start), align=_ALIGNMENT)

    def fma(self, one: Any, other: Any, more: Any) -> Any:
        return self.builder.call(self._fma, [one, other, more])

    def product(self) -> Any:
        """The scalar product of the values of both rows."""
        return self._sum_of_products((self.load(0, start), self.load(1, start)) for start in self._starts())

    def _starts(self) -> range:
        return range(0, self.width, LANES)

    def _sum_of_products(self, pairs: Iterable[tuple[Any, Any]]) -> Any:
        sums = [_all(0.0), _all(0.0)]
        for number, pair in enumerate(pairs):
            sums[number % 2] = self.fma(*pair, sums[number % 2])
        total, lanes = self.builder.fadd(*sums), LANES
        while lanes > 1:
            lanes //= 2
            halves = (
                self.builder.shuffle_vector(total, total, ir.Constant(ir.VectorType(ir.IntType(32), lanes), chosen))
                for chosen in (list(range(lanes)), list(range(lanes, 2 * lanes)))
            )
            total = self.builder.fadd(*halves)
        return self.builder.extract_element(total, _lane(0))

    def _spread(self, scalar: Any) -> Any:
        """In all lanes of a vector."""
        first = self.builder.insert_element(ir.Constant(_VECTOR, ir.Undefined), scalar, _lane(0))
        return self.builder.shuffle_vector(first, first, ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES))

    def update(self, gradient: Any) -> None:
        """Both rows by steps from their old values; AdaGrad counts a step from the next one on."""
        builder = self.builder
        scaled = self._spread(gradient)
        for start in self._starts():
            values = [self.load(side, start) for side in (0, 1)]
            roots = [self.load(side, start + self.width) for side in (0, 1)]
            moved = [builder.fmul(builder.fmul(scaled, values[1 - side]), roots[side]) for side in (0, 1)]
            squares = [builder.fmul(one, one) for one in moved]
            for side in (0, 1):
                self.store(side, start, builder.fsub(values[side], moved[side]))
                self.store(side, start + self.width, self._next_roots(roots[side], squares[side]))
            large = [builder.fcmp_ordered(">", one, _all(_SERIES_UP_TO)) for one in squares]
            with builder.if_then(builder.icmp_unsigned("!=", self._bits(builder.or_(*large)), _MASK(0)), likely=False):
                for side in (0, 1):
                    exact = builder.call(self._sqrt, [builder.fadd(_all(1.0), squares[side])])
                    series = self.load(side, start + self.width)
                    chosen = builder.select(large[side], builder.fdiv(roots[side], exact), series)
                    self.store(side, start + self.width, chosen)

    def update_by_row(self, gradient: Any, dimensions: int) -> None:
        """As :meth:`update`, with one sum of a row's squared steps."""
        lanes = [place_of_sum(side, dimensions) for side in (0, 1)]
        steps = [self._row_step(side, lanes[side], gradient, dimensions) for side in (0, 1)]
        for start in self._starts():
            values = [self.load(side, start) for side in (0, 1)]
            for side, (scaled, total) in enumerate(steps):
                new = self.fma(scaled, self._learnt(side, start, values[1 - side], dimensions), values[side])
                if start <= lanes[side] < start + LANES:
                    new = self.builder.insert_element(new, total, _lane(lanes[side] - start))
                self.store(side, start, new)

    def _row_step(self, side: int, lane: int, gradient: Any, dimensions: int) -> tuple[Any, Any]:
        """By what the other side is multiplied, in all lanes, and the sum of squared steps after the step."""
        sum_then = self.builder.load(self.builder.gep(self.addresses[side], [ir.Constant(_INT64, lane)]))
        root = self.builder.call(self._function("sqrt", 1, _FLOAT), [sum_then])
        by = (self._learnt(side, start, self.load(1 - side, start), dimensions) for start in self._starts())
        squared = self.builder.fmul(
            self.builder.fmul(gradient, gradient), self._sum_of_products((one, one) for one in by)
        )
        share = ir.Constant(_FLOAT, np.float32(1 / (dimensions + 1)).item())
        total = self.builder.call(self._function("fma", 3, _FLOAT), [squared, share, sum_then])
        return self._spread(self.builder.fneg(self.builder.fdiv(gradient, root))), total

    def _learnt(self, side: int, start: int, vector: Any, dimensions: int) -> Any:
        """Of values of the other side, those that are the factor of one that this side learns; 0 in other lanes."""
        is_learnt = [lane < dimensions or lane == dimensions + side for lane in range(start, start + LANES)]
        return (
            vector
            if all(is_learnt)
            else self.builder.fmul(vector, ir.Constant(_VECTOR, [float(one) for one in is_learnt]))
        )

    def _bits(self, mask: Any) -> Any:
        return self.builder.bitcast(mask, _MASK)

    def _next_roots(self, roots: Any, squares: Any) -> Any:
        inner = self.fma(_all(-5 / 16), squares, _all(3 / 8))
        return self.fma(self.builder.fmul(roots, squares), self.fma(inner, squares, _all(-1 / 2)), roots)


def _step(
    _typing: Any,
    _words: Any,
    _word: Any,
    _contexts: Any,
    _context: Any,
    _log: Any,
    _weight: Any,
    _rate: Any,
    width: Any,
    row_of: Any,
) -> Any:
    """``step(words, word, contexts, context, log_count, weight, rate, width, row_of)`` in compiled code: takes a step
    of the pair whose rows begin at ``words[word]`` and ``contexts[context]``, and gives the error that it was taken
    from. ``row_of``: the dimensions of rows that have one sum each; 0 where each value has a root."""

    def generate(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        places = []
        for array, place in ((0, 1), (2, 3)):
            values = target.make_array(signature.args[array])(target, builder, arguments[array])
            places.append(builder.gep(values.data, [arguments[place]]))
        rows = _Rows(builder, places, width.literal_value)
        log_count, weight, rate = arguments[4:7]
        error = builder.fsub(rows.product(), log_count)
        gradient, dimensions = builder.fmul(builder.fmul(weight, error), rate), row_of.literal_value
        rows.update_by_row(gradient, dimensions) if dimensions else rows.update(gradient)
        return error

    flat = types.Array(types.float32, 1, "C")
    signature = types.float32(flat, types.intp, flat, types.intp, *[types.float32] * 3, width, row_of)
    is_known = isinstance(width, types.IntegerLiteral) and isinstance(row_of, types.IntegerLiteral)
    return (signature, generate) if is_known else None


_Flat: TypeAlias = NDArray[np.float32]
_Place: TypeAlias = np.int64 | int
_Kind = Callable[[_Flat, _Place, _Flat, _Place, np.float32, np.float32, np.float32, int, int], np.float32]

step = cast(_Kind, intrinsic(prefer_literal=True)(_step))
