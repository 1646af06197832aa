"""Words by their means over classifiers, held against the lexicon and in groups; words are the units.

Forms of one lemma count once. Draws of a posterior judge no difference of two runs. The numbers are means over them,
of which they leave open ``contrast_se`` alone: with more draws, any two runs would differ surely, whatever other words
would say. Resamples of words judge it, over which the intervals are too.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Tables, each
from tiltmeter.jobs.classifiers.intervals import MOST_DRAWS, Resampled, drawn, drawn_texts
from tiltmeter.jobs.runtime.draws import with_draws
from tiltmeter.jobs.runtime.rows import OK, Row, failed, table_of
from tiltmeter.jobs.sentiment.posterior.config import SentimentPosteriorRun
from tiltmeter.jobs.sentiment.posterior.distances import Measured
from tiltmeter.jobs.sentiment.posterior.tables import GROUPS, LEXICON, WORDS
from tiltmeter.operators.compute.arrays import BoolArray, FloatArray, IntArray
from tiltmeter.operators.compute.keys import document_key, text_keys
from tiltmeter.operators.sentiment.posterior import groups
from tiltmeter.operators.sentiment.posterior.groups import (
    group_difference,
    lemma_units,
    lexicon_agreement,
    resampled_agreement,
    resampled_difference,
    unit_means,
    without_frequency,
)
from tiltmeter.operators.sentiment.posterior.seeds import error_of_mean, largest_z, spread
from tiltmeter.operators.statistics import correlation, means, multiplicity, resampling
from tiltmeter.operators.statistics.designs import groups as dealing
from tiltmeter.operators.statistics.multiplicity import holm
from tiltmeter.operators.statistics.resampling import resampled_counts
from tiltmeter.operators.statistics.units import Units, kish
from tiltmeter.storage.store.ledger import Store, TableRef, Unit

MEASURES = ("distance_positive", "distance_negative", "contrast", "log_odds", "in_context")
MEAN = -1
"""In the place of a classifier's number: the mean over all."""

_COMPARED = ("distance_positive", "contrast", "log_odds", "in_context")
_BY_DRAWS = ("distance_positive", "distance_negative", "contrast")
_BY_FREQUENCY = ", by frequency"

_FAMILY = ("sampler", "measure")
"""Of tests that are corrected together: all comparisons under all priors."""


def compare(
    runner: Runner, config: SentimentPosteriorRun, measured: Mapping[tuple[str, str], Measured], asked: TableRef
) -> dict[str, list[TableRef]]:
    """Parts of the tables ``words``, ``lexicon`` and ``groups``."""
    versions = (groups, correlation, means, dealing, resampling)
    settings = {
        "operators": [module.VERSION for module in versions],
        "groups": {
            name: [[side, list(words)] for side, words in sides.items()] for name, sides in config.groups.items()
        },
        "lemmas": config.lemmas,
        "level": config.job.level,
        "seed": config.seed,
    }
    units = [
        Unit(
            "posterior_comparisons/5",
            f"{prior}, {sampler}",
            settings | {"prior": prior, "sampler": sampler},
            {"distances": parts.tables, "diagnostics": parts.diagnostics, "asked": [asked]},
        )
        for (prior, sampler), parts in measured.items()
    ]
    done = runner.run_whole(Stage("compare words", each(_compare), {"words": units}))["words"]
    parts = {name: [unit.tables[name] for unit in done] for name in ("words", "lexicon", "groups")}
    family = Unit("posterior_family/1", "groups", {"operator": multiplicity.VERSION}, {"groups": parts["groups"]})
    [corrected] = runner.run_whole(Stage("correct groups", each(_correct), {"groups": [family]}))["groups"]
    return parts | {"groups": [corrected.tables["groups"]]}


def _correct(store: Store, unit: Unit) -> Tables:
    """Groups of all priors, with p-values after Holm over those that a sentence chooses from."""
    rows = [row for ref in unit.inputs["groups"] for row in store.read(ref).to_pylist()]
    for family in dict.fromkeys(tuple(row[name] for name in _FAMILY) for row in rows):
        tests = [row for row in rows if tuple(row[name] for name in _FAMILY) == family]
        p_values = np.array([row["p"] for row in tests], dtype=np.float64)
        for row, p in zip(tests, holm(p_values), strict=True):
            row |= {"p_holm": float(p), "num_tests": int(np.isfinite(p_values).sum())}
    yield "groups", table_of(rows, GROUPS)


def _compare(store: Store, unit: Unit) -> Tables:
    config = unit.config
    asked = pl.DataFrame(store.read(unit.input("asked")))
    by_seed = [pl.DataFrame(store.read(ref)) for ref in unit.inputs["distances"]]
    keys = {"prior": config["prior"], "sampler": config["sampler"]}
    joined = [
        asked.join(part, on="number", how="left", maintain_order="left").with_columns(_valid()) for part in by_seed
    ]
    faults = _faults(store, unit.inputs["diagnostics"])
    words = _means(asked, joined)
    lexicon, compared = _lexicon([*joined, words], config), _groups(words, joined, config)
    tables = {
        "words": ([keys | row | _status(row, faults) for row in words.to_dicts()], WORDS),
        "lexicon": ([keys | row | _converged(row, faults) for row in lexicon], LEXICON),
        "groups": ([keys | row | _converged(row, faults) for row in compared], GROUPS),
    }
    yield from with_draws(tables, None)


def _valid() -> list[pl.Expr]:
    """Nothing of words that are left out, though they share a number with others."""
    return [pl.when(pl.col("status") == "ok").then(pl.col(name)).alias(name) for name in MEASURES]


def _faults(store: Store, refs: Sequence[TableRef]) -> str:
    """Why the chains behind the words have not converged; empty if they have."""
    rows = [row for ref in refs for row in store.read(ref.select("label", "status", "reason")).to_pylist()]
    return "; ".join(dict.fromkeys(f"{row['label']}: {row['reason']}" for row in rows if row["status"] != "ok"))


def _means(asked: pl.DataFrame, joined: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Of all classifiers: means, the Monte Carlo error of their mean, and how they vary."""
    columns: dict[str, FloatArray] = {name: _stacked(joined, name).mean(axis=0) for name in MEASURES}
    columns["contrast_se"] = error_of_mean(_stacked(joined, "contrast_se"))
    columns["contrast_sd"] = spread(_stacked(joined, "contrast"))
    columns["identity_z"] = largest_z(_stacked(joined, "identity_gap"), _stacked(joined, "identity_se"))
    return asked.with_columns(**{name: pl.Series(values) for name, values in columns.items()})


def _stacked(joined: Sequence[pl.DataFrame], name: str) -> FloatArray:
    """``[classifiers, words]``, NaN for a word without a number."""
    return np.stack([part[name].cast(pl.Float64).fill_null(np.nan).to_numpy() for part in joined])


def _status(row: Row, faults: str) -> Row:
    status = {"status": row["status"], "reason": row["reason"]}
    return failed("not_converged", faults) if faults and status["status"] == "ok" else status


def _converged(row: Row, faults: str) -> Row:
    """The status of what is made of draws; some measures are made without."""
    return _status(row, faults if row["measure"].removesuffix(_BY_FREQUENCY) in _BY_DRAWS else "")


def _lexicon(parts: Sequence[pl.DataFrame], config: Mapping[str, Any]) -> Iterator[Row]:
    *_, words = parts
    for number, part in enumerate(parts):
        listed = part.filter(pl.col("polarity").is_not_null() & (pl.col("status") == "ok"))
        is_positive = (listed["polarity"] == "positive").to_numpy()
        names = listed["word"].to_list()
        units = lemma_units(names, config["lemmas"])
        for measure in MEASURES:
            values = _stacked([listed], measure)[0]
            row = {"seed": MEAN if part is words else number, "measure": measure}
            agreement = lexicon_agreement(values, is_positive, units, config["level"])
            row |= agreement._asdict() | {"num_units": units.part(np.isfinite(values)).num} | OK
            if np.isfinite(agreement.low):
                row |= _lexicon_draws(names, units, values, is_positive, config["seed"])
            yield row


def _lexicon_draws(words: Sequence[str], units: Units, values: FloatArray, is_positive: BoolArray, seed: int) -> Row:
    """What ``pearson`` is in resamples of the units that have a value."""
    known = np.flatnonzero(np.isfinite(values))
    units = units.part(known)
    names = _names([words[place] for place in known.tolist()], units)
    drawn_words = _resamples(names, (len(names),), seed, "lexicon")
    pearson = resampled_agreement(values[known], is_positive[known], drawn_words.counts[:, units.codes], units)
    return drawn("pearson", pearson, drawn_words.scheme, kish(units.sizes))


def _names(words: Sequence[str], units: Units) -> tuple[str, ...]:
    """Of each unit, its words."""
    names: list[list[str]] = [[] for _ in range(units.num)]
    for word, code in zip(words, units.codes.tolist(), strict=True):
        names[code].append(word)
    return tuple(map(" ".join, names))


@lru_cache(maxsize=4)  # nearly all measures and classifiers have the same words
def _resamples(names: tuple[str, ...], sizes: tuple[int, ...], seed: int, about: str) -> Resampled:
    """Resamples that are keyed by the words of units: two runs draw alike those that have a vector in both.

    Args:
        names: of the units of all groups, one after the other.
        sizes: of the groups.
    """
    strata = np.repeat(np.arange(len(sizes)), sizes)
    blocks = resampled_counts(strata, seed, document_key(about), MOST_DRAWS, keys=text_keys(names))
    return Resampled(np.concatenate(list(blocks)), drawn_texts(names, seed, about, "text"))


class _Side(NamedTuple):
    """A group of words.

    Attributes:
        name: of the group.
        places: ``[words]``, their rows.
        units: of the words.
        names: ``[units]``.
    """

    name: str
    places: IntArray
    units: Units
    names: tuple[str, ...]

    def of(self, values: FloatArray) -> FloatArray:
        """``[units]`` of ``[all words]``."""
        return unit_means(values[self.places], self.units)


def _groups(words: pl.DataFrame, joined: Sequence[pl.DataFrame], config: Mapping[str, Any]) -> Iterator[Row]:
    rows = {word: row for row, word in enumerate(words["word"].to_list())}
    counts = words["count"].to_numpy().astype(np.float64)
    comparisons = {
        name: [_side(label, listed, rows, config["lemmas"]) for label, listed in sides]
        for name, sides in config["groups"].items()
    }
    for measure in _COMPARED:
        means, by_seed = _stacked([words], measure)[0], _stacked(joined, measure)
        adjusted = {
            measure: (means, by_seed),
            f"{measure}{_BY_FREQUENCY}": (
                without_frequency(means, counts),
                np.stack([without_frequency(values, counts) for values in by_seed]),
            ),
        }
        for name, sides in comparisons.items():
            for kind, (values, of_seeds) in adjusted.items():
                row = {"comparison": name, "measure": kind, "first": sides[0].name, "second": sides[1].name}
                row |= _difference(name, [side.of(values) for side in sides], config)
                if row["status"] == "ok":
                    by_side = [np.array([np.nanmean(side.of(seed)) for seed in of_seeds]) for side in sides]
                    row["seed_sd"] = float(spread(by_side[0] - by_side[1]))
                    row |= _group_draws(name, sides, [side.of(values) for side in sides], config["seed"])
                yield row


def _side(name: str, words: Sequence[str], rows: Mapping[str, int], lemmas: Mapping[str, str]) -> _Side:
    units = lemma_units(words, lemmas)
    return _Side(name, np.array([rows[word] for word in words], dtype=np.int64), units, _names(words, units))


def _difference(name: str, values: Sequence[FloatArray], config: Mapping[str, Any]) -> Row:
    first, second = values
    about = document_key(f"groups {name}")
    inferred = group_difference(first, second, level=config["level"], seed=config["seed"], about=about)
    return {
        "difference": inferred.value,
        "difference_low": inferred.low,
        "difference_high": inferred.high,
        "p": inferred.p,
        "num_first": int(np.isfinite(first).sum()),
        "num_second": int(np.isfinite(second).sum()),
    } | (failed("too_few_words", inferred.reason) if inferred.too_few else OK)


def _group_draws(name: str, sides: Sequence[_Side], values: Sequence[FloatArray], seed: int) -> Row:
    """What ``difference`` is in resamples of the units that have a value, within each group."""
    known = [np.flatnonzero(np.isfinite(numbers)) for numbers in values]
    sizes = tuple(len(places) for places in known)
    names = tuple(side.names[place] for side, places in zip(sides, known, strict=True) for place in places.tolist())
    drawn_words = _resamples(names, sizes, seed, f"groups {name}")
    first, second = (numbers[places] for numbers, places in zip(values, known, strict=True))
    resamples = resampled_difference(first, second, drawn_words.counts)
    return drawn("difference", resamples, drawn_words.scheme, _as_one_group(sizes))


def _as_one_group(sizes: Sequence[int]) -> float:
    """How many units of one group have as many degrees of freedom as the difference of groups (Welch 1947).

    Of units that spread alike.

    >>> _as_one_group([8, 8]), round(_as_one_group([2, 100]), 2)
    (15.0, 2.04)
    """
    variances = 1.0 / np.array(sizes, dtype=np.float64)
    return float(1.0 + variances.sum() ** 2 / (variances**2 / (np.array(sizes) - 1.0)).sum())
