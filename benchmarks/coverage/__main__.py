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
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import product
from pathlib import Path

import numpy as np

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

Rows = Iterable[Sequence[str]]


def markdown(headings: Sequence[str], rows: Rows) -> str:
    """A table."""
    lines = [headings, ["---"] * len(headings), *rows]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def tables(study: Study) -> dict[str, str]:
    """All of them by name."""
    makers: Mapping[str, Callable[[Study], str]] = {
        "coverage_spread": spread,
        "coverage_noise": noise,
        "coverage_default": default,
        "coverage_methods": methods,
        "coverage_targets": targets,
        "coverage_kinds": kinds,
        "coverage_factors": factors,
        "coverage_jnd": jnd,
        "coverage_sizes": sizes,
    }
    return {name: make(study) for name, make in makers.items()}


# --- how far samples and replicas spread ----------------------------------------------------------------------------


def spread(study: Study) -> str:
    """Standard deviation between samples over that of replicas."""
    headings = ["corpus", "quantities", "number", "in every sample", *VARIANTS.values()]
    return markdown(headings, filter(None, (_spread_row(study, *key) for key in product(study.corpora, KINDS))))


def _spread_row(study: Study, corpus: str, kind: str) -> list[str] | None:
    found = [study.values(corpus, variant, kind) for variant in VARIANTS]
    known = next((values for values in found if values), None)
    if known is None:
        return None
    num = np.isfinite(arithmetic.sample_spread(known.estimates)).sum()
    complete = np.isfinite(known.estimates).all(axis=0).sum()
    return [corpus, KINDS[kind], str(num), str(complete), *(_ratio(values) if values else "–" for values in found)]


def _ratio(values: Values) -> str:
    samples = arithmetic.sample_spread(values.estimates)
    ratios = arithmetic.ratios(samples, arithmetic.replica_spread(values.replicas))
    return f"{ratios.mean:.2f} ({ratios.median:.2f})"


def noise(study: Study) -> str:
    """What training alone does, and how far means over replicas spread: medians over the quantities."""
    headings = ["corpus", "quantities", "training in samples", "training in replicas", "means of replicas", "of starts"]
    keys = product(study.corpora, KINDS)
    return markdown(headings, (row for key in keys if (row := _noise_row(study, *key))))


def _noise_row(study: Study, corpus: str, kind: str) -> list[str] | None:
    values = study.values(corpus, "exponential", kind)
    if values is None or len(values.starts) == 1:
        return None
    samples = arithmetic.sample_spread(values.estimates)
    training = arithmetic.root_mean_square(arithmetic.standard_deviation(values.starts, axis=0), axis=0)
    shares = [
        arithmetic.ratios(training, of).median ** 2 for of in (samples, arithmetic.replica_spread(values.replicas))
    ]
    means = [arithmetic.mean(values.replicas), arithmetic.mean(values.starts, axis=0)]
    spreads = [arithmetic.ratios(arithmetic.sample_spread(of), samples).median for of in means]
    return [corpus, KINDS[kind], *(f"{share:.0%}" for share in shares), *(f"{ratio:.2f}" for ratio in spreads)]


# --- coverage -------------------------------------------------------------------------------------------------------


def default(study: Study) -> str:
    """The product's own intervals, by corpus and quantity."""
    targets = ("mean of the others", "expected value")
    headings = ["corpus", "quantities", *(f"{target}, {number}" for target in targets for number in NUMBERS)]
    keys = product(study.corpora, ([*KINDS], *([kind] for kind in KINDS)))
    rows = ([corpus, *_default_row(study, corpus, kinds, targets)] for corpus, kinds in keys)
    return markdown([*headings, "its own estimate, 32"], (row for row in rows if set(row[2:]) != {"–"}))


def _default_row(study: Study, corpus: str, kinds: list[str], targets: Sequence[str]) -> list[str]:
    recipes = {number: Recipe("poisson", DEFAULT_METHOD, number) for number in NUMBERS}
    held = [study.coverage([corpus], kinds, recipe, target) for target in targets for recipe in recipes.values()]
    held.append(study.coverage([corpus], kinds, recipes[32], "its own estimate"))
    return ["all" if len(kinds) > 1 else KINDS[kinds[0]], *map(shown, held)]


def methods(study: Study) -> str:
    """Every method with every way of drawing: how often the expected value is held at each number of replicas."""
    headings = ["drawn", "interval", *(f"{group}, {number}" for group in _GROUPS for number in NUMBERS)]
    return markdown(
        headings, filter(None, (_method_row(study, *key) for key in product(VARIANTS, METHODS, (False, True))))
    )


def _method_row(study: Study, variant: str, method: arithmetic.Method, averages: bool) -> list[str] | None:
    if averages and method != "centred":
        return None
    recipes = [Recipe(variant, method, number, averages) for number in NUMBERS]
    shares = [
        study.coverage(corpora, list(KINDS), recipe, "expected value")
        for corpora, recipe in product(_GROUPS.values(), recipes)
    ]
    name = f"{_named(method)}{', estimate averaged over starts' if averages else ''}"
    return (
        [VARIANTS[variant], name, *map(shown, shares)] if np.isfinite([share.value for share in shares]).any() else None
    )


def targets(study: Study) -> str:
    """At 32 replicas: what else intervals hold, in all corpora."""
    recipes = [Recipe(variant, method, 32) for variant, method in product(VARIANTS, METHODS)]
    rows = (
        [VARIANTS[recipe.variant], _named(recipe.method), *map(shown, shares)]
        for recipe in recipes
        if np.isfinite(
            (shares := [study.coverage(study.corpora, list(KINDS), recipe, target) for target in TARGETS])[0][0]
        )
    )
    return markdown(["drawn", "interval", *TARGETS], rows)


def kinds(study: Study) -> str:
    """At 32 replicas, each kind of quantity by itself: the expected value, and how many times as wide it must be."""
    recipes = [Recipe("poisson", "percentile", 32), *(Recipe(variant, "centred", 32) for variant in VARIANTS)]
    recipes += [Recipe(variant, "averaged", 32) for variant in ("poisson", "exponential")]
    rows = (
        [KINDS[kind], VARIANTS[recipe.variant], _named(recipe.method), *_by_group(study, [kind], recipe)]
        for kind, recipe in product(KINDS, recipes)
    )
    headings = [f"{group}{of}" for group in _GROUPS for of in ("", ", width needed")]
    return markdown(["quantities", "drawn", "interval", *headings], (row for row in rows if set(row[3:]) != {"–"}))


def _by_group(study: Study, names: Sequence[str], recipe: Recipe) -> list[str]:
    cells = []
    for corpora in _GROUPS.values():
        factor = study.needed_factor(corpora, names, recipe)
        cells += [
            shown(study.coverage(corpora, names, recipe, "expected value")),
            f"{factor:.2f}" if np.isfinite(factor) else "–",
        ]
    return cells


def factors(study: Study) -> str:
    """The factor at which centred intervals hold 95 % where they are chosen, and what they hold where confirmed."""
    rows = []
    for variant, number in product(VARIANTS, NUMBERS):
        recipe = Recipe(variant, "centred", number)
        factor = study.needed_factor(CHOSEN_ON, list(KINDS), recipe)
        if np.isfinite(factor):
            wide = recipe._replace(factor=factor)
            held = [
                study.coverage(CONFIRMED_ON, kinds, wide, "expected value")
                for kinds in ([*KINDS], *([k] for k in KINDS))
            ]
            rows.append([VARIANTS[variant], str(number), f"{factor:.2f}", *map(shown, held)])
    return markdown(["drawn", "replicas", "factor", "en and de", *KINDS.values()], rows)


def jnd(study: Study) -> str:
    """Intervals of the JND by chi-square, and how far it spreads beyond the noise of so few replicas."""
    keys = product(study.corpora, VARIANTS, NUMBERS)
    headings = ["corpus", "drawn", "replicas", "samples / noise", "expected value", "another sample"]
    return markdown(headings, (row for key in keys if (row := _jnd_row(study, *key))))


def _jnd_row(study: Study, corpus: str, variant: str, num_replicas: int) -> list[str] | None:
    case = study.jnds(corpus, variant, num_replicas)
    if case is None:
        return None
    spread = arithmetic.root_mean_square(arithmetic.sample_spread(case.estimates))
    shares = [arithmetic.share([TARGETS[target](case)]) for target in ("expected value", "another sample")]
    # Of the logarithm of a standard deviation, nearly.
    noise = 1.0 / np.sqrt(2.0 * (num_replicas - 1.0))
    return [corpus, VARIANTS[variant], str(num_replicas), f"{spread / noise:.2f}", *map(shown, shares)]


def sizes(study: Study) -> str:
    """Vectors of two sizes, 50 dimensions and 10 epochs, and 100 and 15: what should not depend on it."""
    headings = ["quantities", "samples / replicas", "mean of the others is held", "another sample is held"]
    return markdown(headings, filter(None, (_size_row(study, kind) for kind in KINDS)))


def _size_row(study: Study, kind: str) -> list[str] | None:
    small, large = "poisson", "poisson_large"
    ones, others = (study.proportions("simple", *names) for names in ((small, kind, large), (large, kind, small)))
    if ones is None or others is None:
        return None
    return [KINDS[kind], *(f"{one:.2f}, {other:.2f}" for one, other in zip(ones, others, strict=True))]


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
