"""How often 95 % intervals hold what they should: disjoint samples of four Wikipedias, trained and compared.

    python -m benchmarks.coverage [corpus ...] [--folder ./coverage] [--replicas <number>] [--write] [key=value ...]

Whole articles of the Simple English, the Spanish, an English and the German Wikipedia are dealt at random into
disjoint samples of a million tokens. Each is embedded with its bootstrap replicas, drawn in several ways, as
`job=bootstrap` does it; what has been trained is found in the folder again. Everything that the product measures is
measured in every model, and every interval that could be made of it is held against the other samples. Prints the
tables of docs/how_sure.md, which `--write` puts there. `--replicas` and fewer corpora are for a try.
"""

import argparse
import time
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path

import numpy as np

from benchmarks.command import markdown
from benchmarks.coverage import arithmetic
from benchmarks.coverage.arithmetic import METHODS, Share
from benchmarks.coverage.quantities import Values, measure
from benchmarks.coverage.study import KINDS, TARGETS, Recipe, Study
from benchmarks.coverage.training import CORPORA, total_cost, variants
from benchmarks.papers.figures import write_marked
from tiltmeter.operators.statistics.intervals import DEFAULT_METHOD

CHOSEN_ON, CONFIRMED_ON = ("simple", "es"), ("en", "de")
"""Corpora that an interval may be chosen on, and those that it is confirmed on."""

VARIANTS = {
    "poisson": "lines, Poisson",
    "documents": "documents, Poisson",
    "exponential": "lines, exponential",
    "documents_exponential": "documents, exponential",
}
NUMBERS = (8, 32, 100)

_GROUPS = {"simple and es": CHOSEN_ON, "en and de": CONFIRMED_ON}
_EVERY = ([*KINDS], *([kind] for kind in KINDS))
_OWN = ("mean of the others", "expected value")

Rows = Iterator[Sequence[str]]


def tables(study: Study) -> dict[str, str]:
    """All of them by name; rows without a number are left out."""
    num_by_group = [f"{group}, {number}" for group in _GROUPS for number in NUMBERS]
    width_by_group = [f"{group}{of}" for group in _GROUPS for of in ("", ", width needed")]
    of_targets = [f"{target}, {number}" for target in _OWN for number in NUMBERS]
    training = ("training in samples", "training in replicas", "means of replicas", "of starts")
    kinds, drawn = ("corpus", "quantities"), ("drawn", "interval")
    made = {
        "spread": ([*kinds, "number", "in every sample", *VARIANTS.values()], _spread(study)),
        "noise": ([*kinds, *training], _noise(study)),
        "default": ([*kinds, *of_targets, "its own estimate, 32"], _default(study)),
        "methods": ([*drawn, *num_by_group], _methods(study)),
        "targets": ([*drawn, *TARGETS], _targets(study)),
        "kinds": (["quantities", *drawn, *width_by_group], _kinds(study)),
        "factors": (["drawn", "replicas", "factor", "en and de", *KINDS.values()], _factors(study)),
        "jnd": (["corpus", "drawn", "replicas", "samples / noise", "expected value", "another sample"], _jnd(study)),
        "sizes": (
            ["quantities", "samples / replicas", "mean of the others is held", "another sample is held"],
            _sizes(study),
        ),
    }
    return {f"coverage_{name}": markdown(headings, rows) for name, (headings, rows) in made.items()}


# --- how far samples and replicas spread ----------------------------------------------------------------------------


def _spread(study: Study) -> Rows:
    """Standard deviation between samples over that of replicas."""
    for corpus, kind in product(study.corpora, KINDS):
        found = [study.values(corpus, variant, kind) for variant in VARIANTS]
        if known := next((values for values in found if values), None):
            num = np.isfinite(arithmetic.sample_spread(known.estimates)).sum()
            complete = np.isfinite(known.estimates).all(axis=0).sum()
            yield [
                corpus,
                KINDS[kind],
                str(num),
                str(complete),
                *(_ratio(values) if values else "–" for values in found),
            ]


def _ratio(values: Values) -> str:
    samples = arithmetic.sample_spread(values.estimates)
    ratios = arithmetic.ratios(samples, arithmetic.replica_spread(values.replicas))
    return f"{ratios.mean:.2f} ({ratios.median:.2f})"


def _noise(study: Study) -> Rows:
    """What training alone does, and how far means over replicas spread: medians over the quantities."""
    for corpus, kind in product(study.corpora, KINDS):
        values = study.values(corpus, "exponential", kind)
        if values is None or len(values.starts) == 1:
            continue
        samples, replicas = arithmetic.sample_spread(values.estimates), arithmetic.replica_spread(values.replicas)
        training = arithmetic.root_mean_square(arithmetic.standard_deviation(values.starts, axis=0), axis=0)
        shares = [arithmetic.ratios(training, of).median ** 2 for of in (samples, replicas)]
        means = [arithmetic.mean(values.replicas), arithmetic.mean(values.starts, axis=0)]
        spreads = [arithmetic.ratios(arithmetic.sample_spread(of), samples).median for of in means]
        yield [corpus, KINDS[kind], *(f"{share:.0%}" for share in shares), *(f"{ratio:.2f}" for ratio in spreads)]


# --- coverage -------------------------------------------------------------------------------------------------------


def _default(study: Study) -> Rows:
    """The product's own intervals, by corpus and quantity."""
    recipes = {number: Recipe("poisson", DEFAULT_METHOD, number) for number in NUMBERS}
    for corpus, kinds in product(study.corpora, _EVERY):
        held = [study.coverage([corpus], kinds, recipe, target) for target in _OWN for recipe in recipes.values()]
        held.append(study.coverage([corpus], kinds, recipes[32], "its own estimate"))
        if _has_number(held):
            yield [corpus, "all" if len(kinds) > 1 else KINDS[kinds[0]], *map(shown, held)]


def _methods(study: Study) -> Rows:
    """Every method with every way of drawing: how often the expected value is held at each number of replicas."""
    for variant, method, averages in product(VARIANTS, METHODS, (False, True)):
        recipes = [Recipe(variant, method, number, averages) for number in NUMBERS]
        groups = product(_GROUPS.values(), recipes)
        shares = [study.coverage(corpora, [*KINDS], recipe, "expected value") for corpora, recipe in groups]
        if (method == "centred" or not averages) and _has_number(shares):
            name = f"{_named(method)}{', estimate averaged over starts' if averages else ''}"
            yield [VARIANTS[variant], name, *map(shown, shares)]


def _targets(study: Study) -> Rows:
    """At 32 replicas: what else intervals hold, in all corpora."""
    for variant, method in product(VARIANTS, METHODS):
        recipe = Recipe(variant, method, 32)
        shares = [study.coverage(study.corpora, [*KINDS], recipe, target) for target in TARGETS]
        if _has_number(shares[:1]):
            yield [VARIANTS[variant], _named(method), *map(shown, shares)]


def _kinds(study: Study) -> Rows:
    """At 32 replicas, each kind of quantity by itself: the expected value, and how many times as wide it must be."""
    recipes = [Recipe("poisson", "percentile", 32), *(Recipe(variant, "centred", 32) for variant in VARIANTS)]
    recipes += [Recipe(variant, "averaged", 32) for variant in ("poisson", "exponential")]
    for kind, recipe in product(KINDS, recipes):
        cells = []
        for corpora in _GROUPS.values():
            factor = study.needed_factor(corpora, [kind], recipe)
            cells += [shown(study.coverage(corpora, [kind], recipe, "expected value"))]
            cells += [f"{factor:.2f}" if np.isfinite(factor) else "–"]
        if set(cells) != {"–"}:
            yield [KINDS[kind], VARIANTS[recipe.variant], _named(recipe.method), *cells]


def _factors(study: Study) -> Rows:
    """The factor at which centred intervals hold 95 % where they are chosen, and what they hold where confirmed."""
    for variant, number in product(VARIANTS, NUMBERS):
        recipe = Recipe(variant, "centred", number)
        factor = study.needed_factor(CHOSEN_ON, [*KINDS], recipe)
        if np.isfinite(factor):
            wide = recipe._replace(factor=factor)
            held = [study.coverage(CONFIRMED_ON, kinds, wide, "expected value") for kinds in _EVERY]
            yield [VARIANTS[variant], str(number), f"{factor:.2f}", *map(shown, held)]


def _jnd(study: Study) -> Rows:
    """Intervals of the JND by chi-square, and how far it spreads beyond the noise of so few replicas."""
    for corpus, variant, number in product(study.corpora, VARIANTS, NUMBERS):
        if case := study.jnds(corpus, variant, number):
            spread = arithmetic.root_mean_square(arithmetic.sample_spread(case.estimates))
            shares = [arithmetic.share([TARGETS[target](case)]) for target in ("expected value", "another sample")]
            noise = 1.0 / np.sqrt(2.0 * (number - 1.0))  # of the logarithm of a standard deviation, nearly
            yield [corpus, VARIANTS[variant], str(number), f"{spread / noise:.2f}", *map(shown, shares)]


def _sizes(study: Study) -> Rows:
    """Vectors of two sizes, 50 dimensions and 10 epochs, and 100 and 15: what should not depend on it."""
    small, large = "poisson", "poisson_large"
    for kind in KINDS:
        ones, others = (study.proportions("simple", *names) for names in ((small, kind, large), (large, kind, small)))
        if ones and others:
            yield [KINDS[kind], *(f"{one:.2f}, {other:.2f}" for one, other in zip(ones, others, strict=True))]


def _has_number(shares: Sequence[Share]) -> bool:
    return any(np.isfinite(share.value) for share in shares)


def shown(share: Share) -> str:
    """In percent with its reach.

    >>> shown(Share(0.934, 0.021)), shown(Share(float("nan"), float("nan")))
    ('93 ± 2', '–')
    """
    return f"{100 * share.value:.0f} ± {100 * share.reach:.0f}" if np.isfinite(share.value) else "–"


def _named(method: str) -> str:
    return method.replace("_", "-")


def main() -> None:
    """Train, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpora", nargs="*", metavar="corpus", help=f"of {', '.join(CORPORA)}, or key=value")
    parser.add_argument("--folder", type=Path, default=Path("coverage"), help="for samples, store and models")
    parser.add_argument("--replicas", type=int, help="of everything, for a try")
    parser.add_argument("--write", action="store_true", help="the tables into docs/")
    known = parser.parse_args()
    settings = dict(word.split("=", 1) for word in known.corpora if "=" in word)
    chosen = [word for word in known.corpora if "=" not in word] or list(CORPORA)
    if unknown := set(chosen) - set(CORPORA):
        parser.error(f"no corpus is called {', '.join(sorted(unknown))}; there are {', '.join(CORPORA)}")
    started, folder = time.monotonic(), known.folder.absolute()
    rows = measure(folder, {name: variants(name, known.replicas) for name in chosen}, settings)
    rows.write_parquet(folder / "values.parquet")
    for name, text in tables(Study(rows)).items():
        print(f"{name}\n\n{text}")
        if known.write:
            write_marked("how_sure", name, text)
    cost, seconds = total_cost(folder), time.monotonic() - started
    trained = f"{cost.num_models:,} models were trained in {cost.core_seconds:,.0f} core-seconds"
    print(f"{processor()}; {trained}; this command took {seconds:,.0f} s.")


def processor() -> str:
    """What the machine calls it."""
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return "an unknown processor"


if __name__ == "__main__":
    main()
