"""Gates over years of nights: how often they fail a system that has not changed, and how soon they see a fall.

    python -m benchmarks.gates [--years 1500] [--write]

1,000 items that are right or wrong, asked once a night; both systems are right with the same chance, or the second
falls by 2 points after 30 nights. Nights are drawn as counts of classes of items, on which alone e-values and p depend.
`--write` puts the table into docs/compare.md.
"""

import argparse
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtr

from benchmarks.papers.figures import write_marked
from tiltmeter.operators.statistics.gates.e_detector import stake
from tiltmeter.operators.statistics.gates.nightly import Nights, Rule, alarms

Floats = NDArray[np.float64]

ITEMS, NIGHTS, QUIET_NIGHTS, FALL, LEVEL = 1000, 365, 30, 0.02, 0.05
NOISY, QUIET = 0.86, 0.985
"""Chances to be right of which 24 and 3 % of items differ in two runs."""


class World(NamedTuple):
    """How nights come about.

    Attributes:
        losses, wins: ``[classes]``, of the items of a unit of each class.
        size: items of a unit.
        draw: counts of units of each class in a night, ``[years, classes]``, of a second system that fell by so much.
        allowance: ``[years]``.
        level: of the rule.
    """

    losses: Floats
    wins: Floats
    size: int
    draw: Callable[[float], Floats]
    allowance: Floats
    level: float = LEVEL

    def nights(self, start: int) -> Nights:
        """A year each, with a fall from a night on."""
        years, units = self.allowance.size, (self.wins - self.losses) / self.size
        p, log_e = np.empty((2, years, NIGHTS))
        squares, seen = np.zeros(years), 0
        for night in range(NIGHTS):
            counts = self.draw(FALL if night >= start else 0.0)
            sizes = np.array([stake(FALL, squares[year], seen, self.allowance[year]) for year in range(years)])
            log_e[:, night] = (counts * np.log1p(-sizes[:, None] * (units + self.allowance[:, None]))).sum(axis=1)
            num = counts[0].sum()
            mean = counts @ units / num
            spread = np.sqrt(np.maximum(counts @ units**2 / num - mean**2, 0.0) / (num - 1.0))
            with np.errstate(divide="ignore", invalid="ignore"):
                p[:, night] = stdtr(num - 1.0, np.nan_to_num((mean + self.allowance) / spread, nan=np.inf))
            squares, seen = squares + counts @ units**2, seen + int(num)
        return Nights(p, log_e)


def rerun(right: float, years: int, rng: np.random.Generator) -> World:
    """Both systems sampled anew each night, items by themselves."""

    def draw(fall: float) -> Floats:
        chances = [right * (1.0 - right + fall), (1.0 - right) * (right - fall)]
        return rng.multinomial(ITEMS, [*chances, 1.0 - sum(chances)], years).astype(np.float64)

    return World(np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.0]), 1, draw, np.zeros(years))


def shared(right: float, size: int, years: int, rng: np.random.Generator, *, by_items: bool = False) -> World:
    """Both anew, half of whose noise ten items of a cluster share: judged by clusters, or as if by items."""
    codes = np.arange((size + 1) ** 2)
    losses, wins = (part.astype(np.float64) for part in divmod(codes, size + 1))
    chances: dict[float, Floats] = {}

    def draw(fall: float) -> Floats:
        if fall not in chances:
            noise = rng.standard_normal((2, 200_000, size)) + rng.standard_normal((2, 200_000, 1))
            first, second = noise[0] < ndtri(right) * 2**0.5, noise[1] < ndtri(right - fall) * 2**0.5
            code = (first & ~second).sum(axis=1) * (size + 1) + (second & ~first).sum(axis=1)
            pooled = np.bincount(code, minlength=codes.size).astype(np.float64)
            if not fall:
                pooled += pooled.reshape(size + 1, size + 1).T.ravel()
            chances[fall] = pooled / pooled.sum()
        return rng.multinomial(ITEMS // size, chances[fall], years).astype(np.float64)

    if not by_items:
        return World(losses, wins, size, draw, np.zeros(years))
    parts = np.stack([losses, wins, size - losses - wins], axis=1)
    return World(
        np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.0]), 1, lambda fall: draw(fall) @ parts, np.zeros(years)
    )


def stored(right: float, repeats: int, years: int, rng: np.random.Generator) -> World:
    """One baseline for all nights of a year, of so many repeats; its allowance has half of the level if it has two."""
    num_right = np.stack(
        [np.bincount(rng.binomial(repeats, right, ITEMS), minlength=repeats + 1) for _ in range(years)]
    )
    means, allowance = np.arange(repeats + 1) / repeats, np.zeros(years)
    if repeats > 1:
        allowance = -ndtri(LEVEL / 2) * np.sqrt(num_right @ (means * (1 - means) / (repeats - 1))) / ITEMS

    def draw(fall: float) -> Floats:
        again = rng.binomial(num_right, right - fall)
        return np.concatenate([again, num_right - again], axis=1).astype(np.float64)

    differences = np.concatenate([1.0 - means, -means])
    level = LEVEL / 2 if repeats > 1 else LEVEL
    return World(np.maximum(-differences, 0.0), np.maximum(differences, 0.0), 1, draw, allowance, level)


WORLDS: dict[str, Callable[[int, np.random.Generator], World]] = {
    "rerun, 24 % differ": lambda years, rng: rerun(NOISY, years, rng),
    "rerun, 3 % differ": lambda years, rng: rerun(QUIET, years, rng),
    "rerun, clusters of ten share noise": lambda years, rng: shared(NOISY, 10, years, rng),
    "the same, clusters left unsaid": lambda years, rng: shared(NOISY, 10, years, rng, by_items=True),
    "a single stored run, no allowance": lambda years, rng: stored(NOISY, 1, years, rng),
    "stored, 20 repeats, allowance": lambda years, rng: stored(NOISY, 20, years, rng),
}
RULES: tuple[Rule, ...] = ("e_detector", "confirm", "spending")


class Share(NamedTuple):
    """Of a rule in a world: share of years with a false alarm, and nights until a fall is caught, at 50 and 90 %."""

    world: str
    rule: Rule
    false_alarms: float
    median: float
    most: float


def shares(world: str, years: int) -> Iterator[Share]:
    """Of each rule."""
    made = WORLDS[world](years, np.random.default_rng([years, [*WORLDS].index(world)]))
    equal, fallen = made.nights(NIGHTS), made.nights(QUIET_NIGHTS)
    for rule in RULES:
        found = alarms(rule, made.level, fallen)
        caught = found[~found[:, :QUIET_NIGHTS].any(axis=1), QUIET_NIGHTS:]
        nights = np.where(caught.any(axis=1), caught.argmax(axis=1) + 1.0, np.inf)
        false = float(alarms(rule, made.level, equal).any(axis=1).mean())
        yield Share(world, rule, false, *(float(np.quantile(nights, part, method="higher")) for part in (0.5, 0.9)))


def table(years: int) -> Iterator[str]:
    """The lines of a table for the docs."""
    yield "| baseline | rule | years with a false alarm | nights until 2 points are caught: median, 90 % |\n"
    yield "|---|---|---|---|\n"
    for world in WORLDS:
        for share in shares(world, years):
            nights = ", ".join("never" if np.isinf(num) else f"{num:.0f}" for num in (share.median, share.most))
            yield f"| {share.world} | `{share.rule}` | {share.false_alarms:.3f} | {nights} |\n"


def main() -> None:
    """Simulate, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--years", type=int, default=1500)
    parser.add_argument("--write", action="store_true", help="the table into docs/compare.md")
    asked = parser.parse_args()
    lines = []
    for line in table(asked.years):
        print(line, end="", flush=True)
        lines.append(line)
    if asked.write:
        write_marked("compare", "gates", "".join(lines))


if __name__ == "__main__":
    main()
