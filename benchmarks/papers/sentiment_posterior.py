"""Liang and Acuna 2020, sections 4.3 and 5.2: what Table 1 gives away, and a run on the same reviews beside the paper.

What the tables say of a run on the training half of the Large Movie Review data is recorded; the page of the docs has
its settings.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from benchmarks.command import DATA
from benchmarks.papers.figures import Figure, keep, minus, recorded

TITLE = "Liang and Acuna 2020, Artificial mental phenomena: what a sentiment classifier expects"
PAGE = "sentiment_posterior"

_LISTS = {side: f"sentiment/huliu/{side}-words.txt" for side in ("positive", "negative")}
DATA_FILES = list(_LISTS.values())

_PRINTED = {
    "wonderful": (0.4888, 0.5191),
    "unforgettable": (0.4895, 0.5186),
    "devilish": (0.4901, 0.5162),
    "amazing": (0.4907, 0.5165),
    "versatility": (0.4910, 0.5167),
    "heartfelt": (0.4911, 0.5156),
    "cherished": (0.4911, 0.5170),
    "dismally": (0.5114, 0.4778),
    "redundant": (0.5117, 0.4780),
    "hopelessly": (0.5117, 0.4773),
    "mess": (0.5118, 0.4777),
    "hideously": (0.5118, 0.4765),
    "lifeless": (0.5119, 0.4773),
    "substandard": (0.5126, 0.4754),
    "smother": (0.5129, 0.4768),
    "dreadfully": (0.5131, 0.4768),
}
"""Distances to both posteriors, of the words that Table 1 has both of."""

_PLACE = "table 1"


def figures() -> list[Figure]:
    """What the paper prints or its table implies, beside a run."""
    ours = recorded(PAGE)
    return [*_implied(ours), *_lexicon(ours), *_words(ours), *_rest(ours)]


def _implied(ours: dict[str, Any]) -> Iterator[Figure]:
    """By the law of total expectation, distances mirror each other at 1/2 with the slope -P(+) / P(-)."""
    line = _line(*np.array(list(_PRINTED.values())).T)
    where = f"where the line of d− on d+ has d− = d+ ({len(_PRINTED)} words; ours, {ours['num_words']:,})"
    fixed, slopes = (
        [f"{of[name]:.{digits}f}" for of in (line, ours["line"])] for name, digits in (("fixed", 4), ("slope", 3))
    )
    yield Figure(_PLACE, where, *fixed, "P+ d+ + P− d− = 1/2")
    yield Figure(_PLACE, "slope of that line", *map(minus, slopes), "−P+ / P−")
    share = -line["slope"] / (1.0 - line["slope"])
    yield Figure(_PLACE, "P(+) under N(0, I)", f"{share:.3f} (implied)", f"{ours['evidence']:.3f}", "another network")
    firsts = [first for first, _ in _PRINTED.values()]
    both = ["{:.4f} to {:.4f}".format(*ends) for ends in ((min(firsts), max(firsts)), ours["range"])]
    yield Figure(_PLACE, "range of d+", *both, "similar")


def _line(first: Any, second: Any) -> dict[str, float]:
    slope, offset = np.polyfit(first, second, 1)
    return {"slope": float(slope), "fixed": float(offset / (1.0 - slope))}


def _lexicon(ours: dict[str, Any]) -> Iterator[Figure]:
    lists = [_listed(path) for path in _LISTS.values()]
    num_words, num_both = len(set.union(*lists)), len(set.intersection(*lists))
    told = f"the lexicon has {num_words:,} words, {num_both} of them on both sides"
    yield Figure("5.2", "words of the lexicon with a vector", "6,789", f"{ours['num_words']:,}", told)
    positive, negative = ours["pearson"]["distance_positive"], ours["pearson"]["distance_negative"]
    seeds = "{:.2f} to {:.2f} by classifier".format(*ours["pearson_by_seed"])
    yield Figure("5.2", "correlation of d+ with being positive", "−0.4", minus(f"{positive:.2f}; {seeds}"), "similar")
    yield Figure("5.2", "correlation of d− with being positive", "above 0", f"{negative:.2f}", "same")
    for measure, name in (("log_odds", "f of the word, no draws"), ("in_context", "f in context, no draws")):
        yield Figure("–", f"correlation of {name}", "–", f"{ours['pearson'][measure]:.2f}", "not printed")
    for measure in ("distance_positive", "contrast"):
        value = minus(f"{ours['pearson_of_texts'][measure]:.2f}")
        label = "d+" if measure == "distance_positive" else "the contrast"
        yield Figure("–", f"correlation of {label} under the prior of texts", "–", value, "not printed")


def _listed(path: str) -> set[str]:
    lines = (DATA / path).read_text(encoding="latin-1").splitlines()
    return {line.strip() for line in lines if line.strip() and not line.startswith(";")}


def _words(ours: dict[str, Any]) -> Iterator[Figure]:
    closest = "positive ones of the ten closest to p(s given +)"
    yield Figure(_PLACE, closest, "9", str(ours["closest"]), "50 occurrences")
    yield Figure(_PLACE, "negative ones of the ten farthest from it", "10", str(ours["farthest"]), "50 occurrences")


def _rest(ours: dict[str, Any]) -> Iterator[Figure]:
    yield Figure("4.3", "AUC in cross-validation", "0.953", f"{ours['auc']:.3f}", "settings are not printed")
    lag = minus("f(s): {:.2f}, {:.2f}".format(*ours["lag_one"]))
    yield Figure("figure 5", "autocorrelation at lag 1", "dimensions: drops after lag 1", lag, "f(s) is what matters")
    name = ours["names"]
    difference = minus(f"{name['difference']:.4f} [{name['difference_low']:.4f}, {name['difference_high']:.4f}]")
    figure, why = (
        "d+ of female names less that of male ones",
        "names of WEAT, theirs are of EEC; words are the units, not draws",
    )
    yield Figure("figure 7", figure, "above 0, “significantly”", f"{difference}, p = {name['p']:.2f}", why)


def record(run: Path) -> None:
    """Keep what the table needs."""
    tables = {name: pl.read_parquet(run / f"{name}.parquet") for name in ("words", "lexicon", "evidence", "groups")}
    words = tables["words"].filter(pl.col("polarity").is_not_null(), prior="standard", sampler="exact", status="ok")
    lexicon = tables["lexicon"].filter(sampler="exact")
    seeds = lexicon.filter(pl.col("seed") >= 0, prior="standard", measure="distance_positive")["pearson"]
    frequent = words.filter(pl.col("count") >= 50).sort("distance_positive")
    classifiers = pl.read_parquet(run / "classifier.parquet")
    chains = pl.read_parquet(run / "diagnostics.parquet").filter(prior="standard", sampler="nuts", quantity="score")
    names = tables["groups"].filter(prior="standard", sampler="exact", comparison="names", measure="distance_positive")
    evidence = tables["evidence"].filter(prior="standard", label="positive")["probability"]
    kept = {
        "num_words": words.height,
        "line": _line(words["distance_positive"].to_numpy(), words["distance_negative"].to_numpy()),
        "range": [words["distance_positive"].min(), words["distance_positive"].max()],
        "evidence": evidence.mean(),
        "pearson": _pearson(lexicon, "standard"),
        "pearson_of_texts": _pearson(lexicon, "texts"),
        "pearson_by_seed": [seeds.min(), seeds.max()],
        "closest": (frequent["polarity"][:10] == "positive").sum(),
        "farthest": (frequent["polarity"][-10:] == "negative").sum(),
        "auc": classifiers.filter(pl.col("fold") >= 0)["auc"].mean(),
        "lag_one": chains["lag_one"].to_list(),
        "names": names.select("difference", "difference_low", "difference_high", "p").to_dicts()[0],
    }
    keep(PAGE, kept)


def _pearson(lexicon: pl.DataFrame, prior: str) -> dict[str, float]:
    rows = lexicon.filter(pl.col("seed") == -1, prior=prior)
    return dict(rows.select("measure", "pearson").iter_rows())
